package guide

import (
	"fmt"
	"strings"

	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

// Guide is what is said on the way. `<finalize>` in a hint becomes that action's key.
type Guide struct {
	// Title stands before each hint.
	Title string
	// Job is the name of the stuck job.
	Job string
	// Find and Open are for the list with another or the job's row selected, Act for its screen,
	// Confirm for the dialog, Done for after its end.
	Find, Open, Act, Confirm, Done string
}

// Screen is what the user looks at.
type Screen int

const (
	// Elsewhere is where nothing is said: help, other tabs, other jobs.
	Elsewhere Screen = iota
	// List is the list of active jobs.
	List
	// Row is the list with the guide's job selected.
	Row
	// Job is the screen of the guide's job.
	Job
	// Dialog asks for a confirmation.
	Dialog
)

// steps are Find and Open, which is one step, Act, Confirm and Done.
const steps = 4

// lines is the most that a hint has. Smaller terminals than width by height have no room.
const (
	lines         = 3
	width, height = 60, 24
)

// Hint is the step and its text, empty for none; ended is true once the job has.
func (g *Guide) Hint(on Screen, ended bool) (step int, text string) {
	switch {
	case on == Elsewhere:
		return 0, ""
	case ended:
		return 4, g.Done
	case on == Dialog:
		return 3, g.Confirm
	case on == Job:
		return 2, g.Act
	case on == Row:
		return 1, g.Open
	}
	return 1, g.Find
}

// Draw is the hint as lines, with the keys of bindings in it; none without room.
func (g *Guide) Draw(c draw.Canvas, on Screen, ended bool, bindings []keys.Binding) []string {
	step, text := g.Hint(on, ended)
	if text == "" || c.Width < width || c.Height < height {
		return nil
	}
	var labels []string
	for _, b := range bindings {
		if b.Name != "" {
			labels = append(labels, "<"+b.Name+">", strings.Fields(b.Label + " ?")[0])
		}
	}
	title := fmt.Sprintf("%s %d/%d", g.Title, step, steps)
	if on != Dialog {
		title += " (x hides this)"
	}
	return c.Note(c.Theme.Accent, title+": "+strings.NewReplacer(labels...).Replace(text), 1, lines)
}
