package action

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// finalizeAction writes the phase in which the job should be.
type finalizeAction struct{ baseApplicable }

func (finalizeAction) actionKind() Kind { return Finalize }

func (finalizeAction) annotationPrefix() annotationPrefix { return finalizedPrefix }

func (finalizeAction) eventReason() string { return "Finalized" }

func (finalizeAction) doneText(p *Plan) string {
	return "changed its phase from " + phaseOrNone(p.FromPhase) + " to " + p.ToPhase
}

func (finalizeAction) doneByOtherText(now *unstructured.Unstructured) string {
	return "set it to " + now.GetAnnotations()[string(finalizedPrefix)+"-to"]
}

func (finalizeAction) waitsForVelero() bool { return true }

// maxReason is the maximum length of a person's reason, in runes.
const maxReason = 500

// fillPlan makes a plan, or a refusal with a reason that a person can act on. It never writes Completed, because only
// Velero's finalizer knows what is left to do, nor FailedValidation, which means something else.
func (finalizeAction) fillPlan(e *Evidence, p *Plan) bool {
	v := judgeRequest(e, p.request)
	if v.refusal == "" && velero.IsTerminalPhase(v.phase) {
		if alive := checkNothingAtWork(e); alive.refusal != "" {
			v = alive
		}
	}
	if v.refusal == "" {
		v = checkWritable(e, v)
	}
	if p.applyRefusal(v) {
		p.Title = "leave it as it is"
		return true
	}
	p.ToPhase, p.EvidenceText, p.Reason = v.phase, v.why, cmp.Or(p.request.Reason, v.why)
	p.targets, p.StatusFields = []*unstructured.Unstructured{e.Object}, buildStatusFields(e, v.phase)
	switch {
	case p.Effect() == EffectNudge:
		p.Title = "set it to " + p.ToPhase + ", and let Velero finish it"
	case p.FromPhase == velero.PhaseInProgress:
		p.Title = "set it to " + p.ToPhase
	default:
		p.Title = "give it up: set it to " + p.ToPhase
	}
	p.describeFinalize(e)
	return true
}

// decision is a phase with the reason for it, or a refusal.
type decision struct {
	phase, why      string
	refusal, advice string
	isInDoubt       bool // something could not be found out, or was not checked
	isUnchecked     bool // the evidence that would settle it was not read
}

func allowTransition(phase, why string) decision { return decision{phase: phase, why: why} }

func newRefusal(advice, format string, args ...any) decision {
	return decision{refusal: fmt.Sprintf(format, args...), advice: advice}
}

func refuseUnknown(advice, what, why string) decision {
	return newRefusal(advice, "%s", cannotTellText(what, why)).withDoubt()
}

func cannotTellText(what, why string) string { return "cannot tell " + what + causeSuffix(why) }

func listRightAdvice(e *Evidence, resources string) string {
	return "Ask for the right to list " + resources + " in namespace " + e.Job.Namespace + "."
}

const volumeResources = "Velero's volume resources"

func (v decision) withDoubt() decision {
	v.isInDoubt = true
	return v
}

// withUnchecked marks a refusal that reading the object store may settle; finalizing itself reads it.
func (v decision) withUnchecked() decision {
	v.isUnchecked = true
	return v.withDoubt()
}

func judgeRequest(e *Evidence, r Request) decision {
	if v := checkRequest(e, r); v.refusal != "" {
		return v
	}
	j := e.Job
	switch {
	case j.Deleting:
		return newRefusal(
			"Velero deletes it once it has removed its files. That needs a running server and the storage location.",
			"it is being deleted",
		)
	case j.Phase == velero.PhaseDeleting:
		return newRefusal(
			"Look at the errors of its DeleteBackupRequest, fix them, and delete it again: velero backup delete "+j.Name,
			"Velero has begun to delete it, and a phase does not change that",
		)
	case j.IsTerminal():
		return newRefusal("There is nothing left to finalize. To remove it: velero "+j.Kind.Noun()+" delete "+j.Name,
			"it has ended: %s is a final phase", j.Phase)
	case e.isMalformed():
		return refuseUnreadable(e, r)
	case j.Stage == job.StageUnknown:
		return newRefusal("Try a newer veltui.", "this veltui does not know phase %q", j.Phase)
	}
	o := e.findJobOwner()
	if o == ownerUnknown {
		advice := "Try again in a few minutes."
		if !e.Server.Visible {
			advice = listRightAdvice(e, "pods")
		}
		return refuseUnknown(advice, "whether a Velero server still works on it", serverUncheckedReason(e))
	}
	switch j.Phase {
	case "", velero.PhaseNew, velero.PhaseQueued, velero.PhaseReadyToStart:
		return judgeNotBegun(e, r, o)
	case velero.PhaseInProgress:
		return judgeInProgress(e, r, o)
	}
	return judgeAfterUpload(e, r, o)
}

