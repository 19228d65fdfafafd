package diagnosis

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// with changes a healthy cluster.
func with(change ...func(*World)) World {
	s := healthy()
	for _, c := range change {
		c(&s)
	}
	return s
}

func restarted(minutes float64) func(*World) {
	return func(s *World) {
		s.Server.StartedAt, s.Server.Restarts = minutesAgo(minutes), 1
		s.Server.LastTerminationReason, s.Server.LastTerminationAt = "OOMKilled", minutesAgo(minutes)
	}
}

func allVolumes(s *World) { s.VolumesKnown = true }

func another(v job.Volume) func(*World) {
	return func(s *World) { s.Volumes = append(s.Volumes, v) }
}

func moverOf(v job.Volume, phase velero.MoverPhase) func(*World) {
	return func(s *World) { s.MoverPods = map[velero.VolumeRef]velero.Mover{v.Ref(): {Phase: phase}} }
}

func deletion(phase string, errors ...string) func(*World) {
	return func(s *World) {
		s.DeletionRequests = []DeletionRequest{
			{Name: "request", Backup: "crm-old", Phase: phase, Errors: errors, Created: minutesAgo(30)},
		}
	}
}

func foreign(v job.Volume) job.Volume { v.DataMover = "storvault"; return v }

func serverDown(minutes float64) func(*World) {
	return func(s *World) {
		s.Server.Running, s.Server.Ready, s.Server.WaitingReason = false, false, "CrashLoopBackOff"
		s.Server.LastTerminationAt = minutesAgo(minutes)
	}
}

func version17(tag string) func(*World) {
	return func(s *World) { s.Server.Version = tag }
}

func noAgents(s *World)   { s.NodeAgents = nil }
func noPods(s *World)     { s.Server = velero.Server{}; s.NodeAgents = nil }
func staleSince(s *World) { s.StaleSince = minutesAgo(1) }
func unavailable(s *World) {
	s.Locations = map[string]LocationStatus{"default": {Name: "default", Phase: "Unavailable", Message: "connection refused"}}
}

