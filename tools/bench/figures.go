package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// sample are the values of one figure.
type sample []float64

func (s sample) median() float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// percentile is the value that p of a hundred do not exceed.
func (s sample) percentile(p int) float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min((len(sorted)*p+99)/100, len(sorted))-1]
}

// medianText is the median, with the lowest and the highest value where there are several.
func (s sample) medianText(format string) string {
	if len(s) == 0 {
		return ""
	}
	number := func(v float64) string { return fmt.Sprintf(format, v) }
	low, high := number(slices.Min(s)), number(slices.Max(s))
	if low == high {
		return number(s.median())
	}
	return fmt.Sprintf("%s (%s to %s)", number(s.median()), low, high)
}

// table is everything that was measured: a row a figure, a column a program.
type table struct {
	columns []string
	rows    []*figure
	notes   []string
}

// figure is one row.
type figure struct {
	name, target, format string
	values               map[string]sample
	// placeholders stand in the place of values.
	placeholders map[string]string
}

// findRow is the figure of that name, made with its target if there is none yet.
func (t *table) findRow(name, target, format string) *figure {
	for _, f := range t.rows {
		if f.name == name {
			return f
		}
	}
	f := &figure{
		name:         name,
		target:       target,
		format:       format,
		values:       map[string]sample{},
		placeholders: map[string]string{},
	}
	t.rows = append(t.rows, f)
	return f
}

func (f *figure) addValues(column string, values ...float64) {
	f.values[column] = append(f.values[column], values...)
}

func (t *table) addNote(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(t.notes, note) {
		t.notes = append(t.notes, note)
	}
}

// writeReport prints the table, and above it on what it was measured.
func (t *table) writeReport(w io.Writer, b *bench) error {
	var s strings.Builder
	fmt.Fprintf(
		&s,
		"Measured on %s, on %s. Load at the start %s, at the end %s; it took %s.\n\n",
		b.started.Format("2006-01-02 15:04 MST"),
		machineText(),
		b.startLoad,
		readFirstLine("/proc/loadavg"),
		time.Since(b.started).Round(time.Second),
	)
	line := func(cells ...string) { fmt.Fprintf(&s, "| %s |\n", strings.Join(cells, " | ")) }
	line(append([]string{"", "target"}, t.columns...)...)
	line(slices.Repeat([]string{"---"}, len(t.columns)+2)...)
	for _, f := range t.rows {
		cells := []string{f.name, f.target}
		for _, column := range t.columns {
			text := f.values[column].medianText(f.format)
			if text == "" {
				text = f.placeholders[column]
			}
			cells = append(cells, text)
		}
		line(cells...)
	}
	s.WriteString("\n")
	for _, note := range t.notes {
		fmt.Fprintf(&s, "- %s\n", note)
	}
	_, err := io.WriteString(w, s.String())
	return err
}
