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
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

// Severity is how urgent a finding is.
type Severity int

const (
	// Warning needs a person during working hours.
	Warning Severity = iota + 1
	// Critical means that the thing does not continue, or is not protected, until a person acts.
	Critical
)

func (s Severity) String() string {
	return map[Severity]string{Warning: "warning", Critical: "critical"}[s]
}

// Tab is the name of the dashboard's tab that shows a finding.
type Tab string

const (
	TabRestores  Tab = "restores"
	TabBackups   Tab = "backups"
	TabSchedules Tab = "schedules"
	TabStorage   Tab = "storage"
	TabEtcd      Tab = "etcd"
	TabDeletions Tab = "deletions"
	TabCoverage  Tab = "coverage"
)

// Finding is one thing that needs attention. Its consequences are listed in Affects and are not findings themselves.
type Finding struct {
	Severity Severity
	// Reason is one CamelCase word that is never renamed.
	Reason diagnosis.Reason
	// Cause is why a job, or the newest of several runs, ended badly, if anything tells.
	Cause diagnosis.Reason
	// Kind is a short word such as restore, schedule or storage.
	Kind, Namespace, Name string
	// UID is empty for a thing that does not exist.
	UID types.UID
	// Summary is a sentence that does not begin with the name.
	Summary string
	// Since is when it began, zero if unknown.
	Since time.Time
	// LastAt is when it last occurred, zero unless it occurred several times.
	LastAt time.Time
	// Count is the number of consecutive runs, volumes or requests that it stands for, 0 for one.
	Count int
	// Affects names what else does not work because of it, as KIND/NAME.
	Affects []string
	// Names are what the commands of the next step are about.
	Names diagnosis.Names
	// Tab is the tab whose row with the key UID leads to the thing's page, empty if there is none.
	Tab Tab

	isStuck       bool   // has not ended, and does not continue
	locationCause string // of a location: follows Summary and the location's users
}

// Next returns what to do next.
func (f *Finding) Next() diagnosis.Next {
	next := f.Reason.Next(f.Names, "")
	if f.Cause.IsZero() {
		return next
	}
	of := f.Names
	if f.Kind == "schedule" { // the cause is that of its newest run
		of.Kind, of.Name = "backup", f.Names.Backup
	}
	cause := f.Cause.Next(of, "")
	cause.Commands = append(cause.Commands, next.Commands...)
	return cause
}

// Ref returns the thing as KIND/NAME.
func (f *Finding) Ref() string { return f.Kind + "/" + f.Name }

// Key returns a key that stays the same while the finding does not change: for the same thing, the same reason, and
// the same start.
func (f *Finding) Key() string {
	since := ""
	if !f.Since.IsZero() {
		since = f.Since.UTC().Format(time.RFC3339)
	}
	return strings.Join(
		[]string{cmp.Or(string(f.UID), f.Namespace+"/"+f.Ref()), f.Reason.String(), f.Severity.String(), since},
		" ",
	)
}

// IsStuckJob reports whether the finding is a job that has not ended: the list of jobs shows it first.
func (f *Finding) IsStuckJob() bool { return f.isStuck && f.Tab != TabEtcd }

// CompareFindings orders findings: the worst first, then by how long they have lasted, if known, then by name.
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

// attentionBuilder collects findings. A thing with the cause of another finding is added to that finding, so causes
// come first.
type attentionBuilder struct {
	*Assessment
	findings []*Finding
	byObject map[types.UID]*Finding // by the object
	// server and locations are findings about causes.
	server    *Finding
	locations map[string]*Finding
	// leftovers are the findings about volumes of ended jobs, by these volumes.
	leftovers map[velero.VolumeRef]*Finding
}

// ListFindingsInWords returns the findings of [Assessment.ListFindings] with their durations in words.
func (a *Assessment) ListFindingsInWords() []Finding {
	spoken := *a
	spoken.World.Style = human.SpokenStyle
	return spoken.ListFindings()
}

// ListFindings lists everything that needs attention, each cause once, in the order of [CompareFindings].
func (a *Assessment) ListFindings() []Finding {
	l := &attentionBuilder{
		Assessment: a, byObject: map[types.UID]*Finding{}, locations: map[string]*Finding{},
		leftovers: map[velero.VolumeRef]*Finding{},
	}
	l.addServer()
	l.addMalformed()
	l.addLocations()
	l.addLeftovers()
	l.addStrayMovers()
	l.addActive()
	l.addSchedules()
	l.addGoneSchedules()
	l.addEnded()
	l.addEmpty()
	l.addSmallerBackups()
	l.addRepositories()
	l.addDeletions()
	l.addExpired()
	l.addEtcd()
	l.addCoverage()
	l.joinQueues()
	l.explainLocations()
	found := make([]Finding, len(l.findings))
	for i, f := range l.findings {
		slices.SortFunc(f.Affects, human.CompareNames)
		f.Affects = slices.Compact(f.Affects)
		found[i] = *f
	}
	SortFindings(found)
	return found
}

func (l *attentionBuilder) addFinding(f Finding) *Finding {
	if f.Tab != TabCoverage { // coverage findings are about namespaces
		f.Namespace = cmp.Or(f.Namespace, l.Snapshot.Namespace)
	}
	if f.Summary = strings.TrimSpace(f.Summary); !strings.HasSuffix(f.Summary, "...") {
		f.Summary = strings.TrimSuffix(f.Summary, ".")
	}
	f.Names = l.namesOf(&f)
	if f.UID != "" {
		l.byObject[f.UID] = &f
	}
	l.findings = append(l.findings, &f)
	return &f
}

