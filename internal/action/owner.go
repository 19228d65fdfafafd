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

// owner says whether a server may still work on a job.
type owner int

const (
	ownerUnknown    owner = iota
	ownerAlive            // a server that was there when the job began
	ownerRestarted        // all servers began after the job did
	ownerRestarting       // the same, but so recently that they may still be at it
	ownerDown             // no pod was recognised as a running server
)

// began returns when the job began, or was created if it has not.
func (e *Evidence) began() time.Time {
	if e.Job.Started.IsZero() {
		return e.Job.Created
	}
	return e.Job.Started
}

// owner asks the rules of verdicts who works on the job, and adds what keeps a plan from being made at once.
func (e *Evidence) owner() owner {
	switch {
	case !e.Server.Visible:
		return ownerUnknown
	case len(e.Server.Pods) == 0:
		return ownerDown
	}
	w := e.world()
	switch of := diagnosis.OwnershipOf(e.Job, w); {
	case of == diagnosis.Owned:
		return ownerAlive
	case e.startsKnown() && w.JustStarted():
		return ownerRestarting
	case of == diagnosis.Disowned:
		return ownerRestarted
	}
	return ownerUnknown
}

// startsKnown reports whether the evidence tells when the job and every server began.
func (e *Evidence) startsKnown() bool {
	return !e.began().IsZero() &&
		!slices.ContainsFunc(e.Server.Pods, func(s velero.ServerPod) bool { return s.StartedAt.IsZero() })
}

// lastWork returns when a server last wrote to the job or stored a file of it.
func (e *Evidence) lastWork() time.Time {
	newest := e.VeleroWrote
	for _, a := range e.filesOfWork() {
		newest = job.Latest(newest, a.LastModified)
	}
	return newest
}

func (o owner) live() bool { return o == ownerAlive || o == ownerRestarted || o == ownerRestarting }

func (e *Evidence) moving(kinds ...velero.VolumeKind) (found []job.Volume) {
	for _, v := range e.Job.Volumes {
		if (len(kinds) == 0 || slices.Contains(kinds, v.Kind)) && !v.Ended() {
			found = append(found, v)
		}
	}
	return found
}

// uploads counts the job's volumes that a data mover moves or has moved.
func (e *Evidence) uploads() int {
	n := 0
	for _, v := range e.Job.Volumes {
		if v.Kind == velero.DataUpload || v.Kind == velero.DataDownload {
			n++
		}
	}
	return n
}

// dataMover reports whether volumes may need what only Velero's finalizer writes: a data mover may move them.
func (e *Evidence) dataMover() bool {
	return e.Volumes != Yes || e.Job.Operations.Attempted > 0 || e.uploads() > 0 ||
		e.Counts != nil && e.Counts.Operations.Attempted > 0
}

func (e *Evidence) volumeContext() *diagnosis.VolumeContext {
	return diagnosis.NewVolumeContext(e.world(), e.Job)
}

func (e *Evidence) hasAgent(node string) bool {
	return slices.ContainsFunc(e.Agents, func(a velero.Agent) bool { return a.Ready && a.Node == node })
}

func (e *Evidence) quiet() time.Duration { return max(0, e.At.Sub(e.Job.QuietSince())) }

// version returns the server's, if its image's tag tells it.
func (e *Evidence) version() (velero.Version, bool) { return velero.ParseVersion(e.Server.Version) }

type sign struct {
	what string
	at   time.Time
}

func (e *Evidence) signs() []sign {
	found := []sign{{"Velero wrote to it", e.VeleroWrote}}
	if len(e.Object.GetManagedFields()) == 0 {
		found = append(found, sign{"somebody, perhaps Velero, changed it", e.Job.QuietSince()})
	}
	for _, v := range e.Job.Volumes {
		found = append(found, sign{fmt.Sprintf("%s %s was written", v.Kind, v.Name), v.Changed})
	}
	for _, a := range e.filesOfWork() {
		found = append(found, sign{a.Target + " was stored", a.LastModified})
	}
	found = append(found, sign{"the server logged about it", e.Log.Last.At})
	if at, counts := e.locationSign(); counts {
		found = append(found, sign{"a storage location was validated or synced", at})
	}
	return found
}

// filesOfWork returns the job's files that only a server at work stores. The list of operations is none: a
// DownloadRequest for it, such as veltui's own, makes Velero store what it holds in memory
// (download_request_controller.go Reconcile, UpdateForBackup and UpdateForRestore). Whatever else stores it also
// stores another file or patches the job (backup_controller.go runBackup, backup_operations_controller.go
// updateBackupAndOperationsJSON, and the same for restores; 1.18.3).
func (e *Evidence) filesOfWork() []Artifact {
	return slices.DeleteFunc(slices.Clone(e.Artifacts), func(a Artifact) bool {
		return a.State != job.Present || !a.LastModified.After(e.began()) || isOperations(a.Target)
	})
}

