package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ProgramsVar is the environment variable that names the folder with the
// lab's programs; make sets it.
const ProgramsVar = "LAB_PROGRAMS"

// programs is the folder that `make lab-programs` fills.
type programs string

func (p programs) velero() string  { return filepath.Join(string(p), "velero") }
func (p programs) plugins() string { return filepath.Join(string(p), "plugins") }
func (p programs) s3() string      { return filepath.Join(string(p), "versitygw") }
func (p programs) controllerManager() string {
	return filepath.Join(string(p), "kube-controller-manager")
}

// findPrograms checks that every program is there.
func findPrograms() (programs, error) {
	dir := os.Getenv(ProgramsVar)
	if dir == "" {
		return "", errors.New(
			ProgramsVar + " is not set: run the lab through `make e2e` or `make lab`, which build its programs",
		)
	}
	return programsIn(dir)
}

func programsIn(dir string) (programs, error) {
	p := programs(dir)
	for _, path := range []string{
		p.velero(), p.s3(), p.controllerManager(),
		filepath.Join(p.plugins(), "velero-plugin-for-aws"), filepath.Join(p.plugins(), "labplugin"),
	} {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("looking for the lab's programs (run `make lab-programs`): %w", err)
		}
	}
	return p, nil
}
