package diagnosis

import (
	"fmt"
	"slices"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// These constants are how long silence lasts before it means something: Velero writes no heartbeat
// (docs/dev/velero.md#progress).
const (
	// maxFreshItemsAge and maxFreshBytesAge are how long a movement counts as fresh.
	maxFreshItemsAge = time.Minute
	maxFreshBytesAge = 2 * time.Minute
	// justMovedAge is the age of a movement that proves work at this moment: Velero writes once a second.
	justMovedAge = 10 * time.Second
	// settleGrace is the time that a new server or job gets before anything is held against it.
	settleGrace = velero.RestartGrace
	// lostPatchQuiet after the last item speaks for a lost patch: Velero retries for 195 s
	// (docs/dev/velero.md#lost-patch).
	lostPatchQuiet = 5 * time.Minute
	// waitLimitMargin is added to one of Velero's limits before the limit counts as passed.
	waitLimitMargin = 5 * time.Minute
	// minUploadItemsPerMinute is the lowest speed at which Velero stores the files of a job.
	minUploadItemsPerMinute = 10_000
	// minLastingOutage is the length of an outage of the object store that needs a person. Velero tries each minute.
	minLastingOutage = 30 * time.Minute
	// maxDeletionQuiet is how long a deletion may take without a visible request.
	maxDeletionQuiet = 10 * time.Minute
	// notableVolumeSilence is the silence of a volume in progress that is worth mentioning.
	notableVolumeSilence = 10 * time.Minute
)

type jobJudge struct {
	VerdictBuilder
	j     *job.Job
	world *World
	// unknownVersionNoted is true once the facts say that the version is unknown.
	unknownVersionNoted bool
}

func newJobJudge(j *job.Job, env *World) *jobJudge {
	names := env.ServerNames()
	names.Kind, names.Name, names.Namespace = j.Kind.Noun(), j.Name, j.Namespace
	names.Location, names.Backup, names.Schedule = j.StorageLocation, j.BackupName, j.ScheduleName
	if j.Kind == job.Restore {
		names.Location = env.LocationByBackup[j.BackupName]
	}
	return &jobJudge{VerdictBuilder: VerdictBuilder{Subject: j.Name, Now: env.Now, Names: names}, j: j, world: env}
}

func (a *jobJudge) proveStuck(proof Proof, reason Reason, advice, format string, args ...any) Verdict {
	return a.ConcludeProven(Stuck, proof, reason, advice, format, args...)
}

// effectiveVersion returns the server's version, else that of the CRDs, else the current one, with a fact.
func (a *jobJudge) effectiveVersion() velero.Version {
	if v, known := velero.ParseVersion(a.world.Server.Version); known {
		return v
	}
	v, basis := velero.LatestReviewedVersion, ""
	if schema := a.jobEvidence().SchemaVersions; schema != (velero.SchemaVersions{}) {
		v, basis = schema.LikelyVersion(), "; its CRD is that of "+schema.String()
	}
	if !a.unknownVersionNoted {
		a.AddDoubt(
			SourcePod,
			a.world.Server.SeenAt,
			"the server's image does not tell its version%s; the rules are those of %s",
			basis,
			v,
		)
		a.unknownVersionNoted = true
	}
	return v
}

// namespaceMatcher returns a function that reports whether the job, or the backup that it restores, may touch a
// namespace.
func (a *jobJudge) namespaceMatcher() func(string) bool {
	if r, ok := a.j.Object.(*veleroapi.Restore); ok {
		return func(name string) bool {
			return velero.MayRestoreInto(r, nil, name) || velero.NamespaceFilterOf(r).Matches(name)
		}
	}
	return velero.NamespaceFilterOf(a.j.Object).Matches
}

// serverStartTime returns the start time by the cluster's clock; the server writes its times by its node's clock.
func (e *World) serverStartTime() time.Time {
	if e.Server.StartedAt.IsZero() {
		return time.Time{}
	}
	return e.Server.StartedAt.Add(-e.ServerClockOffset)
}

// hasServerSettled reports whether the started server has marked jobs in progress: its controllers run only after
// that, and validate the storage locations (pkg/cmd/server/server.go run).
func (a *jobJudge) hasServerSettled() bool {
	up := a.Now.Sub(a.world.serverStartTime())
	if up >= settleGrace {
		return true
	}
	for _, l := range a.world.Locations {
		if up >= settleGrace/8 && l.LastValidated.After(a.world.Server.StartedAt) {
			return true
		}
	}
	return false
}

func (a *jobJudge) formatAge(t time.Time) string { return a.world.Style.Duration(a.Now.Sub(t)) }

// quietDuration returns how long neither the job nor its volumes have moved.
func (a *jobJudge) quietDuration() time.Duration { return max(0, a.Now.Sub(a.j.QuietSince())) }

// quietText returns the quiet duration in words; if no movement was seen, it is only a lower bound.
func (a *jobJudge) quietText() string {
	words := a.world.Style.Duration(a.quietDuration())
	if moved, known := a.j.MovedAt(); known || !a.j.QuietSince().Equal(moved) {
		return words
	}
	if a.quietDuration() < time.Second { // nothing tells how long it was quiet before the first look
		return "an unknown time"
	}
	return "at least " + words
}

func (a *jobJudge) hasMovedRecently() bool {
	if moved, known := a.j.MovedAt(); known && a.Now.Sub(moved) <= maxFreshItemsAge {
		return true
	}
	active := a.j.PodVolumes().ActiveCount()
	if a.j.Phase != velero.PhaseInProgress {
		active = a.j.ActiveVolumeCount()
	}
	moved := a.j.VolumesMovedAt()
	if active == 0 || moved.IsZero() || a.Now.Sub(moved) > maxFreshBytesAge {
		return false
	}
	// Some open volume must have no known reason to stand still.
	c := NewVolumeContext(a.world, a.j)
	return slices.ContainsFunc(a.j.Volumes, func(v job.Volume) bool {
		_, cause := c.findStall(&v)
		return !v.HasEnded() && cause == ""
	})
}

// These sentences are shared by verdicts and plans.
const (
	ResultsUnchecked = "veltui has not checked whether its results are stored"
	NoVolumeMoves    = "no volume is still moving"
)

// RestartedText says how often a server restarted, and how it last ended.
func RestartedText(s velero.ServerPod) string {
	return fmt.Sprintf(
		"the server restarted %s and last ended with %s",
		human.CountTimes(s.Restarts),
		s.LastTerminationReason,
	)
}

func (a *jobJudge) noteServer() {
	v := a.world.Server
	switch {
	case !v.Visible:
		a.AddDoubt(SourcePod, a.Now, "whether a Velero server runs was not seen: its pods may not be listed")
	case !v.Running:
		a.AddSupport(SourcePod, v.SeenAt, "no Velero server runs%s%s", human.Prefixed(": ", v.WaitingReason),
			causeClause(v.WaitingMessage))
	case v.StartedAt.IsZero():
		a.AddSupport(SourcePod, v.SeenAt, "the Velero server is up")
		a.AddDoubt(SourcePod, v.SeenAt, "since when the server runs is not known")
	default:
		a.AddSupport(SourcePod, v.SeenAt, "the Velero server is up, running for %s", a.formatAge(v.StartedAt))
	}
	if v.LastTerminationReason != "" {
		a.AddSupport(SourcePod, v.LastTerminationAt, "%s", RestartedText(v.ServerPod))
	}
}

func (a *jobJudge) noteQuiet() {
	a.AddSupport(SourceWatch, a.j.QuietSince(), "nothing changed for %s", a.quietText())
}

func (a *jobJudge) noteCounts() {
	j := a.j
	moved, _ := j.MovedAt()
	if j.Items.Known {
		a.AddSupport(
			SourceWatch,
			j.ItemsMovedAt(),
			"%s of %s",
			human.Number(j.Items.Done),
			human.Count(j.Items.Total, "item"),
		)
	} else {
		a.AddSupport(SourceWatch, moved, "Velero has written no item count yet")
	}
	if n := j.VolumeCount(); n > 0 {
		a.AddSupport(SourceWatch, j.AnyVolumeMovedAt(), "%d of %s ended", n-j.ActiveVolumeCount(), human.Count(n, "volume"))
	}
	if j.Operations.Attempted > 0 {
		a.AddSupport(
			SourceWatch,
			moved,
			"%d of %s ended, %d failed",
			j.Operations.EndedCount(),
			human.Count(j.Operations.Attempted, "operation"),
			j.Operations.Failed,
		)
	}
}

func (a *jobJudge) noteResultsUnchecked() {
	a.AddDoubt(SourceStorage, time.Time{}, ResultsUnchecked)
}

func (a *jobJudge) noteUncheckedEvidence() {
	a.noteResultsUnchecked()
	a.AddDoubt(SourceSchema, time.Time{}, "veltui has not checked whether the CRD allows the next phase")
}

// findLocationOutage says that the job's storage location is unavailable. A restore's location is that of its backup
// (pkg/controller/restore_finalizer_controller.go, Reconcile); if it is unknown, all locations must be unavailable. A
// store that refuses permanently, or has for long, is a proof: a short outage ends by itself.
func (a *jobJudge) findLocationOutage() (string, Proof) {
	name := a.j.StorageLocation
	if a.j.Kind == job.Restore {
		name = a.world.LocationByBackup[a.j.BackupName]
	}
	unavailable := LocationStatus{Phase: velero.LocationUnavailable}
	if name != "" || a.j.Kind == job.Backup {
		unavailable = a.world.Locations[name]
	} else {
		for _, l := range a.world.Locations {
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
	fact := a.AddSupport(
		SourceWatch,
		unavailable.LastValidated,
		"storage location %s is Unavailable%s",
		unavailable.Name,
		causeClause(unavailable.Message),
	)
	proof := Proof{}
	if velero.IsPermanentStoreError(unavailable.Message) ||
		a.quietDuration() >= minLastingOutage && a.Now.Sub(unavailable.LastSynced) >= minLastingOutage {
		proof = ProveRefused(fact)
	}
	return "storage location " + unavailable.Name + " is unavailable", proof
}

func (a *jobJudge) concludeUnavailable(proof Proof, advice, format string, args ...any) Verdict {
	if proof.IsZero() {
		return a.Conclude(Waiting, LocationUnavailable, advice, format, args...)
	}
	return a.proveStuck(proof, LocationUnavailable, advice, format, args...)
}

func causeClause(message string) string { return human.Prefixed(": ", human.Shorten(message, 160)) }
