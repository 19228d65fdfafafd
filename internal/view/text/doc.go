// Package text prints the models of package view as plain text, for commands: lines, lists that name only the first
// items, and tables that fit a terminal.
//
// The package is pure except for the writer that it prints to. Foreign text is sanitized on its way.
package text
