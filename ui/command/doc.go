// Package command is the line in which commands are typed: `:` opens it, tab
// completes, up and down go through what was typed before, esc leaves it. The
// commands are data that others make; the line does not know what they do.
package command
