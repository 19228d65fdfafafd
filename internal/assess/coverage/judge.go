package coverage

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Options say what is judged, and how.
type Options struct {
	// OnlyNamespaces names the namespaces to judge; empty means all but those of Kubernetes and Velero.
	OnlyNamespaces []string
	MaxAge         time.Duration // how old a copy may be; 0 means until the second run after it
	Now            time.Time
	// CopyRules says which backups count as copies, whatever they hold. Its clock is Now.
	CopyRules velero.CopyRules
	// RestoreEnds says when restores ended, by name; zero for a restore in progress.
	RestoreEnds map[string]time.Time
}

// isSystemNamespace reports whether a namespace is judged only on request: those of Velero, Kubernetes and OpenShift.
func (j *Judge) isSystemNamespace(namespace string) bool {
	return namespace == j.VeleroNamespace || namespace == "openshift" || strings.HasPrefix(namespace, "openshift-") ||
		slices.Contains([]string{"kube-system", "kube-public", "kube-node-lease"}, namespace)
}

// Judge judges how the contents of a cluster are protected. AddBackup gives it backups, newest first, that
// NeedsBackup asks for.
type Judge struct {
	Options
	*clusterIndex
	plans               []*backupPlan
	items               map[objectRef]*trackedItem
	itemsByNamespace    map[string][]*trackedItem     // including the namespace itself
	unrestorableBackups map[string]unrestorableBackup // the newest backup that cannot be restored, by namespace
	readSchedules       map[string]bool               // the schedules with a backup that was read
	result              Result
}

// objectRef is a resource and a key of [Cluster.Objects].
type objectRef struct{ resource, key string }

// trackedItem is an item and what backups say about it; its newest good copy is in the Item.
type trackedItem struct {
	Item
	resource         string
	object           metav1.Object // nil if only backups list it
	madeAt           time.Time     // when the object and, of a claim, its volume were there; zero if unknown
	earlierText      string        // which backup holds an earlier object of its name, a clause
	lastMiss         Verdict       // what went wrong in the newest backup that lists it without data
	lastMissBackup   string
	unreadBackups    int    // backups that may hold it, are newer than the copy, and were not read
	partlyReadReason string // why it is not fully known
}

// NewJudge returns a judge of the contents of c. backups are the existing ones, newest first.
func NewJudge(c *Cluster, schedules []*Schedule, backups []*veleroapi.Backup, o Options) *Judge {
	j := &Judge{
		Options:             o,
		clusterIndex:        newClusterIndex(c),
		items:               map[objectRef]*trackedItem{},
		itemsByNamespace:    map[string][]*trackedItem{},
		unrestorableBackups: map[string]unrestorableBackup{},
		readSchedules:       map[string]bool{},
	}
	j.CopyRules.Now, j.CopyRules.AllowPartiallyFailed = o.Now, true // each item of a backup is checked
	j.result = Result{
		State:             Covered,
		At:                o.Now.UTC().Truncate(time.Second),
		Unchecked:         []string{},
		SkippedNamespaces: []string{},
	}
	for _, s := range schedules {
		j.plans = append(j.plans, newBackupPlan(j.clusterIndex, s))
	}
	// Among rules of equal weight, the one of the schedule that names the namespace is more likely to be meant.
	slices.SortStableFunc(
		j.plans,
		func(a, b *backupPlan) int { return cmp.Compare(a.namespaceCount(), b.namespaceCount()) },
	)
	for resource, objects := range c.Objects {
		for key, o := range objects {
			if resource == Namespaces || resource == Claims || !hasController(o) && o.GetDeletionTimestamp() == nil {
				j.trackItem(resource, key, o)
			}
		}
	}
	for _, b := range backups {
		if why := j.judgeUnrestorable(b); why.Answer != "" {
			takes := velero.NamespaceFilterOf(b).Matcher()
			for n := range j.itemsByNamespace {
				if j.unrestorableBackups[n].at.IsZero() && takes(n) {
					j.unrestorableBackups[n] = unrestorableBackup{why, BackupStart(b)}
				}
			}
		}
	}
	j.result.Unchecked = append(j.result.Unchecked, slices.Sorted(slices.Values(c.uncheckedTexts()))...)
	return j
}

