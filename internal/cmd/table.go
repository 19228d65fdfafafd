package cmd

import (
	"cmp"
	"slices"

	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/internal/view/resource"
	"github.com/veltui/veltui/internal/view/text"
)

// listColumn is a column that `get` prints.
type listColumn = view.RowColumn[listRow]

type tablePrinter struct {
	text.Table
	wide       bool
	sortColumn string         // the column of --sort-by, which is never dropped
	thingKind  *resource.Kind // nil for jobs
}

func (p *tablePrinter) chosenColumns(places rowPlaces) []listColumn {
	columns := slices.DeleteFunc(sortableColumns(p.thingKind), func(c listColumn) bool {
		switch c.Name {
		case contextFlag:
			return !places.contexts
		case namespaceColumn.Name:
			return !places.namespaces
		}
		return c.Wide && !p.wide
	})
	for i, layout := range text.ChooseColumns(viewColumns(columns), p.wide, p.sortColumn) {
		columns[i].Column = layout
	}
	return columns
}

func viewColumns(columns []listColumn) []view.Column {
	return mapSlice(columns, func(c listColumn) view.Column { return c.Column })
}

func (p *tablePrinter) printRows(rows []listRow, _ []document.Malformed, places rowPlaces) error {
	columns := p.chosenColumns(places)
	return p.Print(viewColumns(columns), mapSlice(rows, func(r listRow) []string {
		return mapSlice(columns, func(c listColumn) string { return c.Cell(r).PrintedText })
	}))
}

func orDash(s string) string { return cmp.Or(s, "-") }
