package pager

import (
	"context"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/ui/draw"
)

// Line is one line in a pager.
type Line struct {
	// Text is drawn as it is, with its styles. It has no line breaks.
	Text string
	// Key identifies the line if it can be selected, empty if it cannot.
	Key string
}

// Source provides the lines of a pager. A source of many lines is searched from another goroutine.
type Source interface {
	// Len returns the current number of lines.
	Len() int
	// LineAt draws the line at i.
	LineAt(c draw.Canvas, i int) Line
}

// SearchableSource is a Source that searches itself.
type SearchableSource interface {
	Source
	// FindLine returns the first line that contains text, which is in lower case: at or after from, or at or before it
	// if forward is false, wrapping around; -1 if there is none. It is called from another goroutine.
	FindLine(ctx context.Context, text string, from int, forward bool) (int, error)
}

// maxSyncLines is the largest number of lines to search synchronously.
const maxSyncLines = 1000

// lineFinder searches the drawn lines of a source.
type lineFinder struct {
	Source
	canvas draw.Canvas
}

// findLines returns the lines that contain a text in lower case.
func (f lineFinder) findLines(ctx context.Context, text string) (hits []int, err error) {
	for i := range f.Len() {
		if i%maxSyncLines == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if strings.Contains(strings.ToLower(ansi.Strip(f.LineAt(f.canvas, i).Text)), text) {
			hits = append(hits, i)
		}
	}
	return hits, nil
}

// Lines is a Source of few lines.
type Lines []Line

// PlainLines returns lines that cannot be selected.
func PlainLines(texts []string) Lines {
	lines := make(Lines, len(texts))
	for i, text := range texts {
		lines[i].Text = text
	}
	return lines
}

// Len returns the number of lines.
func (l Lines) Len() int { return len(l) }

// LineAt returns the line at i.
func (l Lines) LineAt(_ draw.Canvas, i int) Line { return l[i] }
