package verify

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/platform"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Input is what a restore is verified with.
type Input struct {
	RestoreName    string
	BackupName     string        // the name of its backup
	MapsNamespaces bool          // true if the restore maps namespaces
	Server         string        // the version of Velero's server as [velero.ParseVersion] reads it
	Started, Ended time.Time     // Started and Ended are Velero's times, zero where unknown
	InProgress     bool          // true for a restore in progress
	Items          results.Items // what Velero lists, compared with the backup where the backup can be read
	Unlisted       bool          // true if Items only say what was to come back, because Velero's list is missing
	Target         *live.State
}

// BuildQuery returns the query for the items in the cluster.
func BuildQuery(items results.Items) *live.Query {
	q := &live.Query{}
	for _, k := range items.Kinds {
		if strings.Contains(k.Name, "/") {
			continue // a kind whose resource is not known
		}
		for _, i := range k.Items {
			if i.Status != results.LeftOut && !i.NameUnknown {
				q.AddItem(k.Name, i.Namespace, i.Name)
			}
		}
	}
	return q
}

// Judge verifies a restore's items; see [Result.AddClaims] and [Result.AddTransfers] for the rest.
func Judge(in Input) Result {
	r := Result{
		CountByState: map[State]int{},
		Unchecked:    in.Target.Unchecked,
		InProgress:   in.InProgress,
		CheckedAt:    in.Target.CheckedAt,
		Incomplete:   in.Items.CompareUnavailable != "",
	}
	j := itemJudge{
		Input:        in,
		restoreLabel: veleroapi.ValidLabel(in.RestoreName),
		parents:      findParents(in.Items),
		merged:       findMerged(in.Items),
	}
	for _, from := range in.Items.Kinds {
		k := Kind{Name: from.Name, CountByState: map[State]int{}, Items: make([]Item, 0, len(from.Items))}
		for _, i := range from.Items {
			item := Item{
				Namespace: i.Namespace, Name: i.Name, BackupNamespace: i.BackupNamespace, BackupName: i.BackupName,
			}
			if item.State, item.Why = j.judgeItem(from.Name, i); item.State != LeftOut {
				j.noteOthers(from.Name, i, &item)
			}
			if o, _ := in.Target.FindItem(
				from.Name,
				i.Namespace,
				i.Name,
			); item.State == Existed && (i.Status == results.Failed || i.HasDifferences()) &&
				isContentComparable(from.Name, i.Name, o) && !isClusterWritten(from.Name, i.Name) {
				item.Content, item.Why = NotCompared, item.Why+compareHint
			}
			k.CountByState[item.State]++
			r.CountByState[item.State]++
			k.Items = append(k.Items, item)
		}
		for state, n := range countUnnamed(from) {
			k.CountByState[state] += n
			r.CountByState[state] += n
		}
		r.Kinds = append(r.Kinds, k)
	}
	r.sortAndCount()
	existed := r.CountByState[Existed] > 0
	// An existing item may differ: only Velero's list tells, and from 1.19 on only its warnings.
	r.Incomplete = r.Incomplete ||
		existed && (in.Unlisted || in.Items.ReasonsUnavailable != "" && !velero.FailsOnDifference(in.Server))
	r.Notes = in.buildNotes(existed)
	return r
}

// sortAndCount sorts the kinds and their items, and counts the contents.
func (r *Result) sortAndCount() {
	r.CountByContent = map[ContentState]int{}
	for n := range r.Kinds {
		k := &r.Kinds[n]
		k.CountByContent = map[ContentState]int{}
		for _, i := range k.Items {
			if i.Content != "" {
				k.CountByContent[i.Content]++
				r.CountByContent[i.Content]++
			}
		}
		slices.SortStableFunc(k.Items, func(x, y Item) int { // each state stays sorted by namespace and name
			return cmp.Or(
				cmp.Compare(x.sortRank(), y.sortRank()),
				cmp.Compare(x.Namespace, y.Namespace),
				cmp.Compare(x.Name, y.Name),
			)
		})
	}
	slices.SortStableFunc(r.Kinds, func(x, y Kind) int {
		return cmp.Or(
			cmp.Compare(min(y.CountWanted(), 1), min(x.CountWanted(), 1)),
			cmp.Compare(y.CountLost(), x.CountLost()),
			cmp.Compare(y.CountDiffering(), x.CountDiffering()),
			cmp.Compare(x.Name, y.Name),
		)
	})
}

