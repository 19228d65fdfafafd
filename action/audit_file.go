package action

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/veltui/veltui/internal/safefile"
)

// copiesDir holds the resources as they were before.
const copiesDir = "copies"

// errUnsafeLog means that there is no place for the audit log where only the user can
// write.
var errUnsafeLog = errors.New("veltui changes nothing, because it cannot keep a safe audit log")

// A writer waits for others to write their entries, but not for one that hangs: only
// a disk that is full at the same moment makes two of them one broken line then.
const lockTries, lockPause = 200, 10 * time.Millisecond

// openLog opens the audit log for appending. A new one outlives a crash.
func openLog(path string) (*os.File, error) {
	_, err := os.Lstat(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	file, err := safefile.OpenPrivate(path, os.O_CREATE|os.O_APPEND|os.O_RDWR)
	if err == nil && isNew {
		err = safefile.SyncDir(filepath.Dir(path))
	}
	return file, err
}

// appendEntry appends one line to an audit log, which is on the disk when it
// returns. A half line that a crash or a full disk left does not swallow it.
func appendEntry(path string, e Entry) error {
	data, err := json.Marshal(e)
	if err == nil {
		err = appendLine(path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing the audit log: %w", err)
	}
	return nil
}

func appendLine(path string, line []byte) (err error) {
	file, err := openLog(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }() // which unlocks it
	for tries := 0; tries < lockTries && errors.Is(safefile.TryLock(file), safefile.ErrLocked); tries++ {
		time.Sleep(lockPause)
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() > 0 {
		var last [1]byte
		if _, err := file.ReadAt(last[:], info.Size()-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	_, err = file.Write(line)
	return errors.Join(err, file.Sync())
}

// writeCopy writes a new file, which is on the disk when it returns.
func writeCopy(path string, data []byte) error {
	file, err := safefile.OpenPrivate(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close(), safefile.SyncDir(filepath.Dir(path)))
}

// lockFile is the file that the process of an attempt keeps locked.
func lockFile(dir, attempt string) string {
	return filepath.Join(dir, filepath.Base(attempt)+".lock")
}

// hold takes the attempt's lock, which the kernel releases when the process ends.
// Without it, where there are no locks, nobody can tell for some time whether an
// attempt is still under way.
func (a *audit) hold() error {
	file, err := safefile.OpenPrivate(lockFile(a.dir, a.attempt), os.O_CREATE|os.O_EXCL|os.O_RDWR)
	if err != nil {
		return err
	}
	a.lock = file
	machine, err := os.Hostname()
	if err == nil && safefile.TryLock(file) == nil {
		a.machine = machine
	}
	return nil
}

// release gives the attempt's lock back.
func (a *audit) release() {
	_ = a.lock.Close()
	_ = os.Remove(lockFile(a.dir, a.attempt))
}

// isHeld reports whether the process of an attempt still holds its lock.
func isHeld(dir, attempt string) (bool, error) {
	file, err := safefile.OpenPrivate(lockFile(dir, attempt), os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	err = safefile.TryLock(file)
	if errors.Is(err, safefile.ErrLocked) {
		return true, nil
	}
	return false, err
}
