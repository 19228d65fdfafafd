package collector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/human"
)

// Fate is what becomes of an item in a restore, regardless of what the target has.
type Fate uint8

// These are the fates, in the order in which Velero applies its rules (pkg/restore/restore.go, 1.18.3).
const (
	ToRestore         Fate = iota // the restore tries to create or update it
	NeverRestored                 // Velero never restores this kind
	KindExcluded                  // the resource filters leave it out
	NamespaceExcluded             // the namespace filters leave it out
	// ClusterExcluded means that the item has no namespace, and includeClusterResources or a namespace filter excludes
	// it.
	ClusterExcluded
	NotSelected      // the label selectors do not select it
	FilteredOut      // the resource policy leaves it out
	AlreadyCompleted // it is a completed pod or job
	Undecodable      // its JSON cannot be read
	NamespaceExists  // it is a namespace that the target already has
)

// Item is an item of a backup.
type Item struct {
	Resource        string // plural and group, as "deployments.apps"
	Namespace       string // in the backup; empty if it has none
	TargetNamespace string // the namespace into which it is restored, or a namespace's new name; else empty
	Name            string
	Fate            Fate
	IsMirrorPod     bool // true for a mirror pod: Velero counts it, but does not restore it
	// IsCleanedUp is true for a job that the cluster deletes once it has ended, by its TTL or its CronJob's history, and
	// for an item whose body was not read.
	IsCleanedUp bool
}

// Kinds maps kinds to their resources.
type Kinds map[[2]string]string // group and Kind -> "deployments.apps"

// KnownKinds returns the kinds of Kubernetes and of Velero itself.
func KnownKinds() Kinds { return kindsOf(defaultResources(nil)) }

func kindsOf(resources []Resource) Kinds {
	kinds := Kinds{}
	for _, known := range resources {
		if key := [2]string{known.Group, known.Kind}; kinds[key] == "" {
			kinds[key] = known.GroupResource()
		}
	}
	return kinds
}

// GuessResource returns the resource of a kind in a group, which is empty for the core group. For an unknown kind it
// guesses the plural, as it is formed for most custom resources.
func (k Kinds) GuessResource(group, kind string) string {
	if resource, known := k[[2]string{group, kind}]; known {
		return resource
	}
	if kind == "" {
		return ""
	}
	return Resource{Group: group, Name: human.Pluralize(strings.ToLower(kind))}.GroupResource()
}

// Fates holds the fates of a backup's items in a restore.
type Fates struct {
	simulation *simulation
	Kinds      Kinds           // the kinds of the target, of the backup's CRDs, and of Kubernetes
	served     map[string]bool // the target's resources, filled on first use
	ranks      map[string]int  // filled on first use
}

// DetermineFates determines the fate of each item in a restore. Its work is bounded like that of [Index.Estimate]. It
// fails with the cause of ctx, or if Velero refuses the restore.
func (x *Index) DetermineFates(ctx context.Context, spec RestoreInput, d Discovery) (*Fates, error) {
	w := newWorkBudget(ctx)
	if why := RefusalReasons(spec.Restore); why != nil {
		return nil, errors.New("Velero refuses this restore: " + strings.Join(why, " "))
	}
	r, err := newSimulation(w, x, spec, d)
	if err != nil {
		return nil, err
	}
	r.processAll()
	// Kinds that the target does not serve may still be listed, as failed.
	f := &Fates{
		simulation: r,
		Kinds:      kindsOf(slices.Concat(withDefinitions(r.targetResources, x.Kinds), defaultResources(nil))),
	}
	return f, f.contextError()
}

// Rank returns the place of a resource in the order in which Velero restores resources: negative, and 0 for resources
// that are only brought along or created.
func (f *Fates) Rank(resource string) int {
	if f.ranks == nil {
		f.ranks = f.simulation.rankResources()
	}
	return f.ranks[resource]
}

func (f *Fates) contextError() error {
	if err := f.simulation.budget.err; err != nil {
		return fmt.Errorf("comparing a restore with its backup: %w", err)
	}
	return nil
}

// EachItem calls visit for each item, sorted by resource, namespace and name, until the context
// given to [Index.DetermineFates] ends.
func (f *Fates) EachItem(visit func(Item)) error {
	return f.eachItem(func(_ uint32, i Item) { visit(i) })
}

func (f *Fates) eachItem(visit func(item uint32, i Item)) error {
	r, x := f.simulation, f.simulation.index
	for _, b := range x.Buckets {
		place := Item{Resource: x.Strings.string(b.Resource), Namespace: x.Strings.string(b.Namespace)}
		if place.Namespace != "" {
			place.TargetNamespace = r.mappedNamespace(place.Namespace)
		}
		kept := r.bucketFate(b, place.Resource)
		for item := b.First; item < b.End && r.budget.canContinue(1); item++ {
			place.Name, place.Fate = x.Names.string(item), kept
			place.IsMirrorPod = x.Flags[item]&flagMirror != 0
			place.IsCleanedUp = x.Flags[item]&(flagCleanedUp|flagUnchecked) != 0
			switch {
			case place.Resource == dirNamespaces:
				place.TargetNamespace = r.mappedNamespace(place.Name)
				place.Fate = r.namespaceFate(item, kept)
			case r.isDone(item):
				place.Fate = ToRestore
			case kept == ToRestore:
				place.Fate = r.itemFate(item, place.Resource, place.Namespace)
			}
			visit(item, place)
		}
	}
	return f.contextError()
}

// bucketFate returns what the filters decide for all items of a bucket.
func (r *simulation) bucketFate(b bucket, resource string) Fate {
	must := slices.Contains(r.mustHave, resource)
	switch {
	case slices.Contains(nonRestorable, resource):
		return NeverRestored
	case !must && !r.resourceFilter.Matches(resource):
		return KindExcluded
	case r.includesBucket(b, must):
		return ToRestore
	case len(r.index.Strings.bytesOf(b.Namespace)) > 0:
		return NamespaceExcluded
	}
	return ClusterExcluded
}

// itemFate returns the fate of an item that was not restored although the filters include its bucket.
func (r *simulation) itemFate(item uint32, resource, namespace string) Fate {
	flags, must := r.index.Flags[item], slices.Contains(r.mustHave, resource)
	filter, limited := r.policy.findFilter(resource, namespace)
	switch {
	case flags&flagUndecodable != 0:
		return Undecodable
	case must:
	case limited && (filter == nil || !r.selectsItem(item, filter)):
		return FilteredOut
	case !limited && !r.selectsItem(item, nil):
		return NotSelected
	}
	if flags&flagCompleted != 0 {
		return AlreadyCompleted
	}
	return ToRestore
}

// namespaceFate returns the fate of a namespace itself. Velero creates the namespaces that items are restored into,
// whether or not the filters include Namespace objects.
func (r *simulation) namespaceFate(item uint32, kept Fate) Fate {
	name := r.index.Names.string(item)
	target := r.mappedNamespace(name)
	switch {
	case !r.namespaceFilter.Matches(name):
		return NamespaceExcluded
	case r.namespaceExists(target):
		return NamespaceExists
	case r.ensuredNamespaces[target]:
		return ToRestore
	case kept == ToRestore:
		return r.itemFate(item, dirNamespaces, "")
	}
	return kept
}
