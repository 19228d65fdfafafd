package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// This file has the words for the state of a job. Rows, pages, sentences of commands and spoken lines are made from
// them.

// StageText returns the stage of a job and how long it has lasted, or how long nothing has moved.
func StageText(r JobRow) Text {
	if !r.DeletionRequestedAt.IsZero() && r.Stage != job.StageDeleting {
		return deletionText(r)
	}
	if r.IsTerminal() {
		return Toned(EndPhaseTone(r.Phase), r.Phase)
	}
	stage, tone := string(r.Stage), StateTone(r.State)
	switch {
	case r.Queue.IsWaiting && r.Queue.Position > 0:
		return Toned(tone, stage+" "+human.Ordinal(r.Queue.Position))
	case r.Stage == job.StageUnknown:
		stage = r.Phase
	}
	state := ""
	switch r.State {
	case diagnosis.Quiet, diagnosis.Stuck, diagnosis.Orphaned:
		state = "quiet " + CoarseAge(r.QuietSince(), r.Now)
	case diagnosis.Waiting:
		state = strings.TrimSpace("waits " + StageAge(r.Job, r.Now))
	case diagnosis.Unknown:
		state = strings.TrimSpace("unknown " + StageAge(r.Job, r.Now))
	default:
		return Toned(tone, strings.TrimSpace(stage+" "+StageAge(r.Job, r.Now)))
	}
	return Text{Text: stage + " " + state, Tone: tone, Narrow: []string{state}}
}

func deletionText(r JobRow) Text {
	stage, tone := string(r.Stage), Waiting
	if r.IsTerminal() || r.Stage == job.StageUnknown {
		stage = r.Phase
	}
	if r.IsTroubled() {
		tone = StateTone(r.State)
	}
	since := "deleting " + CoarseAge(r.DeletionRequestedAt, r.Now)
	return Text{
		Text:   stage + " " + since,
		Tone:   tone,
		Narrow: []string{stage + " deleting", since, "deleting"},
	}
}

func printedStageText(r JobRow) string {
	switch {
	case r.Deleted:
		return "Deleted"
	case r.Stage == job.StageDeleting:
		return string(r.Stage)
	case !r.DeletionRequestedAt.IsZero():
		return r.PhaseOrStage() + ",deleting"
	}
	return r.PhaseOrStage()
}

// JobPhase returns the phase of a job, New until Velero has seen the job.
func JobPhase(j *job.Job) string { return cmp.Or(j.Phase, velero.PhaseNew) }

// JobCounts words the numbers of active jobs, such as "2 stuck". A text is empty if there is no such job.
type JobCounts struct{ Stuck, Running, Queued string }

// NewJobCounts counts the active jobs of clusters.
func NewJobCounts(clusters ...*assess.Assessment) JobCounts {
	stuck, running, queued := 0, 0, 0
	for _, a := range clusters {
		stuck, running, queued = stuck+a.Troubled, running+a.Running, queued+a.Queued
	}
	count := func(n int, state string) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf("%d %s", n, state)
	}
	return JobCounts{count(stuck, "stuck"), count(running, "running"), count(queued, "queued")}
}

// JobTitle returns the kind, the namespace, the name and the phase of a job.
func JobTitle(j *job.Job) string {
	return fmt.Sprintf("%s %s/%s, phase %s", j.Kind.Noun(), j.Namespace, j.Name, JobPhase(j))
}

// OriginPhrase returns from which backup a restore is, or by which schedule a job is; empty if neither is set.
func OriginPhrase(backup, schedule string) Text {
	switch {
	case backup != "":
		return Phrase("from backup %s", Quote(backup))
	case schedule != "":
		return Phrase("by schedule %s", Quote(schedule))
	}
	return Text{}
}

// JobState returns the state of a job that does not progress, in a word; empty for a job that progresses or has
// ended.
func JobState(j assess.JudgedJob) Text {
	if j.State == diagnosis.Progressing {
		return Text{}
	}
	return Toned(StateTone(j.State), string(j.State))
}

// JobTrouble returns the state of a job that does not progress, and why; empty for a job that progresses or has
// ended.
func JobTrouble(j assess.JudgedJob) Text {
	state := JobState(j)
	if state.Text != "" {
		state.Text += ": " + j.Verdict.Text
	}
	return state
}

// jobStateText returns the state of a job in a word, or its first malformed field.
func jobStateText(j assess.JudgedJob) Text {
	if len(j.MalformedFields) > 0 {
		return Toned(Bad, fmt.Sprintf("malformed: %s %s", j.MalformedFields[0].Field, j.MalformedFields[0].Value))
	}
	return Toned(StateTone(j.Verdict.State()), string(j.Verdict.State()))
}

