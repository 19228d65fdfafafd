package guide

import (
	"fmt"
	"strings"

	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

// Guide holds the hints. `<finalize>` in a hint becomes the key of that action.
type Guide struct {
	// Title precedes each hint.
	Title string
	// JobName is the name of the stuck job.
	JobName string
	// FindHint is for the list with another row selected, OpenHint for the list with the job's row selected, ActHint for
	// the job's screen, ConfirmHint for the dialog, and DoneHint for after the job's end.
	FindHint, OpenHint, ActHint, ConfirmHint, DoneHint string
}

// Screen is the screen that the user sees.
type Screen int

const (
	// OtherScreen is a screen without hints: help, other tabs, other jobs.
	OtherScreen Screen = iota
	// JobList is the list of active jobs.
	JobList
	// JobRow is the list with the guide's job selected.
	JobRow
	// JobScreen is the screen of the guide's job.
	JobScreen
	// ConfirmDialog is the dialog that asks for confirmation.
	ConfirmDialog
)

// stepCount is the number of steps: Find and Open, which are one step, then Act, Confirm and Done.
const stepCount = 4

// maxHintLines is the largest number of lines of a hint. Terminals smaller than the width and height have no room for
// it.
const (
	maxHintLines        = 3
	minWidth, minHeight = 60, 24
)

// HintFor returns the step and its hint, empty for none; ended is true once the job has ended.
func (g *Guide) HintFor(on Screen, ended bool) (step int, text string) {
	switch {
	case on == OtherScreen:
		return 0, ""
	case ended:
		return 4, g.DoneHint
	case on == ConfirmDialog:
		return 3, g.ConfirmHint
	case on == JobScreen:
		return 2, g.ActHint
	case on == JobRow:
		return 1, g.OpenHint
	}
	return 1, g.FindHint
}

// RenderHint draws the hint as lines, with the keys of bindings in it; none if there is no room.
func (g *Guide) RenderHint(c draw.Canvas, on Screen, ended bool, bindings []keys.Binding) []string {
	step, text := g.HintFor(on, ended)
	if text == "" || c.Width < minWidth || c.Height < minHeight {
		return nil
	}
	var labels []string
	for _, b := range bindings {
		if b.Name != "" {
			labels = append(labels, "<"+b.Name+">", strings.Fields(b.Label + " ?")[0])
		}
	}
	title := fmt.Sprintf("%s %d/%d", g.Title, step, stepCount)
	if on != ConfirmDialog {
		title += " (x hides this)"
	}
	return c.RenderIndented(c.Theme.Accent, title+": "+strings.NewReplacer(labels...).Replace(text), 1, maxHintLines)
}