func TestVerdicts(t *testing.T) {
	pvr := func(phase string, done, total int64, created, changed float64) []job.Volume {
		return []job.Volume{volume(velero.PodVolumeRestore, "data", phase, done, total, created, changed)}
	}
	hooks := func(r *veleroapi.Restore) {
		r.Spec.Hooks.Resources = []veleroapi.RestoreResourceHookSpec{{Name: "hook"}}
	}
	for _, c := range []struct {
		name   string
		job    spec
		s      World
		more   []spec
		want   State
		reason Reason
	}{
		{"items move", spec{phase: velero.PhaseInProgress, started: 5, changed: 0.1, done: 40, total: 100}, with(), nil,
			Progressing, ItemsMoving},
		{"items quiet for a while", spec{phase: velero.PhaseInProgress, started: 9, changed: 4, done: 40, total: 100}, with(), nil,
			Quiet, SlowItem},
		{"items quiet for too long", spec{phase: velero.PhaseInProgress, started: 290, changed: 270, done: 40, total: 100}, with(), nil,
			Quiet, SlowItem},
		{"a longer snapshot time-out is no reason to cry", spec{phase: velero.PhaseInProgress, started: 90, changed: 70, done: 40, total: 100,
			backup: func(b *veleroapi.Backup) { b.Spec.CSISnapshotTimeout.Duration = 2 * time.Hour }}, with(), nil, Quiet, SlowItem},
		{"collecting", spec{phase: velero.PhaseInProgress, started: 20, changed: 20, total: -1}, with(), nil, Quiet, CollectingItems},
		{"a hook that no spec shows may take hours", spec{phase: velero.PhaseInProgress, started: 90, changed: 70, done: 40, total: 100}, with(), nil, Quiet, SlowItem},
		{"restore quiet for too long", spec{phase: velero.PhaseInProgress, kind: job.Restore, started: 90, changed: 70, done: 40, total: 100}, with(), nil, Quiet, SlowItem},
		{"a server with a longer limit", spec{phase: velero.PhaseInProgress, kind: job.Restore, started: 90, changed: 70, done: 40, total: 100},
			with(func(s *World) { s.Server.Flags.TerminatingTimeout = 2 * time.Hour }), nil, Quiet, SlowItem},
		{"collecting for ever", spec{phase: velero.PhaseInProgress, started: 280, changed: 280, total: -1}, with(), nil, Quiet, CollectingItems},
		{"results are being stored", spec{phase: velero.PhaseInProgress, started: 9, changed: 3, done: 140, total: 140}, with(), nil,
			Quiet, UploadingArtifacts},
		{"lost final patch", spec{phase: velero.PhaseInProgress, kind: job.Restore, started: 60, changed: 41, done: 140, total: 140}, with(), nil,
			Quiet, UploadingArtifacts},
		{"store away while results should be stored", spec{phase: velero.PhaseInProgress, started: 60, changed: 41, done: 140, total: 140, location: "default"},
			with(unavailable), nil, Stuck, LocationUnavailable},
		{"orphaned", spec{phase: velero.PhaseInProgress, started: 60, changed: 50, done: 14, total: 140}, with(restarted(42)), nil,
			Orphaned, ServerRestarted},
		{"just restarted", spec{phase: velero.PhaseInProgress, started: 60, changed: 2, done: 14, total: 140}, with(restarted(0.2)), nil,
			Waiting, ServerRestarted},
		{"rolling update, the old server works on", spec{phase: velero.PhaseInProgress, started: 60, changed: 0.2, done: 14, total: 140}, with(restarted(20)), nil,
			Progressing, ItemsMoving},
		{"orphaned though a volume moves", spec{phase: velero.PhaseInProgress, kind: job.Restore, started: 60, changed: 50, done: 140, total: 140,
			volumes: pvr(velero.VolumeInProgress, 5, 10, 55, 0.1)}, with(restarted(42)), nil, Orphaned, ServerRestarted},
		{"server down", spec{phase: velero.PhaseInProgress, started: 60, changed: 50, done: 14, total: 140}, with(serverDown(42)), nil,
			Stuck, ServerCrashLooping},
		{"server down for a moment", spec{phase: velero.PhaseInProgress, started: 60, changed: 50, done: 14, total: 140}, with(serverDown(1)), nil,
			Waiting, ServerStarting},
		{"server down for a moment, and its version has no queue", spec{phase: velero.PhaseQueued, total: -1, created: 50, changed: 50}, with(serverDown(1), version17("v1.17.2")), nil,
			Orphaned, NotHandled},
		{"server down for a moment, and its version has a queue", spec{phase: velero.PhaseQueued, total: -1, created: 50, changed: 50}, with(serverDown(1)), nil,
			Waiting, ServerStarting},
		{"server down, operations", spec{phase: velero.PhaseWaitingForPluginOperations, started: 60, changed: 50, done: 14, total: 14, ops: [3]int{2, 0, 0}}, with(serverDown(42)), nil,
			Stuck, ServerCrashLooping},
		{"stale", spec{phase: velero.PhaseInProgress, started: 5, changed: 0.1, done: 40, total: 100}, with(staleSince), nil,
			Unknown, StaleData},
		{"no pods to see, quiet", spec{phase: velero.PhaseInProgress, started: 60, changed: 41, done: 140, total: 140}, with(noPods), nil,
			Unknown, PodsHidden},
		{"no pods to see, but it moves", spec{phase: velero.PhaseInProgress, started: 60, changed: 0.2, done: 14, total: 140}, with(noPods), nil,
			Progressing, ItemsMoving},
		{"no pods to see, a volume moves", spec{phase: velero.PhaseInProgress, kind: job.Restore, started: 60, changed: 9, done: 140, total: 140,
			volumes: pvr(velero.VolumeInProgress, 5<<30, 10<<30, 9, 0.1)}, with(noPods), nil, Progressing, BytesMoving},
		{"no pods to see, behind one that moves", spec{kind: job.Restore, created: 9, changed: 9, total: -1}, with(noPods),
			[]spec{{name: "other", kind: job.Restore, phase: velero.PhaseInProgress, started: 10, changed: 0.1, done: 1, total: 9}}, Waiting, RestoreWorkerBusy},
		{"stale and moving", spec{phase: velero.PhaseInProgress, started: 60, changed: 0.2, done: 14, total: 140}, with(noPods, staleSince), nil,
			Unknown, StaleData},

		{"a data upload moves, but the items do not", spec{phase: velero.PhaseInProgress, started: 90, changed: 80, done: 9, total: 9,
			volumes: []job.Volume{volume(velero.DataUpload, "du", velero.VolumeInProgress, 1<<30, 2<<30, 85, 0.1)}}, with(), nil,
			Quiet, UploadingArtifacts},
		{"volume moves", spec{phase: velero.PhaseInProgress, kind: job.Restore, started: 20, changed: 15, done: 9, total: 9,
			volumes: pvr(velero.VolumeInProgress, 4<<30, 8<<30, 15, 0.1)}, with(), nil, Progressing, BytesMoving},
		{"volume not begun", spec{phase: velero.PhaseInProgress, kind: job.Restore, started: 20, changed: 5, done: 9, total: 9,
			volumes: pvr(velero.VolumeNew, 0, 0, 5, 5)}, with(), nil, Waiting, PreparingVolume},
		{"no node-agent", spec{phase: velero.PhaseInProgress, kind: job.Restore, started: 50, changed: 40, done: 9, total: 9,
			volumes: pvr(velero.VolumeNew, 0, 0, 40, 40)}, with(noAgents), nil, Stuck, NodeAgentMissing},
		{"no node-agent, just made", spec{phase: velero.PhaseInProgress, kind: job.Restore, started: 20, changed: 3, done: 9, total: 9,
			volumes: pvr(velero.VolumeNew, 0, 0, 1, 3)}, with(noAgents), nil, Waiting, PreparingVolume},
		{"no node-agent on its node", spec{phase: velero.PhaseInProgress, started: 50, changed: 40, done: 9, total: 9,
			volumes: []job.Volume{{Kind: velero.PodVolumeBackup, Name: "v", Phase: velero.VolumeNew, Node: "b", Target: "shop/db:data", Created: minutesAgo(40), LastChanged: minutesAgo(40)}}},
			with(), nil, Stuck, NodeAgentMissing},
		{"volume stands still", spec{phase: velero.PhaseInProgress, kind: job.Restore, started: 60, changed: 50, done: 9, total: 9,
			volumes: pvr(velero.VolumeInProgress, 4<<30, 8<<30, 50, 20)}, with(), nil, Quiet, VolumeSilent},
		{"volume silent for long, not all volumes seen", spec{phase: velero.PhaseInProgress, kind: job.Restore, started: 90, changed: 80, done: 9, total: 9,
			volumes: pvr(velero.VolumeInProgress, 4<<30, 8<<30, 80, 70)}, with(), nil, Quiet, VolumeSilent},
		{"volume silent for long, its mover runs", spec{phase: velero.PhaseInProgress, kind: job.Restore, started: 90, changed: 80, done: 9, total: 9,
			volumes: pvr(velero.VolumeInProgress, 4<<30, 8<<30, 80, 70)}, with(allVolumes, moverOf(pvr("", 0, 0, 0, 0)[0], velero.MoverRunning)), nil, Quiet, WaitingForOperations},
		{"volume silent for long, its mover is gone", spec{phase: velero.PhaseInProgress, kind: job.Restore, started: 90, changed: 80, done: 9, total: 9,
			volumes: pvr(velero.VolumeInProgress, 4<<30, 8<<30, 80, 70)}, with(allVolumes), nil, Stuck, MoverGone},
		{"a mover is gone, and the store is away too", spec{phase: velero.PhaseWaitingForPluginOperations, started: 90, changed: 80, done: 9, total: 9, ops: [3]int{1, 0, 0}, location: "default",
			volumes: []job.Volume{volume(velero.DataUpload, "du", velero.VolumeInProgress, 4<<30, 8<<30, 80, 70)}}, with(allVolumes, unavailable), nil, Stuck, MoverGone},
		{"a mover runs, and the store is away", spec{phase: velero.PhaseWaitingForPluginOperations, started: 90, changed: 80, done: 9, total: 9, ops: [3]int{1, 0, 0}, location: "default",
			volumes: []job.Volume{volume(velero.DataUpload, "du", velero.VolumeInProgress, 4<<30, 8<<30, 80, 70)}},
			with(allVolumes, func(s *World) {
				s.Locations = map[string]LocationStatus{"default": {Name: "default", Phase: "Unavailable", LastSynced: minutesAgo(1)}}
			}, moverOf(volume(velero.DataUpload, "du", "", 0, 0, 0, 0), velero.MoverRunning)), nil, Waiting, LocationUnavailable},
		{"volume that its node-agent lost track of", spec{phase: velero.PhaseInProgress, kind: job.Restore, started: 90, changed: 80, done: 9, total: 9,
			volumes: pvr(velero.VolumeInProgress, 4<<30, 8<<30, 80, 70)}, with(allVolumes, moverOf(pvr("", 0, 0, 0, 0)[0], velero.MoverSucceeded)), nil, Stuck, MoverForgotten},
		{"upload waits for a slot that another backup has", spec{phase: velero.PhaseWaitingForPluginOperations, started: 60, changed: 50, done: 9, total: 9, ops: [3]int{1, 0, 0},
			volumes: []job.Volume{volume(velero.DataUpload, "du", velero.VolumePrepared, 0, 0, 50, 45)}},
			with(allVolumes, another(volume(velero.DataUpload, "of-another-backup", velero.VolumeInProgress, 1, 9, 90, 1))), nil, Waiting, WaitingForSlot},
		{"upload waits in New while others are prepared", spec{phase: velero.PhaseWaitingForPluginOperations, started: 60, changed: 50, done: 9, total: 9, ops: [3]int{1, 0, 0},
			volumes: []job.Volume{volume(velero.DataUpload, "du", velero.VolumeNew, 0, 0, 50, 50)}},
			with(allVolumes, another(volume(velero.DataDownload, "of-a-restore", velero.VolumePrepared, 1, 9, 90, 60))), nil, Waiting, WaitingForSlot},
		{"upload waits, and not all volumes are known", spec{phase: velero.PhaseWaitingForPluginOperations, started: 60, changed: 50, done: 9, total: 9, ops: [3]int{1, 0, 0},
			volumes: []job.Volume{volume(velero.DataUpload, "du", velero.VolumePrepared, 0, 0, 50, 45)}}, with(), nil, Quiet, WaitingForSlot},
		{"upload that nobody begins", spec{phase: velero.PhaseWaitingForPluginOperations, started: 70, changed: 60, done: 9, total: 9, ops: [3]int{1, 0, 0},
			volumes: []job.Volume{volume(velero.DataUpload, "du", velero.VolumeNew, 0, 0, 60, 60)}}, with(allVolumes), nil, Stuck, VolumeStalled},
		{"upload whose pod no node can take", spec{phase: velero.PhaseWaitingForPluginOperations, started: 60, changed: 20, done: 9, total: 9, ops: [3]int{1, 0, 0},
			volumes: []job.Volume{volume(velero.DataUpload, "du", velero.VolumeAccepted, 0, 0, 20, 20)}},
			with(allVolumes, moverOf(volume(velero.DataUpload, "du", "", 0, 0, 0, 0), velero.MoverUnschedulable)), nil, Waiting, MoverUnschedulable},
		{"upload of a third-party mover, without node-agents", spec{phase: velero.PhaseWaitingForPluginOperations, started: 75, changed: 69, done: 9, total: 9, ops: [3]int{1, 0, 0},
			volumes: []job.Volume{foreign(volume(velero.DataUpload, "du", velero.VolumeNew, 0, 0, 70, 70))}}, with(allVolumes, noAgents), nil, Quiet, WaitingForOperations},
		{"volumes past Velero's limit", spec{phase: velero.PhaseInProgress, kind: job.Restore, started: 60, changed: 50, done: 9, total: 9,
			volumes: pvr(velero.VolumeInProgress, 4<<30, 8<<30, 50, 20),
			restore: func(r *veleroapi.Restore) { r.Annotations = map[string]string{"velero.io/pod-volume-timeout": "30m"} }}, with(), nil,
			Quiet, VolumeSilent}, // Velero may have given them up, which leaves them open
		{"cancelled volume, version with the bug", spec{phase: velero.PhaseInProgress, started: 20, changed: 5, done: 9, total: 9,
			volumes: []job.Volume{volume(velero.PodVolumeBackup, "v", velero.VolumeCanceled, 0, 9, 9, 5)}}, with(version17("v1.17.1")), nil,
			Waiting, CancelledVolumeHang},
		{"cancelled volume, version unknown", spec{phase: velero.PhaseInProgress, started: 20, changed: 5, done: 9, total: 9,
			volumes: []job.Volume{volume(velero.PodVolumeBackup, "v", velero.VolumeCanceled, 0, 9, 9, 5)}}, with(version17("main")), nil,
			Quiet, UploadingArtifacts},
		{"cancelled volume, version before the bug", spec{phase: velero.PhaseInProgress, started: 20, changed: 4, done: 9, total: 9,
			volumes: []job.Volume{volume(velero.PodVolumeBackup, "v", velero.VolumeCanceled, 0, 9, 9, 4)}}, with(version17("v1.16.2")), nil, Quiet, UploadingArtifacts},
		{"cancelled volume, fixed version", spec{phase: velero.PhaseInProgress, started: 20, changed: 4, done: 9, total: 9,
			volumes: []job.Volume{volume(velero.PodVolumeBackup, "v", velero.VolumeCanceled, 0, 9, 9, 4)}}, with(), nil, Quiet, UploadingArtifacts},

		{"operations wait", spec{phase: velero.PhaseWaitingForPluginOperations, kind: job.Restore, started: 60, changed: 50, done: 9, total: 9, ops: [3]int{5, 1, 1}}, with(), nil,
			Waiting, WaitingForOperations},
		{"operations past their limit", spec{phase: velero.PhaseWaitingForPluginOperations, kind: job.Restore, started: 300, changed: 280, done: 9, total: 9, ops: [3]int{5, 0, 0}}, with(), nil,
			Stuck, LimitPassed},
		{"operations all ended", spec{phase: velero.PhaseWaitingForPluginOperationsPartiallyFailed, started: 60, changed: 20, done: 9, total: 9, ops: [3]int{5, 3, 2}}, with(), nil,
			Quiet, WaitingForOperations},
		{"data upload moves", spec{phase: velero.PhaseWaitingForPluginOperations, started: 60, changed: 50, done: 9, total: 9, ops: [3]int{1, 0, 0},
			volumes: []job.Volume{volume(velero.DataUpload, "du", velero.VolumeInProgress, 1<<30, 2<<30, 50, 0.1)}}, with(), nil, Progressing, BytesMoving},
		{"data upload moves though the store is away", spec{phase: velero.PhaseWaitingForPluginOperations, started: 60, changed: 50, done: 9, total: 9, ops: [3]int{1, 0, 0}, location: "default",
			volumes: []job.Volume{volume(velero.DataUpload, "du", velero.VolumeInProgress, 1<<30, 2<<30, 50, 0.1)}}, with(unavailable), nil, Progressing, BytesMoving},
		{"operations, store away", spec{phase: velero.PhaseWaitingForPluginOperations, started: 60, changed: 50, done: 9, total: 9, ops: [3]int{1, 0, 0}, location: "default"}, with(unavailable), nil,
			Waiting, WaitingForOperations},
		{"operations ended, store away", spec{phase: velero.PhaseWaitingForPluginOperations, started: 60, changed: 50, done: 9, total: 9, ops: [3]int{1, 1, 0}, location: "default"}, with(unavailable), nil,
			Stuck, LocationUnavailable},
		{"data upload without node-agent", spec{phase: velero.PhaseWaitingForPluginOperations, started: 70, changed: 60, done: 9, total: 9, ops: [3]int{1, 0, 0},
			volumes: []job.Volume{volume(velero.DataUpload, "du", velero.VolumeNew, 0, 0, 60, 60)}}, with(noAgents), nil, Stuck, NodeAgentMissing},

		{"finalizing", spec{phase: velero.PhaseFinalizing, kind: job.Restore, started: 60, changed: 0.2, done: 9, total: 9}, with(), nil, Progressing, Finalizing},
		{"finalizing for a while", spec{phase: velero.PhaseFinalizing, kind: job.Restore, started: 60, changed: 6, done: 9, total: 9}, with(), nil,
			Quiet, Finalizing},
		{"finalizing with hooks for too long", spec{phase: velero.PhaseFinalizing, kind: job.Restore, started: 90, changed: 70, done: 9, total: 9, restore: hooks}, with(version17("v1.18.2")), nil,
			Quiet, Finalizing},
		{"finalizing for too long", spec{phase: velero.PhaseFinalizingPartiallyFailed, kind: job.Restore, started: 90, changed: 70, done: 9, total: 9}, with(), nil,
			Quiet, Finalizing},
		{"finalizing before 1.18.3, hooks not seen", spec{phase: velero.PhaseFinalizing, kind: job.Restore, started: 90, changed: 70, done: 9, total: 9},
			with(version17("v1.18.2")), nil, Quiet, Finalizing},
		{"backup finalizing for too long", spec{phase: velero.PhaseFinalizing, started: 90, changed: 40, done: 9, total: 9}, with(), nil,
			Quiet, Finalizing},
		{"finalizing behind another", spec{phase: velero.PhaseFinalizing, started: 90, changed: 40, done: 9, total: 9}, with(),
			[]spec{{name: "first", phase: velero.PhaseFinalizing, started: 200, changed: 100, done: 1, total: 1}}, Waiting, FinalizingBehind},
		{"finalizing, store away", spec{phase: velero.PhaseFinalizingPartiallyFailed, kind: job.Restore, started: 60, changed: 6, done: 9, total: 9}, with(unavailable), nil,
			Waiting, LocationUnavailable},

		{"finalizing, its backup's store of two away", spec{phase: velero.PhaseFinalizing, kind: job.Restore, started: 60, changed: 6, done: 9, total: 9}, with(unavailable,
			func(s *World) {
				s.Locations["other"] = LocationStatus{Name: "other", Phase: "Available"}
				s.LocationByBackup = map[string]string{"nightly": "default"}
			}), nil,
			Waiting, LocationUnavailable},
		{"finalizing, the other store of two away", spec{phase: velero.PhaseFinalizing, kind: job.Restore, started: 60, changed: 6, done: 9, total: 9}, with(unavailable,
			func(s *World) {
				s.Locations["other"] = LocationStatus{Name: "other", Phase: "Available"}
				s.LocationByBackup = map[string]string{"nightly": "other"}
			}), nil,
			Quiet, Finalizing},
		{"finalizing, one store of two away", spec{phase: velero.PhaseFinalizing, kind: job.Restore, started: 60, changed: 6, done: 9, total: 9}, with(unavailable,
			func(s *World) { s.Locations["other"] = LocationStatus{Name: "other", Phase: "Available"} }), nil,
			Quiet, Finalizing},
		{"finalizing, another store away", spec{phase: velero.PhaseFinalizing, location: "mine", started: 60, changed: 3, done: 9, total: 9}, with(unavailable,
			func(s *World) { s.Locations["mine"] = LocationStatus{Name: "mine", Phase: "Available"} }), nil,
			Waiting, Finalizing},
		{"finalizing, its location deleted", spec{phase: velero.PhaseFinalizing, location: "mine", started: 60, changed: 3, done: 9, total: 9}, with(unavailable), nil,
			Stuck, LocationUnavailable},
		{"queued behind a running one", spec{phase: velero.PhaseQueued, position: 1, total: -1, created: 20, changed: 20}, with(),
			[]spec{{name: "other", phase: velero.PhaseInProgress, started: 30, changed: 0.1, done: 1, total: 9}}, Waiting, ConcurrencyLimit},
		{"second in line", spec{phase: velero.PhaseQueued, position: 2, total: -1, created: 20, changed: 20}, with(),
			[]spec{{name: "other", phase: velero.PhaseInProgress, started: 30, changed: 0.1, done: 1, total: 9}}, Waiting, ConcurrencyLimit},
		{"queued behind a stuck one", spec{phase: velero.PhaseQueued, position: 1, total: -1, created: 20, changed: 20}, with(),
			[]spec{{name: "other", phase: velero.PhaseInProgress, started: 90, changed: 80, done: 9, total: 9}}, Waiting, ConcurrencyLimit},
		{"queued behind an orphan", spec{phase: velero.PhaseQueued, position: 1, total: -1, created: 20, changed: 20}, with(restarted(30)),
			[]spec{{name: "other", phase: velero.PhaseInProgress, started: 90, changed: 80, done: 9, total: 19}}, Stuck, QueueBlocked},
		{"queued behind one behind a stuck one", spec{phase: velero.PhaseQueued, position: 2, total: -1, created: 20, changed: 20, includes: []string{"x"}},
			with(func(s *World) { s.Server.Flags.ConcurrentBackups = 3 }), []spec{
				{name: "other", phase: velero.PhaseInProgress, started: 90, changed: 80, done: 9, total: 9, includes: []string{"y"}},
				{name: "between", phase: velero.PhaseQueued, position: 1, total: -1, created: 20, changed: 20, includes: []string{"x", "y"}}},
			Waiting, QueuedBehind},
		{"queue stalled", spec{phase: velero.PhaseQueued, position: 1, total: -1, created: 20, changed: 20}, with(), nil,
			Quiet, QueueStalled},
		{"queue moves in a moment", spec{phase: velero.PhaseQueued, position: 1, total: -1, created: 20, changed: 20},
			with(func(s *World) { s.LastJobEndedAt = minutesAgo(0.5) }), nil, Waiting, NotPickedUp},
		{"queue after a restart", spec{phase: velero.PhaseQueued, position: 1, total: -1, created: 20, changed: 20}, with(restarted(1)), nil, Waiting, NotPickedUp},
		{"ready to start", spec{phase: velero.PhaseReadyToStart, total: -1, created: 1, changed: 0.5}, with(), nil, Waiting, Starting},
		{"ready to start for long", spec{phase: velero.PhaseReadyToStart, total: -1, created: 20, changed: 20}, with(), nil, Quiet, Starting},
		{"ready to start, forgotten", spec{phase: velero.PhaseReadyToStart, total: -1, created: 20, changed: 20}, with(restarted(10)), nil,
			Orphaned, ForgottenReady},
		{"ready to start, just restarted", spec{phase: velero.PhaseReadyToStart, total: -1, created: 20, changed: 20}, with(restarted(0.2)), nil,
			Waiting, ServerRestarted},
		{"ready to start, server down", spec{phase: velero.PhaseReadyToStart, total: -1, created: 20, changed: 20}, with(serverDown(10)), nil,
			Stuck, ServerCrashLooping},
		{"new restore", spec{kind: job.Restore, total: -1, created: 1, changed: 1}, with(), nil, Waiting, NotPickedUp},
		{"new restore behind another", spec{kind: job.Restore, phase: velero.PhaseNew, total: -1, created: 9, changed: 9}, with(),
			[]spec{{name: "other", kind: job.Restore, phase: velero.PhaseInProgress, started: 10, changed: 0.1, done: 1, total: 9}},
			Waiting, RestoreWorkerBusy},
		{"new restore and nobody runs", spec{kind: job.Restore, phase: velero.PhaseNew, total: -1, created: 12, changed: 12}, with(), nil,
			Quiet, WorkerHung},
		{"new backup that nobody takes up", spec{total: -1, created: 12, changed: 12}, with(), nil, Quiet, NotPickedUp},

		{"deleting for long, its request in progress", spec{phase: velero.PhaseDeleting, started: 90, changed: 30, done: 9, total: 9}, with(deletion("InProgress")), nil, Waiting, Deleting},
		{"deletion cut off by a restart", spec{phase: velero.PhaseDeleting, started: 90, changed: 30, done: 9, total: 9}, with(deletion("InProgress"), restarted(20)), nil, Stuck, DeletionFailed},
		{"deletion ended with errors", spec{phase: velero.PhaseDeleting, started: 90, changed: 30, done: 9, total: 9}, with(deletion("Processed", "no such bucket")), nil, Stuck, DeletionFailed},
		{"queued, the server's version not known", spec{total: -1, created: 12, changed: 12}, with(version17("")),
			[]spec{{name: "other", phase: velero.PhaseInProgress, started: 20, changed: 0.1, done: 1, total: 9}}, Waiting, VersionUnknown},
		{"a hook of its spec", spec{phase: velero.PhaseInProgress, started: 90, changed: 70, done: 40, total: 100, backup: func(b *veleroapi.Backup) {
			b.Spec.Hooks.Resources = []veleroapi.BackupResourceHookSpec{{PostHooks: []veleroapi.BackupResourceHook{{Exec: &veleroapi.ExecHook{Timeout: metav1.Duration{Duration: 90 * time.Minute}}}}}}
		}}, with(), nil, Waiting, RunningHook},
		{"a repository is being prepared", spec{phase: velero.PhaseInProgress, kind: job.Restore, started: 20, changed: 12, done: 100, total: 100},
			with(func(s *World) { s.Repositories = []RepositoryStatus{{Name: "shop-default-kopia", Namespace: "shop"}} }), nil, Waiting, PreparingRepository},
		{"a big backup stores its files", spec{phase: velero.PhaseInProgress, started: 90, changed: 26, done: 480_000, total: 480_000}, with(), nil, Quiet, UploadingArtifacts},
		{"a read-only location", spec{phase: velero.PhaseInProgress, started: 90, changed: 26, done: 9, total: 9, location: "default"},
			with(func(s *World) {
				s.Locations = map[string]LocationStatus{"default": {Name: "default", Phase: "Available", AccessMode: "ReadOnly"}}
			}), nil, Stuck, LocationReadOnly},
		{"deleting", spec{phase: velero.PhaseDeleting, started: 90, changed: 3, done: 9, total: 9}, with(), nil, Waiting, Deleting},
		{"deletion failed", spec{phase: velero.PhaseDeleting, started: 90, changed: 30, done: 9, total: 9}, with(), nil, Stuck, DeletionFailed},
		{"a phase of the future", spec{phase: "Verifying", started: 90, changed: 3, done: 9, total: 9}, with(), nil, Unknown, UnknownPhase},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.job.name = "crm-old"
			j := c.job.job(t)
			c.s.Jobs = jobs(t, c.more...)
			if !j.IsTerminal() {
				c.s.Jobs = append(c.s.Jobs, j)
			}
			checkVerdict(t, j, Judge(j, c.s), c.want, c.reason)
		})
	}
}

