package sim

import (
	"cmp"
	"context"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
)

// queueRecheck is how often queued backups are looked at again without an
// event (defaultQueuedBackupRecheckFrequency).
const queueRecheck = time.Minute

// queueBackups puts new backups into the line and releases those that may run
// (pkg/controller/backup_queue_controller.go): fewer than ConcurrentBackups
// run, none that runs or stands before it shares a namespace with it, and none
// before it could run.
func (s *Sim) queueBackups(ctx context.Context) {
	for _, b := range s.backups.sorted() {
		if b.DeletionTimestamp == nil && (b.Status.Phase == "" || b.Status.Phase == velerov1.BackupPhaseNew) {
			position := 1
			if queued := s.queued(); len(queued) > 0 {
				position = queued[len(queued)-1].Status.QueuePosition + 1
			}
			_, _ = patch(ctx, s, s.backups, b, func(b *velerov1.Backup) {
				b.Status.Phase = velerov1.BackupPhaseQueued
				b.Status.QueuePosition = position
			})
			s.due[queueTask] = s.now
		}
	}
	if !s.every(queueTask, queueRecheck) {
		return
	}
	for _, b := range s.queued() {
		if s.runningCount() >= s.ConcurrentBackups {
			return
		}
		if s.runnable(b) {
			s.release(ctx, b)
		}
	}
}

const queueTask = "look at the queue"

// runningCount are the backups that take a worker: released ones and those
// InProgress, not those that are waiting for operations or finalizing.
func (s *Sim) runningCount() int { return len(s.ready) + len(s.running) }

// queued are the backups in the line, in its order.
func (s *Sim) queued() []*velerov1.Backup {
	queued := s.inPhases(velerov1.BackupPhaseQueued)
	slices.SortStableFunc(queued, func(a, b *velerov1.Backup) int {
		return cmp.Compare(a.Status.QueuePosition, b.Status.QueuePosition)
	})
	return queued
}

func (s *Sim) inPhases(phases ...velerov1.BackupPhase) []*velerov1.Backup {
	var found []*velerov1.Backup
	for _, b := range s.backups.sorted() {
		if slices.Contains(phases, b.Status.Phase) {
			found = append(found, b)
		}
	}
	return found
}

// runnable reports whether no backup that stands before b shares a namespace
// with it, and no queued one before b is itself runnable.
func (s *Sim) runnable(b *velerov1.Backup) bool {
	before := s.inPhases(velerov1.BackupPhaseInProgress, velerov1.BackupPhaseReadyToStart)
	for _, q := range s.queued() {
		if q.Status.QueuePosition < b.Status.QueuePosition {
			if !s.overlaps(q, before) {
				return false
			}
			before = append(before, q)
		}
	}
	return !s.overlaps(b, before)
}

func (s *Sim) overlaps(b *velerov1.Backup, others []*velerov1.Backup) bool {
	mine := names{b.Spec.IncludedNamespaces, b.Spec.ExcludedNamespaces}
	return slices.ContainsFunc(others, func(other *velerov1.Backup) bool {
		theirs := names{other.Spec.IncludedNamespaces, other.Spec.ExcludedNamespaces}
		for namespace := range s.namespaces.byName {
			if mine.match(namespace) && theirs.match(namespace) {
				return true
			}
		}
		return false
	})
}

// release lets a backup run and closes the gap that it leaves in the line.
func (s *Sim) release(ctx context.Context, b *velerov1.Backup) {
	_, err := patch(ctx, s, s.backups, b, func(b *velerov1.Backup) {
		b.Status.Phase = velerov1.BackupPhaseReadyToStart
		b.Status.QueuePosition = 0
	})
	if err != nil {
		return
	}
	s.ready[b.UID] = true
	for n, q := range s.queued() {
		if q.Status.QueuePosition != n+1 {
			_, _ = patch(ctx, s, s.backups, q, func(q *velerov1.Backup) { q.Status.QueuePosition = n + 1 })
		}
	}
}
