package jobview

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/describe"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// Widths of the Overview, in cells.
const (
	// sideBySide is from when on the verdict stands beside the fields.
	sideBySide = 118
	// widest is how wide text gets: longer lines are hard to read.
	widest = 110
)

// overview is the page of what is drawn from the job, with the first errors of one that has not gone well.
type overview struct{ still }

// load reads what the Results page shows, where something went wrong.
func (overview) load(s *Screen) tea.Cmd {
	if !s.job.Terminal() || s.job.Errors == 0 {
		return nil
	}
	return s.results().loadResults(s)
}

func (overview) lines(c draw.Canvas, s *Screen) pager.Source { return pager.Plain(overviewPage(c, s)) }

// overviewPage shows the verdict and all about the job: side by side on wide screens.
func overviewPage(c draw.Canvas, s *Screen) []string {
	sections, named := describe.Job(s.job, s.assessed, c.Now), s.sources.Keys
	if c.Width < sideBySide {
		text := c.Sized(c.Width-2, 0)
		lines := append(s.verdictLines(text, named), "")
		return draw.Indented(append(lines, sectionLines(text, sections, named)...), 1)
	}
	width := min(c.Width*9/20, 84)
	left, right := c.Sized(width, 0), c.Sized(min(c.Width-width-4, widest), 0)
	long := func(s describe.Section) bool { return s.Title == "hooks" || s.Title == "metadata" }
	besides := s.verdictLines(right, named)
	for _, section := range sections {
		if long(section) {
			besides = append(append(besides, ""), sectionLines(right, []describe.Section{section}, named)...)
		}
	}
	return draw.Indented(left.Beside(sectionLines(left, slices.DeleteFunc(sections, long), named), "  ", besides), 1)
}

// verdictLines are the verdict with its cause, what would help, and the facts.
func (s *Screen) verdictLines(c draw.Canvas, named keys.Map) []string {
	lines := c.Para(c.Theme.Strong, s.job.Verdict.Summary(), 12)
	if cause := s.errorLines(c); len(cause) > 0 {
		lines = append(append(lines, cause...), "")
	}
	if advice := Advice(s.job, named); advice != "" {
		lines = append(lines, c.Para(c.Theme.Accent, advice, 12)...)
	}
	for _, f := range s.job.Verdict.Facts {
		lines = append(lines, c.Observed(f)...)
	}
	return append(lines, s.verifiedLines(c)...)
}

// verifiedLines say what came of verifying a restore.
func (s *Screen) verifiedLines(c draw.Canvas) []string {
	text := s.verify.verdict(s)
	if text == "" {
		return nil
	}
	return append([]string{"", c.Heading("verified")}, c.Para(c.Theme.Text, text, 6)...)
}

// firstErrors is how many errors the Overview shows.
const firstErrors = 5

// errorLines say why the job has errors: the first of them, or why they are not known.
func (s *Screen) errorLines(c draw.Canvas) []string {
	if !s.job.Terminal() || s.job.Errors == 0 {
		return nil
	}
	p := s.results()
	lines := []string{"", c.Heading("why")}
	switch m, known, err := p.messages(s); {
	case err != nil:
		return append(lines, c.Para(c.Theme.Bad, "The errors cannot be read: "+err.Error(), 4)...)
	case !known:
		return append(lines, c.Theme.Dim.Render("Reading the errors"+c.Glyphs.Ellipsis))
	case len(m.Sections) == 0:
		return append(lines, c.Para(c.Theme.Dim, m.Note, 4)...)
	}
	shown := 0
	for _, section := range p.sections(s) {
		for i := range section.Messages {
			m := &section.Messages[i]
			if section.Severity != results.Error {
				continue
			}
			if shown++; shown > firstErrors {
				continue
			}
			text := m.Words()
			if names, left := m.Names(1); left > 0 {
				text += fmt.Sprintf(" (%s and %d more)", names, left)
			} else {
				text += human.Parens(names)
			}
			lines = append(lines, c.Item(" "+c.Theme.Bad.Render(c.Glyphs.Failed)+" ", text, manyLines)...)
		}
	}
	hint := "press " + s.sources.Keys.Key("errors") + " for all"
	if more := shown - firstErrors; more > 0 {
		hint = human.Count(more, "more error") + ": " + hint
	}
	return append(lines, " "+c.Theme.Dim.Render(hint))
}

// sectionLines draw sections one below the other.
func sectionLines(c draw.Canvas, sections []describe.Section, named keys.Map) []string {
	var lines []string
	for i, s := range sections {
		if i > 0 {
			lines = append(lines, "")
		}
		if s.Title != "" {
			lines = append(lines, c.Heading(s.Title))
		}
		width := 0
		for _, f := range s.Fields {
			width = max(width, lipgloss.Width(f.Title)+2)
		}
		for _, f := range s.Fields {
			lines = append(lines, fieldLines(c, f, width, named)...)
		}
	}
	return lines
}

// fieldLines draw a whole field and the key that leads to more of it.
func fieldLines(c draw.Canvas, f describe.Field, width int, named keys.Map) []string {
	lines := detail.FieldLines(c, f.Labelled(), width, unlimited)
	if hint := hintFor(f.More, named); hint != "" && len(lines) > 0 {
		last := &lines[len(lines)-1]
		if lipgloss.Width(*last)+len(hint)+2 <= c.Width {
			*last += c.Theme.Dim.Render("  " + hint)
		}
	}
	return lines
}

