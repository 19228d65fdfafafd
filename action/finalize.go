package action

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

func finalizing() definition {
	return definition{
		name: Finalize, fill: finalize, changes: finalizeChanges, marks: finalized, longer: untilEnded, observe: observeFinalize,
		did: func(now *unstructured.Unstructured) string {
			return "has finalized it to " + now.GetAnnotations()[string(finalized)+"-to"]
		},
		lost: func(p *Plan, after *unstructured.Unstructured) string {
			if phaseOf(after) == p.To {
				return ""
			}
			return "keep phase " + orNone(phaseOf(after)) + ": its CRD may have a status subresource, or a webhook changes it"
		},
		event: func(p *Plan) (reason, message string) {
			return "Finalized", fmt.Sprintf("moved it from %s to %s: %s", orNone(p.From), p.To, p.Reason)
		},
	}
}

// maxReason is how many runes a person's reason may have.
const maxReason = 500

// finalize makes the plan that follows from the evidence, or a refusal with a
// reason that a person can act on. It writes Completed on nothing: that is for
// Velero's finalizer, which knows what is left to do; nor FailedValidation,
// which means something else.
func finalize(e *Evidence, p *Plan) bool {
	v := ruleFor(e, p.request)
	if v.refusal == "" && velero.TerminalPhase(v.to) {
		if alive := stillAlive(e); alive.refusal != "" {
			v = alive
		}
	}
	if v.refusal == "" {
		v = guard(e, v)
	}
	if v.refusal != "" {
		p.Title, p.Refusal, p.Advice = "leave it as it is", v.refusal, v.advice
		return true
	}
	p.To, p.Why, p.Reason = v.to, v.why, cmp.Or(p.request.Reason, v.why)
	p.targets, p.Set = []*unstructured.Unstructured{e.Object}, fields(e, v.to)
	switch {
	case p.Effect() == Nudge:
		p.Title = "move it on to " + p.To
	case p.From == velero.PhaseInProgress:
		p.Title = "end it as " + p.To
	default:
		p.Title = "give it up: write " + p.To
	}
	p.describe(e)
	if patch, err := finalizing().patch(p, e.Object, stamp{at: e.At, by: e.By}); err == nil {
		p.Commands = []string{kubectlCommand(p.request, p.Namespace, "patch", qualified(p.Kind), p.Name, "--type=json", "-p", string(patch.data))}
	}
	return true
}

// verdict is what the rules say: a phase with the reason for it, or a refusal.
type verdict struct {
	to, why         string
	refusal, advice string
	// doubt is true for a refusal because something could not be found out.
	doubt bool
}

func goTo(phase, why string) verdict { return verdict{to: phase, why: why} }

func refuse(advice, format string, args ...any) verdict {
	return verdict{refusal: fmt.Sprintf(format, args...), advice: advice}
}

// inDoubt is a refusal because something could not be found out.
func (v verdict) inDoubt() verdict {
	v.doubt = true
	return v
}

// ruleFor finds the rule for the job's phase.
func ruleFor(e *Evidence, r Request) verdict {
	if v := checkRequest(e, r); v.refusal != "" {
		return v
	}
	j := e.Job
	switch {
	case j.Deleting:
		return refuse("It goes when a Velero server has removed its files; that needs a server and the storage location.",
			"it is being deleted")
	case j.Phase == velero.PhaseDeleting:
		return refuse("Look at the errors of its DeleteBackupRequest, fix them, and delete it again: velero backup delete "+j.Name,
			"its deletion has begun, which is no matter of the phase")
	case j.Terminal():
		return refuse("Nothing is left to finalize. To remove it: velero "+j.Kind.Word()+" delete "+j.Name,
			"it has ended: %s is a final phase, which Velero never leaves", j.Phase)
	case e.isMalformed():
		return unreadable(e, r)
	case j.Stage == job.StageUnknown:
		return refuse("A newer veltui may know it.", "phase %q is not known to this veltui", j.Phase)
	}
	o := e.owner()
	if o == ownerUnknown {
		advice := "Look again in a few minutes."
		if !e.Server.Visible {
			advice = "Ask for the right to list pods in namespace " + j.Namespace + "."
		}
		return refuse(advice, "whether a Velero server still works on it could not be found out: %s", unseen(e))
	}
	switch j.Phase {
	case "", velero.PhaseNew, velero.PhaseQueued, velero.PhaseReadyToStart:
		return notBegun(e, r, o)
	case velero.PhaseInProgress:
		return inProgress(e, r, o)
	}
	return afterUpload(e, r, o)
}

