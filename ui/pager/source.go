package pager

import (
	"context"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/ui/draw"
)

// Line is one line of what a pager shows.
type Line struct {
	// Text is drawn as it is, with its styles. It is on one line.
	Text string
	// Key is the line's identity if it can be selected, empty if it cannot.
	Key string
}

// Source is what a pager shows. One of many lines is searched from another goroutine.
type Source interface {
	// Len is how many lines there are now.
	Len() int
	// Line draws the line at i.
	Line(c draw.Canvas, i int) Line
}

// Finder is a Source that searches itself.
type Finder interface {
	Source
	// Find is the first line at or after from, or before it, with a text in lower case, round the end; -1 for none.
	// It is called from another goroutine.
	Find(ctx context.Context, text string, from int, forward bool) (int, error)
}

// atOnce is how many lines may be searched on the spot.
const atOnce = 1000

// finder searches the lines of a source as they are drawn.
type finder struct {
	Source
	canvas draw.Canvas
}

// find returns the lines with a text in lower case.
func (f finder) find(ctx context.Context, text string) (hits []int, err error) {
	for i := range f.Len() {
		if i%atOnce == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if strings.Contains(strings.ToLower(ansi.Strip(f.Line(f.canvas, i).Text)), text) {
			hits = append(hits, i)
		}
	}
	return hits, nil
}

// Lines are a Source of few lines.
type Lines []Line

// Plain are lines none of which can be selected.
func Plain(texts []string) Lines {
	lines := make(Lines, len(texts))
	for i, text := range texts {
		lines[i].Text = text
	}
	return lines
}

// Len is how many lines there are.
func (l Lines) Len() int { return len(l) }

// Line is the line at i.
func (l Lines) Line(_ draw.Canvas, i int) Line { return l[i] }
