package cmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/config"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	uiterminal "github.com/veltui/veltui/ui/terminal"
	"github.com/veltui/veltui/watch"
)

type waitFlags struct {
	conditions               []string
	timeout                  time.Duration
	failOnStuck, forCreation bool
	noArtifacts              bool
	output, notify           string
}

func newWaitCommand(c *cli) *cobra.Command {
	var f waitFlags
	cmd := &cobra.Command{
		Use:   "wait KIND/NAME [KIND/NAME...]",
		Short: "Wait until backups and restores end, with a live bar and an exit code",
		Long: `Wait until backups and restores end, with a live bar and an exit code.

On a terminal, wait draws a bar for each job on standard error: stage, progress,
rate, time left, and what holds the job up. Elsewhere it prints a line when
something changes. Standard output gets one line about each job at the end, or one
document with -o json or yaml.

--for says what to wait for:
  completed  the job has ended; the exit code says how (the default)
  ended      the job has ended, in whatever phase: exit code 0
  phase=X    the job is in Velero's phase X, such as phase=Finalizing
  stage=X    the job is in a stage as 'veltui get' prints it, such as stage=Volumes
  stuck      the verdict is stuck or orphaned, as of 'veltui explain': exit code 6
  create     the job exists
  delete     the job does not exist
Repeat it to wait for whichever comes first. A job that ends in another way than you
wait for ends the waiting with the exit code of its end, or 1 if it Completed. What ends
with exit code 1 goes to standard error.

A restore that ends while wait watches it is then verified, once, as 'veltui verify' does
without --compare. One more line on standard output, or "verified" in the document,
says what came back. It changes no exit code. --read-only and --no-artifacts leave it out.

Without --timeout, wait has no limit: a stuck job never ends. --fail-on-stuck ends the
waiting as soon as one job is stuck. Once it has seen the cluster, wait goes on while
the API server is away, and with a job that is deleted and made again under the same
name. An unknown host, a certificate that is not trusted and rejected credentials end
it at once; a server that does not answer at the start ends it after --request-timeout
(30s), but with --timeout it goes on until that is over. It watches only the jobs that
you name, and their volumes.

Exit codes: 0, 1 if a job is not there or was deleted, or without a connection, 3 if it ended PartiallyFailed,
4 if it ended Failed or FailedValidation, 5 if it timed out, 6 if it is stuck,
130 if you interrupt it. Of several jobs, the highest one counts.`,
		Example: `  # Until a restore has ended, at most two hours
  veltui wait restore/crm-old --timeout 2h

  # In a pipeline: give up at once when Velero is stuck
  velero restore create crm --from-backup nightly && veltui wait restore/crm --wait-for-creation --fail-on-stuck

  # Several jobs, and a bell when they have ended or are stuck
  veltui wait backup/nightly restore/crm-old --notify bell

  # Until data is being moved
  veltui wait restore/crm-old --for phase=WaitingForPluginOperations`,
		RunE: func(cmd *cobra.Command, args []string) error {
			selected, err := parseSelection(args, false)
			if err != nil {
				return err
			}
			if len(selected.names) == 0 {
				return usageErrorf("expected KIND/NAME, such as restore/crm-old")
			}
			conditions, err := f.checkUsage()
			if err != nil {
				return err
			}
			return c.newWaiter(selected, conditions, f).waitAndReport(cmd.Context())
		},
	}
	cmd.Flags().
		StringArrayVar(&f.conditions, "for", []string{"completed"}, "What to wait for: "+
			strings.Join(conditionChoices(), ", ")+"; repeat it for whichever comes first")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "How long to wait at most, such as 2h; 0 has no limit")
	cmd.Flags().BoolVar(&f.failOnStuck, "fail-on-stuck", false, "End with exit code 6 when a job is stuck or orphaned")
	cmd.Flags().BoolVar(&f.forCreation, "wait-for-creation", false, "Also wait for jobs that do not exist yet")
	cmd.Flags().
		BoolVar(&f.noArtifacts, "no-artifacts", false, "Do not download from the object store, and so do not verify a "+
			"restore that has ended")
	addOutputFlag(cmd, &f.output, "text", "json", "yaml")
	cmd.Flags().
		StringVar(&f.notify, "notify", string(uiterminal.NoNotification), "Notify you when a job ends, fails or is "+
			"stuck: "+strings.Join(uiterminal.NotificationMethodNames(), ", ")+" (see docs/terminals.md)")
	completeFlag(cmd, "for", completeFixed(conditionChoices()))
	completeFlag(cmd, "notify", completeFixed(uiterminal.NotificationMethodNames()))
	cmd.ValidArgsFunction = c.completeKindAndName(true, jobKinds...)
	return cmd
}

// waitAndReport waits, and prints the results.
func (w *waiter) waitAndReport(ctx context.Context) error {
	err := w.followTargets(ctx)
	w.screen.closeScreen()
	if err != nil {
		return err
	}
	w.explainEnds(ctx)
	w.awaitVerifications()
	return w.printResult()
}

