package testbed

import (
	"os"
	"testing"
)

// MemoryDir returns a folder that a test removes at its end, in memory where the system has such a place: programs that
// sync each file to the disk are many times faster there.
func MemoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "veltui-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("removing %s: %v", dir, err)
		}
	})
	return dir
}