// The sentence on an ended job is all that is said of it.
func TestHowAJobEnded(t *testing.T) {
	for _, c := range []struct {
		name string
		job  spec
		s    World
		says string
	}{
		{"completed", spec{phase: velero.PhaseCompleted, started: 60, ended: 58.5, changed: 58, done: 402, total: 402}, with(), "Completed in 1m30s, 402 items"},
		{"completed, stale", spec{phase: velero.PhaseCompleted, started: 60, ended: 58.5, changed: 58, done: 402, total: 402}, with(staleSince, noPods), "Completed in 1m30s"},
		{"completed with warnings", spec{phase: velero.PhaseCompleted, started: 60, ended: 59, changed: 58, done: 1, total: 1, warnings: 1}, with(), "Completed in 1m, 1 item, 1 warning"},
		{"completed, but volumes failed", spec{phase: velero.PhaseCompleted, started: 60, ended: 58, changed: 58, done: 9, total: 9, volumes: []job.Volume{
			volume(velero.PodVolumeBackup, "a", velero.VolumeFailed, 0, 9, 60, 58), volume(velero.PodVolumeBackup, "b", velero.VolumeCompleted, 9, 9, 60, 58)}}, with(), "Completed, but 1 of 2 volumes failed, 9 items"},
		{"failed, but a volume goes on", spec{phase: velero.PhaseFailed, started: 60, ended: 58, changed: 58, done: 9, total: 9, reason: "no",
			volumes: []job.Volume{volume(velero.DataUpload, "a", velero.VolumeInProgress, 0, 9, 60, 58)}}, with(), "Failed after 2m at 9 of 9 items: no; the only volume not ended"},
		{"completed, being deleted", spec{phase: velero.PhaseCompleted, kind: job.Restore, started: 60, ended: 58, changed: 58, done: 9, total: 9,
			restore: func(r *veleroapi.Restore) {
				at := metav1.NewTime(minutesAgo(5))
				r.DeletionTimestamp, r.Finalizers = &at, []string{"restores.velero.io/external-resources-finalizer"}
			}}, with(), "Completed in 2m, 9 items; being deleted"},
		{"partially failed", spec{phase: velero.PhasePartiallyFailed, started: 60, ended: 56, changed: 56, done: 88, total: 88, errors: 2, warnings: 5}, with(), "PartiallyFailed after 4m, 88 items, 2 errors, 5 warnings"},
		{"partially failed without progress", spec{phase: velero.PhasePartiallyFailed, kind: job.Restore, started: 60, ended: 60, changed: 60, total: -1, errors: 1}, with(), "PartiallyFailed after 0s, 1 error"},
		{"failed", spec{phase: velero.PhaseFailed, started: 60, ended: 59, changed: 59, done: 117, total: 242, reason: "the store said no"}, with(), "Failed after 1m at 117 of 242 items: the store said no"},
		{"failed without an end", spec{phase: velero.PhaseFailed, started: 60, changed: 59, total: -1, reason: "no"}, with(), "Failed: no"},
		{"failed validation", spec{phase: velero.PhaseFailedValidation, created: 60, total: -1, invalid: []string{"no such namespace"}}, with(), "FailedValidation: no such namespace"},
	} {
		c.job.name = "crm-old"
		j := c.job.job(t)
		v := Judge(j, c.s)
		checkVerdict(t, j, v, "", ReasonOfPhase(j.Phase))
		if !strings.Contains(v.Summary(), c.says) {
			t.Errorf("%s: %q, want %q", c.name, v.Summary(), c.says)
		}
	}
}

