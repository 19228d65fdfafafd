package action

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// proof refuses unless all files are stored, newer than the start: names are reused.
func proof(e *Evidence) verdict {
	const advice = "Check that the storage location is available and that you may create DownloadRequests. Without " +
		"proof veltui does not touch the job of a running server."
	began := e.began()
	for _, a := range e.Artifacts {
		switch {
		case a.State == job.Absent && isOperations(a.Target):
			// Velero reads an absent list as no operations, and would end the job without the data of its volumes
			// (pkg/persistence/object_store.go GetBackupItemOperations, tryGet).
			return refuse(
				overAdvice(e),
				"%s is not stored, although Velero always stores it, so its operations are unknown",
				a.Target,
			).inDoubt()
		case a.State == job.Absent:
			return refuse(waitAdvice, "%s is not stored, so Velero has not finished its work", a.Target)
		case a.State != job.Present:
			return unknown(advice, "whether "+a.Target+" is stored", a.Why)
		case a.LastModified.IsZero():
			return refuse(
				advice,
				"%s is stored, but its age is unknown: it may belong to an earlier %s of the same name",
				a.Target,
				e.Job.Kind.Word(),
			).inDoubt()
		case !a.LastModified.After(began):
			return refuse(
				olderAdvice(e),
				"the stored %s is older than this %s, so it belongs to an earlier one of the same name",
				a.Target,
				e.Job.Kind.Word(),
			)
		}
	}
	for _, target := range Targets(e.Job.Kind) {
		if !slices.ContainsFunc(e.Artifacts, func(a Artifact) bool { return a.Target == target }) {
			return refuse(
				"To check, veltui creates DownloadRequests: veltui explain "+e.Job.Kind.Word()+"/"+e.Job.Name+" --artifacts",
				diagnosis.ResultsUnchecked,
			).notLooked()
		}
	}
	return verdict{}
}

// overAdvice is for a job whose work is done but not proven complete: a restart marks it
// Failed, where that works and costs nothing of it.
func overAdvice(e *Evidence) string {
	switch l := e.Location; {
	case e.schemaTooOld(), e.StatusSubresource:
		return "First apply the CRDs of the server's version; until then restarting the server does not help."
	case len(e.Malformed) > 0:
		return malformed(e).advice
	case len(e.moving()) > 0, e.Volumes != Yes:
		return "Do not restart the Velero server while its volumes move: that cancels them. " + waitAdvice
	case l == nil, l.Phase != velero.LocationAvailable,
		e.Job.Kind == job.Backup && l.AccessMode == string(velerov1.BackupStorageLocationAccessModeReadOnly):
		return "Fix the storage location first, then try again."
	}
	return restartAdvice
}

func isOperations(target string) bool {
	return target == "BackupItemOperations" || target == "RestoreItemOperations"
}

// olderFiles reports whether an older job of the same name has files in the object store.
func (e *Evidence) olderFiles() bool {
	return slices.ContainsFunc(e.Artifacts, func(a Artifact) bool {
		return a.State == job.Present && !a.LastModified.IsZero() && !a.LastModified.After(e.began())
	})
}

// olderAdvice: a backup whose name is taken in the object store fails at once (backup_controller.go runBackup,
// BackupExists), and deleting it removes the files by name (pkg/persistence/object_store.go DeleteBackup).
func olderAdvice(e *Evidence) string {
	if e.Job.Kind == job.Restore {
		return overAdvice(e)
	}
	return "Do not delete it through Velero: that deletes the older backup of this name from the object store. " +
		overAdvice(e)
}

// workDone refuses unless the stored files show that Velero would have moved the job on.
func workDone(e *Evidence) verdict {
	if e.Counts == nil {
		return unknown("Check that its results can be downloaded: velero "+e.Job.Kind.Word()+" describe "+e.Job.Name,
			"from its stored results how many errors and operations it had", e.CountsWhy)
	}
	backup := e.Job.Kind == job.Backup
	switch {
	case backup && !e.Counts.ItemsKnown:
		return unknown("Check that its resource list can be downloaded: velero backup describe --details "+e.Job.Name,
			"from its stored resource list whether anything was backed up", "")
	case backup && e.Counts.Items == 0:
		// BackupWithResolvers may fail before the first item without an error in the results, and its files are
		// stored nevertheless (pkg/backup/backup.go, backup_controller.go runBackup, persistBackup).
		return refuse(
			overAdvice(e),
			"nothing was backed up: its stored resource list is empty, so Velero would have marked it Failed",
		)
	case e.Volumes != Yes:
		return unknown(askToList(e, volumeResources), "which volumes it has", e.VolumesWhy)
	case len(e.moving(velero.PodVolumeBackup, velero.PodVolumeRestore)) > 0:
		return refuse(
			"Wait for them: Velero stores the results after that.",
			"%s not ended, although Velero waits for those before it stores its results",
			human.Plural(
				len(e.moving(velero.PodVolumeBackup, velero.PodVolumeRestore)),
				"pod volume has",
				"pod volumes have",
			),
		).inDoubt()
	case e.Counts.Operations.Attempted < e.uploads():
		// Each DataUpload and DataDownload comes with an operation (pkg/backup/actions/csi/pvc_action.go,
		// pkg/restore/actions/csi/pvc_action.go); the finalizer looks only at those.
		return refuse(
			overAdvice(e),
			"it has %s, but its stored list of operations has only %d: Velero would lose their data",
			human.Plural(e.uploads(), "volume that a data mover moves", "volumes that a data mover moves"),
			e.Counts.Operations.Attempted,
		).inDoubt()
	}
	return verdict{}
}

