//go:build e2e

package e2e

import (
	"testing"

	"github.com/veltui/veltui/e2e/lab"
	rules "github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestVolumesAndOperationsPages opens the pages of backups that a real Velero
// makes: one whose volume a data mover moves, one that skips its volumes, and one
// with operations of a plugin.
func TestVolumesAndOperationsPages(t *testing.T) {
	needs(t, serverVersion(t).MovesInPods(rules.DataUpload), "pods that move data")
	needs(t, !serverVersion(t).Before(rules.Version{1, 16, 0}), "node-agent that starts where there is no /host_pods")
	ctx := patient(t)
	must(t, theLab.StartSnapshots(ctx))
	must(t, theLab.StartNodeAgent(ctx, oneAtATime))
	must(t, theLab.EnsureVelero(ctx, "--features=EnableCSI"))
	const moved = "pages-moved"
	moveVolumes(t, moved, 1)
	awaitUploads(t, moved, "Accepted")
	upload := in(t, moved, "Accepted")

	c := openConsole(t)
	c.opens(t, "", moved, "5")
	c.sees(t, "[5 Volumes 1]", moved+"/data-0", "preparing", "CSI snapshot, data mover")
	c.types(t, "\r") // the details, with what volume info and the resource say
	c.sees(
		t,
		"dataupload/"+upload.Name,
		"Data mover     velero",
		"Spec of "+upload.Name,
		"sourcePVC: data-0",
		upload.Labels[veleroapi.AsyncOperationIDLabel],
	)
	c.types(t, "\r6")
	c.sees(t, "Item operations: 0 of 1 completed, 0 failed, 1 open", moved+"/data-0", "persistentvolumeclaims", "in 23h")
	c.types(t, "\r")
	c.sees(t, "velero.io/csi-pvc-backupper", "Volume         dataupload/"+upload.Name, "itemOperationTimeout")
	c.types(t, "\r8")
	c.sees(t, "kind: Backup")
	c.types(t, "/# dataupload\r")
	c.sees(t, "# DataUpload "+upload.Name, "1 of 1")
	c.types(t, "\x1b")

	runMover(t, upload)
	awaitUploads(t, moved, "InProgress")
	ends(t, in(t, moved, "InProgress"))
	wantEnd(t, ended(t, "Backup", moved), "Completed")
	c.types(t, "5")
	c.sees(t, moved+"/data-0", "done", "1.0G")
	c.types(t, "\r")
	c.sees(t, "Completed: all of it was moved", "Result         succeeded", "Uploader       kopia")
	c.types(t, "\r\x1b")

	const skipped = "pages-skipped"
	wantEnd(t, backup(t, skipped, veleroapi.BackupSpec{IncludedNamespaces: []string{"media"}}, nil), "Completed")
	c.types(t, "\x1b")
	c.opens(t, "3", skipped, "5")
	c.sees(t, "media/web-data-0002", "skipped", "volumeSnapshot: no applicable volumesnapshotter found")
	c.types(t, "\x1b")

	const acting = "pages-operations"
	createBackup(
		t,
		acting,
		veleroapi.BackupSpec{IncludedNamespaces: []string{"ops"}},
		lab.Annotations{lab.OperationAnnotation: "1s", lab.OperationHoldAnnotation: acting},
	)
	await(t, "Backup", acting, "wait for its operations", lab.InPhase(waiting))
	c.types(t, "\x1b")
	c.opens(t, "1", acting, "6")
	c.sees(t, "Item operations: 0 of 4 completed, 0 failed, 4 open", "InProgress", "veltui asks again every 30s")
	must(t, theLab.OpenGate(acting))
	wantEnd(t, ended(t, "Backup", acting), "Completed")
	c.sees(t, "Item operations: 4 of 4 completed, 0 failed")
	c.awaits(t, "all of them Completed", func() bool { return !holdsAll(c.ScreenText(), []string{"InProgress"}) })
	c.quits(t)
}

// opens finds a job on a tab, if only once the dashboard has heard of it, and opens a
// page of it.
func (c *console) opens(t *testing.T, tab, job, page string) {
	t.Helper()
	c.types(t, tab+"/"+job+"\r")
	c.sees(t, "/"+job+"  1 of ")
	c.types(t, "\r"+page)
}
