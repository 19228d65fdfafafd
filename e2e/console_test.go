//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/testbed"
)

// console is the dashboard on a pseudo-terminal, with an emulator that reads
// what it draws.
type console struct {
	cmd *exec.Cmd
	tty *os.File

	mu      sync.Mutex
	term    vt10x.Terminal
	written int // bytes
}

// openConsole starts the dashboard on a terminal of 120 by 40.
func openConsole(t *testing.T) *console {
	t.Helper()
	c := startConsole(t)
	c.sees(t, "live")
	return c
}

// startConsole starts veltui on a terminal of 120 by 40.
func startConsole(t *testing.T, args ...string) *console {
	t.Helper()
	return startConsoleIn(t, "", 120, 40, args...)
}

// startConsoleIn starts veltui in a folder, on a terminal of that size.
func startConsoleIn(t *testing.T, dir string, columns, rows int, args ...string) *console {
	t.Helper()
	path, err := veltui()
	must(t, err)
	c := &console{term: vt10x.New(vt10x.WithSize(columns, rows))}
	c.cmd = exec.Command(path, append(args, "--kubeconfig", theLab.Kubeconfig(), "-n", lab.Namespace)...)
	c.cmd.Dir = dir
	c.cmd.Env = append(slices.Clone(veltuiTells.cmd.Env), "TERM=xterm-256color", "LANG=C.UTF-8")
	tty, err := pty.StartWithSize(c.cmd, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)})
	must(t, err)
	t.Cleanup(func() { _ = tty.Close() })
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	c.tty = tty
	go c.read()
	return c
}

func (c *console) read() {
	buffer := make([]byte, 32<<10)
	for {
		n, err := c.tty.Read(buffer)
		c.mu.Lock()
		_, _ = c.term.Write(buffer[:n])
		c.written += n
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// screen is what a person sees.
func (c *console) screen() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.term.String()
}

// row is the line of the screen that shows a job, empty if none does.
func (c *console) row(job string) string {
	for line := range strings.Lines(c.screen()) {
		if slices.Contains(strings.Fields(line), job) {
			return line
		}
	}
	return ""
}

// types sends keys. Escape at their end goes as the Kitty keyboard protocol writes it:
// a lone \x1b that a busy machine reads together with the next key means alt and that key.
func (c *console) types(t *testing.T, keys string) {
	t.Helper()
	if rest, ok := strings.CutSuffix(keys, "\x1b"); ok {
		keys = rest + "\x1b[27u"
	}
	_, err := c.tty.WriteString(keys)
	must(t, err)
}

// typesKeys types text key by key, as a confirmation must be.
func (c *console) typesKeys(t *testing.T, text string) {
	t.Helper()
	must(t, testbed.TypeKeys(patient(t), c.tty, func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.written
	}, text))
}

// sees waits until all words are on the screen.
func (c *console) sees(t *testing.T, words ...string) {
	t.Helper()
	c.awaits(t, strings.Join(words, ", "), func() bool { return holdsAll(c.screen(), words) })
}

// seesRow waits until the row of a job holds all words.
func (c *console) seesRow(t *testing.T, job string, words ...string) {
	t.Helper()
	c.awaits(t, job+" with "+strings.Join(words, ", "), func() bool { return holdsAll(c.row(job), words) })
}

func (c *console) awaits(t *testing.T, what string, seen func() bool) {
	t.Helper()
	ctx := patient(t)
	for !seen() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("waited in vain to see %s on the screen:\n%s", what, c.screen())
		}
	}
}

func holdsAll(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

// quits leaves the dashboard by its key and checks how it ends.
func (c *console) quits(t *testing.T) {
	t.Helper()
	c.types(t, "q")
	c.ends(t)
}

// ends waits until the program has ended, and checks that it did so well.
func (c *console) ends(t *testing.T) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- c.cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("veltui ended with %v; its screen:\n%s", err, c.screen())
		}
	case <-patient(t).Done():
		_ = c.cmd.Process.Signal(syscall.SIGKILL)
		t.Fatalf("veltui does not end; its screen:\n%s", c.screen())
	}
}
