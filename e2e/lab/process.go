package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// program says how one of the lab's servers is run.
type program struct {
	name string
	path string
	args []string
	env  []string
}

// process is a running server, the leader of a process group of its own: the
// plugins that velero starts belong to velero's group and end with it.
type process struct {
	name    string
	pid     int
	pidFile string
	exited  chan struct{}
	err     error // why it ended; valid once exited is closed
}

// launchScript writes the group's id into a file before the server runs, so that
// there is no moment at which the watchdog would not know it.
const launchScript = `echo "-$$" > "$0" && exec "$@"`

// startProcess runs a server with its output appended to dir/logs/NAME.log and its
// process group in dir/NAME.pid, where the test bed's watchdog finds it.
func (p program) startProcess(dir string) (*process, error) {
	log, err := os.OpenFile(logFile(dir, p.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", p.name, err)
	}
	defer func() { _ = log.Close() }() // the child has its own descriptor

	pidFile := filepath.Join(dir, p.name+".pid")
	cmd := exec.Command("/bin/sh", append([]string{"-c", launchScript, pidFile, p.path}, p.args...)...)
	cmd.Env = append(
		[]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + filepath.Join(dir, "tmp")},
		p.env...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.name, err)
	}
	s := &process{name: p.name, pid: cmd.Process.Pid, pidFile: pidFile, exited: make(chan struct{})}
	go func() {
		s.err = cmd.Wait()
		close(s.exited)
	}()
	return s, nil
}

func logFile(dir, name string) string { return filepath.Join(dir, "logs", name+".log") }

// isRunning reports whether the server itself has not ended yet.
func (s *process) isRunning() bool {
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

// killGroup ends the server and all that it started (SIGKILL), and waits for it.
// It is safe to call on a process that has ended, or on none.
func (s *process) killGroup() error {
	if s == nil {
		return nil
	}
	err := syscall.Kill(-s.pid, syscall.SIGKILL)
	<-s.exited
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("killing %s: %w", s.name, err)
	}
	if err := os.Remove(s.pidFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("forgetting the process id of %s: %w", s.name, err)
	}
	return nil
}

// terminateGroup asks the server to end (SIGTERM), waits until it has, and then
// ends what it left behind.
func (s *process) terminateGroup(ctx context.Context) error {
	if err := syscall.Kill(s.pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("terminating %s: %w", s.name, err)
	}
	select {
	case <-s.exited:
		return s.killGroup()
	case <-ctx.Done():
		return fmt.Errorf("waiting for %s to end: %w", s.name, ctx.Err())
	}
}

// signalGroup sends sig to the server and all that it started.
func (s *process) signalGroup(sig syscall.Signal) error {
	if err := syscall.Kill(-s.pid, sig); err != nil {
		return fmt.Errorf("sending %s to %s: %w", sig, s.name, err)
	}
	return nil
}
