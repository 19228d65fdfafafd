package cmd

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// console is the built program on a terminal.
type console struct{ *testbed.Console }

func openConsole(t *testing.T, b *bed, width, height int, args ...string) *console {
	t.Helper()
	return startConsole(t, b.command(t, args...), width, height)
}

func startConsole(t *testing.T, cmd *exec.Cmd, width, height int) *console {
	t.Helper()
	return startConsoleWith(t, cmd, testbed.ConsoleOptions{Width: width, Height: height, DropReplies: true})
}

func startConsoleWith(t *testing.T, cmd *exec.Cmd, o testbed.ConsoleOptions) *console {
	t.Helper()
	skipUnderRace(t)
	c, err := testbed.StartConsole(cmd, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &console{c}
}

func (c *console) types(t *testing.T, keys string) {
	t.Helper()
	if err := c.SendKeys(keys); err != nil {
		t.Fatal(err)
	}
}

// typesKeys types text key by key, as a confirmation must be.
func (c *console) typesKeys(t *testing.T, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.TypeKeys(ctx, text); err != nil {
		t.Fatal(err)
	}
}

// sees waits until all words are on the screen.
func (c *console) sees(t *testing.T, words ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.WaitForText(ctx, words...); err != nil {
		t.Fatal(err)
	}
}

// exits waits for the program's end and its last output, and returns the exit code.
func (c *console) exits(t *testing.T) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	code, err := c.WaitExit(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// checkRestored holds when the terminal was given back as it was taken: the
// alternate screen is left and the cursor shows.
func (c *console) checkRestored(t *testing.T) {
	t.Helper()
	eventually(t, "the terminal is restored", func() bool {
		raw := c.OutputText()
		return strings.LastIndex(raw, "\x1b[?1049l") > strings.LastIndex(raw, "\x1b[?1049h") &&
			strings.LastIndex(raw, "\x1b[?25h") > strings.LastIndex(raw, "\x1b[?25l")
	})
}

func TestDashboardShowsAJobMove(t *testing.T) {
	b := control(t)
	now := metav1.Now()
	r := restore("moving", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress, StartTimestamp: &now,
		Progress: &veleroapi.RestoreProgress{ItemsRestored: 10, TotalItems: 40}})
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
	c.ReplaceScreen(44, 14)
	if err := c.Resize(44, 14); err != nil {
		t.Fatal(err)
	}
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
		{"ctrl+c", func(c *console) error { _, err := c.TTY().WriteString("\x03"); return err }, 130},
		{"SIGTERM", func(c *console) error { return c.Cmd.Process.Signal(syscall.SIGTERM) }, 143},
		{"SIGHUP", func(c *console) error { return c.Cmd.Process.Signal(syscall.SIGHUP) }, 129},
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
	if err := c.TTY().Close(); err != nil {
		t.Fatal(err)
	}
	if code := c.exits(t); code == ExitOK {
		t.Error("a lost terminal is no success")
	}
}

func TestDashboardIsDeafToHostileText(t *testing.T) {
	b := control(t)
	now := metav1.Now()
	o := restore(
		"hostile-screen",
		veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseFailed, StartTimestamp: &now, CompletionTimestamp: &now,
			FailureReason: hostile, ValidationErrors: []string{hostile}},
	)
	o.Spec.BackupName = hostile
	b.create(t, o)
	c := openConsole(t, b, 80, 24)
	c.sees(t, "hostile-screen")
	c.types(t, "/hostile\r\r")
	for _, page := range []string{"1", "2", "3", "4", "5"} {
		c.types(t, page)
		c.sees(t, "["+page+" ")
		checkHarmless(t, "page "+page, c.ScreenText())
	}
	for _, bad := range []string{"\x1b]52", "\u009b", "\u202e", "\u2066", "\x1b[31mred"} {
		if strings.Contains(c.OutputText(), bad) {
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
	r := restore("outage", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress, StartTimestamp: &now,
		Progress: &veleroapi.RestoreProgress{ItemsRestored: 10, TotalItems: 40}})
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
		current := &veleroapi.Restore{}
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
			if sgr := fmt.Sprintf("\x1b[%dm", code); strings.Contains(c.OutputText(), sgr) {
				t.Errorf("with NO_COLOR=yes the terminal gets %q", sgr)
			}
		}
	}
	c.types(t, "q")
	c.exits(t)
}
