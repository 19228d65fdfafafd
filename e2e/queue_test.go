//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// queued is a job that waits in Velero's line.
func queued(h lab.History) bool {
	return h.LastState().Phase == "Queued" && h.StatusNumber("queuePosition") > 0
}

// ran are the phases of a backup that runs to its end.
var ran = []string{"InProgress", "Finalizing", "Completed"}

// TestBackupsQueue holds a backup and creates more: one waits because it
// overlaps in a namespace, one because no more may run at a time.
func TestBackupsQueue(t *testing.T) {
	needs(t, serverVersion(t).QueuesBackups(), "queue of backups")
	must(t, theLab.EnsureVelero(patient(t), "--concurrent-backups=2"))
	of := func(namespaces ...string) veleroapi.BackupSpec {
		return veleroapi.BackupSpec{IncludedNamespaces: namespaces}
	}
	hold := lab.Annotations{lab.HoldAnnotation: "queue"}
	running := lab.InPhase("InProgress")

	createBackup(t, "queue-shop", of("shop", "media"), hold)
	await(t, "Backup", "queue-shop", "run", running)
	createBackup(t, "queue-overlap", of("media"), nil)
	overlap := await(t, "Backup", "queue-overlap", "be queued", queued)
	createBackup(t, "queue-billing", of("billing"), hold)
	await(t, "Backup", "queue-billing", "overtake the one that overlaps", running)
	createBackup(t, "queue-limit", of("ops"), nil)
	limit := await(t, "Backup", "queue-limit", "be queued", queued)

	wantReason(t, overlap, 1, "queue-shop", "media")
	wantReason(t, limit, 2, "2")
	must(t, theLab.OpenGate("queue"))
	for _, name := range []string{"queue-shop", "queue-overlap", "queue-billing", "queue-limit"} {
		h := ended(t, "Backup", name)
		wantEnd(t, h, "Completed")
		wantPhases(t, h, backupPhases(t, ran...))
		wantTold(t, h)
	}
}

// wantReason waits until veltui tells that a queued backup waits at a place in
// the line, for a reason that names all of words.
func wantReason(t *testing.T, h lab.History, position int, words ...string) {
	t.Helper()
	d := ask(t, h, "it is queued, and why", func(d told) bool {
		return d.Queue != nil && d.Queue.Position == position && d.verdict() == "waiting" &&
			!slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(d.Queue.Reason, w) })
	})
	t.Logf("%s waits at %d: %s", h.LastEvent().Object.GetName(), position, d.Queue.Reason)
}
