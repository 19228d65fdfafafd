//go:build unix

package safefile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFlags keep open from waiting for a pipe or a device, and from following a symbolic link.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

func ownerOf(info fs.FileInfo) (user int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}

// hasHardLinks reports whether a file has several names.
func hasHardLinks(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 1
}

// isOnReadOnlyMount reports whether a directory is mounted read-only, as ConfigMaps are in pods.
func isOnReadOnlyMount(path string) bool { return errors.Is(unix.Access(path, unix.W_OK), unix.EROFS) }

// SyncDir makes created files in a directory survive a crash.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	err = dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil // this file system cannot sync directories
	}
	return errors.Join(err, dir.Close())
}
