package draw

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
)

// Para is plain text in one style, wrapped into at most most lines.
func (c Canvas) Para(style lipgloss.Style, text string, most int) []string {
	lines := c.Wrap(text, most)
	for i := range lines {
		lines[i] = style.Render(lines[i])
	}
	return lines
}

// Indented puts cells before lines, in place.
func Indented(lines []string, by int) []string {
	for i := range lines {
		lines[i] = strings.Repeat(" ", by) + lines[i]
	}
	return lines
}

// Note is [Canvas.Para], indented on both sides.
func (c Canvas) Note(style lipgloss.Style, text string, by, most int) []string {
	return Indented(c.Sized(c.Width-2*by, 0).Para(style, text, most), by)
}

// Beside puts lines at the right of others, which the canvas is as wide as.
func (c Canvas) Beside(left []string, between string, right []string) []string {
	lines := make([]string, max(len(left), len(right)))
	copy(lines, left)
	for i := range right {
		lines[i] = c.Fit(lines[i], c.Width) + between + right[i]
	}
	return lines
}

// WrapDrawn breaks a line with styles at words, and indents what goes on below.
func (c Canvas) WrapDrawn(line string) []string {
	indent := strings.Repeat(" ", min(c.Width/10, 4))
	whole := strings.ReplaceAll(line, "-", standIn) // as Wrap does
	rows := strings.Split(strings.ReplaceAll(lipgloss.Wrap(whole, c.Width-len(indent), " "), standIn, "-"), "\n")
	for i := range rows[1:] {
		rows[i+1] = indent + rows[i+1]
	}
	return rows
}

// Labelled is a word in width cells, and a text beside it; nothing without a text.
func (c Canvas) Labelled(label string, width int, style lipgloss.Style, text string, most int) []string {
	if strings.Trim(text, ".") == "" {
		return nil
	}
	var lines []string
	for _, part := range c.Sized(c.Width-width, 0).Para(style, text, most) {
		lines = append(lines, c.Cell(c.Theme.Dim, label, width, false)+part)
		label = ""
	}
	return lines
}

// Item is a text behind a sign, wrapped into at most most lines.
func (c Canvas) Item(sign, text string, most int) []string {
	width := lipgloss.Width(sign)
	var lines []string
	for _, part := range c.Sized(c.Width-width, 0).Wrap(text, most) {
		lines = append(lines, sign+part)
		sign = strings.Repeat(" ", width)
	}
	return lines
}

// Titled is a title with items below it; nothing without items.
func (c Canvas) Titled(title string, items []string) []string {
	if len(items) == 0 {
		return nil
	}
	lines := []string{"", c.Theme.Strong.Render(title)}
	for _, item := range items {
		lines = append(lines, c.Item(" - ", item, 6)...)
	}
	return lines
}

// Whole is a text in all its length, broken anywhere: it can be copied.
func (c Canvas) Whole(text string) []string {
	return strings.Split(ansi.Hardwrap(text, max(c.Width, 1), true), "\n")
}

// Observed is a fact with a sign for whether it holds, and where and when it was seen.
func (c Canvas) Observed(f diagnosis.Fact) []string {
	sign, style := c.Glyphs.Fact, c.Theme.Text
	if !f.Holds {
		sign, style = c.Glyphs.Open, c.Theme.Waiting
	}
	seen := " (" + f.Source
	if !f.At.IsZero() {
		seen += ", " + human.Age(f.At, c.Now)
	}
	seen += ")"
	lead := " " + style.Render(sign) + " "
	if c.Width < 50 {
		return c.Item(lead, f.Text+seen, 20)
	}
	lines := c.Sized(c.Width-lipgloss.Width(seen), 0).Item(lead, f.Text, 20)
	if len(lines) > 0 {
		lines[0] = c.Split(lines[0], c.Theme.Dim.Render(seen))
	}
	return lines
}

func Sentence(words string) string {
	if words == "" {
		return ""
	}
	return human.Capital(words) + "."
}

// CutMiddle cuts s in its middle: names of clusters and scheduled jobs differ at both ends.
func (c Canvas) CutMiddle(s string, width int) string {
	if len(s) <= width { // no rune has more cells than bytes
		return s
	}
	whole := ansi.StringWidth(s)
	switch {
	case whole <= width:
		return s
	case width <= 3:
		return ansi.Truncate(s, max(width, 0), "")
	}
	head := (width - 1) / 2
	tail := width - 1 - head
	// A wide rune at the cut goes as a whole.
	end := ansi.TruncateLeft(s, whole-tail, "")
	if ansi.StringWidth(end) > tail {
		end = ansi.TruncateLeft(s, whole-tail+1, "")
	}
	return ansi.Truncate(s, head, "") + c.Glyphs.Ellipsis + end
}

// Command is a shell command on several lines, joined by backslashes: copied, they are one command,
// and no part runs. A quoted word wider than a line is broken as it is.
func (c Canvas) Command(command string) []string {
	width := max(c.Width, 8)
	if lipgloss.Width(command) <= width {
		return []string{command}
	}
	var lines []string
	line := ""
	for _, word := range shellWords(command) {
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

// shellWords are the words of a command as they are written, quotes and all.
func shellWords(command string) (words []string) {
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
