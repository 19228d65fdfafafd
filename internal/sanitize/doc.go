// Package sanitize makes text that others wrote safe to draw on a terminal.
//
// Text from a cluster, from storage, from a kubeconfig or from an error is cleaned where it
// enters the program: [String] for one line, [Object] for a whole typed resource. What leaves the
// program is cleaned once more: [Writer] stands before standard output and standard error, [JSON]
// behind the encoder of machine output, and [Frame] before the screen of the dashboard.
//
// What a terminal could take for a command, what reorders or hides other text, and what is not
// UTF-8 comes out as a visible escape such as \x1b or \u202e, so that two different names never
// look the same. Machine output holds the same escapes, as text: what jq prints raw is harmless.
//
// A clean string is as wide as the sum of its runes, and as the sum of its grapheme clusters: one
// character and up to four combining marks. What terminals disagree on is escaped as well.
//
// The kubectl fix for CVE-2021-25743 rewrites ESC and CR only.
package sanitize
