// Package statedir keeps small private files of one kind in a folder, each read and written
// whole. There are never too many. Callers must tolerate that any file may disappear.
//
// A sealed file ([Dir.WriteSealed], [Dir.ReadSealed]) says in its header what it is of, and has a checksum: another
// cluster's or backup's, an older format's and a damaged file are not used.
package statedir
