package action

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

type stamp struct {
	at      time.Time
	by      string
	attempt string
}

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patch is a JSON patch: tests that the resource is as it was seen, then changes. Velero's CRDs have no subresource.
type patch struct {
	seen          *unstructured.Unstructured
	changes       []operation
	data          []byte
	mark, attempt string // mark is the annotation that lists the attempts
}

func newPatch(seen *unstructured.Unstructured, mark, attempt string, changes []operation) (*patch, error) {
	data, err := json.Marshal(append(guards(seen), changes...))
	if err != nil {
		return nil, fmt.Errorf("writing the patch: %w", err)
	}
	return &patch{seen, changes, data, mark, attempt}, nil
}

func guards(seen *unstructured.Unstructured) []operation {
	tests := []operation{
		{"test", "/metadata/uid", seen.GetUID()},
		{"test", "/metadata/resourceVersion", seen.GetResourceVersion()},
	}
	if phase, there, _ := unstructured.NestedString(seen.Object, "status", "phase"); there {
		tests = append(tests, operation{"test", "/status/phase", phase})
	}
	return tests
}

func (p *patch) object() *unstructured.Unstructured { return p.seen }

func (p *patch) record(e *Entry) { e.Patch = p.data }

// send sends it once. The API server carries it out only if the resource is unchanged.
func (p *patch) send(ctx context.Context, c *client.Client, dryRun []string) (*unstructured.Unstructured, error) {
	options := metav1.PatchOptions{DryRun: dryRun, FieldManager: fieldManager}
	o := bare(p.seen.GroupVersionKind(), p.seen.GetNamespace(), p.seen.GetName())
	if err := c.Patch(ctx, o, types.JSONPatchType, p.data, options); err != nil {
		return nil, err
	}
	return o, nil
}

// An answer to a dry run has the resource's old version.
func (p *patch) verify(answer *unstructured.Unstructured, dryRun bool) string {
	switch {
	case answer.GetUID() != p.seen.GetUID():
		return "answer with another object"
	case !dryRun && answer.GetResourceVersion() == p.seen.GetResourceVersion():
		return "leave the object as it is"
	}
	for i, c := range p.changes {
		if extended(c, p.changes[i+1:]) {
			continue // a map that is made for what follows
		}
		if value := valueAt(answer.Object, c.Path); !sameJSON(value, c.Value) {
			return fmt.Sprintf(
				"set %s to %s, not %s: the CRD may not have it (or have a status subresource), or a webhook changes it",
				strings.ReplaceAll(c.Path[1:], "~1", "/"),
				quoteValue(value),
				quoteValue(c.Value),
			)
		}
	}
	return ""
}

// stored: an answer to a dry run has the resource's old version.
func (p *patch) stored(answer *unstructured.Unstructured) bool {
	return answer.GetResourceVersion() != p.seen.GetResourceVersion()
}

func (p *patch) ours(answer *unstructured.Unstructured) bool {
	attempts, _ := attemptsOf(answer, p.mark)
	return answer.GetUID() == p.seen.GetUID() && slices.Contains(attempts, p.attempt)
}

func (p *patch) madeAt(answer *unstructured.Unstructured) time.Time {
	return newOwnWrite(p.seen, answer)
}

// excludes: find tells it from the mark.
func (p *patch) excludes(*unstructured.Unstructured, time.Time, time.Duration) bool { return false }

func (p *patch) deed() string { return p.seen.GetKind() + " " + p.seen.GetName() + " was changed" }

// undo writes back what the patch replaced, if nobody has changed the resource since.
func (p *patch) undo(after *unstructured.Unstructured) []string {
	type removal struct {
		Op   string `json:"op"`
		Path string `json:"path"`
	}
	all := []any{operation{"test", "/metadata/uid", after.GetUID()},
		operation{"test", "/metadata/resourceVersion", after.GetResourceVersion()}}
	var undone []string
	for _, c := range p.changes {
		if slices.ContainsFunc(
			undone,
			func(path string) bool { return strings.HasPrefix(c.Path, path+"/") || c.Path == path },
		) {
			continue // goes with the map that was made for it
		}
		undone = append(undone, c.Path)
		if before := valueAt(p.seen.Object, c.Path); before != nil {
			all = append(all, operation{"replace", c.Path, before})
		} else {
			all = append(all, removal{"remove", c.Path})
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		return nil
	}
	resource := qualified(job.Kind(p.seen.GetKind()))
	if i := slices.IndexFunc(
		velero.VolumeKinds[:],
		func(k velero.VolumeKind) bool { return string(k) == p.seen.GetKind() },
	); i >= 0 {
		resource = qualified(velero.VolumeKinds[i])
	}
	return []string{"patch", resource, p.seen.GetName(), "--type=json", "-p", string(data)}
}

func (p *patch) find(now *unstructured.Unstructured) finding {
	if now == nil || now.GetUID() != p.seen.GetUID() {
		return obscured
	}
	before, _ := attemptsOf(p.seen, p.mark)
	return findIn(now, p.seen.GetResourceVersion(), p.mark, p.attempt, before)
}

// findIn finds an attempt over a version whose mark listed the attempts before.
func findIn(now *unstructured.Unstructured, version, mark, attempt string, before []string) finding {
	attempts, complete := attemptsOf(now, mark)
	found := findAttempt(attempt, before, attempts, complete)
	if found != landed && now.GetResourceVersion() == version {
		return pending
	}
	return found
}

func extended(c operation, later []operation) bool {
	return slices.ContainsFunc(later, func(l operation) bool { return strings.HasPrefix(l.Path, c.Path+"/") })
}

// valueAt returns what stands at a JSON pointer through objects, nil for nothing.
func valueAt(content any, pointer string) any {
	for _, key := range strings.Split(pointer, "/")[1:] {
		object, _ := content.(map[string]any)
		content = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(key)]
	}
	return content
}

