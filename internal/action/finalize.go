package action

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// finalizeAction writes the phase in which the job should be.
type finalizeAction struct{ baseApplicable }

func (finalizeAction) name() Name { return Finalize }

func (finalizeAction) marks() marks { return finalized }

func (finalizeAction) event() string { return "Finalized" }

func (finalizeAction) did(p *Plan) string {
	return "changed its phase from " + orNone(p.From) + " to " + p.To
}

func (finalizeAction) othersDid(now *unstructured.Unstructured) string {
	return "set it to " + now.GetAnnotations()[string(finalized)+"-to"]
}

func (finalizeAction) endedByVelero() bool { return true }

const maxReason = 500 // how many runes a person's reason may have

// fill makes a plan, or a refusal with a reason that a person can act on. It never writes Completed: only
// Velero's finalizer knows what is left to do; nor FailedValidation, which means something else.
func (finalizeAction) fill(e *Evidence, p *Plan) bool {
	v := ruleFor(e, p.request)
	if v.refusal == "" && velero.TerminalPhase(v.to) {
		if alive := stillAlive(e); alive.refusal != "" {
			v = alive
		}
	}
	if v.refusal == "" {
		v = guard(e, v)
	}
	if p.refuse(v) {
		p.Title = "leave it as it is"
		return true
	}
	p.To, p.Why, p.Reason = v.to, v.why, cmp.Or(p.request.Reason, v.why)
	p.targets, p.Set = []*unstructured.Unstructured{e.Object}, fields(e, v.to)
	switch {
	case p.Effect() == Nudge:
		p.Title = "set it to " + p.To + ", and let Velero finish it"
	case p.From == velero.PhaseInProgress:
		p.Title = "set it to " + p.To
	default:
		p.Title = "give it up: set it to " + p.To
	}
	p.describe(e)
	return true
}

// verdict is a phase with the reason for it, or a refusal.
type verdict struct {
	to, why         string
	refusal, advice string
	doubt           bool // something could not be found out, or was not looked for
	unchecked       bool // what would settle it was not looked for
}

func goTo(phase, why string) verdict { return verdict{to: phase, why: why} }

func refuse(advice, format string, args ...any) verdict {
	return verdict{refusal: fmt.Sprintf(format, args...), advice: advice}
}

func unknown(advice, what, why string) verdict {
	return refuse(advice, "%s", cannotTell(what, why)).inDoubt()
}

func cannotTell(what, why string) string { return "cannot tell " + what + because(why) }

func askToList(e *Evidence, resources string) string {
	return "Ask for the right to list " + resources + " in namespace " + e.Job.Namespace + "."
}

const volumeResources = "Velero's volume resources"

func (v verdict) inDoubt() verdict {
	v.doubt = true
	return v
}

// notLooked is for a refusal that a look at the object store may settle, which finalizing itself takes.
func (v verdict) notLooked() verdict {
	v.unchecked = true
	return v.inDoubt()
}

