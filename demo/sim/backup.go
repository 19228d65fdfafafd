package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// What the server fills into a spec (pkg/cmd/server/config/config.go).
const (
	defaultTTL              = 720 * time.Hour
	defaultOperationTimeout = 4 * time.Hour
	defaultSnapshotTimeout  = 10 * time.Minute
	formatVersion           = "1.1.0"
	progressPeriod          = time.Second
)

// backupRun is a backup that a worker owns, from its start to the patch that
// takes it out of InProgress. The worker keeps its own copy of the Backup.
type backupRun struct {
	backup *velerov1.Backup
	uid    types.UID
	record *BackupRecord

	found     collection
	collected time.Time // when collecting ends
	next      int       // index into found.listed
	credit    time.Duration
	worked    time.Time // up to when credit was given
	left      int       // listed items that were not stored after all

	patched time.Time // when progress was last written
	changed bool      // since then
	stage   backupStage
	until   time.Time
	last    *lastPatch
}

type backupStage int

const (
	collecting backupStage = iota
	storing
	awaitingVolumes
	uploading
	leaving
)

// workOnBackups starts the backups that the queue released and moves the
// running ones on (pkg/controller/backup_controller.go).
func (s *Sim) workOnBackups(ctx context.Context) {
	maps.DeleteFunc(s.ready, func(uid types.UID, _ bool) bool {
		return !slices.ContainsFunc(s.inPhases(velerov1.BackupPhaseReadyToStart), func(b *velerov1.Backup) bool { return b.UID == uid })
	})
	for _, b := range s.inPhases(velerov1.BackupPhaseReadyToStart) {
		// Only an update to ReadyToStart starts a backup: one that a former
		// server released stays where it is.
		if s.ready[b.UID] {
			s.startBackup(ctx, b)
		}
	}
	for _, run := range slices.Clone(s.running) {
		s.advanceBackup(ctx, run)
		if s.away != nil {
			return
		}
	}
}

func (s *Sim) startBackup(ctx context.Context, b *velerov1.Backup) {
	found, errs := s.validateBackup(b)
	started, err := patch(ctx, s, s.backups, b, func(b *velerov1.Backup) {
		s.completeBackup(b)
		if len(errs) > 0 {
			b.Status.Phase = velerov1.BackupPhaseFailedValidation
			b.Status.ValidationErrors = errs
			return
		}
		b.Status.Phase = velerov1.BackupPhaseInProgress
		b.Status.StartTimestamp = s.stampTime()
	})
	if err != nil {
		return
	}
	delete(s.ready, b.UID)
	s.due[queueTask] = s.now
	if len(errs) > 0 {
		return
	}
	s.tracked[b.Name] = true
	s.running = append(s.running, &backupRun{
		backup: started, uid: b.UID, found: found,
		record:    &BackupRecord{Namespace: b.Namespace, Name: b.Name, UID: b.UID, Started: s.stamp},
		collected: s.now.Add(s.Pace.Collect),
	})
}

func (s *Sim) validateBackup(b *velerov1.Backup) (collection, []string) {
	errs := names{b.Spec.IncludedNamespaces, b.Spec.ExcludedNamespaces}.conflicts("namespace")
	errs = append(errs, names{b.Spec.IncludedResources, b.Spec.ExcludedResources}.conflicts("resource")...)
	if b.Spec.LabelSelector != nil && len(b.Spec.OrLabelSelectors) > 0 {
		errs = append(errs, "encountered labelSelector as well as orLabelSelectors in backup spec, only one can be specified")
	}
	name := b.Spec.StorageLocation
	if name == "" {
		name = s.defaultLocation()
	}
	if location, ok := s.locations.get(name); !ok {
		errs = append(errs, fmt.Sprintf("backup storage location %q not found", name))
	} else if location.Status.Phase == velerov1.BackupStorageLocationPhaseUnavailable {
		errs = append(errs, fmt.Sprintf("backup can't be created because BackupStorageLocation %s is in Unavailable status.", name))
	}
	found, err := s.Cluster.collect(&b.Spec)
	if err != nil {
		errs = append(errs, "invalid label selector: "+err.Error())
	}
	return found, errs
}

