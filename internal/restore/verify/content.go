package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/diff"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/stored/results"
)

// ContentState says how an object's content compares to what the restore was to make. The names are API.
type ContentState string

// The states of an object's content. Emptied and Recreated are losses: what the backup holds is not there.
const (
	Emptied     ContentState = "Emptied"   // all of its data, subjects, rules or the like is gone
	Recreated   ContentState = "Recreated" // somebody created it again after the restore, with other content
	Changed     ContentState = "Changed"   // fields differ or are missing
	Scaled      ContentState = "Scaled"    // only its number of replicas differs
	NotCompared ContentState = "NotCompared"
	Same        ContentState = "Same"
)

// ContentStates lists the contents to report, in their order.
var ContentStates = []ContentState{Emptied, Recreated, Changed, Scaled, NotCompared}

// Label returns the content in words.
func (c ContentState) Label() string {
	if c == NotCompared {
		return "not compared"
	}
	return strings.ToLower(string(c))
}

// IsLost reports whether an object of that name is there without what the backup holds of it.
func (c ContentState) IsLost() bool { return c == Emptied || c == Recreated }

// IsLost reports whether an item did not come back, or has lost its content since.
func (i Item) IsLost() bool { return i.State.IsLost() || i.Content.IsLost() }

// Reason returns why an item is in its state, and which fields differ; empty where the state says everything.
func (i Item) Reason() string {
	if len(i.Fields) == 0 {
		return i.Why
	}
	return strings.TrimPrefix(i.Why+"; differs in "+strings.Join(i.Fields, ", "), "; ")
}

// compareHint ends the reason of an object that was not compared.
const compareHint = "; --compare tells whether more differs"

// Comparison compares the content of existing objects with what the restore was to make from the backup.
type Comparison struct {
	rules        prepare.Rules
	versions     func(resource string) []string
	table        *diff.FieldTable
	result       *Result
	byBackup     map[itemKey]*comparedItem // by place in the backup
	byLive       map[itemKey]*comparedItem // by place in the cluster
	scaled       []*comparedItem           // those whose replicas differ
	omittedCount int                       // objects beyond [diff.MaxObjects]
	input        Input
	// hasStatus reports whether the API server keeps the status of a resource apart; nil stands for yes.
	hasStatus func(resource string) bool
}

type itemKey struct{ resource, namespace, name string }

// NewComparison makes a Comparison of the objects that exist and can be compared. versions returns the API versions
// in which the backup holds a resource.
func NewComparison(in Input, r *Result, rules prepare.Rules, versions func(resource string) []string) *Comparison {
	c := &Comparison{
		rules:    rules,
		versions: versions,
		table:    diff.NewFieldTable(),
		result:   r,
		byBackup: map[itemKey]*comparedItem{},
		byLive:   map[itemKey]*comparedItem{},
		input:    in,
	}
	sources, merged := countSources(r), findMergedAccounts(in)
	for kind, k := range r.Kinds {
		for n := range k.Items {
			i := &k.Items[n]
			at := itemKey{k.Name, i.Namespace, i.Name}
			from := itemKey{k.Name, cmp.Or(i.BackupNamespace, i.Namespace), cmp.Or(i.BackupName, i.Name)}
			if k.Name == "namespaces" {
				from = itemKey{k.Name, "", cmp.Or(i.BackupNamespace, i.Name)}
			}
			if i.State == Gone && len(c.byBackup) < diff.MaxObjects {
				c.byBackup[from] = &comparedItem{Item: i, liveKey: at, kind: &r.Kinds[kind], isAbsent: true}
			}
			o, _ := in.Target.FindItem(k.Name, i.Namespace, i.Name)
			if !isPresent(i.State) || !isContentComparable(k.Name, i.Name, o) {
				continue
			}
			if len(c.byLive) == diff.MaxObjects {
				c.omittedCount++
				continue
			}
			i.Content, i.Why = "", strings.TrimSuffix(i.Why, compareHint)
			c.byLive[at] = &comparedItem{Item: i, liveKey: at, kind: &r.Kinds[kind], isMerged: merged[at]}
			c.byBackup[from] = c.byLive[at]
		}
	}
	for at, i := range c.byLive {
		i.sourceCount = sources[at]
	}
	return c
}

