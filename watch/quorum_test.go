package watch

import (
	"strings"
	"testing"
)

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
	if err := c.PauseEtcd(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.ResumeEtcd() })
	for name, w := range watched {
		w.until(name+" is stale", func(s *Snapshot) bool { return s.Health.State == Stale })
	}
	for name, w := range watched {
		w.until(name+" is told the reason", func(s *Snapshot) bool { return strings.Contains(s.Health.Err, "etcd") })
	}
	if err := c.ResumeEtcd(); err != nil {
		t.Fatal(err)
	}
	for name, w := range watched {
		w.until(name+" is live again", isLive)
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