// countUnnamed counts, by state, the items of a kind that have no names, and so cannot be looked up.
func countUnnamed(k results.Kind) map[State]int {
	left := map[State]int{}
	for did, n := range k.CountByStatus {
		state := Unchecked
		if did == results.LeftOut {
			state = LeftOut
		}
		left[state] += n
	}
	for _, i := range k.Items {
		if i.Status == results.LeftOut {
			left[LeftOut]--
		} else {
			left[Unchecked]--
		}
	}
	maps.DeleteFunc(left, func(_ State, n int) bool { return n <= 0 })
	return left
}

func (in Input) buildNotes(existed bool) []string {
	var notes []string
	if in.Unlisted && (existed || !in.InProgress) {
		notes = append(
			notes,
			"Velero's list of what it restored is not there, so what was there before and differs, and what a plugin "+
				"discarded, is not known.",
		)
	}
	if why := in.Items.CompareUnavailable; why != "" {
		notes = append(
			notes,
			"Only what Velero lists was verified: what of the backup it does not list is not known: "+why,
		)
	}
	if why := in.Items.ReasonsUnavailable; why != "" {
		notes = append(notes, "Why items failed is not known: "+why)
	}
	if n := in.Items.UnnamedCount; n > 0 {
		notes = append(
			notes,
			human.Count(n, "more item")+" of this restore could not be looked for: veltui keeps the names of 200,000.",
		)
	}
	return notes
}

type itemJudge struct {
	Input
	restoreLabel string
	parents      parentSet
	merged       mergedItems
}

func (j *itemJudge) judgeItem(resource string, i results.Item) (State, string) {
	if isLeftOut(i) {
		return LeftOut, i.Why
	}
	object, seen := j.Target.FindItem(resource, i.Namespace, i.Name)
	switch {
	case i.NameUnknown:
		return Unchecked, "the resource modifier gives it a name that only its contents tell"
	case j.merged.isLoser(resource, i):
		return j.judgeLoser(resource, i)
	}
	switch seen {
	case live.Unknown:
		return Unchecked, cmp.Or(j.Target.UncheckedReason(resource, i.Namespace), "the resource of this kind is not known")
	case live.NotServed:
		state, why := j.judgeAbsent(resource, i)
		if i.Status != results.Failed || why == "" {
			why = "the cluster does not serve this kind"
		}
		return state, why
	case live.Absent:
		return j.judgeAbsent(resource, i)
	}
	return j.judgePresent(resource, i, object)
}

func (j *itemJudge) judgeAbsent(resource string, i results.Item) (State, string) {
	passing := j.transientItemReason(resource, i)
	switch {
	case i.Status == results.Failed:
		return Failed, i.Why
	case j.mayBeRenamed(resource, i):
		return Transient, renamedReason
	case passing != "":
		return Transient, passing
	case j.Items.UnreadModifier != "" && i.Status == results.Created:
		return Unchecked, "the resource modifier " + j.Items.UnreadModifier + ", which cannot be read, may have given it " +
			"another name: it is not there under this one"
	case j.InProgress:
		return Missing, "it is not there yet"
	case j.Unlisted:
		return Missing, "it is not there; whether Velero restored it is not known"
	case i.Status == results.Missing:
		return Missing, i.Why
	case i.Status == results.Skipped && discardedResources[resource]:
		return Transient, "Velero's own plugins discard it: its claim gets a new volume"
	case i.Status == results.Skipped:
		return Gone, "Velero skipped it, because the same was there or a plugin discarded it; it is not there now"
	case i.Status == results.Updated:
		return Gone, "Velero updated it, and it is not there now"
	}
	return Gone, "Velero created it, and it is not there now"
}

