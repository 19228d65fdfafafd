package dryrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilrand "k8s.io/apimachinery/pkg/util/rand"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/kubectl"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/sanitize"
)

const (
	workers = 4
	rootCA  = "kube-root-ca.crt" // Kubernetes makes it in each namespace
	secrets = "secrets"
)

// Query is a restore to send.
type Query struct {
	Fates *collector.Fates
	State *live.State
	Rules *prepare.Rules // their Name is set by the dry run
	// Reach is how a command gets to the cluster.
	Reach      kubectl.Reach
	Namespaces map[string]live.Namespace // those of the target, nil if they are not known
	Order      []string                  // the resources in Velero's order
	// Bodies reads what the backup holds of the items that are wanted.
	Bodies func(
		ctx context.Context,
		wanted func(resource, namespace, name string) bool,
		visit func(resource, namespace, name string, body []byte),
	) error
	// Ambiguous reports whether the backup holds a resource in several API versions of which Velero chooses one.
	Ambiguous func(resource string) bool
	Secrets   bool   // Secrets sends Secrets, too
	StandIn   string // StandIn is a namespace in place of those that do not exist yet, empty for none
	// Progress is told how many items have been sent, from any goroutine; nil for nobody.
	Progress func(sent, total int)
}

// place is where an item lies: in the backup, or in the target.
type place struct{ resource, namespace, name string }

type item struct {
	place       // in the target
	exists      bool
	unseen      bool // whether it exists is not known
	planned     bool // whether it was to be sent
	verdict     verdict
	why         string
	asked       bool // whether it was sent
	ofNamespace bool // whether it is the namespace that is rejected
	byVelero    bool // whether Velero itself has the error

	send     request // the last request
	proven   bool    // the object came back, and the answer proves that it was not stored
	unproven string  // why nothing proves that it was not stored, empty if each answer does
}

// request is what is remembered of a request that might have stored something.
type request struct {
	at              schema.GroupVersionResource
	namespace, name string
	marked          bool                       // the object bears the label of this dry run, or a name of its own
	uid             string                     // of the answer to a create, which a stored object has, too
	before          *unstructured.Unstructured // the live object that a patch changes, nil for a create
}

func (i *item) decide(v verdict, why string) { i.verdict, i.why = v, sanitize.Cut(why, maxText) }

type run struct {
	Query
	*Sender
	items    map[place]*item // by place in the backup
	targets  map[place]*item
	limits   map[string]bool // namespaces that get limit ranges
	silent   atomic.Int32    // requests without an answer, one after the other
	total    int
	progress atomic.Int64

	servers *apiServers
	mark    string    // the value of Velero's restore-name label that the objects of this dry run bear
	first   *item     // the made-up object that went first, nil if none did
	began   time.Time // of the API server's clock when that was sent, zero if unknown
	// stop ends the dry run: no more is sent, and what is on the way is waited for. ended is done then.
	stop  context.CancelCauseFunc
	ended context.Context

	mu       sync.Mutex
	stored   []preflight.CarriedOut
	readings sync.Map // a sync.Once by reading
}

// halted reports whether no more may be sent.
func (r *run) halted() bool { return r.ended.Err() != nil }

// errCarriedOut ends a dry run of which an object was stored.
var errCarriedOut = errors.New("an earlier dry run was carried out")

// Run sends a restore. It returns nil for a restore of nothing. Its errors are the cause of ctx, and that the
// API server rejects the credentials.
func Run(ctx context.Context, s *Sender, q Query) (*preflight.DryRun, error) {
	r, err := newRun(ctx, s, q)
	if err != nil {
		return nil, err
	}
	if len(r.items) == 0 {
		return nil, nil
	}
	defer r.stop(nil)
	err = r.sendAll(ctx)
	switch broken := context.Cause(r.ended); {
	case ctx.Err() != nil:
		return nil, r.interrupted(ctx)
	case apierrors.IsUnauthorized(broken):
		return nil, fmt.Errorf("the API server rejects your credentials: %w", broken)
	case broken != nil:
		err = broken
	}
	r.findMarked(ctx)
	r.readUnmarked(ctx)
	r.readBackUnproven(ctx)
	return r.result(err), nil
}

// newRun plans a dry run. Its objects bear a mark of their own as the name of their restore, by which one that was
// stored all the same is known.
func newRun(ctx context.Context, s *Sender, q Query) (*run, error) {
	r := &run{Query: q, Sender: s, items: map[place]*item{}, targets: map[place]*item{}, limits: map[string]bool{},
		mark: "veltui-dry-run-" + utilrand.String(8)}
	rules := *q.Rules
	rules.Name = r.mark
	r.Rules = &rules
	r.ended, r.stop = context.WithCancelCause(ctx)
	return r, r.plan()
}

