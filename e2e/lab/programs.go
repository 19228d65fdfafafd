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

// programDir is the folder that `make lab-programs` fills.
type programDir string

func (p programDir) veleroPath() string { return filepath.Join(string(p), "velero") }
func (p programDir) pluginDir() string  { return filepath.Join(string(p), "plugins") }
func (p programDir) s3Path() string     { return filepath.Join(string(p), "versitygw") }
func (p programDir) controllerManagerPath() string {
	return filepath.Join(string(p), "kube-controller-manager")
}

// findPrograms checks that every program is there.
func findPrograms() (programDir, error) {
	dir := os.Getenv(ProgramsVar)
	if dir == "" {
		return "", errors.New(
			ProgramsVar + " is not set: run the lab through `make e2e` or `make lab`, which build its programs",
		)
	}
	return checkProgramDir(dir)
}

func checkProgramDir(dir string) (programDir, error) {
	p := programDir(dir)
	for _, path := range []string{
		p.veleroPath(), p.s3Path(), p.controllerManagerPath(),
		filepath.Join(p.pluginDir(), "velero-plugin-for-aws"), filepath.Join(p.pluginDir(), "labplugin"),
	} {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("looking for the lab's programs (run `make lab-programs`): %w", err)
		}
	}
	return p, nil
}
