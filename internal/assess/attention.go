package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/etcd"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/watch"
)

// Severity is how urgent a finding is.
type Severity int

const (
	// Warning wants a person in working hours.
	Warning Severity = iota + 1
	// Critical does not go on, or is not protected, until a person acts.
	Critical
)

func (s Severity) String() string {
	return map[Severity]string{Warning: "warning", Critical: "critical"}[s]
}

// Place is where the dashboard shows a finding: a tab, by its name.
type Place string

const (
	InRestores  Place = "restores"
	InBackups   Place = "backups"
	InSchedules Place = "schedules"
	InStorage   Place = "storage"
	InEtcd      Place = "etcd"
	InDeletions Place = "deletions"
	InCoverage  Place = "coverage"
)

// Finding is one thing that needs someone. What follows from it is in Affects and is no finding of its own.
type Finding struct {
	Severity Severity
	// Reason is one CamelCase word that is never renamed.
	Reason diagnosis.Reason
	// Kind is a short word such as restore, schedule or storage.
	Kind, Namespace, Name string
	// UID is empty for what does not exist.
	UID types.UID
	// Summary is a sentence that does not begin with the name.
	Summary string
	// Since is when it began as far as that is known, else zero.
	Since time.Time
	// Count is how many runs in a row, volumes or requests it stands for, 0 for one.
	Count int
	// Affects names what else does not work because of it, as KIND/NAME.
	Affects []string
	// In is the tab whose row with the key UID leads to its page, empty if there is none.
	In Place

	stuck bool   // has not ended, and does not go on
	why   string // of a location: what follows Summary and who uses it
}

// Ref names the thing as KIND/NAME.
func (f *Finding) Ref() string { return f.Kind + "/" + f.Name }

// Key is the same for as long as the finding does not change: of the same thing, for the same reason, since
// the same moment.
func (f *Finding) Key() string {
	since := ""
	if !f.Since.IsZero() {
		since = f.Since.UTC().Format(time.RFC3339)
	}
	return strings.Join(
		[]string{cmp.Or(string(f.UID), f.Namespace+"/"+f.Ref()), string(f.Reason), f.Severity.String(), since},
		" ",
	)
}

// IsStuckJob reports whether the finding is a job that has not ended: the list of jobs shows it first.
func (f *Finding) IsStuckJob() bool { return f.stuck && f.In != InEtcd }

// CompareFindings orders findings: the worst first, then what has lasted longest as far as that is known, then by name.
func CompareFindings(a, b *Finding) int {
	unknown := map[bool]int{true: 1}
	return cmp.Or(
		cmp.Compare(b.Severity, a.Severity),
		unknown[a.Since.IsZero()]-unknown[b.Since.IsZero()],
		a.Since.Compare(b.Since),
		cmp.Compare(a.Kind, b.Kind),
		human.CompareNames(a.Name, b.Name),
		cmp.Compare(a.UID, b.UID),
	)
}

// SortFindings sorts in the order of [CompareFindings].
func SortFindings(found []Finding) {
	slices.SortStableFunc(found, func(a, b Finding) int { return CompareFindings(&a, &b) })
}

// attention collects findings. What has the cause of another one is added to that, so causes come first.
type attention struct {
	*Assessment
	found []*Finding
	about map[types.UID]*Finding // by the object
	// server and locations are about causes.
	server    *Finding
	locations map[string]*Finding
}

// SpokenAttention is [Assessment.Attention] with its durations in words.
func (a *Assessment) SpokenAttention() []Finding {
	spoken := *a
	spoken.Environment.Style = human.Spoken
	return spoken.Attention()
}

// Attention lists everything that needs someone, each cause once, in the order of [CompareFindings].
func (a *Assessment) Attention() []Finding {
	l := &attention{Assessment: a, about: map[types.UID]*Finding{}, locations: map[string]*Finding{}}
	l.addServer()
	l.addMalformed()
	l.addLocations()
	l.addActive()
	l.addSchedules()
	l.addEnded()
	l.addRepositories()
	l.addDeletions()
	l.addEtcd()
	l.addCoverage()
	l.joinQueues()
	l.explainLocations()
	found := make([]Finding, len(l.found))
	for i, f := range l.found {
		slices.SortFunc(f.Affects, human.CompareNames)
		f.Affects = slices.Compact(f.Affects)
		found[i] = *f
	}
	SortFindings(found)
	return found
}

