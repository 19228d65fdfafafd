package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
	"github.com/veltui/veltui/watch"
)

const (
	// waitTick is how often passing time is looked at.
	waitTick = time.Second
	// waitLookPace is how long after a full look at a job that does not move the next
	// one follows, as in the dashboard.
	waitLookPace = 30 * time.Second
	// waitJournal is how many changes may come at once without a phase being missed.
	waitJournal = 10_000
)

// waited is what came of waiting for a job.
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

// awaited is one job that is waited for.
type awaited struct {
	kind            job.Kind
	name, namespace string
	// uid is that of the job that was seen last, empty before it exists.
	uid     types.UID
	last    assess.Judged
	volumes []assess.Volume
	// seen are the changes since it was looked at last.
	seen []*job.Job

	// full is the last full look, at fullAt: a reading of all that the verdict stands
	// on, as `veltui explain` makes it. looking is true while one goes on.
	full    assess.Judged
	fullAt  time.Time
	looking bool
	// unclear is that the last full look failed. It was said.
	unclear bool

	result    waited
	condition string
	code      int
	// unknown is why nothing was read of the job, empty once something was.
	unknown string
	// said is what was said last of it, in lines, and called what a person was called for.
	said, called string
}

func (t *awaited) subject() string { return t.kind.Word() + "/" + t.name }

func (t *awaited) settle(result waited, condition string, code int) {
	t.result, t.condition, t.code = result, condition, code
}

// state is how the job is, in words.
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
		for _, more := range []struct {
			n    int
			what string
		}{{t.last.Errors, "error"}, {t.last.Warnings, "warning"}} {
			if more.n > 0 {
				text += ", " + human.Count(more.n, more.what)
			}
		}
		if reason := cmp.Or(t.last.FailureReason, strings.Join(t.last.ValidationErrors, "; ")); reason != "" {
			text += ": " + reason
		}
		return text
	}
	text := "phase " + cmp.Or(t.last.Phase, velero.PhaseNew)
	if began := t.last.Began(); !began.IsZero() {
		text += " for " + human.Age(began, now)
	}
	if !t.last.DeletionAt.IsZero() {
		text += ", deletion requested " + human.Age(t.last.DeletionAt, now) + " ago"
	}
	if t.last.State != "" && t.last.State != diagnosis.Progressing {
		text += ", " + string(t.last.State) + ": " + t.cause()
	}
	return text
}

// cause is the verdict's sentence without the name before it.
func (t *awaited) cause() string {
	return strings.TrimPrefix(t.last.Verdict.Summary, t.name+": ")
}

// waiter waits for jobs of one cluster. Only its run touches the fields.
type waiter struct {
	cli        *cli
	flags      waitFlags
	conditions []condition
	targets    []*awaited
	selected   selection

	watcher  *watch.Watcher
	known    *cachedEstimates
	looker   *inspect.Looks
	screen   *waitScreen
	assessed *assess.Assessment
	// looked takes what came of full looks.
	looked chan func()
	stale  bool
	// over is when the time is over, zero for never.
	over time.Time
}

// newWaiter starts to watch the selected jobs, and returns once each has been asked
// for, or the time is over. What it starts ends with ctx.
func (c *cli) newWaiter(ctx context.Context, cancel context.CancelCauseFunc, selected selection, conditions []condition, f waitFlags) (*waiter, error) {
	w := &waiter{cli: c, flags: f, conditions: conditions, selected: selected, looked: make(chan func()), screen: c.newWaitScreen(f)}
	w.screen.watchStops(ctx)
	if f.timeout > 0 {
		w.over = time.Now().Add(f.timeout)
	}
	only := selected.query().Names
	for _, n := range only {
		kind := job.Backup
		if n.Resource == watch.Restores {
			kind = job.Restore
		}
		w.targets = append(w.targets, &awaited{kind: kind, name: n.Name, result: resultPending})
	}
	var patience time.Duration
	var err error
	if w.watcher, patience, err = c.startWatch(ctx, cancel, waitJournal, func(o *watch.Options) {
		o.Only, o.Window = only, waitTick/4
	}); err != nil {
		return nil, err
	}
	snap, err := w.first(ctx, patience)
	if snap == nil || err != nil {
		return w, err
	}
	if w.known, err = c.newCachedEstimates(); err != nil {
		return nil, err
	}
	w.looker = &inspect.Looks{Cluster: c.inspected("", slog.New(slog.DiscardHandler))}
	w.take(ctx, snap)
	for _, t := range w.targets {
		if t.last.Job != nil && t.last.Terminal() {
			t.called = t.last.Phase // it had ended before anybody waited
		}
	}
	return w, nil
}

