package verify

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/restore/diff"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
)

// comparedItem is an item whose object exists, or whose body says why the object does not.
type comparedItem struct {
	*Item
	liveKey      itemKey // in the cluster
	kind         *Kind
	sourceCount  int // how many items of the backup go there
	wantedFields []diff.FieldHash
	writers      []string // the keys of the managed fields in the backup
	unsure       string   // why veltui cannot tell what Velero creates
	losesStatus  bool     // Velero drops the status that the backup has of it, and no controller may write it again
	isAbsent     bool     // its object is not there: only the reason is asked
	isMerged     bool     // an account that existed, into which Velero merged that of the backup
	isRead       bool
	storage      resource.Quantity // what a claim was to request
	replicas     int64             // in the cluster, if they differ
	isScaled     bool              // another hand than an autoscaler's wrote the replicas
	scaledFields []string          // all fields in which it differs, if the replicas are one of them
}

func (i *comparedItem) setNotCompared(why string) {
	i.Content, i.Why = NotCompared, strings.TrimPrefix(i.Why+"; "+sanitize.String(why), "; ")
}

// liveFields are the fields of an object of the cluster, and who wrote them.
type liveFields struct {
	table   *diff.FieldTable
	fields  []diff.FieldHash
	writers []diff.Writer
	object  map[string]any
	owners  diff.Owners // nil until they are needed
	drifts  []prepare.Drift
	known   []string // the keys of the managed fields in the backup, which Velero gives to what it creates
	// since is when the restore began; zero if an earlier writer counts, too.
	since time.Time
}

// findHand returns the index of the writer who wrote a field after the restore took it over, and who is none of the
// controllers in drift; -1 if there is none. Velero restores the managed fields of the backup (pkg/restore/restore.go,
// restoreItem), and each later write sets the time of its entry. What defaulting, admission and allocation fill in has
// no owner.
func (l *liveFields) findHand(path uint32, drift *prepare.Drift) int {
	if l.owners == nil {
		l.owners = l.table.FindOwners(l.object, l.writers)
	}
	return l.owners.Find(path, func(at int) bool {
		w := l.writers[at]
		wroteSince := w.Time.IsZero() || !w.Time.Before(l.since)
		return wroteSince && w.Manager != velero.ServerManager && !slices.Contains(l.known, w.Key()) &&
			(drift == nil || !drift.IsBy(w))
	})
}

// findDrift returns the row of the drifts that a field may have, nil for none.
func (l *liveFields) findDrift(path string) *prepare.Drift {
	at := slices.IndexFunc(l.drifts, func(d prepare.Drift) bool { return d.Matches(path) })
	if at < 0 {
		return nil
	}
	return &l.drifts[at]
}

// difference is what the comparison of an object found.
type difference struct {
	paths []string // the fields that count, sorted
	// unattributed are fields that the object has more, and of which nothing says who wrote them.
	unattributed []string
}

// findDifference returns the fields in which an object differs from what the restore was to make. A field that the
// object lacks or has with another value counts unless a row of [prepare.Drifts] explains it, and nobody but the row's
// controllers wrote it. A field that the object has more counts if somebody wrote it since: defaults, and what
// admission and Velero add, do not. Additional data of ConfigMaps and Secrets always count: nothing fills them in.
func (c *Comparison) findDifference(i *comparedItem, l *liveFields) difference {
	b := differenceBuilder{
		liveFields: l, isInjected: slices.Contains(injectedResources, i.liveKey.resource), shorter: map[string]bool{},
	}
	want := diff.ValuesByPath(i.wantedFields)
	for _, f := range diff.ChangedFields(i.wantedFields, l.fields) {
		path := c.table.FieldName(f)
		_, known := want[f.Path]
		row := l.findDrift(path)
		switch {
		case i.isMerged && isKeptByMerge(path, known, f):
		case row != nil && (row.MayLack || f.Value != diff.Absent) && l.findHand(f.Path, row) < 0:
		case known:
			b.addKnown(path, f, row)
		default:
			b.addMore(path, f, row)
		}
	}
	for _, list := range b.longer {
		if !b.shorter[list] {
			b.paths = append(b.paths, list)
		}
	}
	b.paths = shownPaths(append(b.paths, topmost(b.more, b.longer)...))
	b.unattributed = shownPaths(topmost(b.unattributed, nil))
	return b.difference
}

