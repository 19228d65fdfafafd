package cmd

import (
	"encoding/pem"
	"net/http"
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/action"
)

// nth is true for the nth request with a method whose path and query hold the words.
func nth(n int, method string, words ...string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		if r.Method != method || !holdsAll(r.URL.RequestURI(), words...) {
			return false
		}
		n--
		return n == 0
	}
}

// afterwards is true for the nth request of a kind once one of another kind has come.
func afterwards(first func(*http.Request) bool, n int, method string, words ...string) func(*http.Request) bool {
	come, then := false, nth(n, method, words...)
	return func(r *http.Request) bool {
		if come {
			return then(r)
		}
		come = first(r)
		return false
	}
}

// review is true for the first question who asks.
func review() func(*http.Request) bool { return nth(1, http.MethodPost, "/selfsubjectreviews") }

// moments of `veltui finalize` at which its credentials are refused. What is asked
// with a time limit is asked by the engine; a first look is for the plan, a second for
// the write. On a slow machine there are more: evidence that is too old for a write is gathered anew, and what has had
// no answer in time is asked again. So moments behind those looks are counted from what they follow.
func moments(name string) []struct {
	name string
	is   func(*http.Request) bool
} {
	const get, post, patch = http.MethodGet, http.MethodPost, http.MethodPatch
	dryRun := func() func(*http.Request) bool { return nth(1, patch, "/restores/"+name, "dryRun=All") }
	return []struct {
		name string
		is   func(*http.Request) bool
	}{
		{"the first read", nth(1, get, "/restores/"+name)},
		{"the first identity", nth(1, get, "/namespaces/kube-system")},
		{"the first look", nth(1, get, "/restores/"+name, "timeout")},
		{"the first review", review()},
		{"the second identity", afterwards(review(), 1, get, "/namespaces/kube-system")},
		{"the second look", afterwards(review(), 1, get, "/restores/"+name, "timeout")},
		{"the second review", afterwards(review(), 1, post, "/selfsubjectreviews")},
		{"the dry run", dryRun()},
		{"the reading after the dry run", afterwards(dryRun(), 1, get, "/namespaces/kube-system")},
		{"the last identity", afterwards(dryRun(), 2, get, "/namespaces/kube-system")},
		{"the patch", isPatch},
	}
}

const movedSentence = "context prod-east leads to another cluster now"

// Credentials that are refused in the middle of `veltui finalize` are read again from a
// kubeconfig that leads to a copy of the cluster now, in which every uid and version is
// the same. That one is never written to.
func TestFinalizeOfASwappedCluster(t *testing.T) {
	w := startTwins(t)
	for _, v := range []struct {
		name, difference string
		// others makes the copy a cluster with an identity of its own.
		others bool
		// swap leads to it.
		swap func(t *testing.T, k *kubeconfig, a, b *front)
		// at are the moments, all if empty.
		at string
	}{
		{"another server", "its server was ", false, func(t *testing.T, k *kubeconfig, _, b *front) { k.lead(t, b, "jane@b") }, ""},
		{"another server, another uid", "its server was ", true, func(t *testing.T, k *kubeconfig, _, b *front) { k.lead(t, b, "jane@b") }, "the patch"},
		{"another authority", "its certificate authority was ", false, func(t *testing.T, k *kubeconfig, a, _ *front) {
			a.behind.Store(w.b)
			k.lead(t, a, "jane@a", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.b.RESTConfig().CAData})...)
		}, "the patch"},
		{"another cluster at the same server", "the uid of its namespace kube-system was ", true, func(t *testing.T, _ *kubeconfig, a, _ *front) { a.behind.Store(w.b) }, ""},
	} {
		t.Run(v.name, func(t *testing.T) {
			if v.others {
				w.otherUID(t)
			}
			for i := range moments("") {
				name := moments("")[i].name
				switch {
				case v.at != "" && name != v.at:
					continue
				case v.at == "" && v.others && (name == "the first read" || name == "the first identity"):
					continue // nothing of the first cluster was shown, nor known: all of it is the second one's
				}
				t.Run(name, func(t *testing.T) {
					r := w.restore(t)
					a, b := newFront(t, "a", w.a), newFront(t, "b", w.b)
					k := newKubeconfig(t, a, "jane@a")
					a.once(moments(r.Name)[i].is, func(answer http.ResponseWriter, _ *http.Request) {
						v.swap(t, k, a, b)
						unauthorized(answer)
					})
					s := k.run(t, w, "finalize", "restore/"+r.Name, "--yes", "--observe", "1s")
					if all := s.stdout + s.stderr; s.code == ExitOK ||
						!strings.Contains(all, movedSentence+": "+v.difference) {
						t.Errorf("exit code %d\n%s", s.code, all)
					}
					w.a.untouched(t, r)
					w.b.untouched(t, r)
					w.checkSeparate(t, map[string]*front{"a": a, "b": b})
					checkSwappedJournal(t, (&operator{state: s.state}).log(t), a, name)
				})
			}
		})
	}
}

