package report

import (
	"cmp"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/logs"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/internal/view/markdown"
)

const (
	maxEvents         = 80
	maxGroups         = 60
	maxNamedResources = 8
	maxVolumes        = 60
	maxFirstErrors    = 10
	maxLastLines      = 15
	maxLastLinesEnded = 4 // for a job that has ended and did not fail
	maxLostLines      = 3
	maxTextRunes      = markdown.MaxRunes
	maxInputBytes     = 32 * maxTextRunes // bytes of a text that are examined
	maxOpenWork       = 40
)

type Input struct {
	// Now is when the report is made, by the cluster's clock.
	Now                    time.Time
	VeltuiVersion, Context string
	Assessment             *assess.Assessment
	Job                    assess.JudgedJob

	Sections         []results.MessageSection
	MessagesComplete bool
	MessagesNote     string
	Log              *DecisiveLines
	// Operations is nil if they could not be read.
	Operations  []artifact.Operation
	Limits      []velero.Limit
	PastActions []PastAction
	Remaining   []Step
	Unchecked   []Unchecked
}

// New makes the report. Each text in it is redacted.
func New(in Input) Document {
	j, v := in.Job.Job, in.Job.Verdict
	d := Document{
		Header: document.NewHeader(
			"Report",
		),
		MadeAt:        newMoment(in.Now),
		VeltuiVersion: in.VeltuiVersion,
		Context:       in.Context,
		Namespace:     j.Namespace,
		VeleroVersion: in.Assessment.World.Server.Version,
		Job:           Job{document.NewHead(j), in.Job.ProgressText(), j.StorageLocation},
		Verdict:       Verdict{document.NewVerdict(v), v.Summary()},
		Remaining: append(
			[]Step{},
			in.Remaining...),
		PastActions: append([]PastAction{}, in.PastActions...),
		Limits:      append([]velero.Limit{}, in.Limits...),
		Unchecked:   append([]Unchecked{}, in.Unchecked...),
	}
	d.Job.ValidationErrors = slices.Clone(j.ValidationErrors) // a copy, because it is redacted
	slices.SortStableFunc(d.PastActions, func(a, b PastAction) int { return a.At.Compare(b.At.Time) })
	d.fillTimeline(in)
	d.fillMessages(in)
	d.Log = in.Log.buildLog(j.IsTerminal() && j.Phase != velero.PhaseFailed)
	d.fillVolumes(in)
	d.fillOperations(in)
	for _, s := range in.Assessment.Snapshot.Sources {
		if s.State != "live" && s.State != "syncing" {
			d.Unchecked = append(d.Unchecked, Unchecked{s.Resource, s.Err})
		}
	}
	for i := range d.Remaining { // do not redact the input's commands
		d.Remaining[i].Commands = slices.Clone(d.Remaining[i].Commands)
	}
	redactAll(reflect.ValueOf(&d), Redact)
	return d
}

func newMoment(t time.Time) document.Moment {
	return document.Moment{Time: t.UTC().Truncate(time.Second)}
}

func (d *Document) fillTimeline(in Input) {
	told := in.Assessment.BuildTimeline(in.Job.Job, in.Operations)
	// The newest come first. Events before the job are among the facts, where they matter.
	events := slices.DeleteFunc(told.Events, func(e assess.Event) bool { return e.At.Before(in.Job.Created) })
	if len(events) > maxEvents {
		// The beginning and the newest events say more than those between.
		d.OmittedEvents = len(events) - maxEvents
		events = append(slices.Clone(events[:maxEvents-maxEvents/4]), events[len(events)-maxEvents/4:]...)
	}
	d.Timeline, d.TimelineNotes = []Event{}, told.Notes
	for _, e := range slices.Backward(events) {
		d.Timeline = append(d.Timeline, Event{newMoment(e.At), string(e.Source), e.Text})
	}
}

func (d *Document) fillMessages(in Input) {
	groups := document.NewMessages(in.Sections)
	d.Messages = Messages{
		Complete:      in.MessagesComplete,
		Note:          in.MessagesNote,
		Groups:        groups[:min(len(groups), maxGroups)],
		OmittedGroups: max(len(groups)-maxGroups, 0),
	}
	for i := range d.Messages.Groups {
		m := &d.Messages.Groups[i]
		m.Text, m.Example, m.Examples = redactAndCut(m.Text), "", nil
		m.OmittedResources = max(len(m.Resources)-maxNamedResources, len(m.Variants)-maxNamedResources, 0)
		m.Resources = m.Resources[:min(len(m.Resources), maxNamedResources)]
		m.Variants = slices.Clone(m.Variants[:min(len(m.Variants), maxNamedResources)]) // a copy, because it is redacted
		m.Namespaces = slices.Clone(m.Namespaces)
	}
}

