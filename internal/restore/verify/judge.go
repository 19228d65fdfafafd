package verify

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vmware-tanzu/velero/pkg/label"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
)

// Input is what a restore is verified with.
type Input struct {
	Restore        string
	Backup         string        // the name of its backup
	Mapped         bool          // it maps namespaces
	Server         string        // the version of Velero's server as [velero.ParseVersion] reads it
	Started, Ended time.Time     // Started and Ended are Velero's times, zero where they are not known
	SoFar          bool          // true of a restore that goes on
	Items          results.Items // what Velero lists, compared with the backup where that can be read
	Unlisted       bool          // true if Items only say what was to come back: Velero's list is not there
	Target         *live.State
}

// Question is which items to look for in the cluster.
func Question(items results.Items) *live.Question {
	q := &live.Question{}
	for _, k := range items.Kinds {
		if strings.Contains(k.Name, "/") {
			continue // a kind whose resource is not known
		}
		for _, i := range k.Items {
			if i.Did != results.LeftOut {
				q.Add(k.Name, i.Namespace, i.Name)
			}
		}
	}
	return q
}

// Judge verifies a restore's items; see [Result.AddClaims] and [Result.AddData] for the rest.
func Judge(in Input) Result {
	r := Result{
		Count:   map[State]int{},
		NotSeen: in.Target.NotSeen,
		SoFar:   in.SoFar,
		At:      in.Target.At,
		Unknown: in.Items.NotCompared != "",
	}
	j := judge{Input: in, label: label.GetValidName(in.Restore), parents: parentsOf(in.Items)}
	for _, from := range in.Items.Kinds {
		k := Kind{Name: from.Name, Count: map[State]int{}, Items: make([]Item, 0, len(from.Items))}
		for _, i := range from.Items {
			item := Item{Namespace: i.Namespace, Name: i.Name, From: i.From}
			item.State, item.Why = j.item(from.Name, i)
			if o, _ := in.Target.Find(
				from.Name,
				i.Namespace,
				i.Name,
			); item.State == Existed && (i.Did == results.Failed || i.Differs()) &&
				isCompared(from.Name, i.Name, o) {
				item.Content, item.Why = NotCompared, item.Why+ask
			}
			k.Count[item.State]++
			r.Count[item.State]++
			k.Items = append(k.Items, item)
		}
		for state, n := range unnamed(from) {
			k.Count[state] += n
			r.Count[state] += n
		}
		r.Kinds = append(r.Kinds, k)
	}
	r.arrange()
	existed := r.Count[Existed] > 0
	// It may differ: only Velero's list tells, and from 1.19 on only its warnings.
	r.Unknown = r.Unknown || existed && (in.Unlisted || in.Items.NoReasons != "" && !velero.FailsDiffering(in.Server))
	r.Notes = in.notes(existed)
	return r
}

// arrange counts the contents, and sorts.
func (r *Result) arrange() {
	r.Content = map[Content]int{}
	for n := range r.Kinds {
		k := &r.Kinds[n]
		k.Content = map[Content]int{}
		for _, i := range k.Items {
			if i.Content != "" {
				k.Content[i.Content]++
				r.Content[i.Content]++
			}
		}
		slices.SortStableFunc(k.Items, func(x, y Item) int { // each state stays sorted by namespace and name
			return cmp.Or(
				cmp.Compare(x.rank(), y.rank()),
				cmp.Compare(x.Namespace, y.Namespace),
				cmp.Compare(x.Name, y.Name),
			)
		})
	}
	slices.SortStableFunc(r.Kinds, func(x, y Kind) int {
		return cmp.Or(
			cmp.Compare(min(y.Wanted(), 1), min(x.Wanted(), 1)),
			cmp.Compare(y.Lost(), x.Lost()),
			cmp.Compare(y.Differing(), x.Differing()),
			cmp.Compare(x.Name, y.Name),
		)
	})
}

// unnamed are the items of a kind that are counted without names, and cannot be looked for.
func unnamed(k results.Kind) map[State]int {
	left := map[State]int{}
	for did, n := range k.Count {
		state := NotLookedAt
		if did == results.LeftOut {
			state = LeftOut
		}
		left[state] += n
	}
	for _, i := range k.Items {
		if i.Did == results.LeftOut {
			left[LeftOut]--
		} else {
			left[NotLookedAt]--
		}
	}
	maps.DeleteFunc(left, func(_ State, n int) bool { return n <= 0 })
	return left
}

func (in Input) notes(existed bool) []string {
	var notes []string
	if in.Unlisted && (existed || !in.SoFar) {
		notes = append(
			notes,
			"Velero's list of what it restored is not there, so what was there before and differs, and what a plugin "+
				"discarded, is not known.",
		)
	}
	if why := in.Items.NotCompared; why != "" {
		notes = append(
			notes,
			"Only what Velero lists was verified: what of the backup it does not list is not known: "+why,
		)
	}
	if why := in.Items.NoReasons; why != "" {
		notes = append(notes, "Why items failed is not known: "+why)
	}
	if n := in.Items.Unnamed; n > 0 {
		notes = append(
			notes,
			human.Count(n, "more item")+" of this restore could not be looked for: veltui keeps the names of 200,000.",
		)
	}
	return notes
}

