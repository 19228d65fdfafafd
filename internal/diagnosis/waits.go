package diagnosis

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// probeResult is what the evidence says about one wait of Velero's table.
type probeResult struct {
	// isRuledOut is true if the job cannot be waiting for it, shown is true if it is.
	isRuledOut, isConfirmed bool
	// label names the wait if the table's words are too general.
	label string
	// reason replaces the wait's own reason if the evidence tells more.
	reason Reason
	// since is when the wait began and limit its length, if the evidence tells.
	since time.Time
	limit time.Duration
	// rounds is how many times in a row the limit may pass, at least once.
	rounds int
	// roundsUncertain is true if there may be more rounds than were seen.
	roundsUncertain bool
	addFacts        func()
	// summary ends a sentence that begins with the progress; summary and advice are set only if the wait is shown.
	summary, advice string
	action          Action
}

type waitCandidate struct {
	row *velero.PossibleWait
	probeResult
	// limitAt is when its limit passes as far as known, for texts and deadlines; zero if it has none.
	limitAt time.Time
	// latestAt is the latest time at which Velero can have acted on the limit; zero if unknown.
	latestAt time.Time
}

var stageSteps = map[job.Stage]velero.Step{
	job.StageQueued: velero.StepQueued, job.StageOperations: velero.StepOperations,
	job.StageFinalizing: velero.StepFinalizing, job.StageDeleting: velero.StepDeleting,
}

// likelyStep returns the most likely step, for texts. A proof uses all of [jobJudge.reachableSteps].
func (a *jobJudge) likelyStep() velero.Step {
	j := a.j
	switch step, known := stageSteps[job.StageOf(j.Phase)]; {
	case known:
		return step
	case !a.jobEvidence().StoredAt.IsZero():
		return velero.StepStoring // whatever the counts say, it stores its files last
	case !j.Items.Known:
		return velero.StepCollecting
	case j.Items.Done < j.Items.Total && !(j.Stage == job.StageVolumes && j.PodVolumes().ActiveCount() > 0):
		return velero.StepItems
	case j.PodVolumes().ActiveCount() > 0:
		return velero.StepVolumes
	}
	return velero.StepStoring
}

// reachableSteps returns the steps in which the job can be. While it is in progress, only its stored files tell more
// than whether there is a count: a count of all items may grow again.
func (a *jobJudge) reachableSteps() []velero.Step {
	j, from := a.j, velero.StepItems
	switch step, known := stageSteps[job.StageOf(j.Phase)]; {
	case known:
		return []velero.Step{step}
	case !a.jobEvidence().StoredAt.IsZero():
		return []velero.Step{velero.StepStoring}
	case !j.Items.Known:
		from = velero.StepCollecting
	}
	return velero.ReachableSteps(string(j.Kind), from, a.effectiveVersion(), j.PodVolumes().ActiveCount() > 0)
}

// likelyWaits returns what the evidence allows the job to be waiting for in its most likely step, by Velero's table.
func (a *jobJudge) likelyWaits() []waitCandidate { return a.findWaits(a.likelyStep()) }

func (a *jobJudge) findWaits(step velero.Step) []waitCandidate {
	var found []waitCandidate
	sightings, rows := waitProbes(), velero.FindWaits(
		a.world.effectiveWaitTable(),
		string(a.j.Kind),
		step,
		a.effectiveVersion(),
	)
	for i := range rows {
		of, known := sightings[rows[i].Name]
		if !known {
			continue
		}
		w := waitCandidate{row: &rows[i]}
		if of.probe != nil {
			w.probeResult = of.probe(a)
		}
		if w.reason = cmp.Or(w.reason, of.reason); w.isRuledOut || a.isRuledOutByFiles(rows[i].Name) {
			continue
		}
		w.limitAt, w.latestAt = a.waitBounds(w)
		found = append(found, w)
	}
	return found
}

// isRuledOutByFiles reports whether the stored files rule a wait out: with all files stored, a job in progress has
// only its last status left to write.
func (a *jobJudge) isRuledOutByFiles(name velero.WaitName) bool {
	return a.j.Phase == velero.PhaseInProgress && !a.jobEvidence().StoredAt.IsZero() && name != velero.WaitLastPatch
}

