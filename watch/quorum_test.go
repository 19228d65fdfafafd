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

// After an outage of any length nobody waits for a pause to end.
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
			w.until("the watch is live", isLive)
			gone := time.Now()
			if err := outage.away(); err != nil {
				t.Fatal(err)
			}
			w.until("the data is stale", func(s *Snapshot) bool { return s.Health.State == Stale })
			if took := time.Since(gone); took > staleWithin {
				t.Errorf("stale after %v", took)
			}
			failed := 0
			w.until("some attempts have failed", func(s *Snapshot) bool { failed++; return failed >= 3 })
			returned := make(chan time.Time, 1)
			go func() {
				defer close(returned)
				if err := outage.back(); err != nil {
					t.Error(err)
					return
				}
				c.firstAnswer(ns)
				returned <- time.Now()
			}()
			w.until("the data is live again", isLive)
			live := time.Now()
			if took := live.Sub(<-returned); took > liveWithin {
				t.Errorf("live %v after the first response", took)
			}
		})
	}
}
