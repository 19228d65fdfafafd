package cmd

import (
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/veltui/veltui/internal/sanitize"
)

// liveLines are lines on a terminal that the next ones replace. The cursor stays at the
// end of the last one.
type liveLines struct {
	columns func() int
	// widths are those of the lines that stand there, in cells.
	widths []int
}

// terminalSize is that of a terminal, and a usual one where it is unknown.
func terminalSize(f *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || columns < 2 {
		return 80, 24
	}
	return columns, rows
}

// replaced returns what draws lines in place of those that stand there.
func (l *liveLines) replaced(lines []string) string {
	var b strings.Builder
	b.WriteString(l.erased())
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(sanitize.Frame(line))
		l.widths = append(l.widths, ansi.StringWidth(line))
	}
	return b.String()
}

// erased returns what takes away the lines that stand there. A terminal that has become
// narrower has wrapped them.
func (l *liveLines) erased() string {
	columns, rows := l.columns(), 0
	for _, width := range l.widths {
		rows += max(1, (width+columns-1)/columns)
	}
	l.widths = nil
	if rows < 2 {
		return "\r" + ansi.EraseScreenBelow
	}
	return "\r" + ansi.CursorUp(rows-1) + ansi.EraseScreenBelow
}
