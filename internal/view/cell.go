package view

import (
	"strconv"
	"time"

	"github.com/veltui/veltui/internal/human"
)

// Cell is the content of a column in a row.
type Cell struct {
	Text               // on the screen
	PrintedText string // for commands, empty if unknown
	SortKey     any    // a number or a text for --sort-by, nil if unknown
}

// TextCell returns a cell that is sorted by its text.
func TextCell(tone Tone, text string) Cell {
	return Cell{Text: Toned(tone, text), PrintedText: text, SortKey: text}
}

// StateCell returns a cell of a state, which is shown and printed alike.
func StateCell(state Text) Cell {
	return Cell{Text: state, PrintedText: state.Text, SortKey: state.Text}
}

// NumberCell returns a cell of a number; the screen shows the text shown.
func NumberCell(tone Tone, n int, shown string) Cell {
	return Cell{Text: Toned(tone, shown), PrintedText: strconv.Itoa(n), SortKey: float64(n)}
}

// AgeCell returns the time since a moment. If there is no moment, the screen shows never.
func AgeCell(tone Tone, t, now time.Time, never string) Cell {
	if t.IsZero() {
		return Cell{Text: Toned(tone, never)}
	}
	age := human.Age(t, now)
	return Cell{Text: Toned(tone, age), PrintedText: age, SortKey: now.Sub(t).Seconds()}
}

// UntilCell returns the time until a moment. If there is no moment, the screen shows unknown.
func UntilCell(tone Tone, t, now time.Time, unknown string) Cell {
	if t.IsZero() {
		return Cell{Text: Toned(tone, unknown)}
	}
	left := UntilText(t, now, "")
	return Cell{Text: Toned(tone, left), PrintedText: left, SortKey: t.Sub(now).Seconds()}
}

// UntilText returns the time until a moment, or unknown if there is no moment.
func UntilText(t, now time.Time, unknown string) string {
	switch {
	case t.IsZero():
		return unknown
	case !t.After(now):
		return "now"
	}
	return human.Duration(t.Sub(now))
}

// NonZeroText formats a count; it is empty for 0.
func NonZeroText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// nonZeroCell returns a cell of a count that is shown and printed only if it is not 0.
func nonZeroCell(tone Tone, n int) Cell {
	return Cell{Text: Toned(tone, NonZeroText(n)), PrintedText: NonZeroText(n), SortKey: float64(n)}
}

func numberOrNil(known bool, n float64) any {
	if !known {
		return nil
	}
	return n
}
