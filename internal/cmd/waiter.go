package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

const waitBatchWindow = 250 * time.Millisecond // few changes are expected, and one ends the wait

type waitResult string

const (
	resultPending waitResult = "pending"
	resultMet     waitResult = "met"
	resultEnded   waitResult = "ended"
	resultMissing waitResult = "missing"
	resultDeleted waitResult = "deleted"
	resultStuck   waitResult = "stuck"
	resultTimeout waitResult = "timeout"
)

type waitTarget struct {
	jobRef
	namespace     string
	uid           types.UID
	lastJudged    assess.JudgedJob
	volumes       []assess.JudgedVolume
	recentChanges []*job.Job

	lastFullLook assess.JudgedJob // at the last full look, which reads all that `veltui explain` reads
	lookFailed   bool             // the last full look failed, which was printed

	wasRunning          bool                   // true if the job was seen before its end
	verifying, reported bool                   // the ended job is being verified, and the result was printed
	verification        atomic.Pointer[string] // the result, or why it is unknown

	result        waitResult
	condition     string
	exitCode      int
	unknownReason string // why nothing was read about the job, empty once something was
	lastLine      string // the last line printed
	lastNotified  string // what a person was last notified of
}

func (t *waitTarget) setResult(result waitResult, condition string, code int) {
	t.result, t.condition, t.exitCode = result, condition, code
}

func (t *waitTarget) stateText(now time.Time) string {
	switch {
	case t.unknownReason != "":
		return "veltui could not look whether it exists: " + t.unknownReason
	case t.lastJudged.Job == nil:
		return "it does not exist"
	}
	return view.JobSentence(t.lastJudged, now)
}

var errWaitTimeout = errors.New("the time is up")

// waiter waits for jobs of one cluster. Only the goroutine of followTargets uses the fields.
type waiter struct {
	cli        *cli
	flags      waitFlags
	conditions []waitCondition
	targets    []*waitTarget
	selected   selection

	cluster   *cluster.Cluster
	monitor   *cluster.Assessor // for full looks
	screen    *waitScreen
	onResult  func(document.WaitResult) // receives the result; nil prints it
	assessed  *assess.Assessment
	fullLooks chan fullLook
	stale     bool

	verifying   sync.WaitGroup
	verifyMutex sync.Mutex
}

type fullLook struct {
	job    *job.Job
	judged assess.JudgedJob
	err    error
}

func (c *cli) newWaiter(selected selection, conditions []waitCondition, f waitFlags) *waiter {
	w := &waiter{
		cli:        c,
		flags:      f,
		conditions: conditions,
		selected:   selected,
		fullLooks:  make(chan fullLook, 1),
		screen:     c.stdio.newWaitScreen(f),
	}
	w.cluster = c.newCluster()
	w.cluster.Log, w.cluster.NoArtifacts = slog.New(slog.DiscardHandler), f.noArtifacts
	for _, n := range appendUnique(nil, selected.names...) {
		w.targets = append(w.targets, &waitTarget{jobRef: n, result: resultPending})
	}
	return w
}

// followTargets waits until all targets are settled or the time is up; with a timeout it also waits for a silent
// cluster.
func (w *waiter) followTargets(ctx context.Context) error {
	whole := ctx // verifying may continue after the wait
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.screen.watchStops(ctx)
	if w.flags.timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, w.flags.timeout, errWaitTimeout)
		defer stop()
	}
	monitor, err := w.cli.newMonitor(nil)
	if err != nil {
		return err
	}
	if w.flags.noArtifacts {
		monitor.SkipArtifacts()
	}
	w.monitor = monitor
	o, err := w.cli.newFollowOptions(ctx, w.selected, human.ShortStyle, func(o *watch.Options) {
		o.OnlyJobs, o.BatchWindow = w.selected.buildQuery().JobNames, waitBatchWindow
	})
	if err != nil {
		return err
	}
	o.TakeCloserLook, o.IsWanted, o.InFocus = w.sendFullLook, w.needsFullLook, true
	warned := false
	for a, err := range cluster.Follow(ctx, o) {
		var silent *cluster.NotReadyError
		switch {
		case errors.Is(err, errWaitTimeout):
			errors.As(err, &silent)
			w.settlePending(silent)
			return nil
		case err != nil && ctx.Err() != nil:
			return err
		case errors.As(err, &silent) && w.flags.timeout > 0:
			if !warned {
				warned = true
				w.screen.printLine(
					"No connection yet: " + strings.TrimRight(
						silent.SilenceCause(),
						".",
					) + ". veltui keeps trying, and goes on to wait.",
				)
			}
			continue
		case err != nil:
			return err
		case warned && w.assessed == nil:
			w.screen.printLine("Connected.")
		}
		w.handleAssessment(a)
		w.verifyEndedRestores(whole)
		w.renderAndNotify()
		if len(w.pendingTargets()) == 0 ||
			slices.ContainsFunc(w.targets, func(t *waitTarget) bool { return t.result == resultStuck }) {
			return nil
		}
	}
	return nil
}

