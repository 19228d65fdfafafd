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

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/say/document"
	"github.com/veltui/veltui/session"
	"github.com/veltui/veltui/velero"
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
	output               string
	artifacts, elsewhere bool
	stored               bool // ask the object store, but not for the list of operations
}

// elsewhere drops from a request what holds on this machine only.
func elsewhere(r action.Request) action.Request {
	r.Environment = nil
	r.Flags = slices.DeleteFunc(slices.Clone(r.Flags), func(flag string) bool { return strings.HasPrefix(flag, "--kubeconfig=") })
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
	assessed, judged, err := c.readJudged(ctx, selected, c.assessUnchecked)
	if err != nil {
		return err
	}
	l, err := c.lookCloser(ctx, closeLook{assessed: assessed, Judged: judged}, f)
	var moved *session.MovedError
	switch {
	case errors.As(err, &moved): // a verdict on the former cluster would read as one on the present
		return err
	case err != nil:
		fmt.Fprintln(c.streams.ErrOut, "warning: veltui could not look closer at the job:", sanitize.String(err.Error()))
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

func (l *closeLook) take(look assess.Look) { l.assessed, l.Judged = l.assessed.Look(l.Job, look) }

// lookCloser judges a job again after a closer look, also one that moved a moment ago: Velero may
// have logged since that it gave up. It plans for a job that does not move, and creates
// DownloadRequests only if artifacts are wanted or the object store decides the verdict.
func (c *cli) lookCloser(ctx context.Context, l closeLook, f explainFlags) (closeLook, error) {
	var err error
	l.plan, l.remedies, err = c.remedies(ctx, l.Judged, f)
	if l.plan == nil {
		if b, ok := l.Object.(*velerov1.Backup); ok && f.artifacts && l.Terminal() {
			why, failed := c.inspected().WhyNotFinalized(ctx, l.Namespace, b)
			err = errors.Join(err, failed)
			l.take(assess.Look{Evidence: diagnosis.Evidence{NotFinalized: why}, At: c.clock()})
		}
		return l, err
	}
	waited := l.Verdict.State() == diagnosis.Waiting
	l.take(inspect.LookOf(l.plan, c.clock()))
	if l.Verdict.StorageDecides() && !f.artifacts && !c.isReadOnly() {
		f.stored = true
		if plan, remedies, err := c.remedies(ctx, l.Judged, f); err == nil && plan != nil {
			l.plan, l.remedies = plan, remedies
			l.take(inspect.LookOf(plan, c.clock()))
		}
	}
	if !l.NeedsLook || waited && l.Verdict.State() == diagnosis.Waiting {
		l.plan, l.remedies = nil, nil // nothing is to be done about it
	}
	return l, err
}

// remedies plans how to finalize a job, and the other options; nil for one that ended or waits.
func (c *cli) remedies(ctx context.Context, judged assess.Judged, f explainFlags) (*action.Plan, []action.Plan, error) {
	j := judged.Job
	switch {
	case judged.NeedsLook, judged.Verdict.State() == diagnosis.Progressing:
	case judged.Verdict.State() != "",
		len(j.Malformed) == 0 && !slices.ContainsFunc(j.Volumes, func(v job.Volume) bool { return !v.Ended() }):
		return nil, nil, nil
	}
	conn, err := c.connect()
	if err != nil {
		return nil, nil, err
	}
	finalizer, err := c.inspected().Engine(conn, j.Namespace, inspect.EngineOptions{
		ReadOnly: true, NoStore: !f.artifacts && !f.stored, LeaveOperations: !f.artifacts, Waiting: c.tellSlow(waitingForAnswer),
	})
	if err != nil {
		return nil, nil, err
	}
	evidence, err := finalizer.Gather(ctx, j.Kind, j.Name)
	if err != nil {
		return nil, nil, err
	}
	request := conn.Request
	if f.elsewhere {
		request = elsewhere(request)
	}
	plans := action.Plans(evidence, request)
	if j.Terminal() {
		return nil, plans[1:], nil
	}
	return &plans[0], plans[1:], nil
}

func exitFor(j *job.Job, v diagnosis.Verdict) error {
	if v.State() == diagnosis.Stuck || v.State() == diagnosis.Orphaned {
		return exitWith(ExitRefused)
	}
	return exitWith(endCodes[j.Phase])
}

// endCodes are the exit codes of jobs that ended otherwise than Completed.
var endCodes = map[string]int{velero.PhasePartiallyFailed: ExitPartiallyFailed, velero.PhaseFailed: ExitFailed, velero.PhaseFailedValidation: ExitFailed}

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
	facts := slices.DeleteFunc(slices.Clone(v.Facts), func(f diagnosis.Fact) bool { return f == v.Proof.Fact() })
	l.facts(facts, j.assessed.Environment.Now)
	l.list("volumes that have not ended:", openVolumes(volumes))
	l.list("limits:", mapSlice(limits, func(limit velero.Limit) string { return limit.Name + " " + limit.Value + " (" + limit.Source + ")" }))
	l.clause("\nnext: ", v.Advice)
	switch plan := j.plan; {
	case plan == nil:
	case plan.Effect() == action.Refuse:
		l.add("\n%s", plan.Objection())
		l.clause("", plan.Advice)
	default:
		l.add("\nfinalize would move it from %s to %s: %s", dash(plan.From), plan.To, plan.Why)
		l.command("  ", plan.Veltui("finalize", plan.Kind.Word()+"/"+plan.Name))
	}
	l.remedies(j.remedies, action.Finalize)
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
