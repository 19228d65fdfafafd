package watch

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// staleWithin and liveWithin are what a person may rely on. Data is live again at
// most liveWithin after a watch that begins with the API server's first answer.
const staleWithin, liveWithin = 10 * time.Second, 2 * time.Second

// An etcd that hangs leaves every watch open and the API server alive. Nothing is live
// then, for whoever may read anything at all.
func TestEtcdHangs(t *testing.T) {
	c := newCluster(t)
	ns := c.namespace("etcd")
	watched := map[string]*follower{"an administrator": c.watch(Options{Namespace: ns, timing: defaultTiming})}
	for name, rules := range map[string][]rbacRule{
		"viewer": {mayRead("velero.io", "*"), mayRead("", "pods")},
		"jobs":   {mayRead("velero.io", "backups", "restores")},
		"pods":   {mayRead("", "pods")},
		"moves":  {mayRead("velero.io", "datauploads")},
	} {
		watched[name] = c.watch(Options{Namespace: ns, timing: defaultTiming, Config: c.user("etcd-"+name, ns, rules...)})
	}
	opened := map[string]int{}
	for name, w := range watched {
		w.until(name+" is live", isLive)
		opened[name] = watchesOf(w)
	}
	paused := time.Now()
	if err := c.PauseEtcd(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.ResumeEtcd() })
	for name, w := range watched {
		w.until(name+" is stale", func(s *Snapshot) bool { return s.Health.State == Stale })
		if took := time.Since(paused); took > staleWithin {
			t.Errorf("%s is stale after %v", name, took)
		}
	}
	for name, w := range watched {
		w.until(name+" is told the reason", func(s *Snapshot) bool { return strings.Contains(s.Health.Err, "etcd") })
	}
	if err := c.ResumeEtcd(); err != nil {
		t.Fatal(err)
	}
	c.firstAnswer(ns)
	reference := c.newWatchLive(ns)
	live := map[string]time.Time{}
	for name, w := range watched {
		w.until(name+" is live again", isLive)
		live[name] = time.Now()
	}
	at := <-reference
	for name, w := range watched {
		if late := live[name].Sub(at); late > liveWithin {
			t.Errorf("%s is live %v after a watch that began with the first answer", name, late)
		}
		if again := watchesOf(w); again > opened[name]+len(kinds)/2 {
			t.Errorf(
				"%s: %d watches were opened, %d before: the API server was alive all the time",
				name,
				again,
				opened[name],
			)
		}
	}
}

// watchesOf is how many watches were opened.
func watchesOf(f *follower) (n int) {
	for _, s := range f.sources {
		s.mu.Lock()
		n += s.watches
		s.mu.Unlock()
	}
	return n
}

// firstAnswer returns with the first quorum read that is answered.
func (c *cluster) firstAnswer(namespace string) {
	c.t.Helper()
	for deadline := time.Now().Add(enough); time.Now().Before(deadline); {
		ctx, cancel := context.WithTimeout(c.t.Context(), 200*time.Millisecond)
		err := c.List(ctx, &veleroapi.BackupStorageLocationList{})
		if cancel(); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	c.t.Fatalf("no answer in namespace %s", namespace)
}

// After an outage of any length the watch waits for no pause to end: it is live as soon
// as one that begins with the first answer. Other work on the machine adds to the time
// until it is stale, so the best of three outages counts.
func TestBackToLive(t *testing.T) {
	c := newCluster(t)
	ns := c.namespace("back")
	for name, outage := range map[string]struct{ away, back func() error }{
		"stopped": {c.PauseAPIServer, c.ResumeAPIServer},
		"killed":  {c.KillAPIServer, func() error { return c.StartAPIServer(t.Context()) }},
	} {
		t.Run(name, func(t *testing.T) {
			c := &cluster{c.ControlPlane, c.Client, t}
			w := c.watch(Options{Namespace: ns, timing: defaultTiming})
			stale, live := time.Hour, time.Hour
			for range 3 {
				w.until("the watch is live", isLive)
				noticed, late := c.outage(w, ns, outage.away, outage.back)
				if stale, live = min(stale, noticed), min(live, late); stale <= staleWithin && live <= liveWithin {
					return
				}
			}
			t.Errorf("stale after %v, live %v after a watch that began with the first answer", stale, live)
		})
	}
}

// outage takes the API server away and back. It returns the time until the data was
// stale, and how much later than a new watch it was live again.
func (c *cluster) outage(w *follower, ns string, away, back func() error) (stale, late time.Duration) {
	c.t.Helper()
	gone := time.Now()
	if err := away(); err != nil {
		c.t.Fatal(err)
	}
	w.until("the data is stale", func(s *Snapshot) bool { return s.Health.State == Stale })
	stale = time.Since(gone)
	failed := 0
	w.until("some attempts have failed", func(*Snapshot) bool { failed++; return failed >= 3 })
	if err := back(); err != nil {
		c.t.Fatal(err)
	}
	c.firstAnswer(ns)
	reference := c.newWatchLive(ns)
	w.until("the data is live again", isLive)
	live := time.Now()
	return stale, live.Sub(<-reference)
}

// newWatchLive begins a watch and sends the time at which it is live.
func (c *cluster) newWatchLive(ns string) <-chan time.Time {
	c.t.Helper()
	w, live := c.watch(Options{Namespace: ns, timing: defaultTiming}), make(chan time.Time, 1)
	ctx, cancel := context.WithTimeout(c.t.Context(), enough)
	go func() {
		defer cancel()
		defer close(live)
		for s, err := w.Next(ctx); err == nil; s, err = w.Next(ctx) {
			if isLive(s) {
				live <- time.Now()
				return
			}
		}
	}()
	return live
}
