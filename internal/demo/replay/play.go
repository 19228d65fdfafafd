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

// Options say how a recording is played.
type Options struct {
	// Speed divides the recorded times between events; 1 if zero.
	Speed float64
	// Skip is how much of the recording lies before the start of the replay.
	Skip time.Duration
	// Names: times in names are moved as well, so that a recording can be
	// played again and again.
	Names bool
	// Named is told each name that differs from the recorded one; may be nil.
	Named func(recorded, name string)
}

// Play makes all events of a recording happen at their time. Names are kept,
// uids are new ones, and times are moved so that the recording begins now. It
// ends early only with ctx or when the cluster refuses an object. An object
// that somebody deletes meanwhile stays away.
func Play(ctx context.Context, c *cluster.Cluster, r Recording, o Options) error {
	if o.Speed == 0 {
		o.Speed = 1
	}
	p := player{
		cluster: c, options: o, uids: map[types.UID]types.UID{},
		timeline: timeline{
			from: r.Events[0].At, to: r.Events[len(r.Events)-1].At, speed: o.Speed, names: o.Names,
			began: time.Now().Add(-time.Duration(float64(o.Skip) / o.Speed)),
		},
	}
	for n, event := range r.Events {
		if err := Sleep(ctx, time.Until(p.timeline.at(event.At))); err != nil {
			return err
		}
		if err := p.play(event); err != nil {
			return fmt.Errorf("playing event %d of %s: %w", n+1, r.Name, err)
		}
	}
	return nil
}

// Sleep waits; it returns early with an error when ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
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
	// uids are the new uids by the recorded ones.
	uids map[types.UID]types.UID
}

// play makes one event happen. A watch that was interrupted tells every object
// as ADDED once more, so what an event does follows from which uids are known.
func (p *player) play(e Event) error {
	recorded := e.Object
	o := &cluster.Object{Object: p.moved(recorded.Object).(map[string]any)}
	if p.options.Named != nil && o.GetName() != recorded.GetName() {
		p.options.Named(recorded.GetName(), o.GetName())
	}
	by := cluster.Author{Manager: managerOf(e), At: p.timeline.at(e.At)}
	uid, known := p.uids[recorded.GetUID()]
	if !known {
		if e.Type == watch.Deleted {
			return nil // it was gone before the recording began
		}
		return p.create(recorded.GetUID(), o, by)
	}
	_, err := p.cluster.Edit(o.GroupVersionKind(), o.GetNamespace(), o.GetName(), by, func(now *cluster.Object) bool {
		if now.GetUID() != uid {
			return false
		}
		adopt(now, o)
		if e.Type == watch.Deleted {
			now.SetFinalizers(nil)
		}
		return true
	})
	if err == nil && (e.Type == watch.Deleted || recorded.GetDeletionTimestamp() != nil) {
		err = p.cluster.Delete(o.GroupVersionKind(), o.GetNamespace(), o.GetName(), by)
	}
	return ignoreGone(err)
}

// create makes an object, in place of an earlier one of its name.
func (p *player) create(recorded types.UID, o *cluster.Object, by cluster.Author) error {
	_, err := p.cluster.Edit(o.GroupVersionKind(), o.GetNamespace(), o.GetName(), by, func(old *cluster.Object) bool {
		old.SetFinalizers(nil)
		return true
	})
	if err == nil {
		err = p.cluster.Delete(o.GroupVersionKind(), o.GetNamespace(), o.GetName(), by)
	}
	if err := ignoreGone(err); err != nil {
		return err
	}
	created, err := p.cluster.Create(o, by)
	if err != nil {
		return err
	}
	p.uids[recorded] = created.GetUID()
	return nil
}

// adopt gives an object the content of another and leaves it its identity.
func adopt(now, o *cluster.Object) {
	identity := now.Object["metadata"]
	now.Object = o.DeepCopy().Object
	now.Object["metadata"] = identity
	now.SetLabels(o.GetLabels())
	now.SetAnnotations(o.GetAnnotations())
	now.SetFinalizers(o.GetFinalizers())
	now.SetOwnerReferences(o.GetOwnerReferences())
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || cluster.IsUnchanged(err) {
		return nil
	}
	return err
}

// moved copies decoded JSON with its times moved and its uids replaced.
func (p *player) moved(value any) any {
	switch value := value.(type) {
	case map[string]any:
		m := make(map[string]any, len(value))
		for key, v := range value {
			m[key] = p.moved(v)
		}
		return m
	case []any:
		l := make([]any, len(value))
		for n, v := range value {
			l[n] = p.moved(v)
		}
		return l
	case string:
		for old, uid := range p.uids {
			value = strings.ReplaceAll(value, string(old), string(uid))
		}
		return p.timeline.text(value)
	}
	return value
}

// managerOf is the field manager that such a change is by: the recorder leaves
// managedFields out.
func managerOf(e Event) string {
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
