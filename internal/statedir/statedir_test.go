//go:build unix

package statedir

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/safefile"
)

func newDir(t *testing.T) Dir {
	t.Helper()
	return Dir{Path: filepath.Join(t.TempDir(), "state"), Suffix: ".x", MaxFiles: 3, Clock: time.Now}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Only what the user alone can have written is read, and what to do about the rest is said.
func TestReadsPrivateFilesOnly(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, dir, file string)
		want  string
	}{
		"file of the group": {func(t *testing.T, _, file string) { check(t, os.Chmod(file, 0o660)) }, "may be written by its group; run: mv "},
		"file of all":       {func(t *testing.T, _, file string) { check(t, os.Chmod(file, 0o666)) }, "may be written by anyone"},
		"folder of all":     {func(t *testing.T, dir, _ string) { check(t, os.Chmod(dir, 0o777)) }, "state may be written by anyone"},
		"sticky folder":     {func(t *testing.T, dir, _ string) { check(t, os.Chmod(dir, 0o777|os.ModeSticky)) }, "state may be written by anyone"},
		"somebody's file":   {func(t *testing.T, _, file string) { chown(t, file) }, "belongs to user 65534"},
		"somebody's folder": {func(t *testing.T, dir, _ string) { chown(t, dir) }, "belongs to user 65534"},
		"a link":            {func(t *testing.T, _, file string) { replaceByLink(t, file) }, "is a symbolic link"},
		"a linked folder":   {func(t *testing.T, dir, _ string) { replaceByLink(t, dir) }, "is a symbolic link"},
		"a hard link":       {func(t *testing.T, dir, file string) { check(t, os.Link(file, file+".other")) }, "another name"},
		"a pipe":            {func(t *testing.T, _, file string) { check(t, os.Remove(file)); check(t, syscall.Mkfifo(file, 0o600)) }, "is a named pipe"},
		"a folder":          {func(t *testing.T, _, file string) { check(t, os.Remove(file)); check(t, os.Mkdir(file, 0o700)) }, "is a directory"},
		"a file as a folder": {func(t *testing.T, dir, _ string) {
			check(t, os.RemoveAll(dir))
			check(t, os.WriteFile(dir, nil, 0o600))
		}, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDir(t)
			check(t, d.Write("a.x", []byte("text")))
			c.spoil(t, d.Path, filepath.Join(d.Path, "a.x"))
			data, err := d.Read("a.x", 100)
			var unsafe *safefile.Error
			if data != nil || !errors.As(err, &unsafe) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%q, %v; want %q", data, err, c.want)
			}
			if out, err := exec.Command("sh", "-c", unsafe.FixCommand).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v, %s", unsafe.FixCommand, err, out)
			}
			check(t, d.Write("a.x", []byte("new")))
			if data, err := d.Read("a.x", 100); err != nil || string(data) != "new" {
				t.Errorf("after %s: %q, %v", unsafe.FixCommand, data, err)
			}
		})
	}
}

func chown(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	check(t, os.Chown(path, 65534, 65534))
}

func replaceByLink(t *testing.T, path string) {
	t.Helper()
	check(t, os.Rename(path, path+".real"))
	check(t, os.Symlink(path+".real", path))
}

// Nothing is written into a folder in which others could replace it.
func TestWritesIntoPrivateFoldersOnly(t *testing.T) {
	d := newDir(t)
	check(t, os.Mkdir(d.Path, 0o700))
	check(t, os.Chmod(d.Path, 0o777))
	if err := d.Write("a.x", nil); err == nil {
		t.Error("written")
	}
	if _, err := d.Lock("a.x", 0); err == nil {
		t.Error("locked")
	}
	if entries, err := os.ReadDir(d.Path); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestLock(t *testing.T) {
	d := newDir(t)
	unlock, err := d.Lock("a.x", 0)
	check(t, err)
	if _, err := d.Lock("a.x", 2*lockRetryInterval); !errors.Is(err, ErrBusy) {
		t.Errorf("locked twice: %v", err)
	}
	other, err := d.Lock("b.x", 0)
	check(t, err)
	other()
	unlock()
	// What a killed program leaves is no lock.
	check(t, os.WriteFile(filepath.Join(d.Path, "a.x"+lockSuffix), nil, 0o600))
	unlock, err = d.Lock("a.x", 0)
	check(t, err)
	unlock()
	if _, err := os.Stat(filepath.Join(d.Path, "a.x"+lockSuffix)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
}

// Of many who take turns, two are never inside at once, though each removes the file that the others wait for.
func TestLockHoldsOneAtATime(t *testing.T) {
	d := newDir(t)
	// The race detector does not see a lock on a file, so the counters are atomic.
	var inside, turns atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 25 {
				unlock, err := d.Lock("a.x", time.Hour)
				if err != nil {
					t.Error(err)
					return
				}
				if holders := inside.Add(1); holders != 1 {
					t.Errorf("%d hold the lock", holders)
				}
				turns.Add(1)
				runtime.Gosched()
				inside.Add(-1)
				unlock()
			}
		})
	}
	all.Wait()
	if turns.Load() != 8*25 {
		t.Errorf("%d of %d turns counted", turns.Load(), 8*25)
	}
}
