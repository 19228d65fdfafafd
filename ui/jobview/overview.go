package jobview

import (
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
	// sideBySideWidth is the smallest width at which the verdict is beside the fields.
	sideBySideWidth = 118
	// maxTextWidth is the largest width of text: longer lines are hard to read.
	maxTextWidth = 110
)

// overviewPage is the page with what is known of the job, and with the first errors of a job that has errors.
type overviewPage struct{ noopPage }

// fetchMissing reads why the job ended badly, and the results that the Results page shows, if the job has errors.
func (overviewPage) fetchMissing(s *Screen) tea.Cmd {
	if !s.job.IsTerminal() || s.job.Errors == 0 {
		return s.fetchEndEvidence()
	}
	return tea.Batch(s.findResultsPage().fetchResults(s), s.fetchEndEvidence())
}

func (overviewPage) renderLines(c draw.Canvas, s *Screen) pager.Source {
	return pager.PlainLines(renderOverview(c, s))
}

// renderOverview draws the verdict and everything about the job: side by side on wide screens.
func renderOverview(c draw.Canvas, s *Screen) []string {
	sections, named := describe.Job(s.job, s.assessment, c.Now), s.dependencies.Keys
	if c.Width < sideBySideWidth {
		text := c.WithSize(c.Width-2, 0)
		lines := append(s.renderVerdict(text, named), "")
		return draw.IndentLines(append(lines, renderSections(text, sections, named)...), 1)
	}
	width := min(c.Width*9/20, 84)
	left, right := c.WithSize(width, 0), c.WithSize(min(c.Width-width-4, maxTextWidth), 0)
	long := func(s describe.Section) bool { return s.Title == "hooks" || s.Title == "metadata" }
	besides := s.renderVerdict(right, named)
	for _, section := range sections {
		if long(section) {
			besides = append(append(besides, ""), renderSections(right, []describe.Section{section}, named)...)
		}
	}
	return draw.IndentLines(
		left.JoinColumns(renderSections(left, slices.DeleteFunc(sections, long), named), "  ", besides),
		1,
	)
}

// maxVerdictLines limits the lines of each text of the verdict.
const maxVerdictLines = 12

// renderVerdict draws the verdict with its proof, and its parts in their order.
func (s *Screen) renderVerdict(c draw.Canvas, named keys.Overrides) []string {
	v := s.newVerdict(c, named)
	lines := c.RenderParagraph(c.Theme.Strong, v.Summary, maxVerdictLines)
	if v.Proof != nil {
		lines = append(lines, c.RenderFact(v.Proof.Fact)...)
	}
	wasTitled := false
	for _, section := range slices.Concat(v.Sections(), s.verifiedSections(), []view.PageSection{v.LimitsSection()}) {
		if section.IsEmpty() {
			continue
		}
		// The style of steps and the signs of facts say what they are.
		isTitled := len(section.Steps)+len(section.Facts) == 0
		if isTitled || wasTitled {
			lines = append(lines, "")
		}
		if isTitled {
			lines = append(lines, c.RenderHeading(section.Title))
		}
		most := maxVerdictLines
		if len(section.Items) > 0 {
			most = maxMessageLines
		}
		lines = append(lines, detail.RenderSection(c, section, most)...)
		wasTitled = isTitled
	}
	return lines
}

// newVerdict returns the verdict on the job, with advice that names keys.
func (s *Screen) newVerdict(c draw.Canvas, named keys.Overrides) view.Verdict {
	var limits []velero.Limit
	if s.assessment != nil {
		limits = s.assessment.ListLimits(s.job.Job)
	}
	v := view.NewVerdict(s.job.Verdict, limits)
	v.Cause, v.Next = s.causeSection(c), nil
	if advice := FormatAdvice(s.job, named, s.dependencies.MayChange); advice != "" {
		// The keys do what the commands of veltui do.
		commands := slices.DeleteFunc(s.job.Verdict.Next().Commands, func(command string) bool {
			return strings.HasPrefix(command, "veltui ")
		})
		v.Next = []view.Step{{Title: view.NextTitle, Text: advice, Alternatives: commands}}
	}
	return v
}

// verifiedSections returns the result of verifying a restore, if it was verified.
func (s *Screen) verifiedSections() []view.PageSection {
	text := s.verifyPage.verificationText(s)
	if text == "" {
		return nil
	}
	return []view.PageSection{{Title: "verified", Lines: view.PlainTexts([]string{text})}}
}

// maxFirstErrors is how many errors the Overview shows.
const maxFirstErrors = 5

// causeSection returns why the job has errors: the first errors, or why they are unknown.
func (s *Screen) causeSection(c draw.Canvas) view.PageSection {
	cause := view.PageSection{Title: "why"}
	if !s.job.IsTerminal() || s.job.Errors == 0 {
		return cause
	}
	say := func(tone view.Tone, text string) { cause.Lines = append(cause.Lines, view.Toned(tone, text)) }
	p := s.findResultsPage()
	switch m, known, err := p.knownMessages(s); {
	case err != nil:
		cause.Lines = append(cause.Lines, view.ResultsUnread(err))
		return cause
	case !known:
		say(view.Dim, "Reading the errors"+c.Glyphs.Ellipsis)
		return cause
	case len(m.Sections) == 0:
		say(view.Dim, m.Note)
		return cause
	}
	count := 0
	for _, section := range p.shownSections(s) {
		if section.Severity != results.Error {
			continue
		}
		for i := range section.Messages {
			if count++; count <= maxFirstErrors {
				cause.Items = append(cause.Items, view.Toned(view.Bad, messageSentence(&section.Messages[i])))
			}
		}
	}
	hint := "press " + s.dependencies.Keys.FirstKey("errors") + " for all"
	if more := count - maxFirstErrors; more > 0 {
		hint = human.Count(more, "more error") + ": " + hint
	}
	say(view.Dim, hint)
	return cause
}

