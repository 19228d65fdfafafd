package restoreform

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/restore/preflight"
	"github.com/veltui/veltui/ui/draw"
)

// answer is the preview: obstacles, items, assumptions, the command and the YAML.
func (f *Form) answer(c draw.Canvas) []string {
	lines := f.troubles(c)
	p := &f.preview
	switch {
	case len(f.wrong()) > 0:
		return append(lines, f.endings(c)...)
	case f.options.Previewer == nil:
		lines = append(lines, c.Para(c.Theme.Dim, "veltui cannot look into backups here. The command is right all the same.", 3)...)
	case f.pending && !f.previewed.Known:
		lines = append(lines, c.Para(c.Theme.Dim, "Reading what is in the backup"+c.Glyphs.Ellipsis, 2)...)
	}
	if f.previewed.Known && (len(f.refused()) == 0 || p.Unknown != "") {
		if p.Unknown != "" {
			lines = append(lines, c.Para(c.Theme.Waiting, "The items are not known: "+strings.TrimRight(p.Unknown, ".")+".", 4)...)
		} else {
			lines = append(lines, f.table(c)...)
		}
		for _, what := range f.checkShown().Unseen {
			lines = append(lines, c.Item(c.Theme.Waiting.Render(" "+c.Glyphs.Open)+" ", "Not looked at: "+what, 3)...)
		}
		for _, note := range p.Notes {
			for _, line := range c.Sized(c.Width, 0).Item(" "+c.Glyphs.Fact+" ", note, 4) {
				lines = append(lines, c.Theme.Dim.Render(line))
			}
		}
	}
	return append(lines, f.endings(c)...)
}

// troubles are what is wrong in the form, what Velero refuses and what was found.
func (f *Form) troubles(c draw.Canvas) []string {
	var lines []string
	item := func(style lipgloss.Style, sign, text string, most int) {
		lines = append(lines, c.Item(style.Render(sign)+" ", text, most)...)
	}
	for i := range f.rows {
		if r := &f.rows[i]; r.err != nil {
			item(c.Theme.Bad, c.Glyphs.Failed, f.name(i)+": "+r.err.Error(), 3)
		}
	}
	for _, why := range f.refused() {
		item(c.Theme.Bad, c.Glyphs.Failed, "Refused: "+why, 4)
	}
	if len(lines) > 0 {
		return lines
	}
	if by := f.comparison; by != nil && by.outdated {
		item(c.Theme.Waiting, c.Glyphs.Attention, "The comparison was of another restore. What follows is not compared.", 2)
	}
	for _, kind := range []struct {
		severity preflight.Severity
		style    lipgloss.Style
		sign     string
	}{
		{preflight.Obstacle, c.Theme.Bad, c.Glyphs.Failed}, {preflight.Doubt, c.Theme.Waiting, c.Glyphs.Attention}, {preflight.Note, c.Theme.Dim, c.Glyphs.Fact},
	} {
		for _, found := range f.checkShown().Findings {
			if found.Severity == kind.severity {
				item(kind.style, kind.sign, strings.TrimSpace(found.Sentence+" "+found.Remedy), 4)
			}
		}
	}
	return lines
}

// table are the items by resource and namespace, in the order of the restore.
func (f *Form) table(c draw.Canvas) []string {
	e := &f.preview.Estimate
	if len(e.Resources) == 0 {
		return []string{"Nothing would be restored."}
	}
	name := 9
	for _, r := range e.Resources {
		name = max(name, lipgloss.Width(r.Resource))
	}
	name = min(name, max(c.Width/2, 12))
	head := c.Fit("RESOURCE", name) + c.FitRight("ITEMS", 8) + "  NAMESPACES"
	lines := []string{c.Theme.Dim.Render(c.Cut(head, c.Width))}
	for _, r := range e.Resources {
		line := c.Fit(c.CutMiddle(r.Resource, name), name) + c.FitRight(human.Number(r.Items), 8) + "  "
		lines = append(lines, c.Cut(line+namespaces(r, c.Width-lipgloss.Width(line)), c.Width))
	}
	total := c.Fit("Total", name) + c.FitRight(human.Number(e.Total), 8)
	if f.preview.Takes > 0 {
		total += "  in " + human.TimeLeftRange(f.preview.Low, f.preview.High)
	}
	return append(lines, c.Theme.Strong.Render(c.Cut(total, c.Width)))
}

// namespaces are a resource's, as many as there is room for.
func namespaces(r collector.ResourceCount, width int) string {
	for most := len(r.Namespaces); most > 0; most-- {
		if text := human.Largest(r.Namespaces, most); lipgloss.Width(text) <= width {
			return text
		}
	}
	return human.Largest(r.Namespaces, 1)
}

// endings are the command and the YAML.
func (f *Form) endings(c draw.Canvas) []string {
	if len(f.wrong()) > 0 {
		return nil
	}
	line, unsaid := f.command()
	lines := append([]string{"", c.Theme.Strong.Render("Command")}, c.Command(line)...)
	if len(unsaid) > 0 {
		slices.Sort(unsaid)
		text := fmt.Sprintf("The command cannot say %s.", human.List(unsaid, 5))
		if strings.Contains(strings.Join(unsaid, " "), "spec.") {
			text += " The YAML can."
		}
		lines = append(lines, c.Item(c.Theme.Waiting.Render(c.Glyphs.Attention)+" ", text, 3)...)
	}
	if lacks := f.older(); lacks != "" {
		lines = append(lines, c.Item(c.Theme.Waiting.Render(c.Glyphs.Attention)+" ", lacks, 4)...)
	}
	lines = append(lines, "", c.Theme.Strong.Render("YAML"))
	text, err := f.yaml()
	if err != nil {
		return append(lines, c.Para(c.Theme.Waiting, draw.Sentence(err.Error()), 3)...)
	}
	for yamlLine := range strings.Lines(text) {
		lines = append(lines, c.Whole(strings.TrimRight(yamlLine, "\n"))...)
	}
	return lines
}