// completeBackup sets what the start patch sets beside phase and start.
func (s *Sim) completeBackup(b *velerov1.Backup) {
	spec := &b.Spec
	if spec.TTL.Duration <= 0 {
		spec.TTL.Duration = defaultTTL
	}
	if spec.StorageLocation == "" {
		spec.StorageLocation = s.defaultLocation()
	}
	if spec.CSISnapshotTimeout.Duration <= 0 {
		spec.CSISnapshotTimeout.Duration = defaultSnapshotTimeout
	}
	if spec.ItemOperationTimeout.Duration <= 0 {
		spec.ItemOperationTimeout.Duration = defaultOperationTimeout
	}
	if spec.DefaultVolumesToFsBackup == nil {
		spec.DefaultVolumesToFsBackup = ptr.To(false)
	}
	if spec.SnapshotMoveData == nil {
		spec.SnapshotMoveData = ptr.To(false)
	}
	if spec.VolumeGroupSnapshotLabelKey == "" {
		spec.VolumeGroupSnapshotLabelKey = velerov1.DefaultVGSLabelKey
	}
	b.Status.Version = 1
	b.Status.FormatVersion = formatVersion
	b.Status.Expiration = &metav1.Time{Time: s.stampTime().Add(spec.TTL.Duration)}
	setLabel(b, velerov1.StorageLocationLabel, spec.StorageLocation)
	annotate(b)
}

// annotate writes what a server says of itself on each backup.
func annotate(b *velerov1.Backup) {
	if b.Annotations == nil {
		b.Annotations = map[string]string{}
	}
	b.Annotations[velerov1.ResourceTimeoutAnnotation] = "10m0s"
	b.Annotations[velerov1.SourceClusterK8sGitVersionAnnotation] = "v1.36.3"
	b.Annotations[velerov1.SourceClusterK8sMajorVersionAnnotation] = "1"
	b.Annotations[velerov1.SourceClusterK8sMinorVersionAnnotation] = "36"
}

func setLabel(o metav1.Object, key, value string) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = value
	o.SetLabels(labels)
}

func (s *Sim) defaultLocation() string {
	for _, l := range s.locations.sorted() {
		if l.Spec.Default {
			return l.Name
		}
	}
	return "default"
}

func (s *Sim) advanceBackup(ctx context.Context, run *backupRun) {
	switch run.stage {
	case collecting:
		if s.now.Before(run.collected) {
			return
		}
		// The first progress has a total and no items: the key is absent.
		run.stage, run.worked = storing, s.now
		s.writeBackupProgress(ctx, run, len(run.found.listed), 0)
	case storing:
		s.storeItems(ctx, run)
		s.tickBackupProgress(ctx, run)
		if run.next == len(run.found.listed) {
			run.stage = awaitingVolumes
		}
	case awaitingVolumes:
		// The last progress is written only when the volumes have ended, so
		// until then the bar stands at or just below full (pkg/backup/backup.go).
		s.tickBackupProgress(ctx, run)
		if s.gatherPodVolumes(run) {
			storeDefinitions(run)
			done := len(run.record.Items)
			s.writeBackupProgress(ctx, run, done, done)
			run.stage, run.until = uploading, s.now.Add(s.Pace.Upload)
		}
	case uploading:
		if !s.now.Before(run.until) {
			run.record.Completed = s.stamp
			s.storeBackup(run.record, s.stamp)
			run.stage = leaving
			s.leaveBackup(ctx, run)
		}
	case leaving:
		s.leaveBackup(ctx, run)
	}
}

// tickBackupProgress writes the progress once a second if it has changed.
// Items that were left out stay in the total until the last write.
func (s *Sim) tickBackupProgress(ctx context.Context, run *backupRun) {
	if run.changed && s.now.Sub(run.patched) >= progressPeriod {
		done := len(run.record.Items)
		s.writeBackupProgress(ctx, run, done+run.left+len(run.found.listed)-run.next, done)
	}
}

func (s *Sim) writeBackupProgress(ctx context.Context, run *backupRun, total, done int) {
	run.patched, run.changed = s.now, false
	updated, err := patch(ctx, s, s.backups, run.backup, func(b *velerov1.Backup) {
		b.Status.Progress = &velerov1.BackupProgress{TotalItems: total, ItemsBackedUp: done}
	})
	if err == nil {
		run.backup = updated
	}
}