// canFinalize refuses unless Velero's own finalizer can do the rest.
func canFinalize(e *Evidence) verdict {
	l := e.Location
	if len(e.blinding()) > 0 {
		return malformed(e)
	}
	switch {
	case l == nil:
		return unknown(
			"Ask for the right to read backupstoragelocations in namespace "+e.Job.Namespace+".",
			"the state of its storage location",
			e.LocationWhy,
		)
	case l.Phase != velero.LocationAvailable:
		return refuse(
			"Make the storage location available again.",
			"storage location %s is %s, so Velero could not finalize it",
			l.Name,
			cmp.Or(strings.ToLower(l.Phase), "not validated yet"),
		).inDoubt()
	case e.Job.Kind == job.Backup && l.AccessMode == string(velerov1.BackupStorageLocationAccessModeReadOnly):
		// backup_operations_controller.go Reconcile ends Waiting* as PartiallyFailed at once and
		// never finalizes it. Restores do not look at the access mode.
		return refuse(
			"Make the storage location ReadWrite again, then finalize it. Restarting the server would mark a complete "+
				"backup Failed.",
			"storage location %s is read-only: Velero would end it without finalizing it",
			l.Name,
		).inDoubt()
	}
	return verdict{}
}

// blinding returns the malformed objects that keep a running server from working on the job.
func (e *Evidence) blinding() []diagnosis.Malformed { return e.world().BlindingJobs(e.Job.Kind) }

// malformed: a typed list fails as a whole on one object that does not decode, so the
// server's controllers see nothing of that kind.
func malformed(e *Evidence) verdict {
	var names []string
	for _, m := range e.Malformed {
		names = append(names, m.String())
	}
	what := human.List(names, 3)
	return refuse(
		"Correct or delete "+what+". Restarting the server does not help: it cannot read it after its start either.",
		"Velero's server cannot read %s, so it sees no object of that kind",
		what,
	).inDoubt()
}

// nextPhase returns where Velero would have taken a job in progress with its last patch, and
// why; missing says what keeps us from being sure.
func nextPhase(e *Evidence) (phase, why string, missing verdict) {
	for _, check := range []func(*Evidence) verdict{proof, workDone, canFinalize} {
		if missing = check(e); missing.refusal != "" {
			return "", "", missing
		}
	}
	why = "all its results are stored, newer than its start, but its last status patch was lost (as in Velero issue 7207)"
	if e.gaveUp() {
		why = fmt.Sprintf(
			"all its results are stored, newer than its start, and Velero's log says that it gave up writing its last "+
				"status at %s",
			e.Log.GaveUp.At.UTC().Format("2006-01-02 15:04:05 MST"),
		)
	}
	ops := e.Counts.Operations
	open := ops.Attempted > ops.Completed+ops.Failed
	partly := e.Counts.Errors > 0 || ops.Failed > 0
	switch {
	case open && partly:
		phase = velero.PhaseWaitingPartly
	case open:
		phase = velero.PhaseWaiting
	case partly:
		phase = velero.PhaseFinalizingPartly
	default:
		phase = velero.PhaseFinalizing
	}
	if missing = contradicted(e, phase); missing.refusal != "" {
		return "", "", missing
	}
	return phase, why, verdict{}
}

// contradicted refuses a phase other than the one that the lost status carried, where the server's log names it.
func contradicted(e *Evidence, phase string) verdict {
	if e.Log.LostPhase == "" || e.Log.LostPhase == phase {
		return verdict{}
	}
	meant := e.Log.LostPhase
	if e.Log.Failure != "" {
		meant += " (" + human.Shorten(e.Log.Failure, 200) + ")"
	}
	return refuse(
		overAdvice(e),
		"the log of the Velero server says that the lost status was %s, but what is stored speaks for %s",
		meant,
		phase,
	)
}

// fields are the numbers that the lost patch carried. Velero leaves out zeros.
func fields(e *Evidence, to string) []Field {
	var set []Field
	add := func(name string, value, present int) {
		if value > present {
			set = append(set, Field{name, value})
		}
	}
	counts := job.StoredCounts{Warnings: e.Job.Warnings, Errors: e.Job.Errors, Operations: e.Job.Operations}
	if e.Counts != nil {
		counts = *e.Counts
	}
	if to == velero.PhasePartiallyFailed {
		counts.Errors = max(counts.Errors, 1)
	}
	add("warnings", counts.Warnings, e.Job.Warnings)
	add("errors", counts.Errors, e.Job.Errors)
	prefix := e.Job.Kind.Word() + "ItemOperations"
	add(prefix+"Attempted", counts.Operations.Attempted, e.Job.Operations.Attempted)
	add(prefix+"Completed", counts.Operations.Completed, e.Job.Operations.Completed)
	add(prefix+"Failed", counts.Operations.Failed, e.Job.Operations.Failed)
	return set
}

// patchWindow is how long Velero may try to write its last status, at least 5 minutes.
func patchWindow(e *Evidence) time.Duration {
	attempt, _ := velero.LastPatch(e.Job.Object, e.Server.Flags)
	return max(attempt, 5*time.Minute)
}
