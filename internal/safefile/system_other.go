//go:build !unix

package safefile

import "io/fs"

const openFlags = 0

func ownerOf(fs.FileInfo) (user int, known bool) { return 0, false }

func hasHardLinks(fs.FileInfo) bool { return false }

func isOnReadOnlyMount(string) bool { return false }

// SyncDir does nothing: directories cannot be synced here.
func SyncDir(string) error { return nil }
