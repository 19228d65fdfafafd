package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/etcd"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/internal/view/resource"
	"github.com/veltui/veltui/watch"
)

const maxEtcdLogs = 20

func newEtcdCommand(c *cli) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "etcd [NAME...]",
		Short: "Print OpenShift's own etcd backups and their schedules, with verdicts",
		Long: `Print OpenShift's own etcd backups and their schedules, with verdicts.

The backups are EtcdBackups of operator.openshift.io, the schedules Backups of
config.openshift.io. Clusters have them only with the feature gate
AutomatedEtcdBackup. With names, etcd prints every fact behind the verdicts.

OpenShift calls a backup completed even if its program logged that it failed.
If you may read pods/log in namespace openshift-etcd, etcd reads the end of the
newest 20 logs for its verdicts.

etcd changes nothing. These objects belong to OpenShift's etcd operator.`,
		Example: `  # All backups and schedules
  veltui etcd

  # Every fact about one backup
  veltui etcd nightly-29418420

  # Names of the backups that hold no data, or that somebody has to look at
  veltui etcd -o json | jq -r '.items[] | select(.trouble) | .name'`,
		RunE: func(cmd *cobra.Command, names []string) error { return c.runEtcd(cmd.Context(), names, output) },
	}
	addOutputFlag(cmd, &output, "table", "wide", "json", "yaml", "name")
	return cmd
}

func (c *cli) runEtcd(ctx context.Context, names []string, output string) error {
	cluster, err := c.connector.readEtcd(ctx)
	switch {
	case errors.Is(err, watch.ErrNoEtcdBackups):
		return fmt.Errorf("%w. They are OpenShift's, behind the feature gate AutomatedEtcdBackup", err)
	case err != nil:
		return err
	}
	for _, u := range cluster.Unchecked {
		if u.Resource == etcd.ResourceBackups {
			return fmt.Errorf("you may not list %s: %s", u.Resource, u.Reason)
		}
		fmt.Fprintf(c.stdio.streams.ErrOut, "warning: %s could not be read: %s\n", u.Resource, u.Reason)
	}
	list := judgeEtcdBackups(cluster, names, c.process.clock())
	if err := list.printEtcdBackups(c.stdio, output, len(names) > 0); err != nil {
		return err
	}
	if len(names) == 0 && len(list.backups)+len(list.schedules) == 0 {
		fmt.Fprintln(c.stdio.streams.ErrOut, "No etcd backups and no schedules found.")
	}
	return list.checkFound(names)
}

// readEtcd reads everything, and the logs of the newest completed backups until one is forbidden. It gives up after
// --request-timeout.
func (c *connector) readEtcd(ctx context.Context) (*etcd.Cluster, error) {
	conn, err := c.openConnection()
	if err != nil {
		return nil, err
	}
	reader, err := watch.NewEtcdBackupReader(conn.Config)
	if err != nil {
		return nil, err
	}
	limit := cmp.Or(conn.Config.Timeout, firstSnapshotTimeout)
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		limit,
		fmt.Errorf("gave up after %s (--request-timeout changes how long it tries)", limit),
	)
	defer cancel()
	cluster, err := reader.Read(ctx)
	switch {
	case errors.Is(err, watch.ErrNoEtcdBackups):
		return nil, err
	case err != nil:
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	cluster.Access = conn.Request.ClusterAccess()
	logs := map[string]etcd.BackupLog{}
	for i := range cluster.Backups {
		pod := cluster.FindUnreadLogPod(&cluster.Backups[i])
		if pod == "" {
			continue
		}
		if len(logs) == maxEtcdLogs {
			break
		}
		logs[pod] = reader.ReadLog(ctx, pod)
		if logs[pod].IsForbidden {
			break
		}
	}
	return cluster.WithLogs(logs), nil
}

type judgedEtcdBackups struct {
	cluster   *etcd.Cluster
	backups   []etcd.JudgedBackup
	schedules []etcd.JudgedSchedule
	now       time.Time
}

