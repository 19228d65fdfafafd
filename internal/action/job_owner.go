package action

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// jobOwner says whether a server may still work on a job.
type jobOwner int

const (
	ownerUnknown    jobOwner = iota
	ownerAlive               // a running server was there when the job began
	ownerRestarted           // all servers began after the job did
	ownerRestarting          // the same, but so recently that the servers may still be marking jobs
	ownerDown                // no pod was recognised as a running server
)

// startTime returns when the job began, or was created if it has not.
func (e *Evidence) startTime() time.Time {
	if e.Job.Started.IsZero() {
		return e.Job.Created
	}
	return e.Job.Started
}

// findJobOwner applies the rules of verdicts to who works on the job, and adds the state in which a plan must wait
// for a restarting server.
func (e *Evidence) findJobOwner() jobOwner {
	switch {
	case !e.Server.Visible:
		return ownerUnknown
	case len(e.Server.Pods) == 0:
		return ownerDown
	}
	w := e.buildWorld()
	switch of := diagnosis.OwnershipOf(e.Job, w); {
	case of == diagnosis.Owned:
		return ownerAlive
	case e.hasStartTimes() && w.HasServerJustStarted():
		return ownerRestarting
	case of == diagnosis.Disowned:
		return ownerRestarted
	}
	return ownerUnknown
}

// hasStartTimes reports whether the evidence has the start times of the job and of every server.
func (e *Evidence) hasStartTimes() bool {
	return !e.startTime().IsZero() &&
		!slices.ContainsFunc(e.Server.Pods, func(s velero.ServerPod) bool { return s.StartedAt.IsZero() })
}

// lastServerWork returns when a server last wrote to the job or stored a file of it.
func (e *Evidence) lastServerWork() time.Time {
	newest := e.LastVeleroWrite
	for _, a := range e.workFiles() {
		newest = job.LatestTime(newest, a.LastModified)
	}
	return newest
}

func (o jobOwner) hasServer() bool {
	return o == ownerAlive || o == ownerRestarted || o == ownerRestarting
}

func (e *Evidence) unendedVolumes(kinds ...velero.VolumeKind) (found []job.Volume) {
	for _, v := range e.Job.Volumes {
		if (len(kinds) == 0 || slices.Contains(kinds, v.Kind)) && !v.HasEnded() {
			found = append(found, v)
		}
	}
	return found
}

// countMoverVolumes counts the job's volumes that a data mover moves or has moved.
func (e *Evidence) countMoverVolumes() int {
	n := 0
	for _, v := range e.Job.Volumes {
		if v.Kind == velero.DataUpload || v.Kind == velero.DataDownload {
			n++
		}
	}
	return n
}

// mayHaveDataMover reports whether a data mover may move volumes, which then need what only Velero's finalizer
// writes.
func (e *Evidence) mayHaveDataMover() bool {
	return e.VolumesListed != Yes || e.Job.Operations.Attempted > 0 || e.countMoverVolumes() > 0 ||
		e.StoredCounts != nil && e.StoredCounts.Operations.Attempted > 0
}

func (e *Evidence) buildVolumeContext() *diagnosis.VolumeContext {
	return diagnosis.NewVolumeContext(e.buildWorld(), e.Job)
}

func (e *Evidence) hasAgent(node string) bool {
	return slices.ContainsFunc(e.Agents, func(a velero.NodeAgent) bool { return a.Ready && a.Node == node })
}

func (e *Evidence) quietDuration() time.Duration { return max(0, e.Now.Sub(e.Job.QuietSince())) }

// serverVersion returns the server's version, if its image's tag tells it.
func (e *Evidence) serverVersion() (velero.Version, bool) {
	return velero.ParseVersion(e.Server.Version)
}

type lifeSign struct {
	text string
	at   time.Time
}

func (e *Evidence) allLifeSigns() []lifeSign {
	found := []lifeSign{{"Velero wrote to it", e.LastVeleroWrite}}
	if len(e.Object.GetManagedFields()) == 0 {
		found = append(found, lifeSign{"somebody, perhaps Velero, changed it", e.Job.QuietSince()})
	}
	for _, v := range e.Job.Volumes {
		found = append(found, lifeSign{fmt.Sprintf("%s %s was written", v.Kind, v.Name), v.LastChanged})
	}
	for _, a := range e.workFiles() {
		found = append(found, lifeSign{a.Target + " was stored", a.LastModified})
	}
	found = append(found, lifeSign{"the server logged about it", e.ServerLog.Last.At})
	if at, counts := e.locationLifeSign(); counts {
		found = append(found, lifeSign{"a storage location was validated or synced", at})
	}
	return found
}

