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
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

const waitWindow = 250 * time.Millisecond // a wait has few changes, and ends with one

type waited string

const (
	resultPending waited = "pending"
	resultMet     waited = "met"
	resultEnded   waited = "ended"
	resultMissing waited = "missing"
	resultDeleted waited = "deleted"
	resultStuck   waited = "stuck"
	resultTimeout waited = "timeout"
)

type awaited struct {
	jobName
	namespace string
	uid       types.UID
	last      assess.Judged
	volumes   []assess.Volume
	seen      []*job.Job

	full    assess.Judged // in the last full look, which reads all that `veltui explain` reads
	unclear bool          // the last full look failed, which was said

	running         bool                   // it was seen before it ended
	verifying, told bool                   // it has ended and is verified, and what that found was said
	verified        atomic.Pointer[string] // what it was, or why that is not known

	result    waited
	condition string
	code      int
	unknown   string // why nothing was read of the job, empty once something was
	said      string // last, in lines
	called    string // what a person was called for
}

func (t *awaited) settle(result waited, condition string, code int) {
	t.result, t.condition, t.code = result, condition, code
}

func (t *awaited) state(now time.Time) string {
	switch {
	case t.unknown != "":
		return "veltui could not look whether it exists: " + t.unknown
	case t.last.Job == nil:
		return "it does not exist"
	case t.last.Terminal():
		text := t.last.Phase
		if began, ended := t.last.Began(), t.last.Completed; !began.IsZero() && ended.After(began) {
			text += " after " + human.Duration(ended.Sub(began))
		}
		if t.last.Errors > 0 {
			text += ", " + human.Count(t.last.Errors, "error")
		}
		if t.last.Warnings > 0 {
			text += ", " + human.Count(t.last.Warnings, "warning")
		}
		return text + human.Clause(": ", cmp.Or(t.last.FailureReason, strings.Join(t.last.ValidationErrors, "; ")))
	}
	text := "phase " + cmp.Or(t.last.Phase, velero.PhaseNew)
	if began := t.last.Began(); !began.IsZero() {
		text += " for " + human.Age(began, now)
	}
	if !t.last.DeletionAt.IsZero() {
		text += ", deletion requested " + human.Age(t.last.DeletionAt, now) + " ago"
	}
	if t.last.State != "" && t.last.State != diagnosis.Progressing {
		text += ", " + string(t.last.State) + ": " + t.last.Verdict.Text
	}
	return text
}

var errTimeUp = errors.New("the time is up")

// waiter waits for jobs of one cluster. Only its run touches the fields.
type waiter struct {
	cli        *cli
	flags      waitFlags
	conditions []condition
	targets    []*awaited
	selected   selection

	cluster  *cluster.Cluster
	monitor  *cluster.Monitor // of full looks
	screen   *waitScreen
	deliver  func(document.WaitResult) // takes what is printed else; nil to print it
	assessed *assess.Assessment
	looked   chan fullLook
	stale    bool

	verifying sync.WaitGroup
	oneByOne  sync.Mutex
}

type fullLook struct {
	job    *job.Job
	judged assess.Judged
	err    error
}

func (c *cli) newWaiter(selected selection, conditions []condition, f waitFlags) *waiter {
	w := &waiter{
		cli:        c,
		flags:      f,
		conditions: conditions,
		selected:   selected,
		looked:     make(chan fullLook, 1),
		screen:     c.newWaitScreen(f),
	}
	w.cluster = c.inspected()
	w.cluster.Log, w.cluster.NoArtifacts = slog.New(slog.DiscardHandler), f.noArtifacts
	for _, n := range appendNew(nil, selected.names...) {
		w.targets = append(w.targets, &awaited{jobName: n, result: resultPending})
	}
	return w
}