// JobPercent returns how much of the present stage is done.
func JobPercent(j assess.JudgedJob) Text {
	return Text{Text: human.Percent(j.Fraction), Estimated: IsEstimated(j.Job, job.UnitItems)}
}

// JobProgress returns a job's amount, rate and time left, as far as they are known.
func JobProgress(j assess.JudgedJob) []Text {
	_, _, unit, _ := j.Progress()
	parts := []Text{
		{Text: j.ProgressText(), Estimated: IsEstimated(j.Job, unit)},
		{Text: j.Rate.String()},
		{Text: human.Prefixed("ETA ", j.ETA.String())},
	}
	return slices.DeleteFunc(parts, func(t Text) bool { return t.Text == "" })
}

// JobSentence returns the state of a job at the time now, without its name.
func JobSentence(j assess.JudgedJob, now time.Time) string {
	if j.IsTerminal() {
		o := NewJobOutcome(j.Job)
		o.Reason = cmp.Or(j.Verdict.Cause.Text, o.Reason)
		return o.Sentence()
	}
	text := "phase " + JobPhase(j.Job)
	if began := j.BeganAt(); !began.IsZero() {
		text += " for " + human.Age(began, now)
	}
	if !j.DeletionRequestedAt.IsZero() {
		text += ", deletion requested " + human.Age(j.DeletionRequestedAt, now) + " ago"
	}
	return text + human.Prefixed(", ", JobTrouble(j).Text)
}

// JobOutcome is how a job ended, in parts. Parts that are unknown or do not apply are empty.
type JobOutcome struct {
	Ended    time.Time
	Phase    Text
	Took     string
	Items    string // the items that Velero counted
	Errors   Text
	Warnings Text
	Invalid  Text   // replaces Errors for a job that Velero did not accept
	Reason   string // Velero's own
}

// NewJobOutcome returns how a job ended.
func NewJobOutcome(j *job.Job) JobOutcome {
	o := JobOutcome{
		Ended:    EndedAt(j),
		Phase:    Toned(EndPhaseTone(j.Phase), j.Phase),
		Errors:   countText(Bad, j.Errors, "error", "err"),
		Warnings: countText(Waiting, j.Warnings, "warning", "warn"),
		Reason:   cmp.Or(j.FailureReason, strings.Join(j.ValidationErrors, "; ")),
	}
	if !j.Started.IsZero() && !j.Completed.IsZero() {
		o.Took = human.Duration(j.TotalDuration())
	}
	switch {
	case !j.Items.Known:
	case j.Items.Done < j.Items.Total:
		o.Items = fmt.Sprintf("%d/%d", j.Items.Done, j.Items.Total)
	default:
		o.Items = human.Count(j.Items.Done, "item")
	}
	if len(j.ValidationErrors) > 0 && j.Errors == 0 {
		o.Invalid = Toned(Bad, "invalid")
	}
	return o
}

// EndedAt returns when a job ended. Velero records no time for a job that failed validation.
func EndedAt(j *job.Job) time.Time {
	if j.Completed.IsZero() {
		return j.QuietSince()
	}
	return j.Completed
}

func countText(tone Tone, n int, noun, short string) Text {
	if n <= 0 {
		return Text{}
	}
	return Text{Text: human.Count(n, noun), Tone: tone, Narrow: []string{fmt.Sprintf("%d %s", n, short)}}
}

// Sentence returns the outcome in one line: PartiallyFailed after 3m, 2 errors: the reason.
func (o JobOutcome) Sentence() string {
	text := o.Phase.Text
	if o.Took != human.Duration(0) { // Velero's times are whole seconds
		text += human.Prefixed(" after ", o.Took)
	}
	for _, count := range []Text{o.Errors, o.Warnings} {
		text += human.Prefixed(", ", count.Text)
	}
	return text + human.Prefixed(": ", o.Reason)
}

// StagePosition is a stage's position relative to the job's present stage.
type StagePosition int

// The positions.
const (
	StageAhead StagePosition = iota
	StageSkipped
	StagePresent
	StagePassed
	StageEnded // the final stage, in which the job ended
)

// StageStep is one stage of a job.
type StageStep struct {
	Text
	Position StagePosition
	Took     string // how long the stage took, or has lasted so far; empty if unknown
}

// StageSteps returns the stages of a job in their order. For a job that has ended, no stage is ahead.
func StageSteps(j *job.Job, now time.Time) []StageStep {
	var steps []StageStep
	for _, record := range j.Stages {
		if step, known := stageStep(j, record, now); known {
			steps = append(steps, step)
		}
	}
	return steps
}

