package coverage

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero"
)

// Options are what is asked.
type Options struct {
	// Only names the namespaces to judge; empty stands for all but those of Kubernetes and Velero.
	Only   []string
	MaxAge time.Duration // how old a copy may be; 0 means until the second run after it
	Now    time.Time
	// Copies says which backups count as copies, whatever they hold. Their clock is Now.
	Copies velero.Copies
}

// system reports whether a namespace is judged only if it is asked for: that of Velero, Kubernetes and OpenShift.
func (j *Judge) system(namespace string) bool {
	return namespace == j.Velero || namespace == "openshift" || strings.HasPrefix(namespace, "openshift-") ||
		slices.Contains([]string{"kube-system", "kube-public", "kube-node-lease"}, namespace)
}

// Judge says how what a cluster holds is protected. Add gives it backups, newest first, of those that Needs asks for.
type Judge struct {
	Options
	*index
	plans  []*plan
	things map[reference]*thing
	within map[string][]*thing // by namespace, with the namespace itself
	lost   map[string]lost     // the newest backup that cannot be restored, by namespace
	read   map[string]bool     // the schedules of which a backup was read
	result Result
}

// reference is a resource and a key of [Cluster.Objects].
type reference struct{ resource, key string }

// thing is an item and what backups say of it, beside its newest good copy in the item.
type thing struct {
	Item
	resource string
	object   metav1.Object // nil if only backups tell of it
	missed   Verdict       // what went wrong in the newest backup that lists it without data
	missedIn string
	unread   int    // backups that may hold it, newer than the copy, and were not read
	misread  string // why it is not known in full
}

// NewJudge returns a judge of what c holds. backups are those that exist, newest first.
func NewJudge(c *Cluster, schedules []*Schedule, backups []*velerov1.Backup, o Options) *Judge {
	j := &Judge{
		Options: o,
		index:   newIndex(c),
		things:  map[reference]*thing{},
		within:  map[string][]*thing{},
		lost:    map[string]lost{},
		read:    map[string]bool{},
	}
	j.Copies.Now, j.Copies.PartiallyFailed = o.Now, true // each item of a backup is looked up
	j.result = Result{State: Covered, At: o.Now.UTC().Truncate(time.Second), NotSeen: []string{}, LeftOut: []string{}}
	for _, s := range schedules {
		j.plans = append(j.plans, newPlan(j.index, s))
	}
	// Of rules that weigh the same, one who asks means that of the schedule which names the namespace.
	slices.SortStableFunc(j.plans, func(a, b *plan) int { return cmp.Compare(a.breadth(), b.breadth()) })
	for resource, objects := range c.Objects {
		for key, o := range objects {
			if resource == Namespaces || resource == Claims || !owned(o) && o.GetDeletionTimestamp() == nil {
				j.add(resource, key, o)
			}
		}
	}
	for _, b := range backups {
		if why := j.whyLost(b); why.Answer != "" {
			takes := velero.NamespacesOf(b).Matcher()
			for n := range j.within {
				if j.lost[n].at.IsZero() && takes(n) {
					j.lost[n] = lost{why, Began(b)}
				}
			}
		}
	}
	j.result.NotSeen = append(j.result.NotSeen, slices.Sorted(slices.Values(c.unread()))...)
	return j
}

// breadth is how many namespaces a schedule names, and the most for all.
func (p *plan) breadth() int {
	if in := p.spec.IncludedNamespaces; len(in) > 0 && !slices.Contains(in, "*") {
		return len(in)
	}
	return math.MaxInt
}

// add makes the thing of an object, and of its namespace, which may not be listed; or returns nil for one
// that is not asked for.
func (j *Judge) add(resource, key string, o metav1.Object) *thing {
	namespace, name, namespaced := strings.Cut(key, "/")
	switch {
	case len(j.Only) > 0 && !slices.Contains(j.Only, namespace):
		return nil
	case len(j.Only) == 0 && j.system(namespace):
		if !slices.Contains(j.result.LeftOut, namespace) {
			j.result.LeftOut = append(j.result.LeftOut, namespace)
		}
		return nil
	}
	t := j.things[reference{resource, key}]
	if t == nil {
		t = &thing{Item: Item{Kind: kinds[resource], Name: namespace}, resource: resource}
		j.things[reference{resource, key}] = t
		j.within[namespace] = append(j.within[namespace], t)
		if namespaced {
			t.Namespace, t.Name = namespace, name
			j.add(Namespaces, namespace, nil)
		}
	}
	t.object, t.misread = cmp.Or(t.object, o), j.Misread[resource+" "+key]
	if claim := t.claim(); claim != nil {
		t.Bytes, t.misread = claim.Status.Capacity.Storage().
			Value(),
			cmp.Or(
				t.misread,
				j.Misread[Volumes+" "+claim.Spec.VolumeName],
			)
	}
	return t
}