// run waits until all targets are settled or the time is up; with a timeout also for a silent cluster.
func (w *waiter) run(ctx context.Context) error {
	whole := ctx // verifying may go on
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.screen.watchStops(ctx)
	if w.flags.timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, w.flags.timeout, errTimeUp)
		defer stop()
	}
	monitor, err := w.cli.newMonitor(nil)
	if err != nil {
		return err
	}
	if w.flags.noArtifacts {
		monitor.LeaveArtifacts()
	}
	w.monitor = monitor
	o, err := w.cli.following(ctx, w.selected, human.Short, func(o *watch.Options) {
		o.Only, o.Window = w.selected.query().Names, waitWindow
	})
	if err != nil {
		return err
	}
	o.Look, o.Wanted, o.InFocus = w.look, w.needsLook, true
	warned := false
	for a, err := range cluster.Follow(ctx, o) {
		var silent *cluster.SilentError
		switch {
		case errors.Is(err, errTimeUp):
			errors.As(err, &silent)
			w.timeUp(silent)
			return nil
		case err != nil && ctx.Err() != nil:
			return err
		case errors.As(err, &silent) && w.flags.timeout > 0:
			if !warned {
				warned = true
				w.screen.say(
					"No connection yet: " + strings.TrimRight(
						silent.Cause(),
						".",
					) + ". veltui keeps trying, and goes on to wait.",
				)
			}
			continue
		case err != nil:
			return err
		case warned && w.assessed == nil:
			w.screen.say("Connected.")
		}
		w.take(a)
		w.verify(whole)
		w.show()
		if len(w.pending()) == 0 ||
			slices.ContainsFunc(w.targets, func(t *awaited) bool { return t.result == resultStuck }) {
			return nil
		}
	}
	return nil
}

// timeUp settles what is pending. silent is why nothing was read, nil if something was.
func (w *waiter) timeUp(silent *cluster.SilentError) {
	for _, t := range w.pending() {
		t.settle(resultTimeout, "", ExitTimeout)
		if silent != nil {
			t.unknown = silent.Cause()
		}
	}
	if w.assessed != nil {
		w.show()
	}
}

func (w *waiter) now() time.Time {
	if w.assessed == nil {
		return w.cli.clock()
	}
	return w.assessed.Environment.Now
}

func (w *waiter) pending() []*awaited {
	return slices.DeleteFunc(slices.Clone(w.targets), func(t *awaited) bool { return t.result != resultPending })
}

func (w *waiter) take(a *assess.Assessment) {
	first := w.assessed == nil
	w.assessed = a
	for _, change := range a.Snapshot.Changes {
		for _, t := range w.pending() {
			if nameOf(change.Job) == t.jobName && !change.Deleted {
				t.seen = append(t.seen, change.Job)
			}
		}
	}
	select {
	case l := <-w.looked:
		w.takeLook(l)
	default:
	}
	if stale := a.Stale(); stale != w.stale {
		w.stale = stale
		w.screen.health(a.Snapshot.Health)
	}
	for _, t := range w.pending() {
		w.judgeTarget(t)
		t.seen = nil
	}
	for _, t := range w.targets {
		if first && t.last.Job != nil && t.last.Terminal() {
			t.called = t.last.Phase // it had ended before the wait began
		}
	}
}

