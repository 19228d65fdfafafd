package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const restoreFinalizer = "restores.velero.io/external-resources-finalizer"

// restoreRun is the restore that the only worker does, up to the patch that
// takes it out of InProgress.
type restoreRun struct {
	restore *velerov1.Restore
	uid     types.UID
	record  *RestoreRecord
	source  *BackupRecord
	work    *restoreWork

	began   time.Time
	worked  time.Time
	credit  time.Duration
	patched time.Time
	changed bool
	stage   restoreStage
	until   time.Time
	last    *lastPatch
}

type restoreStage int

const (
	preparing restoreStage = iota
	restoring
	awaitingPodVolumes
	uploadingRestore
	leavingRestore
)

// workOnRestores does what the one restore worker does
// (pkg/controller/restore_controller.go): other restores wait in New with no
// place in a line, and deletions wait for the worker as well.
func (s *Sim) workOnRestores(ctx context.Context) {
	if s.restore != nil {
		s.advanceRestore(ctx, s.restore)
		return
	}
	for _, r := range s.restores.sorted() {
		switch {
		case s.away != nil:
			return
		case r.DeletionTimestamp != nil:
			s.cleanUpRestore(ctx, r)
		case r.Status.Phase == "" || r.Status.Phase == velerov1.RestorePhaseNew:
			s.startRestore(ctx, r)
			if s.restore != nil {
				return
			}
		}
	}
}

// cleanUpRestore removes a deleted restore's artifacts and then the finalizer
// that kept it.
func (s *Sim) cleanUpRestore(ctx context.Context, r *velerov1.Restore) {
	if !controllerutil.ContainsFinalizer(r, restoreFinalizer) {
		return
	}
	s.storage.removeAll(restoreKey(r.Name))
	if _, err := patch(ctx, s, s.restores, r, func(r *velerov1.Restore) { controllerutil.RemoveFinalizer(r, restoreFinalizer) }); err == nil {
		s.restores.remove(r.Name, r.UID)
	}
}

func (s *Sim) startRestore(ctx context.Context, r *velerov1.Restore) {
	// The finalizer comes first, in a patch of its own.
	r, err := patch(ctx, s, s.restores, r, func(r *velerov1.Restore) { controllerutil.AddFinalizer(r, restoreFinalizer) })
	if err != nil {
		return
	}
	backup, errs := s.validateRestore(r)
	var source *BackupRecord
	if len(errs) == 0 {
		source = s.backupRecords[backup]
		if _, err := newRestoreFilter(s.Cluster, &r.Spec); err != nil {
			errs = append(errs, "invalid label selector: "+err.Error())
		}
	}
	started, err := patch(ctx, s, s.restores, r, func(r *velerov1.Restore) {
		for _, resource := range neverRestored {
			if !slices.Contains(r.Spec.ExcludedResources, resource) {
				r.Spec.ExcludedResources = append(r.Spec.ExcludedResources, resource)
			}
		}
		if r.Spec.ItemOperationTimeout.Duration <= 0 {
			r.Spec.ItemOperationTimeout.Duration = defaultOperationTimeout
		}
		if len(errs) > 0 {
			r.Status.Phase = velerov1.RestorePhaseFailedValidation
			r.Status.ValidationErrors = errs
			return
		}
		r.Spec.BackupName = backup
		r.Status.Phase = velerov1.RestorePhaseInProgress
		r.Status.StartTimestamp = s.stampTime()
	})
	if err != nil || len(errs) > 0 {
		return
	}
	filter, err := newRestoreFilter(s.Cluster, &started.Spec)
	if err != nil {
		return
	}
	s.restore = &restoreRun{
		restore: started, uid: r.UID, source: source, began: s.now,
		record: &RestoreRecord{Namespace: r.Namespace, Name: r.Name, Backup: backup, UID: r.UID, Started: s.stamp},
		work:   s.planRestore(source, filter, started.Spec.NamespaceMapping),
	}
}

