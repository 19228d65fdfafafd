package cmd

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/view/text"
	"github.com/veltui/veltui/ui/draw"
)

// randomCells are the cells of one row of the table of get, each with single spaces at most.
func randomCells(r *rand.Rand, columns []listColumn) []string {
	pick := func(texts ...string) string { return texts[r.IntN(len(texts))] }
	cells := make([]string, len(columns))
	for i, c := range columns {
		switch c.Title() {
		case "CONTEXT":
			cells[i] = pick("east", "arn:aws:eks:eu-central-1:123456789012:cluster/production", "本番クラスタ")
		case "KIND":
			cells[i] = pick("backup", "restore")
		case "NAME", "FROM":
			cells[i] = pick(
				"a",
				"shop",
				"everything-to-dr-20261123072919",
				strings.Repeat("long-", 20)+"name",
				"バックアップ-二〇二六年十一月",
				"cafe\u0301-"+strings.Repeat("e\u0301", 30),
				"🚀🚀🚀-ship",
			)
		case "STAGE", "PHASE":
			cells[i] = pick("Items", "Completed", "PartiallyFailed", "FinalizingPartiallyFailed,deleting", "未知")
		case "VERDICT":
			cells[i] = pick(
				"",
				"",
				"progressing",
				"stuck",
				"malformed: status.completionTimestamp 2026-01-01t00:00:00z",
			)
		case "ETA":
			cells[i] = pick("", "12s", "1 to 3m")
		default:
			cells[i] = pick("", "", "7", "37%", "887/2359", "101.5 MiB/s")
		}
	}
	if r.IntN(2) == 0 {
		cells[slices.IndexFunc(columns, func(c listColumn) bool { return c.Title() == "ERRORS" })] = ""
	}
	return cells
}

// columnStarts are the cells at which the columns of a line begin: behind a gap.
func columnStarts(line string) (starts []int) {
	blanks := 2
	for i, r := range line {
		if r == ' ' {
			blanks++
			continue
		}
		if blanks >= 2 {
			starts = append(starts, ansi.StringWidth(line[:i]))
		}
		blanks = 0
	}
	return starts
}

// TestTableIsAligned prints random tables at all widths.
func TestTableIsAligned(t *testing.T) {
	for seed := range uint64(40) {
		for width := 0; width <= 200; width++ {
			if width > 0 && width < 20 {
				continue
			}
			r := rand.New(rand.NewPCG(seed, uint64(width)))
			var out strings.Builder
			several, wide := r.IntN(3) == 0, r.IntN(4) == 0
			p := &tablePrinter{
				Table: text.Table{
					Writer:    &out,
					Width:     width,
					Ellipsis:  draw.UnicodeGlyphs.Ellipsis,
					NoHeaders: r.IntN(4) == 0,
					Grows:     r.IntN(3) == 0,
				},
				wide: wide,
			}
			columns := p.chosenColumns(rowPlaces{contexts: several, namespaces: several})
			var rows [][]string
			least := 0 // what the columns that stay need at least
			for range 1 + r.IntN(12) {
				rows = append(rows, randomCells(r, columns))
			}
			for i, c := range columns {
				if c.Priority > 0 {
					continue
				}
				need := 0
				for _, cells := range rows {
					need = max(need, ansi.StringWidth(cells[i]), 1)
				}
				if !p.NoHeaders {
					need = max(need, len(c.Title()))
				}
				if p.Grows {
					need = max(need, c.TypicalWidth, len(c.Title()))
				}
				if c.MinWidth > 0 {
					need = min(need, c.MinWidth)
				}
				least += need + 2
			}
			least -= 2
			if err := p.Print(viewColumns(columns), rows); err != nil {
				t.Fatal(err)
			}
			if p.Grows && width > 0 { // what comes later keeps to the columns
				for range 5 {
					if err := p.Print(viewColumns(columns), [][]string{randomCells(r, columns)}); err != nil {
						t.Fatal(err)
					}
				}
			}
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			for _, line := range lines {
				if got, want := columnStarts(line), columnStarts(lines[0]); !slices.Equal(got, want) {
					t.Fatalf("seed %d, width %d: columns at %v and %v:\n%s", seed, width, want, got, out.String())
				}
				if width > 0 && width >= least && ansi.StringWidth(line) > width {
					t.Fatalf(
						"seed %d, width %d: a line of %d, though %d are enough:\n%s",
						seed,
						width,
						ansi.StringWidth(line),
						least,
						out.String(),
					)
				}
			}
			if got := len(columnStarts(lines[0])); (width == 0 || wide) && got != len(columns) {
				t.Fatalf("seed %d, width %d: %d of %d columns:\n%s", seed, width, got, len(columns), out.String())
			}
			if width == 0 && strings.Contains(out.String(), "…") {
				t.Fatalf("seed %d: cut without a terminal:\n%s", seed, out.String())
			}
		}
	}
}

