// Package resource has what is shown of resources other than jobs: the dashboard's tabs, the pages behind their rows,
// and what `get` and `describe` print. What is judged of them comes from package assess; here it gets its words, its
// columns and its order. What several of them show is a [Kind], from which all of them follow.
//
// The package is pure.
package resource
