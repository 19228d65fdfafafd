package cmd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// demoCommand is the built binary, in an environment that names no cluster.
func demoCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(control(t).binary, append([]string{"demo"}, args...)...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + t.TempDir(),
		"TMPDIR=" + t.TempDir(),
		"TERM=xterm-256color",
		"LANG=C.UTF-8",
	}
	return cmd
}

func TestDemoFinalizesByKeyboard(t *testing.T) {
	t.Parallel()
	cmd := demoCommand(t)
	began := time.Now()
	c := startConsole(t, cmd, 120, 40)
	c.sees(t, "live", "crm-rollback", "everything-to-dr", "media-nightly", "Demo 1/4")
	t.Logf("the first frame with jobs came after %s", time.Since(began))
	c.types(t, "/crm-rollback\r")
	c.sees(t, "1 of ", "stuck")
	c.types(t, "\r")
	c.sees(t, "Demo 2/4")
	c.types(t, "f")
	c.sees(t, "InProgress -> Finalizing", "enter type the name", "Demo 3/4")
	c.types(t, "\r")
	c.sees(t, "and press enter:")
	c.types(t, "demo/crm-rollback\r")
	c.sees(t, "You can close this: veltui watches on", "so far: Completed", "Demo 4/4", "esc close, and watch on")
	c.types(t, "\x1b")
	c.sees(t, "[1 Overview]", "x hides this")
	c.types(t, "x")
	eventually(t, "the hints are gone", func() bool { return !strings.Contains(c.ScreenText(), "Demo") })
	c.types(t, "q")
	if code := c.exits(t); code != ExitOK {
		t.Errorf("exit code %d", code)
	}
	checkNothingLeft(t, cmd)
}

// clickOn sends what a terminal sends for a press and a release of the left button
// on a text of the screen.
func (c *console) clickOn(t *testing.T, text string) {
	t.Helper()
	c.sees(t, text)
	for y, line := range strings.Split(c.ScreenText(), "\n") {
		if before, _, found := strings.Cut(line, text); found {
			at := fmt.Sprintf("%d;%d", len([]rune(before))+1, y+1)
			c.types(t, "\x1b[<0;"+at+"M\x1b[<0;"+at+"m")
			return
		}
	}
}

// Clicks, the wheel and typed commands reach the screen as a terminal sends them,
// and the mouse is given back at the end.
func TestMouseAndCommands(t *testing.T) {
	cmd := demoCommand(t, "--mouse")
	c := startConsole(t, cmd, 120, 40)
	c.sees(t, "live", "crm-rollback", "media-nightly")
	c.clickOn(t, "3 Backups")
	c.sees(t, "/")
	c.types(t, ":rest\t")
	c.sees(t, ":restores")
	c.types(t, "\r")
	c.clickOn(t, "crm-rollback")
	c.sees(t, "▸! R crm-rollback")
	c.clickOn(t, "crm-rollback")
	c.sees(t, "8 YAML")
	c.clickOn(t, "8 YAML")
	c.sees(t, "apiVersion: velero.io/v1")
	c.types(t, strings.Repeat("\x1b[<65;10;20M", 3))
	eventually(t, "the wheel scrolls", func() bool { return !strings.Contains(c.ScreenText(), "apiVersion: velero.io/v1") })
	c.types(t, ":backup media-n\t\r")
	c.sees(t, "B media-nightly", "[1 Overview]")
	c.types(t, ":ns nowhere\r")
	c.sees(t, "there is no namespace nowhere; Velero is in velero", "demo/velero", "[1 Overview]")
	c.types(t, ":mouse off\r")
	eventually(
		t,
		"the mouse is given back",
		func() bool { return strings.HasSuffix(strings.TrimRight(mouseModes(c.OutputText()), " "), "1006l") },
	)
	c.types(t, ":mouse on\r")
	eventually(
		t,
		"the mouse is taken",
		func() bool { return strings.HasSuffix(strings.TrimRight(mouseModes(c.OutputText()), " "), "1006h") },
	)
	c.types(t, ":q\r")
	if code := c.exits(t); code != ExitOK {
		t.Errorf("exit code %d", code)
	}
	if modes := mouseModes(
		c.OutputText(),
	); !strings.Contains(modes, "1002l") || strings.LastIndex(modes, "1002h") > strings.LastIndex(modes, "1002l") ||
		strings.LastIndex(modes, "1006h") > strings.LastIndex(modes, "1006l") {
		t.Errorf("the mouse is not given back: %s", modes)
	}
	checkNothingLeft(t, cmd)
}

var mouseMode = regexp.MustCompile(`\x1b\[\?(100[0236][hl])`)

// mouseModes are the switches of the mouse in what was written, in their order.
func mouseModes(written string) string {
	var modes []string
	for _, match := range mouseMode.FindAllStringSubmatch(written, -1) {
		modes = append(modes, match[1])
	}
	return strings.Join(modes, " ")
}

// TestOpenJobSaysWhatTheLogSays although nothing may be changed or downloaded:
// the dashboard is only sure of it once the job was looked at closer.
func TestOpenJobSaysWhatTheLogSays(t *testing.T) {
	scene := filepath.Join("..", "demo", "scenes", "restore-patch-lost.yaml")
	c := startConsole(t, demoCommand(t, "--scene", scene, "--read-only", "--no-artifacts"), 120, 40)
	c.sees(t, "live", "crm-rollback: ")
	c.types(t, "\r")
	c.sees(t, "could not save its status", "has not checked whether its results")
	c.types(t, "\x1b")
	c.sees(t, "[1 Active]", "Velero could not save its status")
	c.types(t, "q")
	if code := c.exits(t); code != ExitOK {
		t.Errorf("exit code %d", code)
	}
}

