// Package command is the line in which commands are typed: `:` opens it, tab completes, up and down go through
// earlier lines, esc closes it. Other packages define the commands as data; the line does not know what they do.
package command
