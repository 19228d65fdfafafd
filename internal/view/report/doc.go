// Package report makes one document of what is known of a job, to hand over to a reader who was not there:
// what it is and since when, why, what was done, and what is left. It is pure.
//
// A report leaves the machine. So whatever others wrote goes through [Redact], field by field and at the end,
// and the Markdown shows it as text: it opens no heading, table, link, HTML or code block of its own.
package report