// proveAllLimitsPassed returns the proof that the limits of everything that the job can be waiting for have passed, in
// each step that it can be in.
func (a *jobJudge) proveAllLimitsPassed(fact Fact) Proof {
	var all []waitCandidate
	for _, step := range a.reachableSteps() {
		all = append(all, a.findWaits(step)...)
	}
	return proveLimitsPassed(a.Now, fact, toWaits(all)...)
}

// waitBounds returns when a wait's limit passes, and the latest time at which Velero can have acted on it.
func (a *jobJudge) waitBounds(w waitCandidate) (passes, until time.Time) {
	flags, limit := a.world.Server.Flags, velero.Unlimited
	switch {
	case w.row.Limit.Length != nil:
		limit = w.row.Limit.Length(a.j.Object, flags)
	case w.limit > 0:
		limit = w.limit
	}
	from, rounds := a.limitStart(w), min(max(w.rounds, 1), maxRounds)
	if from.IsZero() || limit >= velero.Unlimited/time.Duration(rounds) {
		return time.Time{}, time.Time{}
	}
	passes = from.Add(time.Duration(rounds) * limit)
	delay := time.Duration(0)
	if w.row.Limit.EffectDelay != nil {
		delay = w.row.Limit.EffectDelay(flags)
	}
	if w.row.Limit.ContinuesAfter || w.roundsUncertain || w.row.LimitStart == velero.FromMovement ||
		delay >= velero.Unlimited ||
		!a.areLimitsKnown() {
		return passes, time.Time{}
	}
	return passes, job.LatestTime(passes, a.world.serverStartTime()).Add(delay)
}

// areLimitsKnown reports whether the limits in force are those of one server whose arguments and version are known.
func (a *jobJudge) areLimitsKnown() bool {
	s := a.world.Server
	return s.Visible && s.OtherServerCount() == 0 && s.Container != "" && !velero.IsUnreviewedVersion(s.Version)
}

// limitStart returns the time from which a wait's limit is counted; zero if unknown, which sets no limit.
func (a *jobJudge) limitStart(w waitCandidate) time.Time {
	j := a.j
	switch w.row.LimitStart {
	case velero.FromStart:
		return j.Started
	case velero.FromPhase:
		return j.FindStageRecord(j.Stage).Began
	case velero.FromTurn:
		if a.firstFinalizingJob() != nil {
			return time.Time{} // its turn is yet to come
		}
		return job.LatestTime(j.FindStageRecord(j.Stage).Began, a.world.serverStartTime(), a.world.LastJobEndedAt)
	case velero.FromFirstVolume:
		return firstPodVolumeCreated(j)
	case velero.FromStored:
		return a.jobEvidence().StoredAt
	case velero.FromEvidence:
		return w.since
	}
	return j.QuietSince()
}

// hasLimitPassed reports whether a limit passed long enough ago that Velero would have acted.
func (a *jobJudge) hasLimitPassed(limit time.Time) bool {
	return !limit.IsZero() && a.Now.After(limit.Add(waitLimitMargin))
}

func (w waitCandidate) toWait() Wait {
	p := Wait{Name: w.row.Name, Target: cmp.Or(w.label, w.row.Target), Confirmed: w.isConfirmed}
	if !w.limitAt.IsZero() {
		p.LimitSetting = w.row.Limit.Setting
	}
	if !w.latestAt.IsZero() {
		p.Deadline = w.latestAt.Add(waitLimitMargin)
	}
	return p
}

func toWaits(waits []waitCandidate) []Wait {
	out := make([]Wait, len(waits))
	for i := range waits {
		out[i] = waits[i].toWait()
	}
	return out
}