// settlePending gives the pending targets their result when the time is up. silent is why nothing was read, nil if
// something was.
func (w *waiter) settlePending(silent *cluster.NotReadyError) {
	for _, t := range w.pendingTargets() {
		t.setResult(resultTimeout, "", ExitTimeout)
		if silent != nil {
			t.unknownReason = silent.SilenceCause()
		}
	}
	if w.assessed != nil {
		w.renderAndNotify()
	}
}

func (w *waiter) currentTime() time.Time {
	if w.assessed == nil {
		return w.cli.process.clock()
	}
	return w.assessed.World.Now
}

func (w *waiter) pendingTargets() []*waitTarget {
	return slices.DeleteFunc(slices.Clone(w.targets), func(t *waitTarget) bool { return t.result != resultPending })
}

func (w *waiter) handleAssessment(a *assess.Assessment) {
	first := w.assessed == nil
	w.assessed = a
	for _, change := range a.Snapshot.Changes {
		for _, t := range w.pendingTargets() {
			if jobRefOf(change.Job) == t.jobRef && !change.Deleted {
				t.recentChanges = append(t.recentChanges, change.Job)
			}
		}
	}
	if note := w.cli.connector.otherVelerosNote(a.Snapshot, ""); note != "" {
		w.screen.printLine("note: " + note)
	}
	select {
	case l := <-w.fullLooks:
		w.handleFullLook(l)
	default:
	}
	if stale := a.IsStale(); stale != w.stale {
		w.stale = stale
		w.screen.reportHealth(a.Snapshot.Health)
	}
	for _, t := range w.pendingTargets() {
		w.judgeTarget(t)
		t.recentChanges = nil
	}
	for _, t := range w.targets {
		if first && t.lastJudged.Job != nil && t.lastJudged.IsTerminal() {
			t.lastNotified = t.lastJudged.Phase // the job had ended before the wait began
		}
	}
}

func (w *waiter) judgeTarget(t *waitTarget) {
	snap := w.assessed.Snapshot
	t.namespace = snap.Namespace
	i := slices.IndexFunc(snap.Jobs, func(j *job.Job) bool { return jobRefOf(j) == t.jobRef })
	// Some phases are shorter than the time between two snapshots.
	for _, j := range t.recentChanges {
		for _, c := range w.conditions {
			if _, ok := c.exitCodeIfMet(
				assess.JudgedJob{Job: j},
			); ok &&
				slices.Contains([]string{"phase", "stage", "create"}, c.name) {
				t.uid, t.lastJudged = j.UID, w.effectiveJob(t, j)
				t.setResult(resultMet, c.String(), ExitOK)
				return
			}
		}
	}
	if i < 0 {
		w.judgeMissing(t)
		return
	}
	j := snap.Jobs[i]
	if t.uid != "" && t.uid != j.UID {
		t.lastFullLook = assess.JudgedJob{}
		w.screen.printLine(string(t.kind) + " " + t.name + " was deleted and made again; veltui waits for the new one.")
	}
	t.uid, t.lastJudged, t.volumes = j.UID, w.effectiveJob(t, j), w.assessed.JudgeVolumes(j)
	t.wasRunning = t.wasRunning || !j.IsTerminal()
	if w.stale {
		return
	}
	for _, c := range w.conditions {
		if code, ok := c.exitCodeIfMet(t.lastJudged); ok {
			t.setResult(resultMet, c.String(), code)
			return
		}
	}
	switch {
	case w.flags.failOnStuck && t.lastJudged.IsTroubled():
		t.setResult(resultStuck, "", ExitRefused)
	case j.IsTerminal() && !w.waitsForDelete():
		t.setResult(resultEnded, "", cmp.Or(phaseExitCode(t.lastJudged), ExitError))
	}
}

func (w *waiter) waitsForDelete() bool {
	return slices.ContainsFunc(w.conditions, func(c waitCondition) bool { return c.name == "delete" })
}

func (w *waiter) judgeMissing(t *waitTarget) {
	existed := t.uid != ""
	switch {
	case w.stale:
	case w.waitsForDelete():
		t.setResult(resultMet, "delete", ExitOK)
	case w.flags.forCreation || w.conditions[0].name == "create":
		if existed {
			t.uid, t.lastJudged, t.volumes = "", assess.JudgedJob{}, nil
			w.screen.printLine(string(t.kind) + " " + t.name + " was deleted; veltui waits until it is made again.")
		}
	case existed:
		t.setResult(resultDeleted, "", ExitError)
	default:
		t.setResult(resultMissing, "", ExitError)
	}
}

