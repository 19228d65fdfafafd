package cmd

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/job"
)

// newDeleteCommand returns the command that deletes backups or restores one after the other, each with its own plan and
// question.
func newDeleteCommand(c *cli, kind job.Kind, long, example string) *cobra.Command {
	w := writeCommand{cli: c}
	word := kind.Noun()
	cmd := &cobra.Command{
		Use:   "delete NAME...",
		Short: fmt.Sprintf("Delete %ss, after a look at what goes with them", word),
		Long: long + confirmationHelp + `
Of several names each has a plan and a question of its own; the first that is not
deleted ends the command.

Exit codes: those of 'veltui finalize', 5 also if Velero has not deleted it.`,
		Example: example,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || slices.Contains(args, "") {
				return usageErrorf("expected the names of %ss\nSee '%s --help'.", word, cmd.CommandPath())
			} else if len(args) > 1 && w.output != "text" {
				return usageErrorf("-o %s: expected one name, got %q", w.output, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if kind == job.Backup {
				w.request.MarkedBackups = args
			}
			named := func(name string) *unstructured.Unstructured { return action.NewNamedObject(string(kind), name) }
			return w.changeObjects(cmd.Context(), action.DeletionKind(kind), mapSlice(args, named)...)
		},
	}
	w.addWriteFlags(cmd, "none, or server: have the API server check the request, and delete nothing", "none", "server")
	if kind == job.Backup {
		cmd.Flags().
			BoolVar(&w.request.AllowOtherCluster, "from-another-cluster", false, "Delete it although this cluster may "+
				"not have made it")
		cmd.Flags().
			BoolVar(&w.request.AllowLastCopy, "last-copy", false, "Delete it although no other completed backup is a copy")
	}
	cmd.ValidArgsFunction = c.completeJobNames(kind)
	return cmd
}
