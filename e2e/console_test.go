//go:build e2e

package e2e

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/testbed"
)

// console is the built program on a terminal.
type console struct{ *testbed.Console }

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
	cmd := exec.Command(path, append(args, "--kubeconfig", theLab.Kubeconfig(), "-n", lab.Namespace)...)
	cmd.Dir = dir
	cmd.Env = append(slices.Clone(veltuiTells.cmd.Env), "TERM=xterm-256color", "LANG=C.UTF-8")
	c, err := testbed.StartConsole(cmd, testbed.ConsoleOptions{Width: columns, Height: rows, DropReplies: true})
	must(t, err)
	t.Cleanup(c.Close)
	return &console{c}
}

// row is the line of the screen that shows a job, empty if none does.
func (c *console) row(job string) string {
	for line := range strings.Lines(c.ScreenText()) {
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
	must(t, c.SendKeys(keys))
}

// typesKeys types text key by key, as a confirmation must be.
func (c *console) typesKeys(t *testing.T, text string) {
	t.Helper()
	must(t, c.TypeKeys(patient(t), text))
}

// sees waits until all words are on the screen.
func (c *console) sees(t *testing.T, words ...string) {
	t.Helper()
	c.awaits(t, strings.Join(words, ", "), func() bool { return holdsAll(c.ScreenText(), words) })
}

// seesRow waits until the row of a job holds all words.
func (c *console) seesRow(t *testing.T, job string, words ...string) {
	t.Helper()
	c.awaits(t, job+" with "+strings.Join(words, ", "), func() bool { return holdsAll(c.row(job), words) })
}

func (c *console) awaits(t *testing.T, what string, seen func() bool) {
	t.Helper()
	must(t, c.WaitUntil(patient(t), what, seen))
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
	code, err := c.WaitExit(patient(t))
	must(t, err)
	if code != 0 {
		t.Errorf("veltui ended with exit code %d; its screen:\n%s", code, c.ScreenText())
	}
}
