package finalize

import (
	"cmp"
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// others lists the jobs beside this one that have not ended, and the queue.
func (g *gathering) others() error {
	if g.e.Job.Terminal() {
		return nil // nothing about an ended job depends on the others
	}
	backups, err := othersOf[velerov1.Backup](g, "listing backups", job.Backup)
	if err != nil {
		return err
	}
	slices.SortStableFunc(backups, func(a, b velerov1.Backup) int { return cmp.Compare(a.Status.QueuePosition, b.Status.QueuePosition) })
	for i := range backups {
		b := &backups[i]
		g.other(job.Backup, b, string(b.Status.Phase))
		if b.Status.Phase == velerov1.BackupPhaseQueued && b.UID != g.e.Job.UID && g.e.Job.Kind == job.Backup {
			g.e.Queued = append(g.e.Queued, b.Name)
		}
	}
	restores, err := othersOf[velerov1.Restore](g, "listing restores", job.Restore)
	if err != nil {
		return err
	}
	for i := range restores {
		g.other(job.Restore, &restores[i], string(restores[i].Status.Phase))
	}
	return nil
}

// othersOf lists all jobs of a kind; none, with the reason in the evidence, if
// they may not be listed.
func othersOf[T any](g *gathering, what string, kind job.Kind) ([]T, error) {
	found, err := list[T](g, jobKind(kind))
	why, err := open(what, err)
	if why != "" {
		g.e.OthersWhy = why
	}
	return found, err
}

func (g *gathering) other(kind job.Kind, o client.Object, phase string) {
	if o.GetUID() != g.e.Job.UID && !velero.TerminalPhase(phase) {
		g.e.Others = append(g.e.Others, Other{kind, o.GetName(), phase})
	}
}
