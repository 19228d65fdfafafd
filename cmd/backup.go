package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/restore/restorespec"
)

func newBackup(c *cli) *cobra.Command {
	cmd := group("backup", "Make backups", "veltui backup create --from-schedule nightly")
	w := writing{c: c}
	var from string
	create := &cobra.Command{
		Use:   "create [NAME] --from-schedule SCHEDULE",
		Short: "Make a backup now, as a schedule would",
		Long: `Make a backup now, from the template of a schedule, as 'velero backup create
--from-schedule' does. Without NAME it is called after the schedule and the time. The
plan shows what is ahead of it.` + writes + `

Exit codes: those of 'veltui finalize', 5 also if Velero has not begun it; with --wait
those of 'veltui wait'.`,
		Example: `  # Show evidence and plan, then ask
  veltui backup create --from-schedule nightly

  # In a script: make it, and wait until it has ended
  veltui backup create before-upgrade --from-schedule nightly --yes --wait`,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" {
				return usagef("--from-schedule: name the schedule whose template the backup takes")
			}
			return w.checkFlags(cmd)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := chosenName(args, restorespec.Name(from, c.clock().UTC()))
			if err != nil {
				return err
			}
			w.unnamed = len(args) == 0
			if err := w.mayAskFor(); err != nil {
				return err
			}
			namespace, err := w.veleroNamespace(cmd.Context())
			if err != nil {
				return err
			}
			return w.propose(cmd.Context(), action.Create, action.BackupOf(from, name), namespace, func(*action.Request) {}, nil)
		},
	}
	w.addTo(create, "none, or server: have the API server check the backup, and create nothing", "none", "server")
	create.Flags().StringVar(&from, "from-schedule", "", "Schedule whose template the backup takes")
	w.addWait(create)
	completeFlag(create, "from-schedule", c.completeValues(func(ctx context.Context, _ string) []string { return c.jobNames(ctx, job.Kind("Schedule")) }))
	cmd.AddCommand(create)
	return cmd
}
