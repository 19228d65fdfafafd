package finalize

import (
	"cmp"
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/sanitize"
	"github.com/veltui/veltui/velero"
)

// others lists the jobs beside this one that have not ended, and the queue.
func (g *gathering) others() error {
	if g.e.Job.Terminal() {
		return nil // nothing about an ended job depends on the others
	}
	var backups velerov1.BackupList
	if listed, err := g.list("listing backups", &backups); err != nil {
		return err
	} else if listed {
		slices.SortStableFunc(backups.Items, func(a, b velerov1.Backup) int { return cmp.Compare(a.Status.QueuePosition, b.Status.QueuePosition) })
	}
	for i := range backups.Items {
		b := &backups.Items[i]
		g.other(job.Backup, b, string(b.Status.Phase))
		if b.Status.Phase == velerov1.BackupPhaseQueued && b.UID != g.e.Job.UID && g.e.Job.Kind == job.Backup {
			g.e.Queued = append(g.e.Queued, b.Name)
		}
	}
	var restores velerov1.RestoreList
	if _, err := g.list("listing restores", &restores); err != nil {
		return err
	}
	for i := range restores.Items {
		g.other(job.Restore, &restores.Items[i], string(restores.Items[i].Status.Phase))
	}
	return nil
}

func (g *gathering) list(what string, list client.ObjectList) (bool, error) {
	why, err := open(what, g.client.List(g.ctx, list, client.InNamespace(g.namespace)))
	if why != "" {
		g.e.OthersWhy = why
	}
	sanitize.Object(list)
	return err == nil && why == "", err
}

func (g *gathering) other(kind job.Kind, o client.Object, phase string) {
	if o.GetUID() != g.e.Job.UID && !velero.TerminalPhase(phase) {
		g.e.Others = append(g.e.Others, Other{kind, o.GetName(), phase})
	}
}