func unseen(e *Evidence) string {
	if !e.Server.Visible && e.Server.Why != "" {
		return e.Server.Why
	}
	if !e.Server.Visible {
		return "its pods are not visible"
	}
	for _, c := range e.Server.Running {
		if !c.StartedAt.IsZero() && !e.began().IsZero() {
			return "a server started within two minutes of it, and their clocks may differ by that"
		}
	}
	return "a server runs, but since when is not known"
}

// checkRequest refuses what is never right, whatever the evidence.
func checkRequest(e *Evidence, r Request) verdict {
	switch {
	case r.Phase == velero.PhaseCompleted && e.Job.Kind == job.Backup:
		return refuse("Without --phase the evidence decides.",
			"Completed is never written on a backup: only Velero's finalizer knows whether it is complete, and a backup that is not stored would be removed within a minute")
	case r.Phase == velero.PhaseCompleted:
		return refuse("Without --phase the evidence decides.",
			"Completed is never written on a restore: only Velero's finalizer knows whether volumes and hooks are done")
	case r.Phase == velero.PhaseFailedValidation:
		return refuse("Failed says that it ended without success.", "FailedValidation means that the spec is wrong, which is not so")
	case r.Phase != "" && !slices.Contains([]string{velero.PhaseFailed, velero.PhasePartiallyFailed, velero.PhaseFinalizing,
		velero.PhaseFinalizingPartly, velero.PhaseWaiting, velero.PhaseWaitingPartly}, r.Phase):
		return refuse("Possible are Failed, PartiallyFailed, and the Finalizing and WaitingForPluginOperations phases.",
			"%q is not a phase to finalize with", r.Phase)
	}
	return checkReason(r)
}

// checkReason refuses a reason that is not fit for a resource and a log.
func checkReason(r Request) verdict {
	if utf8.RuneCountInString(r.Reason) > maxReason || !utf8.ValidString(r.Reason) || strings.ContainsFunc(r.Reason, unicode.IsControl) {
		return refuse("Give a shorter reason, without control characters.", "the reason must be one line of at most %d characters", maxReason)
	}
	return verdict{}
}

// notBegun: Velero may still pick it up, so only on request.
func notBegun(e *Evidence, r Request, o owner) verdict {
	j := e.Job
	shown := j.Phase
	if shown == "" {
		shown = velero.PhaseNew
	}
	giveUp := "It can be given up with --phase Failed."
	if undeletable(e) {
		// Only the start fills in spec.storageLocation and the expiration
		// (backup_controller.go prepareBackupRequest), and the deletion
		// controller refuses a backup without a location each time.
		giveUp += " To remove it use kubectl, as Velero cannot delete it (it names no storage location): " + deleteCommand(e, r)
	}
	switch {
	case r.Phase != "" && r.Phase != velero.PhaseFailed:
		return refuse(giveUp, "nothing has been done for it yet, so %s would not be true", r.Phase)
	case r.Phase == velero.PhaseFailed && j.Phase == velero.PhaseReadyToStart && o == ownerAlive:
		return counted(e)
	case r.Phase == velero.PhaseFailed && j.Phase == velero.PhaseReadyToStart && o == ownerRestarting:
		return refuse("Look again in two minutes.", "the Velero server has just restarted, and may yet start it")
	case r.Phase == velero.PhaseFailed:
		return goTo(velero.PhaseFailed, "given up in phase "+shown+", before Velero began with it")
	case j.Phase == velero.PhaseReadyToStart && o == ownerAlive:
		return refuse("Wake it (--wake) when it has been so for two minutes. If Velero then still does not start it, the server's log says why.",
			"it is ready to start, and the server that queued it runs")
	case j.Phase == velero.PhaseReadyToStart && o.live():
		return refuse("Wake it (--wake) when it has been so for two minutes. "+giveUp,
			"it is ready to start and may only need to be looked at again: a restarted server forgets such backups")
	case !o.live():
		return refuse("Get the Velero server to run again. "+giveUp,
			"it has not begun, and Velero picks it up when its server runs again")
	}
	return refuse("See what it waits for with: veltui explain "+j.Kind.Word()+"/"+j.Name+". "+giveUp,
		"it has not begun and a Velero server runs, which will pick it up")
}