// claim is nil for what is none.
func (t *thing) claim() *corev1.PersistentVolumeClaim {
	claim, _ := t.object.(*corev1.PersistentVolumeClaim)
	return claim
}

// created is zero for what only backups tell of.
func (t *thing) created() time.Time {
	if t.object == nil {
		return time.Time{}
	}
	return t.object.GetCreationTimestamp().Time
}

// unbound reports whether a thing is a claim without a volume: it has no data.
func (t *thing) unbound() bool { return t.claim() != nil && !bound(t.claim()) }

// Began is when a backup began, or was created.
func Began(b *velerov1.Backup) time.Time {
	if b.Status.StartTimestamp != nil {
		return b.Status.StartTimestamp.Time
	}
	return b.CreationTimestamp.Time
}

// lost is a backup that cannot be restored, and when it began.
type lost struct {
	Verdict
	at time.Time
}

// whyLost is why a backup cannot be restored, zero if it can, has not ended, or that is unknown.
func (j *Judge) whyLost(b *velerov1.Backup) Verdict {
	if b.Status.Phase == velerov1.BackupPhaseFailed || b.Status.Phase == velerov1.BackupPhaseFailedValidation {
		why := cmp.Or(b.Status.FailureReason, strings.Join(b.Status.ValidationErrors, "; "))
		return leftOut(BackupFailed, b.Name+" is "+string(b.Status.Phase)+human.Clause(": ", human.Shorten(why, 200)))
	}
	no := j.Copies.Excludes(b)
	if reason := lostReasons[no.Reason]; reason != "" {
		return leftOut(reason, b.Name+" does not count: "+no.Why)
	}
	return Verdict{}
}

// lostReasons are those by which what a backup holds is no copy. A backup that has not ended is none yet.
var lostReasons = map[velero.CopyReason]Reason{
	velero.CopyBeingDeleted:      BackupDeleted,
	velero.CopyDeletionRequested: BackupDeleted,
	velero.CopyDeletionFailed:    BackupDeleted,
	velero.CopyMarked:            BackupDeleted,
	velero.CopyExpired:           BackupExpired,
	velero.CopyLocationGone:      LocationGone,
	velero.CopyLocationDown:      LocationUnavailable,
}

// Needs reports whether a backup may change what is known: it may hold something that has no copy, or none
// that lasts as long.
func (j *Judge) Needs(b *velerov1.Backup) bool {
	if no := j.Copies.Excludes(b); !no.Counts() && no.Reason != velero.CopyUnknown {
		return false // nothing of it is stored, or not all yet, or for no use
	}
	takes := velero.NamespacesOf(b).Matcher()
	for n, things := range j.within {
		if slices.ContainsFunc(things, func(t *thing) bool { return t.needs(b) }) && takes(n) {
			return true
		}
	}
	// Without the right to list, only backups tell what there is: the newest of each schedule.
	return (j.Unseen[Namespaces] != "" || j.Unseen[Claims] != "") && !j.read[b.Labels[velerov1.ScheduleNameLabel]]
}

func (t *thing) needs(b *velerov1.Backup) bool {
	expires := b.Status.Expiration
	return !t.unbound() && (t.Backup == "" || !t.Lasts && (expires == nil || expires.After(t.Expires)))
}

const mostNotSeen = 20

// Unread notes that a backup is needed and was not read.
func (j *Judge) Unread(b *velerov1.Backup, why error) {
	j.result.Unread++
	if len(j.result.NotSeen) < mostNotSeen {
		j.result.NotSeen = append(j.result.NotSeen, "backup "+b.Name+": "+why.Error())
	}
	takes := velero.NamespacesOf(b).Matcher()
	for n, things := range j.within {
		if takes(n) {
			for _, t := range things {
				if t.Backup == "" {
					t.unread++
				}
			}
		}
	}
}

// Add takes what is stored of a backup.
func (j *Judge) Add(b *velerov1.Backup, r *Record) {
	j.result.Read++
	if no := j.Copies.Excludes(
		b,
	); no.Reason == velero.CopyUnknown && !slices.Contains(j.result.NotSeen, no.Why) &&
		len(j.result.NotSeen) < mostNotSeen {
		j.result.NotSeen = append(j.result.NotSeen, no.Why)
	}
	j.read[b.Labels[velerov1.ScheduleNameLabel]] = true
	for resource, keys := range r.Items {
		for _, key := range keys {
			t := j.things[reference{resource, key}]
			if t == nil && j.Unseen[resource] != "" && (resource == Claims || resource == Namespaces) {
				t = j.add(resource, key, nil) // where such things may not be listed, the backup tells of them
			}
			switch why := r.Failed[resource+" "+key]; {
			case t == nil:
			case resource == Claims:
				t.add(b, r.data(key, j.volume(t), Began(b)))
			case why != "":
				t.add(b, leftOut(ItemFailed, "saving it failed: "+why))
			default:
				t.add(b, taken)
			}
		}
	}
}

