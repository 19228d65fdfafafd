// Package jobview is the screen of one job: its stages and its bar, and below them pages, with a file for each. It
// draws the assessment of the job by package assess and the contents of its backup; it requests neither of them
// itself.
package jobview
