package assess

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
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

// nameRepeats adds to the summary how many occurrences the finding stands for: its time is that of the first.
func (f *Finding) nameRepeats(unit string) {
	if f != nil && f.Count > 1 {
		f.Summary = strings.TrimSuffix(f.Summary, ".") + human.InParens(human.Count(f.Count, unit))
	}
}