// countSources returns how many items of the backup each object may come from, by its place in the cluster. Of items of
// one namespace that a modifier gives one name, Velero says which it created.
func countSources(r *Result) map[itemKey]int {
	type origin struct {
		itemKey
		namespace string
	}
	created := map[origin]bool{}
	for _, k := range r.Kinds {
		for _, i := range k.Items {
			if i.BackupName != "" && i.State == Restored {
				created[origin{itemKey{k.Name, i.Namespace, i.Name}, i.BackupNamespace}] = true
			}
		}
	}
	sources := map[itemKey]int{}
	for _, k := range r.Kinds {
		for _, i := range k.Items {
			at := itemKey{k.Name, i.Namespace, i.Name}
			isLoser := i.State == Missing && (i.BackupName != "" || created[origin{at, i.BackupNamespace}])
			if i.State != LeftOut && !isLoser {
				sources[at]++
			}
		}
	}
	return sources
}

// findMergedAccounts returns the ServiceAccounts that existed, by their place in the cluster: Velero merges that of the
// backup into each (pkg/restore/restore.go, restoreItem, 1.18.3).
func findMergedAccounts(in Input) map[itemKey]bool {
	merged := map[itemKey]bool{}
	for _, k := range in.Items.Kinds {
		if k.Name != "serviceaccounts" {
			continue
		}
		for _, i := range k.Items {
			o, _ := in.Target.FindItem(k.Name, i.Namespace, i.Name)
			merged[itemKey{k.Name, i.Namespace, i.Name}] = in.predatesRestore(o) || i.Status == results.Updated ||
				i.Status == results.Skipped || i.Status == results.Failed
		}
	}
	return merged
}

// WantsBody reports whether the body of an item of the backup is needed.
func (c *Comparison) WantsBody(resource, namespace, name string) bool {
	i := c.byBackup[itemKey{resource, namespace, name}]
	return i != nil && !i.isRead
}

// AddBackupItem adds the body of an item of the backup; nil stands for a body that is too large.
func (c *Comparison) AddBackupItem(resource, namespace, name string, body []byte) {
	if !c.WantsBody(resource, namespace, name) {
		return
	}
	i := c.byBackup[itemKey{resource, namespace, name}]
	i.isRead = true
	o, why := c.table.ReadItem(body, i.sourceCount, c.versions(resource))
	switch {
	case i.isAbsent && why == "":
		c.explainAbsence(resource, i, o)
		return
	case why != "" && !i.isAbsent:
		i.setNotCompared(why)
		return
	case why != "":
		return
	}
	for _, w := range diff.ReadWriters(o) {
		i.writers = append(i.writers, w.Key())
	}
	status, _ := o.Object["status"].(map[string]any)
	i.losesStatus = len(status) > 0 && c.hasStatus != nil && !c.hasStatus(resource)
	var change prepare.Change
	// Velero creates namespaces without actions and modifiers (pkg/restore/restore.go, getNamespace)
	if resource != "namespaces" {
		change = c.rules.PrepareItem(resource, o)
	}
	if change.SkipReason != "" || change.Failure != "" {
		delete(c.byLive, i.liveKey) // Velero does not create it
		return
	}
	i.storage = requestedStorage(resource, o)
	prepare.KeepUserFields(resource, o)
	i.unsure, i.wantedFields = cmp.Or(change.UnsureReason, change.MaybeSkippedReason), c.table.HashDeep(o.Object)
	c.table.AddKept(i.wantedFields)
}

// SetStatusKinds sets how to tell whether the API server keeps the status of a resource apart from the rest. Velero
// drops the status of what it restores, which controllers write again; where the status is a field like others, what
// the backup has in it does not come back, and Velero's attempt to restore it is refused (pkg/restore/restore.go,
// resetMetadataAndStatus and restoreItem, 1.18.3).
func (c *Comparison) SetStatusKinds(hasStatus func(resource string) bool) { c.hasStatus = hasStatus }

const statusLostReason = "Velero drops the status, which this kind does not keep apart, and nothing wrote it again"

