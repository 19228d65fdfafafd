package cmd

import (
	"fmt"
	"io"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/say/document"
)

func (c *stdio) printEstimate(e collector.Estimate, output string) error {
	if output == "json" || output == "yaml" {
		p := documentPrinter{w: c.streams.Out, yaml: output == "yaml"}
		return p.document(document.NewEstimate(e))
	}
	if err := printCounts(c.streams.Out, e, output == "wide"); err != nil {
		return err
	}
	for _, assumption := range e.Assumptions {
		fmt.Fprintln(c.streams.ErrOut, "note:", sanitize.String(assumption))
	}
	return nil
}

// printCounts writes the table, with the total below it.
func printCounts(out io.Writer, e collector.Estimate, wide bool) error {
	w := printers.GetNewTabWriter(out)
	if len(e.Resources) > 0 {
		if _, err := fmt.Fprintln(w, "RESOURCE\tITEMS\tNAMESPACES"); err != nil {
			return err
		}
	}
	for _, r := range e.Resources {
		most := 3
		if wide {
			most = -1
		}
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\n", sanitize.String(r.Resource), human.Number(r.Items), dash(sanitize.Whole(human.Largest(r.Namespaces, most)))); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "Total: %s\n", human.Count(e.Total, "item"))
	return err
}
