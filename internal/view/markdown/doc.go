// Package markdown prints texts and the sections of package view as Markdown that reads well with and without
// rendering, for reports.
//
// The package is pure. Strings among the arguments of a [Printer] or of [Format] are shown as text: they cannot open a
// heading, table, link, HTML or code block. Only a [Span] is Markdown.
package markdown
