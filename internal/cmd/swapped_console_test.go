package cmd

import (
	"net/http"
	"strings"
	"testing"
)

// swaps are the ways in which a context comes to lead to another cluster.
func (w *twins) swaps() []swapped {
	return []swapped{
		{"another server", false, func(t *testing.T, k *kubeconfig, _, b *front) { k.lead(t, b, "jane@b") }},
		{
			"another cluster at the same server",
			true,
			func(t *testing.T, _ *kubeconfig, a, _ *front) { a.behind.Store(w.b) },
		},
	}
}

type swapped struct {
	name string
	// others makes the copy a cluster with an identity of its own.
	others bool
	lead   func(t *testing.T, k *kubeconfig, a, b *front)
}

// While `veltui finalize` waits for an answer, its context comes to lead elsewhere.
func TestConfirmForASwappedCluster(t *testing.T) {
	w := startTwins(t)
	for _, v := range w.swaps() {
		t.Run(v.name, func(t *testing.T) {
			if v.others {
				w.otherUID(t)
			}
			r := w.restore(t)
			a, b := newFront(t, "a", w.a), newFront(t, "b", w.b)
			k := newKubeconfig(t, a, "jane@a")
			cmd, state := k.command(t, w, "finalize", "restore/"+r.Name, "--phase", "Failed", "--observe", "1s")
			c := startConsole(t, cmd, 200, 100)
			c.sees(t, "The cluster is "+a.server.URL+" (uid "+string(w.uid)+").")
			v.lead(t, k, a, b)
			if code := c.answers(
				t,
				twinContext+"/"+r.Name+"\n",
			); code != ExitRefused ||
				!holdsAll(c.ScreenText(), movedSentence, "nothing was written") {
				t.Errorf("exit code %d\n%s", code, c.ScreenText())
			}
			w.a.untouched(t, r)
			w.b.untouched(t, r)
			w.checkSeparate(t, map[string]*front{"a": a, "b": b})
			if entries := (&operator{state: state}).log(t); len(entries) > 0 {
				t.Errorf("the journal has %+v", entries)
			}
		})
	}
}

// A dashboard whose context leads elsewhere says so without being asked, and ends. It
// never plans for the other cluster, or writes to it.
func TestDashboardOfASwappedCluster(t *testing.T) {
	w := startTwins(t)
	cases := []struct {
		name string
		// before and after are done before and after the swap.
		before, after func(t *testing.T, o *operator, name string)
		says          string
		retries       bool
		journal       string
	}{
		{"at once", nil, func(t *testing.T, o *operator, _ string) { o.types(t, "f") }, "", false, ""},
		{"without a key", nil, nil, "", false, ""},
		{"in the dialog", opensTwin, func(t *testing.T, o *operator, name string) {
			o.types(t, "\r")
			o.sees(t, "and press enter:")
			o.types(t, twinContext+"/"+name+"\r")
		}, "nothing was written", false, ""},
		{"while it is retried", func(t *testing.T, o *operator, name string) {
			opensTwin(t, o, name)
			o.types(t, "\r")
			o.sees(t, "and press enter:")
			o.types(t, twinContext+"/"+name+"\r")
			o.sees(t, "send it", "attempt 2")
		}, nil, "unknown whether it was applied", true, "begin check send end"},
	}
	for _, v := range w.swaps() {
		t.Run(v.name, func(t *testing.T) {
			if v.others {
				w.otherUID(t)
			}
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					r := w.restore(t)
					a, b := newFront(t, "a", w.a), newFront(t, "b", w.b)
					if c.retries {
						hook := func(answer http.ResponseWriter, request *http.Request) bool {
							if isPatch(request) {
								answer.WriteHeader(http.StatusServiceUnavailable)
								return true
							}
							return false
						}
						a.answer.Store(&hook)
					}
					k := newKubeconfig(t, a, "jane@a")
					cmd, state := k.command(t, w, "--no-artifacts")
					o := &operator{state: state, console: startConsole(t, cmd, 120, 40)}
					o.sees(t, "live")
					o.types(t, "/"+r.Name+"\r")
					o.sees(t, "/"+r.Name, "▸! R "+r.Name) // with what affects it, once that is known
					if c.before != nil {
						c.before(t, o, r.Name)
					}
					v.lead(t, k, a, b)
					if c.after != nil {
						c.after(t, o, r.Name)
					}
					o.sees(t, movedSentence)
					if c.says != "" {
						o.sees(t, c.says)
					}
					if c.before == nil && strings.Contains(o.ScreenText(), "Press enter to apply") {
						t.Errorf("it plans for another cluster:\n%s", o.ScreenText())
					}
					if code := o.exits(t); code != ExitError {
						t.Errorf("exit code %d", code)
					}
					o.checkRestored(t)
					w.a.untouched(t, r)
					w.b.untouched(t, r)
					w.checkSeparate(t, map[string]*front{"a": a, "b": b})
					if asked := b.seen(); len(asked) > 0 {
						t.Errorf("the second server was asked %s", asked)
					}
					if got := eventsOf(o.log(t)); got != c.journal {
						t.Errorf("the journal has %q", got)
					}
				})
			}
		})
	}
}

// opensTwin opens the dialog on a restore and waits for its plan.
func opensTwin(t *testing.T, o *operator, name string) {
	t.Helper()
	o.types(t, "f")
	o.sees(t, "Finalize restore velero/"+name, "enter type the name")
}

// Where one confirms, one is told which cluster it is for, and how well that is known.
func TestConfirmNamesTheCluster(t *testing.T) {
	w := startTwins(t)
	for _, u := range []struct{ token, knows string }{
		{"jane@a", "(uid " + string(w.uid) + ")"},
		{twinViewer + "@a", "(known by its URL and certificate authority only: "},
	} {
		t.Run(u.token, func(t *testing.T) {
			r := w.restore(t)
			a := newFront(t, "a", w.a)
			k := newKubeconfig(t, a, u.token)
			cmd, _ := k.command(t, w, "finalize", "restore/"+r.Name, "--phase", "Failed")
			c := startConsole(t, cmd, 200, 100)
			c.sees(t, "The cluster is "+a.server.URL+" "+u.knows, "to confirm: ")
			c.types(t, "\x03")
			c.exits(t)
			cmd, state := k.command(t, w, "--no-artifacts")
			o := &operator{state: state, console: startConsole(t, cmd, 200, 60)}
			o.sees(t, "live")
			o.types(t, "/"+r.Name+"\r")
			o.sees(t, "/"+r.Name, "▸! R "+r.Name)
			opensTwin(t, o, r.Name)
			o.sees(t, a.server.URL, u.knows)
		})
	}
}
