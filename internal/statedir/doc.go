// Package statedir keeps a limited number of small private files of one kind in a folder, each read and written as a
// whole. Callers must tolerate that any file may disappear.
//
// A sealed file ([Dir.WriteSealed], [Dir.ReadSealed]) names its content in a header and has a checksum: a file of
// another cluster or backup or of an older format, and a damaged file, are not used.
package statedir
