package watch

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/testbed"
)

// enough is how long a test waits for what has to come; only a failure takes
// that long.
const enough = 2 * time.Minute

// quick makes tests of a lost server short.
var quick = timing{
	period:          500 * time.Millisecond,
	answerTimeout:   2 * time.Second,
	outageBackoff:   wait.Backoff{Duration: 100 * time.Millisecond},
	rejectedBackoff: wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Steps: 4, Cap: time.Second},
}

// All tests share one control plane, so none may run in parallel; each has
// namespaces of its own and leaves all CRDs in place.
var shared testbed.SharedControlPlane

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard()) // For envtest.
	os.Exit(shared.RunTests(m))
}

// cluster is the shared control plane with an administrator's client.
type cluster struct {
	*testbed.ControlPlane
	client.Client
	t *testing.T
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	plane := shared.ControlPlane(t)
	k8s, err := client.New(plane.RESTConfig(), client.Options{Scheme: testbed.Scheme(), Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{plane, k8s, t}
}

// create makes an object; what it is made of is kept, as a status is part of
// the object for all of Velero's kinds.
func (c *cluster) create(objects ...client.Object) {
	c.t.Helper()
	for _, o := range objects {
		if err := c.Create(c.t.Context(), o); err != nil {
			c.t.Fatalf("creating %T %s: %v", o, o.GetName(), err)
		}
	}
}

// namespace makes one that no other test has, nor this one when it runs again.
func (c *cluster) namespace(prefix string) string {
	c.t.Helper()
	name := shared.Name(prefix)
	if err := c.EnsureNamespace(c.t.Context(), name); err != nil {
		c.t.Fatal(err)
	}
	return name
}

// user makes a user who may read the given resources in a namespace.
func (c *cluster) user(name, namespace string, rules ...rbacv1.PolicyRule) *rest.Config {
	c.t.Helper()
	cfg, err := c.AddUserWithRules(c.t.Context(), name, namespace, rules...)
	if err != nil {
		c.t.Fatal(err)
	}
	return cfg
}

func mayRead(group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"get", "list", "watch"}}
}

// watch starts a watcher that the test stops.
func (c *cluster) watch(o Options) *follower {
	c.t.Helper()
	if o.Config == nil {
		o.Config = c.RESTConfig()
	}
	if o.Session == nil {
		config := o.Config
		o.Session = c.session(func() *restConfig { return config })
	}
	if o.timing.period == 0 {
		o.timing = quick
	}
	if o.BatchWindow == 0 && o.JournalLimit == 0 {
		o.BatchWindow = 5 * time.Millisecond
	}
	w, err := New(c.t.Context(), o)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(w.Stop)
	return &follower{w, c.t}
}

// session is a connection whose configuration is what load returns at the time.
func (c *cluster) session(load func() *restConfig) *session.Session {
	c.t.Helper()
	s, err := session.New(
		session.Options{Context: "prod-east", LoadConfig: func() (*restConfig, error) { return load(), nil }},
	)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// follower is a watcher under test.
type follower struct {
	*Watcher
	t *testing.T
}

// until returns the first snapshot for which ok is true.
func (f *follower) until(what string, ok func(*Snapshot) bool) *Snapshot {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), enough)
	defer cancel()
	for {
		s, err := f.Next(ctx)
		if err != nil {
			last := f.Latest()
			f.t.Fatalf("waiting until %s: %v\nlast health: %+v\nnamespace %q, notice %q\nsources: %+v",
				what, err, last.Health, last.Namespace, last.NamespaceNotice, last.Sources)
		}
		if ok(s) {
			return s
		}
	}
}

func isLive(s *Snapshot) bool { return s.Health.State == Live }

func sourceState(s *Snapshot, resource string) SourceState {
	for _, source := range s.Sources {
		if source.Resource == resource {
			return source.State
		}
	}
	return ""
}
