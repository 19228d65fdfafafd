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

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

type printer struct {
	parts
	// list prints rows, and in a list the malformed resources. The context is shown if several were asked for.
	list  func(rows []row, malformed []document.Malformed, several bool) error
	table *tablePrinter
}

// parts are those of an answer that cost requests of their own, or time.
type parts struct {
	volumes, verdicts bool // also of ended jobs
	whole             bool // nothing is written until all contexts have answered
}

func (p parts) and(q parts) parts {
	return parts{p.volumes || q.volumes, p.verdicts || q.verdicts, p.whole || q.whole}
}

func (f getFlags) printer(c *cli, selected selection, order *sortBy) (printer, error) {
	w := c.streams.Out
	switch f.output {
	case "table", "wide":
		p := &tablePrinter{table: c.newTable(), wide: f.output == "wide", things: selected.things}
		p.noHeaders, p.grows = f.noHeaders, f.follow
		if order != nil && order.column != nil {
			p.sorted = order.column.Name
		}
		// In a pipe a column has all its text: a context that answers later would widen it.
		return printer{parts{volumes: p.wide, verdicts: true, whole: p.width <= 0}, p.list, p}, nil
	case "json", "yaml":
		return selected.documents(
			f.follow,
			func(doc any) error { return printDocument(w, f.output, doc, f.follow) },
		), nil
	case "name":
		return printer{list: func(rows []row, _ []document.Malformed, _ bool) error {
			for _, r := range rows {
				if _, err := fmt.Fprintf(w, "%s.velero.io/%s\n", r.ref.kind.Word(), r.ref.name); err != nil {
					return err
				}
			}
			return nil
		}}, nil
	}
	path, err := printers.NewJSONPathPrinter(strings.TrimPrefix(f.output, "jsonpath="))
	if err != nil {
		return printer{}, usagef("reading the jsonpath: %w", err)
	}
	path.AllowMissingKeys(true) // ended jobs have no verdict, waiting ones no items
	return selected.documents(false, func(doc any) error { return printPath(w, path, doc) }), nil
}

// documents prints what -o json has: with each, every row by itself, else the one that was named, or the list.
func (s selection) documents(each bool, print func(doc any) error) printer {
	return printer{
		parts: parts{true, true, true},
		list: func(rows []row, malformed []document.Malformed, several bool) error {
			if one := len(s.names) == 1 && !several; !each && !one {
				return print(s.list(rows, malformed))
			}
			for _, r := range rows {
				if err := print(r.document(true)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func (s selection) list(rows []row, malformed []document.Malformed) document.List[document.Placed] {
	kind := "Job"
	if s.things != nil {
		kind = string(s.things.Kind)
	}
	list := document.NewList[document.Placed](kind)
	list.Items = append(list.Items, mapSlice(rows, func(r row) document.Placed { return r.document(false) })...)
	list.Malformed = malformed
	return list
}

// printDocument writes a document; one of several as a line, or as a document of its own in YAML.
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
		data = sanitize.YAML(data)
	}
	if output == "yaml" && line {
		data = append([]byte("---\n"), data...)
	}
	_, err = w.Write(data)
	return err
}

// printPath applies a JSONPath template to a document.
func printPath(w io.Writer, path *printers.JSONPathPrinter, doc any) error {
	data, err := document.Encode(doc, "")
	if err != nil {
		return err
	}
	var object map[string]any
	if err := utiljson.Unmarshal(data, &object); err != nil { // keeps whole numbers whole
		return err
	}
	if err := path.PrintObj(&unstructured.Unstructured{Object: object}, w); err != nil {
		return err
	}
	_, err = fmt.Fprintln(w)
	return err
}

const maxMalformedWarnings = 10

// malformedWarnings reports each malformed resource once: it may be why nothing moves.
type malformedWarnings struct {
	warned map[types.UID]bool
	where  string // before each warning, as "context east: "
}

func (w *malformedWarnings) print(c *cli, snap *watch.Snapshot) {
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
				sanitize.String(fmt.Sprintf("%s%s: %s; %s", w.where, m.Ref(), m.Fields[0], decode.ServerWarning)),
			)
		}
	}
	if fresh > maxMalformedWarnings {
		fmt.Fprintf(
			c.streams.ErrOut,
			"warning: %s%d more resources are malformed; -o json lists them\n",
			w.where,
			fresh-maxMalformedWarnings,
		)
	}
}

// print writes an answer as text or, with json or yaml, as a document.
func (c *stdio) print(output string, data any, text func(*lines)) error {
	if output == "json" || output == "yaml" {
		return printDocument(c.streams.Out, output, data, false)
	}
	l := lines{w: c.streams.Out}
	text(&l)
	return l.err
}

type lines struct {
	w   io.Writer
	err error
}

// add writes one line; a leading line feed makes an empty one before it.
func (l *lines) add(format string, args ...any) {
	text, gap := strings.CutPrefix(fmt.Sprintf(format, args...), "\n")
	if l.err == nil && gap {
		_, l.err = fmt.Fprintln(l.w)
	}
	if l.err == nil {
		_, l.err = fmt.Fprintln(l.w, sanitize.String(text))
	}
}

// clause adds a text behind a lead, if there is one.
func (l *lines) clause(lead, text string) {
	if text != "" {
		l.add("%s%s", lead, text)
	}
}

func (l *lines) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	l.add("\n%s", title)
	for _, item := range items {
		l.add("  - %s", item)
	}
}

func (l *lines) facts(facts []diagnosis.Fact, now time.Time) {
	var known, other []string
	for _, f := range facts {
		text := fmt.Sprintf("%s (%s%s)", f.Text, f.Source, factAge(f.At, now))
		if f.Holds {
			known = append(known, text)
		} else {
			other = append(other, text)
		}
	}
	l.list("facts:", known)
	l.list("unknown or contradicting:", other)
}

func factAge(at, now time.Time) string {
	switch {
	case at.IsZero():
		return ""
	case now.Sub(at) < time.Second:
		return ", now"
	}
	return ", " + human.Ago(at, now)
}

var actionFlags = map[action.Name]string{action.Wake: "--wake", action.CancelVolumes: "--cancel-volumes"}

// consequences are the titles of what a plan will do, will not do, and of what comes then.
var consequences = [...]string{"it will", "it will not", "afterwards"}

// remedies prints all plans but that of the action that was asked for.
func (l *lines) remedies(plans []action.Plan, asked action.Name) {
	title := "\noption: %s"
	for i := range plans {
		w := &plans[i]
		if w.Action == asked {
			continue
		}
		l.add(title, w.Title)
		title = "\nanother option: %s"
		l.add("  %s", w.Why)
		for i, items := range [][]string{w.Will, w.WillNot, w.Then} {
			for _, item := range items {
				l.add("  - %s: %s", consequences[i], item)
			}
		}
		if w.Refusal != "" {
			l.add("  %s. %s", w.Refusal, w.Advice)
		} else {
			l.command("  ", w.Veltui("finalize", w.Kind.Word()+"/"+w.Name, actionFlags[w.Action]))
			l.add("  or:")
		}
		for _, c := range w.Commands {
			l.command("  ", c)
		}
	}
}

// command writes a command that can be copied whole: it is never shortened.
func (l *lines) command(indent, command string) {
	if l.err == nil {
		_, l.err = fmt.Fprintln(l.w, indent+sanitize.Whole(command))
	}
}
