package cmd

import (
	"io"
	"strings"
	"time"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/say/document"
)

// finalizePrinter prints evidence and plan, attempts and outcome; as JSON or YAML, one document at the end.
type finalizePrinter struct {
	*stdio
	output   string
	finalize *action.Plan // or the refusal
	remedies []action.Plan
}

func (f *finalizePrinter) plan(p *action.Plan, asks bool) error {
	l := lines{w: f.streams.Out}
	switch {
	case f.output == "text" && asks && !isTerminal(f.stdout):
		l.w = io.MultiWriter(f.streams.Out, f.streams.ErrOut)
	case f.output == "text":
	case asks:
		l.w = f.streams.ErrOut
	default:
		return nil
	}
	l.add("%s %s %s/%s", p.Action, p.Kind.Word(), p.Namespace, p.Name)
	evidence := f.finalize.Evidence()
	l.add("cluster: %s", evidence.Cluster)
	l.facts(f.finalize.Facts(), evidence.At)
	if !p.Possible() {
		l.add("\nrefused: %s", p.Refusal)
		l.clause("what would help: ", p.Advice)
		l.remedies(f.remedies, p.Action)
		return l.err
	}
	l.add("\nwhy: %s", p.Why)
	if p.To != "" {
		l.add("plan: %s -> %s", dash(p.From), p.To)
	}
	for i, items := range [][]string{p.Will, p.WillNot, p.Then} {
		l.list(consequences[i], items)
	}
	l.add("\nto do the same with kubectl:")
	for _, c := range p.Commands {
		l.command("", c)
	}
	return l.err
}

func (f *finalizePrinter) progress(p action.Progress) {
	a := p.Attempt
	l := lines{w: f.streams.ErrOut}
	switch {
	case a != nil && a.Err != nil && a.Last:
		l.add("%s: attempt %d: %v", p.Step, a.Number, a.Err)
	case a != nil && a.Err != nil:
		l.add("%s: attempt %d: %v; next in %s, %s left", p.Step, a.Number, a.Err,
			a.Next.Round(100*time.Millisecond), a.Left.Round(time.Second))
	case a == nil && p.Phase == "":
		l.add("%s...", stepWords[p.Step])
	}
}

var stepWords = map[action.Step]string{
	action.StepLook: "reading the evidence again", action.StepDryRun: "asking the API server for a dry run",
	action.StepPatch: "sending the patch", action.StepObserve: "watching the result",
}

func (f *finalizePrinter) outcome(shown *action.Plan, o *action.Outcome, err error) error {
	if f.output != "text" {
		return printDocument(f.streams.Out, f.output, document.NewFinalization(f.finalize, f.remedies, shown, o, err))
	}
	if !shown.Possible() && err == nil {
		return nil // has been said
	}
	l := lines{w: f.streams.Out}
	l.add("\n%s: %s", o.State, o.Message)
	if o.State == action.Changed && o.Plan.Refusal != "" {
		l.add("now: %s", o.Plan.Refusal)
	} else if o.State == action.Changed && o.Plan.To != "" {
		l.add("now possible: %s -> %s", dash(o.Plan.From), o.Plan.To)
	}
	l.records(o)
	return l.err
}

// end returns the exit code. An outcome that could not be printed goes to standard error; the
// exit code depends on what was sent, not on who could read it.
func (f *finalizePrinter) end(printErr error, o *action.Outcome, err error) error {
	exit := finalizeExit(o, err)
	if printErr == nil {
		return exit
	}
	if o.Sent == action.NotSent && exit == nil {
		exit = exitError{ExitError, nil}
	}
	l := lines{w: f.streams.ErrOut}
	l.add("error: cannot print the outcome: %s", strings.TrimPrefix(printErr.Error(), "printing: "))
	l.add("%s, %s: %s", o.State, o.Sent, o.Message)
	l.records(o)
	return exit
}

func (l *lines) records(o *action.Outcome) {
	for _, w := range o.Warnings {
		l.add("warning: %s", w)
	}
	if o.Copy != "" {
		l.add("copy of the resource before the change: %s", o.Copy)
		l.add("log: %s", o.Log)
	}
}
