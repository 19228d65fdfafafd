package cmd

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// termiosOf are a terminal's modes.
func termiosOf(t *testing.T, tty *os.File) unix.Termios {
	t.Helper()
	connection, err := tty.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var modes *unix.Termios
	controlErr := connection.Control(func(fd uintptr) { modes, err = unix.IoctlGetTermios(int(fd), getTermios) })
	if controlErr != nil || err != nil {
		t.Fatal(controlErr, err)
	}
	return *modes
}

func metaTime(at time.Time) *metav1.Time {
	t := metav1.NewTime(at)
	return &t
}
