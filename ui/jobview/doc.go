// Package jobview is the screen of one job: its stages and its bar, and below them pages, a file each. It
// draws what package assess says of the job and what was read from its backup; it asks for nothing itself.
package jobview
