package statedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/veltui/veltui/internal/safefile"
)

const (
	// LockTimeout is how long a program should wait for another one, which holds the lock for milliseconds.
	LockTimeout = 2 * time.Second
	// abandonedAge is the age at which a lock file counts as left by a killed program, if files cannot be locked.
	abandonedAge      = 30 * time.Second
	lockRetryInterval = 10 * time.Millisecond
	lockSuffix        = ".lock"
)

// ErrBusy means that another program holds the lock.
var ErrBusy = errors.New("another program is busy with it")

// Lock keeps other programs from changing a file until unlock is called. It creates the folder, and waits at most
// patience for another program. The lock of a killed program ends with it.
func (d Dir) Lock(name string, patience time.Duration) (unlock func(), err error) {
	if err := d.MakeDir(); err != nil {
		return nil, err
	}
	path := filepath.Join(d.Path, name+lockSuffix)
	for tries := 0; ; tries++ {
		unlock, err := d.tryLock(path)
		if err == nil || !errors.Is(err, safefile.ErrLocked) {
			return unlock, adviseMoveAway(err)
		}
		if tries >= int(patience/lockRetryInterval) {
			return nil, ErrBusy
		}
		time.Sleep(lockRetryInterval)
	}
}

// tryLock creates a lock file and locks it, or locks the file that a killed program left. If files cannot be locked,
// the existence of the lock file is the lock. A waiting program may have opened a file that its holder has removed
// since: locking it is no lock.
func (d Dir) tryLock(path string) (unlock func(), err error) {
	file, err := safefile.OpenPrivate(path, os.O_CREATE|os.O_EXCL|os.O_RDWR)
	made := err == nil
	if errors.Is(err, fs.ErrExist) {
		file, err = safefile.OpenPrivate(path, os.O_RDWR)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, safefile.ErrLocked // it was removed in the meantime
	case err != nil:
		return nil, err
	}
	err = safefile.TryLock(file)
	unsupported := err != nil && !errors.Is(err, safefile.ErrLocked)
	if unsupported {
		if err = nil; !made {
			d.removeAbandoned(path)
			err = safefile.ErrLocked
		}
	}
	if err == nil && !isSameFile(file, path) {
		err = safefile.ErrLocked
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return func() {
		if unsupported { // Windows cannot remove an open file
			_ = file.Close()
		}
		_ = os.Remove(path)
		_ = file.Close()
	}, nil
}

func isSameFile(file *os.File, path string) bool {
	own, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(own, there)
}

func (d Dir) removeAbandoned(path string) {
	if info, err := os.Lstat(path); err == nil && d.Clock().Sub(info.ModTime()) > abandonedAge {
		_ = os.Remove(path)
	}
}