// counted: the server that let a backup out of its queue counts it among those
// that run until it starts; nothing tells it of a phase that somebody else
// writes (backup_queue_controller.go AddReadyToStart; backup_tracker.go: only
// Add, AddPostProcessing and Delete remove the entry). With
// --concurrent-backups 1 no backup would start any more. Since 1.18.
func counted(e *Evidence) verdict {
	return refuse("Wake it (--wake). If Velero cannot start it, restart the server first: that frees the slot, and then it can be given up or removed.",
		"the Velero server that queued it still counts it as running, and would do so until its restart: with phase Failed it would keep its slot, and other backups would wait in the queue")
}

// undeletable reports whether Velero cannot delete a backup because it names no
// storage location (backup_deletion_controller.go Reconcile).
func undeletable(e *Evidence) bool {
	return e.Job.Kind == job.Backup && e.Job.StorageLocation == ""
}

// deleteCommand removes the resource alone; nothing is stored of a backup that
// has not begun.
func deleteCommand(e *Evidence, r Request) string {
	return kubectlCommand(r, e.Job.Namespace, "delete", qualified(e.Job.Kind), e.Job.Name)
}

// inProgress follows what Velero itself does with such jobs when it starts, but
// saves what was stored.
func inProgress(e *Evidence, r Request, o owner) verdict {
	if right := mayPatch(e); right.refusal != "" {
		return right // without the right nobody asks what is stored
	}
	switch o {
	case ownerRestarting:
		return refuse("Look again in two minutes.", "Velero has just restarted and marks such jobs Failed itself in a moment")
	case ownerDown:
		return abandoned(e, r)
	}
	to, why, missing := nextPhase(e)
	if o == ownerAlive {
		if v := stillWorking(e); v.refusal != "" {
			return v
		}
	}
	switch {
	case missing.refusal == "" && (r.Phase == "" || r.Phase == to):
		return goTo(to, why)
	case o == ownerRestarted && r.Phase == "" && missing.doubt:
		return refuse(missing.advice+" After an outage it may take Velero a minute to answer. It can be given up with --phase Failed.",
			"the Velero server restarted while it was in progress, and nobody works on it, but it may be complete: %s", missing.refusal)
	case o == ownerRestarted && r.Phase == velero.PhaseFailed,
		o == ownerRestarted && r.Phase == "" && missing.refusal != "":
		return goTo(velero.PhaseFailed, "the Velero server restarted while it was in progress, and nobody works on it")
	case missing.refusal != "" && (r.Phase == "" || !velero.TerminalPhase(r.Phase)):
		return missing
	case missing.refusal == "":
		return refuse("Leave --phase out, or give --phase "+to+".",
			"all that Velero does for it is stored and a server runs, so it can be moved on to %s and end by itself; %s would not be true", to, r.Phase)
	case o == ownerRestarted:
		return refuse("--phase Failed is possible.", "%s needs proof of what is stored: %s", r.Phase, missing.refusal)
	}
	return refuse(waitAdvice, "a Velero server runs that was there when it began and may still work on it; a phase written now would be overwritten")
}