// messageSentence returns a message with the first of its resources.
func messageSentence(m *results.Message) string {
	return m.DisplayText() + human.InParens(view.MessageInstances(m, 1))
}

// renderSections draws sections one below the other.
func renderSections(c draw.Canvas, sections []describe.Section, named keys.Overrides) []string {
	var lines []string
	for i, s := range sections {
		if i > 0 {
			lines = append(lines, "")
		}
		if s.Title != "" {
			lines = append(lines, c.RenderHeading(s.Title))
		}
		width := 0
		for _, f := range s.Fields {
			width = max(width, lipgloss.Width(f.Title)+2)
		}
		for _, f := range s.Fields {
			lines = append(lines, renderField(c, f, width, named)...)
		}
	}
	return lines
}

// renderField draws a whole field, with the key that leads to more of it.
func renderField(c draw.Canvas, f describe.Field, width int, named keys.Overrides) []string {
	lines := detail.RenderField(c, f.PageField(), width, unlimitedLines)
	if hint := keyHint(f.DetailPage, named); hint != "" && len(lines) > 0 {
		last := &lines[len(lines)-1]
		if lipgloss.Width(*last)+len(hint)+2 <= c.Width {
			*last += c.Theme.Dim.Render("  " + hint)
		}
	}
	return lines
}

// labelWidth is the width of the labels on pages with short labels.
const labelWidth = 15

// unlimitedLines is more lines than any value has.
const unlimitedLines = 10_000

// keyHint names the key that opens a page, empty for none.
func keyHint(p PageName, named keys.Overrides) string {
	return human.Prefixed("press ", pageKey(p, named))
}

// FormatAdvice returns the advice for a job, with the keys that it needs where something may be changed.
func FormatAdvice(j assess.JudgedJob, named keys.Overrides, mayChange bool) string {
	advice := j.Verdict.Next().Text
	if !mayChange {
		return advice
	}
	finalize, option := " Press "+named.FirstKey("finalize"), ", then "+named.FirstKey("next-option")+","
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
		if j.IsTroubled() {
			advice += finalize + " to see what can be done."
		}
	}
	return strings.TrimSpace(advice)
}

func (s *Screen) renderTitle(c draw.Canvas) string {
	j := s.job.Job
	named := func(width int) string {
		return " " + c.Theme.Dim.Render(
			view.KindLetter(j.Kind),
		) + " " + c.Theme.Strong.Render(
			c.TruncateMiddle(j.Name, width-4),
		)
	}
	right := ""
	if kind, name := view.JobOrigin(j); name != "" {
		right = c.Theme.Dim.Render("from " + kind + " " + name)
	}
	switch {
	case s.isDeleted && s.mayBeAgedOut:
		right = c.Theme.Waiting.Render("no longer read")
	case s.isDeleted:
		right = c.Theme.Bad.Render("deleted from the cluster")
	case !s.job.DeletionRequestedAt.IsZero():
		right = c.Theme.Waiting.Render("being deleted for " + human.Age(s.job.DeletionRequestedAt, c.Now))
	case lipgloss.Width(named(c.Width))+lipgloss.Width(right)+2 > c.Width:
		right = ""
	}
	return c.AlignEnds(named(c.Width-lipgloss.Width(right)-1), right+" ")
}

// renderStageLine draws the stages in order. On narrow screens it drops the names of passed stages first.
func renderStageLine(c draw.Canvas, j *job.Job) string {
	line := ""
	for brief := range 3 {
		if line = renderStages(c, j, brief); lipgloss.Width(line) <= c.Width {
			break
		}
	}
	return c.Truncate(line, c.Width)
}

func renderStages(c draw.Canvas, j *job.Job, brief int) string {
	var parts []string
	for _, step := range view.StageSteps(j, c.Now) {
		glyph := c.Glyphs.Ahead
		switch step.Position {
		case view.StageSkipped:
			glyph = c.Glyphs.Skipped
		case view.StagePresent:
			glyph = c.Glyphs.Current
		case view.StagePassed:
			glyph = c.Glyphs.Done
		case view.StageEnded:
			glyph, _ = c.EndPhaseGlyph(j.Phase)
		}
		text := step.Text.Text + " " + glyph
		switch {
		case step.Position == view.StageSkipped && brief >= 1:
			continue
		case step.Position == view.StagePresent || brief < 2:
			text += human.Prefixed(" ", step.Took)
		}
		parts = append(parts, c.Theme.ToneStyle(step.Tone).Render(text))
	}
	return " " + strings.Join(parts, c.Theme.Dim.Render(" "+c.Glyphs.Stage+" "))
}

func renderProgressLine(c draw.Canvas, j assess.JudgedJob) string {
	var words []string
	drawn := (j.FractionKnown || j.IsTerminal()) && !j.IsEmpty()
	if drawn {
		words = append(words, c.Theme.Strong.Render(c.WithEstimateMark(view.JobPercent(j))))
	}
	words = append(words, c.ProgressTexts(j)...)
	if state := view.JobState(j); state.Text != "" && j.State != diagnosis.Waiting {
		words = append(words, c.Theme.ToneStyle(state.Tone).Render(state.Text))
	}
	text := strings.Join(words, "  ")
	width := c.Width - lipgloss.Width(text) - 4
	if width < 8 {
		return " " + c.Truncate(text, c.Width-1)
	}
	bar := c.RenderEmptyBar(width)
	if drawn {
		bar = c.RenderBar(j.Fraction, width)
	}
	return " " + bar + "  " + text
}
