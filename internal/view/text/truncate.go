package text

import "github.com/charmbracelet/x/ansi"

// Truncate shortens a text to at most width cells, and marks the cut with the ellipsis.
func Truncate(s string, width int, ellipsis string) string {
	if width <= 0 {
		return ""
	}
	return ansi.Truncate(s, width, ellipsis)
}

// TruncateMiddle cuts a text in its middle, because the names of clusters and scheduled jobs differ at both ends.
func TruncateMiddle(s string, width int, ellipsis string) string {
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
	// A wide rune at the cut is removed as a whole.
	end := ansi.TruncateLeft(s, whole-tail, "")
	if ansi.StringWidth(end) > tail {
		end = ansi.TruncateLeft(s, whole-tail+1, "")
	}
	return ansi.Truncate(s, head, "") + ellipsis + end
}
