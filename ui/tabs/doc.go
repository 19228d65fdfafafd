// Package tabs makes the dashboard's tabs of what is no job, and the pages behind their rows. What is
// judged of them comes from package assess; here it gets its words, its columns and its order. What `get` and
// `describe` show too is a [Kind], from which all of them follow.
package tabs
