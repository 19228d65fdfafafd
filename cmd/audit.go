package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/say/document"
)

func newAudit(c *cli) *cobra.Command {
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
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && !strings.Contains(args[0], "/") {
				return usagef("expected at most one KIND/NAME, got %q\nSee '%s --help'.", args, cmd.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := c.auditDir()
			if err != nil {
				return err
			}
			var about string
			if len(args) == 1 {
				about = args[0]
			}
			return c.printAudit(dir, about, output)
		},
	}
	addOutput(cmd, &output, "table", "json", "yaml")
	return cmd
}

func (c *cli) printAudit(dir, about, output string) error {
	d := document.NewAudit()
	damage, err := action.ReadLog(dir, d.Add)
	if err != nil {
		return err
	}
	if about != "" {
		kind, name, _ := strings.Cut(about, "/")
		kind = strings.TrimSuffix(strings.ToLower(kind), "s")
		d.Items = slices.DeleteFunc(d.Items, func(i document.Audited) bool { return strings.ToLower(i.Kind) != kind || i.Name != name })
	}
	if damage.Begins {
		fmt.Fprintln(c.streams.ErrOut, "Older entries were left out: the log is very long.")
	}
	if damage.Lines > 0 {
		fmt.Fprintf(c.streams.ErrOut, "%s of the log cannot be read.\n", human.Count(damage.Lines, "line"))
	}
	return c.print(output, d, func(l *lines) {
		if len(d.Items) == 0 {
			l.add("veltui has changed nothing from this machine.")
			return
		}
		t := c.newTable()
		l.err = t.print(auditColumns, mapSlice(d.Items, func(i document.Audited) []string {
			return mapSlice([]string{human.Clock(i.Time.Time, c.clock()), i.Context, i.By, i.Action, strings.ToLower(i.Kind) + "/" + i.Name,
				cmp.Or(string(i.Sent), "unknown"), cmp.Or(string(i.State), "not completed"), i.Reason}, sanitize.String)
		}))
	})
}

var auditColumns = []column{{title: "TIME"}, {title: "CONTEXT", rank: 2}, {title: "BY", rank: 1}, {title: "ACTION"}, {title: "WHAT"},
	{title: "SENT"}, {title: "STATE"}, {title: "REASON", rank: 3, least: 20}}
