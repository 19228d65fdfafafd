package view

import (
	"slices"
	"strings"
)

// Column is a column of a table: on the screen, in the output of commands, or in both.
type Column struct {
	// Name is in lower case. A user chooses the column and sorts by it with this name; in capitals it is the title in
	// the output of commands.
	Name string
	// Screen is the column's layout on the screen; without a width the column is not on the screen.
	Screen ScreenColumn
	// ScreenOnly is true for a column that no command prints.
	ScreenOnly bool

	// Priority orders the columns that a narrow screen and commands on a narrow terminal drop, the highest first; 0 is
	// never dropped.
	Priority int

	Wide         bool // printed with -o wide only
	MinWidth     int  // the smallest width on a narrow terminal, in cells; 0 for a text that is never cut
	CutMiddle    bool // a long text is cut in the middle
	Uncut        bool // lists print a text of any length
	Right        bool // commands align the column at the right
	TypicalWidth int  // the width of a long text, reserved in a table that grows
}

// RowColumn is a column of lists of R, with its cell for a row.
type RowColumn[R any] struct {
	Column
	Cell func(R) Cell
	Sort JobOrder // how the screen sorts jobs by the column
}

// Title returns the column's title in the output of commands.
func (c Column) Title() string { return strings.ToUpper(c.Name) }

// ScreenLayout returns the column's layout on the screen, with its priority.
func (c Column) ScreenLayout() ScreenColumn {
	layout := c.Screen
	if !layout.Kept {
		layout.Priority = c.Priority
	}
	return layout
}

// ScreenColumns returns the layouts of the columns that are on the screen.
func ScreenColumns(columns []Column) (shown []ScreenColumn) {
	for _, c := range columns {
		if c.Screen.Width > 0 {
			shown = append(shown, c.ScreenLayout())
		}
	}
	return shown
}

// ScreenTexts returns the texts of the cells on the screen, for [ScreenColumns].
func ScreenTexts(columns []Column, cells []Cell) (texts []Text) {
	for i, c := range columns {
		if c.Screen.Width > 0 {
			texts = append(texts, cells[i].Text)
		}
	}
	return texts
}

// ScreenColumn is the layout of a column on the screen.
type ScreenColumn struct {
	Title string
	Width int
	Grow  int // share of the spare width, up to Limit
	Limit int
	// Priority orders the columns that a narrow screen drops, the highest first; 0 is never dropped. A [Column] has a
	// priority of its own.
	Priority int
	Kept     bool // the screen never drops the column of a [Column] with a priority
	Right    bool
	// CutMiddle cuts a long text in the middle.
	CutMiddle bool
}

// FitColumns returns the width of each column, 0 for dropped ones, with a gap of one cell between columns.
func FitColumns(columns []ScreenColumn, width int) []int {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = c.Width
	}
	for spareWidth(widths, width) < 0 {
		last := -1
		for i, c := range columns {
			if widths[i] > 0 && c.Priority > 0 && (last < 0 || c.Priority >= columns[last].Priority) {
				last = i
			}
		}
		if last < 0 {
			shrinkWidest(widths, -spareWidth(widths, width))
			return widths
		}
		widths[last] = 0
	}
	growColumns(columns, widths, spareWidth(widths, width))
	return widths
}

// spareWidth returns the width that the columns leave unused.
func spareWidth(widths []int, width int) int {
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