// first is what is read first. With a time of its own, waiting goes on although a cluster
// is silent for longer than patience: that is said. It is nil if the time is over before.
func (w *waiter) first(ctx context.Context, patience time.Duration) (*watch.Snapshot, error) {
	for told := false; ; {
		limit := patience
		if !w.over.IsZero() {
			limit = min(limit, time.Until(w.over))
		}
		snap, err := readOnce(ctx, w.watcher, w.selected, limit)
		silent := silentError{}
		switch {
		case err == nil:
			if told {
				w.screen.say("Connected.")
			}
			return snap, nil
		case !errors.As(err, &silent), w.over.IsZero():
			return nil, err
		case !w.over.IsZero() && !time.Now().Before(w.over):
			for _, t := range w.targets {
				t.unknown = silent.why
				t.settle(resultTimeout, "", ExitTimeout)
			}
			return nil, nil
		case !told:
			told = true
			w.screen.say("No connection yet: " + strings.TrimRight(silent.why, ".") + ". veltui keeps trying, and goes on to wait.")
		}
	}
}

func (w *waiter) now() time.Time {
	if w.assessed == nil {
		return w.cli.clock()
	}
	return w.assessed.Environment.Now
}

// run waits until all that is waited for has come, or the time is over.
func (w *waiter) run(ctx context.Context) error {
	if w.assessed == nil { // the time was over before anything was read
		return nil
	}
	snaps, failed := make(chan *watch.Snapshot), make(chan error, 1)
	go func() {
		for {
			snap, err := w.watcher.Next(ctx)
			if err != nil {
				failed <- err
				return
			}
			select {
			case snaps <- snap:
			case <-ctx.Done():
			}
		}
	}()
	var over <-chan time.Time
	if !w.over.IsZero() {
		over = time.After(time.Until(w.over))
	}
	tick := time.NewTicker(waitTick)
	defer tick.Stop()
	for !w.done() {
		w.lookCloser(ctx)
		w.show()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-failed:
			return cmp.Or(context.Cause(ctx), err)
		case snap := <-snaps:
			w.take(ctx, snap)
		case take := <-w.looked:
			take()
			w.judge(ctx, w.assessed.Snapshot)
		case <-tick.C:
			w.judge(ctx, w.assessed.Snapshot)
		case <-over:
			for _, t := range w.pending() {
				t.settle(resultTimeout, "", ExitTimeout)
			}
		}
	}
	w.show()
	return nil
}

func (w *waiter) pending() []*awaited {
	return slices.DeleteFunc(slices.Clone(w.targets), func(t *awaited) bool { return t.result != resultPending })
}

// done reports whether nothing is to be waited for any more.
func (w *waiter) done() bool {
	stuck := slices.ContainsFunc(w.targets, func(t *awaited) bool { return t.result == resultStuck })
	return stuck || len(w.pending()) == 0
}

// take takes in a new snapshot.
func (w *waiter) take(ctx context.Context, snap *watch.Snapshot) {
	for _, change := range snap.Changes {
		for _, t := range w.pending() {
			if change.Job.Kind == t.kind && change.Job.Name == t.name && !change.Deleted {
				t.seen = append(t.seen, change.Job)
			}
		}
	}
	w.judge(ctx, snap)
}

// judge judges what is known for this moment, and settles what has come.
func (w *waiter) judge(ctx context.Context, snap *watch.Snapshot) {
	w.assessed = w.known.assess(ctx, snap, w.selected.matches)
	if stale := w.assessed.Stale(); stale != w.stale {
		w.stale = stale
		w.screen.health(snap.Health)
	}
	for _, t := range w.pending() {
		w.judgeTarget(t)
		t.seen = nil
	}
}

