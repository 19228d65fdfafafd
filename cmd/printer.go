package cmd

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/sanitize"
	"github.com/veltui/veltui/watch"
)

// printer writes jobs in one of the output formats.
type printer interface {
	// list writes all selected jobs.
	list(jobs []*job.Job, a *assess.Assessment) error
	// change writes one job after it changed.
	change(c watch.Change, a *assess.Assessment) error
}

func newPrinter(output string, follow bool, w io.Writer) (printer, error) {
	switch {
	case output == "table" || output == "":
		return &tablePrinter{w: w}, nil
	case output == "wide":
		return &tablePrinter{w: w, wide: true}, nil
	case output == "json" || output == "yaml":
		return &documentPrinter{w: w, yaml: output == "yaml", follow: follow}, nil
	case output == "name":
		return namePrinter{w}, nil
	case strings.HasPrefix(output, "jsonpath="):
		p, err := printers.NewJSONPathPrinter(strings.TrimPrefix(output, "jsonpath="))
		if err != nil {
			return nil, usagef("reading the jsonpath: %w", err)
		}
		p.AllowMissingKeys(true) // ended jobs have no verdict, waiting ones no items
		return pathPrinter{w, p}, nil
	}
	return nil, usagef("-o %s: expected table, wide, json, yaml, name or jsonpath=TEMPLATE", output)
}

func listOf(jobs []*job.Job, a *assess.Assessment) jobList {
	list := jobList{APIVersion: apiVersion, Kind: "JobList", Items: make([]jobItem, 0, len(jobs))}
	for _, j := range jobs {
		list.Items = append(list.Items, itemOf(a.Of(j), a.Volumes(j)))
	}
	list.Malformed = malformedResources(a.Environment.Malformed)
	return list
}

func changedItem(c watch.Change, a *assess.Assessment) jobItem {
	item := itemOf(a.Of(c.Job), a.Volumes(c.Job))
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

func (p *documentPrinter) list(jobs []*job.Job, a *assess.Assessment) error {
	list := listOf(jobs, a)
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

func (p *documentPrinter) change(c watch.Change, a *assess.Assessment) error {
	return p.document(changedItem(c, a))
}

func (p *documentPrinter) document(v any) error {
	indent := "  "
	if p.follow && !p.yaml {
		indent = ""
	}
	data, err := documentJSON(v, indent)
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

func (p namePrinter) list(jobs []*job.Job, a *assess.Assessment) error {
	for _, j := range jobs {
		if err := p.change(watch.Change{Job: j}, a); err != nil {
			return err
		}
	}
	return nil
}

func (p namePrinter) change(c watch.Change, _ *assess.Assessment) error {
	_, err := fmt.Fprintf(p.w, "%s.velero.io/%s\n", strings.ToLower(string(c.Job.Kind)), c.Job.Name)
	return err
}

// pathPrinter writes what a JSONPath template picks out of the JobList, or of
// one job for each change.
type pathPrinter struct {
	w    io.Writer
	path *printers.JSONPathPrinter
}

func (p pathPrinter) list(jobs []*job.Job, a *assess.Assessment) error {
	return p.print(listOf(jobs, a))
}

func (p pathPrinter) change(c watch.Change, a *assess.Assessment) error {
	list := listOf(nil, a)
	list.Items = append(list.Items, changedItem(c, a))
	return p.print(list)
}

func (p pathPrinter) print(list jobList) error {
	data, err := documentJSON(list, "")
	if err != nil {
		return err
	}
	var object map[string]any
	if err := utiljson.Unmarshal(data, &object); err != nil { // keeps whole numbers whole
		return err
	}
	if err := p.path.PrintObj(&unstructured.Unstructured{Object: object}, p.w); err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.w)
	return err
}