// judgeSilent judges a job that does not move: it waits for what is shown, all limits have passed, or it may wait for
// several things. doing says how far it is.
func (a *jobJudge) judgeSilent(doing string) Verdict {
	waits := a.likelyWaits()
	all := toWaits(waits)
	for _, w := range waits {
		if !w.isConfirmed || a.hasLimitPassed(w.limitAt) {
			continue
		}
		if w.addFacts != nil {
			w.addFacts()
		}
		return a.Conclude(Waiting, w.reason, w.advice, "%s%s", doing, w.summary).withAction(w.action).withWaits(all)
	}
	fact := Fact{
		Supports: true,
		Source:   SourceWatch,
		At:       a.Now,
		Text:     "every limit of what it may be waiting for has passed: " + limitsText(all),
	}
	if p := a.proveAllLimitsPassed(fact); !p.IsZero() {
		return a.judgeOverdue(p, waits, doing)
	}
	for _, w := range waits {
		if w.addFacts != nil {
			w.addFacts()
		}
	}
	reason, advice := SlowItem, ""
	var open []string
	for _, w := range waits {
		if a.hasLimitPassed(w.limitAt) {
			continue
		}
		if open = append(open, w.toWait().Target); len(open) == 1 {
			reason, advice = w.reason, w.advice
		}
	}
	if a.likelyStep() == velero.StepItems || len(open) == 0 {
		reason = SlowItem
	}
	a.AddDoubt(SourceWatch, a.Now, "it may be waiting for %s", limitsText(all))
	if a.likelyStep() != velero.StepFinalizing {
		doing += ", quiet for " + a.quietText()
	}
	v := a.Conclude(Quiet, reason, advice, "%s; may wait for %s", doing, human.Shorten(human.JoinNames(open, 1), 50))
	v.Waits, v.storageDecides = all, a.j.Phase == velero.PhaseInProgress && a.quietDuration() >= lostPatchQuiet
	return v
}

const overdueAdvice = "Look into the log of the Velero server: it should have given up by itself."

func (a *jobJudge) judgeOverdue(p Proof, waits []waitCandidate, doing string) Verdict {
	last := slices.MaxFunc(waits, func(v, w waitCandidate) int { return v.latestAt.Compare(w.latestAt) })
	a.AddSupport(SourceWatch, last.latestAt, "Velero's limit passed %s ago", a.formatAge(last.latestAt))
	return a.proveStuck(p, LimitPassed, overdueAdvice,
		"%s; Velero's own limit passed %s ago, and it did not go on", doing, a.formatAge(last.latestAt))
}

func limitsText(waits []Wait) string {
	texts := make([]string, len(waits))
	for i, w := range waits {
		texts[i] = w.Target + " (no limit)"
		switch {
		case !w.Deadline.IsZero():
			texts[i] = w.Target + " (until " + human.ClockUTC(w.Deadline) + " by " + w.LimitSetting + ")"
		case w.LimitSetting != "":
			texts[i] = w.Target + " (" + w.LimitSetting + ", from when is not known)"
		}
	}
	return strings.Join(texts, ", ")
}

// maxRounds limits the factor: a limit of years says nothing.
const maxRounds = 1000

// deadlineWaits are the waits that give stages their deadlines.
var deadlineWaits = map[job.Stage]velero.WaitName{
	job.StageVolumes:    velero.WaitPodVolumes,
	job.StageOperations: velero.WaitOperations,
	job.StageFinalizing: velero.WaitBinding,
}

// StageDeadline returns when Velero gives up on the present stage, and the setting; zero without a limit
// (docs/dev/velero.md#waits).
func StageDeadline(j *job.Job, env World) (at time.Time, setting string) {
	name, bounded := deadlineWaits[j.Stage]
	if !bounded || j.Object == nil || j.FindStageRecord(j.Stage).Began.IsZero() {
		return time.Time{}, "" // the waits of ended jobs, which are most, need not be known
	}
	if j.Stage == job.StageFinalizing && hasSpecHooks(j) {
		name = velero.WaitRestoreHooks
	}
	return findWaitDeadline(name, j, env)
}

// findWaitDeadline returns when the limit of a wait passes, and the setting; zero if the job does not wait for it, or
// it has no limit.
func findWaitDeadline(name velero.WaitName, j *job.Job, env World) (at time.Time, setting string) {
	for _, w := range newJobJudge(j, &env).likelyWaits() {
		if w.row.Name == name && !w.limitAt.IsZero() {
			return w.limitAt, w.row.Limit.Setting
		}
	}
	return time.Time{}, ""
}

// firstPodVolumeCreated returns when the first of the job's pod volumes was created, zero for none.
func firstPodVolumeCreated(j *job.Job) time.Time {
	var first time.Time
	for i := range j.Volumes {
		if v := &j.Volumes[i]; v.Kind.IsPodVolume() && !v.Created.IsZero() &&
			(first.IsZero() || v.Created.Before(first)) {
			first = v.Created
		}
	}
	return first
}

// hasSpecHooks reports whether the resource itself asks for hooks; pods may, too.
func hasSpecHooks(j *job.Job) bool {
	switch o := j.Object.(type) {
	case *veleroapi.Backup:
		return len(o.Spec.Hooks.Resources) > 0
	case *veleroapi.Restore:
		return len(o.Spec.Hooks.Resources) > 0
	}
	return false
}
