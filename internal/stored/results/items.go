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

// ItemStatus is what became of an item, by Velero's list or by the restore's filters.
type ItemStatus string

// The statuses of an item. Up to Velero 1.18, an item that exists and differs is also Failed (pkg/restore/restore.go,
// restoreItem); 1.19 will call it skipped (Velero pull request 10243).
const (
	InBackup ItemStatus = "" // in a backup's list: the backup has the item
	Failed   ItemStatus = "failed"
	Missing  ItemStatus = "missing" // it was to be restored, but Velero does not list it
	LeftOut  ItemStatus = "left out"
	Skipped  ItemStatus = "skipped"
	Updated  ItemStatus = "updated"
	Created  ItemStatus = "created"
)

// statusRank is the order of a kind's items: failures first, items left out last.
var statusRank = map[ItemStatus]int{Failed: 0, Missing: 1, Skipped: 2, Updated: 3, Created: 4, InBackup: 5, LeftOut: 6}

// Item is an item that a job worked on or left out.
type Item struct {
	// Namespace is where a restore put the item; empty if it has none.
	Namespace string
	Name      string
	// BackupNamespace is its namespace in the backup, if different, and BackupName its name there.
	BackupNamespace string
	BackupName      string
	// NameUnknown is true if the restore gives the item a name that only its body tells.
	NameUnknown bool
	Status      ItemStatus
	// Why is the reason, empty where none is needed or known.
	Why string
	// IsCleanedUp is true for a job that the cluster deletes once it has ended ([collector.Item]).
	IsCleanedUp bool
}

// Kind holds the items of one kind.
type Kind struct {
	// Name is the resource, such as deployments.apps, or as Velero lists it (example.com/v1/Widget) if unknown.
	Name          string
	CountByStatus map[ItemStatus]int
	Items         []Item
}

// CountItems returns the number of items.
func (k Kind) CountItems() int {
	n := 0
	for _, count := range k.CountByStatus {
		n += count
	}
	return n
}

// CountLost returns the number of items that were to come back and did not.
func (k Kind) CountLost() int { return k.CountByStatus[Failed] + k.CountByStatus[Missing] }

// Items are the items that a job worked on, by kind.
type Items struct {
	Kinds []Kind
	// CompareUnavailable says why a restore's items were not compared with the backup's contents.
	CompareUnavailable string
	// ReasonsUnavailable says why the messages of the job are unknown.
	ReasonsUnavailable string
	// UnreadModifier is the name of the resource modifier if it could not be read, and may have renamed items.
	UnreadModifier string
	// UnnamedCount is the number of items that are counted, but not among Items.
	UnnamedCount int
}

// CountItems returns the number of items of all kinds.
func (i Items) CountItems() int {
	n := 0
	for _, k := range i.Kinds {
		n += k.CountItems()
	}
	return n
}

// maxNamedItems is how many items are kept with their names; further items are only counted.
const maxNamedItems = 200_000

// itemsBuilder builds Items.
type itemsBuilder struct {
	byName     map[string]*Kind
	namedCount int
	Items
}

func newItemsBuilder() *itemsBuilder { return &itemsBuilder{byName: map[string]*Kind{}} }

func (b *itemsBuilder) addItem(kind string, i Item) {
	k := b.byName[kind]
	if k == nil {
		k = &Kind{Name: kind, CountByStatus: map[ItemStatus]int{}}
		b.byName[kind] = k
	}
	k.CountByStatus[i.Status]++
	if b.namedCount++; b.namedCount > maxNamedItems {
		b.UnnamedCount++
		return
	}
	k.Items = append(k.Items, i)
}

// internText returns the single copy of s, which may be part of a larger string.
func internText(s string) string { return unique.Make(s).Value() }

// buildItems returns the items, sorted: kinds that lost most first, kinds that were left out completely last.
func (b *itemsBuilder) buildItems() Items {
	for _, k := range b.byName {
		slices.SortFunc(k.Items, func(x, y Item) int {
			return cmp.Or(
				cmp.Compare(statusRank[x.Status], statusRank[y.Status]),
				cmp.Compare(x.Namespace, y.Namespace),
				cmp.Compare(x.Name, y.Name),
				cmp.Compare(x.BackupNamespace, y.BackupNamespace),
			)
		})
		k.Items = slices.Clip(k.Items)
		b.Kinds = append(b.Kinds, *k)
	}
	slices.SortFunc(b.Kinds, func(x, y Kind) int {
		leftOut := func(k Kind) int {
			if k.CountByStatus[LeftOut] == k.CountItems() {
				return 1
			}
			return 0
		}
		return cmp.Or(
			cmp.Compare(leftOut(x), leftOut(y)),
			cmp.Compare(y.CountLost(), x.CountLost()),
			cmp.Compare(x.Name, y.Name),
		)
	})
	return b.Items
}