// mayBeRenamed reports whether an item may have come back under another name.
func (j *itemJudge) mayBeRenamed(resource string, i results.Item) bool {
	v, known := velero.ParseVersion(j.Server)
	return discardedResources[resource] &&
		(i.Status == results.Missing || i.Status == results.Created && known && !v.ListsNewNames())
}

// clockTolerance is how much clocks may differ, besides times in whole seconds.
const clockTolerance = 10 * time.Second

func (in Input) predatesRestore(o live.Object) bool {
	return !in.Started.IsZero() && o.Created.Before(in.Started.Add(-clockTolerance))
}

// judgePresent judges an item that is in the cluster. Velero labels everything that it creates, except namespaces
// (pkg/restore/restore.go, 1.18.3). With existingResourcePolicy update it also labels what existed, so there the
// label alone says nothing.
func (j *itemJudge) judgePresent(resource string, i results.Item, o live.Object) (State, string) {
	if i.HasDifferences() {
		i.Status = results.Failed // whatever this version of Velero calls it
	}
	ours := o.RestoreName == j.restoreLabel
	older := j.predatesRestore(o)
	later := !j.Ended.IsZero() && o.Created.After(j.Ended.Add(clockTolerance)) || j.isRemade(resource, i, o, older)
	passing := j.transientItemReason(resource, i)
	switch {
	case !o.DeletingSince.IsZero() && passing != "":
		return Transient, passing
	case !o.DeletingSince.IsZero():
		return Deleting, "the cluster is deleting it since " + human.MomentUTC(o.DeletingSince)
	case i.Status == results.Failed && (ours && !older):
		return Restored, i.Why
	case older && j.mayBeRenamed(resource, i):
		return Existed, renamedReason
	case i.Status == results.Failed && platform.MakerOf(resource, i.Name) != "":
		return Existed, "the cluster writes it itself"
	case i.Status == results.Failed && platform.Rewrites(resource):
		return Existed, "the cluster keeps writing to it"
	case i.Status == results.Failed && older &&
		(ours || i.Why == "" || strings.Contains(i.Why, "already exists")) && j.differenceReason(resource, i, o) != "":
		return Existed, "Velero left it as it was, and " + j.differenceReason(resource, i, o)
	// with the policy update (pkg/restore/restore.go, processUpdateResourcePolicy)
	case i.Status == results.Failed && ours:
		return Differs, cmp.Or(
			i.Why,
			"one of that name existed, Velero's patch of it was refused, and Velero set its labels alone",
		)
	case i.Status == results.Failed && later:
		return CreatedByOthers, "Velero could not restore it, and somebody made one after that: " + i.Why
	case i.Status == results.Failed:
		return Differs, cmp.Or(i.Why, "one of that name existed, and Velero left it as it was")
	case i.Status == results.Updated, ours && !older:
		return Restored, ""
	case i.Status == results.Skipped && !later, i.Status == results.Missing && older && j.Unlisted:
		return Existed, "it is older than the restore"
	case later:
		return CreatedByOthers, createdByOthersReason(o)
	case i.Status == results.Missing && older:
		return Differs, "one of that name is there that is older than the restore, and Velero does not list it"
	}
	return Restored, ""
}

// isRemade reports whether an object that Velero listed as created was made by others while the restore ran, or just
// after it, when clocks alone do not tell: it lacks Velero's label, and all who wrote to it began after it was made,
// without Velero. To what it creates, Velero gives the managed fields of the backup, which are older (pkg/restore/
// restore.go, restoreItem), so that somebody has to have made this object who is none of them.
func (j *itemJudge) isRemade(resource string, i results.Item, o live.Object, older bool) bool {
	return i.Status == results.Created && resource != "namespaces" && !older && o.RestoreName == "" &&
		!o.FirstWritten.IsZero() && !o.FirstWritten.Before(o.Created) && !o.WrittenByVelero
}

// createdByOthersReason returns who created an object, as far as its labels and owner tell.
func createdByOthersReason(o live.Object) string {
	switch {
	case o.RestoreName != "":
		return "restore " + o.RestoreName + " made it after this one had ended"
	case o.OwnerKind != "":
		return "its " + o.OwnerKind + " made it again after the restore had ended"
	}
	return "it was made after the restore had ended, and not by Velero"
}
