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
	"github.com/veltui/veltui/internal/view/remedy"
	"github.com/veltui/veltui/retry"
	"github.com/veltui/veltui/watch"
)

type finalizeCommand struct {
	write               writeCommand
	wake, cancelVolumes bool
}

func newFinalizeCommand(c *cli) *cobra.Command {
	f := finalizeCommand{write: writeCommand{cli: c}}
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
		&f.write.request.Phase,
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
	flags.BoolVar(&f.cancelVolumes, "cancel-volumes", false, "Instead of writing a phase, cancel stalled data movement")
	flags.StringVar(&f.write.request.Volume, "volume", "", "The same for one volume: NAME or KIND/NAME")
	f.write.addWriteFlags(cmd, "none, or server: have the API server check the patch, and write nothing", "none", "server")
	flags.Lookup("timeout").Usage = "How long to retry (default: the resource timeout recorded on the job, else 10m)"
	flags.Lookup("observe").Usage = "How long to watch the result; if not set, up to 4m longer until Velero has " +
		"ended the job"
	c.addStoreCAFlag(cmd, flags)
	completeFlag(cmd, "phase", completeFixed(action.FinalizePhases()))
	return c.requireOneJob(cmd, f.runFinalize)
}

func (f *finalizeCommand) chosenAction() action.Kind {
	switch {
	case f.wake:
		return action.Wake
	case f.cancelVolumes:
		return action.CancelVolumes
	}
	return action.Finalize
}

func (f *finalizeCommand) runFinalize(ctx context.Context, selected selection) error {
	f.cancelVolumes = f.cancelVolumes || f.write.request.Volume != ""
	if f.wake && f.cancelVolumes || f.write.request.Phase != "" && f.chosenAction() != action.Finalize {
		return usageErrorf("--phase, --wake and --cancel-volumes: give at most one")
	}
	snap, j, err := f.write.cli.readJob(ctx, selected, watch.Query{SkipVerdicts: true})
	if err != nil {
		return err
	}
	if err := f.write.checkCanConfirm(); err != nil {
		if j.IsTerminal() && f.chosenAction() == action.Finalize {
			err = exitError{
				ExitRefused,
				fmt.Errorf("%s %s/%s has ended: it is %s", j.Kind.Noun(), j.Namespace, j.Name, j.Phase),
			}
		}
		return err
	}
	engine, err := f.write.openEngine(ctx, snap.Namespace)
	if err != nil {
		return err
	}
	evidence, err := engine.GatherEvidence(ctx, j.Kind, j.Name)
	if err != nil {
		return err
	}
	plans := action.BuildPlans(evidence, f.write.request)
	plan := f.choosePlan(plans)
	_, err = f.write.confirmAndApply(
		ctx,
		engine,
		&planPrinter{f.write.cli.stdio, f.write.output, &plans[0], plans[1:], func(o *action.Outcome, err error) any {
			return document.NewFinalization(&plans[0], plans[1:], &plan, o, err)
		}},
		&plan,
	)
	return err
}

// choosePlan returns the plan of the chosen action, or a refusal if the evidence does not call for that action.
func (f *finalizeCommand) choosePlan(plans []action.Plan) action.Plan {
	name := f.chosenAction()
	if i := slices.IndexFunc(plans, func(p action.Plan) bool { return p.Action == name }); i >= 0 {
		return plans[i]
	}
	p := plans[0]
	return action.Plan{Action: name, Kind: p.Kind, Namespace: p.Namespace, Name: p.Name, FromPhase: p.FromPhase,
		Refusal: "the evidence does not call for it", Advice: p.Advice}
}

const (
	slowWarningDelay     = 2 * time.Second
	waitingForAnswerText = "waiting for Velero and the object store to say: %s (up to a minute)..."
	waitingForStoredText = "waiting for Velero and the object store to send %s (Velero has a minute to answer)..."
)

