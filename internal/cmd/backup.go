package cmd

import (
	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/restorespec"
)

func newBackupCommand(c *cli) *cobra.Command {
	cmd := newCommandGroup("backup", "Make and delete backups", "veltui backup create --from-schedule nightly")
	w := writeCommand{cli: c}
	var from string
	create := &cobra.Command{
		Use:   "create [NAME] --from-schedule SCHEDULE",
		Short: "Make a backup now, as a schedule would",
		Long: `Make a backup now, from the template of a schedule, as 'velero backup create
--from-schedule' does. Without NAME it is called after the schedule and the time. The
plan shows what is ahead of it.` + confirmationHelp + `

Exit codes: those of 'veltui finalize', 5 also if Velero has not begun it; with --wait
those of 'veltui wait'.`,
		Example: `  # Show evidence and plan, then ask
  veltui backup create --from-schedule nightly

  # In a script: make it, and wait until it has ended
  veltui backup create before-upgrade --from-schedule nightly --yes --wait`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if from == "" {
				return usageErrorf("--from-schedule: name the schedule whose template the backup takes")
			}
			name, err := chosenName(args, restorespec.DefaultName(from, c.process.clock().UTC()))
			if err != nil {
				return err
			}
			w.request.NameGenerated = len(args) == 0
			return w.changeObjects(cmd.Context(), action.Create, action.NewScheduledBackup(from, name))
		},
	}
	w.addWriteFlags(create, "none, or server: have the API server check the backup, and create nothing", "none", "server")
	create.Flags().StringVar(&from, "from-schedule", "", "Schedule whose template the backup takes")
	w.addWaitFlag(create)
	completeFlag(create, "from-schedule", c.completeJobNames("Schedule"))
	cmd.AddCommand(
		create,
		newDeleteCommand(c, job.Backup, `Delete backups, as 'velero backup delete' does: Velero deletes what is stored of
them, their snapshots and their restores, and veltui follows it. The plan shows who
reads the backup, and which others are copies. veltui deletes no backup that this
cluster may not have made: where clusters share a bucket, it may be another's only
copy. --from-another-cluster deletes it all the same.

Nor does it delete the last completed backup of a schedule or, of a backup that no
schedule made, the last that holds its namespaces, unless --last-copy is given; --yes
does not suffice. No copy is a backup that is named beside it or whose deletion is
requested, that has expired, whose storage location is not available, or that another
cluster made.`, `  # Show evidence and plan, then ask
  veltui backup delete nightly-20260101010000

  # In a script, with a reason
  veltui backup delete before-upgrade --yes --reason "INC-4711"`),
	)
	return cmd
}
