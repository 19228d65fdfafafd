package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/retry"
	"github.com/veltui/veltui/watch"
)

type finalizeCommand struct {
	*cli
	writing
	wake, cancel bool
}

func newFinalize(c *cli) *cobra.Command {
	f := finalizeCommand{cli: c, writing: writing{c: c}}
	cmd := &cobra.Command{
		Use:   "finalize KIND/NAME",
		Short: "Finish a backup or restore that Velero has abandoned",
		Long: `Finish a backup or restore that Velero has abandoned.

veltui reads the evidence, shows a plan, asks you to type the job's name, and then
writes one phase:

  All results are stored and a Velero server is running:
      the phase from which Velero finishes the job itself.
  Velero no longer works on the job:
      Failed, as Velero does when it starts.
  A server may still be working on the job:
      nothing. veltui refuses, and says why and what would help.

It never writes Completed.

If another option fits better, veltui prints it with its commands. It applies two
of them itself: --wake makes Velero look at the job again, and --cancel-volumes
cancels stalled data movement (with --volume, that of one volume). veltui never
restarts the Velero server, but it lists the jobs that a restart would fail.

The API server checks the patch first (dry run). veltui sends it only if nothing
has changed since, retries until --timeout, and then watches for --observe whether
somebody reverts it. Annotations, an Event, and finalize.jsonl in veltui's state
folder record who did it, when and why. A copy of the resource is kept there too.

Exit codes: 0 done and not reverted, or the dry run passed; 1 error, or somebody
reverted, altered or deleted it; 2 usage; 5 timed out, or waking it had no effect;
6 refused, or it changed in the meantime; 130 interrupted.`,
		Example: `  # Show evidence and plan, then ask
  veltui finalize restore/crm-old

  # Show evidence and plan, and have the API server check the patch
  veltui finalize restore/crm-old --dry-run=server

  # Give up a job that no running server will finish
  veltui finalize restore/crm-old --phase Failed

  # Start a backup that is ready to start, but that a restarted server forgot
  veltui finalize backup/nightly-20261120 --wake

  # Cancel data movement that has stalled
  veltui finalize backup/nightly-20261120 --cancel-volumes

  # Cancel one volume of it
  veltui finalize backup/nightly-20261120 --volume nightly-20261120-x7k2p

  # In a runbook
  veltui finalize backup/nightly-20261120 --yes --reason "INC-4711" -o json`,
	}
	flags := cmd.Flags()
	flags.StringVar(
		&f.request.Phase,
		"phase",
		"",
		"Write this phase, or refuse if the evidence does not allow it (Failed, PartiallyFailed, Finalizing...)",
	)
	flags.BoolVar(
		&f.wake,
		"wake",
		false,
		"Instead of writing a phase, annotate the job so that Velero looks at it again",
	)
	flags.BoolVar(&f.cancel, "cancel-volumes", false, "Instead of writing a phase, cancel stalled data movement")
	flags.StringVar(&f.request.Volume, "volume", "", "The same for one volume: NAME or KIND/NAME")
	f.addTo(cmd, "none, or server: have the API server check the patch, and write nothing", "none", "server")
	flags.Lookup("timeout").Usage = "How long to retry (default: the resource timeout recorded on the job, else 10m)"
	flags.Lookup("observe").Usage = "How long to watch the result; if not set, up to 4m longer until Velero has " +
		"ended the job"
	c.addCAFile(cmd, flags)
	completeFlag(cmd, "phase", fixed(action.Phases()))
	return c.forJob(cmd, f.run)
}

func (f *finalizeCommand) action() action.Name {
	switch {
	case f.wake:
		return action.Wake
	case f.cancel:
		return action.CancelVolumes
	}
	return action.Finalize
}

