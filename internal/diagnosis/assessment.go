package diagnosis

import (
	"fmt"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// How long silence lasts before it means something: Velero writes no heartbeat (docs/dev/velero.md#progress).
const (
	// freshItems and freshBytes are how long a movement is fresh.
	freshItems = time.Minute
	freshBytes = 2 * time.Minute
	// justNow is a movement that proves work at this moment: Velero writes once a second.
	justNow = 10 * time.Second
	// settleGrace is what a new server or job gets before anything is said against it.
	settleGrace = velero.RestartGrace
	// lostPatchQuiet after the last item speaks for a lost patch: Velero retries for 195 s
	// (docs/dev/velero.md#lost-patch).
	lostPatchQuiet = 5 * time.Minute
	// waitMargin is added to a limit of Velero's before it counts as passed.
	waitMargin = 5 * time.Minute
	// itemsPerMinute is how fast Velero at least stores the files of a job.
	itemsPerMinute = 10_000
	// lastingOutage is when an unreachable object store needs a person. Velero tries each minute.
	lastingOutage = 30 * time.Minute
	// deletionQuiet is how long a deletion may take whose request is not seen.
	deletionQuiet = 10 * time.Minute
	// volumeStall is the silence of a volume in progress that is worth a word.
	volumeStall = 10 * time.Minute
)

type assessment struct {
	Case
	j   *job.Job
	env *Environment
	// versionNoted is true once the facts say that the version is not known.
	versionNoted bool
}

func newAssessment(j *job.Job, env *Environment) *assessment {
	return &assessment{Case: Case{Name: j.Name, Now: env.Now}, j: j, env: env}
}

func (a *assessment) stuck(proof Proof, reason Reason, advice, format string, args ...any) Verdict {
	return a.Prove(Stuck, proof, reason, advice, format, args...)
}

// version is the server's, else that of the CRDs, else the current one, with a fact.
func (a *assessment) version() velero.Version {
	if v, known := velero.ParseVersion(a.env.Server.Version); known {
		return v
	}
	v, basis := velero.Current, ""
	if schema := a.evidence().Schema; schema != (velero.SchemaVersions{}) {
		v, basis = schema.Likely(), "; its CRD is that of "+schema.String()
	}
	if !a.versionNoted {
		a.Doubts(
			SourcePod,
			a.env.Server.SeenAt,
			"the server's image does not tell its version%s; the rules are those of %s",
			basis,
			v,
		)
		a.versionNoted = true
	}
	return v
}

// namespaces tells whether the job, or the backup that it restores, may touch a namespace.
func (a *assessment) namespaces() func(string) bool {
	if r, ok := a.j.Object.(*velerov1.Restore); ok {
		return func(name string) bool { return velero.RestoresInto(r, nil, name) || velero.NamespacesOf(r).Takes(name) }
	}
	return velero.NamespacesOf(a.j.Object).Takes
}

// serverStarted is in the cluster's clock; the server writes its times in its node's.
func (e *Environment) serverStarted() time.Time {
	if e.Server.StartedAt.IsZero() {
		return time.Time{}
	}
	return e.Server.StartedAt.Add(-e.ServerAhead)
}

// settled: a server that started has marked jobs in progress; its controllers run only then, and validate
// the storage locations (pkg/cmd/server/server.go run).
func (a *assessment) settled() bool {
	up := a.Now.Sub(a.env.serverStarted())
	if up >= settleGrace {
		return true
	}
	for _, l := range a.env.Locations {
		if up >= settleGrace/8 && l.LastValidated.After(a.env.Server.StartedAt) {
			return true
		}
	}
	return false
}

func (a *assessment) ago(t time.Time) string { return a.env.Style.Duration(a.Now.Sub(t)) }

// quiet is how long neither the job nor its volumes moved.
func (a *assessment) quiet() time.Duration { return max(0, a.Now.Sub(a.j.QuietSince())) }

// quietWords is quiet in words; where no movement was seen, it is only a lower bound.
func (a *assessment) quietWords() string {
	words := a.env.Style.Duration(a.quiet())
	if moved, known := a.j.Moved(); known || !a.j.QuietSince().Equal(moved) {
		return words
	}
	if a.quiet() < time.Second { // nothing tells how long it was before the first look
		return "an unknown time"
	}
	return "at least " + words
}

func (a *assessment) fresh() bool {
	if moved, known := a.j.Moved(); known && a.Now.Sub(moved) <= freshItems {
		return true
	}
	active := a.j.PodVolumes().Active()
	if a.j.Phase != velero.PhaseInProgress {
		active = a.j.ActiveVolumes()
	}
	moved := a.j.VolumesMoved()
	if active == 0 || moved.IsZero() || a.Now.Sub(moved) > freshBytes {
		return false
	}
	c := NewVolumeContext(a.env, a.j) // some open volume must have no known reason to stand still
	return slices.ContainsFunc(a.j.Volumes, func(v job.Volume) bool {
		_, cause := c.stalled(&v)
		return !v.Ended() && cause == ""
	})
}

// Sentences that verdicts and plans have in common.
const (
	ResultsUnchecked = "veltui has not checked whether its results are stored"
	NoVolumeMoves    = "no volume is still moving"
)

// RestartedText says how often a server restarted, and why it last ended.
func RestartedText(s velero.ServerPod) string {
	return fmt.Sprintf("the server restarted %s and last ended with %s", human.Times(s.Restarts), s.LastTermination)
}

func (a *assessment) noteServer() {
	v := a.env.Server
	switch {
	case !v.Visible:
		a.Doubts(SourcePod, a.Now, "whether a Velero server runs was not seen: its pods may not be listed")
	case !v.Running:
		a.Supports(SourcePod, v.SeenAt, "no Velero server runs%s", human.Clause(": ", v.Waiting))
	case v.StartedAt.IsZero():
		a.Supports(SourcePod, v.SeenAt, "the Velero server is up")
		a.Doubts(SourcePod, v.SeenAt, "since when the server runs is not known")
	default:
		a.Supports(SourcePod, v.SeenAt, "the Velero server is up, running for %s", a.ago(v.StartedAt))
	}
	if v.LastTermination != "" {
		a.Supports(SourcePod, v.LastTerminationAt, "%s", RestartedText(v.ServerPod))
	}
}

func (a *assessment) noteQuiet() {
	a.Supports(SourceWatch, a.j.QuietSince(), "nothing changed for %s", a.quietWords())
}

func (a *assessment) noteCounts() {
	j := a.j
	moved, _ := j.Moved()
	if j.Items.Known {
		a.Supports(
			SourceWatch,
			j.ItemsMoved(),
			"%s of %s",
			human.Number(j.Items.Done),
			human.Count(j.Items.Total, "item"),
		)
	} else {
		a.Supports(SourceWatch, moved, "Velero has written no item count yet")
	}
	if n := j.VolumeCount(); n > 0 {
		a.Supports(SourceWatch, j.AnyVolumeMoved(), "%d of %s ended", n-j.ActiveVolumes(), human.Count(n, "volume"))
	}
	if j.Operations.Attempted > 0 {
		a.Supports(
			SourceWatch,
			moved,
			"%d of %s ended, %d failed",
			j.Operations.Ended(),
			human.Count(j.Operations.Attempted, "operation"),
			j.Operations.Failed,
		)
	}
}

func (a *assessment) noteUnread() {
	a.Doubts(SourceStorage, time.Time{}, ResultsUnchecked)
}

func (a *assessment) noteUnlooked() {
	a.noteUnread()
	a.Doubts(SourceSchema, time.Time{}, "veltui has not checked whether the CRD allows the next phase")
}

// down says that the job's storage location is unavailable. That of a restore is its backup's
// (pkg/controller/restore_finalizer_controller.go, Reconcile); where it is not known, all must be.
// A store that refuses for good, or has for long, is a proof: a short outage ends by itself.
func (a *assessment) down() (string, Proof) {
	name := a.j.StorageLocation
	if a.j.Kind == job.Restore {
		name = a.env.BackupLocations[a.j.BackupName]
	}
	unavailable := Location{Phase: velero.LocationUnavailable}
	if name != "" || a.j.Kind == job.Backup {
		unavailable = a.env.Locations[name]
	} else {
		for _, l := range a.env.Locations {
			if l.Phase != unavailable.Phase {
				return "", Proof{}
			}
			if unavailable.Name == "" || l.Name < unavailable.Name {
				unavailable = l
			}
		}
	}
	if unavailable.Name == "" || unavailable.Phase != velero.LocationUnavailable {
		return "", Proof{}
	}
	fact := a.Supports(
		SourceWatch,
		unavailable.LastValidated,
		"storage location %s is Unavailable%s",
		unavailable.Name,
		because(unavailable.Message),
	)
	proof := Proof{}
	if velero.RefusedByStore(unavailable.Message) ||
		a.quiet() >= lastingOutage && a.Now.Sub(unavailable.LastSynced) >= lastingOutage {
		proof = ByRefusal(fact)
	}
	return "storage location " + unavailable.Name + " is unavailable", proof
}

func (a *assessment) unavailable(proof Proof, advice, format string, args ...any) Verdict {
	if proof.IsZero() {
		return a.Conclude(Waiting, LocationUnavailable, advice, format, args...)
	}
	return a.stuck(proof, LocationUnavailable, advice, format, args...)
}

func because(message string) string { return human.Clause(": ", human.Shorten(message, 160)) }
