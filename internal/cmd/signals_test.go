package cmd

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// modeSwitch turns one of a terminal's modes on or off.
var modeSwitch = regexp.MustCompile(`\x1b\[\?([\d;]+)([hl])`)

// modesOn are the modes that were turned on and not off again.
func modesOn(raw string) map[string]bool {
	on := map[string]bool{"7": true, "25": true}
	for _, m := range modeSwitch.FindAllStringSubmatch(raw, -1) {
		for mode := range strings.SplitSeq(m[1], ";") {
			on[mode] = m[2] == "h"
		}
	}
	return on
}

// checkSane holds a terminal to what it was: its modes as the system knows
// them, the normal screen, a cursor, and no mouse, paste or focus reports.
func (c *console) checkSane(t *testing.T, before unix.Termios) {
	t.Helper()
	raw := c.OutputText()
	on := modesOn(raw)
	if !on["25"] {
		t.Error("the cursor stays hidden")
	}
	if !on["7"] { // it is off while a line is drawn whose width terminals disagree on
		t.Error("lines are no longer wrapped")
	}
	for _, mode := range []string{"1049", "1047", "47", "2004", "2026", "1000", "1002", "1003", "1004", "1006"} {
		if on[mode] {
			t.Errorf("mode %s stays on", mode)
		}
	}
	if strings.LastIndex(raw, "\x1b[>1u") > strings.LastIndex(raw, "\x1b[<1u") ||
		strings.LastIndex(raw, "\x1b[>4;2m") > strings.LastIndex(raw, "\x1b[>4m") {
		t.Errorf("keys stay as the dashboard wants them: %q", raw[max(0, len(raw)-200):])
	}
	if after := termiosOf(t, c.TTY()); after != before {
		t.Errorf("the terminal's modes were\n%+v and are\n%+v", before, after)
	}
}

// freshTermios are the modes of a terminal that nobody has used.
func freshTermios(t *testing.T) unix.Termios {
	t.Helper()
	master, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer terminal.Close()
	return termiosOf(t, terminal)
}

// blow is a signal, and how long after the one before it comes.
type blow struct {
	after  time.Duration
	signal syscall.Signal
}

func TestSignalsLeaveASaneTerminal(t *testing.T) {
	t.Parallel()
	b := control(t)
	b.create(t, inProgress("signalled", time.Hour))
	const ms = time.Millisecond
	for _, s := range []struct {
		name  string
		blows []blow
		code  int
		dump  bool
	}{
		{"INT", []blow{{0, syscall.SIGINT}}, 130, false},
		{"TERM", []blow{{0, syscall.SIGTERM}}, 143, false},
		{"HUP", []blow{{0, syscall.SIGHUP}}, 129, false},
		{"QUIT", []blow{{0, syscall.SIGQUIT}}, 131, true},
		{"ABRT", []blow{{0, syscall.SIGABRT}}, 134, true},
		{"two TERMs at once", []blow{{0, syscall.SIGTERM}, {ms, syscall.SIGTERM}}, 143, false},
		{"ten TERMs", slices.Repeat([]blow{{ms, syscall.SIGTERM}}, 10), 143, false},
		{"TERM, HUP, QUIT, ABRT, INT", []blow{{0, syscall.SIGTERM}, {30 * ms, syscall.SIGHUP}, {ms, syscall.SIGQUIT}, {ms, syscall.SIGABRT}, {ms, syscall.SIGINT}}, 143, false},
		{"QUIT, TERM", []blow{{0, syscall.SIGQUIT}, {ms, syscall.SIGTERM}}, 131, true},
		{"WINCH and TERM", []blow{{0, syscall.SIGWINCH}, {0, syscall.SIGWINCH}, {0, syscall.SIGTERM}, {0, syscall.SIGWINCH}, {0, syscall.SIGTERM}}, 143, false},
		{"PIPE and TERM", []blow{{0, syscall.SIGPIPE}, {0, syscall.SIGTERM}}, 143, false},
		{"TSTP, CONT and TERM", []blow{{0, syscall.SIGTSTP}, {300 * ms, syscall.SIGCONT}, {300 * ms, syscall.SIGTERM}}, 143, false},
		{"STOP, CONT and TERM", []blow{{0, syscall.SIGSTOP}, {100 * ms, syscall.SIGCONT}, {100 * ms, syscall.SIGTERM}}, 143, false},
		{"TERM while stopped", []blow{{0, syscall.SIGSTOP}, {50 * ms, syscall.SIGTERM}, {50 * ms, syscall.SIGCONT}}, 143, false},
		{"TERM while it has stopped itself", []blow{{0, syscall.SIGTSTP}, {300 * ms, syscall.SIGTERM}, {50 * ms, syscall.SIGCONT}}, 143, false},
		{"CONT alone and TERM", []blow{{0, syscall.SIGCONT}, {0, syscall.SIGCONT}, {100 * ms, syscall.SIGTERM}}, 143, false},
	} {
		t.Run(s.name, func(t *testing.T) {
			before := freshTermios(t)
			cmd := b.command(t, "-n", "velero")
			c := startConsole(t, cmd, 80, 24)
			c.sees(t, "live", "signalled")
			for _, blow := range s.blows {
				time.Sleep(blow.after) // what is tested is the order in time
				if err := cmd.Process.Signal(blow.signal); err != nil && err != os.ErrProcessDone {
					t.Fatal(err)
				}
			}
			if code := c.exits(t); code != s.code {
				t.Errorf("exit code %d, want %d", code, s.code)
			}
			c.checkSane(t, before)
			raw := c.OutputText()
			dump := strings.Index(raw, "goroutine ")
			if (dump >= 0) != s.dump || s.dump && dump < strings.LastIndex(raw, "\x1b[?1049l") {
				t.Errorf("stacks at byte %d, the screen is left at %d", dump, strings.LastIndex(raw, "\x1b[?1049l"))
			}
		})
	}
}

// While finalize tries again, on a terminal: the modes are never touched, and
// what was sent is said before any stacks, whatever ends it.
func TestSignalsInMidRetryOnATerminal(t *testing.T) {
	b := control(t)
	for _, s := range []struct {
		name   string
		signal syscall.Signal
		code   int
	}{{"int", syscall.SIGINT, 130}, {"quit", syscall.SIGQUIT, 131}, {"abrt", syscall.SIGABRT, 134}} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			name := "retried-" + s.name
			b.quiet(t, inProgress(name, time.Hour))
			var sent atomic.Int32
			kubeconfig := b.proxied(t, 0, func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPatch || r.URL.Query().Has("dryRun") {
					return false
				}
				sent.Add(1)
				http.Error(w, "on its way out", http.StatusServiceUnavailable)
				return true
			})
			before := freshTermios(t)
			cmd := through(kubeconfig, b.command(t, "finalize", "restore/"+name, "--phase", "Failed", "--yes"))
			c := startConsole(t, cmd, 120, 50)
			eventually(t, "it tries again", func() bool { return sent.Load() > 1 })
			for range 2 {
				if err := cmd.Process.Signal(s.signal); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Millisecond)
			}
			if code := c.exits(t); code != s.code {
				t.Errorf("exit code %d", code)
			}
			c.checkSane(t, before)
			raw := strings.ReplaceAll(c.OutputText(), "\r\n", "\n")
			told := strings.Index(raw, "unknown whether it was applied")
			if dump := strings.Index(raw, "goroutine "); told < 0 || s.signal != syscall.SIGINT && dump < told {
				t.Errorf("told at byte %d, stacks at %d of\n%.3000s", told, dump, raw)
			}
		})
	}
}
