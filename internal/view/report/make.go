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
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/logs"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view/document"
)

const (
	maxEvents   = 80
	maxGroups   = 60
	maxNamed    = 8
	maxVolumes  = 60
	maxErrors   = 10
	maxLast     = 15
	maxLastEnd  = 4 // of a job that has ended and did not fail
	maxLost     = 3
	maxText     = 2000
	maxRead     = 32 * maxText // bytes of a text that are looked at
	maxOpenWork = 40
)

type Input struct {
	// Now is when the report is made, in the cluster's clock.
	Now             time.Time
	Veltui, Context string
	Assessed        *assess.Assessment
	Judged          assess.Judged

	Sections         []results.Section
	MessagesComplete bool
	MessagesNote     string
	Log              *Decisive
	// Operations are nil where they could not be read.
	Operations []artifact.Operation
	Limits     []velero.Limit
	Done       []Deed
	Left       []Step
	NotSeen    []NotSeen
}

// Make makes the report. Each text in it is redacted.
func Make(in Input) Document {
	j, v := in.Judged.Job, in.Judged.Verdict
	d := Document{
		Header: document.NewHeader(
			"Report",
		),
		MadeAt:    stamp(in.Now),
		Veltui:    in.Veltui,
		Context:   in.Context,
		Namespace: j.Namespace,
		Velero:    in.Assessed.Environment.Server.Version,
		Job:       Job{document.NewHead(j), in.Judged.Amount(), j.StorageLocation},
		Verdict:   Verdict{document.NewVerdict(v), v.Summary()},
		Left: append(
			[]Step{},
			in.Left...),
		Done:    append([]Deed{}, in.Done...),
		Limits:  append([]velero.Limit{}, in.Limits...),
		NotSeen: append([]NotSeen{}, in.NotSeen...),
	}
	d.Job.ValidationErrors = slices.Clone(j.ValidationErrors) // which are redacted
	slices.SortStableFunc(d.Done, func(a, b Deed) int { return a.At.Compare(b.At.Time) })
	d.timeline(in)
	d.messages(in)
	d.Log = in.Log.document(j.Terminal() && j.Phase != velero.PhaseFailed)
	d.volumes(in)
	d.operations(in)
	for _, s := range in.Assessed.Snapshot.Sources {
		if s.State != "live" && s.State != "syncing" {
			d.NotSeen = append(d.NotSeen, NotSeen{s.Resource, s.Err})
		}
	}
	for i := range d.Left { // those of the input are not redacted
		d.Left[i].Commands = slices.Clone(d.Left[i].Commands)
	}
	redactAll(reflect.ValueOf(&d), Redact)
	return d
}

func stamp(t time.Time) document.Moment { return document.Moment{Time: t.UTC().Truncate(time.Second)} }

func (d *Document) timeline(in Input) {
	told := in.Assessed.Timeline(in.Judged.Job, in.Operations)
	// Newest first. What was before the job is among the facts, where it matters.
	events := slices.DeleteFunc(told.Events, func(e assess.Event) bool { return e.At.Before(in.Judged.Created) })
	if len(events) > maxEvents {
		// How it began and how it goes on tell more than what lies between.
		d.TimelineLeft = len(events) - maxEvents
		events = append(slices.Clone(events[:maxEvents-maxEvents/4]), events[len(events)-maxEvents/4:]...)
	}
	d.Timeline, d.TimelineNotes = []Event{}, told.Notes
	for _, e := range slices.Backward(events) {
		d.Timeline = append(d.Timeline, Event{stamp(e.At), string(e.Source), e.Text})
	}
}

func (d *Document) messages(in Input) {
	groups := document.NewMessages(in.Sections)
	d.Messages = Messages{
		Complete: in.MessagesComplete,
		Note:     in.MessagesNote,
		Groups:   groups[:min(len(groups), maxGroups)],
		Left:     max(len(groups)-maxGroups, 0),
	}
	for i := range d.Messages.Groups {
		m := &d.Messages.Groups[i]
		m.Text, m.Example, m.More = cut(m.Text), "", max(len(m.Resources)-maxNamed, 0)
		m.Resources = m.Resources[:len(m.Resources)-m.More]
	}
}

