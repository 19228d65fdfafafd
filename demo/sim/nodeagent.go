package sim

import (
	"context"
	"hash/fnv"
	"time"

	"github.com/vmware-tanzu/velero/pkg/apis/velero/shared"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The phases that all four kinds of data movement share.
const (
	moveNew        = "New"
	moveAccepted   = "Accepted"
	movePrepared   = "Prepared"
	moveInProgress = "InProgress"
	moveCanceling  = "Canceling"
	moveCanceled   = "Canceled"
	moveCompleted  = "Completed"
	moveFailed     = "Failed"
)

// movement is the common face of the four kinds: pointers into one object.
type movement struct {
	cancel                       bool
	accepted, started, completed **metav1.Time
	progress                     *shared.DataMoveOperationProgress
	snapshot                     *string
	phase                        func() string
	setPhase                     func(string)
	setNode                      func(string)
}

// movementState is what a node agent keeps of one movement.
type movementState struct {
	since  time.Time // of the present phase
	node   string
	volume Volume
	bytes  float64
	moved  time.Time // up to when bytes were counted
	wrote  time.Time // when they were last written
}

// moveVolumes is what all node agents do between two steps.
func (s *Sim) moveVolumes(ctx context.Context) {
	alive := map[types.UID]bool{}
	moveAll(ctx, s, s.pvbs, alive, func(p *velerov1.PodVolumeBackup) movement {
		return movement{
			cancel: p.Spec.Cancel, progress: &p.Status.Progress, snapshot: &p.Status.SnapshotID,
			accepted: &p.Status.AcceptedTimestamp, started: &p.Status.StartTimestamp, completed: &p.Status.CompletionTimestamp,
			phase:    func() string { return string(p.Status.Phase) },
			setPhase: func(phase string) { p.Status.Phase = velerov1.PodVolumeBackupPhase(phase) },
			setNode:  func(string) {},
		}
	})
	moveAll(ctx, s, s.pvrs, alive, func(p *velerov1.PodVolumeRestore) movement {
		return movement{
			cancel: p.Spec.Cancel, progress: &p.Status.Progress,
			accepted: &p.Status.AcceptedTimestamp, started: &p.Status.StartTimestamp, completed: &p.Status.CompletionTimestamp,
			phase:    func() string { return string(p.Status.Phase) },
			setPhase: func(phase string) { p.Status.Phase = velerov1.PodVolumeRestorePhase(phase) },
			setNode:  func(node string) { p.Status.Node = node },
		}
	})
	moveAll(ctx, s, s.uploads, alive, func(d *velerov2alpha1.DataUpload) movement {
		return movement{
			cancel: d.Spec.Cancel, progress: &d.Status.Progress, snapshot: &d.Status.SnapshotID,
			accepted: &d.Status.AcceptedTimestamp, started: &d.Status.StartTimestamp, completed: &d.Status.CompletionTimestamp,
			phase:    func() string { return string(d.Status.Phase) },
			setPhase: func(phase string) { d.Status.Phase = velerov2alpha1.DataUploadPhase(phase) },
			setNode:  func(node string) { d.Status.Node, d.Status.NodeOS = node, velerov2alpha1.NodeOSLinux },
		}
	})
	moveAll(ctx, s, s.dataDowns, alive, func(d *velerov2alpha1.DataDownload) movement {
		return movement{
			cancel: d.Spec.Cancel, progress: &d.Status.Progress,
			accepted: &d.Status.AcceptedTimestamp, started: &d.Status.StartTimestamp, completed: &d.Status.CompletionTimestamp,
			phase:    func() string { return string(d.Status.Phase) },
			setPhase: func(phase string) { d.Status.Phase = velerov2alpha1.DataDownloadPhase(phase) },
			setNode:  func(node string) { d.Status.Node = node },
		}
	})
	for uid := range s.moving {
		if !alive[uid] {
			delete(s.moving, uid)
		}
	}
}

func moveAll[T client.Object](ctx context.Context, s *Sim, known *objects[T], alive map[types.UID]bool, face func(T) movement) {
	for _, object := range known.sorted() {
		if s.away != nil {
			return
		}
		state, ok := s.moving[object.GetUID()]
		if !ok {
			switch face(object).phase() {
			case moveCompleted, moveFailed, moveCanceled:
				continue
			}
			volume := s.volumeOf(object)
			state = &movementState{since: s.now, volume: volume, node: volume.Node}
			s.moving[object.GetUID()] = state
		}
		alive[object.GetUID()] = true
		change := s.move(state, face(object))
		if change == nil {
			continue
		}
		if updated, err := patch(ctx, s, known, object, func(o T) { change(face(o)) }); err == nil {
			state.since, state.wrote = s.now, s.now
			switch face(updated).phase() {
			case moveCompleted, moveFailed, moveCanceled:
				alive[object.GetUID()] = false
			}
		}
	}
}

// move says how a movement changes now, or nil if it does not: New, Accepted,
// Prepared, InProgress with bytes written every VolumeRefresh, Completed; and
// the ways out by spec.cancel (pkg/controller/data_upload_controller.go and
// its three siblings).
func (s *Sim) move(state *movementState, m movement) func(movement) {
	phase, waited := m.phase(), s.now.Sub(state.since)
	to := func(next string) func(movement) { return func(m movement) { m.setPhase(next) } }
	ended := func(next string) func(movement) {
		return func(m movement) { m.setPhase(next); *m.completed = s.stampTime() }
	}
	switch {
	case m.cancel && phase == moveInProgress:
		return to(moveCanceling)
	case m.cancel && phase == moveCanceling:
		if waited >= 2*time.Second {
			return ended(moveCanceled)
		}
	case m.cancel:
		return ended(moveCanceled)
	case phase == "" || phase == moveNew:
		if waited >= 500*time.Millisecond {
			return func(m movement) { m.setPhase(moveAccepted); *m.accepted = s.stampTime() }
		}
	case phase == moveAccepted:
		if waited >= 3*time.Second {
			return to(movePrepared)
		}
	case phase == movePrepared:
		if waited >= 500*time.Millisecond && s.movingOn(state.node) < s.Pace.VolumeSlots {
			state.moved = s.now
			return func(m movement) {
				m.setPhase(moveInProgress)
				m.setNode(state.node)
				*m.started = s.stampTime()
			}
		}
	case phase == moveInProgress:
		return s.moveBytes(state)
	}
	return nil
}

func (s *Sim) moveBytes(state *movementState) func(movement) {
	if state.moved.IsZero() {
		state.moved = s.now
	}
	state.bytes += s.now.Sub(state.moved).Seconds() * float64(state.volume.BytesPerSecond)
	state.moved = s.now
	total := state.volume.Bytes
	if state.bytes >= float64(total) {
		return func(m movement) {
			m.setPhase(moveCompleted)
			*m.completed = s.stampTime()
			*m.progress = shared.DataMoveOperationProgress{TotalBytes: total, BytesDone: total}
			if m.snapshot != nil {
				*m.snapshot = snapshotID(state.volume.Namespace, state.volume.Claim, s.stamp.String())
			}
		}
	}
	if s.now.Sub(state.wrote) < s.Pace.VolumeRefresh {
		return nil
	}
	done := int64(state.bytes)
	return func(m movement) { *m.progress = shared.DataMoveOperationProgress{TotalBytes: total, BytesDone: done} }
}

// movingOn counts the movements that occupy a node's slots.
func (s *Sim) movingOn(node string) int {
	n := 0
	for _, state := range s.moving {
		if state.node == node && !state.moved.IsZero() {
			n++
		}
	}
	return n
}

// volumeOf finds the volume that a resource moves; one that the cluster does
// not know is small and goes fast.
func (s *Sim) volumeOf(o client.Object) Volume {
	unknown := Volume{Node: s.nodeFor(o.GetName()), Bytes: 256 << 20, BytesPerSecond: 32 << 20}
	var namespace, pod, podVolume, claim string
	switch o := o.(type) {
	case *velerov1.PodVolumeBackup:
		namespace, pod, podVolume = o.Spec.Pod.Namespace, o.Spec.Pod.Name, o.Spec.Volume
		unknown.Node = o.Spec.Node
	case *velerov1.PodVolumeRestore:
		namespace, pod, podVolume = o.Spec.SourceNamespace, o.Spec.Pod.Name, o.Spec.Volume
	case *velerov2alpha1.DataUpload:
		namespace, claim = o.Spec.SourceNamespace, o.Spec.SourcePVC
	case *velerov2alpha1.DataDownload:
		namespace, claim = o.Spec.SourceNamespace, o.Spec.TargetVolume.PVC
	}
	for _, v := range s.Cluster.Volumes {
		if v.Namespace == namespace && (claim != "" && v.Claim == claim || pod != "" && v.Pod == pod && v.PodVolume == podVolume) {
			return v
		}
	}
	return unknown
}

func (s *Sim) nodeFor(name string) string {
	h := fnv.New32a()
	h.Write([]byte(name))
	for n, v := range s.Cluster.Volumes {
		if n == int(h.Sum32())%len(s.Cluster.Volumes) {
			return v.Node
		}
	}
	return "worker-1"
}
