//go:build e2e

package e2e

import (
	"testing"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestReadyToStartIsNotGivenUp asks to give up a backup that is ready to start
// while the server that queued it lives. That server counts it in its memory
// until it has run, whatever its phase says, so its queue would stop for good.
// Left alone, the backup and the one behind it run.
func TestReadyToStartIsNotGivenUp(t *testing.T) {
	needs(t, serverVersion(t).QueuesBackups(), "queue of backups")
	must(t, theLab.EnsureVelero(patient(t)))
	of := func(namespace string) veleroapi.BackupSpec {
		return veleroapi.BackupSpec{IncludedNamespaces: []string{namespace}}
	}
	lift := deny(t, "backups", "ready", "InProgress")
	createBackup(t, "ready", of("ops"), nil)
	await(t, "Backup", "ready", "be ready to start", lab.InPhase("ReadyToStart"))
	createBackup(t, "behind-ready", of("media"), nil)
	await(t, "Backup", "behind-ready", "be queued", queued)

	wantRefused(t, theLab.Kubeconfig(), "Backup", "ready", "--phase", "Failed")
	wantRefused(t, shifted(t, "ready", muchLater), "Backup", "ready", "--phase", "Failed")
	lift()
	for _, name := range []string{"ready", "behind-ready"} {
		h := ended(t, "Backup", name)
		wantEnd(t, h, "Completed")
		wantPhases(t, h, backupPhases(t, ran...))
	}
}
