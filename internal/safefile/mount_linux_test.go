package safefile

import (
	"os"
	"syscall"
	"testing"
)

// A file system that is mounted read-only needs no permissions.
func TestReadOnlyMountIsTrusted(t *testing.T) {
	p := newPlace(t)
	dir := p.makeDir("mount", 0o755)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=777"); err != nil {
		t.Skip("cannot mount here: " + err.Error())
	}
	defer func() { _ = syscall.Unmount(dir, 0) }()
	path := p.write("mount/f", 0o666)
	if _, err := ReadTrusted(path, 10); err == nil {
		t.Error("trusted before it was read-only")
	}
	p.check(os.Chmod(path, 0o644))
	p.check(syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	if _, err := ReadTrusted(path, 10); err != nil {
		t.Error(err)
	}
}