// namesOf returns the names for the commands of a finding, with those that it has already.
func (l *attentionBuilder) namesOf(f *Finding) diagnosis.Names {
	n := l.World.ServerNames()
	n.Kind, n.Name, n.Namespace = f.Kind, f.Name, l.Snapshot.Namespace
	if f.Tab == TabEtcd {
		n.Namespace = "" // the commands of its reasons name the operator's
	}
	if f.Kind == "storage" {
		n.Location = f.Name
	}
	n.Node, n.Agent, n.Pod = f.Names.Node, f.Names.Agent, f.Names.Pod
	n.Memory, n.Container = f.Names.Memory, f.Names.Container
	n.Location, n.Backup = cmp.Or(f.Names.Location, n.Location), f.Names.Backup
	return n
}

// addBeside adds a finding that explains nothing else that is wrong with the same object.
func (l *attentionBuilder) addBeside(f Finding) *Finding {
	before, known := l.byObject[f.UID]
	added := l.addFinding(f)
	if delete(l.byObject, f.UID); known {
		l.byObject[f.UID] = before
	}
	return added
}

// addObjectFinding adds the finding about an object of a resource, unless another finding is about that object.
func (l *attentionBuilder) addObjectFinding(resource string, o metav1.Object, f Finding) *Finding {
	if l.hasFinding(o.GetUID()) {
		return nil
	}
	short := kindLabels[resource]
	f.Kind, f.Tab, f.Namespace, f.Name, f.UID = short.kind, short.in, o.GetNamespace(), o.GetName(), o.GetUID()
	return l.addFinding(f)
}

// hasFinding reports whether a finding is about the object with that uid.
func (l *attentionBuilder) hasFinding(uid types.UID) bool { return l.byObject[uid] != nil }

// addAffected notes that something else does not work because of a finding; it returns false if the finding is nil.
func (f *Finding) addAffected(ref string) bool {
	if f != nil {
		f.Affects = append(f.Affects, ref)
	}
	return f != nil
}

// countRepeat counts an earlier occurrence of the same finding.
func (f *Finding) countRepeat(since time.Time) {
	if f.Count == 0 {
		f.Count, f.LastAt = 1, f.Since
	}
	f.Count, f.Since = f.Count+1, since
}

// queueReasons are the reasons of jobs and backups that wait until something stuck ends.
var queueReasons = []diagnosis.Reason{diagnosis.QueueBlocked, diagnosis.FinalizingBehind, etcd.BehindStuckBackup}

// joinQueues adds what waits behind something stuck to the finding about the latter.
func (l *attentionBuilder) joinQueues() {
	first := map[bool]*Finding{} // by whether the finding is about etcd
	for _, f := range slices.Backward(l.findings) {
		if f.isStuck && !slices.Contains(queueReasons, f.Reason) {
			first[f.Tab == TabEtcd] = f
		}
	}
	l.findings = slices.DeleteFunc(l.findings, func(f *Finding) bool {
		blocker := first[f.Tab == TabEtcd]
		if !slices.Contains(queueReasons, f.Reason) || !blocker.addAffected(f.Ref()) {
			return false
		}
		blocker.Affects = append(blocker.Affects, f.Affects...)
		return true
	})
}

func (l *attentionBuilder) addServer() {
	why, since := diagnosis.FindServerOutage(l.World)
	if why.IsZero() {
		return
	}
	s := l.World.Server
	l.server = l.addFinding(
		Finding{
			Severity: Critical,
			Reason:   why,
			Kind:     "server",
			Name:     cmp.Or(s.Deployment, s.Name, "velero"),
			Since:    since,
			Summary: "No Velero server runs" + human.InParens(
				cmp.Or(s.WaitingReason, s.LastTerminationReason),
			) + ": jobs neither continue nor start",
		},
	)
}

// kindLabels are the words for Velero's kinds, by the resource names of [watch].
var kindLabels = map[string]struct {
	kind string
	in   Tab
}{
	watch.Backups: {
		"backup",
		TabBackups,
	},
	watch.Restores:  {"restore", TabRestores},
	watch.Schedules: {"schedule", TabSchedules},
	watch.StorageLocations: {
		"storage",
		TabStorage,
	},
	watch.Repositories:   {"repository", TabStorage},
	watch.DeleteRequests: {"deletion", TabDeletions},
}

func (l *attentionBuilder) addMalformed() {
	for _, m := range l.Snapshot.Malformed {
		short := kindLabels[m.Resource]
		l.addFinding(
			Finding{
				Severity:  Critical,
				Reason:    diagnosis.MalformedSpec,
				Kind:      cmp.Or(short.kind, strings.ToLower(m.Kind)),
				Namespace: m.Namespace,
				Name:      m.Name,
				UID:       m.UID,
				Tab: cmp.Or(
					short.in,
					TabStorage,
				),
				Summary: fmt.Sprintf(
					"Velero cannot read %s, and may stop reading this kind until you correct it",
					m.Fields[0],
				),
			},
		)
	}
}
