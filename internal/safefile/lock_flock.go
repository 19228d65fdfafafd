//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package safefile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// TryLock locks a file that is open for writing, until it is closed or the process ends.
// ErrLocked means that another process holds the lock, another error that the file system has
// none. On Linux, NFS passes the lock on to its server.
func TryLock(file *os.File) error {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}
