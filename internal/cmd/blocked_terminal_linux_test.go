package cmd

import (
	"bytes"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// A second signal that comes later ends at once a dashboard whose terminal
// nobody reads, and which therefore cannot leave in order.
func TestSecondSignalEndsABlockedDashboard(t *testing.T) {
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
	time.Sleep(minSignalGap + 300*time.Millisecond) // another at once would not count
	select {
	case <-ended:
		t.Fatal("the terminal does not block")
	default:
	}
	began := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	if took := time.Since(began); took > exitTimeout-minSignalGap || cmd.ProcessState.ExitCode() != 143 {
		t.Errorf("it took %s, exit code %d", took, cmd.ProcessState.ExitCode())
	}
	if after := termiosOf(t, tty); after != before {
		t.Errorf("the terminal's modes were\n%+v and are\n%+v", before, after)
	}
}
