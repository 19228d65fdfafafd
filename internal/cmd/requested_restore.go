package cmd

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

type requestedRestore struct {
	cli         *cli
	file        string
	fileRestore *veleroapi.Restore // the content of file: standard input can be read only once
	onlyItems   []restorespec.Item
	flags       restorespec.Flags
}

func (a *requestedRestore) addRestoreFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&a.file, "file", "f", "", "File with the Restore, YAML or JSON ('-' for standard input)")
	completeFiles(cmd, "file")
	a.flags.AddAll(flags)
	a.cli.addStoreCAFlag(cmd, flags)
}

// buildSpec returns the spec of the requested restore.
func (a *requestedRestore) buildSpec() (veleroapi.RestoreSpec, error) {
	d, err := a.buildDraft()
	return d.Restore.Spec, err
}

// buildDraft returns the requested restore, restricted to the selected items if there are any.
func (a *requestedRestore) buildDraft() (d restorespec.Draft, err error) {
	if a.file != "" && a.fileRestore == nil {
		if a.fileRestore, err = a.readRestoreFile(); err != nil {
			return d, err
		}
		a.onlyItems = append(a.onlyItems, restorespec.SelectedItems(a.fileRestore)...)
	}
	restore := &d.Restore
	if a.fileRestore != nil {
		a.fileRestore.DeepCopyInto(restore)
	}
	if err := a.flags.ApplyTo(restore); err != nil {
		return d, exitError{ExitUsage, err}
	}
	switch said := a.flags.Draft().Restore.Spec; {
	case said.BackupName != "" && said.ScheduleName != "":
		return d, usageErrorf("--from-backup and --from-schedule: give one or the other")
	case said.ScheduleName != "":
		restore.Spec.BackupName = "" // set by the file
	}
	if restore.Spec.BackupName != "" {
		restore.Spec.ScheduleName = "" // the restore's backup was already chosen by Velero
	}
	if len(a.onlyItems) == 0 {
		return d, nil
	}
	said := a.flags.Draft()
	for _, field := range said.GivenFlags() {
		if field.IsFilter && !slices.Contains([]string{"namespace-mappings", "restore-volumes"}, field.Flag) {
			return d, usageErrorf("--%s: objects that are selected one by one have no other filter", field.Flag)
		}
	}
	return d, d.SelectItems(a.onlyItems)
}

// resolveJob returns the one backup or restore that the command is about; for a schedule, the backup that Velero
// would use.
func (a *requestedRestore) resolveJob(
	ctx context.Context,
	args []string,
	spec veleroapi.RestoreSpec,
) (selection, error) {
	given := args
	if len(args) == 0 {
		switch {
		case spec.ScheduleName != "":
			name, err := a.findNewestBackup(ctx, spec)
			if err != nil {
				return selection{}, err
			}
			args = []string{"backup/" + name}
		case spec.BackupName != "":
			args = []string{"backup/" + spec.BackupName}
		case a.file == "":
			return selection{}, usageErrorf("nothing to look at: give backup/NAME, restore/NAME or -f FILE")
		default:
			return selection{}, usageErrorf("%s does not name a backup: add backup/NAME", a.file)
		}
	}
	selected, err := parseSelection(args, false)
	if err != nil {
		return selection{}, err
	}
	if len(selected.names) != 1 {
		return selection{}, usageErrorf("expected one backup/NAME or restore/NAME, got %q", args)
	}
	if selected.names[0].kind == job.Restore && !reflect.DeepEqual(spec, veleroapi.RestoreSpec{}) {
		return selection{}, usageErrorf(
			"restore/%s has its own filters; to try other filters, give backup/NAME",
			selected.names[0].name,
		)
	}
	if d := a.flags.Draft().Restore.Spec; len(given) > 0 &&
		(d.BackupName != "" && d.BackupName != selected.names[0].name || d.ScheduleName != "") {
		return selection{}, usageErrorf("%q beside --from-backup or --from-schedule: give one or the other", given[0])
	}
	return selected, nil
}

func (a *requestedRestore) findNewestBackup(ctx context.Context, spec veleroapi.RestoreSpec) (string, error) {
	query := watch.Query{Kinds: []string{watch.Backups}, SkipVerdicts: true}
	snap, err := a.cli.readSnapshot(ctx, query, a.cli.openLogger(ctx))
	if err != nil {
		return "", err
	}
	d := a.flags.Draft()
	d.Restore.Spec = spec
	name, refused := cluster.FindSourceBackup(d, &assess.Assessment{Snapshot: snap})
	if name == "" {
		return "", errors.New(strings.Join(refused, " "))
	}
	return name, nil
}

// openStore opens what commands about a restore read from, with the index cache.
func (a *requestedRestore) openStore(namespace string) (*cluster.Cluster, *cluster.BackupStore, error) {
	conn, err := a.cli.connector.openConnection()
	if err != nil {
		return nil, nil, err
	}
	cluster := a.cli.newCluster()
	cluster.Indexes = a.cli.files.openIndexCache(conn)
	store, err := cluster.NewBackupStore(namespace)
	return cluster, store, err
}

// readBackupIndex reads the contents of a backup. Like [collector.Read] it may return both an index and an error.
func (a *requestedRestore) readBackupIndex(
	ctx context.Context,
	e *cluster.BackupStore,
	name string,
) (*collector.Index, error) {
	backup, err := e.FetchBackup(ctx, name)
	if err != nil {
		return nil, err
	}
	m, stop := a.cli.stdio.startByteMeter("downloading " + backup.Name)
	defer stop()
	return e.ReadIndex(ctx, backup, m.setProgress)
}
