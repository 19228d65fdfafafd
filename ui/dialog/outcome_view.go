package dialog

import (
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/ui/draw"
)

// outcomeLines say how applying a plan ended, and what remains to be done.
func outcomeLines(c draw.Canvas, o *Outcome, applied *Plan) []string {
	t := c.Theme
	tones := [...]lipgloss.Style{Good: t.Good, UnderWay: t.Running, Mixed: t.Waiting, Bad: t.Bad}
	lines := c.Para(tones[o.Tone], o.Headline, 2)
	lines = append(lines, c.Para(c.Theme.Text, draw.Sentence(o.Message), 6)...)
	if next := o.Next; next != nil {
		lines = append(lines, "")
		if next.Possible() {
			lines = append(lines, c.Labelled("Now", labelWidth, c.Theme.Strong, next.Change+" (enter looks at this new plan)", 8)...)
		} else {
			lines = append(lines, c.Labelled("Now", labelWidth, c.Theme.Text, "refused: "+next.Refusal, 8)...)
			lines = append(lines, c.Labelled("Helps", labelWidth, c.Theme.Text, next.Advice, 8)...)
		}
	}
	for _, w := range o.Warnings {
		lines = append(lines, c.Para(c.Theme.Waiting, "Warning: "+w+".", 4)...)
	}
	if o.Remains != "" {
		lines = append(lines, "", c.Theme.Strong.Render("What remains to be done"))
		lines = append(lines, c.Para(c.Theme.Text, o.Remains, 8)...)
	}
	if o.Sent {
		lines = append(lines, c.Titled("It did not", applied.WillNot)...)
	}
	if len(o.Files) > 0 {
		lines = append(lines, "", c.Theme.Strong.Render("On this machine"))
	}
	for _, f := range o.Files {
		lines = append(lines, f.What+":")
		lines = append(lines, c.Whole("  "+f.Path)...)
	}
	return lines
}

// summaryLines say what became of several jobs.
func summaryLines(c draw.Canvas, subjects []Subject, results []string) []string {
	lines := []string{c.Theme.Strong.Render("Results for the " + human.Count(len(subjects), "marked job")), ""}
	for i, s := range subjects {
		result := results[i]
		if result == "" {
			result = "not looked at"
		}
		lines = append(lines, c.Theme.Strong.Render(s.String()))
		lines = append(lines, c.Item("   ", result, 5)...)
	}
	return lines
}
