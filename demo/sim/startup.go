package sim

import (
	"context"
	"fmt"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
)

// markInProgressFailed is what a server does when it starts
// (markInProgressCRsFailed in pkg/cmd/server/server.go): jobs that are
// InProgress belong to nobody any more. A patch that fails is only logged, so
// that such a job then stays InProgress. Their children are cancelled.
func (s *Sim) markInProgressFailed(ctx context.Context) {
	for _, b := range s.inPhases(velerov1.BackupPhaseInProgress) {
		_, _ = patch(ctx, s, s.backups, b, func(b *velerov1.Backup) {
			b.Status.Phase = velerov1.BackupPhaseFailed
			b.Status.FailureReason = startFailure("backup")
			b.Status.CompletionTimestamp = s.stampTime()
		})
		s.cancelChildren(ctx, velerov1.BackupUIDLabel, string(b.UID), startFailure("backup"))
	}
	for _, r := range s.restores.sorted() {
		if r.Status.Phase != velerov1.RestorePhaseInProgress {
			continue
		}
		_, _ = patch(ctx, s, s.restores, r, func(r *velerov1.Restore) {
			r.Status.Phase = velerov1.RestorePhaseFailed
			r.Status.FailureReason = startFailure("restore")
			r.Status.CompletionTimestamp = s.stampTime()
		})
		s.cancelChildren(ctx, velerov1.RestoreUIDLabel, string(r.UID), startFailure("restore"))
	}
}

func startFailure(kind string) string {
	return fmt.Sprintf("found a %s with status \"InProgress\" during the server starting, mark it as \"Failed\"", kind)
}

func (s *Sim) cancelChildren(ctx context.Context, label, uid, message string) {
	for _, p := range s.pvbs.sorted() {
		if p.Labels[label] == uid && p.Status.CompletionTimestamp == nil {
			_, _ = patch(ctx, s, s.pvbs, p, func(p *velerov1.PodVolumeBackup) { p.Spec.Cancel, p.Status.Message = true, message })
		}
	}
	for _, p := range s.pvrs.sorted() {
		if p.Labels[label] == uid && p.Status.CompletionTimestamp == nil {
			_, _ = patch(ctx, s, s.pvrs, p, func(p *velerov1.PodVolumeRestore) { p.Spec.Cancel, p.Status.Message = true, message })
		}
	}
	for _, d := range s.uploads.sorted() {
		if d.Labels[label] == uid && d.Status.CompletionTimestamp == nil {
			_, _ = patch(ctx, s, s.uploads, d, func(d *velerov2alpha1.DataUpload) { d.Spec.Cancel, d.Status.Message = true, message })
		}
	}
	for _, d := range s.dataDowns.sorted() {
		if d.Labels[label] == uid && d.Status.CompletionTimestamp == nil {
			_, _ = patch(ctx, s, s.dataDowns, d, func(d *velerov2alpha1.DataDownload) { d.Spec.Cancel, d.Status.Message = true, message })
		}
	}
}

// Restart forgets all that a server holds in memory, as a crash does, and then
// starts again. The artifacts in the store stay.
func (s *Sim) Restart(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	moving := s.moving // the node agents live on
	s.memory = newMemory()
	s.moving = moving
	s.markInProgressFailed(ctx)
}
