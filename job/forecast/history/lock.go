package history

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

const (
	// patience is how long another program's turn is waited for, and abandoned
	// how old a lock is that a killed program left behind: a turn takes
	// milliseconds.
	patience  = 2 * time.Second
	abandoned = 30 * time.Second
	retry     = 10 * time.Millisecond
)

// lock keeps other programs from changing the book until unlock is called. A
// file is the lock, which works on every system and on network folders.
func (b *Book) lock() (unlock func(), err error) {
	path := b.path + ".lock"
	for tries := 0; ; tries++ {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			_ = f.Close()
			return func() { _ = os.Remove(path) }, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if info, err := os.Lstat(path); err == nil && b.clock().Sub(info.ModTime()) > abandoned {
			_ = os.Remove(path)
			continue
		}
		if tries >= int(b.patience/retry) {
			return nil, errors.New("another program is busy with it")
		}
		time.Sleep(retry)
	}
}
