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
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/document"
	"github.com/veltui/veltui/watch"
)

const etcdLogsRead = 20

func newEtcd(c *cli) *cobra.Command {
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
		RunE: func(cmd *cobra.Command, names []string) error { return c.etcd(cmd.Context(), names, output) },
	}
	addOutput(cmd, &output, "table", "wide", "json", "yaml", "name")
	return cmd
}

func (c *cli) etcd(ctx context.Context, names []string, output string) error {
	cluster, err := c.readEtcd(ctx)
	switch {
	case errors.Is(err, watch.ErrNoEtcdBackups):
		return fmt.Errorf("%w. They are OpenShift's, behind the feature gate AutomatedEtcdBackup", err)
	case err != nil:
		return err
	}
	for _, u := range cluster.Unseen {
		if u.Resource == etcd.Backups {
			return fmt.Errorf("you may not list %s: %s", u.Resource, u.Why)
		}
		fmt.Fprintf(c.streams.ErrOut, "warning: %s could not be read: %s\n", u.Resource, u.Why)
	}
	list := judgeEtcd(cluster, names, c.clock())
	if err := c.printEtcd(list, output, len(names) > 0); err != nil {
		return err
	}
	if len(names) == 0 && len(list.backups)+len(list.schedules) == 0 {
		fmt.Fprintln(c.streams.ErrOut, "No etcd backups and no schedules found.")
	}
	return list.missing(names)
}

// readEtcd reads everything, and the logs of the newest completed backups until one is forbidden. It gives up
// after --request-timeout.
func (c *cli) readEtcd(ctx context.Context) (*etcd.Cluster, error) {
	conn, err := c.connect()
	if err != nil {
		return nil, err
	}
	reader, err := watch.NewEtcdReader(conn.Config)
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
	logs := map[string]etcd.Log{}
	for i := range cluster.Backups {
		pod := cluster.PodToRead(&cluster.Backups[i])
		if pod == "" {
			continue
		}
		if len(logs) == etcdLogsRead {
			break
		}
		logs[pod] = reader.Log(ctx, pod)
		if logs[pod].Forbidden {
			break
		}
	}
	return cluster.WithLogs(logs), nil
}

type judgedEtcd struct {
	cluster   *etcd.Cluster
	backups   []etcd.JudgedBackup
	schedules []etcd.JudgedSchedule
	now       time.Time
}

