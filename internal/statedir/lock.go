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
	// Patience is how long a program should wait for another one, which needs milliseconds.
	Patience  = 2 * time.Second
	abandoned = 30 * time.Second // the age of a lock file that a killed program left where files have no locks
	retry     = 10 * time.Millisecond
	lockMark  = ".lock"
)

// ErrBusy says that another program holds the lock.
var ErrBusy = errors.New("another program is busy with it")

// Lock keeps other programs from changing a file until unlock is called. It makes the folder, and waits at most
// patience for another program. The lock of a program that is killed ends with it.
func (d Dir) Lock(name string, patience time.Duration) (unlock func(), err error) {
	if err := d.Make(); err != nil {
		return nil, err
	}
	path := filepath.Join(d.Path, name+lockMark)
	for tries := 0; ; tries++ {
		unlock, err := d.tryLock(path)
		if err == nil || !errors.Is(err, safefile.ErrLocked) {
			return unlock, discardable(err)
		}
		if tries >= int(patience/retry) {
			return nil, ErrBusy
		}
		time.Sleep(retry)
	}
}

// tryLock makes a lock file and locks it, or locks the one that a killed program left. Where files have no locks,
// its existence is the lock. Who waits may have opened a file that its holder has removed since: that is no lock.
func (d Dir) tryLock(path string) (unlock func(), err error) {
	file, err := safefile.OpenPrivate(path, os.O_CREATE|os.O_EXCL|os.O_RDWR)
	made := err == nil
	if errors.Is(err, fs.ErrExist) {
		file, err = safefile.OpenPrivate(path, os.O_RDWR)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, safefile.ErrLocked // it was removed since
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
	if err == nil && !isAt(file, path) {
		err = safefile.ErrLocked
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return func() {
		if unsupported { // Windows does not remove an open file
			_ = file.Close()
		}
		_ = os.Remove(path)
		_ = file.Close()
	}, nil
}

func isAt(file *os.File, path string) bool {
	own, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(own, there)
}

func (d Dir) removeAbandoned(path string) {
	if info, err := os.Lstat(path); err == nil && d.Clock().Sub(info.ModTime()) > abandoned {
		_ = os.Remove(path)
	}
}