func checkVerdict(t *testing.T, j *job.Job, v Verdict, want State, reason Reason) {
	t.Helper()
	if v.State() != want || v.Reason != reason {
		t.Errorf("%s, %s: %q; want %s, %s", v.State(), v.Reason, v.Summary(), want, reason)
	}
	if !strings.HasPrefix(v.Summary(), j.Name+": ") {
		t.Errorf("summary %q does not name the job", v.Summary())
	}
	if n := utf8.RuneCountInString(v.Summary()); n > 110 {
		t.Errorf("summary has %d runes: %q", n, v.Summary())
	}
	if len(v.Facts) == 0 {
		t.Errorf("no facts behind %q", v.Summary())
	}
	for _, f := range v.Facts {
		if f.Text == "" || f.Source == "" {
			t.Errorf("fact %+v lacks its text or source", f)
		}
	}
	if (v.State() == Stuck || v.State() == Orphaned || v.State() == Unknown) && v.Advice == "" {
		t.Errorf("%q comes with no advice", v.Summary())
	}
	if strings.Contains(v.Advice, "veltui finalize") || strings.Contains(v.Advice, "veltui explain") ||
		v.Action != "" && v.Advice == "" {
		t.Errorf(
			"%q: a front end names the command or the key for %q, not the advice: %q",
			v.Summary(),
			v.Action,
			v.Advice,
		)
	}
	if v.State() == Progressing && v.Advice != "" {
		t.Errorf("%q comes with advice %q", v.Summary(), v.Advice)
	}
}

