package testbed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
)

const (
	etcdProgram      = "etcd"
	apiServerProgram = "kube-apiserver"
)

// buildAdvice ends each error about programs that are not there: make does not use KUBEBUILDER_ASSETS to build them.
const buildAdvice = "run `make testbed` with KUBEBUILDER_ASSETS unset (once, about five minutes on two cores), or " +
	"set KUBEBUILDER_ASSETS to a folder that holds kube-apiserver and etcd"

// FindAssets returns the folder that holds kube-apiserver and etcd: the one that
// KUBEBUILDER_ASSETS names, else the newest bin/testbed-* of the module that
// the working directory is in.
func FindAssets() (string, error) {
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		if err := checkPrograms(dir); err != nil {
			return "", fmt.Errorf("looking into KUBEBUILDER_ASSETS=%s: %w; %s", dir, err, buildAdvice)
		}
		return dir, nil
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	dirs, err := filepath.Glob(filepath.Join(root, "bin", "testbed-*"))
	if err != nil {
		return "", fmt.Errorf("looking for the test bed: %w", err)
	}
	sort.Strings(dirs)
	for i := len(dirs) - 1; i >= 0; i-- {
		if checkPrograms(dirs[i]) == nil {
			return dirs[i], nil
		}
	}
	return "", errors.New("kube-apiserver and etcd are not built yet: " + buildAdvice)
}

func checkPrograms(dir string) error {
	for _, name := range []string{etcdProgram, apiServerProgram} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if info.IsDir() || info.Mode()&0o111 == 0 {
			return fmt.Errorf("%s is not a program", filepath.Join(dir, name))
		}
	}
	return nil
}

// moduleRoot is the nearest folder upwards with veltui's own go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the module: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "tools", "kubernetes", "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("finding the test bed: not inside veltui's source tree; there " + buildAdvice)
		}
		dir = parent
	}
}
