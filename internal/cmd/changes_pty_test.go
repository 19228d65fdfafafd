package cmd

import (
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/testbed"
)

// The dialog of what changes no running job, in a dashboard whose context leads elsewhere: nothing is written.
func TestDashboardChangesOfASwappedCluster(t *testing.T) {
	testbed.RequireMore(t)
	w := startTwins(t)
	for _, v := range w.swaps() {
		t.Run(v.name, func(t *testing.T) {
			if v.others {
				w.otherUID(t)
			}
			for _, c := range dashboardChanges {
				t.Run(c.change, func(t *testing.T) {
					t.Parallel()
					name, written := twinName+c.suffix, changeNamed(c.change).written(twinName)
					before := [2]string{w.a.state(t, written), w.b.state(t, written)}
					a, b := newFront(t, "a", w.a), newFront(t, "b", w.b)
					k := newKubeconfig(t, a, "jane@a")
					cmd, state := k.command(t, w, "--no-artifacts")
					o := &operator{state: state, console: startConsole(t, cmd, 250, 60)}
					o.changes(t, c.tab, name, c.key)
					confirmation := o.confirmation(t)
					v.lead(t, k, a, b)
					o.types(t, confirmation+"\r")
					o.sees(t, movedSentence)
					if !strings.Contains(o.OutputText(), "watching the cluster: ") { // the watch was not the first to notice
						o.sees(t, "nothing was")
					}
					if code := o.exits(t); code != ExitError {
						t.Errorf("exit code %d", code)
					}
					o.checkRestored(t)
					if after := [2]string{w.a.state(t, written), w.b.state(t, written)}; after != before {
						t.Errorf("it was %q and is %q", before, after)
					}
					w.checkSeparate(t, map[string]*front{"a": a, "b": b})
					if log := o.log(t); len(log) > 0 {
						t.Errorf("the journal has %+v", log)
					}
				})
			}
		})
	}
}

// A dashboard that loses its terminal while a change is retried: nothing is half done, and the journal says that it is
// unknown.
func TestDashboardChangesEndInMidRetry(t *testing.T) {
	b := control(t)
	for _, c := range dashboardChanges {
		t.Run(c.change, func(t *testing.T) {
			t.Parallel()
			name, written := "hung-"+c.change, changeNamed(c.change).written
			b.changeable(t, name)
			before := b.state(t, written(name))
			kubeconfig := b.proxied(t, 0, func(w http.ResponseWriter, r *http.Request) bool {
				if !sendsChange(r) {
					return false
				}
				http.Error(w, "the API server is on its way out", http.StatusServiceUnavailable)
				return true
			})
			o := &operator{state: t.TempDir()}
			cmd := exec.Command(b.binary, "--kubeconfig", kubeconfig, "-n", "velero", "--no-artifacts")
			cmd.Env = append(b.command(t).Env, "XDG_STATE_HOME="+o.state)
			o.console = startConsole(t, cmd, 120, 40)
			o.changes(t, c.tab, name+c.suffix, c.key)
			o.types(t, o.confirmation(t)+"\r")
			o.sees(t, "attempt 2")
			if err := o.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			if code := o.exits(t); code != 129 {
				t.Errorf("exit code %d", code)
			}
			if after := b.state(t, written(name)); after != before {
				t.Errorf("it was %s and is %s", before, after)
			}
			if log := o.log(
				t,
			); eventsOf(log) != "begin check send end" || log[3].Sent != action.Doubtful ||
				log[3].Error == "" {
				t.Errorf("the journal has %s: %+v", eventsOf(log), log)
			}
		})
	}
}

// dashboardChanges are keys of the dashboard that do what a command of [changes] does.
var dashboardChanges = []struct{ change, tab, suffix, key string }{
	{
		"pause",
		"4",
		"-daily",
		"p",
	},
	{"unpause", "4", "-paused", "p"},
	{"backup", "4", "-daily", "b"},
	{"delete-restore", "2", "-old", "X"},
	{"delete-backup", "3", "-gone", "X"},
}

// changes opens the dialog of a key on a row of a tab, up to the last question.
func (o *operator) changes(t *testing.T, tab, name, key string) {
	t.Helper()
	o.sees(t, "live")
	o.types(t, tab)
	o.sees(t, "["+tab+" ")
	o.types(t, "/"+name+"\r")
	o.sees(t, "/"+name, "1 of ")
	o.types(t, key)
	o.sees(t, "Press enter to apply", "esc back  d dry run") // keys are taken once the footer names them
	if strings.Contains(o.ScreenText(), "enter apply") {
		return
	}
	o.types(t, "\r")
	o.sees(t, "and press enter:")
}

// confirmation is the text that the dialog asks for, empty if it asks for a key.
func (o *operator) confirmation(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile(`Type (\S+) and press enter:`).FindStringSubmatch(o.ScreenText())
	switch {
	case found != nil:
		return found[1]
	case !strings.Contains(o.ScreenText(), "enter apply"):
		t.Fatalf("it asks for nothing:\n%s", o.ScreenText())
	}
	return ""
}