// effectiveJob returns a job as the watch reports it, with the verdict of the last full look if the job does not
// progress, or if that look has found why it will not.
func (w *waiter) effectiveJob(t *waitTarget, j *job.Job) assess.JudgedJob {
	judged := w.assessed.AssessJob(j)
	full := t.lastFullLook
	if w.assessed.IsStale() || judged.State == "" || judged.State == diagnosis.Progressing &&
		(!full.IsTroubled() || full.UID != j.UID || full.Phase != j.Phase || full.LastChanged.Before(j.LastChanged)) {
		return judged
	}
	if full.Job == nil || full.UID != j.UID || full.Phase != j.Phase || full.LastChanged.Before(j.LastChanged) {
		// The data for a verdict was not read, so there is no verdict on the job.
		judged.State, judged.Verdict = "", diagnosis.Verdict{}
		return judged
	}
	judged.State, judged.Queue = full.State, full.Queue
	judged.Verdict, judged.VerdictInWords = full.Verdict, full.VerdictInWords
	return judged
}

// needsFullLook reports whether a full look may change what is printed of a job: it does not progress, or is silent for
// longer than is usual for it.
func (w *waiter) needsFullLook(j *job.Job) bool {
	return (w.assessed.AssessJob(j).State != diagnosis.Progressing || w.assessed.HasUnusualSilence(j)) &&
		slices.ContainsFunc(w.pendingTargets(), func(t *waitTarget) bool { return t.uid == j.UID })
}

// handleFullLook stores the result of a full look. A failure is printed once, until a look succeeds.
func (w *waiter) handleFullLook(l fullLook) {
	for _, t := range w.targets {
		if t.uid != l.job.UID {
			continue
		}
		if l.judged.Job != nil {
			t.lastFullLook = l.judged
		}
		failed := l.err != nil && !errors.Is(l.err, errJobGone)
		if failed && !t.lookFailed {
			w.screen.printLine(fmt.Sprintf("veltui cannot tell whether %s is stuck: %s", t.String(), l.err))
		}
		t.lookFailed = failed
	}
}

var errJobGone = errors.New("it is gone")

func (w *waiter) sendFullLook(ctx context.Context, _ *assess.Assessment, j *job.Job) {
	judged, err := w.takeFullLook(ctx, j)
	w.fullLooks <- fullLook{j, judged, err}
}

func (w *waiter) takeFullLook(ctx context.Context, j *job.Job) (assess.JudgedJob, error) {
	_, judged, err := w.examineJob(ctx, j)
	return judged, err
}

// examineJob reads everything that the verdict on a job needs. The judged job is empty if it could not be read.
func (w *waiter) examineJob(ctx context.Context, j *job.Job) (*assess.Assessment, assess.JudgedJob, error) {
	selected := selection{names: []jobRef{jobRefOf(j)}}
	q := selected.buildQuery()
	q.EndedVolumes, q.ExtraKinds, q.Progress = true, []string{watch.DeleteRequests}, func(string, int) {}
	snap, err := w.cli.readSnapshot(ctx, q, w.cluster.Log)
	if err != nil {
		return nil, assess.JudgedJob{}, err
	}
	found := selectJobs(snap.Jobs, selected)
	if len(found) == 0 {
		return nil, assess.JudgedJob{}, errJobGone
	}
	examined := w.monitor.AssessOnce(ctx, snap, func(o *job.Job) bool { return o.UID == found[0].UID }, false)
	if why := examined.CloserLooks[found[0].UID].Err; why != "" {
		err = errors.New(why)
	}
	return examined.Assessment, examined.AssessJob(examined.FindJob(found[0].UID)), err
}

// renderAndNotify draws the jobs, and sends one notification for all jobs that ended or got stuck at the same time.
func (w *waiter) renderAndNotify() {
	var news []string
	for _, t := range w.targets {
		if t.shouldNotify() {
			news = append(news, t.String()+": "+t.stateText(w.currentTime()))
		}
	}
	switch len(news) {
	case 0:
	case 1:
		w.screen.notifyUser(news[0])
	default:
		w.screen.notifyUser(news[0] + human.AndMore(len(news)-1))
	}
	w.screen.renderTargets(w.targets, w.assessed)
}

// shouldNotify reports, once for each news, whether a person should be notified: the job has ended or is stuck.
func (t *waitTarget) shouldNotify() bool {
	if t.lastJudged.Job == nil {
		return false
	}
	was := t.lastNotified
	switch {
	case t.lastJudged.IsTerminal():
		t.lastNotified = t.lastJudged.Phase
	case t.lastJudged.IsTroubled():
		t.lastNotified = string(t.lastJudged.State)
	case t.lastJudged.State == diagnosis.Progressing:
		t.lastNotified = ""
	}
	return t.lastNotified != "" && t.lastNotified != was
}