// What veltui could not look at is named, and does not count as holding.
func TestVerdictNamesWhatItDidNotSee(t *testing.T) {
	lost := spec{
		name:    "crm",
		kind:    job.Restore,
		phase:   velero.PhaseInProgress,
		started: 60,
		changed: 41,
		done:    140,
		total:   140,
	}
	for _, c := range []struct {
		s    World
		want []string
	}{
		{with(), []string{"storage", "schema"}},
		{with(noPods), []string{"pod"}},
		{with(staleSince), []string{"watch"}},
	} {
		v := Judge(lost.job(t), c.s)
		for _, source := range c.want {
			found := false
			for _, f := range v.Facts {
				found = found || f.Source == source && !f.Supports
			}
			if !found {
				t.Errorf("%q: no open fact from %s in %+v", v.Summary(), source, v.Facts)
			}
		}
	}
}

// Only what Velero writes counts as movement: a person who touches an
// annotation does not bring an orphan back to life.
func TestATouchIsNoProgress(t *testing.T) {
	in := spec{name: "crm", phase: velero.PhaseInProgress, started: 310, changed: 300, done: 14, total: 140}.input()
	touched := metav1.NewTime(minutesAgo(1))
	in.Backup.ManagedFields = append(
		in.Backup.ManagedFields,
		metav1.ManagedFieldsEntry{Manager: "kubectl-annotate", Time: &touched},
	)
	j := job.Fold(nil, in)
	if !j.LastChanged.Equal(minutesAgo(1)) {
		t.Errorf("changed %v, want the touch", j.LastChanged)
	}
	checkVerdict(t, j, Judge(j, with(restarted(42))), Orphaned, ServerRestarted)
	checkVerdict(t, j, Judge(j, with()), Quiet, SlowItem)

	later := in
	later.Backup = in.Backup.DeepCopy()
	later.Backup.ResourceVersion = "touched"
	later.Backup.Annotations = map[string]string{"a": "b"}
	j = job.Fold(j, later)
	if !j.LastChanged.Equal(noon) {
		t.Errorf("changed %v, want when it was seen", j.LastChanged)
	}
	checkVerdict(t, j, Judge(j, with()), Quiet, SlowItem)
}