// splitKind splits a kind as Velero lists it, group/version/Kind or version/Kind, and returns a name to show.
func splitKind(listed string, kinds collector.Kinds) (group, kind, shown string) {
	parts := strings.Split(listed, "/")
	kind = parts[len(parts)-1]
	if len(parts) == 3 {
		group = parts[0]
	}
	return group, kind, cmp.Or(kinds[[2]string{group, kind}], listed)
}

// ListItems returns the items that a job lists, without a comparison.
func ListItems(list []artifact.KindItems, sections []MessageSection) Items {
	b, kinds, reasons := newItemsBuilder(), collector.KnownKinds(), indexReasons(sections)
	for _, listed := range list {
		_, kind, shown := splitKind(listed.Kind, kinds)
		shown = internText(shown)
		for _, r := range listed.Items {
			i := Item{Namespace: internText(r.Namespace), Name: strings.Clone(r.Name), Status: ItemStatus(r.Action)}
			b.addItem(shown, reasons.withReason(i, shown, kind))
		}
	}
	return b.buildItems()
}

// itemKey identifies an item in the target cluster.
type itemKey struct{ resource, namespace, name string }

// listedItem is an item that Velero lists.
type listedItem struct {
	status     ItemStatus
	isInBackup bool // the backup has it
}

// CompareItems joins what a restore lists, its messages and its backup's contents. The result includes what did not
// come back, and why. names, if not nil, knows what the restore renames. Its only error is the cause of the fates'
// context.
func CompareItems(
	list []artifact.KindItems,
	sections []MessageSection,
	fates *collector.Fates,
	names Naming,
) (Items, error) {
	b, reasons := newItemsBuilder(), indexReasons(sections)
	listed := map[itemKey]*listedItem{}
	kindOf := map[string]string{}
	inhabited := map[string]bool{} // namespaces into which Velero put items
	others := map[[2]string]int{}  // items that Velero created under names that the backup does not have
	for _, of := range list {
		group, kind, _ := splitKind(of.Kind, fates.Kinds)
		resource := internText(fates.Kinds.GuessResource(group, kind))
		kindOf[resource] = internText(kind)
		for _, r := range of.Items {
			listed[itemKey{resource, r.Namespace, r.Name}] = &listedItem{status: ItemStatus(r.Action)}
			inhabited[r.Namespace] = true
		}
	}
	var missing []collector.Item
	err := fates.EachItem(func(of collector.Item) {
		of.Name, of.Namespace, of.TargetNamespace = sanitize.String(
			of.Name,
		), internText(
			sanitize.String(of.Namespace),
		), internText(
			sanitize.String(of.TargetNamespace),
		)
		of.Resource = internText(sanitize.String(of.Resource))
		renamed, known := names.rename(of)
		// Velero lists what it creates under the new name, and what exists, as all before 1.17, under the old one.
		l := listed[targetKey(of, renamed)]
		if old := listed[targetKey(of, of.Name)]; old != nil && (l == nil || l.isInBackup) {
			l = old
		}
		if l == nil || l.isInBackup {
			missing = append(missing, of)
			return
		}
		l.isInBackup = true
		i := newComparedItem(of, renamed, l.status, reasons, kindOf)
		i.NameUnknown = !known
		b.addItem(of.Resource, i)
	})
	if err != nil {
		return Items{}, err
	}
	for key, l := range listed {
		if l.isInBackup {
			continue
		}
		if l.status == Created {
			others[[2]string{key.resource, key.namespace}]++
		}
		i := Item{Namespace: internText(key.namespace), Name: strings.Clone(key.name), Status: l.status}
		b.addItem(key.resource, reasons.withReason(i, key.resource, kindOf[key.resource]))
	}
	for _, of := range missing {
		renamed, known := names.rename(of)
		i := newComparedItem(of, renamed, Missing, reasons, kindOf)
		i.NameUnknown = !known
		switch {
		case of.Resource == namespaces && inhabited[of.TargetNamespace]:
			i.Status, i.Why = LeftOut, leftOutReasons[collector.NamespaceExists]
		case of.Fate != collector.ToRestore:
			i.Status, i.Why = LeftOut, leftOutReasons[of.Fate]
		case listed[targetKey(of, renamed)] != nil: // Velero's message is about the other item
			i.Status, i.Why = LeftOut, DuplicateReason
		case i.Why != "":
		case others[[2]string{of.Resource, i.Namespace}] > 0:
			i.Why = "not in Velero's list; it may have come back under a new name (generateName)"
		default:
			i.Why = "not in Velero's list of what it worked on"
		}
		b.addItem(of.Resource, i)
	}
	return b.buildItems(), nil
}