func sameJSON(a, b any) bool {
	one, err := json.Marshal(a)
	other, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(one, other)
}

func quoteValue(v any) string {
	if v == nil {
		return "nothing"
	}
	text := fmt.Sprintf("%q", fmt.Sprint(v))
	return text[:min(len(text), 80)]
}

func phaseOf(o *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	return phase
}

type finding int

const (
	pending finding = iota // not carried out, but still may be
	landed                 // the object has our mark
	lost                   // it was not, nor can be: the object has moved past the precondition without our mark
	// obscured: it no longer can be, and may have been: the object is gone or replaced, or another mark replaced ours.
	obscured
	taken // another object has the name: it was not carried out, and can be only once that one is gone
)

const keptAttempts = 8 // how many attempts a mark lists

// completeList ends a mark that lists every attempt. Programs that write only their own do not write it.
const completeList = "."

// attemptsOf returns a mark's attempts, newest first, and whether none before is missing.
func attemptsOf(o *unstructured.Unstructured, mark string) (attempts []string, complete bool) {
	return readAttempts(o.GetAnnotations()[mark])
}

func readAttempts(text string) (attempts []string, complete bool) {
	attempts = strings.Fields(text)
	if n := len(attempts); n > 0 && attempts[n-1] == completeList {
		return attempts[:n-1], true
	}
	return attempts, false
}

// addAttempt returns a mark after one more attempt. A list that may have lost one stays marked so.
func addAttempt(o *unstructured.Unstructured, mark, attempt string) string {
	before, complete := attemptsOf(o, mark)
	all := append([]string{attempt}, before...)
	all = all[:min(len(all), keptAttempts)]
	if complete || len(before) == 0 {
		all = append(all, completeList)
	}
	return strings.Join(all, " ")
}

// findAttempt looks for an attempt in a mark that listed others before; a program may have replaced ours.
func findAttempt(attempt string, before, now []string, complete bool) finding {
	since := len(now) - len(before)
	switch {
	case slices.Contains(now, attempt):
		return landed
	case slices.Equal(before, now):
		return lost
	case since > 0 && slices.Equal(now[since:], before) && (len(before) > 0 || complete && len(now) < keptAttempts):
		return lost // the writers since then have kept what was there
	}
	return obscured
}

const fieldManager = "veltui" // our name in metadata.managedFields

const eventTimeout = 5 * time.Second // bounds the Event, which is optional

// writer is the only thing in this package that changes the cluster.
type writer struct{ access *access }

func bare(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func jobKind(kind job.Kind) schema.GroupVersionKind {
	return velerov1.SchemeGroupVersion.WithKind(string(kind))
}

func (f *Engine) read(ctx context.Context, seen *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	o := bare(seen.GroupVersionKind(), seen.GetNamespace(), seen.GetName())
	if err := f.access.get().Get(ctx, o); err != nil {
		return nil, err
	}
	return o, nil
}

func (w *writer) event(
	ctx context.Context,
	subject *unstructured.Unstructured,
	s stamp,
	action, reason, message string,
) error {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	at := metav1.NewTime(s.at)
	return w.access.get().Create(ctx, &corev1.Event{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{Namespace: subject.GetNamespace(), Name: "veltui-finalize-" + s.attempt},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: subject.GetAPIVersion(), Kind: subject.GetKind(),
			Namespace: subject.GetNamespace(), Name: subject.GetName(), UID: subject.GetUID(),
		},
		Type: corev1.EventTypeWarning, Reason: reason, Action: action,
		Message:        s.by + " " + message,
		Source:         corev1.EventSource{Component: fieldManager},
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
	}, metav1.CreateOptions{FieldManager: fieldManager})
}
