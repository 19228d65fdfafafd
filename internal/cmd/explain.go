package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/internal/view/remedy"
)

func newExplainCommand(c *cli) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain KIND/NAME",
		Short: "Explain the state of a backup or restore, with the evidence",
		Long: `Explain the state of a backup or restore, with the evidence and what would help.

Each fact has its source and its age. Facts that are unknown or contradict the
verdict are listed apart. For a job that does not move, explain also prints what
'veltui finalize' would do, and the other options, each with its commands.

explain changes nothing. If all else does not say why a job ended badly, it reads the
job's stored results, unless read-only; with --artifacts it always checks what is
stored. For that it makes DownloadRequests, and removes them again.

Exit codes: 0, or 3 if it ended PartiallyFailed, 4 if it ended Failed or
FailedValidation, 6 if it is stuck or orphaned.`,
		Example: `  veltui explain restore/crm-old
  veltui explain restore/crm-old --artifacts
  veltui explain backup nightly-20261120 -o json`,
	}
	addOutputFlag(cmd, &f.output, "text", "json", "yaml")
	cmd.Flags().BoolVar(&f.artifacts, "artifacts", false, "Also check whether results are stored")
	c.addStoreCAFlag(cmd, cmd.Flags())
	return c.requireOneJob(
		cmd,
		func(ctx context.Context, selected selection) error { return c.runExplain(ctx, selected, f) },
	)
}

type explainFlags struct {
	output    string
	artifacts bool
	// isReport is true for a report: its commands are for another machine, and stored data changes plans but not the
	// verdict.
	isReport bool
}

// portableRequest returns a request without the parts that hold only on this machine.
func portableRequest(r action.Request) action.Request {
	r.Environment = nil
	r.Flags = slices.DeleteFunc(
		slices.Clone(r.Flags),
		func(flag string) bool { return strings.HasPrefix(flag, "--kubeconfig=") },
	)
	return r
}

func (c *cli) runExplain(ctx context.Context, selected selection, f explainFlags) error {
	if f.artifacts && c.settings.isReadOnly() {
		return usageErrorf("--artifacts makes DownloadRequests, which read-only does not allow")
	}
	examined, judged, err := c.examineJob(ctx, selected)
	if err != nil {
		return err
	}
	l, err := c.buildExplanation(ctx, examined.Assessment, judged, examined.CloserLooks[judged.UID], f)
	var moved *session.MovedError
	switch {
	case errors.As(err, &moved): // a verdict on the former cluster would look like one on the present
		return err
	case err != nil:
		fmt.Fprintln(
			c.stdio.streams.ErrOut,
			"warning: veltui could not look closer at the job:",
			sanitize.String(err.Error()),
		)
	}
	volumes, limits := l.assessed.JudgeVolumes(l.Job), l.assessed.ListLimits(l.Job)
	data := document.NewExplanation(l.JudgedJob, volumes, l.finalizePlan, l.remedies, limits)
	err = c.stdio.printOutput(f.output, data, func(out *linePrinter) { out.addExplanation(l, volumes, limits) })
	return cmp.Or(err, jobExitError(l.Job, l.Verdict))
}

type explanation struct {
	assessed *assess.Assessment
	assess.JudgedJob
	finalizePlan *action.Plan // nil if the job must not be finalized
	remedies     []action.Plan
}

// buildExplanation adds to a job's assessment how to finalize it and the other options, based on the same evidence.
// With --artifacts it gathers its own evidence, including all stored data.
func (c *cli) buildExplanation(
	ctx context.Context, assessed *assess.Assessment, judged assess.JudgedJob, found cluster.CloserLook, f explainFlags,
) (explanation, error) {
	l := explanation{assessed: assessed, JudgedJob: judged}
	conn, err := c.connector.openConnection()
	if err != nil {
		return l, err
	}
	switch {
	case judged.IsTerminal():
		err = c.explainEndedJob(ctx, &l, &found, f)
	case judged.NeedsCloserLook && f.isReport:
		o := cluster.EngineOptions{ReadOnly: true, SkipStore: !f.artifacts}
		found.Evidence, err = c.gatherEvidence(ctx, judged.Job, o)
	case judged.NeedsCloserLook && f.artifacts:
		o := cluster.EngineOptions{ReadOnly: true, OnWaiting: c.stdio.warnSlow(waitingForAnswerText)}
		if found.Evidence, err = c.gatherEvidence(ctx, judged.Job, o); err == nil {
			plan := action.BuildPlans(*found.Evidence, conn.Request)[0]
			l.assessed, l.JudgedJob = l.assessed.WithCloserLook(judged.Job, cluster.BuildCloserLook(&plan, c.process.clock()))
		}
	case found.Err != "":
		err = errors.New(found.Err)
	}
	isOpen := l.IsTerminal() || l.NeedsCloserLook && l.Verdict.State() != diagnosis.Waiting
	if found.Evidence == nil || !isOpen { // a waiting or moving job needs nothing
		return l, err
	}
	request := conn.Request
	if f.isReport {
		request = portableRequest(request)
	}
	plans := action.BuildPlans(*found.Evidence, request)
	if l.remedies = plans[1:]; !l.IsTerminal() {
		l.finalizePlan = &plans[0]
	}
	return l, err
}