// namespaceCount returns how many namespaces a schedule names, and the maximum for all.
func (p *backupPlan) namespaceCount() int {
	if in := p.spec.IncludedNamespaces; len(in) > 0 && !slices.Contains(in, "*") {
		return len(in)
	}
	return math.MaxInt
}

// trackItem returns the item for an object, and adds one for its namespace, which may not be listed; it returns nil
// for an object that is not to be judged.
func (j *Judge) trackItem(resource, key string, o metav1.Object) *trackedItem {
	namespace, name, namespaced := strings.Cut(key, "/")
	switch {
	case len(j.OnlyNamespaces) > 0 && !slices.Contains(j.OnlyNamespaces, namespace):
		return nil
	case len(j.OnlyNamespaces) == 0 && j.isSystemNamespace(namespace):
		if !slices.Contains(j.result.SkippedNamespaces, namespace) {
			j.result.SkippedNamespaces = append(j.result.SkippedNamespaces, namespace)
		}
		return nil
	}
	t := j.items[objectRef{resource, key}]
	if t == nil {
		t = &trackedItem{Item: Item{Kind: kinds[resource], Name: namespace}, resource: resource}
		j.items[objectRef{resource, key}] = t
		j.itemsByNamespace[namespace] = append(j.itemsByNamespace[namespace], t)
		if namespaced {
			t.Namespace, t.Name = namespace, name
			j.trackItem(Namespaces, namespace, nil)
		}
	}
	t.object, t.partlyReadReason = cmp.Or(t.object, o), j.PartlyRead[resource+" "+key]
	if t.object != nil {
		t.madeAt = t.object.GetCreationTimestamp().Time
	}
	if claim := t.asClaim(); claim != nil {
		if v := j.Volumes[claim.Spec.VolumeName]; v != nil && v.CreationTimestamp.After(t.madeAt) {
			t.madeAt = v.CreationTimestamp.Time
		}
		t.Bytes, t.partlyReadReason = claim.Status.Capacity.Storage().
			Value(),
			cmp.Or(
				t.partlyReadReason,
				j.PartlyRead[Volumes+" "+claim.Spec.VolumeName],
			)
	}
	return t
}

// asClaim returns the item's claim, nil if it is not a claim.
func (t *trackedItem) asClaim() *corev1.PersistentVolumeClaim {
	claim, _ := t.object.(*corev1.PersistentVolumeClaim)
	return claim
}

// isUnbound reports whether an item is a claim without a volume: it has no data.
func (t *trackedItem) isUnbound() bool { return t.asClaim() != nil && !isBound(t.asClaim()) }

// BackupStart returns when a backup began, or was created.
func BackupStart(b *veleroapi.Backup) time.Time {
	if b.Status.StartTimestamp != nil {
		return b.Status.StartTimestamp.Time
	}
	return b.CreationTimestamp.Time
}

// unrestorableBackup is a backup that cannot be restored, and when it began.
type unrestorableBackup struct {
	Verdict
	at time.Time
}

// judgeUnrestorable returns why a backup cannot be restored, zero if it can, has not ended, or that is unknown.
func (j *Judge) judgeUnrestorable(b *veleroapi.Backup) Verdict {
	if b.Status.Phase == veleroapi.BackupPhaseFailed || b.Status.Phase == veleroapi.BackupPhaseFailedValidation {
		why := cmp.Or(b.Status.FailureReason, strings.Join(b.Status.ValidationErrors, "; "))
		return excludedVerdict(
			BackupFailed,
			b.Name+" is "+string(b.Status.Phase)+human.Prefixed(": ", human.Shorten(why, 200)),
		)
	}
	no := j.CopyRules.FindExclusion(b)
	if reason := unrestorableReasons[no.Reason]; reason != "" {
		return excludedVerdict(reason, b.Name+" does not count: "+no.ReasonText)
	}
	return Verdict{}
}