func stageStep(j *job.Job, record job.StageRecord, now time.Time) (step StageStep, known bool) {
	name, here, began := string(record.Stage), record.Stage == j.Stage, !record.Began.IsZero()
	if record.Stage == job.StageQueued && j.Kind == job.Restore {
		name = velero.PhaseNew
	}
	switch {
	case here && j.IsTerminal():
		return StageStep{Text: Toned(EndPhaseTone(j.Phase), j.Phase), Position: StageEnded}, true
	case here:
		step = StageStep{Text: Toned(Running, name), Position: StagePresent}
		if began {
			step.Took = human.Age(record.Began, now)
		}
	case record.Skipped && record.Ended.IsZero() && !began:
		step = StageStep{Text: Toned(Dim, name), Position: StageSkipped}
	case !record.Ended.IsZero():
		step = StageStep{Text: Toned(Good, name), Position: StagePassed}
		if began {
			step.Took = human.Duration(record.Ended.Sub(record.Began))
		}
	case !j.IsTerminal():
		step = StageStep{Text: Toned(Dim, name), Position: StageAhead}
	case j.Phase == velero.PhaseCompleted || j.Phase == velero.PhasePartiallyFailed: // the job went through all stages
		step = StageStep{Text: Toned(Good, name), Position: StagePassed}
	default:
		return StageStep{}, false
	}
	return step, true
}

// activities are the texts for a backup and for a restore in a stage.
var activities = map[job.Stage][2]string{
	job.StageQueued:     {"not started", "not started"},
	job.StageItems:      {"backing up items", "restoring items"},
	job.StageVolumes:    {"backing up volumes", "restoring volumes"},
	job.StageOperations: {"uploading volumes", "downloading volumes"},
	job.StageFinalizing: {"finalizing", "finalizing"},
	job.StageDeleting:   {"being deleted", "being deleted"},
}

// JobActivity returns what a job does in its present stage, in words.
func JobActivity(j *job.Job) string {
	text, known := activities[j.Stage]
	switch {
	case !known:
		return "phase " + j.Phase
	case j.Stage == job.StageOperations && j.DataMovements().Count == 0:
		return "waiting for plugin operations"
	case j.Kind == job.Restore:
		return text[1]
	}
	return text[0]
}

// SpokenProgress returns the progress of a job in whole words: 40 percent, 3 of 5 items, about 2 minutes left.
func SpokenProgress(j assess.JudgedJob) string {
	var parts []string
	if j.FractionKnown {
		parts = append(parts, strings.TrimSuffix(human.Percent(j.Fraction), "%")+" percent")
	}
	if done, total, unit, known := j.Progress(); known && total > 0 {
		parts = append(parts, spokenAmount(done, total, unit))
	}
	switch {
	case !j.ETA.Known:
	case j.ETA.Rough:
		low, high := human.SpokenStyle.Duration(j.ETA.Low), human.SpokenStyle.Duration(j.ETA.High)
		parts = append(parts, "about "+low+" to "+high+" left")
	default:
		parts = append(parts, "about "+human.SpokenStyle.TimeLeft(j.ETA.Left)+" left")
	}
	return strings.Join(parts, ", ")
}

func spokenAmount(done, total int64, unit job.Unit) string {
	if unit == job.UnitBytes {
		return spokenBytes(done) + " of " + spokenBytes(total)
	}
	return fmt.Sprintf("%s of %s", human.Number(done), human.Count(total, strings.TrimSuffix(string(unit), "s")))
}

// spokenBytes formats a size with the name of its unit.
func spokenBytes(n int64) string {
	short := human.Bytes(n)
	number, unit := short[:len(short)-1], short[len(short)-1:]
	if unit == "B" {
		return number + " bytes"
	}
	return number + " " + unit + "iB"
}

// IsEstimated reports whether veltui estimated the figures in a unit itself.
func IsEstimated(j *job.Job, unit job.Unit) bool {
	return unit == job.UnitItems && j.Items.Estimated && (j.Stage == job.StageItems || j.Stage == job.StageQueued)
}

// CoarseAge returns how long ago t was, in steps, so that rows are not redrawn every second; empty if t is zero.
func CoarseAge(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	switch age := now.Sub(t); {
	case age >= time.Minute:
		return human.Duration(age.Truncate(time.Minute))
	case age >= 10*time.Second:
		return human.Duration(age.Truncate(10 * time.Second))
	}
	return "<10s"
}

// StageAge returns how long the present stage has lasted, empty if unknown.
func StageAge(j *job.Job, now time.Time) string {
	for _, record := range j.Stages {
		if record.Stage == j.Stage {
			return CoarseAge(record.Began, now)
		}
	}
	return ""
}