// explainTimeout limits how long wait reads why its jobs ended badly, all of them, which the user did not ask for.
const explainTimeout = time.Minute

// explainEnds reads what says why jobs ended badly where their own messages do not, as explain does.
func (w *waiter) explainEnds(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, explainTimeout, fmt.Errorf("no answer within %s", explainTimeout))
	defer cancel()
	reader := w.cli.newCluster()
	reader.NoArtifacts = w.flags.noArtifacts
	for _, t := range w.targets {
		if t.lastJudged.Job == nil || !needsExplanation(t.lastJudged, w.currentTime()) {
			continue
		}
		if examined, judged, err := w.examineJob(ctx, t.lastJudged.Job); err == nil && judged.IsTerminal() {
			found := reader.GatherEndEvidence(ctx, examined, judged.Job)
			_, t.lastJudged = examined.WithEndEvidence(judged.Job, found)
		}
	}
}

// needsExplanation reports whether anything that can be read may say more about the end of a job.
func needsExplanation(judged assess.JudgedJob, now time.Time) bool {
	j, v := judged.Job, judged.Verdict
	pods, locations := diagnosis.NeedsEvidenceOfEnd(j)
	return pods || locations || diagnosis.NeedsResults(j, v) || diagnosis.NeedsPodEvents(j, v, now)
}

func (f waitFlags) checkUsage() ([]waitCondition, error) {
	if known := uiterminal.NotificationMethodNames(); !slices.Contains(known, f.notify) {
		return nil, usageErrorf("--notify %s: must be one of %s", f.notify, strings.Join(known, ", "))
	}
	if f.timeout < 0 {
		return nil, usageErrorf("--timeout %s: must not be negative; 0 has no limit", f.timeout)
	}
	return parseConditions(f.conditions)
}

// verifyTimeout limits the verification of one restore, which the user did not ask for.
const verifyTimeout = time.Minute

// verifyEndedRestores verifies restores that ended during the wait, one after the other, while veltui waits for others,
// and prints the results.
func (w *waiter) verifyEndedRestores(ctx context.Context) {
	for _, t := range w.targets {
		ended := t.wasRunning && (t.result == resultMet || t.result == resultEnded) && t.condition != "delete" &&
			t.lastJudged.IsTerminal() &&
			t.lastJudged.Phase != velero.PhaseFailedValidation
		switch found := t.verification.Load(); {
		case found != nil && !t.reported:
			t.reported = true
			w.screen.printLine(t.String() + ": " + *found)
		case ended && !t.verifying && t.kind == job.Restore &&
			w.cluster.UnavailableReason(cluster.CapabilityComparison) == "":
			t.verifying = true
			w.verifying.Go(func() {
				w.verifyMutex.Lock()
				defer w.verifyMutex.Unlock()
				t.verification.Store(new(w.verifyRestore(ctx, t.jobRef)))
			})
		}
	}
}

// awaitVerifications waits until all verifications are done, and shows that it waits.
func (w *waiter) awaitVerifications() {
	_, done := w.cli.stdio.startStepMeter("verifying what came back")
	w.verifying.Wait()
	done()
}

// verifyRestore returns what came back, or why that is unknown.
func (w *waiter) verifyRestore(ctx context.Context, name jobRef) string {
	ctx, cancel := context.WithTimeoutCause(ctx, verifyTimeout, fmt.Errorf("it took more than %s", verifyTimeout))
	defer cancel()
	conn, err := w.cli.connector.openConnection()
	if err != nil {
		return "not verified: " + err.Error()
	}
	assessed, judged, err := w.cli.readJudgedJob(ctx, selection{names: []jobRef{name}}, watch.Pods)
	if err != nil {
		return "not verified: " + err.Error()
	}
	cluster := w.cli.newCluster() // the waiter's own cluster is in use
	cluster.Log, cluster.Indexes = w.cluster.Log, w.cli.files.openIndexCache(conn)
	result, err := cluster.VerifyRestore(ctx, judged.Job, assessed, nil, nil)
	if err != nil {
		return "not verified: " + err.Error()
	}
	return "verified: " + view.VerificationSummary(&result).Text
}

func (w *waiter) printResult() error {
	result := document.WaitResult{
		Header: document.NewHeader("WaitResult"),
		Items:  make([]document.WaitItem, 0, len(w.targets)),
	}
	worst := 0
	for _, t := range w.targets {
		worst = max(worst, t.exitCode)
		item := document.WaitItem{
			Kind:      string(t.kind),
			Name:      t.name,
			Result:    string(t.result),
			Condition: t.condition,
			ExitCode:  t.exitCode,
		}
		if found := t.verification.Load(); found != nil {
			item.Verified = *found
		}
		if t.lastJudged.Job != nil {
			item.Job = new(document.NewJob(t.lastJudged, t.volumes))
		}
		result.Items = append(result.Items, item)
	}
	if w.onResult != nil {
		w.onResult(result)
		return newExitError(worst)
	}
	err := w.cli.stdio.printOutput(w.flags.output, result, func(l *linePrinter) {
		for _, t := range w.targets {
			if ending := t.resultText(w.currentTime(), w.conditions); t.exitCode == ExitError {
				fmt.Fprintln(w.cli.stdio.streams.ErrOut, "error: "+sanitize.String(ending))
			} else {
				l.Line("%s", ending)
			}
			if found := t.verification.Load(); found != nil {
				l.PrefixedLine(t.String()+": ", *found)
			}
		}
	})
	return cmp.Or(err, newExitError(worst))
}