func (f *finalizeCommand) run(ctx context.Context, selected selection) error {
	f.cancel = f.cancel || f.request.Volume != ""
	if f.wake && f.cancel || f.request.Phase != "" && f.action() != action.Finalize {
		return usagef("--phase, --wake and --cancel-volumes: give at most one")
	}
	snap, j, err := f.readJob(ctx, selected, watch.Query{NoVerdict: true})
	if err != nil {
		return err
	}
	if err := f.mayAskFor(); err != nil {
		if j.Terminal() && f.action() == action.Finalize {
			err = exitError{
				ExitRefused,
				fmt.Errorf("%s %s/%s has ended: it is %s", j.Kind.Word(), j.Namespace, j.Name, j.Phase),
			}
		}
		return err
	}
	engine, err := f.open(ctx, snap.Namespace)
	if err != nil {
		return err
	}
	evidence, err := engine.Gather(ctx, j.Kind, j.Name)
	if err != nil {
		return err
	}
	plans := action.Plans(evidence, f.request)
	plan := f.wanted(plans)
	_, err = f.carryOut(
		ctx,
		engine,
		&planPrinter{&f.stdio, f.output, &plans[0], plans[1:], func(o *action.Outcome, err error) any {
			return document.NewFinalization(&plans[0], plans[1:], &plan, o, err)
		}},
		&plan,
	)
	return err
}

// wanted is the plan of the chosen action, or a refusal if the evidence does not call for it.
func (f *finalizeCommand) wanted(plans []action.Plan) action.Plan {
	name := f.action()
	if i := slices.IndexFunc(plans, func(p action.Plan) bool { return p.Action == name }); i >= 0 {
		return plans[i]
	}
	p := plans[0]
	return action.Plan{Action: name, Kind: p.Kind, Namespace: p.Namespace, Name: p.Name, From: p.From,
		Refusal: "the evidence does not call for it", Advice: p.Advice}
}

const (
	waitsQuietly     = 2 * time.Second
	waitingForAnswer = "waiting for Velero and the object store to say: %s (up to a minute)..."
	waitingForStored = "waiting for Velero and the object store to send %s (Velero has a minute to answer)..."
)

// tellSlow prints a sentence about something that takes long; an empty text ends it.
func (c *stdio) tellSlow(sentence string) func(what string) {
	var timer *time.Timer
	return func(what string) {
		if timer != nil {
			timer.Stop()
		}
		if what != "" {
			timer = time.AfterFunc(waitsQuietly, func() { fmt.Fprintf(c.streams.ErrOut, sentence+"\n", what) })
		}
	}
}

func finalizeExit(o *action.Outcome, err error) error {
	var over *retry.DeadlineError
	switch {
	case errors.Is(err, action.ErrReadOnly):
		return exitError{ExitRefused, nil} // the outcome says so
	case errors.As(err, &over):
		return exitError{ExitTimeout, nil}
	case err != nil:
		return err
	}
	return exitWith(outcomeCodes[o.State])
}

var outcomeCodes = map[action.State]int{
	action.Refused: ExitRefused, action.Changed: ExitRefused, action.NoEffect: ExitTimeout,
	action.Reverted: ExitError, action.Deleted: ExitError, action.Altered: ExitError,
	action.CarriedOut: ExitError, action.Misdirected: ExitError,
}

const settlePatience = 5 * time.Second

// unfinished describes the attempts of the audit log that were not completed. Their outcome is
// looked up on the cluster of their connection; without attempts no cluster is asked. Those that have written to it, or
// may have, are added to open, unless that is nil.
func (c *cli) unfinished(ctx context.Context, open *[]action.Attempt, connections ...cluster.Connection) []string {
	dir, err := c.auditDir()
	if err != nil {
		return nil // writes will say so
	}
	now := c.clock()
	attempts, _, err := action.UnfinishedAttempts(dir, now)
	var all []string
	if err != nil {
		all = append(
			all,
			sanitize.Whole(fmt.Sprintf("veltui does not know of all attempts that were not completed: %v", err)),
		)
	}
	ctx, cancel := context.WithTimeout(ctx, settlePatience)
	defer cancel()
	for i := range attempts {
		sentence, fate := settle(ctx, c.inspected(), &attempts[i], connections)
		if all = append(
			all,
			sanitize.Whole(attempts[i].Describe(now)+sentence),
		); open != nil &&
			(!fate.Known || fate.Sent == action.Landed) {
			*open = append(*open, attempts[i])
		}
	}
	return all
}

