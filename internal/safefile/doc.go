// Package safefile opens the user's own files where others may have put something else: a named pipe or a device,
// which could block for ever, a symbolic link, or a file that others may write. On Windows it opens whatever is
// there.
package safefile