// locationSign returns when a server last wrote to a storage location. Every server does, so it is a sign of an
// unrecognised one only where no pod explains it: none runs, and none has ended since.
func (e *Evidence) locationSign() (at time.Time, counts bool) {
	at = e.LocationsWrote
	return at, e.owner() == ownerDown && at.After(e.Server.Stopped)
}

// lifeSign returns the newest sign of life, and whether it is fresh; one from the future is.
func (e *Evidence) lifeSign() (sign, bool) {
	var newest sign
	for _, s := range e.signs() {
		if s.at.After(newest.at) {
			newest = s
		}
	}
	return newest, !newest.at.IsZero() && e.At.Sub(newest.at) < velero.Lifeless
}

// stillAlive refuses a final phase while anything may be at work.
func stillAlive(e *Evidence) verdict {
	if s, fresh := e.lifeSign(); fresh {
		who := ""
		if e.owner() == ownerDown {
			who = "no pod was recognised as a Velero server, but "
		}
		ago := max(0, e.At.Sub(s.at))
		return refuse(
			fmt.Sprintf("Try again in %s.", e.Style.Duration(velero.Lifeless-ago+time.Second)),
			"%ssomething is working on it: %s %s ago",
			who,
			s.what,
			e.Style.Duration(ago),
		).inDoubt()
	}
	if e.owner() != ownerDown {
		return verdict{}
	}
	switch {
	case e.Locations != Yes:
		return unknown(
			askToList(e, "backupstoragelocations"),
			"whether an unrecognised Velero server is running and writes to a storage location",
			e.LocationsWhy,
		)
	case e.Volumes != Yes:
		return unknown(
			askToList(e, volumeResources),
			"whether an unrecognised Velero server is running and its volumes move",
			e.VolumesWhy,
		)
	case !e.Server.CrashLoops() && !e.Server.Stopped.IsZero() && e.At.Sub(e.Server.Stopped) < velero.Lifeless:
		return refuse(
			"Try again in five minutes.",
			"a Velero server stopped %s ago, and another may be starting",
			e.Style.Duration(max(0, e.At.Sub(e.Server.Stopped))),
		).inDoubt()
	}
	return verdict{}
}

// veleroWrote returns when a server last wrote to an object. A server's field manager is its command and its word
// "server" (pkg/cmd/server/server.go SetBasename), velero-server in all but rebranded builds; the command line is
// velero. Any other writer of a status, but a person with kubectl or veltui, may be one too.
func veleroWrote(o metav1.Object) time.Time {
	return job.WrittenBy(o, func(m *metav1.ManagedFieldsEntry) bool {
		return strings.HasSuffix(m.Manager, "-server") ||
			m.Manager != fieldManager && !strings.HasPrefix(m.Manager, "kubectl") && len(statusOf(m)) > 0
	})
}

func statusOf(m *metav1.ManagedFieldsEntry) map[string]any {
	var owned struct {
		Status map[string]any `json:"f:status"`
	}
	if m.FieldsV1 == nil || json.Unmarshal(m.FieldsV1.GetRawBytes(), &owned) != nil {
		return nil
	}
	return owned.Status
}

// phaseOwner returns who last wrote the phase, and when; empty if that was not noted.
func phaseOwner(o *unstructured.Unstructured) (owner string, at time.Time) {
	managers := o.GetManagedFields()
	for i := range managers {
		m := &managers[i]
		if _, owns := statusOf(m)["f:phase"]; owns && m.Time != nil && !m.Time.Time.Before(at) {
			owner, at = m.Manager, m.Time.Time
		}
	}
	return owner, at
}

// endedByPerson reports whether somebody other than a server wrote a job's final phase.
func endedByPerson(o *unstructured.Unstructured) bool {
	by, _ := phaseOwner(o)
	return by != "" && !strings.HasSuffix(by, "-server") && velero.TerminalPhase(phaseOf(o))
}

// runsOn reports whether Velero writes to a job after a person wrote its final phase.
func runsOn(o *unstructured.Unstructured, at time.Time) bool {
	if !endedByPerson(o) {
		return false
	}
	_, written := phaseOwner(o)
	wrote := veleroWrote(o)
	return wrote.After(written) || !wrote.IsZero() && at.Sub(wrote) < velero.Lifeless
}