func ruleFor(e *Evidence, r Request) verdict {
	if v := checkRequest(e, r); v.refusal != "" {
		return v
	}
	j := e.Job
	switch {
	case j.Deleting:
		return refuse(
			"Velero deletes it once it has removed its files. That needs a running server and the storage location.",
			"it is being deleted",
		)
	case j.Phase == velero.PhaseDeleting:
		return refuse(
			"Look at the errors of its DeleteBackupRequest, fix them, and delete it again: velero backup delete "+j.Name,
			"Velero has begun to delete it, and a phase does not change that",
		)
	case j.Terminal():
		return refuse("There is nothing left to finalize. To remove it: velero "+j.Kind.Word()+" delete "+j.Name,
			"it has ended: %s is a final phase", j.Phase)
	case e.isMalformed():
		return unreadable(e, r)
	case j.Stage == job.StageUnknown:
		return refuse("Try a newer veltui.", "this veltui does not know phase %q", j.Phase)
	}
	o := e.owner()
	if o == ownerUnknown {
		advice := "Try again in a few minutes."
		if !e.Server.Visible {
			advice = askToList(e, "pods")
		}
		return unknown(advice, "whether a Velero server still works on it", unseen(e))
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
	if !e.Server.Visible && e.PodsWhy != "" {
		return e.PodsWhy
	}
	if !e.Server.Visible {
		return "its pods cannot be listed"
	}
	for _, c := range e.Server.Pods {
		if !c.StartedAt.IsZero() && !e.began().IsZero() {
			return "a server started within two minutes of the job, and clocks may differ by that much"
		}
	}
	return "a server is running, but its start time is unknown"
}

// Phases lists what finalize can write, if the evidence allows it.
func Phases() []string {
	return []string{
		velero.PhaseFailed,
		velero.PhasePartiallyFailed,
		velero.PhaseFinalizing,
		velero.PhaseFinalizingPartly,
		velero.PhaseWaiting,
		velero.PhaseWaitingPartly,
	}
}

func checkRequest(e *Evidence, r Request) verdict {
	switch {
	case r.Phase == velero.PhaseCompleted && e.Job.Kind == job.Backup:
		return refuse(
			"Omit --phase to let the evidence decide.",
			"veltui never writes Completed on a backup: only Velero's finalizer knows whether it is complete, and Velero "+
				"removes a backup that is not stored within a minute",
		)
	case r.Phase == velero.PhaseCompleted:
		return refuse(
			"Omit --phase to let the evidence decide.",
			"veltui never writes Completed on a restore: only Velero's finalizer knows whether volumes and hooks are done",
		)
	case r.Phase == velero.PhaseFailedValidation:
		return refuse("Use --phase Failed.", "FailedValidation means that the spec is invalid, and this spec is valid")
	case r.Phase != "" && !slices.Contains(Phases(), r.Phase):
		return refuse("Use Failed, PartiallyFailed, or a Finalizing or WaitingForPluginOperations phase.",
			"finalize cannot write phase %q", r.Phase)
	}
	return checkReason(r)
}

func checkReason(r Request) verdict {
	if utf8.RuneCountInString(r.Reason) > maxReason || !utf8.ValidString(r.Reason) ||
		strings.ContainsFunc(r.Reason, unicode.IsControl) {
		return refuse(
			"Give a shorter reason, without control characters.",
			"the reason must be one line of at most %d characters",
			maxReason,
		)
	}
	return verdict{}
}

// notBegun ends a job only on request: Velero may still pick it up.
func notBegun(e *Evidence, r Request, o owner) verdict {
	j := e.Job
	shown := cmp.Or(j.Phase, velero.PhaseNew)
	giveUp := "To give it up: --phase Failed."
	if diagnosis.Undeletable(e.Job) {
		giveUp += " To remove it, use kubectl, because Velero cannot delete it (it names no storage location): " +
			deleteCommand(e, r)
	}
	switch {
	case r.Phase != "" && r.Phase != velero.PhaseFailed:
		return refuse(giveUp, "Velero has not started it, so %s would be wrong", r.Phase)
	case r.Phase == velero.PhaseFailed && j.Phase == velero.PhaseReadyToStart && o == ownerAlive:
		return counted(e)
	case r.Phase == velero.PhaseFailed && j.Phase == velero.PhaseReadyToStart && o == ownerRestarting:
		return refuse("Try again in two minutes.", "the Velero server has just restarted and may still start it")
	case r.Phase == velero.PhaseFailed:
		return goTo(velero.PhaseFailed, "given up in phase "+shown+", before Velero started it")
	case j.Phase == velero.PhaseReadyToStart && o == ownerAlive:
		return refuse(
			"Wait two minutes, then wake it (--wake). If Velero still does not start it, see the server's log.",
			"it is ready to start, and the server that queued it is running",
		)
	case j.Phase == velero.PhaseReadyToStart && o.live():
		return refuse("Wait two minutes, then wake it (--wake). "+giveUp,
			"it is ready to start, but a server that restarts forgets such a backup until something changes it")
	case !o.live():
		return refuse("Get the Velero server running. "+giveUp,
			"Velero has not started it, and will when its server runs again")
	}
	return refuse("To see what it waits for: veltui explain "+j.Kind.Word()+"/"+j.Name+". "+giveUp,
		"Velero has not started it, but a server is running and will")
}

// counted: the server that let a backup out of its queue counts it as running until it starts; a
// phase that another user writes does not change that (backup_queue_controller.go
// AddReadyToStart; backup_tracker.go: only Add, AddPostProcessing and Delete remove the entry).
// With --concurrent-backups 1 no backup would start any more. Since 1.18.
func counted(e *Evidence) verdict {
	return refuse(
		"Wake it (--wake). If Velero still does not start it, restart the server to free the slot; then give it up or "+
			"remove it.",
		"the Velero server that queued it counts it as running until it restarts: with phase Failed it would keep its "+
			"slot, and other backups would wait in the queue",
	)
}

// deleteCommand removes the resource alone: nothing is stored of a backup that has not begun.
func deleteCommand(e *Evidence, r Request) string {
	return r.Reach().Kubectl(e.Job.Namespace, "delete", qualified(e.Job.Kind), e.Job.Name)
}

// inProgress does what Velero does at its start, but saves what was stored.
func inProgress(e *Evidence, r Request, o owner) verdict {
	if right := mayPatch(e); right.refusal != "" {
		return right // without the right nobody asks what is stored
	}
	switch o {
	case ownerRestarting:
		return refuse(
			"Try again in two minutes.",
			"Velero has just restarted and is about to mark such jobs Failed itself",
		)
	case ownerDown:
		return abandoned(e, r)
	}
	to, why, missing := nextPhase(e)
	if lost := e.Log.LostPhase; lost != "" && lost != velero.PhaseFailed {
		missing.doubt = true // Velero meant to go on with it
	}
	switch {
	case o == ownerAlive:
		if v := stillWorking(e); v.refusal != "" {
			return v
		}
	case e.logMoves():
		if v := stillAlive(e); v.refusal != "" {
			return v
		}
	}
	switch {
	case missing.refusal == "" && (r.Phase == "" || r.Phase == to):
		return goTo(to, why)
	case o == ownerRestarted && r.Phase == "" && missing.doubt:
		v := refuse(
			missing.advice+" After an outage Velero may need a minute to answer. To give it up anyway: --phase Failed.",
			restartedWhy+", but it may be complete: %s",
			missing.refusal,
		)
		v.doubt, v.unchecked = missing.unchecked, missing.unchecked
		return v
	case o == ownerRestarted && r.Phase == velero.PhaseFailed,
		o == ownerRestarted && r.Phase == "" && missing.refusal != "":
		return goTo(velero.PhaseFailed, restartedWhy)
	case missing.refusal != "" && (r.Phase == "" || !velero.TerminalPhase(r.Phase)):
		return missing
	case missing.refusal == "":
		return refuse(
			"Omit --phase, or use --phase "+to+".",
			"all its results are stored and a server is running, so Velero can finish it from %s; %s would be wrong",
			to,
			r.Phase,
		)
	case o == ownerRestarted:
		return refuse(
			"--phase Failed is allowed.",
			"%s requires proof that its results are stored: %s",
			r.Phase,
			missing.refusal,
		)
	}
	return refuse(
		waitAdvice,
		"the Velero server that started it is running and may still work on it; it would overwrite a phase written now",
	)
}

const (
	restartedWhy = "the Velero server restarted while it was in progress and no longer works on it"
	// restartAdvice is for a job whose work is done.
	restartAdvice = "Restarting the Velero server marks it Failed, but also every other job in progress, and " +
		"cancels their data movement."
	waitAdvice = "Wait. If the server's log shows that it no longer works on it, restarting the server marks it " +
		"Failed, but also every other job in progress, and cancels their data movement."
	// downWhy is why a job without a server is ended.
	downWhy = "no pod was recognised as a running Velero server, and nothing that works on it has written for five minutes"
)

// stillWorking refuses while a server that may own the job shows signs of it.
func stillWorking(e *Evidence) verdict {
	if moving := e.moving(velero.PodVolumeBackup, velero.PodVolumeRestore); len(moving) > 0 {
		return refuse(
			"Wait for them. With Velero 1.17.0 to 1.18.2 do not cancel pod volume backups: Velero then waits for hours "+
				"(Velero issue 9464).",
			"a Velero server is working on it: %s not ended",
			human.Plural(len(moving), "volume has", "volumes have"),
		)
	}
	if e.Volumes != Yes {
		return unknown(askToList(e, volumeResources), "whether a volume is still moving", e.VolumesWhy)
	}
	if e.gaveUp() {
		return verdict{} // it says itself that it has stopped
	}
	needed := patchWindow(e)
	quiet := min(e.quiet(), max(0, e.At.Sub(job.Latest(e.lastWork(), e.Log.Last.At))))
	switch {
	case needed >= velero.Endless:
		return refuse(
			"Wait until Velero writes it: it tries again by itself, at ever longer intervals.",
			"a Velero server may still be working on it: it last changed %s ago, and its --resource-timeout, which is "+
				"zero or cannot be read, sets no end to its attempts at the last status",
			e.Style.Duration(quiet),
		)
	case quiet < needed:
		return refuse(
			fmt.Sprintf("Try again in %s.", e.Style.Duration(needed-quiet)),
			"a Velero server may still be working on it: it last changed %s ago, and Velero retries its last status "+
				"patch for up to %s",
			e.Style.Duration(quiet),
			e.Style.Duration(needed),
		)
	}
	return verdict{}
}

// abandoned: no server runs. One that comes back marks the job Failed.
func abandoned(e *Evidence, r Request) verdict {
	complete := proof(e)
	if complete.refusal == "" {
		complete = workDone(e)
	}
	switch {
	case r.Phase != "" && !velero.TerminalPhase(r.Phase):
		return refuse(
			"Get the Velero server running.",
			"no pod was recognised as a running Velero server that could continue from %s",
			r.Phase,
		)
	case r.Phase == velero.PhaseFailed:
		return goTo(velero.PhaseFailed, downWhy)
	case complete.refusal == "" && !e.dataMover():
		return goTo(
			velero.PhasePartiallyFailed,
			"no Velero server is running; its stored results are complete, but Velero did not finalize it",
		)
	case r.Phase == "":
		return goTo(velero.PhaseFailed, downWhy)
	case complete.refusal == "":
		return refuse(
			"--phase Failed is allowed.",
			"PartiallyFailed would be wrong: volumes moved by a data mover can only be restored after "+
				"Velero's finalizer has run",
		)
	}
	return refuse(
		"--phase Failed is allowed.",
		"PartiallyFailed requires proof that its results are stored: %s",
		complete.refusal,
	)
}

// afterUpload: in these phases Velero continues by itself, after a restart too.
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
		return refuse(cancelAdvice(e), "a Velero server is running and ends it when its operations end or time out")
	case o.live() && j.Kind == job.Backup:
		return refuse("If this lasts more than five minutes, wake it (--wake).",
			"a Velero server is running and finalizing it; it would overwrite a phase written now")
	case o.live():
		return refuse(
			hookAdvice(e),
			"a Velero server is running and finalizing it; it would overwrite a phase written now",
		)
	case r.Phase == "":
		return refuse(
			serverDownAdvice(e, target),
			"no pod was recognised as a running Velero server; one that comes back continues with it by itself",
		)
	case r.Phase != target && r.Phase != velero.PhaseFailed:
		return refuse("Without a server, --phase "+target+" is allowed.", "%s would be wrong", r.Phase)
	case waiting && j.Kind == job.Restore && len(e.moving(velero.DataDownload)) > 0:
		return refuse(
			cancelAdvice(e),
			"%s not ended",
			human.Plural(len(e.moving(velero.DataDownload)), "data download has", "data downloads have"),
		)
	}
	return goTo(r.Phase, "no pod was recognised as a running Velero server that could finalize it")
}

