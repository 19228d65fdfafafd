package collector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/human"
)

// Fate is what a restore's filters make of an item, whatever the target has.
type Fate uint8

// The fates, in the order in which Velero's rules are asked (pkg/restore/restore.go, 1.18.3).
const (
	ToRestore         Fate = iota // the restore tries to create or update it
	NeverRestored                 // no restore restores this kind
	KindExcluded                  // the resource filters leave it out
	NamespaceExcluded             // the namespace filters leave it out
	// ClusterExcluded: it has no namespace, and includeClusterResources or a namespace filter excludes it.
	ClusterExcluded
	NotSelected    // the label selectors do not select it
	FilteredOut    // the resource policy leaves it out
	HasCompleted   // it is a pod or job that had completed
	Undecodable    // its JSON cannot be read
	NamespaceThere // it is a namespace that the target had already
)

// Item is one of a backup.
type Item struct {
	Resource  string // plural and group, as "deployments.apps"
	Namespace string // in the backup; empty if it has none
	Target    string // the namespace that it is restored into, or a namespace's new name; else empty
	Name      string
	Fate      Fate
	Mirror    bool // a mirror pod: Velero counts it, and does not restore it
}

// Kinds finds the resource of a kind.
type Kinds map[[2]string]string // group and Kind -> "deployments.apps"

// KnownKinds are those of Kubernetes and of Velero itself.
func KnownKinds() Kinds { return kindsOf(offline(nil)) }

func kindsOf(resources []Resource) Kinds {
	kinds := Kinds{}
	for _, known := range resources {
		if key := [2]string{known.Group, known.Kind}; kinds[key] == "" {
			kinds[key] = known.GroupResource()
		}
	}
	return kinds
}

// Guess is the resource of a kind in a group, empty for the core group, put into
// the plural where it is not known. Most custom resources have a plural like that.
func (k Kinds) Guess(group, kind string) string {
	if resource, known := k[[2]string{group, kind}]; known {
		return resource
	}
	if kind == "" {
		return ""
	}
	return Resource{Group: group, Name: human.Nouns(strings.ToLower(kind))}.GroupResource()
}

// Fates is what a restore makes of the items of a backup.
type Fates struct {
	r      *restore
	Kinds  Kinds           // of the target, of the backup's CRDs, and of Kubernetes
	served map[string]bool // the target's resources, made when they are asked for
}

// Fates works out what a restore makes of each item. It is bounded as [Index.Estimate] is. Its
// errors are the cause of ctx, and that Velero refuses the restore.
func (x *Index) Fates(ctx context.Context, spec RestoreSpec, d Discovery) (*Fates, error) {
	w := newWork(ctx)
	if why := Refusals(spec.Restore); why != nil {
		return nil, errors.New("Velero refuses this restore: " + strings.Join(why, " "))
	}
	r, err := newRestore(w, x, spec, d)
	if err != nil {
		return nil, err
	}
	r.run()
	// What the target does not serve may be listed all the same, as failed.
	f := &Fates{r: r, Kinds: kindsOf(slices.Concat(with(r.target, x.Kinds), offline(nil)))}
	return f, f.ended()
}

func (f *Fates) ended() error {
	if err := f.r.work.err; err != nil {
		return fmt.Errorf("comparing a restore with its backup: %w", err)
	}
	return nil
}

// Each goes through the items, sorted by resource, namespace and name, until the context ends.
func (f *Fates) Each(visit func(Item)) error {
	r, x := f.r, f.r.x
	for _, b := range x.Buckets {
		place := Item{Resource: x.Strings.string(b.Resource), Namespace: x.Strings.string(b.Namespace)}
		if place.Namespace != "" {
			place.Target = r.mapped(place.Namespace)
		}
		kept := r.fateOf(b, place.Resource)
		for item := b.First; item < b.End && r.work.goOn(1); item++ {
			place.Name, place.Fate = x.Names.string(item), kept
			place.Mirror = x.Flags[item]&flagMirror != 0
			switch {
			case place.Resource == dirNamespaces:
				place.Target = r.mapped(place.Name)
				place.Fate = r.namespaceFate(item, kept)
			case r.isDone(item):
				place.Fate = ToRestore
			case kept == ToRestore:
				place.Fate = r.itemFate(item, place.Resource, place.Namespace)
			}
			visit(place)
		}
	}
	return f.ended()
}

// fateOf is what the filters say of all that is in one place.
func (r *restore) fateOf(b bucket, resource string) Fate {
	must := slices.Contains(r.mustHave, resource)
	switch {
	case slices.Contains(nonRestorable, resource):
		return NeverRestored
	case !must && !r.resources.Takes(resource):
		return KindExcluded
	case r.takes(b, must):
		return ToRestore
	case len(r.x.Strings.bytes(b.Namespace)) > 0:
		return NamespaceExcluded
	}
	return ClusterExcluded
}

// itemFate is what becomes of an item that was not restored, though the filters take its place.
func (r *restore) itemFate(item uint32, resource, namespace string) Fate {
	flags, must := r.x.Flags[item], slices.Contains(r.mustHave, resource)
	filter, limited := r.policy.filter(resource, namespace)
	switch {
	case flags&flagUndecodable != 0:
		return Undecodable
	case must:
	case limited && (filter == nil || !r.selects(item, filter)):
		return FilteredOut
	case !limited && !r.selects(item, nil):
		return NotSelected
	}
	if flags&flagCompleted != 0 {
		return HasCompleted
	}
	return ToRestore
}

// namespaceFate is what becomes of a namespace itself. Velero makes those that
// items go into, whatever the filters say of namespaces.
func (r *restore) namespaceFate(item uint32, kept Fate) Fate {
	name := r.x.Names.string(item)
	target := r.mapped(name)
	switch {
	case !r.spaces.Takes(name):
		return NamespaceExcluded
	case r.namespaceExists(target):
		return NamespaceThere
	case r.ensured[target]:
		return ToRestore
	case kept == ToRestore:
		return r.itemFate(item, dirNamespaces, "")
	}
	return kept
}