func (t *waitTarget) resultText(now time.Time, conditions []waitCondition) string {
	switch t.result {
	case resultMissing:
		return fmt.Sprintf("%s: not found in namespace %s", t.String(), t.namespace)
	case resultDeleted:
		return t.String() + ": was deleted while veltui waited"
	case resultTimeout:
		return fmt.Sprintf("%s: timed out: %s", t.String(), t.stateText(now))
	case resultEnded:
		wanted := mapSlice(conditions, waitCondition.String)
		return fmt.Sprintf("%s: ended without --for %s: %s", t.String(), strings.Join(wanted, " or "), t.stateText(now))
	case resultMet:
		switch {
		case t.lastJudged.Job == nil || t.condition == "delete":
			return t.String() + ": does not exist"
		case t.condition == "create":
			return t.String() + ": exists"
		}
	}
	return t.String() + ": " + t.stateText(now)
}

type waitCondition struct{ name, value string }

func (c waitCondition) String() string {
	if c.value == "" {
		return c.name
	}
	return c.name + "=" + c.value
}

var conditionPhases = []string{
	velero.PhaseNew, velero.PhaseQueued, velero.PhaseReadyToStart, velero.PhaseFailedValidation, velero.PhaseInProgress,
	velero.PhaseWaitingForPluginOperations, velero.PhaseWaitingForPluginOperationsPartiallyFailed,
	velero.PhaseFinalizing, velero.PhaseFinalizingPartiallyFailed,
	velero.PhaseCompleted, velero.PhasePartiallyFailed, velero.PhaseFailed, velero.PhaseDeleting,
}

var conditionStages = []job.Stage{
	job.StageQueued,
	job.StageItems,
	job.StageVolumes,
	job.StageOperations,
	job.StageFinalizing,
	job.StageDone,
	job.StageDeleting,
}

// conditionChoices returns the values of --for; those that end in "=" need another word.
func conditionChoices() []string {
	words := []string{"completed", "ended", "stuck", "create", "delete"}
	for _, phase := range conditionPhases {
		words = append(words, "phase="+phase)
	}
	for _, stage := range conditionStages {
		words = append(words, "stage="+string(stage))
	}
	return words
}

// parseConditions parses --for, also in kubectl's spellings.
func parseConditions(texts []string) ([]waitCondition, error) {
	var all []waitCondition
	for _, text := range texts {
		text = strings.TrimPrefix(strings.Replace(text, "jsonpath={.status.phase}=", "phase=", 1), "condition=")
		word, value, _ := strings.Cut(text, "=")
		c := waitCondition{strings.ToLower(word), value}
		if c.name == "complete" {
			c.name = "completed"
		}
		if !slices.ContainsFunc(conditionChoices(), func(w string) bool { return strings.EqualFold(w, c.String()) }) {
			return nil, usageErrorf(
				"--for %s: must be completed, ended, stuck, create, delete, phase=PHASE or stage=STAGE%s",
				text,
				config.SuggestionText(text, conditionChoices()),
			)
		}
		all = append(all, c)
	}
	switch {
	case len(all) > 1 && slices.Contains(all, waitCondition{name: "create"}):
		return nil, usageErrorf(
			"--for create with others ends as soon as the job exists: leave it out and give --wait-for-creation",
		)
	case len(all) == 0:
		return nil, usageErrorf("--for needs a value, such as completed")
	}
	return all, nil
}

// exitCodeIfMet returns the exit code of a condition that an existing job meets.
func (c waitCondition) exitCodeIfMet(j assess.JudgedJob) (code int, ok bool) {
	switch c.name {
	case "create":
		return ExitOK, true
	case "completed":
		return phaseExitCode(j), j.IsTerminal()
	case "ended":
		return ExitOK, j.IsTerminal()
	case "phase":
		return ExitOK, strings.EqualFold(j.Phase, c.value)
	case "stage":
		return ExitOK, strings.EqualFold(string(j.Stage), c.value)
	case "stuck":
		return ExitRefused, j.IsTroubled()
	}
	return 0, false
}

func phaseExitCode(j assess.JudgedJob) int {
	if j.Phase == velero.PhaseCompleted {
		return ExitOK
	}
	return cmp.Or(phaseExitCodes[j.Phase], ExitFailed)
}
