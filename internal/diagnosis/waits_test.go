package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func minutes(t time.Time) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", t.Sub(noon).Minutes()), ".0")
}

// waitCase is what a job may be waiting for at noon: the waits in their order, with *
// where the evidence shows one, @ with the minutes after noon at which its limit
// passes, and ! where Velero has acted on it then for sure, with the minutes if that
// takes longer. They are worked out by hand from Velero's source, not from the table.
type waitCase struct {
	name string
	job  spec
	s    World
	e    JobEvidence
	more []spec
	want string
}

func waitCases() []waitCase {
	seen := JobEvidence{NamespacesChecked: true, LogChecked: true}
	line := func(text string) velero.JobLog {
		return velero.JobLog{Last: velero.LogLine{At: minutesAgo(5), Text: text}}
	}
	unready := func(e *World) { e.Repositories = []RepositoryStatus{{Name: "shop-kopia", Namespace: "shop"}} }
	ready := func(e *World) {
		e.Repositories = []RepositoryStatus{{Name: "shop-kopia", Namespace: "shop", Ready: true}}
	}
	deletes := func(e *World) {
		e.DeletionRequests = []DeletionRequest{{Name: "d", Backup: "old", Phase: "InProgress"}}
	}
	pvb := func(phase string) []job.Volume {
		return []job.Volume{volume(velero.PodVolumeBackup, "data", phase, 1, 9, 30, 10)}
	}
	pvr := func(phase string) []job.Volume {
		return []job.Volume{volume(velero.PodVolumeRestore, "data", phase, 1, 9, 30, 10)}
	}
	backup := func(done, total int, change ...func(*spec)) spec {
		s := spec{phase: velero.PhaseInProgress, started: 60, changed: 5, done: done, total: total}
		for _, c := range change {
			c(&s)
		}
		return s
	}
	restore := func(done, total int, change ...func(*spec)) spec {
		s := backup(done, total, change...)
		s.kind = job.Restore
		return s
	}
	moves := func(v []job.Volume) func(*spec) { return func(s *spec) { s.volumes = v } }
	in := func(phase string) func(*spec) { return func(s *spec) { s.phase = phase } }
	other := func(kind job.Kind, phase string) []spec {
		return []spec{{name: "other", kind: kind, phase: phase, started: 90, changed: 30, done: 1, total: 9}}
	}
	backups := func(e *World) {
		e.BackupVolumeCounts, e.GroupSnapshotBackups = map[string]int{"nightly": 4}, map[string]bool{"nightly": true}
	}
	hook := velero.JobLog{
		Hook: velero.LoggedHook{At: minutesAgo(10), Pod: "shop/db-0", Phase: "pre", Timeout: 30 * time.Minute},
	}
	return []waitCase{
		{
			"in the queue",
			spec{phase: velero.PhaseQueued, position: 1, total: -1, created: 20, changed: 20},
			with(),
			seen,
			other(job.Backup, velero.PhaseInProgress),
			"*Queue",
		},
		{
			"before the queue",
			spec{phase: velero.PhaseNew, total: -1, created: 20, changed: 20},
			with(version17("v1.17.2")),
			seen,
			other(job.Backup, velero.PhaseInProgress),
			"*Worker",
		},
		{
			"a new restore",
			spec{kind: job.Restore, total: -1, created: 20, changed: 20},
			with(),
			seen,
			other(job.Restore, velero.PhaseInProgress),
			"*Worker",
		},

		{"a backup lists", backup(0, -1), with(), seen, nil, "Listing Hook ItemAction"},
		{"a backup waits for a snapshot", backup(1, 9, func(s *spec) {
			s.backup = func(b *veleroapi.Backup) { b.Spec.CSISnapshotTimeout.Duration = 10 * time.Minute }
		}), with(), JobEvidence{PendingSnapshots: []PendingSnapshot{{Name: "shop/s", Created: minutesAgo(4)}}}, nil, "Hook *Snapshot@6! ItemAction"},
		{"a backup runs a hook", backup(1, 9), with(), JobEvidence{ServerLog: hook}, nil, "*Hook@20! ItemAction"},
		{
			"a backup waits for pod volumes before hooks",
			backup(1, 9, moves(pvb(velero.VolumeInProgress))),
			with(),
			seen,
			nil,
			"Hook ItemAction *PodVolumes@210!",
		},
		{
			"the same before 1.16",
			backup(1, 9, moves(pvb(velero.VolumeInProgress))),
			with(version17("v1.15.2")),
			seen,
			nil,
			"Hook ItemAction",
		},
		{"a backup makes a repository", backup(1, 9), with(unready), seen, nil, "Hook ItemAction *Repository@5"},
		{"a backup waits for a lock", backup(1, 9), with(ready, deletes), seen, nil, "Hook ItemAction *RepositoryLock"},
		{
			"a backup waits for maintenance at 1.15",
			backup(1, 9),
			with(ready, version17("v1.15.2")),
			seen,
			nil,
			"Hook ItemAction RepositoryLock",
		},
		{
			"a backup waits for a cancelled volume at 1.17, items left",
			backup(1, 9, moves(pvb(velero.VolumeCanceled))),
			with(version17("v1.17.1")),
			seen,
			nil,
			"Hook ItemAction CancelledPodVolumes@210!",
		},

		{
			"a restore reads",
			restore(0, -1),
			with(),
			JobEvidence{LogChecked: true},
			nil,
			"Download Namespace@5 ItemAction CustomResourceDefinition@5 AdditionalItems@5",
		},
		{
			"a restore waits for caches",
			restore(0, -1),
			with(),
			JobEvidence{NamespacesChecked: true, LogChecked: true, ServerLog: line("waiting informer cache sync ...")},
			nil,
			"Download *CacheSync ItemAction CustomResourceDefinition@5 AdditionalItems@5",
		},
		{
			"a restore waits for a namespace",
			restore(1, 9),
			with(),
			JobEvidence{NamespacesChecked: true, TerminatingNamespaces: []string{"shop"}},
			nil,
			"*Namespace@5 ItemAction CustomResourceDefinition@5 AdditionalItems@5",
		},
		{"a restore makes a repository", restore(9, 9), with(unready), seen, nil, "*Repository@5 Storing LastPatch"},
		{
			"a restore waits for a lock",
			restore(9, 9),
			with(ready, deletes),
			seen,
			nil,
			"*RepositoryLock Storing LastPatch",
		},

		{
			"volumes of a backup before 1.18.3",
			backup(9, 9, moves(pvb(velero.VolumeInProgress))),
			with(version17("v1.18.2")),
			seen,
			nil,
			"*PodVolumes@210!",
		},
		{
			"volumes of a backup",
			backup(9, 9, moves(pvb(velero.VolumeInProgress))),
			with(),
			seen,
			nil,
			"*PodVolumes@210",
		},
		{
			"volumes of a restore",
			restore(9, 9, moves(pvr(velero.VolumeInProgress))),
			with(),
			seen,
			nil,
			"*PodVolumes@210!",
		},
		{
			"a cancelled volume at 1.18.2",
			backup(9, 9, moves(pvb(velero.VolumeCanceled))),
			with(version17("v1.18.2")),
			seen,
			nil,
			"*CancelledPodVolumes@210! Storing LastPatch",
		},
		{
			"a cancelled volume at 1.16",
			backup(9, 9, moves(pvb(velero.VolumeCanceled))),
			with(version17("v1.16.2")),
			seen,
			nil,
			"Storing LastPatch",
		},
		{"a cancelled volume", backup(9, 9, moves(pvb(velero.VolumeCanceled))), with(), seen, nil, "Storing LastPatch"},
		{"a backup stores", backup(9, 9), with(), seen, nil, "Storing LastPatch"},
		{"a backup is stored", backup(9, 9), with(), JobEvidence{StoredAt: minutesAgo(2)}, nil, "LastPatch@1.6!"},
		{
			"a restore stores, and a volume may be deleted",
			restore(9, 9, moves(pvr(velero.VolumeCompleted))),
			with(),
			seen,
			nil,
			"PodVolumes@210! Storing LastPatch",
		},
		{
			"a restore is stored",
			restore(9, 9, moves(pvr(velero.VolumeCompleted))),
			with(),
			JobEvidence{StoredAt: minutesAgo(2)},
			nil,
			"LastPatch@1.6!",
		},

		{"operations of a backup", backup(9, 9, in(velero.PhaseWaitingForPluginOperations)), with(), seen, nil, "Operations@235!236.2"},
		{"operations of a restore", restore(9, 9, in(velero.PhaseWaitingForPluginOperations), func(s *spec) {
			s.restore = func(r *veleroapi.Restore) { r.Spec.ItemOperationTimeout = metav1.Duration{Duration: time.Hour} }
		}), with(), seen, nil, "Operations@55!56.2"},

		{"a backup is finalized", backup(9, 9, in(velero.PhaseFinalizing)), with(), seen, nil, "Store LastPatch"},
		{
			"a backup with operations is finalized",
			backup(9, 9, in(velero.PhaseFinalizing), func(s *spec) { s.ops = [3]int{2, 2, 0} }),
			with(),
			seen,
			nil,
			"*Rewriting Store LastPatch",
		},
		{
			"a backup is finalized behind another",
			backup(9, 9, in(velero.PhaseFinalizing)),
			with(),
			seen,
			other(job.Backup, velero.PhaseFinalizing),
			"*Finalizer Store LastPatch",
		},
		{
			"a restore is finalized",
			restore(9, 9, in(velero.PhaseFinalizing)),
			with(),
			seen,
			nil,
			"Binding@5 RestoreHooks@15 Store LastPatch",
		},
		{
			"a restore is finalized at 1.18.2",
			restore(9, 9, in(velero.PhaseFinalizing)),
			with(version17("v1.18.2")),
			seen,
			nil,
			"Binding@5 RestoreHooks Store LastPatch",
		},
		{
			"a restore of four volumes and groups",
			restore(9, 9, in(velero.PhaseFinalizing)),
			with(backups),
			seen,
			nil,
			"*Binding@15! GroupSnapshots@35! RestoreHooks@25! Store LastPatch",
		},
		{
			"the same at 1.17",
			restore(9, 9, in(velero.PhaseFinalizing)),
			with(backups, version17("v1.17.2")),
			seen,
			nil,
			"*Binding@15! RestoreHooks Store LastPatch",
		},
		{
			"a restore is finalized behind another",
			restore(9, 9, in(velero.PhaseFinalizing)),
			with(),
			seen,
			other(job.Restore, velero.PhaseFinalizing),
			"*Finalizer Binding RestoreHooks Store LastPatch",
		},

		{
			"a backup is deleted",
			backup(9, 9, in(velero.PhaseDeleting)),
			with(deletion("InProgress")),
			seen,
			nil,
			"*Deletion",
		},
	}
}

