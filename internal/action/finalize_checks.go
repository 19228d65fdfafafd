package action

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// checkAllFilesStored refuses unless all files are stored, and newer than the job's start: names are reused.
func checkAllFilesStored(e *Evidence) decision {
	const advice = "Check that the storage location is available and that you may create DownloadRequests. Without " +
		"proof veltui does not touch the job of a running server."
	began := e.startTime()
	for _, a := range e.Artifacts {
		switch {
		case a.State == job.Absent && isOperationList(a.Target):
			// Velero reads a missing list as no operations, and would end the job without the data of its volumes
			// (pkg/persistence/object_store.go GetBackupItemOperations, tryGet).
			return newRefusal(
				workDoneAdvice(e),
				"%s is not stored, although Velero always stores it, so its operations are unknown",
				a.Target,
			).withDoubt()
		case a.State == job.Absent:
			return newRefusal(waitAdvice, "%s is not stored, so Velero has not finished its work", a.Target)
		case a.State != job.Present:
			return refuseUnknown(advice, "whether "+a.Target+" is stored", a.Unchecked)
		case a.LastModified.IsZero():
			return newRefusal(
				advice,
				"%s is stored, but its age is unknown: it may belong to an earlier %s of the same name",
				a.Target,
				e.Job.Kind.Noun(),
			).withDoubt()
		case !a.LastModified.After(began):
			return newRefusal(
				olderFilesAdvice(e),
				"the stored %s is older than this %s, so it belongs to an earlier one of the same name",
				a.Target,
				e.Job.Kind.Noun(),
			)
		}
	}
	for _, target := range ArtifactTargets(e.Job.Kind) {
		if !slices.ContainsFunc(e.Artifacts, func(a Artifact) bool { return a.Target == target }) {
			return newRefusal(
				"To check, veltui creates DownloadRequests: veltui explain "+e.Job.Kind.Noun()+"/"+e.Job.Name+" --artifacts",
				diagnosis.ResultsUnchecked,
			).withUnchecked()
		}
	}
	return decision{}
}

// workDoneAdvice is the advice for a job whose work is done but not proven complete: a restart marks it Failed, where
// restarting works and costs the job nothing.
func workDoneAdvice(e *Evidence) string {
	switch l := e.Location; {
	case e.isSchemaTooOld(), e.HasStatusSubresource:
		return "First apply the CRDs of the server's version; until then restarting the server does not help."
	case len(e.MalformedJobs) > 0:
		return refuseMalformed(e).advice
	case len(e.unendedVolumes()) > 0, e.VolumesListed != Yes:
		return "Do not restart the Velero server while its volumes move: that cancels them. " + waitAdvice
	case l == nil, l.Phase != velero.LocationAvailable,
		e.Job.Kind == job.Backup && l.AccessMode == string(veleroapi.BackupStorageLocationAccessModeReadOnly):
		return "Fix the storage location first, then try again."
	}
	return restartAdvice
}

func isOperationList(target string) bool {
	return target == "BackupItemOperations" || target == "RestoreItemOperations"
}

// hasOlderFiles reports whether an older job of the same name has files in the object store.
func (e *Evidence) hasOlderFiles() bool {
	return slices.ContainsFunc(e.Artifacts, func(a Artifact) bool {
		return a.State == job.Present && !a.LastModified.IsZero() && !a.LastModified.After(e.startTime())
	})
}

// olderFilesAdvice is the advice for a job whose name has older files. A backup whose name is taken in the object
// store fails at once (backup_controller.go runBackup, BackupExists), and deleting it removes the files by name
// (pkg/persistence/object_store.go DeleteBackup).
func olderFilesAdvice(e *Evidence) string {
	if e.Job.Kind == job.Restore {
		return workDoneAdvice(e)
	}
	return "Do not delete it through Velero: that deletes the older backup of this name from the object store. " +
		workDoneAdvice(e)
}

