package cluster

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/watch"
)

// maxChanges is how many changes are kept for clients that resume a watch.
const maxChanges = 4096

// changeLog holds the newest changes, for any number of readers of any speed.
type changeLog struct {
	list []versionedChange
	// droppedVersion is the version up to which changes were dropped.
	droppedVersion uint64
	// changed is closed and replaced at each change.
	changed chan struct{}
}

type versionedChange struct {
	Change
	kind    *servedKind
	version uint64
}

func (l *changeLog) appendChange(k *servedKind, change Change, version uint64) {
	if len(l.list) >= maxChanges {
		drop := maxChanges / 4
		l.droppedVersion = l.list[drop-1].version
		l.list = slices.Delete(l.list, 0, drop)
	}
	l.list = append(l.list, versionedChange{change, k, version})
	close(l.changed)
	l.changed = make(chan struct{})
}

// errExpired means that the requested changes are no longer kept.
var errExpired = errors.New("too old resource version")

// changesSince returns the changes after a version, and a channel that is closed when there are more.
func (c *Cluster) changesSince(version uint64) (list []versionedChange, news <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version < c.changes.droppedVersion {
		return nil, nil, errExpired
	}
	at := len(c.changes.list)
	for at > 0 && c.changes.list[at-1].version > version {
		at--
	}
	return slices.Clone(c.changes.list[at:]), c.changes.changed, nil
}

// watchEvent returns the event that a watch of the objects that match selects gets for a change; ok is false if it
// gets none.
func (v versionedChange) watchEvent(match func(*Object) bool) (t watch.EventType, o *Object, ok bool) {
	was, is := v.Old != nil && match(v.Old), v.New != nil && match(v.New)
	switch {
	case is && was:
		return watch.Modified, v.New, true
	case is:
		return watch.Added, v.New, true
	case was && v.New == nil:
		return watch.Deleted, v.Old, true
	case was:
		return watch.Deleted, v.New, true
	}
	return "", nil, false
}

// followChanges calls emit for each change after a version to an object that match selects, until ctx ends or emit
// fails.
func (c *Cluster) followChanges(
	ctx context.Context,
	k *servedKind,
	version uint64,
	match func(*Object) bool,
	emit func(watch.EventType, *Object) error,
) error {
	for {
		list, news, err := c.changesSince(version)
		if err != nil {
			return err
		}
		for _, v := range list {
			version = v.version
			if v.kind != k {
				continue
			}
			if t, o, ok := v.watchEvent(match); ok {
				if err := emit(t, o); err != nil {
					return err
				}
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-news:
		}
	}
}