// explainEndedJob gathers the evidence about a job that has ended: what it left open, and why it ended badly. With
// --artifacts it also finds out why Velero's finalizer did not run for a backup.
func (c *cli) explainEndedJob(ctx context.Context, l *explanation, found *cluster.CloserLook, f explainFlags) error {
	j, reader := l.Job, c.newCluster()
	reader.OnWaiting = c.stdio.warnSlow(waitingForAnswerText)
	reader.NoArtifacts = f.isReport && !f.artifacts && !c.settings.isReadOnly() // the reader knows of read-only itself
	l.assessed, l.JudgedJob = l.assessed.WithEndEvidence(j, reader.GatherEndEvidence(ctx, l.assessed, j))
	open := slices.ContainsFunc(j.Volumes, func(v job.Volume) bool { return !v.HasEnded() })
	if len(j.MalformedFields) > 0 || open {
		evidence, err := c.gatherEvidence(ctx, j, cluster.EngineOptions{ReadOnly: true, SkipStore: true})
		found.Evidence = evidence
		return err
	}
	b, ok := j.Object.(*veleroapi.Backup)
	if !f.artifacts || !ok {
		return nil
	}
	look, err := assess.CloserLook{At: c.process.clock()}, error(nil)
	look.Evidence.EndEvidence = l.assessed.World.Evidence[j.UID].EndEvidence
	if volumes, readErr := reader.FetchStoredVolumes(ctx, j); readErr == nil { // it is optional, and new since 1.13
		look.Evidence.SkippedVolumes = cluster.SkippedVolumes(volumes)
	}
	look.Evidence.NotFinalizedReason, err = reader.NotFinalizedReason(ctx, j.Namespace, b)
	l.assessed, l.JudgedJob = l.assessed.WithCloserLook(j, look)
	return err
}

func (c *cli) gatherEvidence(ctx context.Context, j *job.Job, o cluster.EngineOptions) (*action.Evidence, error) {
	conn, err := c.connector.openConnection()
	if err != nil {
		return nil, err
	}
	engine, err := c.newCluster().NewEngine(conn, j.Namespace, o)
	if err != nil {
		return nil, err
	}
	evidence, err := engine.GatherEvidence(ctx, j.Kind, j.Name)
	if err != nil {
		return nil, err
	}
	return &evidence, nil
}

func jobExitError(j *job.Job, v diagnosis.Verdict) error {
	if v.State() == diagnosis.Stuck || v.State() == diagnosis.Orphaned {
		return newExitError(ExitRefused)
	}
	return newExitError(phaseExitCodes[j.Phase])
}

// phaseExitCodes are the exit codes of final phases other than Completed.
var phaseExitCodes = map[string]int{
	velero.PhasePartiallyFailed:  ExitPartiallyFailed,
	velero.PhaseFailed:           ExitFailed,
	velero.PhaseFailedValidation: ExitFailed,
}

func (l *linePrinter) addExplanation(j explanation, volumes []assess.JudgedVolume, limits []velero.Limit) {
	v := view.NewVerdict(j.Verdict, limits)
	if j.Verdict.State() == "" { // the phase says as much
		v.State = view.Text{}
	}
	if j.finalizePlan != nil {
		v.Next = append(v.Next, remedy.FinalizeStep(j.finalizePlan))
	}
	v.Options, v.Volumes = remedy.OptionSteps(j.remedies, action.Finalize), view.OpenVolumes(volumes)
	l.Line("%s", view.JobTitle(j.Job))
	l.Verdict(v, j.assessed.World.Now)
}
