package job

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// with changes a healthy cluster.
func with(change ...func(*Surroundings)) Surroundings {
	s := healthy()
	for _, c := range change {
		c(&s)
	}
	return s
}

func restarted(minutes float64) func(*Surroundings) {
	return func(s *Surroundings) {
		s.Server.StartedAt, s.Server.Restarts = minutesAgo(minutes), 1
		s.Server.LastTermination, s.Server.LastTerminationAt = "OOMKilled", minutesAgo(minutes)
	}
}

func allVolumes(s *Surroundings) { s.VolumesKnown = true }

func other(v Volume) func(*Surroundings) {
	return func(s *Surroundings) { s.Volumes = append(s.Volumes, v) }
}

func moverOf(v Volume, phase MoverPhase) func(*Surroundings) {
	return func(s *Surroundings) { s.Movers = map[VolumeRef]MoverPhase{v.Ref(): phase} }
}

func foreign(v Volume) Volume { v.DataMover = "storvault"; return v }

func serverDown(minutes float64) func(*Surroundings) {
	return func(s *Surroundings) {
		s.Server.Running, s.Server.Ready, s.Server.Waiting = false, false, "CrashLoopBackOff"
		s.Server.LastTerminationAt = minutesAgo(minutes)
	}
}

func version17(tag string) func(*Surroundings) {
	return func(s *Surroundings) { s.Server.Version = tag }
}

func noAgents(s *Surroundings)   { s.NodeAgents = nil }
func noPods(s *Surroundings)     { s.Server = Server{}; s.NodeAgents = nil }
func staleSince(s *Surroundings) { s.StaleSince = minutesAgo(1) }
func unavailable(s *Surroundings) {
	s.Locations = map[string]Location{"default": {Name: "default", Phase: "Unavailable", Message: "connection refused"}}
}

