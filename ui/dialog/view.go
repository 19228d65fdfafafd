package dialog

import (
	"fmt"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/ui/draw"
)

// widest is how wide a dialog gets: longer lines are hard to read.
const widest = 100

// View draws the dialog over the screen behind it.
func (d *Dialog) View(c draw.Canvas, behind string) string {
	boxed := c.Sized(min(c.Width, widest), c.Height)
	inner := boxed.Inner()
	border := c.Theme.Accent.UnsetBold()
	if d.alarm {
		border = c.Theme.Bad.UnsetBold()
	}
	return c.Over(boxed.Box(draw.Box{Border: border, Title: d.title(), Text: d.text(inner), Pinned: d.pinned(inner), View: &d.view}), behind)
}

func (d *Dialog) title() string {
	const what = "Force finalize"
	j := d.job()
	text := what + " " + j.Kind.Word() + " " + j.Namespace + "/" + j.Name
	switch {
	case d.stage == Summary:
		return what
	case len(d.options.Jobs) > 1:
		return fmt.Sprintf("%d of %d: %s", d.at+1, len(d.options.Jobs), text)
	}
	return text
}

// text is what scrolls.
func (d *Dialog) text(c draw.Canvas) []string {
	now := d.options.Clock()
	switch d.stage {
	case Looking:
		lines := append(c.Para(c.Theme.Strong, "Gathering evidence about "+subject(d.job())+" ... "+human.Duration(now.Sub(d.since)), 2), "")
		for _, what := range gathering {
			lines = append(lines, c.Item(" "+c.Theme.Dim.Render(c.Glyphs.Ahead)+" ", what, 3)...)
		}
		return lines
	case Unseen:
		lines := c.Para(c.Theme.Bad, "veltui could not gather the evidence, so it can do nothing:", 2)
		return append(append(lines, c.Wrap(d.err.Error(), 8)...), "", d.options.Keys.Key("look-again")+" looks again.")
	case Applying:
		return runLines(c, d.run, d.state, now)
	case Ended:
		return d.outcome.lines(c, d.options.Keys)
	case Summary:
		return summaryLines(c, d.options.Jobs, d.results)
	}
	return planLines(c, d.choices, d.chosen, now.Sub(d.seen), d.options.Keys)
}

// pinned is what stays below the text: the answer to the last key, and what to
// do next.
func (d *Dialog) pinned(c draw.Canvas) []string {
	style := c.Theme.Good
	if d.alarm {
		style = c.Theme.Bad
	}
	var note []string
	if d.note != "" {
		note = c.Para(style, d.note, 3)
	}
	switch {
	case d.stage == Choosing && d.plan().Possible():
		return append(note, c.Para(c.Theme.Strong, "To apply it, press enter, then type "+d.wanted(), 6)...)
	case d.stage == Typing:
		d.input.SetWidth(max(c.Width-4, 1))
		d.input.SetCursor(d.input.Position()) // shows what fits into the new width
		if cluster := d.plan().Evidence().Cluster.String(); cluster != "" {
			note = append(note, c.Para(c.Theme.Text, "The cluster is "+cluster+".", 4)...)
		}
		lines := append(note, c.Para(c.Theme.Text, "Type "+d.wanted()+" and press enter:", 6)...)
		return append(lines, c.Theme.Accent.Render(c.Glyphs.Cursor)+" "+d.input.View())
	case d.stage == Applying:
		return append(note, d.stopLines(c)...)
	}
	return note
}

func (d *Dialog) stopLines(c draw.Canvas) []string {
	switch {
	case d.leaving:
		return c.Para(c.Theme.Waiting, "Stopping. veltui ends as soon as it knows what was sent.", 2)
	case d.stopping:
		return c.Para(c.Theme.Waiting, "Stopping. Finding out what was sent ...", 2)
	case d.asked:
		return c.Para(c.Theme.Strong, "Stop? esc again stops it, "+d.options.Keys.Key("quit")+" again stops it and quits; any other key goes on.", 2)
	}
	return nil
}