// differing are the cases that come out otherwise by a table, nil if none does.
func differing(t *testing.T, table []velero.PossibleWait) (wrong []string) {
	t.Helper()
	for _, c := range waitCases() {
		c.job.name = "crm-old"
		j := c.job.job(t)
		c.s.Jobs = append(jobs(t, c.more...), j)
		c.s.WaitTable, c.s.Evidence = table, map[types.UID]JobEvidence{j.UID: c.e}
		a := &jobJudge{j: j, world: &c.s}
		var got []string
		for _, w := range a.likelyWaits() {
			text := string(w.row.Name)
			if w.isConfirmed {
				text = "*" + text
			}
			if !w.limitAt.IsZero() {
				text += "@" + minutes(w.limitAt)
			}
			switch {
			case w.latestAt.IsZero():
			case w.latestAt.Equal(w.limitAt):
				text += "!"
			default:
				text += "!" + minutes(w.latestAt)
			}
			got = append(got, text)
		}
		if text := strings.Join(got, " "); text != c.want {
			wrong = append(wrong, fmt.Sprintf("%s: it waits for %q, want %q", c.name, text, c.want))
		}
	}
	return wrong
}

func TestWaits(t *testing.T) {
	for _, w := range differing(t, velero.WaitTable()) {
		t.Error(w)
	}
}