func (d *Document) volumes(in Input) {
	d.Volumes = Volumes{Phases: []Count{}, Open: []document.Volume{}}
	phases := map[string]int{}
	for _, v := range in.Assessed.Volumes(in.Judged.Job) {
		phases[string(v.Kind)+" "+cmp.Or(v.Phase, velero.VolumeNew)]++
		switch {
		case v.Phase == velero.VolumeCompleted:
		case len(d.Volumes.Open) == maxVolumes:
			d.Volumes.Left++
		default:
			open := document.NewVolume(v)
			open.Message = cut(open.Message)
			d.Volumes.Open = append(d.Volumes.Open, open)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(phases)) {
		d.Volumes.Phases = append(d.Volumes.Phases, Count{name, phases[name]})
	}
}

func (d *Document) operations(in Input) {
	d.Operations = Operations{Operations: in.Judged.Operations, Open: []string{}}
	open := slices.DeleteFunc(
		slices.Clone(in.Operations),
		func(o artifact.Operation) bool { return o.Phase == velero.OperationCompleted },
	)
	d.Operations.Left = max(len(open)-maxOpenWork, 0)
	for _, o := range open[:len(open)-d.Operations.Left] {
		text := o.Phase + ": " + o.Resource + " " + strings.TrimPrefix(
			o.Namespace+"/"+o.Name,
			"/",
		) + " by " + o.Action + human.Clause(
			": ",
			o.Error,
		)
		d.Operations.Open = append(d.Operations.Open, cut(text))
	}
}

// cut redacts a text of others and then bounds it: no rule knows half of a credential.
func cut(text string) string {
	long := len(text) > maxRead
	if long {
		text = strings.ToValidUTF8(text[:maxRead], "")
	}
	text = Redact(text)
	runes := []rune(text)
	most := maxText
	if long { // its end may be such a half
		most = min(most, len(runes)/2)
	}
	if len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}

// Decisive picks the lines of a log that decide, in bounded memory.
type Decisive struct {
	// From says which log it is.
	From string

	lost, errors, last []lastLine
}

// lastLine is a line, and how many like it came right before it.
type lastLine struct {
	logs.Line
	repeated int
}

var digits = regexp.MustCompile(`\d+`)

// alike reports whether two lines differ in numbers only.
func alike(a, b logs.Line) bool {
	return a.Level == b.Level && a.Error == b.Error &&
		digits.ReplaceAllString(a.Text, "") == digits.ReplaceAllString(b.Text, "")
}

func (p *Decisive) Take(l logs.Line) {
	if l.More {
		return
	}
	if l.Level == logs.Error && len(p.errors) < maxErrors {
		p.errors = append(p.errors, lastLine{Line: l})
	}
	// pkg/controller/backup_controller.go and restore_controller.go, Reconcile.
	if text := strings.ToLower(l.Text); strings.Contains(text, "error updating") && strings.Contains(text, "status") {
		p.lost = append(p.lost[max(0, len(p.lost)-maxLost+1):], lastLine{Line: l})
	}
	if end := len(p.last) - 1; end >= 0 && alike(p.last[end].Line, l) {
		p.last[end] = lastLine{l, p.last[end].repeated + 1}
		return
	}
	p.last = append(p.last[max(0, len(p.last)-maxLast+1):], lastLine{Line: l})
}

func (p *Decisive) document(ended bool) Log {
	if p == nil {
		p = &Decisive{}
	}
	last := p.last
	if ended {
		last = last[max(0, len(last)-maxLastEnd):]
	}
	return Log{From: p.From, Lost: logLines(p.lost), FirstErrors: logLines(p.errors), Last: logLines(last)}
}

// logLines never returns nil.
func logLines(lines []lastLine) []LogLine {
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
			At:       stamp(l.At),
			Level:    l.Level.String(),
			Text:     cut(text),
			Error:    cut(l.Error),
			Repeated: l.repeated,
		}
	}
	return found
}

// Subject names the job as commands do.
func (d Document) Subject() string { return job.Kind(d.Job.Kind).Word() + "/" + d.Job.Name }