// DuplicateReason is why an item is left out whose name a mapping or a resource modifier gives to another item, too.
const DuplicateReason = "another item of the backup came under that name"

// Naming returns the name under which a restore makes an item of a backup, and false where only its body tells.
// Namespace and name are those in the backup.
type Naming func(resource, namespace, name string) (renamed string, known bool)

// rename returns the name of an item in the target, and whether that is known. Namespaces keep their names but for a
// mapping.
func (n Naming) rename(of collector.Item) (string, bool) {
	if n == nil || of.Resource == namespaces {
		return of.Name, true
	}
	renamed, known := n(of.Resource, of.Namespace, of.Name)
	if !known {
		return of.Name, false
	}
	return sanitize.String(renamed), true
}

// targetKey returns the key under which Velero lists an item of the backup after a restore that gives it a name.
func targetKey(of collector.Item, name string) itemKey {
	if of.Resource == namespaces {
		return itemKey{of.Resource, "", of.TargetNamespace}
	}
	return itemKey{of.Resource, of.TargetNamespace, name}
}

const namespaces = "namespaces"

func newComparedItem(
	of collector.Item,
	name string,
	did ItemStatus,
	reasons reasonIndex,
	kindOf map[string]string,
) Item {
	key := targetKey(of, name)
	i := Item{Namespace: key.namespace, Name: key.name, Status: did, IsCleanedUp: of.IsCleanedUp}
	switch {
	case of.Resource == namespaces && of.TargetNamespace != of.Name:
		i.BackupNamespace = of.Name
	case of.Resource != namespaces && of.Namespace != of.TargetNamespace:
		i.BackupNamespace = of.Namespace
	}
	if of.Resource != namespaces && name != of.Name {
		i.BackupName = of.Name
	}
	return reasons.withReason(i, of.Resource, kindOf[of.Resource])
}

// leftOutReasons maps fates to why a restore leaves an item out.
var leftOutReasons = map[collector.Fate]string{
	collector.NeverRestored:     "Velero never restores this kind",
	collector.KindExcluded:      "the restore's resource filters exclude this kind",
	collector.NamespaceExcluded: "the restore's filters exclude this namespace",
	collector.ClusterExcluded:   "the restore's filters exclude what has no namespace",
	collector.NotSelected:       "the restore's label selector does not select it",
	collector.FilteredOut:       "the restore's resource policy leaves it out",
	collector.AlreadyCompleted:  "it had completed when it was backed up",
	collector.Undecodable:       "its JSON in the backup cannot be read",
	collector.NamespaceExists:   "this namespace was there already",
}

// reasonIndex holds messages by the item that they name.
type reasonIndex map[[2]string][]reason // namespace and name

type reason struct{ kind, text string }

func indexReasons(sections []MessageSection) reasonIndex {
	all := reasonIndex{}
	for _, s := range sections {
		for _, c := range s.Messages {
			for _, r := range c.Resources {
				key := [2]string{r.Namespace, r.Name}
				all[key] = append(all[key], reason{r.Kind, internText(c.DisplayText())})
			}
		}
	}
	return all
}

// HasDifferences reports whether Velero kept an existing item that differs from the backup's: where Velero lists such
// an item as skipped, only its warning tells.
func (i Item) HasDifferences() bool {
	return (i.Status == Failed || i.Status == Skipped) && strings.Contains(i.Why, "already exists") &&
		strings.Contains(i.Why, "differ")
}

// withReason adds the reason why an item was not restored. The message may name the resource or the kind.
func (all reasonIndex) withReason(i Item, resource, kind string) Item {
	if i.Status != Failed && i.Status != Missing && i.Status != Skipped {
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
	case i.Status != Skipped:
	case i.HasDifferences():
		i.Status = Failed
	case resource == "persistentvolumes":
		i.Why = "the same is there already, or its claim gets a new volume"
	default:
		i.Why = "the same is there already, or a plugin discarded it"
	}
	return i
}