func serverUncheckedReason(e *Evidence) string {
	if !e.Server.Visible && e.PodsUnchecked != "" {
		return e.PodsUnchecked
	}
	if !e.Server.Visible {
		return "its pods cannot be listed"
	}
	for _, c := range e.Server.Pods {
		if !c.StartedAt.IsZero() && !e.startTime().IsZero() {
			return "a server started within two minutes of the job, and clocks may differ by that much"
		}
	}
	return "a server is running, but its start time is unknown"
}

// FinalizePhases lists the phases that finalizing can write, if the evidence allows it.
func FinalizePhases() []string {
	return []string{
		velero.PhaseFailed,
		velero.PhasePartiallyFailed,
		velero.PhaseFinalizing,
		velero.PhaseFinalizingPartiallyFailed,
		velero.PhaseWaitingForPluginOperations,
		velero.PhaseWaitingForPluginOperationsPartiallyFailed,
	}
}

func checkRequest(e *Evidence, r Request) decision {
	switch {
	case r.Phase == velero.PhaseCompleted && e.Job.Kind == job.Backup:
		return newRefusal(
			"Omit --phase to let the evidence decide.",
			"veltui never writes Completed on a backup: only Velero's finalizer knows whether it is complete, and Velero "+
				"removes a backup that is not stored within a minute",
		)
	case r.Phase == velero.PhaseCompleted:
		return newRefusal(
			"Omit --phase to let the evidence decide.",
			"veltui never writes Completed on a restore: only Velero's finalizer knows whether volumes and hooks are done",
		)
	case r.Phase == velero.PhaseFailedValidation:
		return newRefusal("Use --phase Failed.", "FailedValidation means that the spec is invalid, and this spec is valid")
	case r.Phase != "" && !slices.Contains(FinalizePhases(), r.Phase):
		return newRefusal("Use Failed, PartiallyFailed, or a Finalizing or WaitingForPluginOperations phase.",
			"finalize cannot write phase %q", r.Phase)
	}
	return checkReason(r)
}

func checkReason(r Request) decision {
	if utf8.RuneCountInString(r.Reason) > maxReason || !utf8.ValidString(r.Reason) ||
		strings.ContainsFunc(r.Reason, unicode.IsControl) {
		return newRefusal(
			"Give a shorter reason, without control characters.",
			"the reason must be one line of at most %d characters",
			maxReason,
		)
	}
	return decision{}
}

// judgeNotBegun ends a job only on request: Velero may still pick it up.
func judgeNotBegun(e *Evidence, r Request, o jobOwner) decision {
	j := e.Job
	shown := cmp.Or(j.Phase, velero.PhaseNew)
	giveUp := "To give it up: --phase Failed."
	if diagnosis.IsUndeletable(e.Job) {
		giveUp += " To remove it, use kubectl, because Velero cannot delete it (it names no storage location): " +
			deleteCommand(e, r)
	}
	switch {
	case r.Phase != "" && r.Phase != velero.PhaseFailed:
		return newRefusal(giveUp, "Velero has not started it, so %s would be wrong", r.Phase)
	case r.Phase == velero.PhaseFailed && j.Phase == velero.PhaseReadyToStart && o == ownerAlive:
		return refuseCountedSlot(e)
	case r.Phase == velero.PhaseFailed && j.Phase == velero.PhaseReadyToStart && o == ownerRestarting:
		return newRefusal("Try again in two minutes.", "the Velero server has just restarted and may still start it")
	case r.Phase == velero.PhaseFailed:
		return allowTransition(velero.PhaseFailed, "given up in phase "+shown+", before Velero started it")
	case j.Phase == velero.PhaseReadyToStart && o == ownerAlive:
		return newRefusal(
			"Wait two minutes, then wake it (--wake). If Velero still does not start it, see the server's log.",
			"it is ready to start, and the server that queued it is running",
		)
	case j.Phase == velero.PhaseReadyToStart && o.hasServer():
		return newRefusal("Wait two minutes, then wake it (--wake). "+giveUp,
			"it is ready to start, but a server that restarts forgets such a backup until something changes it")
	case !o.hasServer():
		return newRefusal("Get the Velero server running. "+giveUp,
			"Velero has not started it, and will when its server runs again")
	}
	return newRefusal("To see what it waits for: veltui explain "+j.Kind.Noun()+"/"+j.Name+". "+giveUp,
		"Velero has not started it, but a server is running and will")
}

