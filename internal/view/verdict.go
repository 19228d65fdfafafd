package view

import (
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/velero"
)

// Verdict is what is said of the state of a job or another resource. Summary, State and Proof are its head; Sections
// returns the rest in its order.
type Verdict struct {
	Summary string // the sentence with its subject
	Phase   string // the phase of a job; not set where the head names the phase elsewhere
	State   Text   // the state and the reason, as documented
	// FirstErrors are the first errors of a job that has ended, which are the reason for its result.
	FirstErrors []Text
	Proof       *Proof // nil without a proof
	Cause       PageSection
	Next        []Step // what to do next, empty if nothing must be done
	Options     []Step // other ways out
	NoSteps     string // said if there are neither steps nor options; may be empty
	// NoLimits is said if no wait has a limit; may be empty.
	NoLimits string
	// FactLists lists the facts for the verdict, then those that are unknown or against it. A list without facts is left
	// out.
	FactLists []FactList
	Volumes   []Text      // the volumes of a job that have not ended
	Limits    []PageField // the limits of the open waits
}

// The titles of the parts, to be capitalized like other titles.
const (
	NextTitle    = "next"
	StepsTitle   = "what is left to do"
	FactsTitle   = "facts"
	DoubtsTitle  = "unknown or contradicting"
	VolumesTitle = "volumes that have not ended"
	LimitsTitle  = "limits of what it waits for"
)

// Proof is the fact that proves a verdict.
type Proof struct {
	Kind string
	Fact diagnosis.Fact
}

// Sentence returns the kind of the proof and its fact; empty for no proof.
func (p *Proof) Sentence() string {
	if p == nil {
		return ""
	}
	return p.Kind + ": " + p.Fact.Text
}

// NewVerdict returns a verdict with its advice and evidence. limits are all of Velero's limits for the job; only
// those of an open wait are kept.
func NewVerdict(v diagnosis.Verdict, limits []velero.Limit) Verdict {
	shown := Verdict{
		Summary:   v.Summary(),
		State:     VerdictState(string(v.State()), v.Reason.String()),
		FactLists: NewFactLists(v.Facts, v.Proof.Fact()),
	}
	if !v.Proof.IsZero() {
		shown.Proof = &Proof{string(v.Proof.Kind()), v.Proof.Fact()}
	}
	shown.Next = NextSteps(v.Next())
	waits := make([]velero.WaitName, len(v.Waits))
	for i, wait := range v.Waits {
		waits[i] = wait.Name
	}
	shown.Limits = LimitFields(limits, waits)
	return shown
}

// CauseSentence returns why a job ended badly, with the reason's word; empty if nothing tells.
func CauseSentence(c diagnosis.Cause) string {
	if c.IsZero() {
		return ""
	}
	return human.Capitalize(c.Text) + human.InParens(c.Reason.String())
}

// NextSteps returns what to do next as steps, none if nothing has to be done.
func NextSteps(n diagnosis.Next) []Step {
	if n.Text == "" {
		return nil
	}
	return []Step{{Title: NextTitle, Text: n.Text, Alternatives: n.Commands}}
}

// LimitFields returns the limits that bound the waits, with their sources.
func LimitFields(limits []velero.Limit, waits []velero.WaitName) (fields []PageField) {
	for _, limit := range velero.FilterLimits(limits, waits) {
		text := Toned(Plain, limit.Value+human.InParens(limit.Source))
		fields = append(fields, PageField{Label: limit.Name, Text: text})
	}
	return fields
}

// VerdictState returns a state with its reason, or the reason alone if there is no state.
func VerdictState(state, reason string) Text {
	if state == "" {
		return Phrase("%s", Quote(reason))
	}
	return Phrase("%s (%s)", Quote(state), Quote(reason))
}

// StateSentence returns the phase of the job and the state, as one sentence.
func (v Verdict) StateSentence() Text {
	return Phrase("Phase %s%s.", Quote(v.Phase), PrefixedPhrase(", verdict ", v.State))
}