func TestVerdicts(t *testing.T) {
	pvr := func(phase string, done, total int64, created, changed float64) []Volume {
		return []Volume{volume(PodVolumeRestore, "data", phase, done, total, created, changed)}
	}
	hooks := func(r *velerov1.Restore) {
		r.Spec.Hooks.Resources = []velerov1.RestoreResourceHookSpec{{Name: "hook"}}
	}
	for _, c := range []struct {
		name string
		job  spec
		s    Surroundings
		more []spec
		want State
		says string
	}{
		{"items move", spec{phase: PhaseInProgress, started: 5, changed: 0.1, done: 40, total: 100}, with(), nil,
			Progressing, "40 of 100 items"},
		{"items quiet for a while", spec{phase: PhaseInProgress, started: 9, changed: 4, done: 40, total: 100}, with(), nil,
			Quiet, "40 of 100 items, quiet for 4m; one slow item can take 10m"},
		{"items quiet for too long", spec{phase: PhaseInProgress, started: 90, changed: 70, done: 40, total: 100}, with(), nil,
			Stuck, "quiet for 1h10m, longer than Velero waits for any item"},
		{"a longer snapshot time-out is no reason to cry", spec{phase: PhaseInProgress, started: 90, changed: 70, done: 40, total: 100,
			backup: func(b *velerov1.Backup) { b.Spec.CSISnapshotTimeout.Duration = 2 * time.Hour }}, with(), nil, Quiet, "40 of 100"},
		{"collecting", spec{phase: PhaseInProgress, started: 20, changed: 20, total: -1}, with(), nil, Quiet, "no count after 20m"},
		{"collecting for ever", spec{phase: PhaseInProgress, started: 80, changed: 80, total: -1}, with(), nil, Stuck, "no count after 1h20m"},
		{"results are being stored", spec{phase: PhaseInProgress, started: 9, changed: 3, done: 140, total: 140}, with(), nil,
			Quiet, "all 140 items backed up, quiet for 3m; Velero stores logs and results now"},
		{"lost final patch", spec{phase: PhaseInProgress, kind: Restore, started: 60, changed: 41, done: 140, total: 140}, with(), nil,
			Stuck, "all 140 items restored, phase never moved on for 41m; its last status patch was probably lost"},
		{"store away while results should be stored", spec{phase: PhaseInProgress, started: 60, changed: 41, done: 140, total: 140, location: "default"},
			with(unavailable), nil, Stuck, "storage location default is unavailable"},
		{"orphaned", spec{phase: PhaseInProgress, started: 60, changed: 50, done: 14, total: 140}, with(restarted(42)), nil,
			Orphaned, "Velero restarted 42m ago (OOMKilled), after this job began; nobody works on it"},
		{"just restarted", spec{phase: PhaseInProgress, started: 60, changed: 2, done: 14, total: 140}, with(restarted(1)), nil,
			Waiting, "Velero restarted 1m ago, it will mark this job Failed in a moment"},
		{"rolling update, the old server works on", spec{phase: PhaseInProgress, started: 60, changed: 0.2, done: 14, total: 140}, with(restarted(20)), nil,
			Progressing, "14 of 140 items"},
		{"orphaned though a volume moves", spec{phase: PhaseInProgress, kind: Restore, started: 60, changed: 50, done: 140, total: 140,
			volumes: pvr(volumeInProgress, 5, 10, 55, 0.1)}, with(restarted(42)), nil, Orphaned, "nobody works on it"},
		{"server down", spec{phase: PhaseInProgress, started: 60, changed: 50, done: 14, total: 140}, with(serverDown(42)), nil,
			Stuck, "no Velero server runs (CrashLoopBackOff); when it is back it marks this Failed"},
		{"server down for a moment", spec{phase: PhaseInProgress, started: 60, changed: 50, done: 14, total: 140}, with(serverDown(1)), nil,
			Waiting, "not up at the moment"},
		{"server down, operations", spec{phase: PhaseWaiting, started: 60, changed: 50, done: 14, total: 14, ops: [3]int{2, 0, 0}}, with(serverDown(42)), nil,
			Stuck, "nothing moves until it is back"},
		{"stale", spec{phase: PhaseInProgress, started: 5, changed: 0.1, done: 40, total: 100}, with(staleSince), nil,
			Unknown, "cannot tell, nothing heard from the cluster for 1m; last seen: 40 of 100 items"},
		{"no pods to see, quiet", spec{phase: PhaseInProgress, started: 60, changed: 41, done: 140, total: 140}, with(noPods), nil,
			Unknown, "quiet for 41m; whether Velero works on it cannot be told"},
		{"no pods to see, but it moves", spec{phase: PhaseInProgress, started: 60, changed: 0.2, done: 14, total: 140}, with(noPods), nil,
			Progressing, "14 of 140"},
		{"no pods to see, a volume moves", spec{phase: PhaseInProgress, kind: Restore, started: 60, changed: 9, done: 140, total: 140,
			volumes: pvr(volumeInProgress, 5<<30, 10<<30, 9, 0.1)}, with(noPods), nil, Progressing, "items done; 5.0G of 10.0G in 1 volume"},
		{"no pods to see, behind one that moves", spec{kind: Restore, created: 9, changed: 9, total: -1}, with(noPods),
			[]spec{{name: "other", kind: Restore, phase: PhaseInProgress, started: 10, changed: 0.1, done: 1, total: 9}}, Waiting, "waits for other"},
		{"stale and moving", spec{phase: PhaseInProgress, started: 60, changed: 0.2, done: 14, total: 140}, with(noPods, staleSince), nil,
			Unknown, "cannot tell"},

		{"a data upload moves, but the items do not", spec{phase: PhaseInProgress, started: 90, changed: 80, done: 9, total: 9,
			volumes: []Volume{volume(DataUpload, "du", volumeInProgress, 1<<30, 2<<30, 85, 0.1)}}, with(), nil,
			Stuck, "its last status patch was probably lost"},
		{"volume moves", spec{phase: PhaseInProgress, kind: Restore, started: 20, changed: 15, done: 9, total: 9,
			volumes: pvr(volumeInProgress, 4<<30, 8<<30, 15, 0.1)}, with(), nil, Progressing, "4.0G of 8.0G in 1 volume"},
		{"volume not begun", spec{phase: PhaseInProgress, kind: Restore, started: 20, changed: 5, done: 9, total: 9,
			volumes: pvr(volumeNew, 0, 0, 5, 5)}, with(), nil, Waiting, "items done; 1 volume not begun for 5m; Velero gives up at 15:40 UTC"},
		{"no node-agent", spec{phase: PhaseInProgress, kind: Restore, started: 20, changed: 5, done: 9, total: 9,
			volumes: pvr(volumeNew, 0, 0, 5, 5)}, with(noAgents), nil, Stuck, "1 volume to be moved, and no node-agent runs; Velero gives up at 15:40 UTC"},
		{"no node-agent, just made", spec{phase: PhaseInProgress, kind: Restore, started: 20, changed: 3, done: 9, total: 9,
			volumes: pvr(volumeNew, 0, 0, 1, 3)}, with(noAgents), nil, Waiting, "not begun"},
		{"no node-agent on its node", spec{phase: PhaseInProgress, started: 20, changed: 5, done: 9, total: 9,
			volumes: []Volume{{Kind: PodVolumeBackup, Name: "v", Phase: volumeNew, Node: "b", Target: "shop/db:data", Created: minutesAgo(5), Changed: minutesAgo(5)}}},
			with(), nil, Stuck, "volume shop/db:data is on node b, where no node-agent runs"},
		{"volume stands still", spec{phase: PhaseInProgress, kind: Restore, started: 60, changed: 50, done: 9, total: 9,
			volumes: pvr(volumeInProgress, 4<<30, 8<<30, 50, 20)}, with(), nil, Quiet, "1 volume in progress, no new bytes for 20m"},
		{"volume silent for long, its pods not looked at", spec{phase: PhaseInProgress, kind: Restore, started: 90, changed: 80, done: 9, total: 9,
			volumes: pvr(volumeInProgress, 4<<30, 8<<30, 80, 70)}, with(), nil, Quiet, "no new bytes for 1h10m"},
		{"volume silent for long, its mover runs", spec{phase: PhaseInProgress, kind: Restore, started: 90, changed: 80, done: 9, total: 9,
			volumes: pvr(volumeInProgress, 4<<30, 8<<30, 80, 70)}, with(allVolumes, moverOf(pvr(volumeInProgress, 4<<30, 8<<30, 80, 70)[0], MoverRunning)), nil, Quiet, "no new bytes for 1h10m"},
		{"volume silent for long, its mover is gone", spec{phase: PhaseInProgress, kind: Restore, started: 90, changed: 80, done: 9, total: 9,
			volumes: pvr(volumeInProgress, 4<<30, 8<<30, 80, 70)}, with(allVolumes), nil, Stuck, "no pod moves it any more"},
		{"volume that its node-agent lost track of", spec{phase: PhaseInProgress, kind: Restore, started: 90, changed: 80, done: 9, total: 9,
			volumes: pvr(volumeInProgress, 4<<30, 8<<30, 80, 70)}, with(allVolumes, moverOf(pvr(volumeInProgress, 4<<30, 8<<30, 80, 70)[0], MoverSucceeded)), nil, Stuck, "lost track of it"},
		{"upload waits for a slot that another backup has", spec{phase: PhaseWaiting, started: 60, changed: 50, done: 9, total: 9, ops: [3]int{1, 0, 0},
			volumes: []Volume{volume(DataUpload, "du", volumePrepared, 0, 0, 50, 45)}},
			with(allVolumes, other(volume(DataUpload, "of-another-backup", volumeInProgress, 1, 9, 90, 1))), nil, Waiting, "may hold the slot"},
		{"upload waits in New while others are prepared", spec{phase: PhaseWaiting, started: 60, changed: 50, done: 9, total: 9, ops: [3]int{1, 0, 0},
			volumes: []Volume{volume(DataUpload, "du", volumeNew, 0, 0, 50, 50)}},
			with(allVolumes, other(volume(DataDownload, "of-a-restore", volumePrepared, 1, 9, 90, 60))), nil, Waiting, "may hold the slot"},
		{"upload waits, and not all volumes are known", spec{phase: PhaseWaiting, started: 60, changed: 50, done: 9, total: 9, ops: [3]int{1, 0, 0},
			volumes: []Volume{volume(DataUpload, "du", volumePrepared, 0, 0, 50, 45)}}, with(), nil, Quiet, "it may wait for a slot"},
		{"upload that nobody takes up", spec{phase: PhaseWaiting, started: 60, changed: 50, done: 9, total: 9, ops: [3]int{1, 0, 0},
			volumes: []Volume{volume(DataUpload, "du", volumeNew, 0, 0, 50, 50)}}, with(allVolumes), nil, Stuck, "its slot is free"},
		{"upload of a third-party mover, without node-agents", spec{phase: PhaseWaiting, started: 75, changed: 69, done: 9, total: 9, ops: [3]int{1, 0, 0},
			volumes: []Volume{foreign(volume(DataUpload, "du", volumeNew, 0, 0, 70, 70))}}, with(allVolumes, noAgents), nil, Quiet, "1 volume not begun"},
		{"volumes past Velero's limit", spec{phase: PhaseInProgress, kind: Restore, started: 60, changed: 50, done: 9, total: 9,
			volumes: pvr(volumeInProgress, 4<<30, 8<<30, 50, 20),
			restore: func(r *velerov1.Restore) { r.Annotations = map[string]string{"velero.io/pod-volume-timeout": "30m"} }}, with(), nil,
			Stuck, "1 volume not ended 30m after Velero's own limit"},
		{"cancelled volume, version with the bug", spec{phase: PhaseInProgress, started: 20, changed: 5, done: 9, total: 9,
			volumes: []Volume{volume(PodVolumeBackup, "v", volumeCanceled, 0, 9, 9, 5)}}, with(version17("v1.17.1")), nil,
			Stuck, "hangs on a cancelled volume (Velero issue 9464); Velero gives up at 15:40 UTC"},
		{"cancelled volume, version unknown", spec{phase: PhaseInProgress, started: 20, changed: 5, done: 9, total: 9,
			volumes: []Volume{volume(PodVolumeBackup, "v", volumeCanceled, 0, 9, 9, 5)}}, with(version17("main")), nil,
			Stuck, "may hang on a cancelled volume"},
		{"cancelled volume, version before the bug", spec{phase: PhaseInProgress, started: 20, changed: 4, done: 9, total: 9,
			volumes: []Volume{volume(PodVolumeBackup, "v", volumeCanceled, 0, 9, 9, 4)}}, with(version17("v1.16.2")), nil, Quiet, "all 9 items backed up"},
		{"cancelled volume, fixed version", spec{phase: PhaseInProgress, started: 20, changed: 4, done: 9, total: 9,
			volumes: []Volume{volume(PodVolumeBackup, "v", volumeCanceled, 0, 9, 9, 4)}}, with(), nil, Quiet, "all 9 items backed up"},

		{"operations wait", spec{phase: PhaseWaiting, kind: Restore, started: 60, changed: 50, done: 9, total: 9, ops: [3]int{5, 1, 1}}, with(), nil,
			Waiting, "waits for 3 of 5 operations; Velero gives up at 15:10 UTC (itemOperationTimeout)"},
		{"operations past their limit", spec{phase: PhaseWaiting, kind: Restore, started: 300, changed: 280, done: 9, total: 9, ops: [3]int{5, 0, 0}}, with(), nil,
			Stuck, "5 operations not ended 40m after Velero's own limit"},
		{"operations all ended", spec{phase: PhaseWaitingPartly, started: 60, changed: 20, done: 9, total: 9, ops: [3]int{5, 3, 2}}, with(), nil,
			Stuck, "all 5 operations ended, phase never moved on for 20m"},
		{"data upload moves", spec{phase: PhaseWaiting, started: 60, changed: 50, done: 9, total: 9, ops: [3]int{1, 0, 0},
			volumes: []Volume{volume(DataUpload, "du", volumeInProgress, 1<<30, 2<<30, 50, 0.1)}}, with(), nil, Progressing, "1.0G of 2.0G"},
		{"data upload moves though the store is away", spec{phase: PhaseWaiting, started: 60, changed: 50, done: 9, total: 9, ops: [3]int{1, 0, 0}, location: "default",
			volumes: []Volume{volume(DataUpload, "du", volumeInProgress, 1<<30, 2<<30, 50, 0.1)}}, with(unavailable), nil, Progressing, "1.0G"},
		{"operations, store away", spec{phase: PhaseWaiting, started: 60, changed: 50, done: 9, total: 9, ops: [3]int{1, 0, 0}, location: "default"}, with(unavailable), nil,
			Stuck, "waits for operations, but storage location default is unavailable"},
		{"data upload without node-agent", spec{phase: PhaseWaiting, started: 60, changed: 50, done: 9, total: 9, ops: [3]int{1, 0, 0},
			volumes: []Volume{volume(DataUpload, "du", volumeNew, 0, 0, 50, 50)}}, with(noAgents), nil, Stuck, "no node-agent runs"},

		{"finalizing", spec{phase: PhaseFinalizing, kind: Restore, started: 60, changed: 0.2, done: 9, total: 9}, with(), nil, Progressing, "Velero finalizes"},
		{"finalizing for a while", spec{phase: PhaseFinalizing, kind: Restore, started: 60, changed: 6, done: 9, total: 9}, with(), nil,
			Waiting, "finalizing for 6m; Velero waits for volumes to be bound and for hooks"},
		{"finalizing with hooks for too long", spec{phase: PhaseFinalizing, kind: Restore, started: 90, changed: 40, done: 9, total: 9, restore: hooks}, with(), nil,
			Stuck, "finalizing for 40m; its hooks may never end"},
		{"finalizing for too long", spec{phase: PhaseFinalizingPartly, kind: Restore, started: 90, changed: 40, done: 9, total: 9}, with(), nil,
			Stuck, "hooks in annotations of pods were not looked at"},
		{"backup finalizing for too long", spec{phase: PhaseFinalizing, started: 90, changed: 40, done: 9, total: 9}, with(), nil,
			Stuck, "finalizing for 40m, which takes seconds as a rule"},
		{"finalizing behind another", spec{phase: PhaseFinalizing, started: 90, changed: 40, done: 9, total: 9}, with(),
			[]spec{{name: "first", phase: PhaseFinalizing, started: 200, changed: 100, done: 1, total: 1}}, Stuck, "maybe behind first"},
		{"finalizing, store away", spec{phase: PhaseFinalizingPartly, kind: Restore, started: 60, changed: 6, done: 9, total: 9}, with(unavailable), nil,
			Stuck, "waits to be finalized: storage location default is unavailable"},

		{"finalizing, one store of two away", spec{phase: PhaseFinalizing, kind: Restore, started: 60, changed: 6, done: 9, total: 9}, with(unavailable,
			func(s *Surroundings) { s.Locations["other"] = Location{Name: "other", Phase: "Available"} }), nil,
			Stuck, "storage location default is unavailable, where its backup may lie"},
		{"finalizing, another store away", spec{phase: PhaseFinalizing, location: "mine", started: 60, changed: 3, done: 9, total: 9}, with(unavailable), nil,
			Waiting, "finalizing for 3m"},
		{"queued behind a running one", spec{phase: PhaseQueued, position: 1, total: -1, created: 20, changed: 20}, with(),
			[]spec{{name: "other", phase: PhaseInProgress, started: 30, changed: 0.1, done: 1, total: 9}}, Waiting, "waits for other: one backup at a time"},
		{"second in line", spec{phase: PhaseQueued, position: 2, total: -1, created: 20, changed: 20}, with(),
			[]spec{{name: "other", phase: PhaseInProgress, started: 30, changed: 0.1, done: 1, total: 9}}, Waiting, "2nd in line; waits for other"},
		{"queued behind a stuck one", spec{phase: PhaseQueued, position: 1, total: -1, created: 20, changed: 20}, with(),
			[]spec{{name: "other", phase: PhaseInProgress, started: 90, changed: 80, done: 9, total: 9}}, Stuck, "waits for other, which is stuck"},
		{"queued behind an orphan", spec{phase: PhaseQueued, position: 1, total: -1, created: 20, changed: 20}, with(restarted(30)),
			[]spec{{name: "other", phase: PhaseInProgress, started: 90, changed: 80, done: 9, total: 19}}, Stuck, "waits for other, which is orphaned"},
		{"queued behind one behind a stuck one", spec{phase: PhaseQueued, position: 2, total: -1, created: 20, changed: 20, includes: []string{"x"}},
			with(func(s *Surroundings) { s.Server.ConcurrentBackups = 3 }), []spec{
				{name: "other", phase: PhaseInProgress, started: 90, changed: 80, done: 9, total: 9, includes: []string{"y"}},
				{name: "between", phase: PhaseQueued, position: 1, total: -1, created: 20, changed: 20, includes: []string{"x", "y"}}},
			Stuck, "waits for other, which is stuck"},
		{"queue stalled", spec{phase: PhaseQueued, position: 1, total: -1, created: 20, changed: 20}, with(), nil,
			Stuck, "queue stalled: free to start for 20m, but Velero starts nothing"},
		{"queue moves in a moment", spec{phase: PhaseQueued, position: 1, total: -1, created: 20, changed: 20},
			with(func(s *Surroundings) { s.LastEnded = minutesAgo(0.5) }), nil, Waiting, "free to start"},
		{"queue after a restart", spec{phase: PhaseQueued, position: 1, total: -1, created: 20, changed: 20}, with(restarted(1)), nil, Waiting, "free to start"},
		{"ready to start", spec{phase: PhaseReadyToStart, total: -1, created: 1, changed: 0.5}, with(), nil, Waiting, "about to start"},
		{"ready to start for long", spec{phase: PhaseReadyToStart, total: -1, created: 20, changed: 20}, with(), nil, Stuck, "ready to start for 20m"},
		{"ready to start, forgotten", spec{phase: PhaseReadyToStart, total: -1, created: 20, changed: 20}, with(restarted(10)), nil,
			Orphaned, "was about to start when Velero restarted 10m ago; Velero has forgotten it"},
		{"ready to start, just restarted", spec{phase: PhaseReadyToStart, total: -1, created: 20, changed: 20}, with(restarted(1)), nil,
			Waiting, "ready to start; Velero restarted 1m ago"},
		{"ready to start, server down", spec{phase: PhaseReadyToStart, total: -1, created: 20, changed: 20}, with(serverDown(10)), nil,
			Stuck, "no Velero server runs (CrashLoopBackOff); it will not start by itself afterwards"},
		{"new restore", spec{kind: Restore, total: -1, created: 1, changed: 1}, with(), nil, Waiting, "not yet taken up"},
		{"new restore behind another", spec{kind: Restore, phase: PhaseNew, total: -1, created: 9, changed: 9}, with(),
			[]spec{{name: "other", kind: Restore, phase: PhaseInProgress, started: 10, changed: 0.1, done: 1, total: 9}},
			Waiting, "waits for other: Velero runs one restore at a time"},
		{"new restore and nobody runs", spec{kind: Restore, phase: PhaseNew, total: -1, created: 12, changed: 12}, with(), nil,
			Stuck, "new for 12m and no restore runs; Velero's only restore worker may hang"},
		{"new backup that nobody takes up", spec{total: -1, created: 12, changed: 12}, with(), nil, Stuck, "new for 12m, and Velero has not taken it up"},

		{"deleting", spec{phase: PhaseDeleting, started: 90, changed: 3, done: 9, total: 9}, with(), nil, Waiting, "being deleted for 3m"},
		{"deletion failed", spec{phase: PhaseDeleting, started: 90, changed: 30, done: 9, total: 9}, with(), nil, Stuck, "deletion began 30m ago"},
		{"a phase of the future", spec{phase: "Verifying", started: 90, changed: 3, done: 9, total: 9}, with(), nil, Unknown, "phase Verifying is not known to this veltui"},

		{"completed", spec{phase: PhaseCompleted, started: 60, ended: 58.5, changed: 58, done: 402, total: 402}, with(), nil, "", "Completed in 1m30s, 402 items"},
		{"completed, stale", spec{phase: PhaseCompleted, started: 60, ended: 58.5, changed: 58, done: 402, total: 402}, with(staleSince, noPods), nil, "", "Completed in 1m30s"},
		{"completed with warnings", spec{phase: PhaseCompleted, started: 60, ended: 59, changed: 58, done: 1, total: 1, warnings: 1}, with(), nil, "", "Completed in 1m, 1 item, 1 warning"},
		{"completed, but volumes failed", spec{phase: PhaseCompleted, started: 60, ended: 58, changed: 58, done: 9, total: 9, volumes: []Volume{
			volume(PodVolumeBackup, "a", volumeFailed, 0, 9, 60, 58), volume(PodVolumeBackup, "b", volumeCompleted, 9, 9, 60, 58)}}, with(), nil,
			"", "Completed, but 1 of its 2 volumes failed, 9 items"},
		{"failed, but a volume goes on", spec{phase: PhaseFailed, started: 60, ended: 58, changed: 58, done: 9, total: 9, reason: "no",
			volumes: []Volume{volume(DataUpload, "a", volumeInProgress, 0, 9, 60, 58)}}, with(), nil,
			"", "Failed after 2m at 9 of 9 items: no; 1 of its 1 volume not ended"},
		{"completed, being deleted", spec{phase: PhaseCompleted, kind: Restore, started: 60, ended: 58, changed: 58, done: 9, total: 9,
			restore: func(r *velerov1.Restore) {
				at := metav1.NewTime(minutesAgo(5))
				r.DeletionTimestamp, r.Finalizers = &at, []string{"restores.velero.io/external-resources-finalizer"}
			}}, with(), nil, "", "Completed in 2m, 9 items; being deleted"},
		{"partially failed", spec{phase: PhasePartiallyFailed, started: 60, ended: 56, changed: 56, done: 88, total: 88, errors: 2, warnings: 5}, with(), nil,
			"", "PartiallyFailed after 4m, 88 items, 2 errors, 5 warnings"},
		{"partially failed without progress", spec{phase: PhasePartiallyFailed, kind: Restore, started: 60, ended: 60, changed: 60, total: -1, errors: 1}, with(), nil,
			"", "PartiallyFailed after 0s, 1 error"},
		{"failed", spec{phase: PhaseFailed, started: 60, ended: 59, changed: 59, done: 117, total: 242, reason: "the store said no"}, with(), nil,
			"", "Failed after 1m at 117 of 242 items: the store said no"},
		{"failed without an end", spec{phase: PhaseFailed, started: 60, changed: 59, total: -1, reason: "no"}, with(), nil, "", "Failed: no"},
		{"failed validation", spec{phase: PhaseFailedValidation, created: 60, total: -1, invalid: []string{"no such namespace"}}, with(), nil,
			"", "FailedValidation: no such namespace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.job.name = "crm-old"
			j := c.job.job(t)
			c.s.Jobs = jobs(t, c.more...)
			if !j.Terminal() {
				c.s.Jobs = append(c.s.Jobs, j)
			}
			checkVerdict(t, j, j.Verdict(c.s), c.want, c.says)
		})
	}
}

