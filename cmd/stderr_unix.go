//go:build unix

package cmd

import (
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// redirectStderr sends file descriptor 2 to the log while the dashboard has the
// screen: credential plugins and the Go runtime write there directly. The
// function that it returns undoes that.
func redirectStderr(log io.Writer) (restore func(), err error) {
	to, ok := log.(*boundedLog)
	if !ok {
		return func() {}, nil
	}
	saved, err := unix.Dup(unix.Stderr)
	if err != nil {
		return nil, fmt.Errorf("duplicating standard error: %w", err)
	}
	unix.CloseOnExec(saved)
	if err := unix.Dup2(int(to.file.Fd()), unix.Stderr); err != nil {
		return nil, fmt.Errorf("redirecting standard error: %w", err)
	}
	return func() {
		_ = unix.Dup2(saved, unix.Stderr)
		_ = unix.Close(saved)
	}, nil
}
