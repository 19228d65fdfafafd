package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/say/document"
	"github.com/veltui/veltui/velero/decode"
	"github.com/veltui/veltui/watch"
)

type clusterJobs struct {
	context  string // the kubeconfig's, empty where none is in use
	jobs     []*job.Job
	assessed *assess.Assessment
	deleted  bool // it was there until now
	err      error
}

type printer struct {
	parts
	list  func(clusters []clusterJobs, several bool) error // the context is shown if several were asked for
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
	w, all := c.streams.Out, parts{true, true, true}
	switch f.output {
	case "table", "wide":
		p := &tablePrinter{table: c.newTable(), wide: f.output == "wide"}
		p.noHeaders, p.grows = f.noHeaders, f.follow
		if order != nil && order.column != nil {
			p.sorted = order.column.title
		}
		// In a pipe a column has all its text: a context that answers later would widen it.
		return printer{parts{volumes: p.wide, verdicts: true, whole: p.width <= 0}, p.list, p}, nil
	case "json", "yaml":
		return printer{parts: all, list: func(clusters []clusterJobs, _ bool) error { return f.printDocuments(w, listOf(clusters...)) }}, nil
	case "name":
		return printer{list: func(clusters []clusterJobs, _ bool) error { return printNames(w, clusters) }}, nil
	}
	path, err := printers.NewJSONPathPrinter(strings.TrimPrefix(f.output, "jsonpath="))
	if err != nil {
		return printer{}, usagef("reading the jsonpath: %w", err)
	}
	path.AllowMissingKeys(true) // ended jobs have no verdict, waiting ones no items
	return printer{parts: all, list: func(clusters []clusterJobs, _ bool) error {
		return printPath(w, path, listOf(clusters...), len(selected.names) == 1)
	}}, nil
}

func listOf(clusters ...clusterJobs) document.JobList {
	list := document.NewJobList()
	for i, c := range clusters {
		for _, j := range c.jobs {
			item := document.NewJob(c.assessed.Of(j), c.assessed.Volumes(j))
			item.Context, item.Deleted = c.context, c.deleted
			list.Items = append(list.Items, item)
		}
		if slices.ContainsFunc(clusters[:i], func(before clusterJobs) bool { return before.assessed == c.assessed }) {
			continue // sorted, a cluster's jobs come in several parts
		}
		list.Malformed = append(list.Malformed, document.NewMalformedResources(c.assessed.Environment.Malformed, c.context)...)
	}
	return list
}

// printDocuments writes a list or, with -w, a document for each job: JSON on a line of its own.
func (f getFlags) printDocuments(w io.Writer, list document.JobList) error {
	if !f.follow {
		return printDocument(w, f.output, list)
	}
	for _, item := range list.Items {
		data, err := document.Encode(item, "")
		if err != nil {
			return err
		}
		if f.output == "yaml" {
			data = append([]byte("---\n"), sanitize.YAML(data)...)
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return nil
}

func printDocument(w io.Writer, output string, v any) error {
	data, err := document.Encode(v, "  ")
	if err != nil {
		return err
	}
	if output == "yaml" {
		data = sanitize.YAML(data)
	}
	_, err = w.Write(data)
	return err
}

func printNames(w io.Writer, clusters []clusterJobs) error {
	for _, c := range clusters {
		for _, j := range c.jobs {
			if _, err := fmt.Fprintf(w, "%s.velero.io/%s\n", j.Kind.Word(), j.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// printPath applies a JSONPath template. The fields of one named job are at the top too, as with kubectl.
func printPath(w io.Writer, path *printers.JSONPathPrinter, list document.JobList, one bool) error {
	data, err := document.Encode(list, "")
	if err != nil {
		return err
	}
	var object map[string]any
	if err := utiljson.Unmarshal(data, &object); err != nil { // keeps whole numbers whole
		return err
	}
	if items, _ := object["items"].([]any); one && len(items) == 1 {
		for name, value := range items[0].(map[string]any) {
			if name != "items" {
				object[name] = value
			}
		}
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
			fmt.Fprintf(c.streams.ErrOut, "warning: %s\n", sanitize.String(fmt.Sprintf("%s%s: %s; %s", w.where, m.Ref(), m.Fields[0], decode.ServerWarning)))
		}
	}
	if fresh > maxMalformedWarnings {
		fmt.Fprintf(c.streams.ErrOut, "warning: %s%d more resources are malformed; -o json lists them\n", w.where, fresh-maxMalformedWarnings)
	}
}

// print writes an answer as text or, with json or yaml, as a document.
func (c *stdio) print(output string, data any, text func(*lines)) error {
	if output == "json" || output == "yaml" {
		return printDocument(c.streams.Out, output, data)
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
