package cmd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/testbed"
)

// console is the built dashboard on a pseudo-terminal, with an emulator that
// reads what it draws.
type console struct {
	cmd  *exec.Cmd
	tty  *os.File
	term vt10x.Terminal
	// pace is how many bytes a second the line carries, 0 for all at once. A line
	// with a pace has a terminal that answers.
	pace int

	mu  sync.Mutex
	raw strings.Builder // everything that was written to the terminal
	// heard is closed when nobody can write to it any more and all was read.
	heard chan struct{}
}

func openConsole(t *testing.T, b *bed, width, height uint16, args ...string) *console {
	t.Helper()
	return startConsole(t, b.command(t, args...), width, height)
}

func startConsole(t *testing.T, cmd *exec.Cmd, width, height uint16) *console {
	t.Helper()
	return startPacedConsole(t, cmd, width, height, 0)
}

func startPacedConsole(t *testing.T, cmd *exec.Cmd, width, height uint16, pace int) *console {
	t.Helper()
	skipUnderRace(t)
	c := &console{cmd: cmd, heard: make(chan struct{}), term: vt10x.New(vt10x.WithSize(int(width), int(height))), pace: pace}
	tty, err := testbed.OnTerminal(c.cmd, width, height)
	if err != nil {
		t.Fatal(err)
	}
	c.tty = tty
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.tty.Close()
	})
	go c.read()
	return c
}

