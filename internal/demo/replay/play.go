package replay

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/veltui/veltui/internal/demo/cluster"
)

// Options set how a recording is played.
type Options struct {
	// Speed divides the recorded times between events; 1 if zero.
	Speed float64
	// Skip is how much of the recording comes before the start of the replay.
	Skip time.Duration
	// ShiftNameTimes also moves the times in names, so that a recording can be played again and again.
	ShiftNameTimes bool
	// OnRename is called for each name that differs from the recorded one; may be nil.
	OnRename func(recorded, name string)
}

// Play replays all events of a recording at their times. Names are kept, uids are new, and times are moved so that
// the recording begins now. It ends early only if ctx ends or the cluster refuses an object. An object that somebody
// deletes in the meantime stays deleted.
func Play(ctx context.Context, c *cluster.Cluster, r Recording, o Options) error {
	if o.Speed == 0 {
		o.Speed = 1
	}
	p := player{
		cluster: c, options: o, uids: map[types.UID]types.UID{},
		timeline: timeline{
			recordedFrom:   r.Events[0].At,
			recordedTo:     r.Events[len(r.Events)-1].At,
			speed:          o.Speed,
			shiftNameTimes: o.ShiftNameTimes,
			replayStart:    time.Now().Add(-time.Duration(float64(o.Skip) / o.Speed)),
		},
	}
	for n, event := range r.Events {
		if err := SleepContext(ctx, time.Until(p.timeline.replayTime(event.At))); err != nil {
			return err
		}
		if err := p.playEvent(event); err != nil {
			return fmt.Errorf("playing event %d of %s: %w", n+1, r.Name, err)
		}
	}
	return nil
}

// SleepContext waits for d. It returns early with an error if ctx ends.
func SleepContext(ctx context.Context, d time.Duration) error {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
	return ctx.Err()
}

// player plays one recording.
type player struct {
	cluster  *cluster.Cluster
	options  Options
	timeline timeline
	// uids maps the recorded uids to the new ones.
	uids map[types.UID]types.UID
}

// playEvent replays one event. An interrupted watch reports every object as ADDED once more, so the effect of an
// event depends on whether its uid is known.
func (p *player) playEvent(e Event) error {
	recorded := e.Object
	o := &cluster.Object{Object: p.remapValue(recorded.Object).(map[string]any)}
	if p.options.OnRename != nil && o.GetName() != recorded.GetName() {
		p.options.OnRename(recorded.GetName(), o.GetName())
	}
	by := cluster.Author{FieldManager: managerFor(e), WrittenAt: p.timeline.replayTime(e.At)}
	uid, known := p.uids[recorded.GetUID()]
	if !known {
		if e.Type == watch.Deleted {
			return nil // it was deleted before the recording began
		}
		return p.createObject(recorded.GetUID(), o, by)
	}
	_, err := p.cluster.EditObject(
		o.GroupVersionKind(),
		o.GetNamespace(),
		o.GetName(),
		by,
		func(now *cluster.Object) bool {
			if now.GetUID() != uid {
				return false
			}
			replaceContent(now, o)
			if e.Type == watch.Deleted {
				now.SetFinalizers(nil)
			}
			return true
		},
	)
	if err == nil && (e.Type == watch.Deleted || recorded.GetDeletionTimestamp() != nil) {
		err = p.cluster.DeleteObject(o.GroupVersionKind(), o.GetNamespace(), o.GetName(), by)
	}
	return ignoreMissing(err)
}

// createObject creates an object, replacing an earlier one of the same name.
func (p *player) createObject(recorded types.UID, o *cluster.Object, by cluster.Author) error {
	_, err := p.cluster.EditObject(
		o.GroupVersionKind(),
		o.GetNamespace(),
		o.GetName(),
		by,
		func(old *cluster.Object) bool {
			old.SetFinalizers(nil)
			return true
		},
	)
	if err == nil {
		err = p.cluster.DeleteObject(o.GroupVersionKind(), o.GetNamespace(), o.GetName(), by)
	}
	if err := ignoreMissing(err); err != nil {
		return err
	}
	created, err := p.cluster.CreateObject(o, by)
	if err != nil {
		return err
	}
	p.uids[recorded] = created.GetUID()
	return nil
}

// replaceContent replaces an object's content by that of another, but keeps its identity.
func replaceContent(now, o *cluster.Object) {
	identity := now.Object["metadata"]
	now.Object = o.DeepCopy().Object
	now.Object["metadata"] = identity
	now.SetLabels(o.GetLabels())
	now.SetAnnotations(o.GetAnnotations())
	now.SetFinalizers(o.GetFinalizers())
	now.SetOwnerReferences(o.GetOwnerReferences())
}

func ignoreMissing(err error) error {
	if apierrors.IsNotFound(err) || cluster.IsUnchanged(err) {
		return nil
	}
	return err
}

// remapValue copies decoded JSON with its times moved and its uids replaced.
func (p *player) remapValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		m := make(map[string]any, len(value))
		for key, v := range value {
			m[key] = p.remapValue(v)
		}
		return m
	case []any:
		l := make([]any, len(value))
		for n, v := range value {
			l[n] = p.remapValue(v)
		}
		return l
	case string:
		for old, uid := range p.uids {
			value = strings.ReplaceAll(value, string(old), string(uid))
		}
		return p.timeline.remapText(value)
	}
	return value
}

// managerFor returns the field manager that would have made the change: the recorder leaves managedFields out.
func managerFor(e Event) string {
	switch kind := e.Object.GetKind(); {
	case strings.HasPrefix(kind, "PodVolume"), strings.HasPrefix(kind, "Data"):
		if e.Type != watch.Added {
			return "node-agent-server"
		}
	case e.Type == watch.Added && (kind == "Backup" || kind == "Restore"):
		return "velero"
	}
	return "velero-server"
}
