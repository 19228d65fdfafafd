package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view/document"
)

func newExplain(c *cli) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain KIND/NAME",
		Short: "Explain the state of a backup or restore, with the evidence",
		Long: `Explain the state of a backup or restore, with the evidence and what would help.

Each fact has its source and its age. Facts that are unknown or contradict the
verdict are listed apart. For a job that does not move, explain also prints what
'veltui finalize' would do, and the other options, each with its commands.

explain changes nothing. With --artifacts it checks whether results are stored; for
that it makes DownloadRequests, and removes them again.

Exit codes: 0, or 3 if it ended PartiallyFailed, 4 if it ended Failed or
FailedValidation, 6 if it is stuck or orphaned.`,
		Example: `  veltui explain restore/crm-old
  veltui explain restore/crm-old --artifacts
  veltui explain backup nightly-20261120 -o json`,
	}
	addOutput(cmd, &f.output, "text", "json", "yaml")
	cmd.Flags().BoolVar(&f.artifacts, "artifacts", false, "Also check whether results are stored")
	c.addCAFile(cmd, cmd.Flags())
	return c.forJob(cmd, func(ctx context.Context, selected selection) error { return c.explain(ctx, selected, f) })
}

type explainFlags struct {
	output    string
	artifacts bool
	// isReport: the commands are for another machine, and what is stored changes plans but not the verdict.
	isReport bool
}

// elsewhere drops from a request what holds on this machine only.
func elsewhere(r action.Request) action.Request {
	r.Environment = nil
	r.Flags = slices.DeleteFunc(
		slices.Clone(r.Flags),
		func(flag string) bool { return strings.HasPrefix(flag, "--kubeconfig=") },
	)
	return r
}

func limitsOf(j *job.Job, env diagnosis.Environment) []velero.Limit {
	if j.Terminal() || j.Object == nil {
		return nil
	}
	return append(velero.Limits(j.Object, env.Server, env.NodeAgents), velero.SlotLimits(env.Evidence[j.UID].Slots)...)
}

func (c *cli) explain(ctx context.Context, selected selection, f explainFlags) error {
	if f.artifacts && c.isReadOnly() {
		return usagef("--artifacts makes DownloadRequests, which read-only does not allow")
	}
	examined, judged, err := c.examineJob(ctx, selected)
	if err != nil {
		return err
	}
	l, err := c.closeLook(ctx, examined.Assessment, judged, examined.Looks[judged.UID], f)
	var moved *session.MovedError
	switch {
	case errors.As(err, &moved): // a verdict on the former cluster would read as one on the present
		return err
	case err != nil:
		fmt.Fprintln(
			c.streams.ErrOut,
			"warning: veltui could not look closer at the job:",
			sanitize.String(err.Error()),
		)
	}
	volumes, limits := l.assessed.Volumes(l.Job), limitsOf(l.Job, l.assessed.Environment)
	data := document.NewExplanation(l.Judged, volumes, l.plan, l.remedies, limits)
	err = c.print(f.output, data, func(out *lines) { out.explain(l, volumes, limits) })
	return cmp.Or(err, exitFor(l.Job, l.Verdict))
}

type closeLook struct {
	assessed *assess.Assessment
	assess.Judged
	plan     *action.Plan // nil if it is not to be finalized
	remedies []action.Plan
}

// closeLook is what explain says of a job beyond its assessment: how to finalize it and the other options, by the same
// evidence. With --artifacts it gathers evidence of its own, with all that is stored.
func (c *cli) closeLook(
	ctx context.Context, assessed *assess.Assessment, judged assess.Judged, found cluster.CloserLook, f explainFlags,
) (closeLook, error) {
	l := closeLook{assessed: assessed, Judged: judged}
	conn, err := c.connect()
	if err != nil {
		return l, err
	}
	switch {
	case judged.Terminal():
		err = c.lookAtEnded(ctx, &l, &found, f)
	case judged.NeedsLook && f.isReport:
		o := cluster.EngineOptions{ReadOnly: true, NoStore: !f.artifacts}
		found.Evidence, err = c.gather(ctx, judged.Job, o)
	case judged.NeedsLook && f.artifacts:
		o := cluster.EngineOptions{ReadOnly: true, Waiting: c.tellSlow(waitingForAnswer)}
		if found.Evidence, err = c.gather(ctx, judged.Job, o); err == nil {
			plan := action.Plans(*found.Evidence, conn.Request)[0]
			l.assessed, l.Judged = l.assessed.Look(judged.Job, cluster.LookOf(&plan, c.clock()))
		}
	case found.Err != "":
		err = errors.New(found.Err)
	}
	isOpen := l.Terminal() || l.NeedsLook && l.Verdict.State() != diagnosis.Waiting
	if found.Evidence == nil || !isOpen { // nothing is to be done about what waits or moves
		return l, err
	}
	request := conn.Request
	if f.isReport {
		request = elsewhere(request)
	}
	plans := action.Plans(*found.Evidence, request)
	if l.remedies = plans[1:]; !l.Terminal() {
		l.plan = &plans[0]
	}
	return l, err
}

