// Package sanitize makes text that others wrote safe to draw on a terminal.
//
// Everything that comes from a cluster or from storage passes through it once,
// where it enters the program: [String] for one line, [Lines] for text of
// several, [Object] for a whole typed resource. What a terminal could take for
// a command, what reorders or hides other text, and what is not UTF-8 comes out
// as a visible escape such as \x1b or \u202e, so that a reader sees that
// something was there and two different names never look the same.
//
// The kubectl fix for CVE-2021-25743 rewrites ESC and CR only; this package
// also covers C1, the other C0 bytes, bidirectional controls and characters
// without width. It does not measure: the width of a clean string is the
// drawer's business.
package sanitize