// refuseCountedSlot refuses to end a backup whose slot stays taken. The server that let a backup out of its queue
// counts it as running until it starts; a phase that another user writes does not change that
// (backup_queue_controller.go AddReadyToStart; backup_tracker.go: only Add, AddPostProcessing and Delete remove the
// entry). With --concurrent-backups 1 no backup would start any more. Since 1.18.
func refuseCountedSlot(e *Evidence) decision {
	return newRefusal(
		"Wake it (--wake). If Velero still does not start it, restart the server to free the slot; then give it up or "+
			"remove it.",
		"the Velero server that queued it counts it as running until it restarts: with phase Failed it would keep its "+
			"slot, and other backups would wait in the queue",
	)
}

// deleteCommand returns the command that deletes the resource alone: nothing is stored of a backup that has not
// begun.
func deleteCommand(e *Evidence, r Request) string {
	return r.ClusterAccess().KubectlCommand(e.Job.Namespace, "delete", qualifiedResource(e.Job.Kind), e.Job.Name)
}

// judgeInProgress decides as Velero does at its start, but saves what was stored.
func judgeInProgress(e *Evidence, r Request, o jobOwner) decision {
	if right := checkMayPatch(e); right.refusal != "" {
		return right // without the right to patch, what is stored is not read
	}
	switch o {
	case ownerRestarting:
		return newRefusal(
			"Try again in two minutes.",
			"Velero has just restarted and is about to mark such jobs Failed itself",
		)
	case ownerDown:
		return judgeWithoutServer(e, r)
	}
	to, why, missing := findNextPhase(e)
	if lost := e.ServerLog.LostPhase; lost != "" && lost != velero.PhaseFailed {
		missing.isInDoubt = true // Velero meant to continue it
	}
	switch {
	case o == ownerAlive:
		if v := checkOwnerQuiet(e); v.refusal != "" {
			return v
		}
	case e.isLogFresh():
		if v := checkNothingAtWork(e); v.refusal != "" {
			return v
		}
	}
	switch {
	case missing.refusal == "" && (r.Phase == "" || r.Phase == to):
		return allowTransition(to, why)
	case o == ownerRestarted && r.Phase == "" && missing.isInDoubt:
		v := newRefusal(
			missing.advice+" After an outage Velero may need a minute to answer. To give it up anyway: --phase Failed.",
			restartedReason+", but it may be complete: %s",
			missing.refusal,
		)
		v.isInDoubt, v.isUnchecked = missing.isUnchecked, missing.isUnchecked
		return v
	case o == ownerRestarted && r.Phase == velero.PhaseFailed,
		o == ownerRestarted && r.Phase == "" && missing.refusal != "":
		return allowTransition(velero.PhaseFailed, restartedReason)
	case missing.refusal != "" && (r.Phase == "" || !velero.IsTerminalPhase(r.Phase)):
		return missing
	case missing.refusal == "":
		return newRefusal(
			"Omit --phase, or use --phase "+to+".",
			"all its results are stored and a server is running, so Velero can finish it from %s; %s would be wrong",
			to,
			r.Phase,
		)
	case o == ownerRestarted:
		return newRefusal(
			"--phase Failed is allowed.",
			"%s requires proof that its results are stored: %s",
			r.Phase,
			missing.refusal,
		)
	}
	return newRefusal(
		waitAdvice,
		"the Velero server that started it is running and may still work on it; it would overwrite a phase written now",
	)
}

