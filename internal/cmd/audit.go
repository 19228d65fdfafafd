package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
)

func newAuditCommand(c *cli) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "audit [KIND/NAME]",
		Short: "Print what veltui has changed from this machine",
		Long: `Print what veltui has changed from this machine, newest last: when, who, what, whether
it landed, how it ended and why. It reads the log in veltui's state folder and contacts
no cluster. -o json also has each request as it was sent.`,
		Example: `  # All of it
  veltui audit

  # What was done to one restore
  veltui audit restore/crm-old

  # Every request, for a review
  veltui audit -o json | jq '.items[] | {by, action, name, sent, requests}'`,
		Args: allowOneArg("KIND/NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			return c.printAudit(strings.Join(args, ""), output)
		},
	}
	addOutputFlag(cmd, &output, "table", "json", "yaml")
	return cmd
}

// loadAudit reads the changes that veltui made from this machine; about is a KIND/NAME, empty for all.
func (c *localFiles) loadAudit(about string) (*document.Audit, error) {
	dir, err := c.auditDir()
	if err != nil {
		return nil, err
	}
	return document.ReadAudit(dir, about)
}

func (c *cli) printAudit(about, output string) error {
	d, err := c.files.loadAudit(about)
	if err != nil {
		return err
	}
	for _, note := range d.Notes {
		fmt.Fprintln(c.stdio.streams.ErrOut, note)
	}
	return c.stdio.printOutput(output, d, func(l *linePrinter) {
		if len(d.Items) > 0 {
			t := c.stdio.newTable()
			l.RecordError(t.Print(
				auditColumns,
				mapSlice(d.Items, func(i document.Audited) []string { return i.Cells(c.process.clock()) }),
			))
		}
	})
}

var auditColumns = []view.Column{
	{Name: "time"},
	{Name: "context", Priority: 2},
	{Name: "by", Priority: 1},
	{Name: "action"},
	{Name: "what"},
	{Name: "sent"},
	{Name: "state"},
	{Name: "reason", Priority: 3, MinWidth: 20},
}