func judgeEtcd(cluster *etcd.Cluster, names []string, now time.Time) judgedEtcd {
	wanted := func(name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	l := judgedEtcd{cluster: cluster, now: now}
	for i := range cluster.Schedules {
		if s := &cluster.Schedules[i]; wanted(s.Name) {
			l.schedules = append(l.schedules, cluster.JudgeSchedule(s, now))
		}
	}
	for i := range cluster.Backups {
		if b := &cluster.Backups[i]; wanted(b.Name) {
			l.backups = append(l.backups, cluster.Judge(b, now))
		}
	}
	return l
}

func (l judgedEtcd) missing(names []string) error {
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

func (c *stdio) printEtcd(e judgedEtcd, output string, named bool) error {
	return c.print(output, document.NewEtcdBackupList(e.backups, e.schedules, e.cluster.Unseen, e.now), func(l *lines) {
		switch {
		case output == "name":
			for _, s := range e.schedules {
				l.add("backup.config.openshift.io/%s", s.Name)
			}
			for _, b := range e.backups {
				l.add("etcdbackup.operator.openshift.io/%s", b.Name)
			}
		case output == "table" && named:
			l.explainEtcd(e)
		default:
			l.err = c.printEtcdTables(e, output == "wide")
		}
	})
}

func (c *stdio) printEtcdTables(l judgedEtcd, wide bool) error {
	var schedules, backups [][]string
	for _, s := range l.schedules {
		last, good := "", ""
		if s.Last != nil {
			last = s.Last.Stage()
		}
		if s.Good != nil {
			good = s.Good.Name
		}
		cells := []string{s.Name, s.Cron, human.Ago(s.LastRun, l.now), human.In(s.Next, l.now), last,
			etcdVerdict(s.Verdict, s.Trouble), human.Age(s.Created, l.now)}
		if wide {
			cells = append(cells, s.TimeZone, s.Retention.String(), s.Claim, good)
		}
		schedules = append(schedules, cells)
	}
	for _, b := range l.backups {
		took := ""
		if d := b.Took(l.now); d != 0 {
			took = human.Duration(d)
		}
		cells := []string{b.Name, b.Stage(), took, b.Schedule, b.Claim,
			etcdVerdict(b.Verdict, b.Trouble), human.Age(b.Created, l.now)}
		if wide {
			cells = append(cells, b.Condition.Type, b.JobName, b.Condition.Message)
		}
		backups = append(backups, cells)
	}
	t := c.newTable()
	if err := t.print(chooseColumns(etcdScheduleColumns, wide, ""), schedules); err != nil {
		return err
	}
	if len(schedules) > 0 && len(backups) > 0 {
		if _, err := fmt.Fprintln(c.streams.Out); err != nil {
			return err
		}
	}
	t = c.newTable()
	return t.print(chooseColumns(etcdBackupColumns, wide, ""), backups)
}

// The columns of schedules and of backups. Those that are wide stand at the end.
var (
	etcdScheduleColumns = []view.Column{
		{
			Name:   "schedule",
			Least:  8,
			Middle: true,
		},
		{Name: "cron", Rank: 4},
		{Name: "last run", Rank: 1},
		{Name: "next run", Rank: 3},
		{Name: "last backup", Rank: 2},
		{Name: "verdict", Least: 7},
		{Name: "age", Rank: 5},
		{
			Name: "zone",
			Wide: true,
		},
		{Name: "keeps", Wide: true},
		{Name: "claim", Wide: true, Least: 6, Middle: true},
		{Name: "last good", Wide: true, Least: 9, Middle: true},
	}
	etcdBackupColumns = []view.Column{
		{
			Name:   "backup",
			Least:  6,
			Middle: true,
		},
		{Name: "stage", Least: 5},
		{Name: "took", Rank: 3},
		{Name: "schedule", Rank: 2, Least: 8, Middle: true},
		{Name: "claim", Rank: 4, Least: 6, Middle: true},
		{Name: "verdict", Least: 7},
		{Name: "age", Rank: 1},
		{
			Name: "condition",
			Wide: true,
		},
		{Name: "job", Wide: true, Least: 6, Middle: true},
		{Name: "message", Wide: true, Least: 7},
	}
)

func etcdVerdict(v diagnosis.Verdict, trouble bool) string {
	switch {
	case trouble && v.State() == diagnosis.Stuck:
		return string(v.State()) + ": " + string(v.Reason)
	case trouble:
		return string(v.Reason)
	}
	return dash(string(v.State()))
}

func (l *lines) explainEtcd(e judgedEtcd) {
	gap := ""
	explain := func(title string, v diagnosis.Verdict, settings []string) {
		l.add("%s%s", gap, title)
		l.add("%s", v.Summary())
		state := string(v.Reason)
		if v.State() != "" {
			state = fmt.Sprintf("%s (%s)", v.State(), v.Reason)
		}
		l.add("verdict: %s", state)
		l.facts(v.Facts, e.now)
		l.list("settings:", settings)
		l.clause("\nnext: ", v.Advice)
		gap = "\n"
	}
	for _, s := range e.schedules {
		settings := []string{
			"cron schedule " + dash(s.Cron) + ", time zone " + cmp.Or(s.TimeZone, "not set"),
			"keeps " + s.Retention.String(),
			"writes to PersistentVolumeClaim " + e.cluster.ClaimText(s.Claim),
		}
		if !s.LastRun.IsZero() {
			settings = append(settings, "last run "+human.Ago(s.LastRun, e.now))
		}
		if !s.Next.IsZero() {
			settings = append(settings, "next run "+human.In(s.Next, e.now))
		}
		explain("schedule "+s.Name, s.Verdict, settings)
	}
	for _, b := range e.backups {
		origin := " by hand"
		if b.Schedule != "" {
			origin = " by schedule " + b.Schedule
		}
		settings := []string{
			"made " + human.Ago(b.Created, e.now) + origin,
			"writes to PersistentVolumeClaim " + e.cluster.ClaimText(b.Claim),
		}
		if b.JobName != "" {
			settings = append(settings, "Job "+b.JobName)
		}
		if at := b.Deadline(); !at.IsZero() {
			settings = append(settings, "the pod is ended "+human.In(at, e.now))
		}
		explain("etcd backup "+b.Name+", "+b.Stage(), b.Verdict, settings)
	}
}
