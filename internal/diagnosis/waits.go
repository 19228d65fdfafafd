package diagnosis

import (
	"cmp"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// sight is what the evidence says of one wait of Velero's table.
type sight struct {
	// out is true if the job cannot be waiting for it, shown if it is.
	out, shown bool
	// what names it where the table's words are too general.
	what string
	// reason stands for the wait's own where the evidence tells more.
	reason Reason
	// since is when it began and limit its length, where the evidence tells.
	since time.Time
	limit time.Duration
	// rounds is how many times in a row the limit may pass, at least one.
	rounds int
	// unsure is true where it may be more rounds than were seen.
	unsure bool
	note   func()
	// summary ends a sentence that begins with the progress; both only where it is shown.
	summary, advice string
	action          Action
}

type wait struct {
	row *velero.Wait
	sight
	// passes is when its limit passes as far as one can see, for words and deadlines; zero if it has none.
	passes time.Time
	// until is the latest moment at which Velero can have acted on the limit; zero if that cannot be said.
	until time.Time
}

var steps = map[job.Stage]velero.Step{
	job.StageQueued: velero.StepQueued, job.StageOperations: velero.StepOperations,
	job.StageFinalizing: velero.StepFinalizing, job.StageDeleting: velero.StepDeleting,
}

// step is the most likely one, for words. A proof takes all of [assessment.reachable].
func (a *assessment) step() velero.Step {
	j := a.j
	switch step, known := steps[job.StageOf(j.Phase)]; {
	case known:
		return step
	case !a.evidence().Stored.IsZero():
		return velero.StepStoring // whatever is counted, it stores its files last
	case !j.Items.Known:
		return velero.StepCollecting
	case j.Items.Done < j.Items.Total && !(j.Stage == job.StageVolumes && j.PodVolumes().Active() > 0):
		return velero.StepItems
	case j.PodVolumes().Active() > 0:
		return velero.StepVolumes
	}
	return velero.StepStoring
}

// reachable are the steps in which the job can be. While it is in progress only its stored files tell more than
// whether there is a count: a count of all items may grow again.
func (a *assessment) reachable() []velero.Step {
	j, from := a.j, velero.StepItems
	switch step, known := steps[job.StageOf(j.Phase)]; {
	case known:
		return []velero.Step{step}
	case !a.evidence().Stored.IsZero():
		return []velero.Step{velero.StepStoring}
	case !j.Items.Known:
		from = velero.StepCollecting
	}
	return velero.Reachable(string(j.Kind), from, a.version(), j.PodVolumes().Active() > 0)
}

// waits are what the evidence allows the job to be waiting for in its most likely step, by Velero's table.
func (a *assessment) waits() []wait { return a.waitsIn(a.step()) }

func (a *assessment) waitsIn(step velero.Step) []wait {
	var found []wait
	sightings, rows := sightings(), velero.WaitsIn(a.env.table(), string(a.j.Kind), step, a.version())
	for i := range rows {
		of, known := sightings[rows[i].Name]
		if !known {
			continue
		}
		w := wait{row: &rows[i]}
		if of.see != nil {
			w.sight = of.see(a)
		}
		if w.reason = cmp.Or(w.reason, of.reason); w.out || a.filesStored(rows[i].Name) {
			continue
		}
		w.passes, w.until = a.bound(w)
		found = append(found, w)
	}
	return found
}

// filesStored: with all of its files stored a job in progress has only its last status left to write.
func (a *assessment) filesStored(name velero.WaitName) bool {
	return a.j.Phase == velero.PhaseInProgress && !a.evidence().Stored.IsZero() && name != velero.WaitLastPatch
}

// byLimits is the proof that every limit has passed of all that the job can be waiting for, in each step that it can
// be in.
func (a *assessment) byLimits(fact Fact) Proof {
	var all []wait
	for _, step := range a.reachable() {
		all = append(all, a.waitsIn(step)...)
	}
	return provenByLimits(a.Now, fact, publicWaits(all)...)
}

// bound is when a wait's limit passes, and the latest moment at which Velero can have acted on it.
func (a *assessment) bound(w wait) (passes, until time.Time) {
	flags, limit := a.env.Server.Flags, velero.Endless
	switch {
	case w.row.Limit.Of != nil:
		limit = w.row.Limit.Of(a.j.Object, flags)
	case w.limit > 0:
		limit = w.limit
	}
	from, rounds := a.moment(w), min(max(w.rounds, 1), maxRounds)
	if from.IsZero() || limit >= velero.Endless/time.Duration(rounds) {
		return time.Time{}, time.Time{}
	}
	passes = from.Add(time.Duration(rounds) * limit)
	delay := time.Duration(0)
	if w.row.Limit.Delay != nil {
		delay = w.row.Limit.Delay(flags)
	}
	if w.row.Limit.Open || w.unsure || w.row.From == velero.FromMovement || delay >= velero.Endless ||
		!a.limitsKnown() {
		return passes, time.Time{}
	}
	return passes, job.Latest(passes, a.env.serverStarted()).Add(delay)
}

// limitsKnown: the limits in force are those of the one server whose arguments were seen, and its version was read.
func (a *assessment) limitsKnown() bool {
	s := a.env.Server
	return s.Visible && s.Others() == 0 && s.Container != "" && !velero.IsUnread(s.Version)
}

// moment is what a wait's limit is counted from; zero if unknown, which bounds nothing.
func (a *assessment) moment(w wait) time.Time {
	j := a.j
	switch w.row.From {
	case velero.FromStart:
		return j.Started
	case velero.FromPhase:
		return j.Record(j.Stage).Began
	case velero.FromTurn:
		if a.finalizesFirst() != nil {
			return time.Time{} // its turn is still to come
		}
		return job.Latest(j.Record(j.Stage).Began, a.env.serverStarted(), a.env.LastEnded)
	case velero.FromFirstVolume:
		return firstPodVolume(j)
	case velero.FromStored:
		return a.evidence().Stored
	case velero.FromEvidence:
		return w.since
	}
	return j.QuietSince()
}

// passed reports whether a limit passed long enough ago that Velero would have acted.
func (a *assessment) passed(limit time.Time) bool {
	return !limit.IsZero() && a.Now.After(limit.Add(waitMargin))
}

func (w wait) public() Wait {
	p := Wait{Name: w.row.Name, For: cmp.Or(w.what, w.row.For), Shown: w.shown}
	if !w.passes.IsZero() {
		p.Limit = w.row.Limit.Setting
	}
	if !w.until.IsZero() {
		p.Until = w.until.Add(waitMargin)
	}
	return p
}

func publicWaits(waits []wait) []Wait {
	out := make([]Wait, len(waits))
	for i := range waits {
		out[i] = waits[i].public()
	}
	return out
}

// silent judges a job that does not move: it waits for what is shown, all limits have passed, or it may
// wait for several things. doing says how far it is.
func (a *assessment) silent(doing string) Verdict {
	waits := a.waits()
	all := publicWaits(waits)
	for _, w := range waits {
		if !w.shown || a.passed(w.passes) {
			continue
		}
		if w.note != nil {
			w.note()
		}
		return a.Conclude(Waiting, w.reason, w.advice, "%s%s", doing, w.summary).withAction(w.action).withWaits(all)
	}
	fact := Fact{
		Holds:  true,
		Source: SourceWatch,
		At:     a.Now,
		Text:   "every limit of what it may be waiting for has passed: " + limitsText(all),
	}
	if p := a.byLimits(fact); !p.IsZero() {
		return a.overdue(p, waits, doing)
	}
	for _, w := range waits {
		if w.note != nil {
			w.note()
		}
	}
	reason, advice := SlowItem, ""
	var open []string
	for _, w := range waits {
		if a.passed(w.passes) {
			continue
		}
		if open = append(open, w.public().For); len(open) == 1 {
			reason, advice = w.reason, w.advice
		}
	}
	if a.step() == velero.StepItems || len(open) == 0 {
		reason = SlowItem
	}
	a.Doubts(SourceWatch, a.Now, "it may be waiting for %s", limitsText(all))
	if a.step() != velero.StepFinalizing {
		doing += ", quiet for " + a.quietWords()
	}
	v := a.Conclude(Quiet, reason, advice, "%s; may wait for %s", doing, human.Shorten(human.List(open, 1), 50))
	v.Waits, v.storage = all, a.j.Phase == velero.PhaseInProgress && a.quiet() >= lostPatchQuiet
	return v
}

const overdueAdvice = "Look into the log of the Velero server: it should have given up by itself."

func (a *assessment) overdue(p Proof, waits []wait, doing string) Verdict {
	last := slices.MaxFunc(waits, func(v, w wait) int { return v.until.Compare(w.until) })
	a.Supports(SourceWatch, last.until, "Velero's limit passed %s ago", a.ago(last.until))
	return a.stuck(p, LimitPassed, overdueAdvice,
		"%s; Velero's own limit passed %s ago, and it did not go on", doing, a.ago(last.until))
}

func limitsText(waits []Wait) string {
	texts := make([]string, len(waits))
	for i, w := range waits {
		texts[i] = w.For + " (no limit)"
		switch {
		case !w.Until.IsZero():
			texts[i] = w.For + " (until " + w.Until.UTC().Format("15:04") + " UTC by " + w.Limit + ")"
		case w.Limit != "":
			texts[i] = w.For + " (" + w.Limit + ", from when is not known)"
		}
	}
	return strings.Join(texts, ", ")
}

// maxRounds bounds what is multiplied: a limit of years says nothing.
const maxRounds = 1000

// decisive is the wait that gives a stage its deadline.
var decisive = map[job.Stage]velero.WaitName{
	job.StageVolumes:    velero.WaitPodVolumes,
	job.StageOperations: velero.WaitOperations,
	job.StageFinalizing: velero.WaitBinding,
}

// Deadline is when Velero gives up on the present stage, and the setting; zero without a bound
// (docs/dev/velero.md#waits).
func Deadline(j *job.Job, env Environment) (at time.Time, setting string) {
	name, bounded := decisive[j.Stage]
	if !bounded || j.Object == nil || j.Record(j.Stage).Began.IsZero() {
		return time.Time{}, "" // the waits of most jobs, which have ended, need not be known
	}
	if j.Stage == job.StageFinalizing && hasHooks(j) {
		name = velero.WaitRestoreHooks
	}
	return passesAt(name, j, env)
}

// passesAt is when the limit of a wait passes, and the setting; zero if the job does not wait for that, or without
// a limit.
func passesAt(name velero.WaitName, j *job.Job, env Environment) (at time.Time, setting string) {
	for _, w := range newAssessment(j, &env).waits() {
		if w.row.Name == name && !w.passes.IsZero() {
			return w.passes, w.row.Limit.Setting
		}
	}
	return time.Time{}, ""
}

// firstPodVolume is when the first of the job's pod volumes was created, zero for none.
func firstPodVolume(j *job.Job) time.Time {
	var first time.Time
	for i := range j.Volumes {
		if v := &j.Volumes[i]; v.Kind.IsPodVolume() && !v.Created.IsZero() &&
			(first.IsZero() || v.Created.Before(first)) {
			first = v.Created
		}
	}
	return first
}

// hasHooks reports whether the resource itself asks for hooks; pods may, too.
func hasHooks(j *job.Job) bool {
	switch o := j.Object.(type) {
	case *velerov1.Backup:
		return len(o.Spec.Hooks.Resources) > 0
	case *velerov1.Restore:
		return len(o.Spec.Hooks.Resources) > 0
	}
	return false
}
