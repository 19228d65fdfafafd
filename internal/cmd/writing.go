package cmd

import (
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

// writing is what all commands that change a cluster have in common.
type writing struct {
	c                *cli
	request          action.Request // what the flags ask for
	context          string         // of the connection
	dryRun, output   string
	yes, wait        bool
	found            *document.Preflight // what stands in the way of a restore; nil if nobody has looked
	waited           *error              // what came of waiting; nil without
	timeout, observe time.Duration
}

// addTo adds the flags; the dry runs that there are begin with none.
func (w *writing) addTo(cmd *cobra.Command, dryRunHelp string, dryRuns ...string) {
	flags := cmd.Flags()
	flags.StringVar(&w.request.Reason, "reason", "", "Why you do it, in one line, for the resource and the log")
	addChoice(cmd, &w.dryRun, "dry-run", "", dryRunHelp, dryRuns...)
	flags.Lookup("dry-run").NoOptDefVal = "server"
	flags.BoolVarP(&w.yes, "yes", "y", false, "Do not ask for confirmation")
	flags.DurationVar(&w.timeout, "timeout", 0, "How long to retry (default 10m)")
	flags.DurationVar(&w.observe, "observe", action.DefaultObserve, "How long to watch the result")
	addOutput(cmd, &w.output, "text", "json", "yaml")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return w.checkFlags(cmd) }
}

func (w *writing) addWait(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&w.wait, "wait", "w", false, "Wait until it has ended, with a live bar")
}

func (w *writing) checkFlags(cmd *cobra.Command) error {
	switch {
	case w.timeout < 0:
		return usagef("--timeout %s: must not be negative", w.timeout)
	case w.observe <= 0:
		return usagef("--observe %s: must be more than 0", w.observe)
	}
	if !cmd.Flags().Changed("observe") {
		w.observe = 0 // and longer, until Velero has ended what it has to end
	}
	return nil
}

func (w *writing) asks() bool { return w.dryRun == "none" && !w.yes && !w.c.isReadOnly() }

// mayAskFor is an error where the question that has to be asked cannot be.
func (w *writing) mayAskFor() error {
	if !w.asks() {
		return nil
	}
	return w.c.mayAsk()
}

// open connects to the Velero of a namespace, after it has reported what earlier attempts left open.
func (w *writing) open(ctx context.Context, namespace string) (*action.Engine, error) {
	c := w.c
	conn, err := c.connect()
	if err != nil {
		return nil, err
	}
	for _, sentence := range c.unfinished(ctx, &w.request.Earlier, conn) {
		fmt.Fprintln(c.streams.ErrOut, sentence)
	}
	w.context = conn.Context
	w.request.Context = conn.Request.Context
	w.request.Flags = conn.Request.Flags
	w.request.Environment = conn.Request.Environment
	return c.inspected().Engine(conn, namespace, cluster.EngineOptions{
		ReadOnly: c.isReadOnly(),
		NoStore:  c.isReadOnly(),
		Timeout:  w.timeout,
		Observe:  w.observe,
		Waiting:  c.tellSlow(waitingForAnswer),
	})
}

// carryOut shows a plan, asks, applies it and says what came of it.
func (w *writing) carryOut(
	ctx context.Context,
	engine *action.Engine,
	show *planPrinter,
	plan *action.Plan,
) (action.Outcome, error) {
	if err := show.plan(plan, w.asks()); err != nil {
		return action.Outcome{}, err
	}
	if plan.Possible() && w.asks() {
		if err := w.c.confirm(ctx, w.context, plan.Name, plan.Evidence().Cluster); err != nil {
			return action.Outcome{}, err
		}
	}
	outcome, err := engine.Apply(ctx, *plan, w.dryRun == "server", show.progress)
	return outcome, show.end(show.outcome(plan, &outcome, err), &outcome, err)
}

// propose carries out an action that is about no running job.
func (w *writing) propose(ctx context.Context, name action.Name, o *unstructured.Unstructured, namespace string) error {
	engine, err := w.open(ctx, namespace)
	if err != nil {
		return err
	}
	plan, err := engine.Propose(ctx, name, o, w.request)
	if err != nil {
		return err
	}
	outcome, err := w.carryOut(
		ctx,
		engine,
		&planPrinter{&w.c.stdio, w.output, &plan, nil, func(o *action.Outcome, err error) any {
			d := document.NewChange(&plan, w.found, o, err)
			d.Wait = w.waitFor(ctx, jobName{plan.Kind, plan.Name}, o)
			return d
		}},
		&plan,
	)
	if w.output == "text" {
		w.waitFor(ctx, jobName{plan.Kind, plan.Name}, &outcome)
	}
	if w.waited != nil {
		return *w.waited
	}
	return err
}

// waitFor goes on with `veltui wait` for what was created. What came of that it prints, or returns for a document.
func (w *writing) waitFor(ctx context.Context, name jobName, o *action.Outcome) (item *document.WaitItem) {
	if !w.wait || o.Sent != action.Landed || o.State == action.CarriedOut || ctx.Err() != nil {
		return nil
	}
	waiter := w.c.newWaiter(
		selection{names: []jobName{name}},
		[]condition{{word: "completed"}},
		waitFlags{output: w.output, notify: "none"},
	)
	if w.output != "text" {
		waiter.deliver = func(r document.WaitResult) { item = &r.Items[0] }
	}
	w.waited = new(waiter.await(ctx))
	return item
}

// change proposes something about each object of the Velero that is found, if it could be asked about.
func (w *writing) change(ctx context.Context, name action.Name, objects ...*unstructured.Unstructured) error {
	if err := w.mayAskFor(); err != nil {
		return err
	}
	namespace, err := w.veleroNamespace(ctx)
	for i := 0; err == nil && i < len(objects); i++ {
		err = w.propose(ctx, name, objects[i], namespace)
	}
	return err
}

// veleroNamespace is where the Velero is that a command without a job is about.
func (w *writing) veleroNamespace(ctx context.Context) (string, error) {
	snap, err := w.c.read(ctx, watch.Query{Kinds: []string{watch.Schedules}, NoVerdict: true}, w.c.logging(ctx))
	if err != nil {
		return "", err
	}
	return snap.Namespace, nil
}
