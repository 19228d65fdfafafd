package view

import (
	"fmt"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/results"
)

// ResultsInput is what is known of a job's errors and warnings.
type ResultsInput struct {
	Job      *job.Job
	Sections []results.MessageSection
	// FromResults is true if the sections are the results that Velero stored; else the job's status has the counts.
	FromResults bool
	Note        string // says why the sections are not complete, or why there are none
	Err         error  // why the results cannot be read
}

// Results words the errors and warnings of a job.
type Results struct {
	Counts Text   // the number of errors and warnings, empty if there are none
	Notes  []Text // what is known besides the messages
	// Failures are the reasons in the job's status for which the job failed.
	Failures []PageField
	Groups   []ResultGroup
}

// ResultGroup holds the messages of one severity, such as the errors.
type ResultGroup struct {
	Title    string
	Tone     Tone
	Count    int // of messages; those that say the same are one of Messages
	Messages []results.Message
	Open     bool // the messages should be shown at once
}

// Heading returns the title with the number of messages.
func (g ResultGroup) Heading() string { return fmt.Sprintf("%s (%d)", g.Title, g.Count) }

// Section returns the group as a section in which each message names at most most resources, all if most is negative.
func (g ResultGroup) Section(most int) PageSection {
	return PageSection{Title: g.Heading(), Messages: g.Messages, MaxNames: most}
}

// NewResults words the errors and warnings of a job.
func NewResults(in ResultsInput) Results {
	errs, warnings := in.Job.Errors, in.Job.Warnings
	// While the job goes on, empty results do not contradict the status.
	if in.FromResults && (len(in.Sections) > 0 || in.Job.IsTerminal()) {
		errs, warnings = results.CountMessages(in.Sections)
	}
	r := Results{
		Failures: FailureFields(in.Job.FailureReason, in.Job.ValidationErrors),
		Groups:   NewResultGroups(in.Sections),
	}
	if errs+warnings > 0 {
		r.Counts = ResultCounts(errs, warnings)
	}
	switch {
	case in.Err != nil:
		r.Notes = []Text{ResultsUnread(in.Err)}
		if errs+warnings > 0 {
			r.Notes = append(r.Notes, Toned(Dim, "The counts above are those of the job's status."))
		}
	case in.Note != "":
		r.Notes = []Text{Toned(Dim, in.Note)}
	}
	return r
}

// ResultCounts returns the number of errors and warnings.
func ResultCounts(errs, warnings int) Text {
	tone := Waiting
	if errs > 0 {
		tone = Bad
	}
	return Toned(tone, human.Count(errs, "error")+", "+human.Count(warnings, "warning"))
}

// ResultsUnread says why the results cannot be read.
func ResultsUnread(err error) Text { return Toned(Bad, results.NotRead+": "+err.Error()) }

// ServerLogUnread says why the server's log cannot be read.
func ServerLogUnread(err error) Text {
	return Toned(Bad, "The server's log cannot be read: "+err.Error())
}

// FailureFields returns the reasons for which a job failed, as its status has them.
func FailureFields(reason string, validationErrors []string) (fields []PageField) {
	if reason != "" {
		fields = append(fields, PageField{Label: "Failure reason", Text: Toned(Bad, reason)})
	}
	for _, text := range validationErrors {
		fields = append(fields, PageField{Label: "Validation error", Text: Toned(Bad, text)})
	}
	return fields
}

// NewResultGroups words sections of messages. Groups of warnings are closed if there are errors.
func NewResultGroups(sections []results.MessageSection) []ResultGroup {
	errs, _ := results.CountMessages(sections)
	groups := make([]ResultGroup, len(sections))
	for i, s := range sections {
		groups[i] = ResultGroup{
			Title:    string(s.Severity) + "s" + human.Prefixed(", ", s.Place),
			Tone:     MessageTone(s.Severity),
			Count:    s.Count,
			Messages: s.Messages,
			Open:     s.Severity == results.Error || errs == 0,
		}
	}
	return groups
}

// MessageTone returns the tone of messages of a severity.
func MessageTone(severity results.Severity) Tone {
	if severity == results.Warning {
		return Waiting
	}
	return Bad
}

// MessagePlace returns the number of messages that say the same, and where they are from.
func MessagePlace(m *results.Message) string {
	return human.Count(m.Count, string(m.Severity)) + ", " + m.Place()
}

// MessagePhrase returns a text of a message behind its number and place.
func MessagePhrase(m *results.Message, text string) Text {
	return Phrase("%s: %s", MessagePlace(m), Quote(text))
}

const (
	maxFirstErrors    = 3
	maxFirstErrorText = 300
)

// FirstErrors returns the first errors among messages, to stand in the head of a verdict.
func FirstErrors(messages []results.Message) (found []Text) {
	for i := range messages {
		m := &messages[i]
		switch {
		case m.Severity != results.Error:
		case len(found) == maxFirstErrors:
			return append(found, Phrase("and more errors: see below"))
		default:
			found = append(found, MessagePhrase(m, human.Shorten(m.DisplayText(), maxFirstErrorText)))
		}
	}
	return found
}

// MessageRepeats returns how often a message occurs, to stand before its text; empty for once.
func MessageRepeats(m *results.Message) string {
	if m.Count > 1 {
		return fmt.Sprintf("%dx ", m.Count)
	}
	return ""
}

// MessageInstances names at most most resources of a message, or what varies in it, all if most is negative, and
// counts the others.
func MessageInstances(m *results.Message, most int) string {
	names, left := m.ListInstances(most)
	return names + human.AndMore(left)
}

// FitMessageInstances is like MessageInstances for as many as fit in width cells, but at least one.
func FitMessageInstances(m *results.Message, width int) string {
	fitting := MessageInstances(m, 1)
	for most := 2; most <= min(width, max(len(m.Resources), len(m.Variants))); most++ {
		names := MessageInstances(m, most)
		if ansi.StringWidth(names) > width {
			break
		}
		fitting = names
	}
	return fitting
}
