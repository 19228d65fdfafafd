package view

import (
	"slices"
	"strings"
)

// Column is a column of a table: on the screen, in what a command prints, or in both.
type Column struct {
	// Name is in lower case. A user chooses the column and sorts by it with this name; in capitals it is the title
	// in what a command prints.
	Name string
	// Screen is how the screen lays the column out; without a width it is not on the screen.
	Screen ScreenColumn
	// ScreenOnly is true for a column that no command prints.
	ScreenOnly bool

	Wide   bool // printed with -o wide only
	Rank   int  // orders the columns that a narrow terminal drops, the highest first; 0 stays
	Least  int  // cells that suffice on a narrow terminal; 0 for a text that is never cut
	Middle bool // a name, cut in the middle
	Usual  int  // the width of a long text, kept free in a table that grows
}

// Title returns the column's title in what a command prints.
func (c Column) Title() string { return strings.ToUpper(c.Name) }

// ScreenColumn is how the screen lays a column out.
type ScreenColumn struct {
	Title    string
	Width    int
	Grow     int // share of what is left over, up to limit
	Limit    int
	Priority int // orders the columns that a narrow screen drops, the highest first; 0 is never dropped
	Right    bool
}

// FitColumns gives each column its width, 0 for dropped ones, with one cell between.
func FitColumns(columns []ScreenColumn, width int) []int {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = c.Width
	}
	for spare(widths, width) < 0 {
		last := -1
		for i, c := range columns {
			if widths[i] > 0 && c.Priority > 0 && (last < 0 || c.Priority >= columns[last].Priority) {
				last = i
			}
		}
		if last < 0 {
			shrinkWidest(widths, -spare(widths, width))
			return widths
		}
		widths[last] = 0
	}
	growColumns(columns, widths, spare(widths, width))
	return widths
}

// spare is what columns leave of a width.
func spare(widths []int, width int) int {
	left := width + 1
	for _, w := range widths {
		if w > 0 {
			left -= w + 1
		}
	}
	return left
}

func shrinkWidest(widths []int, over int) {
	for ; over > 0; over-- {
		widest := slices.Index(widths, slices.Max(widths))
		if widths[widest] <= 1 {
			return
		}
		widths[widest]--
	}
}

func growColumns(columns []ScreenColumn, widths []int, spare int) {
	for grown := true; spare > 0 && grown; {
		grown = false
		for i, c := range columns {
			for range c.Grow {
				if spare > 0 && widths[i] > 0 && (c.Limit == 0 || widths[i] < c.Limit) {
					widths[i]++
					spare--
					grown = true
				}
			}
		}
	}
}
