package ui

import (
	"fmt"
	"strings"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/finalize"
)

// choice is one thing that may be done about a job.
type choice struct{ plan *finalize.Plan }

// choices are what the evidence leaves to choose from, finalizing first. Where
// that is a refusal there may be other phases that a person can decide for. What
// veltui only advises comes last, and a restart only where nothing better is.
func choices(e finalize.Evidence, r finalize.Request) []choice {
	plans := finalize.Plans(e, r)
	found, refused := []choice{{&plans[0]}}, plans[0].Effect() == finalize.Refuse
	for i := range plans[1:] {
		if p := &plans[1+i]; p.Action != finalize.Restart {
			found = append(found, choice{p})
		}
	}
	if refused {
		for _, phase := range []string{"PartiallyFailed", "Failed"} {
			asked := r
			asked.Phase = phase
			if p, _ := finalize.For(finalize.Finalize, e, asked); p.Effect() != finalize.Refuse {
				found = append(found, choice{&p})
			}
		}
	}
	for i := range plans[1:] {
		if p := &plans[1+i]; p.Action == finalize.Restart && refused {
			found = append(found, choice{p})
		}
	}
	return found
}

// other reports whether it is another action than finalizing.
func (c choice) other() bool { return c.plan.Action != finalize.Finalize }

// refusal says why it cannot be done from here, empty if it can, and what would
// help then.
func (c choice) refusal() (why, advice string) { return c.plan.Refusal, c.plan.Advice }

func (c choice) possible() bool { return c.plan.Possible() }

// title is what it does, for a list.
func (c choice) title() string {
	switch {
	case c.possible() || !c.other():
		return c.plan.Title
	case len(c.plan.Commands) > 0:
		return c.plan.Title + " (veltui only shows the command)"
	}
	return c.plan.Title + " (not possible)"
}

// words are all that it changes, in one line.
func (c choice) words() string {
	switch {
	case c.other():
		return c.plan.Title
	case c.plan.Effect() == finalize.Refuse:
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

func (c choice) why() string { return c.plan.Why }

// effects are what it does, does not, and leads to.
func (c choice) effects() (will, willNot, then []string) {
	return c.plan.Will, c.plan.WillNot, c.plan.Then
}

// commands are the equivalent kubectl commands.
func (c choice) commands() []string { return c.plan.Commands }

func (c choice) evidence() finalize.Evidence { return c.plan.Evidence() }

// facts are what it stands on.
func (c choice) facts() []diagnosis.Fact { return c.plan.Facts() }

// certainty says in words how sure it is.
func (c choice) certainty() string {
	text := ""
	switch e := c.evidence(); {
	case c.other():
		return "It writes no phase: Velero itself does the rest."
	case c.plan.Effect() == finalize.Nudge:
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
	if o.State != finalize.Changed || o.Plan.Action == "" || o.Plan.Same(ran.plan) {
		return nil
	}
	next := o.Plan
	return &choice{&next}
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