// explainAbsence says why an object that Velero created may be gone, as far as its body tells: Velero drops the owners
// of the backup, so that only a modifier gives it some; and the token of a service account goes with the account
// (pkg/controller/garbagecollector, pkg/controller/serviceaccount/tokens_controller.go, Kubernetes 1.36.3).
func (c *Comparison) explainAbsence(resource string, i *comparedItem, o *unstructured.Unstructured) {
	if resource != "namespaces" {
		c.rules.PrepareItem(resource, o)
	}
	account := o.GetAnnotations()[corev1.ServiceAccountNameKey]
	owners := o.GetOwnerReferences()
	switch {
	case len(owners) > 0:
		owner := owners[0]
		i.Why += "; garbage collection removes what the restore gives the owner " + owner.Kind + " " +
			sanitize.String(owner.Name) + " if that one is not there under its uid"
	case resource == "secrets" && account != "" && c.isAbsent("serviceaccounts", i.Namespace, account):
		i.Why += "; the cluster deletes the token of service account " + sanitize.String(account) + ", which is not there"
	}
}

// isAbsent reports whether an item of the restore is not in the cluster.
func (c *Comparison) isAbsent(resource, namespace, name string) bool {
	_, seen := c.input.Target.FindItem(resource, namespace, name)
	return seen == live.Absent
}

// BuildQuery returns the query for the objects that can be compared.
func (c *Comparison) BuildQuery() *live.Query {
	q := &live.Query{}
	for at, i := range c.byLive {
		if i.isRead && i.Content == "" {
			q.AddItem(at.resource, at.namespace, at.name)
		}
	}
	return q
}

// CompareLive compares an object of the cluster, and changes it.
func (c *Comparison) CompareLive(resource string, o *unstructured.Unstructured) {
	i := c.byLive[itemKey{resource, o.GetNamespace(), o.GetName()}]
	if i == nil || !i.isRead || i.Content != "" || i.Fields != nil {
		return
	}
	if c.table.IsFull() {
		i.setNotCompared("it and others have too many fields")
		return
	}
	replicas, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	storage := requestedStorage(resource, o)
	l := &liveFields{
		table: c.table, writers: diff.ReadWriters(o), known: i.writers,
		drifts: prepare.FindDrifts(resource, o), object: o.Object,
	}
	if i.State == Restored { // what existed may differ by what was written before
		l.since = c.input.Started
	}
	_, isStatus := o.Object["status"]
	prepare.KeepUserFields(resource, o)
	l.fields = c.table.HashDeep(o.Object)
	found := c.findDifference(i, l)
	if resource == claims { // it may grow, by its user or the driver, and then holds as much
		found.paths = slices.DeleteFunc(found.paths, func(path string) bool { return path == storageField })
		if storage.Cmp(i.storage) < 0 {
			found.paths = append(found.paths, storageField)
		}
	}
	if i.losesStatus && !isStatus {
		found.paths, i.Why = append(found.paths, "status"), strings.TrimPrefix(i.Why+"; "+statusLostReason, "; ")
	}
	if slices.Contains(found.paths, "spec.replicas") {
		i.replicas, i.isScaled = replicas, l.findHand(c.table.PathID("spec.replicas"), &autoscalerDrift) >= 0
		i.scaledFields, c.scaled = found.paths, append(c.scaled, i)
	}
	c.judgeContent(i, l, found)
	i.wantedFields = nil
}

const storageField = "spec.resources.requests.storage"

// judgeContent judges an object by the fields in which it differs.
func (c *Comparison) judgeContent(i *comparedItem, l *liveFields, found difference) {
	differ := found.paths
	outside := slices.ContainsFunc(differ, func(path string) bool { return topLevelField(path) != "metadata" })
	switch i.Content = Same; {
	case len(differ) == 0 && len(found.unattributed) > 0:
		if differ, i.Content = found.unattributed, ""; i.State != Differs {
			i.setNotCompared("it has fields more, and no managed fields that tell who wrote them")
		}
	case len(differ) == 0:
		c.markSame(i)
	case i.State == Differs: // already reported
		i.Content = ""
	case i.unsure != "":
		i.setNotCompared(i.unsure)
	case i.State == CreatedByOthers && outside:
		i.Content = Recreated
	case c.isEmptied(i.wantedFields, l):
		i.Content = Emptied
	case slices.Equal(differ, []string{"spec.replicas"}):
		i.Content = Scaled
	default:
		i.Content = Changed
	}
	i.Fields = diff.ShownFields(differ)
}