// Each row of the table matters: without it, with twice its limit, counted from
// another moment, or in other versions, a case that was worked out by hand fails.
func TestEachWaitMatters(t *testing.T) {
	mutations := map[string]func(*velero.PossibleWait) bool{
		"limit doubled": func(w *velero.PossibleWait) bool {
			of := w.Limit.Length
			if of == nil {
				return false
			}
			w.Limit.Length = func(o metav1.Object, f velero.ServerFlags) time.Duration { return 2 * of(o, f) }
			return true
		},
		"limit dropped": func(w *velero.PossibleWait) bool {
			was := w.Limit.Length != nil
			w.Limit.Length = nil
			return was
		},
		"delay dropped": func(w *velero.PossibleWait) bool {
			was := w.Limit.EffectDelay != nil
			w.Limit.EffectDelay = nil
			return was
		},
		"taken for an end": func(w *velero.PossibleWait) bool {
			was := w.Limit.ContinuesAfter
			w.Limit.ContinuesAfter = false
			return was
		},
		"starting moment shifted": func(w *velero.PossibleWait) bool {
			if w.Limit.Length == nil {
				return false
			}
			if w.LimitStart == velero.FromStart {
				w.LimitStart = velero.FromMovement
			} else {
				w.LimitStart = velero.FromStart
			}
			return true
		},
		"a limit invented": func(w *velero.PossibleWait) bool {
			if w.Limit.Setting != "" || w.LimitStart == "" {
				return false
			}
			w.Limit = velero.WaitLimit{Setting: "resource-timeout", Length: velero.ResourceTimeout}
			w.LimitStart = velero.FromMovement
			return true
		},
		"since the next version": func(w *velero.PossibleWait) bool { w.Since = velero.Version{1, 19, 0}; return true },
		"before dropped": func(w *velero.PossibleWait) bool {
			was := w.Before != velero.Version{}
			w.Before = velero.Version{}
			return was
		},
		"since dropped": func(w *velero.PossibleWait) bool {
			was := w.Since != velero.Version{} && w.Name != velero.WaitQueue
			w.Since = velero.Version{}
			return was
		},
	}
	tried := 0
	check := func(what string, row velero.PossibleWait, table []velero.PossibleWait) {
		tried++
		if differing(t, table) == nil {
			t.Errorf("%s of %s %v, %s: no case differs", row.Name, row.JobKind, row.Steps, what)
		}
	}
	for i, row := range velero.WaitTable() {
		check("removed", row, slices.Delete(velero.WaitTable(), i, i+1))
		for what, mutate := range mutations {
			table := velero.WaitTable()
			if mutate(&table[i]) {
				check(what, row, table)
			}
		}
	}
	t.Logf("%d mutations of %d rows", tried, len(velero.WaitTable()))
}
