// Package statedir keeps small private files of one kind in a folder, each read and written
// whole. There are never too many. Callers must tolerate that any file may disappear.
package statedir
