package cmd

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/inspect"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero/decode"
	"github.com/veltui/veltui/watch"
)

// live answers for a backup or restore of the cluster.
func (f *estimateCommand) live(ctx context.Context, args []string, spec collector.RestoreSpec) error {
	if len(args) == 0 && f.file == "" && spec.Restore.BackupName == "" && spec.Restore.ScheduleName == "" {
		return usagef("nothing to estimate: give backup/NAME, restore/NAME, --tarball FILE or -f FILE")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	selected, err := f.subject(ctx, cancel, args, spec.Restore)
	if err != nil {
		return err
	}
	snap, subject, err := f.readJob(ctx, cancel, selected, watch.Query{NoVerdict: true, Also: []string{watch.Pods}})
	if err != nil {
		return err
	}
	backupName, began := subject.Name, time.Time{}
	if subject.Kind == job.Restore {
		if spec.Restore, err = inspect.RestoreSpec(subject); err != nil {
			return err
		}
		backupName, began = spec.Restore.BackupName, subject.Started
	}
	seen := inspect.ServerOf(snap.Server)
	if spec.Server.Tag == "" {
		spec.Server.Version, spec.Server.Tag = seen.Version, seen.Tag
	}
	if spec.Server.Priorities == nil {
		spec.Server.Priorities = seen.Priorities
	}
	if spec.Server.CSI == nil {
		spec.Server.CSI = seen.CSI
	}

	_, store, err := f.openStore(snap.Namespace)
	if err != nil {
		return err
	}
	index, readErr := f.contents(ctx, store, backupName)
	if readErr != nil && len(snap.Malformed) > 0 {
		blind := snap.Malformed[0]
		readErr = fmt.Errorf("%w (%s: %s; %s)", readErr, blind.Ref(), blind.Fields[0], decode.ServerWarning)
	}
	if readErr != nil && !usable(ctx, index) {
		return readErr
	}
	estimate, err := store.Estimate(ctx, index, spec, began)
	if err != nil {
		return err
	}
	estimate.Assumptions = slices.Concat(estimate.Assumptions, inspect.MalformedNotes(subject), compareWithResult(subject, estimate))
	return f.answer(index, estimate, f.output, readErr)
}

// compareWithResult compares the estimate of a restore that has ended with what Velero
// ended with. One that ended on the way has no final total.
func compareWithResult(j *job.Job, e collector.Estimate) []string {
	if j.Kind != job.Restore || !j.Terminal() || !j.Items.Known || j.Items.Done != j.Items.Total || j.Items.Total == e.Total {
		return nil
	}
	return []string{fmt.Sprintf("Velero ended this restore with %s (the estimate uses the target's present kinds and namespaces).", human.Count(j.Items.Total, "item"))}
}