// lookAtEnded gathers the evidence about a job that has ended and left something open. With --artifacts it also finds
// out why Velero's finalizer did not run for a backup.
func (c *cli) lookAtEnded(ctx context.Context, l *closeLook, found *cluster.CloserLook, f explainFlags) error {
	j := l.Job
	open := slices.ContainsFunc(j.Volumes, func(v job.Volume) bool { return !v.Ended() })
	if len(j.Malformed) > 0 || open {
		evidence, err := c.gather(ctx, j, cluster.EngineOptions{ReadOnly: true, NoStore: true})
		found.Evidence = evidence
		return err
	}
	b, ok := j.Object.(*velerov1.Backup)
	if !ok || !f.artifacts {
		return nil
	}
	why, err := c.inspected().WhyNotFinalized(ctx, j.Namespace, b)
	look := assess.Look{Evidence: diagnosis.Evidence{NotFinalized: why}, At: c.clock()}
	l.assessed, l.Judged = l.assessed.Look(j, look)
	return err
}

func (c *cli) gather(ctx context.Context, j *job.Job, o cluster.EngineOptions) (*action.Evidence, error) {
	conn, err := c.connect()
	if err != nil {
		return nil, err
	}
	engine, err := c.inspected().Engine(conn, j.Namespace, o)
	if err != nil {
		return nil, err
	}
	evidence, err := engine.Gather(ctx, j.Kind, j.Name)
	if err != nil {
		return nil, err
	}
	return &evidence, nil
}

func exitFor(j *job.Job, v diagnosis.Verdict) error {
	if v.State() == diagnosis.Stuck || v.State() == diagnosis.Orphaned {
		return exitWith(ExitRefused)
	}
	return exitWith(endCodes[j.Phase])
}

// endCodes are the exit codes of jobs that ended otherwise than Completed.
var endCodes = map[string]int{
	velero.PhasePartiallyFailed:  ExitPartiallyFailed,
	velero.PhaseFailed:           ExitFailed,
	velero.PhaseFailedValidation: ExitFailed,
}

func (l *lines) explain(j closeLook, volumes []assess.Volume, limits []velero.Limit) {
	v := j.Verdict
	l.add("%s %s/%s, phase %s", j.Kind.Word(), j.Namespace, j.Name, dash(j.Phase))
	l.add("%s", v.Summary())
	if v.State() != "" {
		l.add("verdict: %s (%s)", v.State(), v.Reason)
	}
	if !v.Proof.IsZero() {
		l.add("proof: %s: %s", v.Proof.Kind(), v.Proof.Fact().Text)
	}
	l.clause("\nnext: ", v.Advice)
	l.finalizePlan(j.plan)
	l.remedies(j.remedies, action.Finalize)
	facts := slices.DeleteFunc(slices.Clone(v.Facts), func(f diagnosis.Fact) bool { return f == v.Proof.Fact() })
	l.facts(facts, j.assessed.Environment.Now)
	l.list("volumes that have not ended:", openVolumes(volumes))
	waits := mapSlice(v.Waits, func(w diagnosis.Wait) velero.WaitName { return w.Name })
	l.list("limits of what it waits for:", mapSlice(velero.NamedLimits(limits, waits), limitText))
}

func limitText(l velero.Limit) string { return l.Name + " " + l.Value + " (" + l.Source + ")" }

// finalizePlan prints what the plan to finalize a job would do, or why it does nothing. plan is nil for none.
func (l *lines) finalizePlan(plan *action.Plan) {
	switch {
	case plan == nil:
	case plan.Effect() == action.Refuse:
		l.add("\n%s", plan.Objection())
		l.clause("", plan.Advice)
	default:
		l.add("\nfinalize would move it from %s to %s: %s", dash(plan.From), plan.To, plan.Why)
		l.command("  ", plan.Veltui("finalize", plan.Kind.Word()+"/"+plan.Name))
	}
}

const volumesShown = 20

func openVolumes(volumes []assess.Volume) []string {
	var lines []string
	for _, v := range volumes {
		if v.Ended() {
			continue
		}
		text := fmt.Sprintf("%s %s: %s", v.Kind, v.Target, cmp.Or(v.Phase, velero.VolumeNew))
		if v.Total > 0 {
			text += ", " + human.BytesOf(v.Done, v.Total)
		}
		text += human.Clause(", ", v.Rate.String())
		if v.ETA.Known {
			text += ", " + v.ETA.String() + " left"
		}
		lines = append(lines, text+human.Clause(", ", v.Verdict.Cause))
	}
	if left := len(lines) - volumesShown; left > 0 {
		lines = append(lines[:volumesShown], fmt.Sprintf("%d more", left))
	}
	return lines
}
