//go:build e2e

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// doomed is a job whose last patch is going to be lost (Velero issue 7207).
type doomed struct {
	kind, name string
	create     func(t *testing.T)
}

func (d doomed) String() string { return strings.ToLower(d.kind) + "/" + d.name }

// heldUp is the upload at which the job is held: after it Velero asks the API
// server for nothing more but to take its last status.
func (d doomed) heldUp() string {
	if d.kind == "Backup" {
		return "backups/" + d.name + "/velero-backup.json"
	}
	return "restores/" + d.name + "/" + d.name + "-volumeinfo.json.gz"
}

// results is what a job stores of its warnings and errors.
func (d doomed) results() string {
	if d.kind == "Backup" {
		return "backups/" + d.name + "/" + d.name + "-results.gz"
	}
	return "restores/" + d.name + "/restore-" + d.name + "-results.gz"
}

func doomedRestore(name string) doomed {
	return doomed{"Restore", name, func(t *testing.T) {
		createRestore(t, name, veleroapi.RestoreSpec{
			BackupName:         full,
			IncludedNamespaces: []string{"media"},
			IncludedResources:  []string{"configmaps"},
			NamespaceMapping:   to(name),
		}, nil)
	}}
}

func doomedBackup(name string, namespaces ...string) doomed {
	return doomed{"Backup", name, func(t *testing.T) {
		createBackup(t, name, veleroapi.BackupSpec{IncludedNamespaces: namespaces}, nil)
	}}
}

// lose makes jobs whose last patch is lost: they have done all their work and
// store all their files, but the API server is away when Velero wants to say
// so. It comes back once absence has returned.
func lose(t *testing.T, absence func(logged int), jobs ...doomed) {
	t.Helper()
	ctx := patient(t)
	keys := make([]string, len(jobs))
	for i, d := range jobs {
		keys[i] = d.heldUp()
	}
	hold, err := theLab.HoldUploads(ctx, keys...)
	must(t, err)
	t.Cleanup(hold.ReleaseAll)
	for _, d := range jobs {
		d.create(t)
		must(t, hold.AwaitUpload(ctx, d.heldUp()))
		await(t, d.kind, d.name, "have done all", func(h lab.History) bool {
			p := h.LastState().Progress
			return p != nil && p.Done == p.Total
		})
	}
	_, logged, err := theLab.VeleroLog(0)
	must(t, err)
	must(t, theLab.KillAPIServer())
	hold.ReleaseAll()
	absence(logged)
	must(t, theLab.StartAPIServer(ctx))
	must(t, hold.RemoveHold(ctx))
	must(t, bothFollow(ctx, "after-"+jobs[0].name))
}

// awaitGivingUp waits until Velero has logged that it gives up on the patch
// that was to end a job.
func awaitGivingUp(t *testing.T, logged int, d doomed) {
	t.Helper()
	must(t, theLab.AwaitLog(patient(t), logged, lostPatchLine(t, d.kind, d.name, "")...))
}

// wantUnsaid checks that a job still says InProgress although all its work is
// done, its results stored and the server alive.
func wantUnsaid(t *testing.T, d doomed) {
	t.Helper()
	now := liveJob(t, d.kind, d.name).LastState()
	if now.Phase != "InProgress" {
		t.Fatalf("%s is %s, want InProgress", d, now)
	}
	if now.Progress == nil || now.Progress.Done != now.Progress.Total {
		t.Errorf("%s is %s, want all done", d, now)
	}
	if !theLab.ObjectExists(d.results()) {
		t.Errorf("the results of %s are not stored, although all the work was done", d)
	}
	if !theLab.IsVeleroRunning() {
		t.Error("the server ended")
	}
}

// outage is longer than Velero tries with its default of 10 minutes: its last
// attempt is made 39 to 43 s after the first.
const outage = 75 * time.Second

