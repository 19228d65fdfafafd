package assess

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/kubectl"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

// Assessment is a snapshot at one moment, enriched and judged. It is immutable.
type Assessment struct {
	// Snapshot holds the enriched jobs; Source is the snapshot that it was made from.
	Snapshot, Source *watch.Snapshot
	// World.Now is the present by the cluster's clock.
	World diagnosis.World
	// Running, Queued and Troubled count each job that has not ended once; Troubled are those of [JudgedJob.IsTroubled].
	Running, Queued, Troubled int
	// BackupAge is the user's limit for the age of a schedule's last Completed backup, 0 for none.
	BackupAge time.Duration
	// Coverage is the last reading of what backups protect, nil if nothing was read.
	Coverage *coverage.Reading[coverage.Result]
	// NextRunPrediction is the last reading of what the next run of a schedule includes, nil if nothing was read.
	NextRunPrediction *coverage.Reading[coverage.Prediction]

	judgedJobs  map[types.UID]JudgedJob
	closerLooks map[types.UID]CloserLook
}

// JudgedJob is a job with everything that depends on the present. Its fields hide the methods of [job.Job] with the
// same names.
type JudgedJob struct {
	*job.Job
	Verdict diagnosis.Verdict
	// VerdictInWords returns Verdict with its durations in words.
	VerdictInWords func() diagnosis.Verdict
	// NeedsCloserLook is true if a closer look at the job may change Verdict, or has changed it.
	NeedsCloserLook bool
	// State is the state of Verdict, or the last known one while data may be out of date. Empty for a job that has
	// ended.
	State    diagnosis.State
	ETA      TimeLeft
	Rate     Rate
	Queue    QueueStatus
	Deadline Deadline
	// DeletionRequestedAt is when the deletion of the job was requested, zero if it was not requested.
	DeletionRequestedAt time.Time
}

// TimeLeft is how much longer a job takes, if known.
type TimeLeft struct {
	Left  time.Duration
	Known bool
	// Rough is true while Left is a guess; the truth then lies between Low and High nine times in ten.
	Rough     bool
	Low, High time.Duration
}

// Rate is how fast a job progresses, in its unit per second, if known.
type Rate struct {
	PerSecond float64
	Unit      job.Unit
	Known     bool
}

// QueueStatus is where a job waits.
type QueueStatus struct {
	Position  int    `json:"position,omitempty"`
	Reason    string `json:"reason"`
	IsWaiting bool   `json:"-"`
}

// Deadline is a time by the cluster's clock, zero without a limit, and the setting that sets it.
type Deadline struct {
	At      time.Time
	Setting string
}

// IsTroubled reports whether the job needs a person's attention: stuck or orphaned, now or last.
func (j JudgedJob) IsTroubled() bool {
	return j.State == diagnosis.Stuck || j.State == diagnosis.Orphaned
}

// MayHaveResults reports whether results may be stored though the counts do not say so: if the phase could not be
// written, neither could the counts.
func (j JudgedJob) MayHaveResults() bool { return j.IsTroubled() || j.Verdict.StorageDecides() }

// AssessJob returns the judged form of a job of the snapshot, or of one of its changes.
func (a *Assessment) AssessJob(j *job.Job) JudgedJob {
	if known, ok := a.judgedJobs[j.UID]; ok && known.Job == j {
		return known
	}
	return a.judgeJob(j, human.ShortStyle)
}

// WithCloserLook adds the result of a closer look at a job, and judges the job with it.
func (a *Assessment) WithCloserLook(j *job.Job, found CloserLook) (*Assessment, JudgedJob) {
	b := *a
	b.closerLooks = map[types.UID]CloserLook{}
	maps.Copy(b.closerLooks, a.closerLooks)
	b.closerLooks[j.UID] = found
	b.World.Evidence = evidenceByJob(b.closerLooks)
	b.judgedJobs = nil
	return &b, b.AssessJob(j)
}

// WithEndEvidence adds what was read about the end of a job, and judges the job with it. Without such evidence, and for
// a job that has not ended, nothing changes.
func (a *Assessment) WithEndEvidence(j *job.Job, found diagnosis.EndEvidence) (*Assessment, JudgedJob) {
	if !j.IsTerminal() || found.IsZero() {
		return a, a.AssessJob(j)
	}
	look := a.closerLooks[j.UID]
	look.Evidence.EndEvidence = found
	return a.WithCloserLook(j, look)
}

func (a *Assessment) FindJob(uid types.UID) *job.Job {
	if known, ok := a.judgedJobs[uid]; ok {
		return known.Job
	}
	if i := slices.IndexFunc(a.Snapshot.Jobs, func(j *job.Job) bool { return j.UID == uid }); i >= 0 {
		return a.Snapshot.Jobs[i]
	}
	return nil
}

// ListLimits returns Velero's limits for a job that has not ended.
func (a *Assessment) ListLimits(j *job.Job) []velero.Limit {
	if j.IsTerminal() || j.Object == nil {
		return nil
	}
	limits := velero.ListLimits(j.Object, a.World.Server, a.World.NodeAgents)
	return append(limits, velero.SlotLimits(a.World.Evidence[j.UID].Slots)...)
}

// IsStale reports whether the shown data may be out of date.
func (a *Assessment) IsStale() bool { return !a.World.StaleSince.IsZero() }

