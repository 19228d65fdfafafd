package cmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/internal/view/text"
	"github.com/veltui/veltui/watch"
)

type rowPrinter struct {
	dataNeeds
	// printRows prints rows, and in a list also the malformed resources.
	printRows func(rows []listRow, malformed []document.Malformed, places rowPlaces) error
	table     *tablePrinter
}

// dataNeeds are the parts of an answer that cost extra requests or time.
type dataNeeds struct {
	volumes, verdicts bool // also for ended jobs
	waitForAll        bool // nothing is written until all targets have answered
}

func (p dataNeeds) mergeNeeds(q dataNeeds) dataNeeds {
	return dataNeeds{p.volumes || q.volumes, p.verdicts || q.verdicts, p.waitForAll || q.waitForAll}
}

func (f getFlags) newRowPrinter(c *cli, selected selection, order *sortOrder) (rowPrinter, error) {
	w := c.stdio.streams.Out
	switch f.output {
	case "table", "wide":
		p := &tablePrinter{Table: c.stdio.newTable(), wide: f.output == "wide", thingKind: selected.thingKind}
		p.NoHeaders, p.Grows = f.noHeaders, f.follow
		if order != nil && order.column != nil {
			p.sortColumn = order.column.Name
		}
		// In a pipe, columns show their whole text, and a context that answers late could widen them.
		return rowPrinter{dataNeeds{volumes: p.wide, verdicts: true, waitForAll: p.Width <= 0}, p.printRows, p}, nil
	case "json", "yaml":
		return selected.documentPrinter(
			f.follow,
			func(doc any) error { return printDocument(w, f.output, doc, f.follow) },
		), nil
	case "name":
		return rowPrinter{printRows: func(rows []listRow, _ []document.Malformed, _ rowPlaces) error {
			for _, r := range rows {
				if _, err := fmt.Fprintf(w, "%s.velero.io/%s\n", r.ref.kind.Noun(), r.ref.name); err != nil {
					return err
				}
			}
			return nil
		}}, nil
	}
	path, err := printers.NewJSONPathPrinter(strings.TrimPrefix(f.output, "jsonpath="))
	if err != nil {
		return rowPrinter{}, usageErrorf("reading the jsonpath: %w", err)
	}
	path.AllowMissingKeys(true) // ended jobs have no verdict, waiting ones no items
	return selected.documentPrinter(false, func(doc any) error { return printJSONPath(w, path, doc) }), nil
}

// documentPrinter prints what -o json prints: each row separately if each is set, or else the single named object, or
// the list.
func (s selection) documentPrinter(each bool, print func(doc any) error) rowPrinter {
	return rowPrinter{
		dataNeeds: dataNeeds{true, true, true},
		printRows: func(rows []listRow, malformed []document.Malformed, places rowPlaces) error {
			if one := len(s.names) == 1 && places.isEmpty(); !each && !one {
				return print(s.listDocument(rows, malformed))
			}
			for _, r := range rows {
				if err := print(r.newDocument(true)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func (s selection) listDocument(rows []listRow, malformed []document.Malformed) document.List[document.Placed] {
	kind := "Job"
	if s.thingKind != nil {
		kind = string(s.thingKind.Kind)
	}
	list := document.NewList[document.Placed](kind)
	list.Items = append(list.Items, mapSlice(rows, func(r listRow) document.Placed { return r.newDocument(false) })...)
	list.Malformed = malformed
	return list
}

// printDocument writes a document. One of several is written as a single line, or as a separate YAML document.
func printDocument(w io.Writer, output string, doc any, line bool) error {
	indent := "  "
	if line {
		indent = ""
	}
	data, err := document.Encode(doc, indent)
	if err != nil {
		return err
	}
	if output == "yaml" {
		data = sanitize.YAMLFromJSON(data)
	}
	if output == "yaml" && line {
		data = append([]byte("---\n"), data...)
	}
	_, err = w.Write(data)
	return err
}

// printJSONPath applies a JSONPath template to a document.
func printJSONPath(w io.Writer, path *printers.JSONPathPrinter, doc any) error {
	data, err := document.Encode(doc, "")
	if err != nil {
		return err
	}
	var object map[string]any
	if err := utiljson.Unmarshal(data, &object); err != nil { // keeps integers as integers
		return err
	}
	if err := path.PrintObj(&unstructured.Unstructured{Object: object}, w); err != nil {
		return err
	}
	_, err = fmt.Fprintln(w)
	return err
}

const maxMalformedWarnings = 10

// malformedWarnings reports each malformed resource once: it may be the reason why nothing moves.
type malformedWarnings struct {
	warned map[types.UID]bool
	prefix string // printed before each warning, such as "context east: "
}

func (w *malformedWarnings) printNewWarnings(c *stdio, snap *watch.Snapshot) {
	if w.warned == nil {
		w.warned = map[types.UID]bool{}
	}
	fresh := 0
	for _, m := range snap.Malformed {
		if w.warned[m.UID] {
			continue
		}
		w.warned[m.UID] = true
		if fresh++; fresh <= maxMalformedWarnings {
			fmt.Fprintf(
				c.streams.ErrOut,
				"warning: %s\n",
				sanitize.String(fmt.Sprintf("%s%s: %s; %s", w.prefix, m.Ref(), m.Fields[0], decode.ServerWarning)),
			)
		}
	}
	if fresh > maxMalformedWarnings {
		fmt.Fprintf(
			c.streams.ErrOut,
			"warning: %s%d more resources are malformed; -o json lists them\n",
			w.prefix,
			fresh-maxMalformedWarnings,
		)
	}
}

// printOutput writes an answer as text or, with json or yaml, as a document.
func (c *stdio) printOutput(output string, data any, printText func(*linePrinter)) error {
	if output == "json" || output == "yaml" {
		return printDocument(c.streams.Out, output, data, false)
	}
	l := newLinePrinter(c.streams.Out)
	printText(l)
	return l.Err()
}

// linePrinter prints lines, with the parts about a job that several commands share.
type linePrinter struct{ text.Printer }

func newLinePrinter(w io.Writer) *linePrinter { return &linePrinter{text.Printer{Writer: w}} }

// addEvidence prints each list of facts under its title.
func (l *linePrinter) addEvidence(facts []diagnosis.Fact, now time.Time) {
	for _, e := range view.NewFactLists(facts) {
		l.Section(e.Section(), now)
	}
}
