//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// leftOver checks that a lab that was stopped left no file and no process: all
// its processes name its folder in their arguments or environment.
func leftOver(dir string) error {
	var errs []error
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, fmt.Errorf("the lab's folder %s is still there: %w", dir, err))
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		if filepath.Base(process) == fmt.Sprint(os.Getpid()) {
			continue
		}
		command, _ := os.ReadFile(
			filepath.Join(process, "cmdline"),
		) // empty for a zombie, an error for one that is gone
		environment, _ := os.ReadFile(filepath.Join(process, "environ"))
		if bytes.Contains(command, []byte(dir)) || bytes.Contains(environment, []byte(dir)) {
			errs = append(errs, fmt.Errorf("process %s is still there: %q", filepath.Base(process), command))
		}
	}
	return errors.Join(append(errs, err)...)
}
