//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package safefile

import (
	"errors"
	"os"
)

// TryLock is not supported here.
func TryLock(*os.File) error { return errors.ErrUnsupported }
