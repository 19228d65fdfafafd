package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/say/document"
	"github.com/veltui/veltui/velero/decode"
	"github.com/veltui/veltui/watch"
)

// clusterJobs are selected jobs of one cluster, or why they are unknown.
type clusterJobs struct {
	context  string // the kubeconfig's, empty where none is in use
	jobs     []*job.Job
	assessed *assess.Assessment
	deleted  bool // it was there until now
	err      error
}

type printer struct {
	parts
	// list writes selected or changed jobs, with their context if several were asked for.
	list  func(clusters []clusterJobs, several bool) error
	table *tablePrinter
}

// parts are those of an answer that cost requests of their own, or time.
type parts struct {
	// volumes include those of ended jobs.
	volumes, verdicts bool
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
