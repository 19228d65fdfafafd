package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/preflight"
)

// NothingMatches is the text for a restore that restores nothing.
const NothingMatches = "no item matches, so nothing would be restored"

// Preflight describes the obstacles to a restore.
type Preflight struct {
	Items    string // how many items the restore would restore, or why that is unknown
	Counts   string // the number of obstacles and doubts
	DryRun   string // the result of the dry run, empty without one
	Findings []PreflightFinding
	// Unchecked are the things that could not be checked, NotSent the objects left out of the dry run, and Unknowable
	// the things that no dry run can check.
	Unchecked, NotSent, Unknowable []string
}

// PreflightFinding is one finding.
type PreflightFinding struct {
	Severity Text
	Reason   string
	Subject  string // the namespace and the first items of the finding, may be empty
	Sentence string
	Kinds    []string // the items by kind, such as "12 secrets", where there are several kinds
	Remedy   string   // may be empty
}

// Paragraph returns the finding with its kinds, and its remedy.
func (f PreflightFinding) Paragraph() string {
	return strings.TrimSpace(f.Sentence + f.kindsText() + " " + f.Remedy)
}

func (f PreflightFinding) kindsText() string {
	if len(f.Kinds) == 0 {
		return ""
	}
	return " They are " + strings.Join(f.Kinds, ", ") + "."
}

// NewPreflight describes a preflight.
func NewPreflight(r *preflight.Result) Preflight {
	p := Preflight{
		Items:    "veltui cannot tell what it would restore",
		Counts:   PreflightCounts(r.Findings),
		Findings: NewPreflightFindings(r.Findings),
	}
	switch {
	case r.MatchesNothing():
		p.Items = NothingMatches
	case r.Items != nil:
		p.Items = human.Count(*r.Items, "item")
	}
	for _, n := range r.Unchecked {
		p.Unchecked = append(p.Unchecked, n.What+": "+n.Why)
	}
	if d := r.DryRun; d != nil {
		p.DryRun, p.Unknowable = d.Summary(), d.AlwaysUnchecked
		for _, u := range d.NotSent {
			p.NotSent = append(p.NotSent, u.Description()+": "+u.Why)
		}
	}
	return p
}

// PreflightCounts returns the number of obstacles and doubts.
func PreflightCounts(findings []preflight.Finding) string { return joinCounts(findings, ", ") }

func joinCounts(findings []preflight.Finding, separator string) string {
	count := map[preflight.Severity]int{}
	for _, f := range findings {
		count[f.Severity]++
	}
	return human.Count(count[preflight.Obstacle], "obstacle") + separator + human.Count(count[preflight.Doubt], "doubt")
}

// severityTones are the tones of the severities, the worst last.
var severityTones = map[preflight.Severity]Tone{
	preflight.Note:     Dim,
	preflight.Doubt:    Waiting,
	preflight.Obstacle: Bad,
}

// NewPreflightFindings describes findings, the worst first.
func NewPreflightFindings(findings []preflight.Finding) []PreflightFinding {
	all := make([]PreflightFinding, len(findings))
	for i, f := range findings {
		all[i] = PreflightFinding{
			Severity: Toned(severityTones[f.Severity], string(f.Severity)),
			Reason:   string(f.Reason),
			Subject:  preflightSubject(f),
			Sentence: f.Sentence,
			Remedy:   f.Remedy,
		}
		if f.OverwritesData {
			all[i].Severity = Toned(Bad, string(f.Severity)+": data")
		}
		for _, kind := range f.Kinds {
			all[i].Kinds = append(all[i].Kinds, human.Number(kind.Count)+" "+kind.Resource)
		}
	}
	slices.SortStableFunc(all, func(a, b PreflightFinding) int { return cmp.Compare(b.Severity.Tone, a.Severity.Tone) })
	return all
}

// maxItemLength is the longest name of an item shown uncut.
const maxItemLength = 80

func preflightSubject(f preflight.Finding) string {
	names := make([]string, len(f.Names))
	for i, name := range f.Names {
		names[i] = human.Shorten(name, maxItemLength)
	}
	subject := strings.Join(names, ", ")
	if len(names) > 0 {
		subject += human.AndMore(f.Count - len(names))
	}
	if subject != "" && f.Namespace != "" && f.Namespace != subject {
		return "in " + f.Namespace + ": " + subject
	}
	return subject
}

// maxObstacles is the largest number of obstacles that a plan names.
const maxObstacles = 5

// PreflightConsequences returns the findings about a restore as lines of its plan: a summary, and the first
// obstacles. items is nil if their number is unknown. dryRun is true if there was a dry run, complete if nothing was
// left unchecked.
func PreflightConsequences(items *int, findings []preflight.Finding, dryRun, complete bool) (lines []string) {
	what := "an unknown number of items"
	if items != nil {
		what = human.Count(*items, "item")
	}
	for _, f := range findings {
		if f.Severity == preflight.Obstacle && len(lines) < maxObstacles {
			lines = append(lines, "meet an obstacle: "+strings.TrimSuffix(f.Sentence, "."))
		}
	}
	summary := "try to restore " + what + ": preflight found " + joinCounts(findings, " and ")
	if !dryRun {
		summary += ", without a dry run"
	}
	if !complete {
		summary += ", and could not look at everything"
	}
	return append([]string{summary}, lines...)
}
