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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilrand "k8s.io/apimachinery/pkg/util/rand"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/kubectl"
	"github.com/veltui/veltui/internal/platform"
	"github.com/veltui/veltui/internal/restore/identity"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

const (
	workerCount = 4
	secrets     = "secrets"
)

// Query is a restore to send.
type Query struct {
	Fates *collector.Fates
	State *live.State
	Rules *prepare.Rules // the dry run sets their RestoreName
	// ClusterAccess is how a command reaches the cluster.
	ClusterAccess kubectl.ClusterAccess
	Namespaces    map[string]live.Namespace // the target's namespaces, nil if unknown
	Order         []string                  // the resources in Velero's order
	// ReadBodies reads the bodies of the wanted items from the backup.
	ReadBodies func(
		ctx context.Context,
		wanted func(resource, namespace, name string) bool,
		visit func(resource, namespace, name string, body []byte),
	) error
	// IsAmbiguous reports whether the backup holds a resource in several API versions, of which Velero chooses one.
	IsAmbiguous      func(resource string) bool
	SendSecrets      bool   // SendSecrets also sends Secrets
	StandInNamespace string // StandInNamespace is a namespace in place of those that do not exist yet, empty for none
	// Progress gets the number of items sent so far, from any goroutine; nil for nobody.
	Progress func(sent, total int)
}

// itemKey is the place of an item, in the backup or in the target.
type itemKey struct{ resource, namespace, name string }

type item struct {
	itemKey           // in the target
	exists            bool
	existenceUnknown  bool // it is unknown whether the object exists
	planned           bool // whether it is to be sent
	verdict           verdict
	reason            string
	wasPrepared       bool // whether its name in the target is that of the prepared body
	wasSent           bool // whether it was sent
	namespaceRejected bool // whether its namespace is what was rejected
	isVeleroError     bool // whether the error is Velero's own

	lastRequest    sentRequest // the last request
	proven         bool        // the object came back, and the answer proves that it was not stored
	unprovenReason string      // why nothing proves that it was not stored, empty if each answer does
}

// sentRequest is what is kept of a request that might have stored something.
type sentRequest struct {
	resource        schema.GroupVersionResource
	namespace, name string
	marked          bool                       // the object bears the label of this dry run, or a name of its own
	uid             string                     // the uid in the answer to a create, which a stored object has, too
	before          *unstructured.Unstructured // the live object that a patch changes, nil for a create
}

func (i *item) setVerdict(v verdict, why string) {
	i.verdict, i.reason = v, sanitize.Truncate(why, maxText)
}

type runner struct {
	Query
	*Sender
	items             map[itemKey]*item // by place in the backup
	itemsByTarget     map[itemKey]*item
	limitedNamespaces map[string]bool // namespaces that get limit ranges
	unansweredCount   atomic.Int32    // requests without an answer in a row
	total             int
	progress          atomic.Int64

	groupServers *groupServers
	markLabel    string    // the value of Velero's restore-name label on the objects of this dry run
	firstItem    *item     // the made-up object that was sent first, nil if none was
	serverStart  time.Time // the API server's time when firstItem was sent, zero if unknown
	// stop ends the dry run: nothing more is sent, and requests under way are awaited. ended is done then.
	stop  context.CancelCauseFunc
	ended context.Context

	mu       sync.Mutex
	stored   []preflight.StoredObject
	needs    map[itemKey][]collector.Need // what items need after the resource modifier, by place in the backup
	readings sync.Map                     // a sync.Once by readingKey
}

// isHalted reports whether nothing more may be sent.
func (r *runner) isHalted() bool { return r.ended.Err() != nil }

// errCarriedOut ends a dry run that stored an object.
var errCarriedOut = errors.New("an earlier dry run was carried out")

// Run sends a restore. It returns nil for a restore of nothing. Its errors are the cause of ctx, and that the API
// server rejects the credentials.
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
		return nil, r.interruptError(ctx)
	case apierrors.IsUnauthorized(broken):
		return nil, fmt.Errorf("the API server rejects your credentials: %w", broken)
	case broken != nil:
		err = broken
	}
	r.findMarked(ctx)
	r.readUnmarked(ctx)
	r.readBackUnproven(ctx)
	return r.buildResult(err), nil
}

// newRun plans a dry run. Its objects bear a mark of their own as the name of their restore, which identifies an
// object that was stored nevertheless.
func newRun(ctx context.Context, s *Sender, q Query) (*runner, error) {
	r := &runner{
		Query:             q,
		Sender:            s,
		items:             map[itemKey]*item{},
		itemsByTarget:     map[itemKey]*item{},
		limitedNamespaces: map[string]bool{},
		needs:             map[itemKey][]collector.Need{},
		markLabel:         "veltui-dry-run-" + utilrand.String(8),
	}
	rules := *q.Rules
	rules.RestoreName = r.markLabel
	r.Rules = &rules
	r.ended, r.stop = context.WithCancelCause(ctx)
	return r, r.planItems()
}

