package testbed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whoever runs the tests without kube-apiserver and etcd reads how to get them, however
// they are missing.
func TestMissingProgramsSayWhatToRun(t *testing.T) {
	write := func(mode os.FileMode, names ...string) func(dir string) error {
		return func(dir string) error {
			for _, name := range names {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					return err
				}
				if err := os.WriteFile(path, nil, mode); err != nil {
					return err
				}
			}
			return nil
		}
	}
	const module = "tools/kubernetes/go.mod" // by which veltui's source tree is known
	for name, c := range map[string]struct {
		prepare func(dir string) error
		assets  string // KUBEBUILDER_ASSETS, below the directory; "-" if it is not set
	}{
		"an empty folder":        {write(0o700), "."},
		"no folder":              {write(0o700), "gone"},
		"etcd alone":             {write(0o700, "etcd"), "."},
		"kube-apiserver alone":   {write(0o700, "kube-apiserver"), "."},
		"no programs":            {write(0o600, "etcd", "kube-apiserver"), "."},
		"nothing built":          {write(0o700, module), "-"},
		"half built":             {write(0o700, module, "bin/testbed-v1-v3/etcd"), "-"},
		"not in veltui's source": {write(0o700), "-"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := c.prepare(dir); err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
			t.Setenv("KUBEBUILDER_ASSETS", "")
			if c.assets != "-" {
				t.Setenv("KUBEBUILDER_ASSETS", filepath.Join(dir, c.assets))
			}
			plane, err := Start(t.Context(), Options{})
			if err == nil {
				_ = plane.Stop()
				t.Fatal("it starts")
			}
			if !strings.Contains(err.Error(), "run `make testbed`") {
				t.Errorf("the failure does not say what to run: %v", err)
			}
		})
	}
}
