// Package sanitize makes untrusted text safe to draw on a terminal.
//
// Text from a cluster, from storage, from a kubeconfig or from an error is cleaned where it enters the program:
// [String] for one line, [Object] for a whole typed resource. Output is cleaned once more: by [Writer] before
// standard output and standard error, by [JSON] after the encoder of machine output, and by [Frame] before the
// dashboard's screen.
//
// Characters that a terminal could take for a command, that reorder or hide other text, or that are not UTF-8 become
// a visible escape such as \x1b or \u202e, so that two different names never look the same. Machine output has the
// same escapes, as text: the raw output of jq is harmless.
//
// A clean string is as wide as the sum of its runes, and as the sum of its grapheme clusters: one character and up to
// four combining marks. Characters on which terminals disagree are escaped as well.
//
// The kubectl fix for CVE-2021-25743 rewrites ESC and CR only.
package sanitize