// serverDownAdvice: up to 1.18.3 the server panics while it finalizes a restore with a pending claim that names no
// storage class, at each start (restore_finalizer_controller.go patchDynamicPVWithVolumeInfo; since 1.14). A final
// phase on that restore lets the server run again.
func serverDownAdvice(e *Evidence, target string) string {
	finalizing := e.Job.Phase == velero.PhaseFinalizing || e.Job.Phase == velero.PhaseFinalizingPartly
	if e.Job.Kind == job.Restore && finalizing && e.Server.CrashLoops() {
		return "Look at the end of the server's log. If it panics in patchDynamicPVWithVolumeInfo, this restore " +
			"crashes the server at every start (up to 1.18.3): --phase " + target + " lets it run again."
	}
	return "Get the Velero server running. If it never comes back: --phase " + target + "."
}

func missingFile(e *Evidence) bool {
	return slices.ContainsFunc(e.Artifacts, func(a Artifact) bool { return a.State == job.Absent })
}

func cancelAdvice(e *Evidence) string {
	movers := e.moving(velero.DataUpload, velero.DataDownload)
	if len(movers) == 0 {
		return "Wait for its operations; Velero gives up on them when they time out."
	}
	return fmt.Sprintf("Wait for %s. To cancel the stalled ones: --cancel-volumes.", human.Count(len(movers), "volume"))
}

func guard(e *Evidence, v verdict) verdict {
	right := mayPatch(e)
	switch {
	case right.refusal != "":
		return right
	case e.StatusSubresource:
		return refuse(
			"Apply Velero's own CRDs, which have none. With it the API server drops the phase that veltui, or Velero, writes.",
			"this cluster's CRD has a status subresource",
		)
	case e.Phases != nil && !slices.Contains(e.Phases, v.to):
		return refuse(
			"Apply the CRDs of the server's own version: velero install --crds-only --dry-run -o yaml | kubectl apply -f -",
			"this cluster's CRD does not allow phase %s: it is older than the Velero server, which may be why the job is "+
				"stuck (Velero issue 6170)",
			v.to,
		)
	}
	return v
}

func mayPatch(e *Evidence) verdict {
	return permission(
		e.MayPatch,
		rightTo("patch", velerov1.SchemeGroupVersion, e.Job.Kind.Resource(), e.Job.Namespace),
		e.MayPatchWhy,
	)
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}
