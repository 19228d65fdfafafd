//go:build unix

package safefile

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// place is a new directory that only the user can write to, and makes files in it.
type place struct {
	t   *testing.T
	dir string
}

func newPlace(t *testing.T) place {
	t.Helper()
	p := place{t, filepath.Join(t.TempDir(), "own")}
	p.makeDir("", 0o700)
	return p
}

func (p place) path(name string) string { return filepath.Join(p.dir, name) }

func (p place) check(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p place) makeDir(name string, mode os.FileMode) string {
	p.t.Helper()
	p.check(os.Mkdir(p.path(name), 0o700))
	p.check(os.Chmod(p.path(name), mode))
	return p.path(name)
}

func (p place) write(name string, mode os.FileMode) string {
	p.t.Helper()
	p.check(os.WriteFile(p.path(name), []byte("content of "+filepath.Base(name)), 0o600))
	p.check(os.Chmod(p.path(name), mode))
	return p.path(name)
}

func (p place) link(target, name string) string {
	p.t.Helper()
	p.check(os.Symlink(target, p.path(name)))
	return p.path(name)
}

func (p place) fifo(name string) string {
	p.t.Helper()
	p.check(syscall.Mkfifo(p.path(name), 0o600))
	return p.path(name)
}

// give gives a file to another user, which only root may.
func (p place) give(path string, user int) string {
	p.t.Helper()
	if os.Geteuid() != 0 {
		p.t.Skip("only root can give files away")
	}
	p.check(os.Lchown(path, user, user))
	return path
}

// ends fails the test if a function does not come back.
func ends(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s blocks", what)
	}
}

func TestOpenTakesRegularFilesOnly(t *testing.T) {
	p := newPlace(t)
	regular := p.write("regular", 0o600)
	listener, err := net.Listen("unix", p.path("socket"))
	p.check(err)
	defer listener.Close()
	for path, problem := range map[string]string{
		regular:                          "",
		p.fifo("fifo"):                   "is a named pipe",
		"/dev/zero":                      "is a device",
		"/dev/full":                      "is a device",
		p.path("socket"):                 "is a socket",
		p.makeDir("dir", 0o700):          "is a directory",
		p.link(regular, "link"):          "is a symbolic link",
		p.link("nothing", "dangling"):    "is a symbolic link",
		p.link(p.dir, "link-to-dir"):     "is a symbolic link",
		p.link("/dev/zero", "to-device"): "is a symbolic link",
	} {
		for _, flag := range []int{os.O_RDONLY, os.O_WRONLY | os.O_APPEND | os.O_CREATE, os.O_RDWR | os.O_CREATE} {
			ends(t, path, func() {
				file, err := Open(path, flag)
				if err == nil {
					_ = file.Close()
				}
				if (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), path+" "+problem) {
					t.Errorf("%s: %v, want %q", path, err, problem)
				}
			})
		}
	}
	if _, err := os.Stat(p.path("nothing")); err == nil {
		t.Error("something was created through a dangling link")
	}
}

