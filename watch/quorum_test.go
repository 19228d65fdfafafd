package watch

import (
	"context"
	"strings"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
)

// staleWithin and liveWithin are what a person may rely on.
const staleWithin, liveWithin = 10 * time.Second, 2 * time.Second

// An etcd that hangs leaves every watch open and the API server alive. Nothing is live
// then, for whoever may read anything at all.
func TestEtcdHangs(t *testing.T) {
	c := newCluster(t)
	ns := c.namespace("etcd")
	watched := map[string]*follower{"an administrator": c.watch(Options{Namespace: ns, timing: usualTiming})}
	for name, rules := range map[string][]rbacRule{
		"viewer": {mayRead("velero.io", "*"), mayRead("", "pods")},
		"jobs":   {mayRead("velero.io", "backups", "restores")},
		"pods":   {mayRead("", "pods")},
		"moves":  {mayRead("velero.io", "datauploads")},
	} {
		watched[name] = c.watch(Options{Namespace: ns, timing: usualTiming, Config: c.user("etcd-"+name, ns, rules...)})
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
	back := time.Now()
	for name, w := range watched {
		w.until(name+" is live again", isLive)
		if took := time.Since(back); took > liveWithin {
			t.Errorf("%s is live %v after the first response", name, took)
		}
		if again := watchesOf(w); again > opened[name]+len(kinds)/2 {
			t.Errorf("%s: %d watches were opened, %d before: the API server was alive all the time", name, again, opened[name])
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
		err := c.List(ctx, &velerov1.BackupStorageLocationList{})
		if cancel(); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	c.t.Fatalf("no answer in namespace %s", namespace)
}

// After an outage of any length nobody waits for a pause to end. Other work on the
// machine adds to both times, so the best of three outages counts.
func TestBackToLive(t *testing.T) {
	c := newCluster(t)
	ns := c.namespace("back")
	for name, outage := range map[string]struct{ away, back func() error }{
		"stopped": {c.PauseAPIServer, c.ResumeAPIServer},
		"killed":  {c.KillAPIServer, func() error { return c.StartAPIServer(t.Context()) }},
	} {
		t.Run(name, func(t *testing.T) {
			c := &cluster{c.ControlPlane, c.Client, t}
			w := c.watch(Options{Namespace: ns, timing: usualTiming})
			stale, live := time.Hour, time.Hour
			for range 3 {
				w.until("the watch is live", isLive)
				noticed, returned := c.outage(w, ns, outage.away, outage.back)
				if stale, live = min(stale, noticed), min(live, returned); stale <= staleWithin && live <= liveWithin {
					return
				}
			}
			t.Errorf("stale after %v, live %v after the first response", stale, live)
		})
	}
}

// outage takes the API server away and back, and says how long it took until the data
// was stale, and from its first answer until it was live again.
func (c *cluster) outage(w *follower, ns string, away, back func() error) (stale, live time.Duration) {
	c.t.Helper()
	gone := time.Now()
	if err := away(); err != nil {
		c.t.Fatal(err)
	}
	w.until("the data is stale", func(s *Snapshot) bool { return s.Health.State == Stale })
	stale = time.Since(gone)
	failed := 0
	w.until("some attempts have failed", func(*Snapshot) bool { failed++; return failed >= 3 })
	returned := make(chan time.Time, 1)
	go func() {
		defer close(returned)
		if err := back(); err != nil {
			c.t.Error(err)
			return
		}
		c.firstAnswer(ns)
		returned <- time.Now()
	}()
	w.until("the data is live again", isLive)
	at := time.Now()
	return stale, at.Sub(<-returned)
}