// checkWorkDone refuses unless the stored files show that Velero would have moved the job on.
func checkWorkDone(e *Evidence) decision {
	if e.StoredCounts == nil {
		return refuseUnknown("Check that its results can be downloaded: velero "+e.Job.Kind.Noun()+" describe "+e.Job.Name,
			"from its stored results how many errors and operations it had", e.CountsUnchecked)
	}
	backup := e.Job.Kind == job.Backup
	switch {
	case backup && !e.StoredCounts.ItemsKnown:
		return refuseUnknown("Check that its resource list can be downloaded: velero backup describe --details "+e.Job.Name,
			"from its stored resource list whether anything was backed up", "")
	case backup && e.StoredCounts.Items == 0:
		// BackupWithResolvers may fail before the first item without an error in the results, and its files are stored
		// nevertheless (pkg/backup/backup.go, backup_controller.go runBackup, persistBackup).
		return newRefusal(
			workDoneAdvice(e),
			"nothing was backed up: its stored resource list is empty, so Velero would have marked it Failed",
		)
	case e.VolumesListed != Yes:
		return refuseUnknown(listRightAdvice(e, volumeResources), "which volumes it has", e.VolumesUnchecked)
	case len(e.unendedVolumes(velero.PodVolumeBackup, velero.PodVolumeRestore)) > 0:
		return newRefusal(
			"Wait for them: Velero stores the results after that.",
			"%s not ended, although Velero waits for those before it stores its results",
			human.CountForms(
				len(e.unendedVolumes(velero.PodVolumeBackup, velero.PodVolumeRestore)),
				"pod volume has",
				"pod volumes have",
			),
		).withDoubt()
	case e.StoredCounts.Operations.Attempted < e.countMoverVolumes():
		// Each DataUpload and DataDownload comes with an operation (pkg/backup/actions/csi/pvc_action.go,
		// pkg/restore/actions/csi/pvc_action.go); the finalizer reads only the operations.
		return newRefusal(
			workDoneAdvice(e),
			"it has %s, but its stored list of operations has only %d: Velero would lose their data",
			human.CountForms(e.countMoverVolumes(), "volume that a data mover moves", "volumes that a data mover moves"),
			e.StoredCounts.Operations.Attempted,
		).withDoubt()
	}
	return decision{}
}

// checkFinalizerCanFinish refuses unless Velero's own finalizer can do the rest.
func checkFinalizerCanFinish(e *Evidence) decision {
	l := e.Location
	if len(e.malformedBlockers()) > 0 {
		return refuseMalformed(e)
	}
	switch {
	case l == nil:
		return refuseUnknown(
			"Ask for the right to read backupstoragelocations in namespace "+e.Job.Namespace+".",
			"the state of its storage location",
			e.LocationUnchecked,
		)
	case l.Phase != velero.LocationAvailable:
		return newRefusal(
			"Make the storage location available again.",
			"storage location %s is %s, so Velero could not finalize it",
			l.Name,
			cmp.Or(strings.ToLower(l.Phase), "not validated yet"),
		).withDoubt()
	case e.Job.Kind == job.Backup && l.AccessMode == string(veleroapi.BackupStorageLocationAccessModeReadOnly):
		// backup_operations_controller.go Reconcile ends Waiting* as PartiallyFailed at once and never finalizes the
		// backup. Restores ignore the access mode.
		return newRefusal(
			"Make the storage location ReadWrite again, then finalize it. Restarting the server would mark a complete "+
				"backup Failed.",
			"storage location %s is read-only: Velero would end it without finalizing it",
			l.Name,
		).withDoubt()
	}
	return decision{}
}

// malformedBlockers returns the malformed objects that keep a running server from working on the job.
func (e *Evidence) malformedBlockers() []diagnosis.MalformedResource {
	return e.buildWorld().FindMalformedBlockers(e.Job.Kind)
}