// Sections returns the parts of the verdict below its head, in the order in which they are read: the cause, what to
// do next, the other ways out, the facts. LimitsSection is the last part, below all other details of the resource.
func (v Verdict) Sections() []PageSection {
	steps := PageSection{Title: StepsTitle, Steps: slices.Concat(withoutCommandsOf(v.Options, v.Next), v.Options)}
	if len(steps.Steps) == 0 && v.NoSteps != "" {
		steps.Lines = []Text{Toned(Plain, v.NoSteps)}
	}
	sections := []PageSection{v.Cause, steps}
	for _, e := range v.FactLists {
		sections = append(sections, e.Section())
	}
	sections = append(sections, PageSection{Title: VolumesTitle, Items: v.Volumes})
	return slices.DeleteFunc(sections, PageSection.IsEmpty)
}

// withoutCommandsOf returns steps without the commands that options have, too: these say what each command leads to.
func withoutCommandsOf(options, steps []Step) []Step {
	kept := slices.Clone(steps)
	for i := range kept {
		kept[i].Alternatives = slices.DeleteFunc(slices.Clone(kept[i].Alternatives), func(command string) bool {
			return slices.ContainsFunc(options, func(o Step) bool { return slices.Contains(o.Commands(), command) })
		})
	}
	return kept
}

// LimitsSection returns the limits of the open waits.
func (v Verdict) LimitsSection() PageSection {
	s := PageSection{Title: LimitsTitle, Fields: v.Limits}
	if len(v.Limits) == 0 && v.NoLimits != "" {
		s.Lines = []Text{Toned(Plain, v.NoLimits)}
	}
	return s
}

// maxVolumesShown is the largest number of volumes of a verdict.
const maxVolumesShown = 20

// OpenVolumes returns the volumes that have not ended, with what holds them up.
func OpenVolumes(volumes []assess.JudgedVolume) []Text {
	var open []Text
	for i := range volumes {
		if !volumes[i].HasEnded() {
			open = append(open, Toned(Plain, NewVolumeLine(&volumes[i]).String()))
		}
	}
	if left := len(open) - maxVolumesShown; left > 0 {
		open = append(open[:maxVolumesShown], Toned(Dim, human.More(left)))
	}
	return open
}

// FactList is a list of facts, which either hold or do not.
type FactList struct {
	Title string
	Doubt bool // the facts are unknown or contradict the verdict
	Facts []diagnosis.Fact
}

// NewFactLists returns a list of the facts that hold, and one of those that are unknown or contradict. It leaves out
// the facts in named, and lists without facts.
func NewFactLists(facts []diagnosis.Fact, named ...diagnosis.Fact) (lists []FactList) {
	for _, list := range []FactList{{Title: FactsTitle}, {Title: DoubtsTitle, Doubt: true}} {
		for _, f := range facts {
			if f.Supports != list.Doubt && !slices.Contains(named, f) {
				list.Facts = append(list.Facts, f)
			}
		}
		if len(list.Facts) > 0 {
			lists = append(lists, list)
		}
	}
	return lists
}

// Section returns the evidence as a section of a page.
func (e FactList) Section() PageSection { return PageSection{Title: e.Title, Facts: e.Facts} }

// FactTone returns the tone of a fact.
func FactTone(f diagnosis.Fact) Tone {
	if f.Supports {
		return Plain
	}
	return Waiting
}

// FactSentence returns a fact with its origin and age.
func FactSentence(f diagnosis.Fact, now time.Time) string {
	return f.Text + human.InParens(FactOrigin(f, now).Text)
}

// FactOrigin returns where a fact was observed, and how long ago.
func FactOrigin(f diagnosis.Fact, now time.Time) Text {
	seen := human.Ago(f.At, now)
	if !f.At.IsZero() && now.Sub(f.At) < time.Second {
		seen = "now"
	}
	text := f.Source + human.Prefixed(", ", seen)
	return Text{Text: text, Narrow: []string{strings.TrimSuffix(text, " ago")}}
}