// labelWidth is that of the labels on pages of a few words.
const labelWidth = 15

// unlimited is more lines than any value has.
const unlimited = 10_000

// hintFor tells the key that opens the page of a place, empty for none.
func hintFor(p describe.Place, named keys.Map) string {
	return human.Clause("press ", keyOf(Page(p), named))
}

// Advice is what would help a job, with the keys that lead to it.
func Advice(j assess.Judged, named keys.Map) string {
	advice := j.Verdict.Advice
	finalize, option := " Press "+named.Key("finalize"), ", then "+named.Key("next-option")+","
	switch j.Verdict.Action {
	case diagnosis.Finalize:
		advice += finalize + " to check the evidence and finalize it."
	case diagnosis.Wake:
		advice += finalize + option + " to wake it."
	case diagnosis.Restart:
		advice += finalize + option + " for the command and for what else a restart fails."
	case diagnosis.FixField, diagnosis.RestartNodeAgent:
		advice += finalize + option + " for the command."
	default:
		if j.Troubled() {
			advice += finalize + " to see what can be done."
		}
	}
	return strings.TrimSpace(advice)
}

func (s *Screen) title(c draw.Canvas) string {
	j := s.job.Job
	named := func(width int) string {
		return " " + c.Theme.Dim.Render(
			view.KindLetter(j.Kind),
		) + " " + c.Theme.Strong.Render(
			c.CutMiddle(j.Name, width-4),
		)
	}
	right := ""
	if kind, name := view.Origin(j); name != "" {
		right = c.Theme.Dim.Render("from " + kind + " " + name)
	}
	switch {
	case s.deleted && s.aged:
		right = c.Theme.Waiting.Render("not read any more")
	case s.deleted:
		right = c.Theme.Bad.Render("deleted from the cluster")
	case !s.job.DeletionAt.IsZero():
		right = c.Theme.Waiting.Render("being deleted for " + human.Age(s.job.DeletionAt, c.Now))
	case lipgloss.Width(named(c.Width))+lipgloss.Width(right)+2 > c.Width:
		right = ""
	}
	return c.Split(named(c.Width-lipgloss.Width(right)-1), right+" ")
}

// stageLine shows the stages in order. The names of passed stages give way on narrow screens.
func stageLine(c draw.Canvas, j *job.Job) string {
	line := ""
	for brief := range 3 {
		if line = stageLineBrief(c, j, brief); lipgloss.Width(line) <= c.Width {
			break
		}
	}
	return c.Cut(line, c.Width)
}

func stageLineBrief(c draw.Canvas, j *job.Job, brief int) string {
	var parts []string
	for _, record := range j.Stages {
		name := string(record.Stage)
		if record.Stage == job.StageQueued && j.Kind == job.Restore {
			name = velero.PhaseNew
		}
		here := record.Stage == j.Stage
		switch {
		case here && !j.Terminal():
			text := name + " " + c.Glyphs.Now
			if !record.Began.IsZero() {
				text += " " + human.Age(record.Began, c.Now)
			}
			parts = append(parts, c.Theme.Running.Render(text))
		case here:
			glyph, style := c.Ending(j.Phase)
			parts = append(parts, style.Render(j.Phase+" "+glyph))
		case record.Skipped && record.Ended.IsZero() && record.Began.IsZero():
			if brief < 1 {
				parts = append(parts, c.Theme.Dim.Render(name+" "+c.Glyphs.Skipped))
			}
		case !record.Ended.IsZero():
			text := name + " " + c.Glyphs.Done
			if brief < 2 && !record.Began.IsZero() {
				text += " " + human.Duration(record.Ended.Sub(record.Began))
			}
			parts = append(parts, c.Theme.Good.Render(text))
		case !j.Terminal():
			parts = append(parts, c.Theme.Dim.Render(name+" "+c.Glyphs.Ahead))
		case j.Phase == velero.PhaseCompleted || j.Phase == velero.PhasePartiallyFailed: // it went through all of them
			parts = append(parts, c.Theme.Good.Render(name+" "+c.Glyphs.Done))
		}
	}
	return " " + strings.Join(parts, c.Theme.Dim.Render(" "+c.Glyphs.Stage+" "))
}

func progressLine(c draw.Canvas, j assess.Judged) string {
	var words []string
	drawn := j.FractionKnown || j.Terminal()
	if drawn {
		words = append(words, c.Theme.Strong.Render(c.Estimated(j.Job, job.UnitItems)+human.Percent(j.Fraction)))
	}
	words = append(words, c.ProgressWords(j)...)
	switch j.State {
	case diagnosis.Stuck, diagnosis.Orphaned, diagnosis.Quiet, diagnosis.Unknown:
		words = append(words, c.Theme.Tone(view.StateTone(j.State)).Render(string(j.State)))
	}
	text := strings.Join(words, "  ")
	width := c.Width - lipgloss.Width(text) - 4
	if width < 8 {
		return " " + c.Cut(text, c.Width-1)
	}
	bar := c.NoBar(width)
	if drawn {
		bar = c.Bar(j.Fraction, width)
	}
	return " " + bar + "  " + text
}
