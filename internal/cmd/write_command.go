package cmd

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

// writeCommand holds what all commands that change a cluster have in common.
type writeCommand struct {
	cli               *cli
	request           action.Request // from the flags
	context           string         // of the connection
	dryRun, output    string
	yes, wait         bool
	preflightDocument *document.Preflight // the obstacles of a restore; nil without a preflight
	waitErr           *error              // the error of waiting; nil without waiting
	timeout, observe  time.Duration
}

// addWriteFlags adds the flags; the first possible dry run is "none".
func (w *writeCommand) addWriteFlags(cmd *cobra.Command, dryRunHelp string, dryRuns ...string) {
	flags := cmd.Flags()
	flags.StringVar(&w.request.Reason, "reason", "", "Why you do it, in one line, for the resource and the log")
	addChoiceFlag(cmd, &w.dryRun, "dry-run", "", dryRunHelp, dryRuns...)
	flags.Lookup("dry-run").NoOptDefVal = "server"
	flags.BoolVarP(&w.yes, "yes", "y", false, "Do not ask for confirmation")
	flags.DurationVar(&w.timeout, "timeout", 0, "How long to retry (default 10m)")
	flags.DurationVar(&w.observe, "observe", action.DefaultObservePeriod, "How long to watch the result")
	addOutputFlag(cmd, &w.output, "text", "json", "yaml")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return w.checkUsage(cmd) }
}

func (w *writeCommand) addWaitFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&w.wait, "wait", "w", false, "Wait until it has ended, with a live bar")
}

func (w *writeCommand) checkUsage(cmd *cobra.Command) error {
	switch {
	case w.timeout < 0:
		return usageErrorf("--timeout %s: must not be negative", w.timeout)
	case w.observe <= 0:
		return usageErrorf("--observe %s: must be more than 0", w.observe)
	}
	if !cmd.Flags().Changed("observe") {
		w.observe = 0 // and longer, until Velero has ended what it must end
	}
	return nil
}

func (w *writeCommand) needsConfirmation() bool {
	return w.dryRun == "none" && !w.yes && !w.cli.settings.isReadOnly()
}

// checkCanConfirm returns an error if a question is needed and cannot be asked.
func (w *writeCommand) checkCanConfirm() error {
	if !w.needsConfirmation() {
		return nil
	}
	return w.cli.stdio.checkCanAsk()
}

// openEngine connects to the Velero in a namespace, after it has reported earlier unfinished attempts.
func (w *writeCommand) openEngine(ctx context.Context, namespace string) (*action.Engine, error) {
	c := w.cli
	conn, err := c.connector.openConnection()
	if err != nil {
		return nil, err
	}
	for _, sentence := range c.describeUnfinishedAttempts(ctx, &w.request.EarlierAttempts, conn) {
		fmt.Fprintln(c.stdio.streams.ErrOut, sentence)
	}
	w.context = conn.Context
	w.request.Context = conn.Request.Context
	w.request.Flags = conn.Request.Flags
	w.request.Environment = conn.Request.Environment
	return c.newCluster().NewEngine(conn, namespace, cluster.EngineOptions{
		ReadOnly:   c.settings.isReadOnly(),
		SkipStore:  c.settings.isReadOnly(),
		Timeout:    w.timeout,
		ObserveFor: w.observe,
		OnWaiting:  c.stdio.warnSlow(waitingForAnswerText),
	})
}

// confirmAndApply shows a plan, asks for confirmation, applies the plan and prints the outcome.
func (w *writeCommand) confirmAndApply(
	ctx context.Context,
	engine *action.Engine,
	show *planPrinter,
	plan *action.Plan,
) (action.Outcome, error) {
	if err := show.printPlan(plan, w.needsConfirmation()); err != nil {
		return action.Outcome{}, err
	}
	if plan.IsPossible() && w.needsConfirmation() {
		text := cmp.Or(plan.ConfirmationText(w.context), "yes")
		if err := w.cli.stdio.askConfirmation(ctx, text, plan.Evidence().Cluster); err != nil {
			return action.Outcome{}, err
		}
	}
	outcome, err := engine.ApplyPlan(ctx, *plan, w.dryRun == "server", show.printProgress)
	return outcome, show.exitAfterOutcome(show.printOutcome(plan, &outcome, err), &outcome, err)
}

// proposeAndApply carries out an action that is not about a running job.
func (w *writeCommand) proposeAndApply(
	ctx context.Context,
	name action.Kind,
	o *unstructured.Unstructured,
	namespace string,
) error {
	engine, err := w.openEngine(ctx, namespace)
	if err != nil {
		return err
	}
	plan, err := engine.ProposePlan(ctx, name, o, w.request)
	if err != nil {
		return err
	}
	outcome, err := w.confirmAndApply(
		ctx,
		engine,
		&planPrinter{w.cli.stdio, w.output, &plan, nil, func(o *action.Outcome, err error) any {
			d := document.NewChange(&plan, w.preflightDocument, o, err)
			d.Wait = w.waitForCreated(ctx, jobRef{plan.Kind, plan.Name}, o)
			return d
		}},
		&plan,
	)
	if w.output == "text" {
		w.waitForCreated(ctx, jobRef{plan.Kind, plan.Name}, &outcome)
	}
	if w.waitErr != nil {
		return *w.waitErr
	}
	return err
}

// waitForCreated continues with `veltui wait` for the created object. It prints the result, or returns it for a
// document.
func (w *writeCommand) waitForCreated(ctx context.Context, name jobRef, o *action.Outcome) (item *document.WaitItem) {
	if !w.wait || o.Sent != action.Landed || o.State == action.StateCarriedOut || ctx.Err() != nil {
		return nil
	}
	waiter := w.cli.newWaiter(
		selection{names: []jobRef{name}},
		[]waitCondition{{name: "completed"}},
		waitFlags{output: w.output, notify: "none"},
	)
	if w.output != "text" {
		waiter.onResult = func(r document.WaitResult) { item = &r.Items[0] }
	}
	w.waitErr = new(waiter.waitAndReport(ctx))
	return item
}

// changeObjects proposes a change of each object of the Velero that it finds, if confirmation is possible.
func (w *writeCommand) changeObjects(
	ctx context.Context,
	name action.Kind,
	objects ...*unstructured.Unstructured,
) error {
	if err := w.checkCanConfirm(); err != nil {
		return err
	}
	namespace, err := w.findVeleroNamespace(ctx)
	for i := 0; err == nil && i < len(objects); i++ {
		err = w.proposeAndApply(ctx, name, objects[i], namespace)
	}
	return err
}

// findVeleroNamespace returns the namespace of the Velero that a command without a job is about.
func (w *writeCommand) findVeleroNamespace(ctx context.Context) (string, error) {
	snap, err := w.cli.readSnapshot(
		ctx,
		watch.Query{Kinds: []string{watch.Schedules}, SkipVerdicts: true},
		w.cli.openLogger(ctx),
	)
	if err != nil {
		return "", err
	}
	return snap.Namespace, nil
}
