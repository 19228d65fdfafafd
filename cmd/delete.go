package cmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/job"
)

// newDelete deletes backups or restores one after the other, each with a plan and a question of its own.
func newDelete(c *cli, kind job.Kind, long, example string) *cobra.Command {
	w := writing{c: c}
	var foreign bool
	word := kind.Word()
	cmd := &cobra.Command{
		Use:   "delete NAME...",
		Short: fmt.Sprintf("Delete %ss, after a look at what goes with them", word),
		Long: long + writes + `
Of several names each has a plan and a question of its own; the first that is not
deleted ends the command.

Exit codes: those of 'veltui finalize', 5 also if Velero has not deleted it.`,
		Example: example,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || slices.Contains(args, "") {
				return usagef("expected the names of %ss\nSee '%s --help'.", word, cmd.CommandPath())
			} else if len(args) > 1 && w.output != "text" {
				return usagef("-o %s: expected one name, got %q", w.output, args)
			}
			return nil
		},
		PreRunE: func(cmd *cobra.Command, _ []string) error { return w.checkFlags(cmd) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.mayAskFor(); err != nil {
				return err
			}
			namespace, err := w.veleroNamespace(cmd.Context())
			for i := 0; err == nil && i < len(args); i++ {
				err = w.propose(cmd.Context(), action.DeletionOf(kind), action.Named(string(kind), args[i]), namespace,
					func(r *action.Request) { r.FromAnotherCluster = foreign }, nil)
			}
			return err
		},
	}
	w.addTo(cmd, "none, or server: have the API server check the request, and delete nothing", "none", "server")
	if kind == job.Backup {
		cmd.Flags().BoolVar(&foreign, "from-another-cluster", false, "Delete it although this cluster may not have made it")
	}
	cmd.ValidArgsFunction = c.completeValues(func(ctx context.Context, _ string) []string { return c.jobNames(ctx, kind) })
	return cmd
}
