package jobview

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// timelinePage lists events, the newest first, with item operations only if the Operations page has read them.
type timelinePage struct {
	noopPage
	// drawnLines are the lines of the last drawing.
	drawnLines pager.Lines
}

func (p *timelinePage) newBindings(s *Screen) []keys.Binding {
	return newCopyBindings(s, func() bool { return len(p.drawnLines) > 0 },
		func() (string, string) {
			key := s.SelectedKey()
			at := slices.IndexFunc(p.drawnLines, func(l pager.Line) bool { return key != "" && l.Key == key })
			if at < 0 {
				return "", ""
			}
			return "one event", strings.TrimSpace(plainText([]string{p.drawnLines[at].Text}))
		},
		func() (string, string) { return "the timeline", sourceText(s.copyCanvas(), p.drawnLines) })
}

func (p *timelinePage) renderLines(c draw.Canvas, s *Screen) pager.Source {
	var operations []artifact.Operation
	if p, ok := s.pages[s.tabIndex(Operations)].(*operationsPage); ok && p.listAnswer.HasValue {
		operations = p.listAnswer.Value
	}
	timeline := s.assessment.BuildTimeline(s.job.Job, operations)
	if n := s.job.Operations.Attempted; n > 0 && operations == nil {
		timeline.Notes = append(
			timeline.Notes,
			fmt.Sprintf(
				"The job has %s; their times are here once %s has read them.",
				human.Count(n, "operation"),
				pageTitle(Operations),
			),
		)
	}
	var lines pager.Lines
	say := func(key string, texts ...string) {
		for _, text := range texts {
			lines = append(lines, pager.Line{Text: strings.TrimRight(" "+text, " "), Key: key})
		}
	}
	p.drawnLines = nil
	for _, note := range timeline.Notes {
		say("", c.WithSize(c.Width-2, 0).RenderParagraph(c.Theme.Waiting, note, 2)...)
	}
	if len(timeline.Events) == 0 {
		say("", "", "Nothing is known yet.")
		return lines
	}
	styles := map[assess.EventTone]lipgloss.Style{
		assess.Neutral: c.Theme.Text,
		assess.Good:    c.Theme.Good,
		assess.Bad:     c.Theme.Bad,
	}
	day := ""
	for _, e := range timeline.Events {
		at := e.At.In(c.Now.Location())
		if d := at.Format("Monday 2006-01-02"); d != day {
			if day != "" || d != c.Now.Format("Monday 2006-01-02") {
				say("", c.Theme.Dim.Render(d))
			}
			day = d
		}
		// FromAgent is the longest name of a source.
		say(
			fmt.Sprint(e.At.UnixNano(), e.Source, e.Text),
			fmt.Sprintf(
				"%s %s  %s %s",
				at.Format("15:04:05"),
				c.FitRight(c.Theme.Dim.Render(human.Age(e.At, c.Now)), 6),
				c.FitLeft(c.Theme.Dim.Render(string(e.Source)), len(assess.FromAgent)),
				styles[e.Tone].Render(e.Text),
			),
		)
	}
	p.drawnLines = lines
	say("", "")
	say("", c.WithSize(c.Width-2, 0).RenderParagraph(c.Theme.Dim, timelineLegend, 4)...)
	return lines
}

const timelineLegend = "cluster: the API server noted it. " +
	"velero, node-agent and node: by the clock of the machine that wrote it. " +
	"log: the server's log. seen: veltui saw it since it started."
