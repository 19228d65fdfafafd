package ui

import (
	"fmt"
	"strings"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/finalize"
)

// choice is one thing that may be done about a job: a plan for its phase, or
// another way out. Exactly one of the two is set.
type choice struct {
	plan *finalize.Plan
	way  *finalize.Way
}

// choices are what the evidence leaves to choose from, its own plan first.
// Where that is a refusal there may be other phases that a person can decide
// for.
func choices(e finalize.Evidence, r finalize.Request) []choice {
	own := finalize.Draft(e, r)
	found := []choice{{plan: &own}}
	ways := finalize.Ways(e, r)
	for i := range ways {
		if ways[i].Action != finalize.Restart {
			found = append(found, choice{way: &ways[i]})
		}
	}
	if own.Action == finalize.Refuse {
		for _, phase := range []string{"PartiallyFailed", "Failed"} {
			asked := r
			asked.Phase = phase
			other := finalize.Draft(e, asked)
			if other.Action != finalize.Refuse {
				found = append(found, choice{plan: &other})
			}
		}
	}
	for i := range ways { // the roughest comes last, and only where nothing better is
		if ways[i].Action == finalize.Restart && own.Action == finalize.Refuse {
			found = append(found, choice{way: &ways[i]})
		}
	}
	return found
}

// refusal says why it cannot be done from here, empty if it can, and what would
// help then.
func (c choice) refusal() (why, advice string) {
	switch {
	case c.way == nil && c.plan.Action == finalize.Refuse:
		return c.plan.Refusal, c.plan.Advice
	case c.way != nil && !c.way.CanTake():
		return c.way.Refusal, c.way.Advice
	}
	return "", ""
}

func (c choice) possible() bool {
	if c.way != nil {
		return c.way.CanTake()
	}
	return c.plan.Action != finalize.Refuse
}

// title is what it does, for a list.
func (c choice) title() string {
	switch {
	case c.way != nil && !c.way.CanTake() && len(c.way.Commands) > 0:
		return c.way.Title + " (veltui only shows the command)"
	case c.way != nil && !c.way.CanTake():
		return c.way.Title + " (not possible)"
	case c.way != nil:
		return c.way.Title
	case c.plan.Action == finalize.Refuse:
		return "leave it as it is"
	case c.plan.Action == finalize.Nudge:
		return "move it on to " + c.plan.To
	case c.plan.From == "InProgress":
		return "end it as " + c.plan.To
	}
	return "give it up: write " + c.plan.To
}

// words are all that it changes, in one line.
func (c choice) words() string {
	switch {
	case c.way != nil:
		return c.way.Title
	case c.plan.Action == finalize.Refuse:
		return "nothing"
	}
	from := c.plan.From
	if from == "" {
		from = "no phase"
	}
	text := from + " -> " + c.plan.To
	for _, f := range c.plan.Set {
		text += ", " + fieldWords(f)
	}
	return text
}

func fieldWords(f finalize.Field) string {
	switch f.Name {
	case "errors":
		return count(f.Value, "error")
	case "warnings":
		return count(f.Value, "warning")
	}
	return fmt.Sprintf("%s %d", f.Name, f.Value)
}

func (c choice) why() string {
	if c.way != nil {
		return c.way.Why
	}
	return c.plan.Why
}

// effects are what it does, does not, and leads to.
func (c choice) effects() (will, willNot, then []string) {
	if c.way != nil {
		return c.way.Will, c.way.WillNot, c.way.Then
	}
	return c.plan.Will, c.plan.WillNot, c.plan.Then
}

// commands are the equivalent kubectl commands.
func (c choice) commands() []string {
	switch {
	case c.way != nil:
		return c.way.Commands
	case c.plan.Command == "":
		return nil
	}
	return []string{c.plan.Command}
}

func (c choice) evidence() finalize.Evidence {
	if c.way != nil {
		return c.way.Evidence()
	}
	return c.plan.Evidence()
}

// facts are what it stands on.
func (c choice) facts() []diagnosis.Fact {
	if c.way == nil {
		return c.plan.Facts()
	}
	plan := finalize.Draft(c.way.Evidence(), finalize.Request{})
	return plan.Facts()
}

// certainty says in words how sure it is.
func (c choice) certainty() string {
	text := ""
	switch e := c.evidence(); {
	case c.way != nil:
		return "It writes no phase: Velero itself does the rest."
	case c.plan.Action == finalize.Nudge:
		text = "Very high: all artifacts are stored; Velero will finish it."
	case len(e.Server.Running) == 0:
		text = "No pod was recognised as a Velero server, and nothing that works on it wrote in the last five minutes. A server that nobody recognised may still come back to it."
	case c.plan.From == "InProgress":
		text = "High: the server that worked on it is gone."
	default:
		text = "Velero has not begun with it, and will not then. This is your decision, not what the evidence asks for."
	}
	if _, open := dividedFacts(c.facts()); len(open) > 0 {
		text += " But see below what is not known, or speaks against it."
	}
	return text
}

// afterChange is what a change left to choose, as the outcome tells it; nil if
// that is nothing.
func afterChange(o *finalize.Outcome, ran choice) *choice {
	switch {
	case o.State != finalize.Changed:
	case ran.way != nil && o.Way.Action != "" && !o.Way.Same(ran.way):
		next := o.Way
		return &choice{way: &next}
	case ran.plan != nil && o.Plan.Action != "" && !o.Plan.Same(ran.plan):
		next := o.Plan
		return &choice{plan: &next}
	}
	return nil
}

// parting is one line for the user's own terminal about what was done.
func parting(t target, c choice, o *finalize.Outcome) string {
	text := fmt.Sprintf("%s: %s: %s: %s", t, c.words(), o.State, o.Message)
	if o.Log != "" {
		text += " (log: " + o.Log + ")"
	}
	return text
}

// commandText is all commands, one a line.
func (c choice) commandText() string { return strings.Join(c.commands(), "\n") }
