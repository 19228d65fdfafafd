package cluster

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/watch"
)

// maxChanges is how many changes are kept for those who resume a watch.
const maxChanges = 4096

// changes are the newest changes, for any number of readers of any speed.
type changes struct {
	list []versioned
	// gone is the version up to which changes were dropped.
	gone uint64
	// news is closed, and replaced, when there is a change.
	news chan struct{}
}

type versioned struct {
	Change
	kind    *kind
	version uint64
}

func (l *changes) add(k *kind, change Change, version uint64) {
	if len(l.list) >= maxChanges {
		drop := maxChanges / 4
		l.gone = l.list[drop-1].version
		l.list = slices.Delete(l.list, 0, drop)
	}
	l.list = append(l.list, versioned{change, k, version})
	close(l.news)
	l.news = make(chan struct{})
}

// errExpired: the changes that were asked for are no longer kept.
var errExpired = errors.New("too old resource version")

// since returns the changes after a version, and where to wait for more.
func (c *Cluster) since(version uint64) (list []versioned, news <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version < c.changes.gone {
		return nil, nil, errExpired
	}
	at := len(c.changes.list)
	for at > 0 && c.changes.list[at-1].version > version {
		at--
	}
	return slices.Clone(c.changes.list[at:]), c.changes.news, nil
}

// event is a change as it looks to one who watches what match selects; ok is
// false where it is nothing to him.
func (v versioned) event(match func(*Object) bool) (t watch.EventType, o *Object, ok bool) {
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

// follow calls emit for each change after a version that match selects, until
// ctx ends or emit fails.
func (c *Cluster) follow(
	ctx context.Context,
	k *kind,
	version uint64,
	match func(*Object) bool,
	emit func(watch.EventType, *Object) error,
) error {
	for {
		list, news, err := c.since(version)
		if err != nil {
			return err
		}
		for _, v := range list {
			version = v.version
			if v.kind != k {
				continue
			}
			if t, o, ok := v.event(match); ok {
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