func checkVerdict(t *testing.T, j *Job, v Verdict, want State, says string) {
	t.Helper()
	if v.State != want || !strings.Contains(v.Summary, says) {
		t.Errorf("%s: %q, want %s: %q", v.State, v.Summary, want, says)
	}
	if !strings.HasPrefix(v.Summary, j.Name+": ") {
		t.Errorf("summary %q does not name the job", v.Summary)
	}
	if n := utf8.RuneCountInString(v.Summary); n > 110 {
		t.Errorf("summary has %d runes: %q", n, v.Summary)
	}
	if len(v.Facts) == 0 {
		t.Errorf("no facts behind %q", v.Summary)
	}
	for _, f := range v.Facts {
		if f.Text == "" || f.Source == "" {
			t.Errorf("fact %+v lacks its text or source", f)
		}
	}
	if (v.State == Stuck || v.State == Orphaned || v.State == Unknown) && v.Advice == "" {
		t.Errorf("%q comes with no advice", v.Summary)
	}
	if v.State == Progressing && v.Advice != "" {
		t.Errorf("%q comes with advice %q", v.Summary, v.Advice)
	}
}

// What veltui could not look at is named, and does not count as holding.
func TestVerdictNamesWhatItDidNotSee(t *testing.T) {
	lost := spec{name: "crm", kind: Restore, phase: PhaseInProgress, started: 60, changed: 41, done: 140, total: 140}
	for _, c := range []struct {
		s    Surroundings
		want []string
	}{
		{with(), []string{"storage", "schema"}},
		{with(noPods), []string{"pod"}},
		{with(staleSince), []string{"watch"}},
	} {
		v := lost.job(t).Verdict(c.s)
		for _, source := range c.want {
			found := false
			for _, f := range v.Facts {
				found = found || f.Source == source && !f.Holds
			}
			if !found {
				t.Errorf("%q: no open fact from %s in %+v", v.Summary, source, v.Facts)
			}
		}
	}
}