func newAssessment(
	enriched, source *watch.Snapshot, looks map[types.UID]CloserLook, now time.Time, access kubectl.ClusterAccess,
) *Assessment {
	a := &Assessment{
		Snapshot: enriched, Source: source, closerLooks: looks,
		World:      enriched.BuildWorld(now),
		judgedJobs: make(map[types.UID]JudgedJob, len(enriched.Active)),
	}
	a.World.Evidence, a.World.Access = evidenceByJob(looks), access
	for _, j := range enriched.Active {
		judged := a.judgeJob(j, human.ShortStyle)
		a.judgedJobs[j.UID] = judged
		switch {
		case judged.IsTroubled():
			a.Troubled++
		case j.Stage == job.StageQueued:
			a.Queued++
		default:
			a.Running++
		}
	}
	return a
}

func evidenceByJob(looks map[types.UID]CloserLook) map[types.UID]diagnosis.JobEvidence {
	found := make(map[types.UID]diagnosis.JobEvidence, len(looks))
	for uid, l := range looks {
		found[uid] = l.Evidence
	}
	return found
}

// judgeJob uses a closer look only while the job needs one, or if Velero gave up after the job last moved.
func (a *Assessment) judgeJob(j *job.Job, style human.DurationStyle) JudgedJob {
	look, looked := a.closerLooks[j.UID]
	env := a.World
	env.Style = style
	verdict := func(env diagnosis.World) (v diagnosis.Verdict, needs bool) {
		if looked { // looks at the jobs that it waits for stay
			env.Evidence = maps.Clone(env.Evidence)
			delete(env.Evidence, j.UID)
		}
		v = diagnosis.Judge(j, env)
		needs = needsCloserLook(j, v)
		if looked {
			v, needs = look.applyToVerdict(j, env, v, needs)
		}
		return v, needs
	}
	judged := JudgedJob{
		Job:            j,
		VerdictInWords: func() diagnosis.Verdict { return a.judgeJob(j, human.SpokenStyle).Verdict },
	}
	judged.Verdict, judged.NeedsCloserLook = verdict(env)
	judged.State = judged.Verdict.State()
	judged.noteDeletion(env)
	judged.Queue.Position, judged.Queue.Reason, judged.Queue.IsWaiting = diagnosis.QueuePosition(j, env)
	judged.Deadline.At, judged.Deadline.Setting = diagnosis.StageDeadline(j, env)
	if env.ReadProgress.Kind != "" {
		return judged // its previous state is unknown
	}
	if !env.StaleSince.IsZero() {
		// Rates and ETAs would continue from numbers that are not confirmed.
		lastKnown := env
		lastKnown.Now, lastKnown.StaleSince = env.StaleSince, time.Time{}
		last, _ := verdict(lastKnown)
		judged.State = last.State()
		return judged
	}
	if judged.State != diagnosis.Progressing {
		return judged // a job that does not move has no speed
	}
	judged.ETA.Left, judged.ETA.Known = j.ETA(env.Now)
	judged.ETA.Low, judged.ETA.High, judged.ETA.Rough = j.ETARange(env.Now)
	judged.Rate.PerSecond, judged.Rate.Known = j.Rate(env.Now)
	_, _, judged.Rate.Unit, _ = j.Progress()
	return judged
}

// Note is a sentence about something other than a job, and how much it matters.
type Note struct {
	Text string
	Tone Tone
}

// noteAdder returns a function that adds a sentence and returns it.
func noteAdder(notes *[]Note) func(tone Tone, format string, args ...any) string {
	return func(tone Tone, format string, args ...any) string {
		text := human.EndSentence(fmt.Sprintf(format, args...))
		*notes = append(*notes, Note{text, tone})
		return text
	}
}

type Tone int

const (
	Fine Tone = iota
	// Unusual is worth knowing but needs no action.
	Unusual
	// Alarming needs a person's attention.
	Alarming
)

func (m Tone) String() string { return [...]string{"ok", "unusual", "alarming"}[m] }

// WorstTone returns the tone of the note that matters most.
func WorstTone(notes []Note) (worst Tone) {
	for _, n := range notes {
		worst = max(worst, n.Tone)
	}
	return worst
}

// IsAlarming reports whether a person's attention is needed.
func IsAlarming(notes []Note) bool {
	return WorstTone(notes) == Alarming
}

// String returns the time left, empty if unknown, and a range while it is rough.
func (t TimeLeft) String() string {
	switch {
	case !t.Known:
		return ""
	case t.Rough:
		return human.ShortStyle.TimeLeftRange(t.Low, t.High)
	}
	return human.ShortStyle.TimeLeft(t.Left)
}

// String returns the rate in its own unit, empty if unknown: 34/s, 12.4M/s.
func (r Rate) String() string {
	switch {
	case !r.Known:
		return ""
	case r.Unit == job.UnitBytes:
		return human.BytesPerSecond(r.PerSecond)
	}
	return human.PerSecond(r.PerSecond)
}

// ProgressText returns the progress of the stage in its unit, empty if unknown: 871/1402, 9.0/20.0G, 5/12 ops.
func (j JudgedJob) ProgressText() string {
	done, total, unit, known := j.Progress()
	switch {
	case !known:
		return ""
	case j.IsEmpty():
		return "0 items"
	case unit == job.UnitBytes:
		return human.BytesProgress(done, total)
	case unit == job.UnitOperations:
		return fmt.Sprintf("%d/%d ops", done, total)
	case unit == job.UnitVolumes:
		return fmt.Sprintf("%d/%d vols", done, total)
	}
	return fmt.Sprintf("%d/%d", done, total)
}
