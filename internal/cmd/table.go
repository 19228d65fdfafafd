package cmd

import (
	"cmp"
	"slices"

	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/internal/view/resource"
	"github.com/veltui/veltui/internal/view/text"
)

// listColumn is a column that `get` prints, with its cell for a row.
type listColumn struct {
	view.Column
	cell func(listRow) view.Cell
}

type tablePrinter struct {
	text.Table
	wide       bool
	sortColumn string         // the column of --sort-by, which is never dropped
	thingKind  *resource.Kind // nil for jobs
}

func (p *tablePrinter) chosenColumns(several bool) []listColumn {
	all := sortableColumns(p.thingKind)
	if !several {
		all = all[1:]
	}
	columns := slices.DeleteFunc(all, func(c listColumn) bool { return c.Wide && !p.wide })
	for i, layout := range text.ChooseColumns(viewColumns(columns), p.wide, p.sortColumn) {
		columns[i].Column = layout
	}
	return columns
}

func viewColumns(columns []listColumn) []view.Column {
	return mapSlice(columns, func(c listColumn) view.Column { return c.Column })
}

func (p *tablePrinter) printRows(rows []listRow, _ []document.Malformed, several bool) error {
	columns := p.chosenColumns(several)
	return p.Print(viewColumns(columns), mapSlice(rows, func(r listRow) []string {
		return mapSlice(columns, func(c listColumn) string { return c.cell(r).PrintedText })
	}))
}

func orDash(s string) string { return cmp.Or(s, "-") }
