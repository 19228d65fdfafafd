package dialog

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
)

// Engine makes plans and applies them. Whatever it answers is safe to draw. Its
// methods end with ctx.
type Engine interface {
	// Plans gathers the evidence about a job, which may take minutes, and makes
	// what may be done about it: at least one plan, the evidence's own first.
	Plans(ctx context.Context, about Subject) ([]Plan, error)
	// Apply carries a plan out, or with dryRun only has it checked. report is
	// called as it goes, from any goroutine, and does not block.
	Apply(ctx context.Context, plan Plan, dryRun bool, report func(Progress)) Outcome
}

// Subject is the job that an action is about.
type Subject struct {
	Kind            job.Kind
	Namespace, Name string
	UID             types.UID
}

func (s Subject) String() string { return draw.Subject(s.Kind, s.Name) }

// Plan is one thing that may be done, in words.
type Plan struct {
	// Title is what it does, for a list; Change is all that it changes, in one
	// line, for the plan's own head and the log.
	Title, Change string
	// Cluster is where it would be done.
	Cluster string
	// Why is what the evidence tells, and Certainty how sure it is.
	Why, Certainty string
	// Evidence is what it rests on, under EvidenceTitle.
	Evidence      []Evidence
	EvidenceTitle string
	// Will, WillNot and Then are what it does, leaves as it is, and leads to.
	Will, WillNot, Then []string
	// EffectsFirst puts Will and WillNot before the evidence.
	EffectsFirst bool
	// Commands are the equivalent kubectl commands, none if there are none.
	Commands []string
	// Refusal says why veltui does not do it, empty if it can; Advice is what
	// would help then.
	Refusal, Advice string
	// Steps are those of applying it, in their order.
	Steps []Step
	// Engine is the engine's own form of the plan.
	Engine any
}

// Possible reports whether veltui can do it.
func (p *Plan) Possible() bool { return p.Refusal == "" }

// Evidence is one observation.
type Evidence struct {
	// Holds is false for what could not be found out, or speaks against the plan.
	Holds        bool
	Text, Source string
	At           time.Time // in the cluster's clock, zero if not known
}

// Step is one step of applying a plan.
type Step struct {
	// Name is how progress names it, and What says what it does.
	Name, What string
	Part       Part
	// Note is said while it is under way.
	Note string
}

// Part is what a step is for.
type Part int

// The parts. A dry run does only those that check.
const (
	Checks Part = iota
	Sends
	Observes
)

// Progress is a word of an application that is under way.
type Progress struct {
	Step    string
	Attempt *Attempt
	// Seen is what observing has seen so far.
	Seen string
}

// Attempt is one attempt of a step that failed, or has succeeded if Err is nil.
type Attempt struct {
	Number int
	Err    error
	Last   bool
	// Next is the wait before the next attempt, Left what is left of the deadline.
	Next, Left time.Duration
}

// Outcome is how an application ended.
type Outcome struct {
	// State is the engine's word for it, and Message what happened.
	State, Message string
	// Headline says it in one line, in the tone that it asks for.
	Headline string
	Tone     Tone
	// Checked is true of a dry run that the API server would take; Sent is true
	// once something was carried out.
	Checked, Sent bool
	// Unfinished is true of what was given up before it was decided.
	Unfinished bool
	// Remains is what a person should do now.
	Remains  string
	Warnings []string
	// Files were written on this machine.
	Files []File
	// Next is what a change left to do in the plan's place, nil for nothing.
	Next *Plan
}

// Tone is how good an outcome is.
type Tone int

// The tones.
const (
	Good Tone = iota
	UnderWay
	Mixed
	Bad
)

// File is one that an application has written.
type File struct{ What, Path string }