func TestPrivateFiles(t *testing.T) {
	for name, c := range map[string]struct {
		make func(p place) string
		want string // of the error, empty for none
	}{
		"private":                 {func(p place) string { return p.write("f", 0o600) }, ""},
		"new":                     {func(p place) string { return p.path("f") }, ""},
		"readable by all":         {func(p place) string { return p.write("f", 0o644) }, ""},
		"group-writable":          {func(p place) string { return p.write("f", 0o660) }, "may be written by its group; run: chmod go-w "},
		"world-writable":          {func(p place) string { return p.write("f", 0o606) }, "may be written by anyone on this machine; run: chmod go-w "},
		"in a world-writable dir": {func(p place) string { p.makeDir("d", 0o777); return p.path("d/f") }, "d may be written by anyone"},
		"in a group-writable dir": {func(p place) string { p.makeDir("d", 0o770); return p.path("d/f") }, "d may be written by its group"},
		"in a dir like /tmp":      {func(p place) string { p.makeDir("d", 0o777|os.ModeSticky); return p.path("d/f") }, "d may be written by anyone"},
		"in a linked dir":         {func(p place) string { p.makeDir("d", 0o700); p.link("d", "l"); return p.path("l/f") }, "l is a symbolic link, not a directory; run: mv "},
		"in a dangling link":      {func(p place) string { p.link("d", "l"); return p.path("l/f") }, "l is a symbolic link"},
		"in a file":               {func(p place) string { p.write("d", 0o600); return p.path("d/f") }, "d is a regular file, not a directory"},
		"a link":                  {func(p place) string { p.write("f", 0o600); return p.link("f", "l") }, "l is a symbolic link"},
		"a hard link": {func(p place) string {
			p.write("f", 0o600)
			p.check(os.Link(p.path("f"), p.path("h")))
			return p.path("h")
		}, "another name"},
		"somebody else's":          {func(p place) string { return p.give(p.write("f", 0o644), 65534) }, "belongs to user 65534, and veltui runs as user 0; run: sudo chown 0 "},
		"in somebody else's":       {func(p place) string { p.give(p.makeDir("d", 0o755), 65534); return p.path("d/f") }, "d belongs to user 65534"},
		"a name that needs quotes": {func(p place) string { return p.write("it's $(HOME)", 0o666) }, `chmod go-w '`},
	} {
		t.Run(name, func(t *testing.T) {
			path := c.make(newPlace(t))
			file, err := OpenPrivate(path, os.O_CREATE|os.O_APPEND|os.O_RDWR)
			if err == nil {
				_ = file.Close()
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestMakeDir(t *testing.T) {
	p := newPlace(t)
	for range 2 {
		if err := MakeDir(p.path("a/b/c")); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(p.path("a/b/c")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if err := MakeDir(p.link("nothing", "dangling")); err == nil {
		t.Error("a dangling link is taken for a directory")
	}
}

// What ssh and dotfile managers do must work, and what lets others say what the
// program does must not.
func TestTrustedFiles(t *testing.T) {
	for name, c := range map[string]struct {
		make func(p place) string
		want string
	}{
		"mine":           {func(p place) string { return p.write("f", 0o644) }, ""},
		"root's":         {func(p place) string { return p.give(p.write("f", 0o444), 0) }, ""},
		"linked to mine": {func(p place) string { p.makeDir("dot", 0o755); p.write("dot/f", 0o644); return p.link("dot/f", "l") }, ""},
		"in a linked directory": {func(p place) string {
			p.makeDir("dot", 0o755)
			p.write("dot/f", 0o644)
			p.link("dot", "l")
			return p.path("l/f")
		}, ""},
		"linked twice": {func(p place) string { p.write("f", 0o644); p.link("f", "a"); return p.link(p.path("a"), "b") }, ""},
		"up from a linked directory": {func(p place) string {
			p.makeDir("x", 0o755)
			p.makeDir("x/deep", 0o755)
			p.write("x/f", 0o644)
			p.link("x/deep", "l")
			return p.link("l/../f", "config")
		}, ""},
		"in a sticky directory":   {func(p place) string { p.makeDir("d", 0o777|os.ModeSticky); return p.write("d/f", 0o600) }, ""},
		"group-writable":          {func(p place) string { return p.write("f", 0o664) }, "may be written by its group; run: chmod go-w "},
		"world-writable":          {func(p place) string { return p.write("f", 0o666) }, "may be written by anyone on this machine; run: chmod go-w "},
		"all of umask 002":        {func(p place) string { p.makeDir("d", 0o775); return p.write("d/f", 0o664) }, "/d\n"},
		"in a writable directory": {func(p place) string { p.makeDir("d", 0o777); return p.write("d/f", 0o600) }, "d may be written by anyone"},
		"linked into a writable directory": {func(p place) string {
			p.makeDir("d", 0o777)
			p.write("d/f", 0o600)
			return p.link("d/f", "l")
		}, "d may be written by anyone"},
		"a link in a writable directory": {func(p place) string {
			p.write("f", 0o600)
			p.makeDir("d", 0o777)
			return p.link("../f", "d/l")
		}, "d may be written by anyone"},
		"somebody else's link": {func(p place) string { p.write("f", 0o600); return p.give(p.link("f", "l"), 65534) }, "l belongs to user 65534"},
		"linked to somebody else's": {func(p place) string {
			p.give(p.write("f", 0o644), 65534)
			return p.link("f", "l")
		}, "f belongs to user 65534"},
		"in somebody else's sticky directory": {func(p place) string {
			p.makeDir("d", 0o777|os.ModeSticky)
			p.write("d/f", 0o600)
			p.give(p.path("d"), 65534)
			return p.path("d/f")
		}, "d belongs to user 65534"},
		"a circle":           {func(p place) string { p.link("b", "a"); return p.link("a", "b") }, "too many symbolic links"},
		"a dangling link":    {func(p place) string { return p.link("nothing", "l") }, "no such file"},
		"a pipe":             {func(p place) string { return p.fifo("f") }, "is a named pipe"},
		"linked to a pipe":   {func(p place) string { p.fifo("f"); return p.link("f", "l") }, "is a named pipe"},
		"linked to a device": {func(p place) string { return p.link("/dev/zero", "l") }, "is a device"},
		"a directory":        {func(p place) string { return p.makeDir("d", 0o755) }, "is a directory"},
		"a linked directory": {func(p place) string { p.makeDir("d", 0o755); return p.link("d", "l") }, "is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			path := c.make(newPlace(t))
			ends(t, path, func() {
				data, err := ReadTrusted(path, 10)
				if (err == nil) != (c.want == "") ||
					err != nil && !strings.Contains(err.Error(), strings.TrimSpace(c.want)) {
					t.Errorf("%v, want %q", err, c.want)
				}
				if err == nil && string(data) != "content of" {
					t.Errorf("%q", data)
				}
			})
		})
	}
}

// One answer names all that is to be mended.
func TestTrustedNamesFileAndDirectory(t *testing.T) {
	p := newPlace(t)
	dir := p.makeDir("d", 0o775)
	_, err := ReadTrusted(p.write("d/f", 0o664), 10)
	if err == nil || !strings.Contains(err.Error(), "chmod go-w "+dir+"\n") ||
		!strings.Contains(err.Error(), "chmod go-w "+dir+"/f") {
		t.Errorf("%v", err)
	}
}

func TestLockEndsWithItsFile(t *testing.T) {
	p := newPlace(t)
	open := func() *os.File {
		file, err := Open(p.path("lock"), os.O_CREATE|os.O_RDWR)
		p.check(err)
		return file
	}
	one, other := open(), open()
	defer other.Close()
	p.check(TryLock(one))
	if err := TryLock(other); !errors.Is(err, ErrLocked) {
		t.Errorf("locked twice: %v", err)
	}
	p.check(one.Close())
	if err := TryLock(other); err != nil {
		t.Error(err)
	}
}

func TestErrorNamesUser(t *testing.T) {
	err := wrongOwnerError("/x", 7)
	if want := "/x belongs to user 7, and veltui runs as user " + strconv.Itoa(
		os.Geteuid(),
	); !strings.HasPrefix(
		err.Error(),
		want,
	) {
		t.Error(err)
	}
}