// TestTableDropsColumns drops those that say nothing and then the least important
// ones, and shortens names before it drops more.
func TestTableDropsColumns(t *testing.T) {
	titles := strings.Split("KIND NAME STAGE PROGRESS DONE ETA ERRORS WARNINGS VERDICT AGE", " ")
	full := [][]string{
		{
			"restore",
			"everything-to-dr-20261123072919",
			"Items",
			"37%",
			"887/2359",
			"12s",
			"1",
			"2",
			"progressing",
			"20s",
		},
		{"backup", "shop", "PartiallyFailed", "100%", "51/51", "", "43", "", "stuck", "1m39s"},
	}
	quiet := [][]string{
		{"backup", "everything-to-dr-20261123072919", "Completed", "100%", "51/51", "", "", "2", "", "20s"},
	}
	for _, c := range []struct {
		rows   [][]string
		width  int
		grows  bool
		sorted string
		want   string
	}{
		{full, 0, false, "", "KIND NAME STAGE PROGRESS DONE ETA ERRORS WARNINGS VERDICT AGE"},
		{full, 200, false, "", "KIND NAME STAGE PROGRESS DONE ETA ERRORS WARNINGS VERDICT AGE"},
		{full, 120, false, "", "KIND NAME STAGE PROGRESS DONE ETA ERRORS WARNINGS VERDICT AGE"},
		{full, 100, false, "", "KIND NAME STAGE PROGRESS DONE ETA VERDICT"},
		{full, 90, false, "", "KIND NAME STAGE PROGRESS ETA VERDICT"},
		{full, 90, false, "age", "KIND NAME STAGE PROGRESS VERDICT AGE"},
		{full, 80, false, "", "KIND NAME STAGE PROGRESS VERDICT"},
		{full, 60, false, "", "NAME STAGE VERDICT"},
		{full, 20, false, "", "NAME STAGE VERDICT"},
		{quiet, 92, false, "", "KIND NAME STAGE PROGRESS DONE WARNINGS VERDICT AGE"},
		{quiet, 92, true, "", "KIND NAME STAGE PROGRESS ETA VERDICT"},
	} {
		var out strings.Builder
		p := &tablePrinter{
			Table:      text.Table{Writer: &out, Width: c.width, Ellipsis: draw.UnicodeGlyphs.Ellipsis, Grows: c.grows},
			sortColumn: c.sorted,
		}
		rows := make([][]string, len(c.rows))
		for i := range rows {
			rows[i] = slices.Clone(c.rows[i])
		}
		if err := p.Print(viewColumns(p.chosenColumns(rowPlaces{})), rows); err != nil {
			t.Fatal(err)
		}
		title, _, _ := strings.Cut(out.String(), "\n")
		got := strings.Join(
			slices.DeleteFunc(
				slices.Clone(titles),
				func(s string) bool { return !slices.Contains(strings.Fields(title), s) },
			),
			" ",
		)
		if got != c.want {
			t.Errorf("width %d: %s, want %s\n%s", c.width, got, c.want, out.String())
		}
	}
}

// TestTableOfChangesOnATerminal keeps rows under the titles that were printed.
func TestTableOfChangesOnATerminal(t *testing.T) {
	var out strings.Builder
	p := &tablePrinter{Table: text.Table{Writer: &out, Width: 100, Ellipsis: draw.UnicodeGlyphs.Ellipsis, Grows: true}}
	jobs := []*job.Job{
		aged("shop", 5, 0),
		aged("everything-to-dr-20261123072919", 6, 12),
		aged(strings.Repeat("long-", 20)+"name", 7, 2),
	}
	a := assessed(jobs...)
	if err := p.printRows(rowsOf("", a, jobs[0]), nil, rowPlaces{}); err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs[1:] {
		if err := p.printRows(rowsOf("", a, j), nil, rowPlaces{}); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 || strings.Count(out.String(), "KIND") != 1 {
		t.Fatalf("%s", out.String())
	}
	for _, line := range lines {
		if fmt.Sprint(columnStarts(line)) != fmt.Sprint(columnStarts(lines[0])) || ansi.StringWidth(line) > 100 {
			t.Errorf("not aligned:\n%s", out.String())
		}
	}
}
