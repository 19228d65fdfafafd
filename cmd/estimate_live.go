package cmd

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero/decode"
	"github.com/veltui/veltui/watch"
)

// estimateLive answers for a backup or restore of the cluster.
func (c *cli) estimateLive(ctx context.Context, args []string, f estimateFlags, spec collector.RestoreSpec) error {
	selected, err := f.subject(args, spec.Restore)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	snap, subject, err := c.readJob(ctx, cancel, selected, watch.Query{NoVerdict: true, Also: []string{watch.Pods}})
	if err != nil {
		return err
	}
	backupName, began := subject.Name, time.Time{}
	if subject.Kind == job.Restore {
		if spec.Restore, err = restoreSpec(subject); err != nil {
			return err
		}
		backupName, began = spec.Restore.BackupName, subject.Started
	}
	seen := serverOf(snap.Server)
	if spec.Server.Tag == "" {
		spec.Server.Version, spec.Server.Tag = seen.Version, seen.Tag
	}
	if spec.Server.Priorities == nil {
		spec.Server.Priorities = seen.Priorities
	}
	if spec.Server.CSI == nil {
		spec.Server.CSI = seen.CSI
	}

	conn, err := c.connect()
	if err != nil {
		return err
	}
	log := slog.Default() // read has sent it to the log file
	e, err := c.newEstimator(conn.config, snap.Namespace, f.caFile, c.openIndexes(conn.config, log), log)
	if err != nil {
		return err
	}
	backup, err := e.backup(ctx, backupName)
	if err != nil {
		return err
	}
	m := c.startMeter("downloading " + backup.Name)
	index, readErr := e.index(ctx, backup, m.show)
	m.stop()
	if readErr != nil && len(snap.Malformed) > 0 {
		blind := snap.Malformed[0]
		readErr = fmt.Errorf("%w (%s: %s; %s)", readErr, blind.Ref(), blind.Fields[0], decode.ServerWarning)
	}
	if readErr != nil && !usable(ctx, index) {
		return readErr
	}
	estimate, err := e.estimate(ctx, index, spec, began)
	if err != nil {
		return err
	}
	estimate.Assumptions = slices.Concat(estimate.Assumptions, malformedNotes(subject), compareWithResult(subject, estimate))
	return c.answer(index, estimate, f.output, readErr)
}

// subject is the one backup or restore that is asked about.
func (f *estimateFlags) subject(args []string, spec velerov1.RestoreSpec) (selection, error) {
	if len(args) == 0 {
		switch {
		case f.file == "":
			return selection{}, usagef("nothing to estimate: give backup/NAME, restore/NAME, --tarball FILE or -f FILE")
		case spec.BackupName == "":
			return selection{}, usagef("%s does not name a backup: add backup/NAME", f.file)
		}
		args = []string{"backup/" + spec.BackupName}
	}
	selected, err := parseSelection(args)
	if err != nil {
		return selection{}, err
	}
	if len(selected.names) != 1 {
		return selection{}, usagef("expected one backup/NAME or restore/NAME, got %q", args)
	}
	if selected.kinds[0] == job.Restore && !reflect.DeepEqual(spec, velerov1.RestoreSpec{}) {
		return selection{}, usagef("restore/%s has its own filters; to try other filters, give backup/NAME", selected.names[0])
	}
	return selected, nil
}

// compareWithResult compares the estimate of a restore that has ended with what Velero
// ended with. One that ended on the way has no final total.
func compareWithResult(j *job.Job, e collector.Estimate) []string {
	if j.Kind != job.Restore || !j.Terminal() || !j.Items.Known || j.Items.Done != j.Items.Total || j.Items.Total == e.Total {
		return nil
	}
	return []string{fmt.Sprintf("Velero ended this restore with %s (the estimate uses the target's present kinds and namespaces).", human.Count(j.Items.Total, "item"))}
}