// checkSwappedJournal holds the record of an attempt to what happened: nothing was
// applied, and nothing sent but to the cluster that was shown. A dry run that was not read
// back is in doubt.
func checkSwappedJournal(t *testing.T, entries []action.AuditEntry, a *front, moment string) {
	t.Helper()
	want := map[string]string{"the dry run": "begin check end", "the reading after the dry run": "begin check end", "the last identity": "begin check send end", "the patch": "begin check send end"}[moment]
	if got := eventsOf(entries); got != want {
		t.Errorf("the journal has %q, want %q", got, want)
	}
	host := strings.TrimPrefix(a.server.URL, "https://")
	for _, e := range entries {
		if e.Context != twinContext || e.Cluster != a.server.URL || e.By != "jane" {
			t.Errorf("the journal has %+v", e)
		}
		sentAtEnd := action.NotSent
		if moment == "the reading after the dry run" {
			sentAtEnd = action.Doubtful
		}
		if e.Event == "end" &&
			(e.State != action.StateChanged || e.Sent != sentAtEnd || !strings.Contains(e.Message, movedSentence)) {
			t.Errorf("the journal ends with %+v", e)
		}
		sent := map[bool]string{true: host}[e.Event == "end" && moment == "the patch"]
		if e.Host != sent {
			t.Errorf("%s names the host %q, want %q", e.Event, e.Host, sent)
		}
	}
}

// After the patch has landed in the cluster that was shown, the context leads to
// another: that one gets no Event, and is not asked what became of the patch.
func TestFinalizeOfAClusterThatIsSwappedAfterwards(t *testing.T) {
	w := startTwins(t)
	w.otherUID(t)
	swaps := w.swaps()
	for _, c := range []struct {
		lead    func(t *testing.T, k *kubeconfig, a, b *front)
		refused bool // a request after that, whose credentials are renewed then
	}{{swaps[0].lead, false}, {swaps[0].lead, true}, {swaps[1].lead, false}, {swaps[1].lead, true}} {
		r, refused := w.restore(t), c.refused
		a, b := newFront(t, "a", w.a), newFront(t, "b", w.b)
		k := newKubeconfig(t, a, "jane@a")
		swapped := false
		hook := func(answer http.ResponseWriter, request *http.Request) bool {
			if swapped && refused {
				refused = false
				unauthorized(answer)
				return true
			}
			if swapped || !isPatch(request) {
				return false
			}
			a.pass(answer, request)
			c.lead(t, k, a, b)
			swapped = true
			return true
		}
		a.answer.Store(&hook)
		s := k.run(t, w, "finalize", "restore/"+r.Name, "--yes", "--observe", "1s")
		if all := s.stdout + s.stderr; s.code == ExitOK || !holdsAll(all, movedSentence, "nothing more was written") {
			t.Errorf("exit code %d\n%s", s.code, all)
		}
		if phase := w.a.restorePhase(t, r.Name); phase != "Failed" {
			t.Errorf("phase %s", phase)
		}
		w.b.untouched(t, r)
		w.checkSeparate(t, map[string]*front{"a": a, "b": b})
		entries := (&operator{state: s.state}).log(t)
		if got := eventsOf(entries); got != "begin check send landed end" || entries[4].Sent != action.Landed {
			t.Errorf("the journal has %s: %+v", got, entries)
		}
	}
}

func isPatch(r *http.Request) bool {
	return r.Method == http.MethodPatch && !strings.Contains(r.URL.RawQuery, "dryRun")
}

// Credentials that are renewed on the way must be those of whoever was shown the plan.
func TestFinalizeAsSomebodyElse(t *testing.T) {
	w := startTwins(t)
	for i, m := range moments("") {
		if m.name != "the patch" && m.name != "the dry run" && !strings.HasPrefix(m.name, "the second") &&
			!strings.HasPrefix(m.name, "the last") {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			r := w.restore(t)
			a := newFront(t, "a", w.a)
			k := newKubeconfig(t, a, "jane@a")
			a.once(moments(r.Name)[i].is, func(answer http.ResponseWriter, _ *http.Request) {
				k.lead(t, a, "joe@a")
				unauthorized(answer)
			})
			s := k.run(t, w, "finalize", "restore/"+r.Name, "--yes", "--observe", "1s")
			if all := s.stdout + s.stderr; s.code != ExitRefused ||
				!strings.Contains(all, "the credentials are those of joe now, no longer of jane") {
				t.Errorf("exit code %d\n%s", s.code, all)
			}
			w.a.untouched(t, r)
			for _, one := range a.seen() {
				if one.writes() && one.token != "jane@a" {
					t.Errorf("sent by another: %s", one)
				}
			}
			for _, e := range (&operator{state: s.state}).log(t) {
				if e.By != "jane" || e.Event == "landed" {
					t.Errorf("the journal has %+v", e)
				}
			}
		})
	}
}

// Credentials that are renewed for the same person in the same cluster end nothing.
func TestFinalizeWithRenewedCredentials(t *testing.T) {
	w := startTwins(t)
	r := w.restore(t)
	a := newFront(t, "a", w.a)
	k := newKubeconfig(t, a, "jane@a")
	a.once(isPatch, func(answer http.ResponseWriter, _ *http.Request) {
		k.lead(t, a, "jane@a#2")
		unauthorized(answer)
	})
	s := k.run(t, w, "finalize", "restore/"+r.Name, "--yes", "--observe", "1s")
	if phase := w.a.restorePhase(t, r.Name); s.code != ExitOK || phase != "Failed" {
		t.Errorf("exit code %d, phase %s\n%s%s", s.code, phase, s.stdout, s.stderr)
	}
	var patched []string
	for _, one := range a.seen() {
		if one.method == http.MethodPatch && !strings.Contains(one.url.RawQuery, "dryRun") {
			patched = append(patched, one.token)
		}
	}
	if got := strings.Join(patched, " "); got != "jane@a jane@a#2" {
		t.Errorf("patches were sent by %s", got)
	}
	w.b.untouched(t, r)
}