// volume is that of a claim, zero if it has none or is not seen.
func (j *Judge) volume(t *thing) (v corev1.PersistentVolume) {
	if claim := t.claim(); claim != nil {
		v.Name = claim.Spec.VolumeName
		if seen := j.Volumes[v.Name]; seen != nil {
			v.CreationTimestamp = seen.CreationTimestamp
		}
	}
	return v
}

// addCopy notes a good copy: the newest is the one to name, the one that lasts longest says until when.
func (t *thing) addCopy(b *velerov1.Backup) {
	if t.Backup == "" {
		t.Backup, t.At = b.Name, sane(Began(b))
	}
	switch expires := b.Status.Expiration; {
	case expires == nil || sane(expires.Time).IsZero():
		t.Lasts, t.Expires = true, time.Time{}
	case !t.Lasts && expires.After(t.Expires):
		t.Expires = expires.UTC()
	}
}

// sane is a time that JSON can hold, else zero: the status of a backup may say anything.
func sane(t time.Time) time.Time {
	if t = t.UTC(); t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// add notes what a backup that lists a thing has of it, of a claim its data.
func (t *thing) add(b *velerov1.Backup, v Verdict) {
	switch {
	case v.Answer == Yes:
		t.addCopy(b)
	case t.Backup == "" && (t.missed.Answer == "" || t.missed.Answer == No && v.Answer == Unknown):
		t.missed, t.missedIn = v, b.Name
	}
}

// Result judges everything. Add and Unread come before.
func (j *Judge) Result() *Result {
	r := j.result
	slices.Sort(r.LeftOut)
	for _, n := range j.Only {
		if j.within[n] == nil && j.Unseen[Namespaces] == "" {
			r.NotSeen = append(r.NotSeen, "namespace "+n+": there is none")
		}
	}
	r.Namespaces = []Namespace{}
	if len(r.NotSeen)+r.Unread > 0 {
		r.State = Undecided
	}
	for _, things := range j.within {
		n := Namespace{Claims: []Item{}, Workloads: []Item{}}
		for _, t := range things {
			j.judge(t)
			switch t.resource {
			case Namespaces:
				n.Item = t.Item
			case Claims:
				n.Claims = append(n.Claims, t.Item)
			default:
				n.Workloads = append(n.Workloads, t.Item)
			}
		}
		n.sum()
		r.State = order[max(r.State.rank(), n.State.rank())]
		r.Namespaces = append(r.Namespaces, n)
	}
	slices.SortStableFunc(r.Namespaces, func(a, b Namespace) int { return human.CompareNames(a.Name, b.Name) })
	return &r
}

// next is the first schedule that takes a thing; without one, it is the rule of the schedule that comes closest.
func (j *Judge) next(t *thing) (*plan, Verdict) {
	var best *plan
	verdict := leftOut(NoSchedule, "there is no schedule")
	if why := j.Unseen[Schedules]; why != "" {
		verdict = unknown(NotSeen, "schedules cannot be read: "+why)
	}
	for _, p := range j.plans {
		v := p.thing(t)
		if v.Answer != Yes {
			v.Why = "schedule " + p.Name + ": " + v.Why
		}
		sooner := best != nil && v.Answer == Yes && verdict.Answer == Yes && !p.Next.IsZero() &&
			p.Next.Before(best.Next)
		if best == nil || v.rank() > verdict.rank() || sooner {
			best, verdict = p, v
		}
	}
	return best, verdict
}

// thing is whether the next backup takes a thing, of a claim with its data, and of a namespace what is in it.
func (p *plan) thing(t *thing) Verdict {
	namespace := p.namespace(cmp.Or(t.Namespace, t.Name))
	switch {
	case namespace.Answer != Yes:
		return namespace
	case t.object == nil:
		return unknown(NotSeen, "you may not read what the cluster holds")
	case t.resource == Claims:
		return p.claim(t.claim())
	case t.resource != Namespaces:
		return p.object(t.resource, t.object)
	case t.object.GetDeletionTimestamp() != nil:
		return p.namespaceItself(t.object)
	}
	return taken
}

// distant are the reasons of schedules that do not come close, the most distant first: a rule about a thing itself
// says more than one about its namespace.
var distant = []Reason{
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

// rank is how close a schedule comes.
func (v Verdict) rank() int {
	at := slices.Index(distant, v.Reason)
	switch {
	case v.Answer == Yes:
		return len(distant) + 2
	case v.Answer == Unknown:
		return len(distant) + 1
	case at < 0:
		return len(distant)
	}
	return at
}

func (j *Judge) judge(t *thing) {
	p, v := j.next(t)
	target, next := j.MaxAge, ""
	if v.Answer == Yes {
		t.Schedule, t.Next, next = p.Name, p.Next.UTC(), cmp.Or(human.Clock(p.Next, j.Now), "next")
		target = cmp.Or(target, p.allowed(cmp.Or(t.At, p.Next)))
	} else if p != nil {
		t.Rule = p.Name
	}
	t.MaxAge = int64(target.Seconds())
	age := j.Now.Sub(t.At)
	old := target > 0 && age > target
	lost := j.lost[cmp.Or(t.Namespace, t.Name)]
	if !lost.at.After(t.At) {
		lost.Verdict = Verdict{}
	}
	without, last := "in no backup", "The last copy, "+t.Backup+", never expires."
	if t.resource == Claims {
		without = "in no backup with its data"
	}
	if !t.Lasts {
		last = "The last copy, " + t.Backup + ", expires " + human.Clock(t.Expires, j.Now) + "."
	}
	switch {
	case t.unbound():
		t.say(
			Warned,
			NotBound,
			"the claim has no volume, its phase is %s: nothing of it can be saved.",
			cmp.Or(string(t.claim().Status.Phase), "not set"),
		)
	case t.misread != "":
		t.say(Undecided, NotSeen, "%s.", t.misread)
	case t.Backup == "" && t.unread > 0:
		t.say(Undecided, NotRead, "%s not read that may hold it.", human.Plural(t.unread, "backup was", "backups were"))
	case t.Backup == "" && t.missed.Answer == Unknown:
		t.say(Undecided, t.missed.Reason, "backup %s: %s.", t.missedIn, t.missed.Why)
	case t.Backup == "" && (v.Answer == No || v.Reason == PolicyCustom): // Velero records what a plugin saves as skipped
		t.say(Unprotected, v.Reason, "in no backup: %s.", v.Why)
	case t.Backup == "" && t.missed.Answer != "":
		t.say(Unprotected, t.missed.Reason, "%s: in %s, %s.", without, t.missedIn, t.missed.Why)
	case t.Backup == "" && lost.Answer != "" && !lost.at.Before(t.created()):
		t.say(Unprotected, lost.Reason, "in no backup: %s.", lost.Why)
	case t.Backup == "" && v.Answer == Unknown:
		t.say(Unprotected, v.Reason, "in no backup. %s.", v.Why)
	case t.Backup == "" && t.created().After(p.Last):
		t.say(Warned, NotYet, "in no backup yet: schedule %s takes it %s.", p.Name, next)
	case t.Backup == "" && p.spec.TTL.Duration > 0 && p.Last.Add(p.spec.TTL.Duration).Before(p.Next):
		t.say(
			Unprotected,
			ExpiresFirst,
			"in no backup: those of schedule %s last for %s, and it runs %s.",
			p.Name,
			human.Duration(p.spec.TTL.Duration),
			next,
		)
	case t.Backup == "":
		t.say(Unprotected, NotInBackup, "in no backup, although schedule %s takes it.", p.Name)
	case old && t.unread > 0:
		t.say(
			Undecided,
			NotRead,
			"the newest copy that was read is %s old: newer backups were not read.",
			human.Duration(age),
		)
	case v.Answer == No:
		t.say(Warned, v.Reason, "nothing takes it again: %s. %s", v.Why, last)
	case t.missed.Answer != "":
		t.say(Warned, t.missed.Reason, "backup %s: %s. %s", t.missedIn, t.missed.Why, last)
	case old && lost.Answer != "":
		t.say(Warned, lost.Reason, "backup %s. The newest copy is %s old. %s", lost.Why, human.Duration(age), last)
	case old:
		t.say(
			Warned,
			TooOld,
			"the newest copy is %s old, more than %s. %s",
			human.Duration(age),
			human.Duration(target),
			last,
		)
	case v.Answer == Yes && !t.Lasts && (t.Expires.Before(p.Next) || t.Expires.Before(j.Now)):
		t.say(Warned, ExpiresFirst, "%s Schedule %s takes it again %s.", last, p.Name, next)
	default:
		t.State = Covered
	}
}

// allowed is how old a copy made at a moment may get: until the second run after it.
func (s *Schedule) allowed(made time.Time) time.Duration {
	if s.After == nil || s.After(made).IsZero() {
		return 0
	}
	return max(0, s.After(s.After(made)).Sub(made).Round(time.Minute))
}

func (t *thing) say(state State, reason Reason, format string, args ...any) {
	t.State, t.Reason, t.Sentence = state, reason, human.Capital(fmt.Sprintf(format, args...))
}