func (l *attention) add(f Finding) *Finding {
	if f.In != InCoverage { // those are about namespaces
		f.Namespace = cmp.Or(f.Namespace, l.Snapshot.Namespace)
	}
	if f.Summary = strings.TrimSpace(f.Summary); !strings.HasSuffix(f.Summary, "...") {
		f.Summary = strings.TrimSuffix(f.Summary, ".")
	}
	if f.UID != "" {
		l.about[f.UID] = &f
	}
	l.found = append(l.found, &f)
	return &f
}

// addOf adds the finding of an object of a resource, unless another one is about that.
func (l *attention) addOf(resource string, o metav1.Object, f Finding) *Finding {
	if l.isListed(o.GetUID()) {
		return nil
	}
	short := shortKinds[resource]
	f.Kind, f.In, f.Namespace, f.Name, f.UID = short.kind, short.in, o.GetNamespace(), o.GetName(), o.GetUID()
	return l.add(f)
}

// isListed reports whether a finding is about that object.
func (l *attention) isListed(uid types.UID) bool { return l.about[uid] != nil }

// causes notes that something else does not work because of a finding; false for no finding.
func (f *Finding) causes(ref string) bool {
	if f != nil {
		f.Affects = append(f.Affects, ref)
	}
	return f != nil
}

// repeat counts an earlier one of the same.
func (f *Finding) repeat(since time.Time) { f.Count, f.Since = max(f.Count, 1)+1, since }

// queued are the reasons of what waits until something stuck ends.
var queued = []diagnosis.Reason{diagnosis.QueueBlocked, diagnosis.FinalizingBehind, etcd.BehindStuckBackup}

// joinQueues adds what waits behind something stuck to that.
func (l *attention) joinQueues() {
	first := map[bool]*Finding{} // by whether it is about etcd
	for _, f := range slices.Backward(l.found) {
		if f.stuck && !slices.Contains(queued, f.Reason) {
			first[f.In == InEtcd] = f
		}
	}
	l.found = slices.DeleteFunc(l.found, func(f *Finding) bool {
		blocker := first[f.In == InEtcd]
		if !slices.Contains(queued, f.Reason) || !blocker.causes(f.Ref()) {
			return false
		}
		blocker.Affects = append(blocker.Affects, f.Affects...)
		return true
	})
}

func (l *attention) addServer() {
	why, since := diagnosis.ServerDownFor(l.Environment)
	if why == "" {
		return
	}
	s := l.Environment.Server
	l.server = l.add(
		Finding{
			Severity: Critical,
			Reason:   why,
			Kind:     "server",
			Name:     cmp.Or(s.Deployment, s.Name, "velero"),
			Since:    since,
			Summary: "No Velero server runs" + human.Parens(
				cmp.Or(s.Waiting, s.LastTermination),
			) + ": jobs neither continue nor start",
		},
	)
}

// shortKinds are the words for Velero's kinds, by the resources that [watch] names.
var shortKinds = map[string]struct {
	kind string
	in   Place
}{
	watch.Backups: {
		"backup",
		InBackups,
	},
	watch.Restores:  {"restore", InRestores},
	watch.Schedules: {"schedule", InSchedules},
	watch.Locations: {
		"storage",
		InStorage,
	},
	watch.Repositories: {"repository", InStorage},
	watch.Deletions:    {"deletion", InDeletions},
}

func (l *attention) addMalformed() {
	for _, m := range l.Snapshot.Malformed {
		short := shortKinds[m.Resource]
		l.add(
			Finding{
				Severity:  Critical,
				Reason:    diagnosis.MalformedSpec,
				Kind:      cmp.Or(short.kind, strings.ToLower(m.Kind)),
				Namespace: m.Namespace,
				Name:      m.Name,
				UID:       m.UID,
				In: cmp.Or(
					short.in,
					InStorage,
				),
				Summary: fmt.Sprintf(
					"Velero cannot read %s, and may stop reading this kind until you correct it",
					m.Fields[0],
				),
			},
		)
	}
}