func (d *Document) fillVolumes(in Input) {
	j := in.Job.Job
	d.Volumes = Volumes{
		Phases: []Count{},
		Open:   []document.Volume{},
		Counts: view.VolumeCounts(j.Volumes),
		None:   view.NoVolumes(j, false),
	}
	phases := map[string]int{}
	for _, v := range in.Assessment.JudgeVolumes(j) {
		phases[string(v.Kind)+" "+cmp.Or(v.Phase, velero.VolumeNew)]++
		switch {
		case v.Phase == velero.VolumeCompleted:
		case len(d.Volumes.Open) == maxVolumes:
			d.Volumes.OmittedVolumes++
		default:
			open, line := document.NewVolume(v), view.NewVolumeLine(&v)
			open.Message = redactAndCut(open.Message)
			line.Message = open.Message
			d.Volumes.Open = append(d.Volumes.Open, open)
			d.Volumes.Lines = append(d.Volumes.Lines, line)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(phases)) {
		d.Volumes.Phases = append(d.Volumes.Phases, Count{name, phases[name]})
	}
}

func (d *Document) fillOperations(in Input) {
	d.Operations = Operations{Operations: in.Job.Operations, Open: []string{}}
	open := slices.DeleteFunc(
		slices.Clone(in.Operations),
		func(o artifact.Operation) bool { return o.Phase == velero.OperationCompleted },
	)
	d.Operations.OmittedOperations = max(len(open)-maxOpenWork, 0)
	for _, o := range open[:len(open)-d.Operations.OmittedOperations] {
		line := view.OperationLine(&assess.Operation{Operation: o})
		d.Operations.Open = append(d.Operations.Open, redactAndCut(line))
	}
}

// redactAndCut redacts a foreign text and then shortens it, because no rule recognizes half of a credential.
func redactAndCut(text string) string {
	long := len(text) > maxInputBytes
	if long {
		text = strings.ToValidUTF8(text[:maxInputBytes], "")
	}
	text = Redact(text)
	runes := []rune(text)
	most := maxTextRunes
	if long { // the end may be half of a credential
		most = min(most, len(runes)/2)
	}
	if len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}

// DecisiveLines selects the decisive lines of a log, in bounded memory.
type DecisiveLines struct {
	// From names the log.
	From string

	lost, errors, last []repeatedLine
}

// repeatedLine is a line, with the number of similar lines right before it.
type repeatedLine struct {
	logs.Line
	repeated int
}

var digits = regexp.MustCompile(`\d+`)

// isSimilarLine reports whether two lines differ only in numbers.
func isSimilarLine(a, b logs.Line) bool {
	return a.Level == b.Level && a.Error == b.Error &&
		digits.ReplaceAllString(a.Text, "") == digits.ReplaceAllString(b.Text, "")
}

func (p *DecisiveLines) AddLine(l logs.Line) {
	if l.IsContinuation {
		return
	}
	if l.Level == logs.Error && len(p.errors) < maxFirstErrors {
		p.errors = append(p.errors, repeatedLine{Line: l})
	}
	// Both messages are in Reconcile of pkg/controller/backup_controller.go and restore_controller.go.
	if text := strings.ToLower(l.Text); strings.Contains(text, "error updating") && strings.Contains(text, "status") {
		p.lost = append(p.lost[max(0, len(p.lost)-maxLostLines+1):], repeatedLine{Line: l})
	}
	if end := len(p.last) - 1; end >= 0 && isSimilarLine(p.last[end].Line, l) {
		p.last[end] = repeatedLine{l, p.last[end].repeated + 1}
		return
	}
	p.last = append(p.last[max(0, len(p.last)-maxLastLines+1):], repeatedLine{Line: l})
}

func (p *DecisiveLines) buildLog(ended bool) Log {
	if p == nil {
		p = &DecisiveLines{}
	}
	last := p.last
	if ended {
		last = last[max(0, len(last)-maxLastLinesEnded):]
	}
	return Log{From: p.From, Lost: newLogLines(p.lost), FirstErrors: newLogLines(p.errors), Last: newLogLines(last)}
}

// newLogLines never returns nil.
func newLogLines(lines []repeatedLine) []LogLine {
	found := make([]LogLine, len(lines))
	for i, l := range lines {
		text := l.Text
		for _, f := range l.Fields {
			if slices.Contains(
				[]string{"name", "namespace", "resource", "groupResource", "original name", "logSource"},
				f.Name,
			) &&
				f.Value != "" &&
				(f.Name != "logSource" || l.Level == logs.Error) {
				text += " " + f.Name + "=" + f.Value
			}
		}
		found[i] = LogLine{
			At:       newMoment(l.At),
			Level:    l.Level.String(),
			Text:     redactAndCut(text),
			Error:    redactAndCut(l.Error),
			Repeated: l.repeated,
		}
	}
	return found
}

// JobRef returns the job's name as commands take it.
func (d Document) JobRef() string { return job.Kind(d.Job.Kind).Noun() + "/" + d.Job.Name }
