package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/say/document"
	"github.com/veltui/veltui/watch"
)

// writing is what all commands that change a cluster have in common.
type writing struct {
	c                      *cli
	reason, dryRun, output string
	yes, wait              bool
	waited                 *error // what came of waiting; nil without
	refusal, advice        string // why nothing is written, whatever the plan says
	timeout, observe       time.Duration
}

// addTo adds the flags; the dry runs that there are begin with none.
func (w *writing) addTo(cmd *cobra.Command, dryRunHelp string, dryRuns ...string) {
	flags := cmd.Flags()
	flags.StringVar(&w.reason, "reason", "", "Why you do it, in one line, for the resource and the log")
	addChoice(cmd, &w.dryRun, "dry-run", "", dryRunHelp, dryRuns...)
	flags.Lookup("dry-run").NoOptDefVal = "server"
	flags.BoolVarP(&w.yes, "yes", "y", false, "Do not ask for confirmation")
	flags.DurationVar(&w.timeout, "timeout", 0, "How long to retry (default 10m)")
	flags.DurationVar(&w.observe, "observe", action.DefaultObserve, "How long to watch the result")
	addOutput(cmd, &w.output, "text", "json", "yaml")
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

// openEngine is an engine, and how requests get to its cluster.
type openEngine struct {
	engine  *action.Engine
	request action.Request
	context string
}

// open connects to the Velero of a namespace, after it has reported what earlier attempts left open.
func (w *writing) open(ctx context.Context, namespace string) (openEngine, error) {
	c := w.c
	conn, err := c.connect()
	if err != nil {
		return openEngine{}, err
	}
	request := conn.Request
	for _, sentence := range c.unfinished(ctx, &request.Earlier, conn) {
		fmt.Fprintln(c.streams.ErrOut, sentence)
	}
	engine, err := c.inspected().Engine(conn, namespace, inspect.EngineOptions{
		ReadOnly: c.isReadOnly(), NoStore: c.isReadOnly(), Timeout: w.timeout, Observe: w.observe, Waiting: c.tellSlow(waitingForAnswer),
	})
	request.Reason = w.reason
	return openEngine{engine, request, conn.Context}, err
}

// carryOut shows a plan, asks, applies it and says what came of it.
func (w *writing) carryOut(ctx context.Context, e openEngine, show *planPrinter, plan *action.Plan) (action.Outcome, error) {
	if err := show.plan(plan, w.asks()); err != nil {
		return action.Outcome{}, err
	}
	if plan.Possible() && w.asks() {
		if err := w.c.confirm(ctx, e.context, plan.Name, plan.Evidence().Cluster); err != nil {
			return action.Outcome{}, err
		}
	}
	outcome, err := e.engine.Apply(ctx, *plan, w.dryRun == "server", show.progress)
	return outcome, show.end(show.outcome(plan, &outcome, err), &outcome, err)
}

// propose carries out an action that is about no running job.
func (w *writing) propose(ctx context.Context, name action.Name, o *unstructured.Unstructured, namespace string, asked func(*action.Request), preflight *document.Preflight) error {
	e, err := w.open(ctx, namespace)
	if err != nil {
		return err
	}
	asked(&e.request)
	plan, err := e.engine.Propose(ctx, name, o, e.request)
	if err != nil {
		return err
	}
	if w.refusal != "" && plan.Refusal == "" {
		plan.Refuse(w.refusal, w.advice)
	}
	outcome, err := w.carryOut(ctx, e, &planPrinter{&w.c.stdio, w.output, &plan, nil, func(o *action.Outcome, err error) any {
		d := document.NewChange(&plan, preflight, o, err)
		d.Wait = w.waitFor(ctx, jobName{plan.Kind, plan.Name}, o)
		return d
	}}, &plan)
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
	if !w.wait || o.Sent != action.Landed || ctx.Err() != nil {
		return nil
	}
	waiter := w.c.newWaiter(selection{names: []jobName{name}}, []condition{{word: "completed"}}, waitFlags{output: w.output, notify: "none"})
	if w.output != "text" {
		waiter.deliver = func(r document.WaitResult) { item = &r.Items[0] }
	}
	w.waited = new(waiter.await(ctx))
	return item
}

// change proposes something about the Velero that is found, if it could be asked about.
func (w *writing) change(ctx context.Context, name action.Name, o *unstructured.Unstructured, asked func(*action.Request)) error {
	if err := w.mayAskFor(); err != nil {
		return err
	}
	namespace, err := w.veleroNamespace(ctx)
	if err != nil {
		return err
	}
	return w.propose(ctx, name, o, namespace, asked, nil)
}

// veleroNamespace is where the Velero is that a command without a job is about.
func (w *writing) veleroNamespace(ctx context.Context) (string, error) {
	snap, err := w.c.read(ctx, watch.Query{Kinds: []string{watch.Schedules}, NoVerdict: true}, w.c.logging(ctx))
	if err != nil {
		return "", err
	}
	return snap.Namespace, nil
}
