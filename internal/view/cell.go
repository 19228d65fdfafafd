package view

import (
	"strconv"
	"time"

	"github.com/veltui/veltui/internal/human"
)

// Cell is what a column says of a row.
type Cell struct {
	Text           // on the screen
	Printed string // in what a command prints, empty for what is not known
	Order   any    // a number or a text for --sort-by, nil for what is not known
}

// TextCell returns a cell that is sorted by its text.
func TextCell(tone Tone, text string) Cell {
	return Cell{Text: Toned(tone, text), Printed: text, Order: text}
}

// StateCell returns a cell of a state that is shown and printed alike.
func StateCell(state Text) Cell { return Cell{Text: state, Printed: state.Text, Order: state.Text} }

// NumberCell returns a cell of a number, as the screen shows it.
func NumberCell(tone Tone, n int, shown string) Cell {
	return Cell{Text: Toned(tone, shown), Printed: strconv.Itoa(n), Order: float64(n)}
}

// AgeCell returns how long ago a moment was. The screen shows never if there is none.
func AgeCell(tone Tone, t, now time.Time, never string) Cell {
	if t.IsZero() {
		return Cell{Text: Toned(tone, never)}
	}
	age := human.Age(t, now)
	return Cell{Text: Toned(tone, age), Printed: age, Order: now.Sub(t).Seconds()}
}

// DueCell returns the time until a moment. The screen shows unknown if there is none.
func DueCell(tone Tone, t, now time.Time, unknown string) Cell {
	if t.IsZero() {
		return Cell{Text: Toned(tone, unknown)}
	}
	left := Until(t, now, "")
	return Cell{Text: Toned(tone, left), Printed: left, Order: t.Sub(now).Seconds()}
}

// Until is the time until a moment, unknown if there is none.
func Until(t, now time.Time, unknown string) string {
	switch {
	case t.IsZero():
		return unknown
	case !t.After(now):
		return "now"
	}
	return human.Duration(t.Sub(now))
}

// NonZero is a count, empty for none.
func NonZero(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// countCell is a count that is shown and printed only if there is any.
func countCell(tone Tone, n int) Cell {
	return Cell{Text: Toned(tone, NonZero(n)), Printed: NonZero(n), Order: float64(n)}
}

func numberOrNil(known bool, n float64) any {
	if !known {
		return nil
	}
	return n
}