// isKeptByMerge reports whether a field of a merged account is the account's own: Velero adds the elements, labels and
// annotations that the account lacks, and keeps what the account has
// (pkg/restore/merge_service_account.go, mergeServiceAccounts, 1.18.3).
func isKeptByMerge(path string, known bool, f diff.FieldHash) bool {
	isLength := strings.HasSuffix(path, diff.LengthSuffix) && f.Value != diff.Absent
	return !known || isLength || f.Value != diff.Absent && topLevelField(path) == "metadata"
}

// differenceBuilder collects the fields of a difference.
type differenceBuilder struct {
	*liveFields
	difference
	isInjected   bool            // admission and controllers add elements to the object's lists
	shorter      map[string]bool // the lists that lack an element
	longer, more []string        // the lists whose length differs, and the fields that somebody wrote since
}

// addKnown adds a field that the restore was to make, and that the object lacks or has with another value.
func (b *differenceBuilder) addKnown(path string, f diff.FieldHash, row *prepare.Drift) {
	list, isLength := strings.CutSuffix(path, diff.LengthSuffix)
	isAbsent := f.Value == diff.Absent
	switch {
	case isLength:
		if isAbsent || !b.isInjected || b.findHand(f.Path, row) >= 0 {
			b.longer = append(b.longer, list)
		}
		return
	case isAbsent && strings.HasSuffix(path, diff.EmptySuffix):
		// An empty selector selects everything, an absent one nothing.
		if !strings.HasSuffix(path, "elector"+diff.EmptySuffix) {
			return
		}
	case isAbsent:
		markShorter(b.shorter, path)
	}
	b.paths = append(b.paths, path)
}

// addMore adds a field that the object has more.
func (b *differenceBuilder) addMore(path string, f diff.FieldHash, row *prepare.Drift) {
	switch top := topLevelField(path); {
	case top == "data", top == "binaryData":
		b.paths = append(b.paths, path)
	case len(b.writers) == 0:
		b.unattributed = append(b.unattributed, path)
	case b.findHand(f.Path, row) >= 0:
		b.more = append(b.more, path)
	}
}

// markShorter marks the lists that lack an element of a path.
func markShorter(shorter map[string]bool, path string) {
	for at := range path {
		if path[at] == '[' {
			shorter[path[:at]] = true
		}
	}
}

// topmost returns paths without those that are part of a new list, or of a list in longer.
func topmost(paths, longer []string) (top []string) {
	lists := slices.Clone(longer)
	for _, path := range paths {
		if list, ok := strings.CutSuffix(path, diff.LengthSuffix); ok {
			lists = append(lists, list)
		}
	}
	for _, path := range paths {
		if !slices.ContainsFunc(lists, func(list string) bool {
			return strings.HasPrefix(path, list+"[") && path != list+diff.LengthSuffix
		}) && !slices.Contains(longer, strings.TrimSuffix(path, diff.LengthSuffix)) {
			top = append(top, path)
		}
	}
	return top
}

// shownPaths returns paths sorted, as they are shown.
func shownPaths(paths []string) []string {
	for i, path := range paths {
		paths[i] = strings.TrimSuffix(strings.TrimSuffix(path, diff.LengthSuffix), diff.EmptySuffix)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// requestedStorage returns what a claim requests, zero for other kinds.
func requestedStorage(kind string, o *unstructured.Unstructured) (q resource.Quantity) {
	if text, _, _ := unstructured.NestedString(o.Object, "spec", "resources", "requests", "storage"); kind == claims {
		q, _ = diff.ParseQuantity(text)
	}
	return q
}
