package results

import (
	"cmp"
	"slices"
	"strings"
	"unique"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/stored/artifact"
)

// Did is what became of an item, as Velero lists it or by the restore's filters.
type Did string

// What may have become of an item. Failed is also one that exists and differs: so says Velero up to 1.18
// (pkg/restore/restore.go, restoreItem); 1.19 will say skipped (Velero pull request 10243).
const (
	InBackup Did = "" // of a backup: it is in it
	Failed   Did = "failed"
	Missing  Did = "missing" // it was to be restored, and Velero does not list it
	LeftOut  Did = "left out"
	Skipped  Did = "skipped"
	Updated  Did = "updated"
	Created  Did = "created"
)

// rank is the order of a kind's items: failures first, unrequested ones last.
var rank = map[Did]int{Failed: 0, Missing: 1, Skipped: 2, Updated: 3, Created: 4, InBackup: 5, LeftOut: 6}

// Item is one that a job worked on, or did not.
type Item struct {
	// Namespace is where a restore put it; empty if it has none.
	Namespace string
	Name      string
	// From is its namespace in the backup, if that is another.
	From string
	Did  Did
	// Why is the reason, empty where none is needed or known.
	Why string
}

// Kind is the items of one kind.
type Kind struct {
	// Name is the resource, as deployments.apps, or as Velero lists it (example.com/v1/Widget) if unknown.
	Name  string
	Count map[Did]int
	Items []Item
}

// Total is how many items there are.
func (k Kind) Total() int {
	n := 0
	for _, count := range k.Count {
		n += count
	}
	return n
}

// Lost is how many items did not come back though they were to.
func (k Kind) Lost() int { return k.Count[Failed] + k.Count[Missing] }

// Items are what a job worked on, kind by kind.
type Items struct {
	Kinds []Kind
	// NotCompared is why a restore's items were not compared with the backup's contents.
	NotCompared string
	// NoReasons is why the messages of the job are not known.
	NoReasons string
	// Unnamed is how many items are counted, but not among Items.
	Unnamed int
}

// Total is how many items there are in all.
func (i Items) Total() int {
	n := 0
	for _, k := range i.Kinds {
		n += k.Total()
	}
	return n
}

// maxNamed is how many items are kept with their names; others are counted.
const maxNamed = 200_000

// builder puts Items together.
type builder struct {
	byName map[string]*Kind
	named  int
	Items
}

func newBuilder() *builder { return &builder{byName: map[string]*Kind{}} }

func (b *builder) add(kind string, i Item) {
	k := b.byName[kind]
	if k == nil {
		k = &Kind{Name: kind, Count: map[Did]int{}}
		b.byName[kind] = k
	}
	k.Count[i.Did]++
	if b.named++; b.named > maxNamed {
		b.Unnamed++
		return
	}
	k.Items = append(k.Items, i)
}

// shared is the one copy of s, which may be a part of something larger.
func shared(s string) string { return unique.Make(s).Value() }