// validateRestore returns the name of the backup to restore from, which for a
// schedule is its newest Completed one.
func (s *Sim) validateRestore(r *velerov1.Restore) (string, []string) {
	errs := names{r.Spec.IncludedNamespaces, r.Spec.ExcludedNamespaces}.conflicts("namespace")
	for _, resource := range neverRestored {
		if slices.Contains(r.Spec.IncludedResources, resource) {
			errs = append(errs, resource+" are non-restorable resources")
		}
	}
	if r.Spec.LabelSelector != nil && len(r.Spec.OrLabelSelectors) > 0 {
		errs = append(errs, "encountered labelSelector as well as orLabelSelectors in restore spec, only one can be specified")
	}
	name := r.Spec.BackupName
	if (name == "") == (r.Spec.ScheduleName == "") {
		return "", append(errs, "Either a backup or schedule must be specified as a source for the restore, but not both")
	}
	if name == "" {
		if name = s.newestCompleted(r.Spec.ScheduleName); name == "" {
			return "", append(errs, "No completed backups found for schedule")
		}
	}
	b, ok := s.backups.get(name)
	if !ok {
		return "", append(errs, fmt.Sprintf("Error retrieving backup: Backup.velero.io %q not found", name))
	}
	location, ok := s.locations.get(b.Spec.StorageLocation)
	if !ok || location.Status.Phase == velerov1.BackupStorageLocationPhaseUnavailable {
		errs = append(errs, fmt.Sprintf("the backup storage location %q of backup %s is not available", b.Spec.StorageLocation, name))
	}
	if s.backupRecords[name] == nil {
		errs = append(errs, fmt.Sprintf("Error retrieving backup: the contents of %q are not in the backup storage location", name))
	}
	return name, errs
}

func (s *Sim) newestCompleted(schedule string) string {
	name, newest := "", time.Time{}
	for _, b := range s.inPhases(velerov1.BackupPhaseCompleted) {
		if started := timeOf(b.Status.StartTimestamp); b.Labels[velerov1.ScheduleNameLabel] == schedule && started.After(newest) {
			name, newest = b.Name, started
		}
	}
	return name
}

func (s *Sim) advanceRestore(ctx context.Context, run *restoreRun) {
	switch run.stage {
	case preparing:
		// Download, the pass over the CRDs and the collection: no progress yet.
		if s.now.Sub(run.began) >= s.Pace.Prepare {
			run.work.definitionsPass()
			run.stage, run.worked, run.patched = restoring, s.now, s.now
		}
	case restoring:
		s.restoreItems(ctx, run)
		switch {
		case run.work.done():
			// The last write does not wait for its second.
			restored := run.work.restored()
			s.writeRestoreProgress(ctx, run, restored, restored)
			run.stage = awaitingPodVolumes
		case run.changed && s.now.Sub(run.patched) >= progressPeriod:
			s.writeRestoreProgress(ctx, run, run.work.total(), run.work.restored())
		}
	case awaitingPodVolumes:
		if s.gatherPodRestores(run) {
			run.stage, run.until = uploadingRestore, s.now.Add(s.Pace.Upload)
		}
	case uploadingRestore:
		if !s.now.Before(run.until) {
			run.record.Completed = s.stamp
			run.record.Outcomes = run.work.outcomes
			s.storeRestore(run.record, s.stamp)
			run.stage = leavingRestore
			s.leaveRestore(ctx, run)
		}
	case leavingRestore:
		s.leaveRestore(ctx, run)
	}
}

// restoreItems handles as many items as the time since the last call allows.
func (s *Sim) restoreItems(ctx context.Context, run *restoreRun) {
	run.credit += s.now.Sub(run.worked)
	run.worked = s.now
	for !run.work.done() {
		item := run.work.peek()
		cost := s.Pace.RestoreItem
		switch item.GroupResource() {
		case "deployments.apps", "replicasets.apps":
			cost = s.Pace.RestoreSlow
		}
		if run.credit < cost {
			return
		}
		if !s.startRestoredVolumes(ctx, run, item) {
			return
		}
		run.credit -= cost
		run.work.handle(&run.record.Warnings, &run.record.Errors)
		// Namespaces do not report (restore.go: their branch continues early).
		run.changed = run.changed || item.GroupResource() != "namespaces"
	}
}

func (s *Sim) writeRestoreProgress(ctx context.Context, run *restoreRun, total, done int) {
	run.patched, run.changed = s.now, false
	updated, err := patch(ctx, s, s.restores, run.restore, func(r *velerov1.Restore) {
		r.Status.Progress = &velerov1.RestoreProgress{TotalItems: total, ItemsRestored: done}
	})
	if err == nil {
		run.restore = updated
	}
}

// leaveRestore makes the patch that ends InProgress.
func (s *Sim) leaveRestore(ctx context.Context, run *restoreRun) {
	record := run.record
	if run.last == nil {
		run.last = &lastPatch{write: func(ctx context.Context) error {
			_, err := patch(ctx, s, s.restores, run.restore, func(r *velerov1.Restore) {
				r.Status.Phase = velerov1.RestorePhase(nextPhase(record.operations, record.Errors.count() > 0))
				r.Status.Warnings = record.Warnings.count()
				r.Status.Errors = record.Errors.count()
				r.Status.RestoreItemOperationsAttempted = len(record.operations)
			})
			return err
		}}
	}
	run.last.try(ctx, s.now)
	if !run.last.ended {
		return
	}
	s.restore = nil
	if run.last.err != nil {
		s.Log("restore %s: the last status patch was lost: %v", record.Name, run.last.err)
		return
	}
	s.restoreOperations[run.uid] = record
}
