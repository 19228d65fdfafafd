package cmd

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// Signals end a dashboard whose terminal nobody reads, and which therefore cannot leave
// in order. TestForcedExit says when.
func TestSignalsEndABlockedDashboard(t *testing.T) {
	t.Parallel()
	b := control(t)
	before := freshTermios(t)
	cmd := b.command(t, "-n", "velero")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 200, Rows: 60})
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	ended := make(chan struct{})
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	go func() { defer close(ended); _ = cmd.Wait() }()
	var drawn bytes.Buffer
	for buffer := make([]byte, 4096); !strings.Contains(drawn.String(), "live"); {
		n, err := tty.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		drawn.Write(buffer[:n])
	}
	// It draws until the terminal holds no more: that is when what waits to be read stays the same.
	for waiting, same := 0, 0; same < 300; time.Sleep(10 * time.Millisecond) {
		if _, err := tty.WriteString("?\x0c"); err != nil {
			t.Fatal(err)
		}
		n, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCINQ)
		if err != nil {
			t.Fatal(err)
		}
		if same++; n != waiting || n == 0 {
			waiting, same = n, 0
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	time.Sleep(minSignalGap) // another at once would not count
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	if code := cmd.ProcessState.ExitCode(); code != 143 {
		t.Errorf("exit code %d", code)
	}
	if after := termiosOf(t, tty); after != before {
		t.Errorf("the terminal's modes were\n%+v and are\n%+v", before, after)
	}
}