func (w *waiter) judgeTarget(t *awaited) {
	snap := w.assessed.Snapshot
	t.namespace = snap.Namespace
	i := slices.IndexFunc(snap.Jobs, func(j *job.Job) bool { return j.Kind == t.kind && j.Name == t.name })
	// Some phases last for less than the time between two snapshots.
	for _, j := range t.seen {
		for _, c := range w.conditions {
			if _, ok := c.met(assess.Judged{Job: j}); ok && (c.word == "phase" || c.word == "stage" || c.word == "create") {
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
		t.full, t.fullAt = assess.Judged{}, time.Time{}
		w.screen.say(fmt.Sprintf("%s was deleted and made again; veltui waits for the new one.", capitalWord(t.kind.Word()+" "+t.name)))
	}
	t.uid, t.last, t.volumes = j.UID, w.effective(t, j), w.assessed.Volumes(j)
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

// judgeMissing settles a job that is not there.
func (w *waiter) judgeMissing(t *awaited) {
	existed := t.uid != ""
	switch {
	case w.stale:
	case w.waitsForDelete():
		t.settle(resultMet, "delete", ExitOK)
	case w.flags.forCreation || w.conditions[0].word == "create":
		if existed {
			t.uid, t.last, t.volumes = "", assess.Judged{}, nil
			w.screen.say(fmt.Sprintf("%s was deleted; veltui waits until it is made again.", capitalWord(t.kind.Word()+" "+t.name)))
		}
	case existed:
		t.settle(resultDeleted, "", ExitError)
	default:
		t.settle(resultMissing, "", ExitError)
	}
}

func capitalWord(text string) string { return string(text[0]-'a'+'A') + text[1:] }

// effective is a job as it moves before our eyes, with the verdict of the last full
// look where it does not.
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
	judged.State, judged.Verdict, judged.Queue = full.State, full.Verdict, full.Queue
	return judged
}

// lookCloser has jobs that do not move looked at, one after the other.
func (w *waiter) lookCloser(ctx context.Context) {
	if w.stale || slices.ContainsFunc(w.targets, func(t *awaited) bool { return t.looking }) {
		return
	}
	now := w.cli.clock()
	due := slices.DeleteFunc(w.pending(), func(t *awaited) bool {
		live := t.last.Job
		return live == nil || live.Terminal() || now.Sub(t.fullAt) < waitLookPace || w.assessed.Of(live).State == diagnosis.Progressing
	})
	if len(due) == 0 {
		return
	}
	t := slices.MinFunc(due, func(a, b *awaited) int { return a.fullAt.Compare(b.fullAt) })
	t.looking = true
	go func() {
		full, err := w.look(ctx, t.kind, t.name)
		take := func() { w.takeLook(t, full, err) }
		select {
		case w.looked <- take:
		case <-ctx.Done():
		}
	}()
}

// takeLook takes in a full look. One that failed is said once, until one succeeds.
func (w *waiter) takeLook(t *awaited, full assess.Judged, err error) {
	t.looking, t.fullAt = false, w.cli.clock()
	if full.Job != nil {
		t.full = full
	}
	failed := err != nil && !errors.Is(err, errGone)
	if failed && !t.unclear {
		w.screen.say(fmt.Sprintf("veltui cannot tell whether %s is stuck: %s", t.subject(), err))
	}
	t.unclear = failed
}

// errGone is that a job was deleted before it was looked at.
var errGone = errors.New("it is gone")

// look judges a job as `veltui explain` does.
func (w *waiter) look(ctx context.Context, kind job.Kind, name string) (assess.Judged, error) {
	selected := selection{kind: kind, names: []string{name}, kinds: []job.Kind{kind}}
	q := selected.query()
	q.Volumes, q.Also, q.Progress = true, []string{watch.Deletions}, func(string, int) {}
	snap, err := w.cli.read(ctx, q, w.looker.Log)
	if err != nil {
		return assess.Judged{}, err
	}
	found := pick(snap.Jobs, selected)
	if len(found) == 0 {
		return assess.Judged{}, errGone
	}
	var estimates assess.Estimates
	assessed := estimates.Assess(snap, w.cli.clock())
	judged := assessed.Of(found[0])
	if !judged.NeedsLook {
		return judged, nil
	}
	look, err := w.looker.Look(ctx, judged.Job)
	if err == nil {
		_, judged = assessed.Look(judged.Job, look)
	}
	return judged, err
}

// show draws or says how the jobs are, and calls a person where that was asked for: once
// for all that ended or got stuck at the same time.
func (w *waiter) show() {
	var news []string
	for _, t := range w.targets {
		if t.news() {
			news = append(news, t.subject()+": "+t.state(w.now()))
		}
	}
	if more := len(news) - 1; more >= 0 {
		text := news[0]
		if more > 0 {
			text = fmt.Sprintf("%s, and %d more", text, more)
		}
		w.screen.call(text)
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