func judgeEtcdBackups(cluster *etcd.Cluster, names []string, now time.Time) judgedEtcdBackups {
	wanted := func(name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	l := judgedEtcdBackups{cluster: cluster, now: now}
	for i := range cluster.Schedules {
		if s := &cluster.Schedules[i]; wanted(s.Name) {
			l.schedules = append(l.schedules, cluster.JudgeSchedule(s, now))
		}
	}
	for i := range cluster.Backups {
		if b := &cluster.Backups[i]; wanted(b.Name) {
			l.backups = append(l.backups, cluster.JudgeBackup(b, now))
		}
	}
	return l
}

func (l judgedEtcdBackups) checkFound(names []string) error {
	var lost []string
	for _, name := range names {
		if !slices.ContainsFunc(l.backups, func(b etcd.JudgedBackup) bool { return b.Name == name }) &&
			!slices.ContainsFunc(l.schedules, func(s etcd.JudgedSchedule) bool { return s.Name == name }) {
			lost = append(lost, fmt.Sprintf("%q", name))
		}
	}
	if lost == nil {
		return nil
	}
	return fmt.Errorf("not found: no EtcdBackup and no schedule is named %s", strings.Join(lost, ", "))
}

// printEtcdBackups prints the list, or every fact about its things if the user named them.
func (l judgedEtcdBackups) printEtcdBackups(out *stdio, output string, named bool) error {
	return out.printOutput(
		output,
		document.NewEtcdBackupList(l.backups, l.schedules, l.cluster.Unchecked, l.now),
		func(lines *linePrinter) {
			switch {
			case output == "name":
				for _, s := range l.schedules {
					lines.Line("backup.config.openshift.io/%s", s.Name)
				}
				for _, b := range l.backups {
					lines.Line("etcdbackup.operator.openshift.io/%s", b.Name)
				}
			case output == "table" && named:
				lines.addEtcdDetails(l)
			default:
				lines.RecordError(l.printTables(out, output == "wide"))
			}
		},
	)
}

func (l judgedEtcdBackups) printTables(out *stdio, wide bool) error {
	schedules := mapSlice(l.schedules, func(s etcd.JudgedSchedule) []view.Cell {
		return resource.EtcdScheduleCells(s, l.now)
	})
	backups := mapSlice(l.backups, func(b etcd.JudgedBackup) []view.Cell {
		return resource.EtcdBackupCells(b, l.now)
	})
	t := out.newTable()
	if err := t.PrintCells(resource.EtcdScheduleColumns, schedules, wide, ""); err != nil {
		return err
	}
	if len(schedules) > 0 && len(backups) > 0 {
		if _, err := fmt.Fprintln(out.streams.Out); err != nil {
			return err
		}
	}
	t = out.newTable()
	return t.PrintCells(resource.EtcdBackupColumns, backups, wide, "")
}

func (l *linePrinter) addEtcdDetails(e judgedEtcdBackups) {
	gap := ""
	explain := func(title string, v diagnosis.Verdict, fields []view.PageField) {
		l.Line("%s%s", gap, title)
		settings := view.PageSection{Title: "settings"}
		for _, f := range fields {
			if f.Text.Text != "" {
				settings.Items = append(settings.Items, view.Toned(f.Text.Tone, f.Label+": "+f.Text.Text))
			}
		}
		l.Verdict(view.NewVerdict(v, nil), e.now, settings)
		gap = "\n"
	}
	for _, s := range e.schedules {
		explain("schedule "+s.Name, s.Verdict, resource.EtcdScheduleFields(e.cluster, s, e.now))
	}
	for _, b := range e.backups {
		fields := resource.EtcdBackupFields(e.cluster, b, e.now)
		if b.JobName != "" {
			fields = append(fields, view.PageField{Label: "Job", Text: view.Text{Text: b.JobName}})
		}
		explain("etcd backup "+b.Name+", "+b.StageName(), b.Verdict, fields)
	}
}
