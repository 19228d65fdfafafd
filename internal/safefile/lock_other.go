//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package safefile

import (
	"errors"
	"os"
)

// TryLock returns errors.ErrUnsupported.
func TryLock(*os.File) error { return errors.ErrUnsupported }