const (
	restartedReason = "the Velero server restarted while it was in progress and no longer works on it"
	// restartAdvice is the advice for a job whose work is done.
	restartAdvice = "Restarting the Velero server marks it Failed, but also every other job in progress, and " +
		"cancels their data movement."
	waitAdvice = "Wait. If the server's log shows that it no longer works on it, restarting the server marks it " +
		"Failed, but also every other job in progress, and cancels their data movement."
	// serverDownReason is the reason for ending a job without a server.
	serverDownReason = "no pod was recognised as a running Velero server, and nothing that works on it has written " +
		"for five minutes"
)

// checkOwnerQuiet refuses while a server that may own the job shows signs of life.
func checkOwnerQuiet(e *Evidence) decision {
	if moving := e.unendedVolumes(velero.PodVolumeBackup, velero.PodVolumeRestore); len(moving) > 0 {
		return newRefusal(
			"Wait for them. With Velero 1.17.0 to 1.18.2 do not cancel pod volume backups: Velero then waits for hours "+
				"(Velero issue 9464).",
			"a Velero server is working on it: %s not ended",
			human.CountForms(len(moving), "volume has", "volumes have"),
		)
	}
	if e.VolumesListed != Yes {
		return refuseUnknown(listRightAdvice(e, volumeResources), "whether a volume is still moving", e.VolumesUnchecked)
	}
	if e.hasServerGivenUp() {
		return decision{} // the server's log says that it has given up
	}
	needed := statusPatchWindow(e)
	quiet := min(e.quietDuration(), max(0, e.Now.Sub(job.LatestTime(e.lastServerWork(), e.ServerLog.Last.At))))
	switch {
	case needed >= velero.Unlimited:
		return newRefusal(
			"Wait until Velero writes it: it tries again by itself, at ever longer intervals.",
			"a Velero server may still be working on it: it last changed %s ago, and its --resource-timeout, which is "+
				"zero or cannot be read, sets no end to its attempts at the last status",
			e.Style.Duration(quiet),
		)
	case quiet < needed:
		return newRefusal(
			fmt.Sprintf("Try again in %s.", e.Style.Duration(needed-quiet)),
			"a Velero server may still be working on it: it last changed %s ago, and Velero retries its last status "+
				"patch for up to %s",
			e.Style.Duration(quiet),
			e.Style.Duration(needed),
		)
	}
	return decision{}
}

// judgeWithoutServer decides on a job while no server runs. A server that comes back marks the job Failed.
func judgeWithoutServer(e *Evidence, r Request) decision {
	complete := checkAllFilesStored(e)
	if complete.refusal == "" {
		complete = checkWorkDone(e)
	}
	switch {
	case r.Phase != "" && !velero.IsTerminalPhase(r.Phase):
		return newRefusal(
			"Get the Velero server running.",
			"no pod was recognised as a running Velero server that could continue from %s",
			r.Phase,
		)
	case r.Phase == velero.PhaseFailed:
		return allowTransition(velero.PhaseFailed, serverDownReason)
	case complete.refusal == "" && !e.mayHaveDataMover():
		return allowTransition(
			velero.PhasePartiallyFailed,
			"no Velero server is running; its stored results are complete, but Velero did not finalize it",
		)
	case r.Phase == "":
		return allowTransition(velero.PhaseFailed, serverDownReason)
	case complete.refusal == "":
		return newRefusal(
			"--phase Failed is allowed.",
			"PartiallyFailed would be wrong: volumes moved by a data mover can only be restored after "+
				"Velero's finalizer has run",
		)
	}
	return newRefusal(
		"--phase Failed is allowed.",
		"PartiallyFailed requires proof that its results are stored: %s",
		complete.refusal,
	)
}

