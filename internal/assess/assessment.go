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
	"github.com/veltui/veltui/watch"
)

// Assessment is a snapshot at one moment, enriched and judged. It does not change.
type Assessment struct {
	// Snapshot holds the enriched jobs; Source is the snapshot that it was made of.
	Snapshot, Source *watch.Snapshot
	// Environment.Now is the moment in the cluster's clock.
	Environment diagnosis.Environment
	// Running, Queued and Troubled count each job that has not ended once; Troubled are those of [Judged.Troubled].
	Running, Queued, Troubled int
	// BackupAge is the user's limit for the age of a schedule's last Completed backup, 0 for none.
	BackupAge time.Duration
	// Coverage is the last reading of what backups protect, nil if nothing was read.
	Coverage *coverage.Reading[coverage.Result]
	// NextRun is the last reading of what the next run of a schedule takes, nil if nothing was read.
	NextRun *coverage.Reading[coverage.Prediction]

	judged map[types.UID]Judged
	looks  map[types.UID]Look
}

// Judged is a job with all that depends on the moment. Its fields hide the methods of [job.Job] with the same names.
type Judged struct {
	*job.Job
	Verdict diagnosis.Verdict
	// Spoken returns Verdict with its durations in words.
	Spoken func() diagnosis.Verdict
	// NeedsLook is true if a closer look at the job may change Verdict, or did.
	NeedsLook bool
	// State is that of Verdict, or the last known one while data may be out of date. Empty for a job that has ended.
	State    diagnosis.State
	ETA      TimeLeft
	Rate     Rate
	Queue    Queue
	Deadline Deadline
	// DeletionAt is when the deletion of the job was requested, zero if it was not.
	DeletionAt time.Time
}

// TimeLeft is how long a job still takes, if that is known.
type TimeLeft struct {
	Left  time.Duration
	Known bool
	// Rough is true while Left is a guess; Low and High then hold the truth nine times in ten.
	Rough     bool
	Low, High time.Duration
}

// Rate is how fast a job goes, in its unit a second, if that is known.
type Rate struct {
	PerSecond float64
	Unit      job.Unit
	Known     bool
}

// Queue is where a job waits.
type Queue struct {
	Position int    `json:"position,omitempty"`
	Reason   string `json:"reason"`
	Waits    bool   `json:"-"`
}

// Deadline is a moment in the cluster's clock, zero without a bound, and its setting.
type Deadline struct {
	At      time.Time
	Setting string
}

// Troubled is true for what wants a person's attention: stuck or orphaned, now or last.
func (j Judged) Troubled() bool { return j.State == diagnosis.Stuck || j.State == diagnosis.Orphaned }

// MayBeStored: results may be stored though the counts do not say so. Where the phase could not be written,
// nor could they.
func (j Judged) MayBeStored() bool { return j.Troubled() || j.Verdict.StorageDecides() }

// Of is the judged form of a job of the snapshot, or of one of its changes.
func (a *Assessment) Of(j *job.Job) Judged {
	if known, ok := a.judged[j.UID]; ok && known.Job == j {
		return known
	}
	return a.judge(j, human.Short)
}

// Look adds what a closer look at a job found, and judges the job with it.
func (a *Assessment) Look(j *job.Job, found Look) (*Assessment, Judged) {
	b := *a
	b.looks = map[types.UID]Look{}
	maps.Copy(b.looks, a.looks)
	b.looks[j.UID] = found
	b.Environment.Evidence = evidence(b.looks)
	b.judged = nil
	return &b, b.Of(j)
}

func (a *Assessment) Find(uid types.UID) *job.Job {
	if known, ok := a.judged[uid]; ok {
		return known.Job
	}
	if i := slices.IndexFunc(a.Snapshot.Jobs, func(j *job.Job) bool { return j.UID == uid }); i >= 0 {
		return a.Snapshot.Jobs[i]
	}
	return nil
}

// Stale is true while what is shown may be out of date.
func (a *Assessment) Stale() bool { return !a.Environment.StaleSince.IsZero() }

func assess(enriched, source *watch.Snapshot, looks map[types.UID]Look, now time.Time) *Assessment {
	a := &Assessment{
		Snapshot: enriched, Source: source, looks: looks,
		Environment: enriched.Environment(now),
		judged:      make(map[types.UID]Judged, len(enriched.Active)),
	}
	a.Environment.Evidence = evidence(looks)
	for _, j := range enriched.Active {
		judged := a.judge(j, human.Short)
		a.judged[j.UID] = judged
		switch {
		case judged.Troubled():
			a.Troubled++
		case j.Stage == job.StageQueued:
			a.Queued++
		default:
			a.Running++
		}
	}
	return a
}