type judge struct {
	Input
	label   string
	parents parents
}

func (j *judge) item(resource string, i results.Item) (State, string) {
	if i.Did == results.LeftOut {
		return LeftOut, i.Why
	}
	object, seen := j.Target.Find(resource, i.Namespace, i.Name)
	switch seen {
	case live.NotLooked:
		return NotLookedAt, cmp.Or(j.Target.Why(resource, i.Namespace), "the resource of this kind is not known")
	case live.NotServed:
		state, why := j.absent(resource, i)
		if i.Did != results.Failed || why == "" {
			why = "the cluster does not serve this kind"
		}
		return state, why
	case live.Absent:
		return j.absent(resource, i)
	}
	return j.there(resource, i, object)
}

func (j *judge) absent(resource string, i results.Item) (State, string) {
	passing := j.passing(resource, i)
	switch {
	case i.Did == results.Failed:
		return Failed, i.Why
	case j.renamed(resource, i):
		return Passing, renamed
	case passing != "":
		return Passing, passing
	case j.SoFar:
		return Missing, "it is not there yet"
	case j.Unlisted:
		return Missing, "it is not there; whether Velero restored it is not known"
	case i.Did == results.Missing:
		return Missing, i.Why
	case i.Did == results.Skipped && discarded[resource]:
		return Passing, "Velero's own plugins discard it: its claim gets a new volume"
	case i.Did == results.Skipped:
		return Gone, "Velero skipped it, because the same was there or a plugin discarded it; it is not there now"
	case i.Did == results.Updated:
		return Gone, "Velero updated it, and it is not there now"
	}
	return Gone, "Velero created it, and it is not there now"
}

// renamed says whether an item may have come back under another name.
func (j *judge) renamed(resource string, i results.Item) bool {
	v, known := velero.ParseVersion(j.Server)
	return discarded[resource] && (i.Did == results.Missing || i.Did == results.Created && known && !v.ListsNewNames())
}

// near is how much clocks may differ, beside times in whole seconds.
const near = 10 * time.Second

func (in Input) older(o live.Object) bool {
	return !in.Started.IsZero() && o.Created.Before(in.Started.Add(-near))
}

// there judges an item that is in the cluster. Velero labels all that it creates, but
// no namespaces (pkg/restore/restore.go, 1.18.3), and with existingResourcePolicy
// update also what was there, so that the label alone says nothing there.
func (j *judge) there(resource string, i results.Item, o live.Object) (State, string) {
	if i.Differs() {
		i.Did = results.Failed // whatever this version of Velero calls it
	}
	ours := o.Restore == j.label
	older := j.older(o)
	later := !j.Ended.IsZero() && o.Created.After(j.Ended.Add(near))
	passing := j.passing(resource, i)
	switch {
	case !o.Deleting.IsZero() && passing != "":
		return Passing, passing
	case !o.Deleting.IsZero():
		return Deleting, "the cluster is deleting it since " + o.Deleting.UTC().Format(time.RFC3339)
	case i.Did == results.Failed && (ours && !older):
		return Restored, i.Why
	case older && j.renamed(resource, i):
		return Existed, renamed
	case i.Did == results.Failed && clustersOwn[[2]string{resource, i.Name}]:
		return Existed, "the cluster writes it itself"
	case i.Did == results.Failed && keptByCluster[resource]:
		return Existed, "the cluster keeps writing to it"
	case i.Did == results.Failed && older &&
		(ours || i.Why == "" || strings.Contains(i.Why, "already exists")) && j.differing(resource, o) != "":
		return Existed, "Velero left it as it was, and " + j.differing(resource, o)
	case i.Did == results.Failed && ours: // with the policy update (pkg/restore/restore.go, processUpdateResourcePolicy)
		return Differs, cmp.Or(
			i.Why,
			"one of that name existed, Velero's patch of it was refused, and Velero set its labels alone",
		)
	case i.Did == results.Failed && later:
		return MadeAnew, "Velero could not restore it, and somebody made one after that: " + i.Why
	case i.Did == results.Failed:
		return Differs, cmp.Or(i.Why, "one of that name existed, and Velero left it as it was")
	case i.Did == results.Skipped && !later, i.Did == results.Missing && older && j.Unlisted:
		return Existed, "it is older than the restore"
	case i.Did == results.Updated, ours && !older:
		return Restored, ""
	case later:
		return MadeAnew, anew(o)
	case i.Did == results.Missing && older:
		return Differs, "one of that name is there that is older than the restore, and Velero does not list it"
	}
	return Restored, ""
}

// anew says who made an object, as far as its labels and owner say.
func anew(o live.Object) string {
	switch {
	case o.Restore != "":
		return "restore " + o.Restore + " made it after this one had ended"
	case o.Owner != "":
		return "its " + o.Owner + " made it again after the restore had ended"
	}
	return "it was made after the restore had ended, and not by Velero"
}