func (c *console) read() {
	defer close(c.heard)
	buffer := make([]byte, 32<<10)
	if c.pace > 0 {
		buffer = buffer[:c.pace/10]
	}
	var rest []byte // of a rune that was read in part
	for {
		n, err := c.tty.Read(buffer)
		if c.pace > 0 {
			time.Sleep(time.Duration(n) * time.Second / time.Duration(c.pace))
		}
		if n > 0 {
			c.mu.Lock()
			questions := strings.Count(c.raw.String(), "\x1b[5n")
			c.raw.Write(buffer[:n])
			if c.pace > 0 {
				_, _ = c.tty.WriteString(strings.Repeat("\x1b[0n", strings.Count(c.raw.String(), "\x1b[5n")-questions))
			}
			var shown []byte
			shown, rest = withoutMarks(append(rest, buffer[:n]...))
			_, _ = c.term.Write(shown)
			c.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// withoutMarks leaves out combining marks, for which the emulator, unlike a
// terminal, takes a cell each. rest is what begins a rune at the end.
func withoutMarks(text []byte) (shown, rest []byte) {
	for len(text) > 0 && utf8.FullRune(text) {
		r, size := utf8.DecodeRune(text)
		if !unicode.In(r, unicode.Mn, unicode.Me) {
			shown = append(shown, text[:size]...)
		}
		text = text[size:]
	}
	return shown, slices.Clone(text)
}

// screen is what a person sees.
func (c *console) screen() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.term.String()
}

func (c *console) written() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw.String()
}

func (c *console) types(t *testing.T, keys string) {
	t.Helper()
	if _, err := c.tty.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// typesKeys types text key by key, as a confirmation must be.
func (c *console) typesKeys(t *testing.T, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := testbed.TypeKeys(ctx, c.tty, func() int { return len(c.written()) }, text); err != nil {
		t.Fatalf("%v; the screen:\n%s", err, c.screen())
	}
}

// sees waits until all words are on the screen.
func (c *console) sees(t *testing.T, words ...string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !holdsAll(c.screen(), words...) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain for %q on the screen:\n%s", patience, words, c.screen())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// exits waits for the end and the program's last word, and returns the exit code.
func (c *console) exits(t *testing.T) int {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- c.cmd.Wait() }()
	select {
	case <-done:
		select {
		case <-c.heard:
		case <-time.After(patience):
			t.Fatalf("something holds the terminal after the end of the process; its screen:\n%s", c.screen())
		}
		return c.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("the dashboard does not end; its screen:\n%s", c.screen())
		return -1
	}
}

// checkRestored holds when the terminal was given back as it was taken: the
// alternate screen is left and the cursor shows.
func (c *console) checkRestored(t *testing.T) {
	t.Helper()
	eventually(t, "the terminal is restored", func() bool {
		raw := c.written()
		return strings.LastIndex(raw, "\x1b[?1049l") > strings.LastIndex(raw, "\x1b[?1049h") &&
			strings.LastIndex(raw, "\x1b[?25h") > strings.LastIndex(raw, "\x1b[?25l")
	})
}

func TestDashboardShowsAJobMove(t *testing.T) {
	b := control(t)
	now := metav1.Now()
	r := restore("moving", velerov1.RestoreStatus{Phase: velerov1.RestorePhaseInProgress, StartTimestamp: &now,
		Progress: &velerov1.RestoreProgress{ItemsRestored: 10, TotalItems: 40}})
	b.create(t, r)
	c := openConsole(t, b, 80, 24)
	c.sees(t, "local/velero", "live", "moving", "25%", "10/40")
	r.Status.Progress.ItemsRestored = 30
	if err := b.client.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	c.sees(t, "75%", "30/40")
	c.types(t, "\r")
	c.sees(t, "[1 Overview]", "from backup b")
	c.types(t, "8")
	c.sees(t, "itemsRestored: 30")
	if err := pty.Setsize(c.tty, &pty.Winsize{Cols: 44, Rows: 14}); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	c.term.Resize(44, 14)
	c.mu.Unlock()
	c.sees(t, "apiVersion: velero.io/v1")
	c.types(t, "q")
	if code := c.exits(t); code != ExitOK {
		t.Errorf("q: exit code %d", code)
	}
	c.checkRestored(t)
}

func TestDashboardLeavesThroughOneDoor(t *testing.T) {
	b := control(t)
	for _, end := range []struct {
		name string
		do   func(c *console) error
		code int
	}{
		{"ctrl+c", func(c *console) error { _, err := c.tty.WriteString("\x03"); return err }, 130},
		{"SIGTERM", func(c *console) error { return c.cmd.Process.Signal(syscall.SIGTERM) }, 143},
		{"SIGHUP", func(c *console) error { return c.cmd.Process.Signal(syscall.SIGHUP) }, 129},
	} {
		t.Run(end.name, func(t *testing.T) {
			c := openConsole(t, b, 80, 24)
			c.sees(t, "live")
			if err := end.do(c); err != nil {
				t.Fatal(err)
			}
			if code := c.exits(t); code != end.code {
				t.Errorf("exit code %d, want %d", code, end.code)
			}
			c.checkRestored(t)
		})
	}
}

func TestDashboardEndsWhenItsTerminalIsGone(t *testing.T) {
	b := control(t)
	c := openConsole(t, b, 80, 24)
	c.sees(t, "live")
	if err := c.tty.Close(); err != nil {
		t.Fatal(err)
	}
	if code := c.exits(t); code == ExitOK {
		t.Error("a lost terminal is no success")
	}
}

func TestDashboardIsDeafToHostileText(t *testing.T) {
	b := control(t)
	now := metav1.Now()
	o := restore("hostile-screen", velerov1.RestoreStatus{Phase: velerov1.RestorePhaseFailed, StartTimestamp: &now, CompletionTimestamp: &now,
		FailureReason: hostile, ValidationErrors: []string{hostile}})
	o.Spec.BackupName = hostile
	b.create(t, o)
	c := openConsole(t, b, 80, 24)
	c.sees(t, "hostile-screen")
	c.types(t, "/hostile\r\r")
	for _, page := range []string{"1", "2", "3", "4", "5"} {
		c.types(t, page)
		c.sees(t, "["+page+" ")
		checkHarmless(t, "page "+page, c.screen())
	}
	for _, bad := range []string{"\x1b]52", "\u009b", "\u202e", "\u2066", "\x1b[31mred"} {
		if strings.Contains(c.written(), bad) {
			t.Errorf("%q reached the terminal", bad)
		}
	}
	c.types(t, "q")
	c.exits(t)
}

// The API server dies and comes back, and hangs and goes on, under a running
// dashboard; nobody presses a key.
func TestDashboardOutlivesTheAPIServer(t *testing.T) {
	b := control(t)
	now := metav1.Now()
	r := restore("outage", velerov1.RestoreStatus{Phase: velerov1.RestorePhaseInProgress, StartTimestamp: &now,
		Progress: &velerov1.RestoreProgress{ItemsRestored: 10, TotalItems: 40}})
	b.create(t, r)
	c := openConsole(t, b, 80, 24)
	c.sees(t, "live", "10/40")

	if err := b.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	c.sees(t, "stale ", "10/40")
	if err := b.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the API server takes a change", func() bool {
		current := &velerov1.Restore{}
		if b.client.Get(t.Context(), client.ObjectKeyFromObject(r), current) != nil {
			return false
		}
		current.Status.Progress.ItemsRestored = 20
		return b.client.Update(t.Context(), current) == nil
	})
	c.sees(t, " live ", "20/40")

	if err := b.PauseAPIServer(); err != nil {
		t.Fatal(err)
	}
	c.sees(t, "stale ", "20/40")
	if err := b.ResumeAPIServer(); err != nil {
		t.Fatal(err)
	}
	c.sees(t, " live ", "20/40")
	c.types(t, "q")
	if code := c.exits(t); code != ExitOK {
		t.Errorf("exit code %d", code)
	}
}

// TestNoColor holds NO_COLOR to its word: any value that is not empty.
func TestNoColor(t *testing.T) {
	b := control(t)
	cmd := b.command(t)
	cmd.Env = append(cmd.Env, "NO_COLOR=yes", "LANG=C")
	c := startConsole(t, cmd, 80, 24)
	c.sees(t, "live", "----")
	for color := 30; color <= 37; color++ {
		for _, code := range []int{color, color + 60} {
			if sgr := fmt.Sprintf("\x1b[%dm", code); strings.Contains(c.written(), sgr) {
				t.Errorf("with NO_COLOR=yes the terminal gets %q", sgr)
			}
		}
	}
	c.types(t, "q")
	c.exits(t)
}
