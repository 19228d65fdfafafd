package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/testbed"
)

// inTmux is the demo's dashboard in a tmux of its own, with nobody attached.
type inTmux struct {
	socket string
	pid    int // the dashboard's
}

func startInTmux(t *testing.T, options string, args ...string) *inTmux {
	t.Helper()
	skipUnderRace(t)
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "tmux.conf")
	if err := os.WriteFile(
		config,
		[]byte("set -g status off\nset -g default-terminal tmux-256color\n"+options),
		0o600,
	); err != nil {
		t.Fatal(err)
	}
	s := &inTmux{socket: filepath.Join(dir, "s")}
	demo := demoCommand(t, args...)
	start := exec.Command(
		"tmux",
		append([]string{"-S", s.socket, "-f", config, "new-session", "-d", "-x", "80", "-y", "24"}, demo.Args...)...)
	start.Env = demo.Env
	if out, err := start.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", s.socket, "kill-server").Run() })
	var err error
	if s.pid, err = strconv.Atoi(strings.TrimSpace(s.tell(t, "list-panes", "-F", "#{pane_pid}"))); err != nil {
		t.Fatal(err)
	}
	return s
}

// tell has tmux do something and returns what it says.
func (s *inTmux) tell(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", s.socket}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("tmux %s: %v: %s", args, err, out)
	}
	return string(out)
}

// attach shows it on a terminal.
func (s *inTmux) attach(t *testing.T, width, height int) *console {
	t.Helper()
	cmd := exec.Command("tmux", "-S", s.socket, "attach-session")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8"}
	return startConsole(t, cmd, width, height)
}

// Who detaches and attaches again, on a terminal of another size, sees a frame of
// that size that is right to the last cell.
func TestTmuxDetachAndAttach(t *testing.T) {
	testbed.RequireMore(t)
	t.Parallel()
	s := startInTmux(t, "")
	first := s.attach(t, 80, 24)
	first.sees(t, "live", "[1 Active]", "? help")
	s.tell(t, "detach-client")
	if code := first.exits(t); code != 0 {
		t.Errorf("tmux ended with %d", code)
	}
	for _, size := range [][2]int{{120, 40}, {60, 18}} {
		again := s.attach(t, size[0], size[1])
		again.sees(t, "live", "? help")
		eventually(t, "the frame fits the terminal, and what it shows is what tmux has", func() bool {
			lines := strings.Split(strings.TrimRight(s.tell(t, "capture-pane", "-p"), "\n"), "\n")
			if len(lines) != int(size[1]) || !strings.HasPrefix(lines[0], " veltui") ||
				!strings.Contains(lines[len(lines)-1], "? help") {
				return false
			}
			shown := strings.Split(strings.TrimRight(again.ScreenText(), "\n"), "\n")
			for i, line := range lines {
				if i >= len(shown) || strings.TrimRight(shown[i], " ") != strings.TrimRight(line, " ") {
					return false
				}
			}
			return true
		})
		s.tell(t, "detach-client")
		again.exits(t)
	}
	s.tell(t, "send-keys", "q")
	eventually(t, "the dashboard has ended", func() bool { return gone(s.pid) })
}

// A notification goes through tmux where that lets it.
func TestNotificationsInTmux(t *testing.T) {
	testbed.RequireMore(t)
	t.Parallel()
	s := startInTmux(t, "set -g allow-passthrough on\n", "--notify", "osc9", "--speed", "60")
	c := s.attach(t, 80, 24)
	c.sees(t, "live")
	eventually(t, "a job's end is told", func() bool { return strings.Contains(c.OutputText(), "\x1b]9;veltui: ") })
	s.tell(t, "kill-server")
	c.exits(t)
	eventually(t, "no process is left", func() bool { return gone(s.pid) })
}

// gone reports whether there is no such process.
func gone(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH }

// Whoever loses the line leaves no process that goes on, whether SIGHUP comes or is
// ignored, as by nohup.
func TestADroppedLineLeavesNothing(t *testing.T) {
	for name, hangup := range map[string]string{"SIGHUP": "", "ignored": `trap "" HUP; `} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := demoCommand(t)
			cmd.Args = append([]string{"sh", "-c", hangup + `exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
			cmd.Path = "/bin/sh"
			c := startConsole(t, cmd, 80, 24)
			c.sees(t, "live", "[1 Active]")
			before := cpuOf(t, cmd.Process.Pid)
			if err := c.TTY().Close(); err != nil {
				t.Fatal(err)
			}
			if code := c.exits(t); code == ExitOK {
				t.Error("a lost terminal is no success")
			}
			used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() - before
			if used > mostForLeaving {
				t.Errorf("it took %s of CPU to leave", used)
			}
			// Its session is its own: nothing of that is left either.
			if err := syscall.Kill(-cmd.Process.Pid, 0); err != syscall.ESRCH {
				t.Errorf("something of it still runs: %v", err)
			}
		})
	}
}

// mostForLeaving is how much CPU leaving may take; a dashboard that spins takes it
// all.
const mostForLeaving = 2 * time.Second

// cpuOf is how much CPU a process has used (proc(5): utime and stime, in hundredths
// of a second).
func cpuOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Skip("no /proc on this system")
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}