// markSame marks an object that is as the restore was to make it. Velero may have called it different.
func (c *Comparison) markSame(i *comparedItem) {
	i.Content = Same
	if i.State != Differs {
		return
	}
	i.State, i.Why = Existed, "Velero left it with a warning, though it is as the restore was to make it"
	for _, count := range []map[State]int{i.kind.CountByState, c.result.CountByState} {
		count[Differs]--
		count[Existed]++
	}
}

// topLevelField returns the first name of a path.
func topLevelField(path string) string { return path[:strings.IndexAny(path+".", ".[{")] }

// injectedResources are resources with lists to which admission and controllers add elements.
var injectedResources = []string{"pods", "serviceaccounts"}

// isEmptied reports whether a part of the object that was to hold something is completely empty. What may drift says
// nothing.
func (c *Comparison) isEmptied(wanted []diff.FieldHash, l *liveFields) bool {
	left := map[string]bool{"metadata": true}
	for _, f := range l.fields {
		if path := c.table.FieldName(f); !strings.HasSuffix(path, diff.EmptySuffix) {
			left[topLevelField(path)] = true
		}
	}
	return slices.ContainsFunc(wanted, func(f diff.FieldHash) bool {
		path := c.table.FieldName(f)
		row := l.findDrift(path)
		return !left[topLevelField(path)] && path != topLevelField(path) &&
			!strings.HasSuffix(path, diff.EmptySuffix) && (row == nil || !row.MayLack)
	})
}

// ScaledNamespaces returns the namespaces of objects whose number of replicas differs.
func (c *Comparison) ScaledNamespaces() (namespaces []string) {
	for _, i := range c.scaled {
		if !slices.Contains(namespaces, i.Namespace) {
			namespaces = append(namespaces, i.Namespace)
		}
	}
	slices.Sort(namespaces)
	return namespaces
}

// autoscalerDrift is the drift of objects that a HorizontalPodAutoscaler scales, and that nobody else has scaled since
// (pkg/controller/podautoscaler/horizontal.go). KEDA scales to none and back itself.
var autoscalerDrift = prepare.Drift{
	Field: "spec.replicas", Writer: "the autoscaler",
	Managers: []string{"kube-controller-manager", "keda", "keda-operator"},
}

// AddAutoscaler takes account of a HorizontalPodAutoscaler, which scales an object of a kind between least and most.
func (c *Comparison) AddAutoscaler(namespace, kind, name string, least, most int64) {
	for _, i := range c.scaled {
		resource, _, _ := strings.Cut(i.liveKey.resource, ".")
		if i.Namespace != namespace || i.Name != name || resource != human.Pluralize(strings.ToLower(kind)) ||
			i.isScaled || i.replicas < least || i.replicas > most {
			continue
		}
		i.scaledFields = slices.DeleteFunc(i.scaledFields, func(path string) bool { return path == "spec.replicas" })
		i.Fields = diff.ShownFields(i.scaledFields)
		if len(i.Fields) == 0 && (i.Content == Scaled || i.Content == Recreated || i.State == Differs) {
			c.markSame(i)
		}
	}
}

// FinishResult adds the findings to the result. unseen is what could not be read of the cluster; broken is why the
// backup was not read to its end, nil if it was.
func (c *Comparison) FinishResult(unseen []live.Unchecked, broken error) {
	r := c.result
	for at, i := range c.byLive {
		if i.Content == "" && (i.State != Differs || i.Fields == nil) {
			i.setNotCompared(diff.UnreadReason(at.resource, at.namespace, i.isRead, broken, unseen))
		}
	}
	if c.omittedCount > 0 {
		r.Incomplete = true
		r.Notes = append(
			r.Notes,
			fmt.Sprintf(
				"%s were not compared: veltui compares at most %d.",
				human.Count(c.omittedCount, "object"),
				diff.MaxObjects,
			),
		)
	}
	r.sortAndCount()
}