// interrupted is the error of a dry run that the user ended. It names what was stored until then.
func (r *run) interrupted(ctx context.Context) error {
	if len(r.stored) > 0 {
		return fmt.Errorf("%s (%w)", r.stored[0].Sentence(), context.Cause(ctx))
	}
	return context.Cause(ctx)
}

// plan decides what is sent.
func (r *run) plan() error {
	covered := map[string]bool{} // new namespaces whose own item is restored
	var inside []string
	err := r.Fates.Each(func(i collector.Item) {
		if i.Fate != collector.ToRestore || i.Mirror {
			return
		}
		at := &item{place: place{i.Resource, i.Target, i.Name}}
		if i.Resource == live.Namespaces {
			at.place = place{i.Resource, "", i.Target}
			covered[i.Target] = true
		} else if i.Target != "" {
			inside = append(inside, i.Target)
		}
		object, seen := r.State.Find(at.resource, at.namespace, at.name)
		at.exists, at.unseen = seen == live.There, seen == live.NotLooked
		r.decide(at, object)
		if i.Resource == live.LimitRanges && at.verdict == open {
			r.limits[i.Target] = true
		}
		r.items[place{i.Resource, i.Namespace, i.Name}] = at
		if r.targets[at.place] == nil {
			r.targets[at.place] = at
		}
	})
	slices.Sort(inside)
	for _, name := range slices.Compact(inside) {
		if r.isNew(name) && !covered[name] {
			at := &item{place: place{live.Namespaces, "", name}}
			r.items[place{live.Namespaces, "", "/" + name}] = at // no item of a backup is called so
			r.targets[at.place] = at
		}
	}
	for _, at := range r.items {
		if at.planned = at.verdict == open; at.planned {
			r.total++
		}
	}
	return err
}

// decide decides what needs no request.
func (r *run) decide(at *item, object live.Object) {
	switch {
	case r.targets[at.place] != nil:
		at.decide(notSent, "an item of another namespace that is mapped to the same comes first")
	case at.resource == live.ConfigMaps && at.name == rootCA && r.isNew(at.namespace):
		at.decide(notSent, "Kubernetes makes it itself")
	case at.exists && !object.Deleting.IsZero():
		at.decide(notSent, "it is being deleted, and Velero treats it as there")
	case at.exists && r.leaves(at) != "":
		at.decide(notSent, r.leaves(at))
	case at.resource == secrets && !r.Secrets:
		at.decide(cannotTell, "sent only if you ask for it")
	case r.isNew(at.namespace) && r.StandIn == "":
		at.decide(cannotTell, "namespace "+at.namespace+" does not exist yet, and none stands in for it")
	}
}

// leaves returns why Velero sends nothing of an object that exists, empty if it sends a patch.
func (r *run) leaves(at *item) string {
	switch {
	case at.resource == accounts:
		return "it exists, and Velero only adds to it"
	case r.Rules.Restore.ExistingResourcePolicy != velerov1.PolicyTypeUpdate:
		return "it exists, and the policy is none: Velero leaves it, with a warning if it differs"
	}
	return ""
}

// isNew reports whether a namespace is to be made.
func (r *run) isNew(namespace string) bool {
	_, exists := r.Namespaces[namespace]
	return namespace != "" && r.Namespaces != nil && !exists
}

// sendAll sends the bodies of the backup, and then the namespaces that it does not hold.
func (r *run) sendAll(ctx context.Context) error {
	if r.total == 0 {
		return nil // nothing of the backup is needed
	}
	r.servers = r.readAPIServers(ctx)
	d := r.dispatch(ctx)
	d.openLocal()
	given := map[*item]bool{}
	err := r.Bodies(r.ended, func(resource, namespace, name string) bool {
		i := r.items[place{resource, namespace, name}]
		return i != nil && !given[i] && i.verdict == open && !r.halted()
	}, func(resource, namespace, name string, body []byte) {
		i := r.items[place{resource, namespace, name}]
		given[i] = true
		d.add(i, body)
	})
	for at, i := range r.items {
		if at.resource == live.Namespaces && strings.HasPrefix(at.name, "/") {
			d.add(i, fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, i.name))
		}
	}
	d.finish()
	return err
}