// Only what Velero writes counts as movement: a person who touches an
// annotation does not bring an orphan back to life.
func TestATouchIsNoProgress(t *testing.T) {
	in := spec{name: "crm", phase: PhaseInProgress, started: 60, changed: 50, done: 14, total: 140}.input()
	touched := metav1.NewTime(minutesAgo(1))
	in.Backup.ManagedFields = append(in.Backup.ManagedFields, metav1.ManagedFieldsEntry{Manager: "kubectl-annotate", Time: &touched})
	j := Next(nil, in)
	if !j.Changed.Equal(minutesAgo(1)) {
		t.Errorf("changed %v, want the touch", j.Changed)
	}
	checkVerdict(t, j, j.Verdict(with(restarted(42))), Orphaned, "nobody works on it")
	checkVerdict(t, j, j.Verdict(with()), Stuck, "quiet for 50m")

	later := in
	later.Backup = in.Backup.DeepCopy()
	later.Backup.ResourceVersion = "touched"
	later.Backup.Annotations = map[string]string{"a": "b"}
	j = Next(j, later)
	if !j.Changed.Equal(noon) {
		t.Errorf("changed %v, want when it was seen", j.Changed)
	}
	checkVerdict(t, j, j.Verdict(with()), Stuck, "quiet for 50m")
}