// warnSlow returns a function that prints the sentence if the named work takes long; an empty name ends the wait.
func (c *stdio) warnSlow(sentence string) func(what string) {
	var timer *time.Timer
	return func(what string) {
		if timer != nil {
			timer.Stop()
		}
		if what != "" {
			timer = time.AfterFunc(slowWarningDelay, func() { fmt.Fprintf(c.streams.ErrOut, sentence+"\n", what) })
		}
	}
}

func finalizeExitError(o *action.Outcome, err error) error {
	var over *retry.DeadlineError
	switch {
	case errors.Is(err, action.ErrReadOnly):
		return exitError{ExitRefused, nil} // printed with the outcome
	case errors.As(err, &over):
		return exitError{ExitTimeout, nil}
	case err != nil:
		return err
	}
	return newExitError(outcomeExitCodes[o.State])
}

var outcomeExitCodes = map[action.OutcomeState]int{
	action.StateRefused: ExitRefused, action.StateChanged: ExitRefused, action.StateNoEffect: ExitTimeout,
	action.StateReverted: ExitError, action.StateDeleted: ExitError, action.StateAltered: ExitError,
	action.StateCarriedOut: ExitError, action.StateMisdirected: ExitError,
}

const settleTimeout = 5 * time.Second

// describeUnfinishedAttempts describes the attempts in the audit log that were not completed. It checks their outcomes
// on the clusters of the connections; without attempts it makes no request. Attempts that have or may have written to
// their cluster are added to open, unless open is nil.
func (c *cli) describeUnfinishedAttempts(
	ctx context.Context,
	open *[]action.Attempt,
	connections ...cluster.Connection,
) []string {
	dir, err := c.files.auditDir()
	if err != nil {
		return nil // writes report the error
	}
	now := c.process.clock()
	attempts, _, err := action.UnfinishedAttempts(dir, now)
	var all []string
	if err != nil {
		all = append(
			all,
			sanitize.FullLine(fmt.Sprintf("veltui does not know of all attempts that were not completed: %v", err)),
		)
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for i := range attempts {
		sentence, fate := settleAttempt(ctx, c.newCluster(), &attempts[i], connections)
		if all = append(
			all,
			sanitize.FullLine(attempts[i].FormatSummary(now)+sentence),
		); open != nil &&
			(!fate.IsKnown || fate.Sent == action.Landed) {
			*open = append(*open, attempts[i])
		}
	}
	return all
}

func settleAttempt(
	ctx context.Context,
	inspected *cluster.Cluster,
	a *action.Attempt,
	connections []cluster.Connection,
) (string, action.AttemptFate) {
	for _, conn := range connections {
		engine, err := inspected.NewEngine(
			conn,
			a.Namespace,
			cluster.EngineOptions{ReadOnly: inspected.ReadOnly, SkipStore: true},
		)
		if err != nil || !engine.IsSameCluster(a) {
			continue
		}
		fate, err := engine.SettleAttempt(ctx, a)
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
		), action.AttemptFate{
			IsKnown: true,
		}
}

func (c *connector) openConnections(contexts []string) []cluster.Connection {
	var all []cluster.Connection
	for _, name := range contexts {
		if conn, err := c.withContext(name, "").openConnection(); err == nil {
			all = append(all, conn)
		}
	}
	return all
}

// planPrinter prints evidence and plan, attempts and outcome; with JSON or YAML, it prints one document at the end.
type planPrinter struct {
	stdio       *stdio
	output      string
	factsPlan   *action.Plan // the plan whose facts are shown
	remedies    []action.Plan
	newDocument func(*action.Outcome, error) any
}

// planWriter returns where to print a plan: wherever the user who is asked sees it. It is nil for nowhere.
func (s *stdio) planWriter(output string, asks bool) io.Writer {
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

func (f *planPrinter) printPlan(p *action.Plan, asks bool) error {
	w := f.stdio.planWriter(f.output, asks)
	if w == nil {
		return nil
	}
	l := newLinePrinter(w)
	l.Line("%s %s %s/%s", p.Action, p.Kind.Noun(), p.Namespace, p.Name)
	evidence := f.factsPlan.Evidence()
	l.Line("cluster: %s", evidence.Cluster)
	l.addEvidence(f.factsPlan.Facts(), evidence.Now)
	if !p.IsPossible() {
		l.Line("\nrefused: %s", p.Refusal)
		l.PrefixedLine("next: ", p.Advice)
		for _, step := range remedy.OptionSteps(f.remedies, p.Action) {
			l.Step(step)
		}
		return l.Err()
	}
	if l.Line(""); !p.IsProposed() {
		l.Line("why: %s", p.EvidenceText)
	}
	if p.ToPhase != "" {
		l.Line("plan: %s", remedy.ChangeSummary(p))
	}
	for _, list := range remedy.ListConsequences(p) {
		l.List(list.Title, list.Items)
	}
	if len(p.Commands) > 0 {
		l.Line("\nto do the same with %s:", p.CommandProgram())
	}
	for _, c := range p.Commands {
		l.Command("", c)
	}
	return l.Err()
}

func (f *planPrinter) printProgress(p action.Progress) {
	a := p.Attempt
	l := newLinePrinter(f.stdio.streams.ErrOut)
	switch {
	case a != nil && a.Err != nil && a.Last:
		l.Line("%s: attempt %d: %v", p.Step, a.Number, a.Err)
	case a != nil && a.Err != nil:
		l.Line("%s: attempt %d: %v; next in %s, %s left", p.Step, a.Number, a.Err,
			a.Delay.Round(100*time.Millisecond), a.Remaining.Round(time.Second))
	case a == nil && p.Phase == "":
		l.Line("%s...", remedy.StepInProgressText(p.Step))
	}
}

func (f *planPrinter) printOutcome(shown *action.Plan, o *action.Outcome, err error) error {
	if f.output != "text" {
		return printDocument(f.stdio.streams.Out, f.output, f.newDocument(o, err), false)
	}
	if !shown.IsPossible() && err == nil {
		return nil // the refusal was printed with the plan
	}
	l := newLinePrinter(f.stdio.streams.Out)
	l.Line("\n%s: %s", o.State, o.Message)
	if o.State == action.StateChanged && o.Plan.Refusal != "" {
		l.Line("now: %s", o.Plan.Refusal)
	} else if o.State == action.StateChanged && o.Plan.ToPhase != "" {
		l.Line("now possible: %s", remedy.ChangeSummary(&o.Plan))
	}
	l.addOutcomeDetails(o)
	return l.Err()
}

// exitAfterOutcome returns the exit code. If the outcome could not be printed, it goes to standard error; the exit
// code depends on what was sent, not on who could read it.
func (f *planPrinter) exitAfterOutcome(printErr error, o *action.Outcome, err error) error {
	exit := finalizeExitError(o, err)
	if printErr == nil {
		return exit
	}
	if o.Sent == action.NotSent && exit == nil {
		exit = exitError{ExitError, nil}
	}
	l := newLinePrinter(f.stdio.streams.ErrOut)
	var printing outputError
	if errors.As(printErr, &printing) {
		printErr = printing.error
	}
	l.Line("error: cannot print the outcome: %s", printErr)
	l.Line("%s, %s: %s", o.State, o.Sent, o.Message)
	l.addOutcomeDetails(o)
	return exit
}

func (l *linePrinter) addOutcomeDetails(o *action.Outcome) {
	if len(o.UndoCommands) > 0 {
		l.Line("to undo it, before Velero acts on it:")
	}
	for _, c := range o.UndoCommands {
		l.Command("", c)
	}
	for _, w := range o.Warnings {
		l.Line("warning: %s", w)
	}
	if o.CopyPath != "" {
		l.Line("copy of the resource before the change: %s", o.CopyPath)
	}
	if o.AuditLogPath != "" {
		l.Line("log: %s", o.AuditLogPath)
	}
}