// Where the image does not tell the version, the CRDs do, and what was taken for
// it is said.
func TestVersionOfTheCRDs(t *testing.T) {
	for _, c := range []struct {
		tag    string
		schema velero.SchemaVersions
		says   string
	}{
		{"", velero.SchemaVersions{}, "does not tell its version; the rules are those of v1.18.3"},
		{"main", velero.SchemaVersions{Since: velero.Version{1, 14, 0}, Before: velero.Version{1, 18, 3}}, "; its CRD is that of v1.14.0 or later, but before v1.18.3; the rules are those of v1.14.0"},
		{"v1.16.2", velero.SchemaVersions{Since: velero.Version{1, 18, 3}}, ""},
	} {
		j := spec{
			kind:    job.Restore,
			name:    "crm-old",
			phase:   velero.PhaseFinalizing,
			started: 900,
			changed: 800,
			done:    9,
			total:   9,
		}.job(
			t,
		)
		env := with()
		env.Server.Version = c.tag
		env.Evidence = map[types.UID]JobEvidence{j.UID: {SchemaVersions: c.schema}}
		facts := ""
		for _, f := range Judge(j, env).Facts {
			facts += f.Text + "\n"
		}
		if c.says != "" && !strings.Contains(facts, c.says) ||
			c.says == "" && strings.Contains(facts, "does not tell its version") {
			t.Errorf("%s: %s; want %q", c.tag, facts, c.says)
		}
	}
}

// While the cluster is read for the first time nothing is out of date, and nobody
// is to be told so.
func TestAClusterThatIsBeingReadIsNotStale(t *testing.T) {
	env := with(staleSince)
	for want, r := range map[string]ReadProgress{
		"cannot tell yet, reading Backups, 500 of 10000;":           {Kind: "Backups", Read: 500, Total: 10000},
		"cannot tell yet, slow: reading DataUploads, 12000 so far;": {Kind: "DataUploads", Read: 12000, Slow: true},
		"cannot tell yet, reading Restores;":                        {Kind: "Restores"},
		"cannot tell, nothing heard from the cluster for ":          {},
	} {
		env.ReadProgress = r
		v := Judge(spec{phase: velero.PhaseInProgress, started: 5, changed: 0.1, done: 40, total: 100}.job(t), env)
		if v.State() != Unknown || v.Reason != StaleData || !strings.Contains(v.Summary(), want) {
			t.Errorf("%s %s %q, want %q", v.State(), v.Reason, v.Summary(), want)
		}
	}
}