// unrestorableReasons are the reasons for which a backup's contents do not count as a copy. A backup that has not ended
// does not count yet.
var unrestorableReasons = map[velero.CopyExclusionReason]Reason{
	velero.CopyBeingDeleted:      BackupDeleted,
	velero.CopyDeletionRequested: BackupDeleted,
	velero.CopyDeletionFailed:    BackupDeleted,
	velero.CopyMarked:            BackupDeleted,
	velero.CopyExpired:           BackupExpired,
	velero.CopyLocationGone:      LocationGone,
	velero.CopyLocationDown:      LocationUnavailable,
}

// NeedsBackup reports whether a backup may change the result: it may hold something that has no copy, or no copy that
// lasts as long.
func (j *Judge) NeedsBackup(b *veleroapi.Backup) bool {
	if no := j.CopyRules.FindExclusion(b); !no.IsCopy() && no.Reason != velero.CopyUnknown {
		return false // nothing of it is stored, or not all yet, or to no avail
	}
	takes := velero.NamespaceFilterOf(b).Matcher()
	for n, things := range j.itemsByNamespace {
		if slices.ContainsFunc(things, func(t *trackedItem) bool { return t.needsBackup(b) }) && takes(n) {
			return true
		}
	}
	// Without the right to list, only backups tell what exists: the newest of each schedule.
	return (j.Unchecked[Namespaces] != "" || j.Unchecked[Claims] != "") &&
		!j.readSchedules[b.Labels[veleroapi.ScheduleNameLabel]]
}

func (t *trackedItem) needsBackup(b *veleroapi.Backup) bool {
	expires := b.Status.Expiration
	if t.earlierText != "" && t.isYoungerThan(b) && !t.isLabelledWith(b) {
		return false // an older backup holds an earlier object, too
	}
	return !t.isUnbound() && (t.Backup == "" || !t.NeverExpires && (expires == nil || expires.After(t.ExpiresAt)))
}

const maxUnchecked = 20

// RecordUnread records that a backup is needed but was not read.
func (j *Judge) RecordUnread(b *veleroapi.Backup, why error) {
	j.result.BackupsUnread++
	if len(j.result.Unchecked) < maxUnchecked {
		j.result.Unchecked = append(j.result.Unchecked, "backup "+b.Name+": "+why.Error())
	}
	takes := velero.NamespaceFilterOf(b).Matcher()
	for n, things := range j.itemsByNamespace {
		if takes(n) {
			for _, t := range things {
				if t.Backup == "" && (!t.isYoungerThan(b) || t.isLabelledWith(b)) {
					t.unreadBackups++
				}
			}
		}
	}
}

// AddBackup adds what is stored of a backup.
func (j *Judge) AddBackup(b *veleroapi.Backup, r *Record) {
	j.result.BackupsRead++
	if no := j.CopyRules.FindExclusion(
		b,
	); no.Reason == velero.CopyUnknown && !slices.Contains(j.result.Unchecked, no.ReasonText) &&
		len(j.result.Unchecked) < maxUnchecked {
		j.result.Unchecked = append(j.result.Unchecked, no.ReasonText)
	}
	j.readSchedules[b.Labels[veleroapi.ScheduleNameLabel]] = true
	for resource, keys := range r.Items {
		for _, key := range keys {
			t := j.items[objectRef{resource, key}]
			if t == nil && j.Unchecked[resource] != "" && (resource == Claims || resource == Namespaces) {
				// If such objects may not be listed, the backup tells which ones exist.
				t = j.trackItem(resource, key, nil)
			}
			if t == nil {
				continue
			}
			restored := j.isRestoredFrom(t, b)
			switch why := r.Failed[resource+" "+key]; {
			case !restored && t.isYoungerThan(b):
				t.addEarlier(b)
			case !restored && t.isMadeDuring(b) && !t.hasOwnVolume():
				t.addVerdict(b, unknownVerdict(MadeDuring, "it was made while this backup ran, which may hold an earlier one"))
			case resource == Claims:
				t.addVerdict(b, r.judgeClaim(key, t.volumeName(restored)))
			case why != "":
				t.addVerdict(b, excludedVerdict(ItemFailed, "saving it failed: "+why))
			default:
				t.addVerdict(b, includedVerdict)
			}
		}
	}
}