// interruptError returns the error of a dry run that the user ended. It names an object that was stored by then.
func (r *runner) interruptError(ctx context.Context) error {
	if len(r.stored) > 0 {
		return fmt.Errorf("%s (%w)", r.stored[0].Sentence(), context.Cause(ctx))
	}
	return context.Cause(ctx)
}

// planItems decides which items are sent.
func (r *runner) planItems() error {
	covered := map[string]bool{} // new namespaces whose own item is restored
	var inside []string
	names := &identity.Resolver{Modifier: r.Rules.Modifier}
	err := r.Fates.EachLabelledItem(func(i collector.Item, labels func() (map[string]string, bool)) {
		if i.Fate != collector.ToRestore || i.IsMirrorPod {
			return
		}
		target, named := names.Identify(i, labels)
		at := &item{itemKey: itemKey{target.Resource, target.Namespace, target.Name}}
		if i.Resource == live.Namespaces {
			covered[i.TargetNamespace] = true
		} else if i.TargetNamespace != "" {
			inside = append(inside, i.TargetNamespace)
		}
		object, seen := r.State.FindItem(at.resource, at.namespace, at.name)
		at.exists, at.existenceUnknown = named && seen == live.Present, !named || seen == live.Unknown
		r.decideUnsent(at, object)
		if i.Resource == live.LimitRanges && at.verdict == undecided {
			r.limitedNamespaces[i.TargetNamespace] = true
		}
		r.items[itemKey{i.Resource, i.Namespace, i.Name}] = at
		if r.itemsByTarget[at.itemKey] == nil {
			r.itemsByTarget[at.itemKey] = at
		}
	})
	slices.Sort(inside)
	for _, name := range slices.Compact(inside) {
		if r.isNewNamespace(name) && !covered[name] {
			at := &item{itemKey: itemKey{live.Namespaces, "", name}}
			r.items[itemKey{live.Namespaces, "", "/" + name}] = at // no item of a backup has this name
			r.itemsByTarget[at.itemKey] = at
		}
	}
	for _, at := range r.items {
		if at.planned = at.verdict == undecided; at.planned {
			r.total++
		}
	}
	return err
}

// decideUnsent sets the verdict of an item that needs no request.
func (r *runner) decideUnsent(at *item, object live.Object) {
	switch {
	case r.itemsByTarget[at.itemKey] != nil:
		at.setVerdict(notSent, "another item that becomes the same object comes first")
	case platform.MakesConfigMap(at.resource, at.name) && platform.MakerOf(at.resource, at.name) == platform.Kubernetes &&
		r.isNewNamespace(at.namespace):
		at.setVerdict(notSent, "Kubernetes makes it itself")
	case at.exists && !object.DeletingSince.IsZero():
		at.setVerdict(notSent, "it is being deleted, and Velero treats it as there")
	case at.exists && r.untouchedReason(at) != "":
		at.setVerdict(notSent, r.untouchedReason(at))
	case at.resource == secrets && !r.SendSecrets:
		at.setVerdict(cannotTell, "sent only if you ask for it")
	case r.isNewNamespace(at.namespace) && r.StandInNamespace == "":
		at.setVerdict(cannotTell, "namespace "+at.namespace+" does not exist yet, and none stands in for it")
	}
}

// untouchedReason returns why Velero sends nothing for an existing object, empty if Velero sends a patch.
func (r *runner) untouchedReason(at *item) string {
	switch {
	case at.resource == serviceAccounts:
		return "it exists, and Velero only adds to it"
	case r.Rules.Restore.ExistingResourcePolicy != veleroapi.PolicyTypeUpdate:
		return "it exists, and the policy is none: Velero leaves it, with a warning if it differs"
	}
	return ""
}

// isNewNamespace reports whether a namespace is to be created.
func (r *runner) isNewNamespace(namespace string) bool {
	_, exists := r.Namespaces[namespace]
	return namespace != "" && r.Namespaces != nil && !exists
}

// sendAll sends the bodies of the backup, and then the namespaces that it does not hold.
func (r *runner) sendAll(ctx context.Context) error {
	if r.total == 0 {
		return nil // nothing of the backup is needed
	}
	r.groupServers = r.readGroupServers(ctx)
	d := r.startDispatcher(ctx)
	d.openLocalGate()
	given := map[*item]bool{}
	err := r.ReadBodies(r.ended, func(resource, namespace, name string) bool {
		i := r.items[itemKey{resource, namespace, name}]
		return i != nil && !given[i] && i.verdict == undecided && !r.isHalted()
	}, func(resource, namespace, name string, body []byte) {
		i := r.items[itemKey{resource, namespace, name}]
		given[i] = true
		d.addBody(i, body)
	})
	for at, i := range r.items {
		if at.resource == live.Namespaces && strings.HasPrefix(at.name, "/") {
			d.addBody(i, fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, i.name))
		}
	}
	d.finishJobs()
	return err
}