// storeItems stores as many items as the time since the last call allows.
func (s *Sim) storeItems(ctx context.Context, run *backupRun) {
	run.credit += s.now.Sub(run.worked)
	run.worked = s.now
	for run.next < len(run.found.listed) && s.away == nil {
		item := run.found.listed[run.next]
		cost := s.Pace.BackupItem
		if len(item.Claims) > 0 {
			cost = s.Pace.BackupPod
		}
		if run.credit < cost {
			return
		}
		if !s.storeItem(ctx, run, item) {
			return
		}
		run.credit -= cost
		run.next++
		run.changed = true
	}
	run.credit = 0
}

// storeItem stores one item with what its backup actions add to it. It reports
// false if it has to be done again because the API server went away.
func (s *Sim) storeItem(ctx context.Context, run *backupRun, item *Item) bool {
	if item.Excluded {
		run.left++
		return true
	}
	if item.Trouble != "" {
		run.record.Errors.add(item.Namespace, item.Trouble)
	}
	if run.backup.Spec.DefaultVolumesToFsBackup != nil && *run.backup.Spec.DefaultVolumesToFsBackup {
		for _, volume := range s.Cluster.volumesOf(item.Namespace, item.Name) {
			if item.GroupResource() == "pods" && !s.startPodVolumeBackup(ctx, run, volume) {
				return false
			}
		}
	}
	if run.backup.Spec.SnapshotMoveData != nil && *run.backup.Spec.SnapshotMoveData && item.GroupResource() == "persistentvolumeclaims" {
		if volume, ok := s.Cluster.volume(item.Namespace, item.Name); ok && !s.startDataUpload(ctx, run, item, volume) {
			return false
		}
	}
	run.record.Items = append(run.record.Items, item)
	if volume, ok := run.found.volumes[item.PersistentVolume]; ok && item.PersistentVolume != "" && !slices.Contains(run.record.Items, volume) {
		run.record.Items = append(run.record.Items, volume)
	}
	return true
}

// storeDefinitions adds the CRDs of the custom resources, which Velero does
// when all items are stored.
func storeDefinitions(run *backupRun) {
	for _, item := range slices.Clone(run.record.Items) {
		definition, ok := run.found.definitions[item.GroupResource()]
		if ok && !slices.Contains(run.record.Items, definition) {
			run.record.Items = append(run.record.Items, definition)
		}
	}
}

// leaveBackup makes the patch that ends InProgress: warnings, errors and the
// numbers of snapshots and operations come with it and not before.
func (s *Sim) leaveBackup(ctx context.Context, run *backupRun) {
	record := run.record
	if run.last == nil {
		run.last = &lastPatch{write: func(ctx context.Context) error {
			updated, err := patch(ctx, s, s.backups, run.backup, func(b *velerov1.Backup) {
				b.Status.Phase = velerov1.BackupPhase(nextPhase(record.operations, record.Errors.count() > 0))
				b.Status.Warnings = record.Warnings.count()
				b.Status.Errors = record.Errors.count()
				b.Status.HookStatus = &velerov1.HookStatus{}
				b.Status.BackupItemOperationsAttempted = len(record.operations)
				b.Status.CSIVolumeSnapshotsAttempted = len(record.operations)
			})
			if err == nil {
				run.backup = updated
			}
			return err
		}}
	}
	run.last.try(ctx, s.now)
	if !run.last.ended {
		return
	}
	s.running = slices.DeleteFunc(s.running, func(r *backupRun) bool { return r == run })
	s.due[queueTask] = s.now
	if run.last.err != nil {
		s.Log("backup %s: the last status patch was lost: %v", record.Name, run.last.err)
		return
	}
	s.backupOperations[run.uid] = record
}

// nextPhase is where a job goes from InProgress, for both kinds.
func nextPhase(operations []*operation, failed bool) string {
	phase := "Finalizing"
	if slices.ContainsFunc(operations, func(o *operation) bool { return !o.ended() }) {
		phase = "WaitingForPluginOperations"
	}
	if failed {
		phase += "PartiallyFailed"
	}
	return phase
}