// clockTolerance is how much the clocks of Velero and the API server may differ, besides times in whole seconds.
const clockTolerance = 10 * time.Second

// isYoungerThan reports whether an item was made after a backup had ended, so that the backup holds an earlier object
// of its name, if any. Velero does not record when it lists an object. A namespace holds nothing of its own.
func (t *trackedItem) isYoungerThan(b *veleroapi.Backup) bool {
	end := BackupStart(b)
	if b.Status.CompletionTimestamp != nil && b.Status.CompletionTimestamp.After(end) {
		end = b.Status.CompletionTimestamp.Time
	}
	return t.resource != Namespaces && t.madeAt.After(end.Add(clockTolerance))
}

// isMadeDuring reports whether an item was made between the start and the end of a backup, as far as clocks tell.
func (t *trackedItem) isMadeDuring(b *veleroapi.Backup) bool {
	return t.resource != Namespaces && t.madeAt.After(BackupStart(b)) && !t.isYoungerThan(b)
}

// hasOwnVolume reports whether the name of a claim's volume comes from the claim's uid, as provisioners form it: then a
// backup that names the volume holds the data of this claim.
func (t *trackedItem) hasOwnVolume() bool {
	claim := t.asClaim()
	return claim != nil && claim.UID != "" && strings.HasSuffix(claim.Spec.VolumeName, string(claim.UID))
}

// isLabelledWith reports whether an object has the labels of a restore of a backup.
func (t *trackedItem) isLabelledWith(b *veleroapi.Backup) bool {
	return t.object != nil && t.object.GetLabels()[veleroapi.RestoreNameLabel] != "" &&
		t.object.GetLabels()[veleroapi.BackupNameLabel] == veleroapi.ValidLabel(b.Name)
}

// isRestoredFrom reports whether a restore of a backup made an object: then the backup holds what the object began
// with, though it is older than the object. An object that somebody made after that restore from a manifest with its
// labels is another one.
func (j *Judge) isRestoredFrom(t *trackedItem, b *veleroapi.Backup) bool {
	if !t.isLabelledWith(b) {
		return false
	}
	end := j.RestoreEnds[t.object.GetLabels()[veleroapi.RestoreNameLabel]]
	return end.IsZero() || !t.object.GetCreationTimestamp().After(end)
}

// volumeName returns the name that a claim's volume had in a backup that holds the claim, empty if it is not known: a
// restore gives a claim a new volume.
func (t *trackedItem) volumeName(restored bool) string {
	if claim := t.asClaim(); claim != nil && !restored {
		return claim.Spec.VolumeName
	}
	return ""
}

// addEarlier records that a backup lists an item's name and ended before the item was made: of two objects of one
// name, only the creation tells them apart, as Velero's lists hold no uid.
func (t *trackedItem) addEarlier(b *veleroapi.Backup) {
	if t.Backup != "" || t.earlierText != "" {
		return
	}
	noun := cmp.Or(kindWords[t.Kind], t.Kind)
	t.earlierText = "backup " + b.Name + " holds an earlier " + noun + " of this name"
	if t.object != nil && !t.object.GetCreationTimestamp().After(BackupStart(b)) {
		t.earlierText = "backup " + b.Name + " holds it as it was without its volume, or with an earlier volume"
	}
}

// addCopy records a good copy: the newest copy is named, and the one that lasts longest says until when.
func (t *trackedItem) addCopy(b *veleroapi.Backup) {
	if t.Backup == "" {
		t.Backup, t.BackupAt = b.Name, jsonTime(BackupStart(b))
	}
	switch expires := b.Status.Expiration; {
	case expires == nil || jsonTime(expires.Time).IsZero():
		t.NeverExpires, t.ExpiresAt = true, time.Time{}
	case !t.NeverExpires && expires.After(t.ExpiresAt):
		t.ExpiresAt = expires.UTC()
	}
}