// TestFinalPatchLost is issue 7207, and how veltui ends it. A restore is lost
// to a short --resource-timeout, and then its mark by the next server too. A
// restore and two backups are lost to a long outage with all defaults: one backup
// where Velero runs no two at a time.
func TestFinalPatchLost(t *testing.T) {
	lost, away, brownout, unsaved := doomedRestore("lost"), doomedRestore("outage"), doomedBackup("brownout", "ops"),
		doomedBackup("unsaved", "billing", "no-such-namespace") // which is an error
	together, two := []doomed{away, brownout}, serverVersion(t).QueuesBackups()
	if two {
		together = append(together, unsaved)
	}
	must(t, theLab.EnsureVelero(patient(t), "--resource-timeout=5s"))
	fullBackup(t)
	c := openConsole(t)
	lose(t, func(logged int) {
		c.sees(t, "stale ")
		awaitGivingUp(t, logged, lost)
	}, lost)
	c.sees(t, " live ") // with no key pressed
	wantUnsaid(t, lost)
	c.quits(t)
	restartWithoutMark(t, lost)

	var mark int
	lose(t, func(logged int) {
		mark = logged
		select {
		case <-time.After(outage):
		case <-t.Context().Done():
		}
	}, together...)
	// Meanwhile Velero waits before it gives up on these.
	finalizeByCommand(t, lost.String(), "Finalizing")
	wantFinalizedAsSeen(t, "Restore", lost.name, "Completed")
	wantRestoreBehaves(t, lost.name, "Completed")
	for _, d := range together {
		awaitGivingUp(t, mark, d)
		wantUnsaid(t, d)
		wantVerdict(t, liveJob(t, d.kind, d.name), "quiet", "stuck")
	}
	for i, d := range together {
		phase := []string{"Finalizing", "Finalizing", "FinalizingPartiallyFailed"}[i]
		awaitFinalizable(t, d.String(), phase)
		wantExplained(t, d, phase)
	}
	wantReport(t, away.String())

	first := finalizeByKeyboard(t, away.name, "InProgress -> Finalizing")
	settled := func() {}
	if two {
		second := finalizeByKeyboard(t, unsaved.name, "InProgress -> FinalizingPartiallyFailed")
		settled = func() { second.settles(t, "PartiallyFailed") }
	}
	wantFinalizedAsSeen(t, "Restore", away.name, "Completed")
	if two {
		wantFinalizedAsSeen(t, "Backup", unsaved.name, "PartiallyFailed")
	}
	finalizeThroughOutage(t, "backup", brownout.name)
	wantFinalized(t, "Backup", brownout.name, "Completed")
	first.settles(t, "Completed")
	settled()

	must(t, theLab.AwaitBackupSync(patient(t)))
	wantRestoreBehaves(t, away.name, "Completed")
	wantBackupBehaves(t, brownout.name, "Completed")
	if two {
		wantBackupBehaves(t, unsaved.name, "PartiallyFailed")
	}
}

// restartWithoutMark starts another server, which marks a restore that it finds
// InProgress as Failed, and makes it fail in that: it logs so and never tries
// again.
func restartWithoutMark(t *testing.T, d doomed) {
	t.Helper()
	ctx := patient(t)
	lift := deny(t, "restores", d.name, "Failed")
	_, logged, err := theLab.VeleroLog(0)
	must(t, err)
	var flags []string
	if serverVersion(t).QueuesBackups() {
		flags = []string{"--concurrent-backups=2"}
	}
	must(t, theLab.EnsureVelero(ctx, flags...))
	must(t, theLab.AwaitLog(ctx, logged, "failed to patch restore", d.name))
	lift()
	wantUnsaid(t, d)
}

// wantExplained checks what `veltui explain` says of a lost job: that its
// files are there, and what finalize would do.
func wantExplained(t *testing.T, d doomed, phase string) {
	t.Helper()
	code, printed := runVeltui(t, "explain", d.String(), "--artifacts", "-o", "json")
	var said struct {
		Verdict struct {
			State string `json:"state"`
			Facts []struct {
				Text  string `json:"text"`
				Holds bool   `json:"holds"`
			} `json:"facts"`
		} `json:"verdict"`
		Finalize struct {
			Action string `json:"action"`
			From   string `json:"from"`
			To     string `json:"to"`
		} `json:"finalize"`
	}
	must(t, json.Unmarshal(document(printed), &said))
	want := map[string]int{"quiet": 0, "stuck": exitRefused}
	if wanted, ok := want[said.Verdict.State]; !ok || code != wanted {
		t.Errorf("veltui explain %s ended with %d and the verdict %q", d, code, said.Verdict.State)
	}
	stored := 0
	for _, f := range said.Verdict.Facts {
		if f.Holds && strings.Contains(f.Text, "is stored, newer than the job's start") {
			stored++
		}
	}
	if stored < 3 || said.Finalize.From != "InProgress" || said.Finalize.To != phase {
		t.Errorf(
			"veltui explain %s: %d files are stored, it would go from %s to %s, want %s:\n%s",
			d,
			stored,
			said.Finalize.From,
			said.Finalize.To,
			phase,
			printed,
		)
	}
}
