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

// Options configure a Responder.
type Options struct {
	Cluster *cluster.Cluster
	Store   *store.Store
	// StoreURL is the URL of the store, such as http://127.0.0.1:1234.
	StoreURL string
	// StepDuration is how long a step takes.
	StepDuration time.Duration
	// Clock is the cluster's clock.
	Clock func() time.Time
}

// Responder reacts to changes that clients make.
type Responder struct {
	Options
	ctx   context.Context
	stop  context.CancelFunc
	group sync.WaitGroup

	mu sync.Mutex
	// busy holds the objects being worked on.
	busy map[types.UID]bool
}

// Start returns a responder that observes all changes until Stop.
func Start(o Options) *Responder {
	r := &Responder{Options: o, busy: map[types.UID]bool{}}
	r.ctx, r.stop = context.WithCancel(context.Background())
	o.Cluster.SetObserver(r.handleChange)
	return r
}

// Stop cancels all running work, and waits for its end.
func (r *Responder) Stop() {
	r.Cluster.SetObserver(nil)
	r.stop()
	r.group.Wait()
}

// These are the authors named in managedFields.
var (
	serverAuthor = cluster.Author{FieldManager: "velero-server"}
	agentAuthor  = cluster.Author{FieldManager: "node-agent-server"}
)

// handleChange starts the work on an object that a client has written, unless it is running already.
func (r *Responder) handleChange(c cluster.Change) {
	if !c.Author.FromClient || c.New == nil || r.ctx.Err() != nil {
		return
	}
	work := r.selectWork(c)
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
		if t.isServerReady() {
			work(t)
		}
	})
}

// selectWork returns the work that follows from a change, nil for none.
func (r *Responder) selectWork(c cluster.Change) func(*task) {
	switch kind := c.New.GetKind(); {
	case kind == "DownloadRequest" && c.Old == nil:
		return (*task).signDownload
	case kind == "DeleteBackupRequest" && c.Old == nil:
		return (*task).deleteBackup
	case (kind == "Backup" || kind == "Restore") && c.New.GetDeletionTimestamp() != nil:
		return (*task).removeFinalizers
	case kind == "Backup" || kind == "Restore":
		return (*task).runJob
	case slices.Contains(volumeKinds, kind):
		return (*task).cancelVolume
	}
	return nil
}

// task is the work on one object.
type task struct {
	*Responder
	object *cluster.Object
}

// waitStep waits for one step. It is false when the demo ends.
func (t *task) waitStep() bool {
	timer := time.NewTimer(t.StepDuration)
	defer timer.Stop()
	select {
	case <-t.ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// editObject changes the object as one of Velero's authors. It is false if the object was deleted or f leaves it
// alone.
func (t *task) editObject(by cluster.Author, f func(*cluster.Object) bool) bool {
	o := t.object
	after, err := t.Cluster.EditObject(
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

// updateStatus writes fields of the object's status.
func (t *task) updateStatus(by cluster.Author, fields map[string]any) bool {
	return t.editObject(by, func(o *cluster.Object) bool {
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

func (t *task) formatNow() string { return t.Clock().UTC().Format(time.RFC3339) }

// isServerReady reports whether a Velero server is ready in the object's namespace.
func (t *task) isServerReady() bool {
	return slices.ContainsFunc(t.Cluster.ListObjects(podKind, t.object.GetNamespace()), func(p *cluster.Object) bool {
		return IsServerPod(p) && isPodReady(p)
	})
}

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// IsServerPod reports whether a pod is a Velero server, by its service account and, if several pods share it, by its
// arguments.
func IsServerPod(pod *cluster.Object) bool {
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

func isPodReady(pod *cluster.Object) bool {
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

// jobKey returns the store's key of a job.
func jobKey(kind, name string) string { return strings.ToLower(kind) + "/" + name }