// jsonTime returns a time that JSON can hold, else zero: the status of a backup may contain anything.
func jsonTime(t time.Time) time.Time {
	if t = t.UTC(); t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// addVerdict records what a backup that lists an item holds of it, for a claim its data.
func (t *trackedItem) addVerdict(b *veleroapi.Backup, v Verdict) {
	switch {
	case v.Answer == Yes:
		t.addCopy(b)
	case v.Reason == Recreated:
		t.earlierText = cmp.Or(t.earlierText, "backup "+b.Name+" does not hold its data: "+v.ReasonText)
	case t.Backup == "" && (t.lastMiss.Answer == "" || t.lastMiss.Answer == No && v.Answer == Unknown):
		t.lastMiss, t.lastMissBackup = v, b.Name
	}
}

// JudgeAll judges everything. AddBackup and RecordUnread are called before.
func (j *Judge) JudgeAll() *Result {
	r := j.result
	slices.Sort(r.SkippedNamespaces)
	for _, n := range j.OnlyNamespaces {
		if j.itemsByNamespace[n] == nil && j.Unchecked[Namespaces] == "" {
			r.Unchecked = append(r.Unchecked, "namespace "+n+": there is none")
		}
	}
	r.Namespaces = []Namespace{}
	if len(r.Unchecked)+r.BackupsUnread > 0 {
		r.State = Undecided
	}
	for _, things := range j.itemsByNamespace {
		n := Namespace{Claims: []Item{}, Workloads: []Item{}}
		for _, t := range things {
			j.judgeItem(t)
			switch t.resource {
			case Namespaces:
				n.Item = t.Item
			case Claims:
				n.Claims = append(n.Claims, t.Item)
			default:
				n.Workloads = append(n.Workloads, t.Item)
			}
		}
		n.summarizeItems()
		r.State = stateOrder[max(r.State.severityRank(), n.State.severityRank())]
		r.Namespaces = append(r.Namespaces, n)
	}
	slices.SortStableFunc(r.Namespaces, func(a, b Namespace) int { return human.CompareNames(a.Name, b.Name) })
	return &r
}

// findNextPlan returns the first schedule that includes an item; without one, the verdict is the rule of the schedule
// that comes closest.
func (j *Judge) findNextPlan(t *trackedItem) (*backupPlan, Verdict) {
	var best *backupPlan
	verdict := excludedVerdict(NoSchedule, "there is no schedule")
	if why := j.Unchecked[Schedules]; why != "" {
		verdict = unknownVerdict(NotSeen, "schedules cannot be read: "+why)
	}
	if namespace := cmp.Or(t.Namespace, t.Name); len(j.plans) > 1 && !j.isIncludedByName(namespace) {
		return nil, excludedVerdict(
			NamespaceNotIncluded,
			fmt.Sprintf("the includedNamespaces of all %d schedules do not name the namespace", len(j.plans)),
		)
	}
	closest := -1
	for _, p := range j.plans {
		v := p.judgeItem(t)
		rank := v.closenessRank()
		if v.Answer != Yes {
			v.ReasonText = "schedule " + p.Name + ": " + v.ReasonText
		}
		if v.Reason == SchedulePaused && p.resume().judgeItem(t).Answer == Yes {
			rank, v.ReasonText = len(distantReasons), v.ReasonText+"; unpaused, it takes this"
		}
		sooner := best != nil && v.Answer == Yes && verdict.Answer == Yes && !p.NextRun.IsZero() &&
			p.NextRun.Before(best.NextRun)
		if rank > closest || sooner {
			best, verdict, closest = p, v, rank
		}
	}
	return best, verdict
}

// isIncludedByName reports whether the includedNamespaces of a schedule name a namespace, or take all.
func (j *Judge) isIncludedByName(namespace string) bool {
	return slices.ContainsFunc(j.plans, func(p *backupPlan) bool {
		return velero.IncludeExclude{Includes: p.spec.IncludedNamespaces}.Matches(namespace)
	})
}

// judgeItem judges whether the next backup includes an item, for a claim with its data, and for a namespace its
// contents.
func (p *backupPlan) judgeItem(t *trackedItem) Verdict {
	namespace := p.judgeNamespace(cmp.Or(t.Namespace, t.Name))
	switch {
	case namespace.Answer != Yes:
		return namespace
	case t.object == nil:
		return unknownVerdict(NotSeen, "you may not read what the cluster holds")
	case t.resource == Claims:
		return p.judgeClaim(t.asClaim())
	case t.resource != Namespaces:
		return p.judgeObject(t.resource, t.object)
	case t.object.GetDeletionTimestamp() != nil:
		return p.judgeNamespaceObject(t.object)
	}
	return includedVerdict
}

// distantReasons are the reasons of schedules that do not come close, the most distant first: a rule about an item
// itself says more than a rule about its namespace.
var distantReasons = []Reason{
	NoSchedule,
	NamespaceNotIncluded,
	NamespaceExcluded,
	SchedulePaused,
	ScheduleInvalid,
	BackupsRefused,
	NamespaceLabelled,
	NamespaceTerminating,
	KindExcluded,
	SelectorMismatch,
	PolicyFilter,
}

// closenessRank returns how close a schedule comes. A schedule that only its pause keeps from taking an item comes
// closer than a schedule with a rule against it, and has the rank between.
func (v Verdict) closenessRank() int {
	at := slices.Index(distantReasons, v.Reason)
	switch {
	case v.Answer == Yes:
		return len(distantReasons) + 2
	case v.Answer == Unknown:
		return len(distantReasons) + 1
	case at < 0:
		return len(distantReasons) - 1
	}
	return at
}

func (j *Judge) judgeItem(t *trackedItem) {
	p, v := j.findNextPlan(t)
	target, next := j.MaxAge, ""
	if v.Answer == Yes {
		t.Schedule, t.NextRunAt, next = p.Name, p.NextRun.UTC(), cmp.Or(human.ClockTime(p.NextRun, j.Now), "next")
		target = cmp.Or(target, p.allowedAge(cmp.Or(t.BackupAt, p.NextRun)))
	} else if p != nil {
		t.RuleSchedule = p.Name
	}
	t.MaxAgeSeconds = int64(target.Seconds())
	age := j.Now.Sub(t.BackupAt)
	old := target > 0 && age > target
	lost := j.unrestorableBackups[cmp.Or(t.Namespace, t.Name)]
	if !lost.at.After(t.BackupAt) {
		lost.Verdict = Verdict{}
	}
	without, last := "in no backup", "The last copy, "+t.Backup+", never expires."
	if t.resource == Claims {
		without = "in no backup with its data"
	}
	earlier := human.Prefixed(" ", human.Capitalize(t.earlierText))
	if t.earlierText != "" {
		earlier += "."
	}
	if !t.NeverExpires {
		last = "The last copy, " + t.Backup + ", expires " + human.ClockTime(t.ExpiresAt, j.Now) + "."
	}
	switch {
	case t.isUnbound():
		t.setState(
			CoveredWithWarning,
			NotBound,
			"the claim has no volume, its phase is %s: nothing of it can be saved.",
			cmp.Or(string(t.asClaim().Status.Phase), "not set"),
		)
	case t.partlyReadReason != "":
		t.setState(Undecided, NotSeen, "%s.", t.partlyReadReason)
	case t.Backup == "" && t.unreadBackups > 0:
		t.setState(
			Undecided,
			NotRead,
			"%s not read that may hold it.",
			human.CountForms(t.unreadBackups, "backup was", "backups were"),
		)
	case t.Backup == "" && t.lastMiss.Answer == Unknown:
		t.setState(Undecided, t.lastMiss.Reason, "backup %s: %s.", t.lastMissBackup, t.lastMiss.ReasonText)
	case t.Backup == "" && (v.Answer == No || v.Reason == PolicyCustom):
		// Velero records what a plugin saves as skipped.
		t.setState(Unprotected, v.Reason, "in no backup: %s.%s", v.ReasonText, earlier)
	case t.Backup == "" && t.lastMiss.Answer != "":
		t.setState(Unprotected, t.lastMiss.Reason, "%s: in %s, %s.", without, t.lastMissBackup, t.lastMiss.ReasonText)
	case t.Backup == "" && lost.Reason == LocationUnavailable && !lost.at.Before(t.madeAt):
		t.setState(Undecided, lost.Reason, "the backup that may hold it cannot be read: %s.", lost.ReasonText)
	case t.Backup == "" && lost.Answer != "" && !lost.at.Before(t.madeAt):
		t.setState(Unprotected, lost.Reason, "in no backup: %s.", lost.ReasonText)
	case t.Backup == "" && v.Answer == Unknown:
		t.setState(Unprotected, v.Reason, "in no backup. %s.%s", v.ReasonText, earlier)
	case t.Backup == "" && t.madeAt.After(p.LastEndedRunStart):
		t.setState(CoveredWithWarning, NotYet, "in no backup yet: schedule %s takes it %s.%s", p.Name, next, earlier)
	case t.Backup == "" && p.spec.TTL.Duration > 0 && p.LastEndedRunStart.Add(p.spec.TTL.Duration).Before(p.NextRun):
		t.setState(
			Unprotected,
			ExpiresFirst,
			"in no backup: those of schedule %s last for %s, and it runs %s.",
			p.Name,
			human.Duration(p.spec.TTL.Duration),
			next,
		)
	case t.Backup == "" && p.LastRunGone.After(t.madeAt):
		t.setState(
			Unprotected,
			BackupDeleted,
			"in no backup: the backup that schedule %s began %s is not there any more. It takes it again %s.",
			p.Name,
			human.ClockTime(p.LastRunGone, j.Now),
			next,
		)
	case t.Backup == "" && earlier != "":
		t.setState(Unprotected, Recreated, "in no backup, although schedule %s takes it.%s", p.Name, earlier)
	case t.Backup == "":
		t.setState(Unprotected, NotInBackup, "in no backup, although schedule %s takes it.", p.Name)
	case old && t.unreadBackups > 0:
		t.setState(
			Undecided,
			NotRead,
			"the newest copy that was read is %s old: newer backups were not read.",
			human.Duration(age),
		)
	case v.Answer == No:
		t.setState(CoveredWithWarning, v.Reason, "nothing takes it again: %s. %s", v.ReasonText, last)
	case t.lastMiss.Answer != "":
		t.setState(CoveredWithWarning, t.lastMiss.Reason, "backup %s: %s. %s", t.lastMissBackup, t.lastMiss.ReasonText, last)
	case old && lost.Answer != "":
		t.setState(
			CoveredWithWarning,
			lost.Reason,
			"backup %s. The newest copy is %s old. %s",
			lost.ReasonText,
			human.Duration(age),
			last,
		)
	case old:
		t.setState(
			CoveredWithWarning,
			TooOld,
			"the newest copy is %s old, more than %s. %s",
			human.Duration(age),
			human.Duration(target),
			last,
		)
	case v.Answer == Yes && !t.NeverExpires && (t.ExpiresAt.Before(p.NextRun) || t.ExpiresAt.Before(j.Now)):
		t.setState(CoveredWithWarning, ExpiresFirst, "%s Schedule %s takes it again %s.", last, p.Name, next)
	default:
		t.State = Covered
	}
}

// allowedAge returns how old a copy made at a given time may get: until the second run after it.
func (s *Schedule) allowedAge(made time.Time) time.Duration {
	if s.RunAfter == nil || s.RunAfter(made).IsZero() {
		return 0
	}
	return max(0, s.RunAfter(s.RunAfter(made)).Sub(made).Round(time.Minute))
}

func (t *trackedItem) setState(state State, reason Reason, format string, args ...any) {
	t.State, t.Reason, t.Sentence = state, reason, human.Capitalize(fmt.Sprintf(format, args...))
}