// refuseMalformed refuses because of malformed objects: a typed list fails as a whole on one object that does not
// decode, so the server's controllers see no objects of that kind.
func refuseMalformed(e *Evidence) decision {
	var names []string
	for _, m := range e.MalformedJobs {
		names = append(names, m.String())
	}
	what := human.JoinNames(names, 3)
	return newRefusal(
		"Correct or delete "+what+". Restarting the server does not help: it cannot read it after its start either.",
		"Velero's server cannot read %s, so it sees no object of that kind",
		what,
	).withDoubt()
}

// findNextPhase returns the phase to which Velero would have moved a job in progress with its last patch, and why;
// missing is what prevents certainty.
func findNextPhase(e *Evidence) (phase, why string, missing decision) {
	for _, check := range []func(*Evidence) decision{checkAllFilesStored, checkWorkDone, checkFinalizerCanFinish} {
		if missing = check(e); missing.refusal != "" {
			return "", "", missing
		}
	}
	why = "all its results are stored, newer than its start, but its last status patch was lost (as in Velero issue 7207)"
	if e.hasServerGivenUp() {
		why = fmt.Sprintf(
			"all its results are stored, newer than its start, and Velero's log says that it gave up writing its last "+
				"status at %s",
			human.MomentUTC(e.ServerLog.GaveUp.At),
		)
	}
	ops := e.StoredCounts.Operations
	open := ops.Attempted > ops.Completed+ops.Failed
	partly := e.StoredCounts.Errors > 0 || ops.Failed > 0
	switch {
	case open && partly:
		phase = velero.PhaseWaitingForPluginOperationsPartiallyFailed
	case open:
		phase = velero.PhaseWaitingForPluginOperations
	case partly:
		phase = velero.PhaseFinalizingPartiallyFailed
	default:
		phase = velero.PhaseFinalizing
	}
	if missing = checkAgainstLog(e, phase); missing.refusal != "" {
		return "", "", missing
	}
	return phase, why, decision{}
}

// checkAgainstLog refuses a phase other than the one that the lost status carried, where the server's log names it.
func checkAgainstLog(e *Evidence, phase string) decision {
	if e.ServerLog.LostPhase == "" || e.ServerLog.LostPhase == phase {
		return decision{}
	}
	meant := e.ServerLog.LostPhase
	if e.ServerLog.Failure != "" {
		meant += " (" + human.Shorten(e.ServerLog.Failure, 200) + ")"
	}
	return newRefusal(
		workDoneAdvice(e),
		"the log of the Velero server says that the lost status was %s, but what is stored speaks for %s",
		meant,
		phase,
	)
}

// buildStatusFields returns the numbers that the lost patch carried. Velero omits zeros.
func buildStatusFields(e *Evidence, to string) []StatusField {
	var set []StatusField
	add := func(name string, value, present int) {
		if value > present {
			set = append(set, StatusField{name, value})
		}
	}
	counts := job.StoredCounts{Warnings: e.Job.Warnings, Errors: e.Job.Errors, Operations: e.Job.Operations}
	if e.StoredCounts != nil {
		counts = *e.StoredCounts
	}
	if to == velero.PhasePartiallyFailed {
		counts.Errors = max(counts.Errors, 1)
	}
	add("warnings", counts.Warnings, e.Job.Warnings)
	add("errors", counts.Errors, e.Job.Errors)
	prefix := e.Job.Kind.Noun() + "ItemOperations"
	add(prefix+"Attempted", counts.Operations.Attempted, e.Job.Operations.Attempted)
	add(prefix+"Completed", counts.Operations.Completed, e.Job.Operations.Completed)
	add(prefix+"Failed", counts.Operations.Failed, e.Job.Operations.Failed)
	return set
}

// statusPatchWindow returns how long Velero may try to write its last status, at least 5 minutes.
func statusPatchWindow(e *Evidence) time.Duration {
	attempt, _ := velero.LastPatchTimes(e.Job.Object, e.Server.Flags)
	return max(attempt, 5*time.Minute)
}