const (
	// restartAdvice is for a job whose work is over.
	restartAdvice = "A restart of the Velero server marks it Failed, with everything else that is in progress, and cancels the data movement of all of those."
	waitAdvice    = "Wait. If the server's log shows that it no longer works on it: restarting the server marks it Failed, with everything else that is in progress, and cancels the data movement of all of those."
)

// stillWorking refuses while a server that may own the job shows signs of it.
func stillWorking(e *Evidence) verdict {
	if moving := e.moving(velero.PodVolumeBackup, velero.PodVolumeRestore); len(moving) > 0 {
		return refuse("Wait for them. From 1.17.0 to 1.18.2 do not cancel pod volume backups: Velero then waits for hours (Velero issue 9464).",
			"a Velero server works on it: %s still moving", human.Plural(len(moving), "volume is", "volumes are"))
	}
	if e.Volumes != Yes {
		return refuse("Ask for the right to list Velero's volume resources in namespace "+e.Job.Namespace+".",
			"whether a volume is still moving could not be found out: %s", e.VolumesWhy)
	}
	if e.gaveUp() {
		return verdict{} // it says itself that it has stopped
	}
	quiet, needed := e.quiet(), patchWindow(e)
	if at := e.Log.Last.At; !at.IsZero() {
		quiet = min(quiet, max(0, e.At.Sub(at)))
	}
	for _, a := range e.Artifacts {
		if a.State == job.Present && !a.LastModified.IsZero() {
			quiet = min(quiet, max(0, e.At.Sub(a.LastModified)))
		}
	}
	if quiet < needed {
		return refuse(fmt.Sprintf("Look again in %s.", human.Duration(needed-quiet)),
			"a Velero server works on it: the last sign was %s ago, and it tries to write its last status for %s", human.Duration(quiet), human.Duration(needed))
	}
	return verdict{}
}

// downWhy is why a job that no server works on is ended.
const downWhy = "no pod was recognised as a running Velero server, and nothing that works on it has written anything for five minutes"

// abandoned: no server runs. One that comes back marks the job Failed.
func abandoned(e *Evidence, r Request) verdict {
	complete := proof(e)
	if complete.refusal == "" {
		complete = workDone(e)
	}
	switch {
	case r.Phase != "" && !velero.TerminalPhase(r.Phase):
		return refuse("Get the Velero server to run again.", "no pod was recognised as a running Velero server that could go on from %s", r.Phase)
	case r.Phase == velero.PhaseFailed:
		return goTo(velero.PhaseFailed, downWhy)
	case complete.refusal == "" && !e.dataMover():
		return goTo(velero.PhasePartiallyFailed, "no Velero server runs; what it stored is complete, but it was not finalized")
	case r.Phase == "":
		return goTo(velero.PhaseFailed, downWhy)
	case complete.refusal == "":
		return refuse("--phase Failed is possible.",
			"PartiallyFailed would not be true: volumes moved by a data mover can only be restored after Velero's finalizer has run")
	}
	return refuse("--phase Failed is possible.", "PartiallyFailed needs proof of what is stored: %s", complete.refusal)
}

