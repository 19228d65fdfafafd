package responder

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/demo/cluster"
	"github.com/veltui/veltui/internal/demo/store"
)

// Options say what a Responder works on.
type Options struct {
	Cluster *cluster.Cluster
	Store   *store.Store
	// StoreURL is where the store answers, such as http://127.0.0.1:1234.
	StoreURL string
	// Pace is how long a step takes.
	Pace time.Duration
	// Clock is the cluster's.
	Clock func() time.Time
}

// Responder answers changes that clients make.
type Responder struct {
	Options
	ctx   context.Context
	stop  context.CancelFunc
	group sync.WaitGroup

	mu sync.Mutex
	// busy are the objects that are worked on.
	busy map[types.UID]bool
}

// Start makes a responder that hears of all changes until Stop.
func Start(o Options) *Responder {
	r := &Responder{Options: o, busy: map[types.UID]bool{}}
	r.ctx, r.stop = context.WithCancel(context.Background())
	o.Cluster.Observe(r.changed)
	return r
}

// Stop ends all that is going on, and waits for it.
func (r *Responder) Stop() {
	r.Cluster.Observe(nil)
	r.stop()
	r.group.Wait()
}

// The authors whose names are in managedFields.
var (
	server = cluster.Author{Manager: "velero-server"}
	agent  = cluster.Author{Manager: "node-agent-server"}
)

// changed begins to work on what a client has written, unless that goes on
// already.
func (r *Responder) changed(c cluster.Change) {
	if !c.By.Client || c.New == nil || r.ctx.Err() != nil {
		return
	}
	work := r.work(c)
	uid := c.New.GetUID()
	r.mu.Lock()
	defer r.mu.Unlock()
	if work == nil || r.busy[uid] {
		return
	}
	r.busy[uid] = true
	r.group.Go(func() {
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.busy, uid)
		}()
		t := &task{Responder: r, object: c.New}
		if t.serverRuns() {
			work(t)
		}
	})
}

// work is what follows from a change; nil is nothing.
func (r *Responder) work(c cluster.Change) func(*task) {
	switch kind := c.New.GetKind(); {
	case kind == "DownloadRequest" && c.Old == nil:
		return (*task).sign
	case kind == "DeleteBackupRequest" && c.Old == nil:
		return (*task).deleteBackup
	case (kind == "Backup" || kind == "Restore") && c.New.GetDeletionTimestamp() != nil:
		return (*task).release
	case kind == "Backup" || kind == "Restore":
		return (*task).carryOn
	case slices.Contains(volumeKinds, kind):
		return (*task).cancel
	}
	return nil
}

// task is the work on one object.
type task struct {
	*Responder
	object *cluster.Object
}

// pause waits one step; it is false when the demo ends.
func (t *task) pause() bool {
	timer := time.NewTimer(t.Pace)
	defer timer.Stop()
	select {
	case <-t.ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// edit changes the object as somebody of Velero's; it is false where the object
// is gone or f leaves it alone.
func (t *task) edit(by cluster.Author, f func(*cluster.Object) bool) bool {
	o := t.object
	after, err := t.Cluster.Edit(
		o.GroupVersionKind(),
		o.GetNamespace(),
		o.GetName(),
		by,
		func(now *cluster.Object) bool {
			return now.GetUID() == o.GetUID() && f(now)
		},
	)
	if err != nil {
		return false
	}
	t.object = after
	return true
}

// set writes fields of the object's status.
func (t *task) set(by cluster.Author, fields map[string]any) bool {
	return t.edit(by, func(o *cluster.Object) bool {
		setStatus(o, fields)
		return true
	})
}

func setStatus(o *cluster.Object, fields map[string]any) {
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	if status == nil {
		status = map[string]any{}
	}
	for key, value := range fields {
		status[key] = value
	}
	o.Object["status"] = status
}

func (t *task) now() string { return t.Clock().UTC().Format(time.RFC3339) }

// serverRuns reports whether a Velero server is ready in the object's namespace.
func (t *task) serverRuns() bool {
	return slices.ContainsFunc(t.Cluster.List(podKind, t.object.GetNamespace()), func(p *cluster.Object) bool {
		return IsServer(p) && ready(p)
	})
}

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// IsServer reports whether a pod is a Velero server, by its service account
// and, where there are several such, by its arguments.
func IsServer(pod *cluster.Object) bool {
	account, _, _ := unstructured.NestedString(pod.Object, "spec", "serviceAccountName")
	containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
	var words []string
	for _, c := range containers {
		if c, ok := c.(map[string]any); ok {
			for _, field := range []string{"command", "args"} {
				list, _, _ := unstructured.NestedStringSlice(c, field)
				words = append(words, list...)
			}
		}
	}
	other := slices.ContainsFunc(words, func(w string) bool {
		return w == "node-agent" || w == "data-mover" || w == "pod-volume" || w == "repo-maintenance"
	})
	return !other && (account == "velero" || slices.Contains(words, "server"))
}

func ready(pod *cluster.Object) bool {
	statuses, _, _ := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
	return slices.ContainsFunc(statuses, func(s any) bool {
		status, _ := s.(map[string]any)
		return status["ready"] == true
	})
}

func phaseOf(o *cluster.Object) string {
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return phase
}

// jobOf is how the store calls a job.
func jobOf(kind, name string) string { return strings.ToLower(kind) + "/" + name }
