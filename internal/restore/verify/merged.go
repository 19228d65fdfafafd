package verify

import (
	"cmp"
	"slices"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/platform"
	"github.com/veltui/veltui/internal/stored/results"
)

// mergedItems are the items of a restore that become one object, by the object: the item that Velero made it of comes
// first, as far as that is known.
type mergedItems map[itemKey][]results.Item

// findMerged finds the items that become one object: a mapping or a resource modifier gives them one name.
func findMerged(items results.Items) mergedItems {
	all := mergedItems{}
	for _, k := range items.Kinds {
		if !slices.ContainsFunc(k.Items, isMoved) {
			continue
		}
		count := map[[2]string]int{}
		for _, i := range k.Items {
			if !isLeftOut(i) && !i.NameUnknown {
				count[[2]string{i.Namespace, i.Name}]++
			}
		}
		for _, i := range k.Items {
			if !isLeftOut(i) && !i.NameUnknown && count[[2]string{i.Namespace, i.Name}] > 1 {
				at := itemKey{k.Name, i.Namespace, i.Name}
				all[at] = append(all[at], i)
			}
		}
	}
	for _, of := range all {
		slices.SortStableFunc(of, func(a, b results.Item) int { return cmp.Compare(mergeRank(a), mergeRank(b)) })
	}
	return all
}

// isMoved reports whether an item has another namespace or name in the target, or lost its name to an item that has.
func isMoved(i results.Item) bool {
	return i.BackupNamespace != "" || i.BackupName != "" || i.Why == results.DuplicateReason
}

// isLeftOut reports whether the restore was not to bring an item back.
func isLeftOut(i results.Item) bool {
	return i.Status == results.LeftOut && i.Why != results.DuplicateReason
}

// mergeRank sorts the items of one object: Velero creates or updates the object of one of them.
func mergeRank(i results.Item) int {
	at := slices.Index([]results.ItemStatus{results.Created, results.Updated, results.Skipped, results.Failed}, i.Status)
	if at < 0 {
		return 4 // Velero does not list it
	}
	return at
}

func isSameItem(a, b results.Item) bool {
	return a.BackupNamespace == b.BackupNamespace && a.BackupName == b.BackupName
}

// isLoser reports whether an item became an object that stands for another item.
func (m mergedItems) isLoser(resource string, i results.Item) bool {
	of := m[itemKey{resource, i.Namespace, i.Name}]
	return len(of) > 1 && !isSameItem(of[0], i)
}

// judgeLoser judges an item whose name another item took.
func (j *itemJudge) judgeLoser(resource string, i results.Item) (State, string) {
	winner := j.merged[itemKey{resource, i.Namespace, i.Name}][0]
	passing := j.transientItemReason(resource, i)
	switch {
	case platform.MakerOf(resource, i.Name) != "":
		return Existed, "the cluster writes it itself"
	case passing != "":
		return Transient, passing
	}
	return Missing, "the restore gives it the name of " + originOf(winner) + ", and only one object comes of both"
}

// noteOthers says of an item that came back under which name others did not.
func (j *itemJudge) noteOthers(resource string, i results.Item, item *Item) {
	of := j.merged[itemKey{resource, i.Namespace, i.Name}]
	if len(of) < 2 || !isSameItem(of[0], i) || item.State != Restored || item.Why != "" ||
		platform.MakerOf(resource, i.Name) != "" {
		return
	}
	var others []string
	for _, other := range of[1:] {
		others = append(others, originOf(other))
	}
	item.Why = "or " + human.JoinNames(others, 3) + " came in its place: Velero does not say which of them it took"
	if i.Status == results.Created && of[1].Why != results.DuplicateReason {
		item.Why = human.JoinNames(others, 3) + " has the same name in the target, and did not come"
	}
}

// originOf names an item as the backup does.
func originOf(i results.Item) string {
	return human.Namespaced(cmp.Or(i.BackupNamespace, i.Namespace), cmp.Or(i.BackupName, i.Name))
}
