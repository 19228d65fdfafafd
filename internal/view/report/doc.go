// Package report makes one document of everything known about a job, for a reader who was not there: its state and
// since when, why, what was done, and what is left to do. It is pure.
//
// A report leaves the machine. Therefore all foreign text goes through [Redact], field by field and at the end, and
// the Markdown shows it as text: it cannot open a heading, table, link, HTML or code block.
package report