// workFiles returns the job's files that only a server at work stores. The list of operations is not among them: a
// DownloadRequest for it, such as veltui's own, makes Velero store what it holds in memory
// (download_request_controller.go Reconcile, UpdateForBackup and UpdateForRestore). Whatever else stores that list
// also stores another file or patches the job (backup_controller.go runBackup, backup_operations_controller.go
// updateBackupAndOperationsJSON, and the same for restores; 1.18.3).
func (e *Evidence) workFiles() []Artifact {
	return slices.DeleteFunc(slices.Clone(e.Artifacts), func(a Artifact) bool {
		return a.State != job.Present || !a.LastModified.After(e.startTime()) || isOperationList(a.Target)
	})
}

// locationLifeSign returns when a server last wrote to a storage location. Every server does, so this is a sign of an
// unrecognised server only if no pod explains it: none runs, and none has ended since.
func (e *Evidence) locationLifeSign() (at time.Time, counts bool) {
	at = e.LastLocationWrite
	return at, e.findJobOwner() == ownerDown && at.After(e.Server.LastStopped)
}

// newestLifeSign returns the newest sign of life, and whether it is fresh; a sign from the future is fresh.
func (e *Evidence) newestLifeSign() (lifeSign, bool) {
	var newest lifeSign
	for _, s := range e.allLifeSigns() {
		if s.at.After(newest.at) {
			newest = s
		}
	}
	return newest, !newest.at.IsZero() && e.Now.Sub(newest.at) < velero.LifelessAfter
}

// checkNothingAtWork refuses a final phase while anything may be at work.
func checkNothingAtWork(e *Evidence) decision {
	if s, fresh := e.newestLifeSign(); fresh {
		who := ""
		if e.findJobOwner() == ownerDown {
			who = "no pod was recognised as a Velero server, but "
		}
		ago := max(0, e.Now.Sub(s.at))
		return newRefusal(
			fmt.Sprintf("Try again in %s.", e.Style.Duration(velero.LifelessAfter-ago+time.Second)),
			"%ssomething is working on it: %s %s ago",
			who,
			s.text,
			e.Style.Duration(ago),
		).withDoubt()
	}
	if e.findJobOwner() != ownerDown {
		return decision{}
	}
	switch {
	case e.LocationsListed != Yes:
		return refuseUnknown(
			listRightAdvice(e, "backupstoragelocations"),
			"whether an unrecognised Velero server is running and writes to a storage location",
			e.LocationsUnchecked,
		)
	case e.VolumesListed != Yes:
		return refuseUnknown(
			listRightAdvice(e, volumeResources),
			"whether an unrecognised Velero server is running and its volumes move",
			e.VolumesUnchecked,
		)
	case !e.Server.IsCrashLooping() && !e.Server.LastStopped.IsZero() &&
		e.Now.Sub(e.Server.LastStopped) < velero.LifelessAfter:
		return newRefusal(
			"Try again in five minutes.",
			"a Velero server stopped %s ago, and another may be starting",
			e.Style.Duration(max(0, e.Now.Sub(e.Server.LastStopped))),
		).withDoubt()
	}
	return decision{}
}

// lastVeleroWrite returns when a server last wrote to an object. A server's field manager is its command and its word
// "server" (pkg/cmd/server/server.go SetBasename), velero-server in all but rebranded builds; the command line's is
// velero. Any other writer of a status, except a person with kubectl or veltui, may be a server too.
func lastVeleroWrite(o metav1.Object) time.Time {
	return job.LastWrittenBy(o, func(m *metav1.ManagedFieldsEntry) bool {
		return strings.HasSuffix(m.Manager, "-server") ||
			m.Manager != fieldManager && !strings.HasPrefix(m.Manager, "kubectl") && len(ownedStatus(m)) > 0
	})
}

func ownedStatus(m *metav1.ManagedFieldsEntry) map[string]any {
	var owned struct {
		Status map[string]any `json:"f:status"`
	}
	if m.FieldsV1 == nil || json.Unmarshal(m.FieldsV1.GetRawBytes(), &owned) != nil {
		return nil
	}
	return owned.Status
}

// findPhaseWriter returns who last wrote the phase, and when; empty if that is not recorded.
func findPhaseWriter(o *unstructured.Unstructured) (owner string, at time.Time) {
	managers := o.GetManagedFields()
	for i := range managers {
		m := &managers[i]
		if _, owns := ownedStatus(m)["f:phase"]; owns && m.Time != nil && !m.Time.Time.Before(at) {
			owner, at = m.Manager, m.Time.Time
		}
	}
	return owner, at
}

// isEndedByPerson reports whether somebody other than a server wrote a job's final phase.
func isEndedByPerson(o *unstructured.Unstructured) bool {
	by, _ := findPhaseWriter(o)
	return by != "" && !strings.HasSuffix(by, "-server") && velero.IsTerminalPhase(phaseOf(o))
}

// isStillRunning reports whether Velero writes to a job after a person wrote its final phase.
func isStillRunning(o *unstructured.Unstructured, at time.Time) bool {
	if !isEndedByPerson(o) {
		return false
	}
	_, written := findPhaseWriter(o)
	wrote := lastVeleroWrite(o)
	return wrote.After(written) || !wrote.IsZero() && at.Sub(wrote) < velero.LifelessAfter
}