// afterUpload are the phases in which Velero goes on by itself, after a restart
// too, as long as there is a server.
func afterUpload(e *Evidence, r Request, o owner) verdict {
	j := e.Job
	waiting := j.Phase == velero.PhaseWaiting || j.Phase == velero.PhaseWaitingPartly
	target := velero.PhasePartiallyFailed
	if j.Kind == job.Backup && (e.dataMover() || missingFile(e)) {
		target = velero.PhaseFailed
	}
	switch {
	case o.live() && len(e.blinding()) > 0:
		return malformed(e)
	case o.live() && waiting:
		return refuse(cancelAdvice(e), "a Velero server runs and ends it by itself when its operations end or their time is over")
	case o.live() && j.Kind == job.Backup:
		return refuse("If it goes on for more than five minutes, wake it (--wake).",
			"a Velero server runs and finalizes it; a phase written now would be overwritten")
	case o.live():
		return refuse(hookAdvice(e), "a Velero server runs and finalizes it; a phase written now would be overwritten")
	case r.Phase == "":
		return refuse(comeBackAdvice(e, target), "no pod was recognised as a running Velero server; one that comes back goes on with it by itself")
	case r.Phase != target && r.Phase != velero.PhaseFailed:
		return refuse("Without a server --phase "+target+" is possible.", "%s would not be true", r.Phase)
	case waiting && j.Kind == job.Restore && len(e.moving(velero.DataDownload)) > 0:
		return refuse(cancelAdvice(e), "%s still moving", human.Plural(len(e.moving(velero.DataDownload)), "data download is", "data downloads are"))
	}
	return goTo(r.Phase, "no pod was recognised as a running Velero server that could finalize it")
}

// comeBackAdvice: up to 1.18.3 the server panics while it finalizes a restore
// with a pending claim that names no storage class, at each start
// (restore_finalizer_controller.go patchDynamicPVWithVolumeInfo; since 1.14).
// Then a final phase on that restore is what lets the server run again.
func comeBackAdvice(e *Evidence, target string) string {
	finalizing := e.Job.Phase == velero.PhaseFinalizing || e.Job.Phase == velero.PhaseFinalizingPartly
	if e.Job.Kind == job.Restore && finalizing && e.crashLoops() {
		return "Look at the end of the server's log. If it panics in patchDynamicPVWithVolumeInfo, this restore is what kills it at each start (up to 1.18.3): --phase " + target + " lets it run again."
	}
	return "Get the Velero server to run again. If it never comes back: --phase " + target + "."
}

// missingFile reports whether a file was looked for and is not there.
func missingFile(e *Evidence) bool {
	return slices.ContainsFunc(e.Artifacts, func(a Artifact) bool { return a.State == job.Absent })
}

func cancelAdvice(e *Evidence) string {
	movers := e.moving(velero.DataUpload, velero.DataDownload)
	if len(movers) == 0 {
		return "Wait for its operations; Velero gives up on them at their time-out."
	}
	return fmt.Sprintf("Wait for %s; those that cannot move any more can be cancelled (--cancel-volumes).", human.Count(len(movers), "volume"))
}

// guard holds a phase against what the API server allows.
func guard(e *Evidence, v verdict) verdict {
	right := mayPatch(e)
	switch {
	case right.refusal != "":
		return right
	case e.StatusSubresource == Yes:
		return refuse("Velero's own CRDs have no status subresource; a patch that this veltui sends would be ignored.",
			"the CRD of this cluster has a status subresource")
	case e.Phases != nil && !slices.Contains(e.Phases, v.to):
		return refuse("Apply the CRDs of the server's own version: velero install --crds-only --dry-run -o yaml | kubectl apply -f -",
			"the CRD of this cluster does not know phase %s: it is older than the Velero server, which may be why the job is stuck (Velero issue 6170)", v.to)
	}
	return v
}

// mayPatch refuses unless we may patch the job.
func mayPatch(e *Evidence) verdict {
	j := e.Job
	switch e.MayPatch {
	case No:
		return refuse(fmt.Sprintf("Ask for the verb patch on %s in namespace %s.", qualified(j.Kind), j.Namespace),
			"you may not patch %s in namespace %s%s", qualified(j.Kind), j.Namespace, because(e.MayPatchWhy))
	case Unknown:
		return refuse("Try again; without an answer nothing is written.", "whether you may patch it could not be found out%s", because(e.MayPatchWhy))
	}
	return verdict{}
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}