func (w *waiter) judgeTarget(t *awaited) {
	snap := w.assessed.Snapshot
	t.namespace = snap.Namespace
	i := slices.IndexFunc(snap.Jobs, func(j *job.Job) bool { return nameOf(j) == t.jobName })
	// Some phases last for less than the time between two snapshots.
	for _, j := range t.seen {
		for _, c := range w.conditions {
			if _, ok := c.met(
				assess.Judged{Job: j},
			); ok &&
				slices.Contains([]string{"phase", "stage", "create"}, c.word) {
				t.uid, t.last = j.UID, w.effective(t, j)
				t.settle(resultMet, c.String(), ExitOK)
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
		t.full = assess.Judged{}
		w.screen.say(string(t.kind) + " " + t.name + " was deleted and made again; veltui waits for the new one.")
	}
	t.uid, t.last, t.volumes = j.UID, w.effective(t, j), w.assessed.Volumes(j)
	t.running = t.running || !j.Terminal()
	if w.stale {
		return
	}
	for _, c := range w.conditions {
		if code, ok := c.met(t.last); ok {
			t.settle(resultMet, c.String(), code)
			return
		}
	}
	switch {
	case w.flags.failOnStuck && t.last.Troubled():
		t.settle(resultStuck, "", ExitRefused)
	case j.Terminal() && !w.waitsForDelete():
		t.settle(resultEnded, "", cmp.Or(endCode(t.last), ExitError))
	}
}

func (w *waiter) waitsForDelete() bool {
	return slices.ContainsFunc(w.conditions, func(c condition) bool { return c.word == "delete" })
}

func (w *waiter) judgeMissing(t *awaited) {
	existed := t.uid != ""
	switch {
	case w.stale:
	case w.waitsForDelete():
		t.settle(resultMet, "delete", ExitOK)
	case w.flags.forCreation || w.conditions[0].word == "create":
		if existed {
			t.uid, t.last, t.volumes = "", assess.Judged{}, nil
			w.screen.say(string(t.kind) + " " + t.name + " was deleted; veltui waits until it is made again.")
		}
	case existed:
		t.settle(resultDeleted, "", ExitError)
	default:
		t.settle(resultMissing, "", ExitError)
	}
}

// effective is a job as the watch has it, with the verdict of the last full look if it does not move.
func (w *waiter) effective(t *awaited, j *job.Job) assess.Judged {
	judged := w.assessed.Of(j)
	if w.assessed.Stale() || judged.State == "" || judged.State == diagnosis.Progressing {
		return judged
	}
	full := t.full
	if full.Job == nil || full.UID != j.UID || full.Phase != j.Phase || full.Changed.Before(j.Changed) {
		// What is missing for a verdict has not been read: it is no state of the job.
		judged.State, judged.Verdict = "", diagnosis.Verdict{}
		return judged
	}
	judged.State, judged.Verdict, judged.Spoken, judged.Queue = full.State, full.Verdict, full.Spoken, full.Queue
	return judged
}

func (w *waiter) needsLook(j *job.Job) bool {
	return w.assessed.Of(j).State != diagnosis.Progressing &&
		slices.ContainsFunc(w.pending(), func(t *awaited) bool { return t.uid == j.UID })
}

// takeLook takes in a full look. One that failed is said once, until one succeeds.
func (w *waiter) takeLook(l fullLook) {
	for _, t := range w.targets {
		if t.uid != l.job.UID {
			continue
		}
		if l.judged.Job != nil {
			t.full = l.judged
		}
		failed := l.err != nil && !errors.Is(l.err, errGone)
		if failed && !t.unclear {
			w.screen.say(fmt.Sprintf("veltui cannot tell whether %s is stuck: %s", t.String(), l.err))
		}
		t.unclear = failed
	}
}

var errGone = errors.New("it is gone")

func (w *waiter) look(ctx context.Context, _ *assess.Assessment, j *job.Job) {
	judged, err := w.lookFully(ctx, j)
	w.looked <- fullLook{j, judged, err}
}

func (w *waiter) lookFully(ctx context.Context, j *job.Job) (assess.Judged, error) {
	selected := selection{names: []jobName{nameOf(j)}}
	q := selected.query()
	q.Volumes, q.Also, q.Progress = true, []string{watch.Deletions}, func(string, int) {}
	snap, err := w.cli.read(ctx, q, w.cluster.Log)
	if err != nil {
		return assess.Judged{}, err
	}
	found := pick(snap.Jobs, selected)
	if len(found) == 0 {
		return assess.Judged{}, errGone
	}
	examined := w.monitor.AssessOnce(ctx, snap, func(o *job.Job) bool { return o.UID == found[0].UID }, false)
	if why := examined.Looks[found[0].UID].Err; why != "" {
		err = errors.New(why)
	}
	return examined.Of(examined.Find(found[0].UID)), err
}

// show draws the jobs and notifies, once for all that ended or got stuck at the same time.
func (w *waiter) show() {
	var news []string
	for _, t := range w.targets {
		if t.news() {
			news = append(news, t.String()+": "+t.state(w.now()))
		}
	}
	switch len(news) {
	case 0:
	case 1:
		w.screen.call(news[0])
	default:
		w.screen.call(fmt.Sprintf("%s, and %d more", news[0], len(news)-1))
	}
	w.screen.show(w.targets, w.assessed)
}

// news reports once what is worth calling a person for: that the job ended or is stuck.
func (t *awaited) news() bool {
	if t.last.Job == nil {
		return false
	}
	was := t.called
	switch {
	case t.last.Terminal():
		t.called = t.last.Phase
	case t.last.Troubled():
		t.called = string(t.last.State)
	case t.last.State == diagnosis.Progressing:
		t.called = ""
	}
	return t.called != "" && t.called != was
}
