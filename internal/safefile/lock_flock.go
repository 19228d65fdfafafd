//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package safefile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// TryLock locks a file that is open for writing, until it is closed or the process ends. An error other than
// ErrLocked means that the file system does not support locks. On Linux, NFS passes locks on to its server.
func TryLock(file *os.File) error {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}