// checkNothingLeft looks for what the demo may have written.
func checkNothingLeft(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	for _, entry := range cmd.Env {
		name, dir, _ := strings.Cut(entry, "=")
		if name != "HOME" && name != "TMPDIR" {
			continue
		}
		left, err := filepath.Glob(filepath.Join(dir, "*"))
		hidden, _ := filepath.Glob(filepath.Join(dir, ".[a-z]*"))
		if left = append(left, hidden...); err != nil || len(left) > 0 {
			t.Errorf("%s holds %v, %v", name, left, err)
		}
	}
}

// headless is a demo that serves only.
type headless struct {
	cmd        *exec.Cmd
	out        *bufio.Reader
	kubeconfig string
}

func startHeadless(t *testing.T, args ...string) *headless {
	t.Helper()
	h := &headless{cmd: demoCommand(t, append([]string{"--headless"}, args...)...)}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.cmd.Process.Kill() })
	h.out = bufio.NewReader(out)
	line, err := h.out.ReadString('\n')
	if err != nil {
		t.Fatalf("it does not name its kubeconfig: %v", err)
	}
	h.kubeconfig = strings.TrimSpace(line)
	return h
}

func (h *headless) run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(h.cmd.Path, append([]string{"--kubeconfig", h.kubeconfig}, args...)...)
	cmd.Env = h.cmd.Env
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	checkSchema(t, out.String(), args)
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// ends sends a signal and waits for the end.
func (h *headless) ends(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := h.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(h.out)
	if err != nil || len(rest) > 0 {
		t.Errorf("it goes on with %q, %v", rest, err)
	}
	if err := h.cmd.Wait(); err != nil {
		t.Errorf("%s: %v", signal, err)
	}
	if _, err := os.Stat(h.kubeconfig); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its kubeconfig stays: %v", err)
	}
}

const scenes = "../demo/scenes/"

func TestDemoServesAScene(t *testing.T) {
	h := startHeadless(t, "--scene", scenes+"restore-patch-lost.yaml")
	out, errOut, code := h.run(t, "get", "-o", "json")
	if code != ExitOK || !json.Valid([]byte(out)) || !strings.Contains(out, `"crm-rollback"`) {
		t.Errorf("get: %d %s %s", code, out, errOut)
	}
	out, errOut, code = h.run(t, "explain", "restore/crm-rollback", "-o", "json")
	if code != ExitRefused || !json.Valid([]byte(out)) || !strings.Contains(out, `"stuck"`) {
		t.Errorf("explain: %d %s %s", code, out, errOut)
	}
	out, errOut, code = h.run(t, "finalize", "restore/crm-rollback", "--dry-run=server", "--yes")
	if code != ExitOK || !strings.Contains(out, "InProgress -> Finalizing") ||
		!strings.Contains(out, "nothing was written") {
		t.Errorf("finalize: %d %s %s", code, out, errOut)
	}
	h.ends(t, os.Interrupt)
}

func TestDemoSceneWithoutAServer(t *testing.T) {
	h := startHeadless(t, "--scene", scenes+"server-gone.yaml")
	out, errOut, code := h.run(t, "finalize", "backup/web-release", "--dry-run=server", "--yes")
	if code != ExitOK || !strings.Contains(out, "InProgress -> Failed") {
		t.Errorf("finalize: %d %s %s", code, out, errOut)
	}
	h.ends(t, syscall.SIGTERM)
}

func TestDemoSceneThatIsWell(t *testing.T) {
	h := startHeadless(t, "--scene", scenes+"uploads-wait-for-slot.yaml")
	out, errOut, code := h.run(t, "finalize", "backup/mail-nightly", "--dry-run=server", "--yes")
	if code != ExitRefused {
		t.Errorf("finalize: %d %s %s", code, out, errOut)
	}
	h.ends(t, syscall.SIGTERM)
}

func TestDemoReplays(t *testing.T) {
	cmd := demoCommand(t, "replay", "../demo/replay/testdata", "--speed", "100")
	c := startConsole(t, cmd, 100, 30)
	c.sees(t, "a2-async", "95 items", "r17-errors-quota", "43 err")
	c.types(t, "q")
	if code := c.exits(t); code != ExitOK {
		t.Errorf("exit code %d", code)
	}
}

func TestDemoRefusesWhatItCannotHeed(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yaml")
	if err := os.WriteFile(bad, []byte("things: []"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"--context prod", ExitUsage, "--context: the demo runs its own cluster"},
		{"-n velero", ExitUsage, "--namespace: the demo runs its own cluster"},
		{"--speed 0", ExitUsage, "--speed 0: must be from 0.1 to 1000"},
		{"--headless --theme pink", ExitUsage, "--theme pink: must be one of"},
		{"--headless --scene " + dir + "/none.yaml", ExitUsage, "no such file"},
		{"--headless --scene " + bad, ExitError, `unknown field "things"`},
		{"--headless replay " + dir, ExitError, "there is no watch.jsonl"},
		{"replay", ExitUsage, "replay takes exactly one folder"},
		{"play", ExitUsage, "play"},
		{"", ExitUsage, "the dashboard needs a terminal"},
	} {
		out, err := demoCommand(t, strings.Fields(c.args)...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != c.code || !strings.Contains(string(out), c.says) {
			t.Errorf("veltui demo %s: %v, %s; want %d and %q", c.args, err, out, c.code, c.says)
		}
	}
}
