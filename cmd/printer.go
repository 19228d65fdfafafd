package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/say/document"
	"github.com/veltui/veltui/watch"
)

// clusterJobs are the selected jobs of one cluster, or why they are unknown.
type clusterJobs struct {
	// context is the kubeconfig's, empty where none is in use.
	context  string
	jobs     []*job.Job
	assessed *assess.Assessment
	err      error
}

// printer writes jobs in one of the output formats.
type printer interface {
	// list writes all selected jobs, and names their context in each format if
	// several contexts were asked for.
	list(clusters []clusterJobs, several bool) error
	// change writes one job of a context after it changed.
	change(c watch.Change, a *assess.Assessment, context string) error
	// needs is which parts of an answer it writes.
	needs() parts
}

// parts are those of an answer that cost requests of their own, or time.
type parts struct {
	// volumes are also those of jobs that have ended, and verdicts need what they
	// stand on.
	volumes, verdicts bool
	// whole is true if nothing is written until all contexts have answered.
	whole bool
}

var allParts = parts{true, true, true}

func (p parts) and(q parts) parts {
	return parts{p.volumes || q.volumes, p.verdicts || q.verdicts, p.whole || q.whole}
}

// printer makes the one that -o asks for.
func (f getFlags) printer(c *cli, selected selection, order *sortBy) (printer, error) {
	w := c.streams.Out
	switch f.output {
	case "table", "", "wide":
		p := &tablePrinter{table: c.newTable(), wide: f.output == "wide"}
		p.noHeaders, p.grows = f.noHeaders, f.follow
		if order != nil && order.column != nil {
			p.sorted = order.column.title
		}
		return p, nil
	case "json", "yaml":
		return &documentPrinter{w: w, yaml: f.output == "yaml", follow: f.follow}, nil
	case "name":
		return namePrinter{w}, nil
	}
	template, ok := strings.CutPrefix(f.output, "jsonpath=")
	if !ok {
		return nil, wrongOutput(f.output, "table", "wide", "json", "yaml", "name", "jsonpath=TEMPLATE")
	}
	path, err := printers.NewJSONPathPrinter(template)
	if err != nil {
		return nil, usagef("reading the jsonpath: %w", err)
	}
	path.AllowMissingKeys(true) // ended jobs have no verdict, waiting ones no items
	return &pathPrinter{w: w, path: path, one: len(selected.names) == 1}, nil
}

func listOf(clusters ...clusterJobs) document.JobList {
	list := document.NewJobList()
	for i, c := range clusters {
		for _, j := range c.jobs {
			list.Items = append(list.Items, changedItem(watch.Change{Job: j}, c.assessed, c.context))
		}
		if slices.ContainsFunc(clusters[:i], func(before clusterJobs) bool { return before.assessed == c.assessed }) {
			continue // sorted, a cluster's jobs come in several parts
		}
		list.Malformed = append(list.Malformed, document.NewMalformedResources(c.assessed.Environment.Malformed, c.context)...)
	}
	return list
}

func changedItem(c watch.Change, a *assess.Assessment, context string) document.Job {
	item := document.NewJob(a.Of(c.Job), a.Volumes(c.Job))
	item.Context = context
	item.Deleted = c.Deleted
	return item
}

// documentPrinter writes JSON or YAML: one JobList, or when it follows one
// document a job and change (JSON on a line of its own).
type documentPrinter struct {
	w      io.Writer
	yaml   bool
	follow bool
}

func (*documentPrinter) needs() parts { return allParts }

func (p *documentPrinter) list(clusters []clusterJobs, _ bool) error {
	list := listOf(clusters...)
	if !p.follow {
		return p.document(list)
	}
	for _, item := range list.Items {
		if err := p.document(item); err != nil {
			return err
		}
	}
	return nil
}

func (p *documentPrinter) change(c watch.Change, a *assess.Assessment, context string) error {
	return p.document(changedItem(c, a, context))
}

func (p *documentPrinter) document(v any) error {
	indent := "  "
	if p.follow && !p.yaml {
		indent = ""
	}
	data, err := document.Encode(v, indent)
	if err != nil {
		return err
	}
	if p.yaml {
		data = sanitize.YAML(data)
		if p.follow {
			data = append([]byte("---\n"), data...)
		}
	}
	_, err = p.w.Write(data)
	return err
}

// namePrinter writes kind/name as kubectl does.
type namePrinter struct{ w io.Writer }

func (namePrinter) needs() parts { return parts{} }

func (p namePrinter) list(clusters []clusterJobs, _ bool) error {
	for _, c := range clusters {
		for _, j := range c.jobs {
			if err := p.change(watch.Change{Job: j}, c.assessed, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p namePrinter) change(c watch.Change, _ *assess.Assessment, _ string) error {
	_, err := fmt.Fprintf(p.w, "%s.velero.io/%s\n", strings.ToLower(string(c.Job.Kind)), c.Job.Name)
	return err
}

// pathPrinter writes what a JSONPath template picks out of the JobList, or of
// one job for each change.
type pathPrinter struct {
	w    io.Writer
	path *printers.JSONPathPrinter
	// one is true if one job was asked for by name: a template finds its fields at
	// the top too, as kubectl's do. items stays the list.
	one bool
}

func (*pathPrinter) needs() parts { return allParts }

func (p *pathPrinter) list(clusters []clusterJobs, _ bool) error { return p.print(listOf(clusters...)) }

func (p *pathPrinter) change(c watch.Change, a *assess.Assessment, context string) error {
	list := listOf(clusterJobs{context: context, assessed: a})
	list.Items = append(list.Items, changedItem(c, a, context))
	return p.print(list)
}

func (p *pathPrinter) print(list document.JobList) error {
	data, err := document.Encode(list, "")
	if err != nil {
		return err
	}
	var object map[string]any
	if err := utiljson.Unmarshal(data, &object); err != nil { // keeps whole numbers whole
		return err
	}
	if items, _ := object["items"].([]any); p.one && len(items) == 1 {
		for name, value := range items[0].(map[string]any) {
			if name != "items" {
				object[name] = value
			}
		}
	}
	if err := p.path.PrintObj(&unstructured.Unstructured{Object: object}, p.w); err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.w)
	return err
}