// done sorts: kinds that lost most first, those wholly left out last.
func (b *builder) done() Items {
	for _, k := range b.byName {
		slices.SortFunc(k.Items, func(x, y Item) int {
			return cmp.Or(
				cmp.Compare(rank[x.Did], rank[y.Did]),
				cmp.Compare(x.Namespace, y.Namespace),
				cmp.Compare(x.Name, y.Name),
				cmp.Compare(x.From, y.From),
			)
		})
		k.Items = slices.Clip(k.Items)
		b.Kinds = append(b.Kinds, *k)
	}
	slices.SortFunc(b.Kinds, func(x, y Kind) int {
		leftOut := func(k Kind) int {
			if k.Count[LeftOut] == k.Total() {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(leftOut(x), leftOut(y)), cmp.Compare(y.Lost(), x.Lost()), cmp.Compare(x.Name, y.Name))
	})
	return b.Items
}

// nameOf splits a kind as Velero lists it, group/version/Kind or version/Kind, and names it to show.
func nameOf(listed string, kinds collector.Kinds) (group, kind, shown string) {
	parts := strings.Split(listed, "/")
	kind = parts[len(parts)-1]
	if len(parts) == 3 {
		group = parts[0]
	}
	return group, kind, cmp.Or(kinds[[2]string{group, kind}], listed)
}

// Listed is what a job lists, without a comparison.
func Listed(list []artifact.Resources, sections []Section) Items {
	b, kinds, reasons := newBuilder(), collector.KnownKinds(), reasonsOf(sections)
	for _, listed := range list {
		_, kind, shown := nameOf(listed.Kind, kinds)
		shown = shared(shown)
		for _, r := range listed.Items {
			i := Item{Namespace: shared(r.Namespace), Name: strings.Clone(r.Name), Did: Did(r.Action)}
			b.add(shown, reasons.explain(i, shown, kind))
		}
	}
	return b.done()
}

// itemKey is an item in the target cluster.
type itemKey struct{ resource, namespace, name string }

// listedItem is one that Velero lists.
type listedItem struct {
	did  Did
	seen bool // the backup has it
}

// Compare joins what a restore lists, its messages and its backup's contents: also what did not come back, and
// why. Its only error is the cause of the context of fates.
func Compare(list []artifact.Resources, sections []Section, fates *collector.Fates) (Items, error) {
	b, reasons := newBuilder(), reasonsOf(sections)
	listed := map[itemKey]*listedItem{}
	kindOf := map[string]string{}
	inhabited := map[string]bool{} // namespaces that Velero put items into
	others := map[[2]string]int{}  // items that Velero made under names that the backup does not have
	for _, of := range list {
		group, kind, _ := nameOf(of.Kind, fates.Kinds)
		resource := shared(fates.Kinds.Guess(group, kind))
		kindOf[resource] = shared(kind)
		for _, r := range of.Items {
			listed[itemKey{resource, r.Namespace, r.Name}] = &listedItem{did: Did(r.Action)}
			inhabited[r.Namespace] = true
		}
	}
	var missing []collector.Item
	err := fates.Each(func(of collector.Item) {
		of.Name, of.Namespace, of.Target = sanitize.String(
			of.Name,
		), shared(
			sanitize.String(of.Namespace),
		), shared(
			sanitize.String(of.Target),
		)
		of.Resource = shared(sanitize.String(of.Resource))
		l := listed[keyOf(of)]
		if l == nil || l.seen {
			missing = append(missing, of)
			return
		}
		l.seen = true
		b.add(of.Resource, finished(of, l.did, reasons, kindOf))
	})
	if err != nil {
		return Items{}, err
	}
	for key, l := range listed {
		if l.seen {
			continue
		}
		if l.did == Created {
			others[[2]string{key.resource, key.namespace}]++
		}
		i := Item{Namespace: shared(key.namespace), Name: strings.Clone(key.name), Did: l.did}
		b.add(key.resource, reasons.explain(i, key.resource, kindOf[key.resource]))
	}
	for _, of := range missing {
		i := finished(of, Missing, reasons, kindOf)
		switch {
		case of.Resource == namespaces && inhabited[of.Target]:
			i.Did, i.Why = LeftOut, leftOut[collector.NamespaceThere]
		case of.Fate != collector.ToRestore:
			i.Did, i.Why = LeftOut, leftOut[of.Fate]
		case listed[keyOf(of)] != nil: // what Velero complains of is the other one
			i.Did, i.Why = LeftOut, Twice
		case i.Why != "":
		case others[[2]string{of.Resource, i.Namespace}] > 0:
			i.Why = "not in Velero's list; it may have come back under a new name (generateName)"
		default:
			i.Why = "not in Velero's list of what it worked on"
		}
		b.add(of.Resource, i)
	}
	return b.done(), nil
}

// Twice is why an item is left out that a mapping brings to the name of another.
const Twice = "an item of that name came into this namespace from another one"

// keyOf is an item of the backup as Velero lists it after the restore.
func keyOf(of collector.Item) itemKey {
	if of.Resource == namespaces {
		return itemKey{of.Resource, "", of.Target}
	}
	return itemKey{of.Resource, of.Target, of.Name}
}

const namespaces = "namespaces"

func finished(of collector.Item, did Did, reasons reasons, kindOf map[string]string) Item {
	key := keyOf(of)
	i := Item{Namespace: key.namespace, Name: key.name, Did: did}
	switch {
	case of.Resource == namespaces && of.Target != of.Name:
		i.From = of.Name
	case of.Resource != namespaces && of.Namespace != of.Target:
		i.From = of.Namespace
	}
	return reasons.explain(i, of.Resource, kindOf[of.Resource])
}

// leftOut is why a restore leaves an item out.
var leftOut = map[collector.Fate]string{
	collector.NeverRestored:     "Velero never restores this kind",
	collector.KindExcluded:      "the restore's resource filters exclude this kind",
	collector.NamespaceExcluded: "the restore's filters exclude this namespace",
	collector.ClusterExcluded:   "the restore's filters exclude what has no namespace",
	collector.NotSelected:       "the restore's label selector does not select it",
	collector.FilteredOut:       "the restore's resource policy leaves it out",
	collector.HasCompleted:      "it had completed when it was backed up",
	collector.Undecodable:       "its JSON in the backup cannot be read",
	collector.NamespaceThere:    "this namespace was there already",
}

// reasons are messages by the item that they name.
type reasons map[[2]string][]reason // namespace and name

type reason struct{ kind, text string }

func reasonsOf(sections []Section) reasons {
	all := reasons{}
	for _, s := range sections {
		for _, c := range s.Messages {
			for _, r := range c.Resources {
				key := [2]string{c.Namespace, r.Name}
				all[key] = append(all[key], reason{r.Kind, c.Words()})
			}
		}
	}
	return all
}

// Differs reports whether Velero kept an existing item that differs from the backup's: only its warning
// tells where it lists such an item as skipped.
func (i Item) Differs() bool {
	return (i.Did == Failed || i.Did == Skipped) && strings.Contains(i.Why, "already exists") &&
		strings.Contains(i.Why, "differ")
}

// explain adds the reason why an item was not restored: the message names the resource or the kind.
func (all reasons) explain(i Item, resource, kind string) Item {
	if i.Did != Failed && i.Did != Missing && i.Did != Skipped {
		return i
	}
	about := all[[2]string{i.Namespace, i.Name}]
	if at := slices.IndexFunc(
		about,
		func(r reason) bool { return r.kind == resource || r.kind == kind || r.kind == "" },
	); at >= 0 {
		i.Why = about[at].text
	}
	switch {
	case i.Did != Skipped:
	case i.Differs():
		i.Did = Failed
	case resource == "persistentvolumes":
		i.Why = "the same is there already, or its claim gets a new volume"
	default:
		i.Why = "the same is there already, or a plugin discarded it"
	}
	return i
}