// judgeAfterUpload decides on a job in the phases that Velero continues by itself, even after a restart.
func judgeAfterUpload(e *Evidence, r Request, o jobOwner) decision {
	j := e.Job
	waiting := j.Phase == velero.PhaseWaitingForPluginOperations ||
		j.Phase == velero.PhaseWaitingForPluginOperationsPartiallyFailed
	target := velero.PhasePartiallyFailed
	if j.Kind == job.Backup && (e.mayHaveDataMover() || hasMissingFile(e)) {
		target = velero.PhaseFailed
	}
	switch {
	case o.hasServer() && len(e.malformedBlockers()) > 0:
		return refuseMalformed(e)
	case o.hasServer() && waiting:
		return newRefusal(cancelAdvice(e), "a Velero server is running and ends it when its operations end or time out")
	case o.hasServer() && j.Kind == job.Backup:
		return newRefusal("If this lasts more than five minutes, wake it (--wake).",
			"a Velero server is running and finalizing it; it would overwrite a phase written now")
	case o.hasServer():
		return newRefusal(
			hookAdvice(e),
			"a Velero server is running and finalizing it; it would overwrite a phase written now",
		)
	case r.Phase == "":
		return newRefusal(
			serverDownAdvice(e, target),
			"no pod was recognised as a running Velero server; one that comes back continues with it by itself",
		)
	case r.Phase != target && r.Phase != velero.PhaseFailed:
		return newRefusal("Without a server, --phase "+target+" is allowed.", "%s would be wrong", r.Phase)
	case waiting && j.Kind == job.Restore && len(e.unendedVolumes(velero.DataDownload)) > 0:
		return newRefusal(
			cancelAdvice(e),
			"%s not ended",
			human.CountForms(len(e.unendedVolumes(velero.DataDownload)), "data download has", "data downloads have"),
		)
	}
	return allowTransition(r.Phase, "no pod was recognised as a running Velero server that could finalize it")
}

// serverDownAdvice says how to get a crashing server running. Up to 1.18.3 the server panics at each start while it
// finalizes a restore with a pending claim that names no storage class (restore_finalizer_controller.go
// patchDynamicPVWithVolumeInfo; since 1.14). A final phase on that restore lets the server run again.
func serverDownAdvice(e *Evidence, target string) string {
	finalizing := e.Job.Phase == velero.PhaseFinalizing || e.Job.Phase == velero.PhaseFinalizingPartiallyFailed
	if e.Job.Kind == job.Restore && finalizing && e.Server.IsCrashLooping() {
		return "Look at the end of the server's log. If it panics in patchDynamicPVWithVolumeInfo, this restore " +
			"crashes the server at every start (up to 1.18.3): --phase " + target + " lets it run again."
	}
	return "Get the Velero server running. If it never comes back: --phase " + target + "."
}

func hasMissingFile(e *Evidence) bool {
	return slices.ContainsFunc(e.Artifacts, func(a Artifact) bool { return a.State == job.Absent })
}

func cancelAdvice(e *Evidence) string {
	movers := e.unendedVolumes(velero.DataUpload, velero.DataDownload)
	if len(movers) == 0 {
		return "Wait for its operations; Velero gives up on them when they time out."
	}
	return fmt.Sprintf("Wait for %s. To cancel the stalled ones: --cancel-volumes.", human.Count(len(movers), "volume"))
}

func checkWritable(e *Evidence, v decision) decision {
	right := checkMayPatch(e)
	switch {
	case right.refusal != "":
		return right
	case e.HasStatusSubresource:
		return newRefusal(
			"Apply Velero's own CRDs, which have none. With it the API server drops the phase that veltui, or Velero, writes.",
			"this cluster's CRD has a status subresource",
		)
	case e.AllowedPhases != nil && !slices.Contains(e.AllowedPhases, v.phase):
		return newRefusal(
			"Apply the CRDs of the server's own version: velero install --crds-only --dry-run -o yaml | kubectl apply -f -",
			"this cluster's CRD does not allow phase %s: it is older than the Velero server, which may be why the job is "+
				"stuck (Velero issue 6170)",
			v.phase,
		)
	}
	return v
}

func checkMayPatch(e *Evidence) decision {
	return checkPermission(
		e.MayPatch,
		newAccessRight("patch", veleroapi.GroupVersion, e.Job.Kind.Resource(), e.Job.Namespace),
		e.MayPatchReason,
	)
}

func causeSuffix(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}
