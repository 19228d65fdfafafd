package draw

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/text"
)

// RenderParagraph renders plain text in one style, wrapped into at most most lines.
func (c Canvas) RenderParagraph(style lipgloss.Style, text string, most int) []string {
	lines := c.WrapText(text, most)
	for i := range lines {
		lines[i] = style.Render(lines[i])
	}
	return lines
}

// IndentLines indents lines by a number of cells, in place.
func IndentLines(lines []string, by int) []string {
	for i := range lines {
		lines[i] = strings.Repeat(" ", by) + lines[i]
	}
	return lines
}

// RenderIndented renders a paragraph like [Canvas.RenderParagraph], indented on both sides.
func (c Canvas) RenderIndented(style lipgloss.Style, text string, by, most int) []string {
	return IndentLines(c.WithSize(c.Width-2*by, 0).RenderParagraph(style, text, most), by)
}

// JoinColumns puts the lines of right beside those of left, which it pads to the canvas's width.
func (c Canvas) JoinColumns(left []string, between string, right []string) []string {
	lines := make([]string, max(len(left), len(right)))
	copy(lines, left)
	for i := range right {
		lines[i] = c.FitLeft(lines[i], c.Width) + between + right[i]
	}
	return lines
}

// WrapStyled breaks a line with styles at words, and indents the continuation lines.
func (c Canvas) WrapStyled(line string) []string {
	indent := strings.Repeat(" ", min(c.Width/10, 4))
	whole := strings.ReplaceAll(line, "-", placeholderRune) // as WrapText does
	rows := strings.Split(strings.ReplaceAll(lipgloss.Wrap(whole, c.Width-len(indent), " "), placeholderRune, "-"), "\n")
	for i := range rows[1:] {
		rows[i+1] = indent + rows[i+1]
	}
	return rows
}

// RenderLabelled renders a label in width cells with a text beside it; nothing if the text is empty.
func (c Canvas) RenderLabelled(label string, width int, style lipgloss.Style, text string, most int) []string {
	if strings.Trim(text, ".") == "" {
		return nil
	}
	var lines []string
	for _, part := range c.WithSize(c.Width-width, 0).RenderParagraph(style, text, most) {
		lines = append(lines, c.RenderCell(c.Theme.Dim, label, width, false)+part)
		label = ""
	}
	return lines
}

// RenderBullet renders a text behind a sign, wrapped into at most most lines.
func (c Canvas) RenderBullet(sign, text string, most int) []string {
	width := lipgloss.Width(sign)
	var lines []string
	for _, part := range c.WithSize(c.Width-width, 0).WrapText(text, most) {
		lines = append(lines, sign+part)
		sign = strings.Repeat(" ", width)
	}
	return lines
}

// RenderTitledList renders a title with items below it; nothing if there are no items.
func (c Canvas) RenderTitledList(title string, items []string) []string {
	if len(items) == 0 {
		return nil
	}
	lines := []string{"", c.Theme.Strong.Render(title)}
	for _, item := range items {
		lines = append(lines, c.RenderBullet(" - ", item, 6)...)
	}
	return lines
}

// WrapForCopying wraps a text without shortening it and breaks it anywhere, so that it can be copied.
func (c Canvas) WrapForCopying(text string) []string {
	return strings.Split(ansi.Hardwrap(text, max(c.Width, 1), true), "\n")
}

// RenderFact renders a fact with a sign for whether it holds, and with its origin and time.
func (c Canvas) RenderFact(f diagnosis.Fact) []string {
	sign := c.Glyphs.Fact
	if !f.Supports {
		sign = c.Glyphs.Unproven
	}
	seen := human.InParens(view.FactOrigin(f, c.Now).FitWidth(0))
	lead := " " + c.Theme.ToneStyle(view.FactTone(f)).Render(sign) + " "
	if c.Width < 50 {
		return c.RenderBullet(lead, f.Text+seen, 20)
	}
	lines := c.WithSize(c.Width-lipgloss.Width(seen), 0).RenderBullet(lead, f.Text, 20)
	if len(lines) > 0 {
		lines[0] = c.AlignEnds(lines[0], c.Theme.Dim.Render(seen))
	}
	return lines
}

func FormatSentence(words string) string {
	if words == "" {
		return ""
	}
	return human.Capitalize(words) + "."
}

// TruncateMiddle cuts s in its middle, because the names of clusters and scheduled jobs differ at both ends.
func (c Canvas) TruncateMiddle(s string, width int) string {
	return text.TruncateMiddle(s, width, c.Glyphs.Ellipsis)
}

// WrapCommand wraps a shell command into several lines, joined by backslashes: copied together, they are one command,
// and no single line is a command of its own. A quoted word wider than a line is broken without a backslash.
func (c Canvas) WrapCommand(command string) []string {
	width := max(c.Width, 8)
	if lipgloss.Width(command) <= width {
		return []string{command}
	}
	var lines []string
	line := ""
	for _, word := range splitShellWords(command) {
		switch {
		case line == "":
			line = word
		case lipgloss.Width(line+" "+word+` \`) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line+` \`), "  "+word
		}
		for lipgloss.Width(line) > width-2 {
			part, end := ansi.Truncate(line, width-1, ""), `\`
			if strings.ContainsAny(word, `'"`) {
				part, end = ansi.Truncate(line, width-2, ""), ""
			}
			lines, line = append(lines, part+end), line[len(part):]
		}
	}
	return append(lines, line)
}

// splitShellWords returns the words of a command as they are written, with their quotes.
func splitShellWords(command string) (words []string) {
	var quote rune
	start, escaped := 0, false
	for i, r := range command {
		switch {
		case escaped:
			escaped = false
		case r == '\\' && quote != '\'':
			escaped = true
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case r == ' ':
			words, start = append(words, command[start:i]), i+1
		}
	}
	return append(words, command[start:])
}