func evidence(looks map[types.UID]Look) map[types.UID]diagnosis.Evidence {
	found := make(map[types.UID]diagnosis.Evidence, len(looks))
	for uid, l := range looks {
		found[uid] = l.Evidence
	}
	return found
}

// judge takes a closer look only while the job needs one, or where Velero gave up after the job last moved.
func (a *Assessment) judge(j *job.Job, style human.Style) Judged {
	look, looked := a.looks[j.UID]
	env := a.Environment
	env.Style = style
	verdict := func(env diagnosis.Environment) (v diagnosis.Verdict, needs bool) {
		if looked { // what looks found at the jobs that it waits for stays
			env.Evidence = maps.Clone(env.Evidence)
			delete(env.Evidence, j.UID)
		}
		v = diagnosis.Judge(j, env)
		needs = needsLook(j, v)
		if looked {
			v, needs = look.with(j, env, v, needs)
		}
		return v, needs
	}
	judged := Judged{Job: j, Spoken: func() diagnosis.Verdict { return a.judge(j, human.Spoken).Verdict }}
	judged.Verdict, judged.NeedsLook = verdict(env)
	judged.State = judged.Verdict.State()
	judged.noteDeletion(env)
	judged.Queue.Position, judged.Queue.Reason, judged.Queue.Waits = diagnosis.Queue(j, env)
	judged.Deadline.At, judged.Deadline.Setting = diagnosis.Deadline(j, env)
	if env.Reading.Kind != "" {
		return judged // what it was before is not known
	}
	if !env.StaleSince.IsZero() {
		// Rates and ETAs would go on from numbers that are not confirmed.
		lastKnown := env
		lastKnown.Now, lastKnown.StaleSince = env.StaleSince, time.Time{}
		last, _ := verdict(lastKnown)
		judged.State = last.State()
		return judged
	}
	if judged.State != diagnosis.Progressing {
		return judged // what does not move has no speed
	}
	judged.ETA.Left, judged.ETA.Known = j.ETA(env.Now)
	judged.ETA.Low, judged.ETA.High, judged.ETA.Rough = j.RoughETA(env.Now)
	judged.Rate.PerSecond, judged.Rate.Known = j.Rate(env.Now)
	_, _, judged.Rate.Unit, _ = j.Progress()
	return judged
}

// Note is a sentence about a thing that is no job, and how much it matters.
type Note struct {
	Text string
	Mood Mood
}

// noteTo returns what adds a sentence, and returns it.
func noteTo(notes *[]Note) func(mood Mood, format string, args ...any) string {
	return func(mood Mood, format string, args ...any) string {
		text := human.Stop(fmt.Sprintf(format, args...))
		*notes = append(*notes, Note{text, mood})
		return text
	}
}

type Mood int

const (
	Fine Mood = iota
	// Unusual is worth knowing and wants no action.
	Unusual
	// Alarming wants a person's attention.
	Alarming
)

func (m Mood) String() string { return [...]string{"ok", "unusual", "alarming"}[m] }

// Worst is the mood of the note that matters most.
func Worst(notes []Note) (worst Mood) {
	for _, n := range notes {
		worst = max(worst, n.Mood)
	}
	return worst
}

// Alarmed reports whether a person's attention is wanted.
func Alarmed(notes []Note) bool {
	return Worst(notes) == Alarming
}

// String is empty if the time left is unknown, and a range while it is rough.
func (t TimeLeft) String() string {
	switch {
	case !t.Known:
		return ""
	case t.Rough:
		return human.Short.TimeLeftRange(t.Low, t.High)
	}
	return human.Short.TimeLeft(t.Left)
}

// String is in the rate's own unit, empty if unknown: 34/s, 12.4M/s.
func (r Rate) String() string {
	switch {
	case !r.Known:
		return ""
	case r.Unit == job.UnitBytes:
		return human.BytesPerSecond(r.PerSecond)
	}
	return human.PerSecond(r.PerSecond)
}

// Amount is the progress of the stage in its unit, empty if unknown: 871/1402, 9.0/20.0G, 5/12 ops.
func (j Judged) Amount() string {
	done, total, unit, known := j.Progress()
	switch {
	case !known:
		return ""
	case unit == job.UnitBytes:
		return human.BytesOf(done, total)
	case unit == job.UnitOperations:
		return fmt.Sprintf("%d/%d ops", done, total)
	case unit == job.UnitVolumes:
		return fmt.Sprintf("%d/%d vols", done, total)
	}
	return fmt.Sprintf("%d/%d", done, total)
}