func settle(
	ctx context.Context,
	inspected *cluster.Cluster,
	a *action.Attempt,
	connections []cluster.Connection,
) (string, action.Fate) {
	for _, conn := range connections {
		engine, err := inspected.Engine(
			conn,
			a.Namespace,
			cluster.EngineOptions{ReadOnly: inspected.ReadOnly, NoStore: true},
		)
		if err != nil || !engine.IsHere(a) {
			continue
		}
		fate, err := engine.Settle(ctx, a)
		switch {
		case err != nil && fate.Message == "":
			return fmt.Sprintf("; its outcome could not be looked up: %v.", err), fate
		case err != nil:
			return fmt.Sprintf(": %s. That could not be recorded: %v.", fate.Message, err), fate
		case fate.Phase != "":
			return fmt.Sprintf(": %s. The %s is %s now.", fate.Message, a.Kind, fate.Phase), fate
		}
		return ": " + fate.Message + ".", fate
	}
	return fmt.Sprintf(
			"; its outcome is looked up when veltui is connected to %s.",
			a.Cluster,
		), action.Fate{
			Known: true,
		}
}

func (c *connector) connections(contexts []string) []cluster.Connection {
	var all []cluster.Connection
	for _, name := range contexts {
		if conn, err := c.withContext(name, "").connect(); err == nil {
			all = append(all, conn)
		}
	}
	return all
}

// planPrinter prints evidence and plan, attempts and outcome; as JSON or YAML, one document at the end.
type planPrinter struct {
	*stdio
	output   string
	facts    *action.Plan // the plan whose facts are shown
	remedies []action.Plan
	document func(*action.Outcome, error) any
}

// shown is where a plan is printed: where the user who is asked sees it. It is nil for nowhere.
func (s *stdio) shown(output string, asks bool) io.Writer {
	switch {
	case output == "text" && asks && !isTerminal(s.stdout):
		return io.MultiWriter(s.streams.Out, s.streams.ErrOut)
	case output == "text":
		return s.streams.Out
	case asks:
		return s.streams.ErrOut
	}
	return nil
}

func (f *planPrinter) plan(p *action.Plan, asks bool) error {
	l := lines{w: f.shown(f.output, asks)}
	if l.w == nil {
		return nil
	}
	l.add("%s %s %s/%s", p.Action, p.Kind.Word(), p.Namespace, p.Name)
	evidence := f.facts.Evidence()
	l.add("cluster: %s", evidence.Cluster)
	l.facts(f.facts.Facts(), evidence.At)
	if !p.Possible() {
		l.add("\nrefused: %s", p.Refusal)
		l.clause("next: ", p.Advice)
		l.remedies(f.remedies, p.Action)
		return l.err
	}
	if l.add(""); !p.Proposed() {
		l.add("why: %s", p.Why)
	}
	if p.To != "" {
		l.add("plan: %s -> %s", dash(p.From), p.To)
	}
	for i, items := range [][]string{p.Will, p.WillNot, p.Then} {
		l.list(consequences[i], items)
	}
	if len(p.Commands) > 0 {
		l.add("\nto do the same with %s:", p.Program())
	}
	for _, c := range p.Commands {
		l.command("", c)
	}
	return l.err
}

func (f *planPrinter) progress(p action.Progress) {
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
	action.StepPatch: "sending the request", action.StepObserve: "watching the result",
}

func (f *planPrinter) outcome(shown *action.Plan, o *action.Outcome, err error) error {
	if f.output != "text" {
		return printDocument(f.streams.Out, f.output, f.document(o, err), false)
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
func (f *planPrinter) end(printErr error, o *action.Outcome, err error) error {
	exit := finalizeExit(o, err)
	if printErr == nil {
		return exit
	}
	if o.Sent == action.NotSent && exit == nil {
		exit = exitError{ExitError, nil}
	}
	l := lines{w: f.streams.ErrOut}
	var printing printError
	if errors.As(printErr, &printing) {
		printErr = printing.error
	}
	l.add("error: cannot print the outcome: %s", printErr)
	l.add("%s, %s: %s", o.State, o.Sent, o.Message)
	l.records(o)
	return exit
}

func (l *lines) records(o *action.Outcome) {
	if len(o.Undo) > 0 {
		l.add("to undo it, before Velero acts on it:")
	}
	for _, c := range o.Undo {
		l.command("", c)
	}
	for _, w := range o.Warnings {
		l.add("warning: %s", w)
	}
	if o.Copy != "" {
		l.add("copy of the resource before the change: %s", o.Copy)
	}
	if o.Log != "" {
		l.add("log: %s", o.Log)
	}
}
