package finalize

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// maxReason is how many runes a person's reason may have.
const maxReason = 500

// Draft makes the plan that follows from the evidence, or a refusal with a
// reason that a person can act on. It writes Completed on nothing: that is for
// Velero's finalizer, which knows what is left to do; nor FailedValidation,
// which means something else.
func Draft(e Evidence, r Request) Plan {
	p := Plan{
		Kind: e.Job.Kind, Namespace: e.Job.Namespace, Name: e.Job.Name, UID: e.Job.UID,
		ResourceVersion: e.Object.GetResourceVersion(), From: phaseOf(e.Object),
		request: r, evidence: e,
	}
	v := ruleFor(&e, r)
	if v.refusal == "" {
		v = guard(&e, v)
	}
	if v.refusal != "" {
		p.Action, p.Refusal, p.Advice = Refuse, v.refusal, v.advice
		return p
	}
	p.Action, p.To, p.Why, p.Reason = End, v.to, v.why, v.why
	if r.Reason != "" {
		p.Reason = r.Reason
	}
	if !velero.TerminalPhase(v.to) {
		p.Action = Nudge
	}
	p.Set = fields(&e, v.to)
	p.describe(&e)
	p.Command = p.command(e.At)
	return p
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
		return refuse("Look at the errors of its DeleteBackupRequest, mend them, and delete it again: velero backup delete "+j.Name,
			"its deletion has begun, which is no matter of the phase")
	case j.Terminal():
		return refuse("", "it has ended: %s is a final phase, which Velero never leaves", j.Phase)
	case j.Stage == job.StageUnknown:
		return refuse("A newer veltui may know it.", "phase %q is not known to this veltui", j.Phase)
	}
	o := e.owner()
	if o == ownerUnknown {
		return refuse("Ask for the right to list pods in namespace "+j.Namespace+".",
			"whether a Velero server still works on it could not be found out: %s", unseen(e))
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
		return refuse("", "the reason must be one line of at most %d characters", maxReason)
	}
	return verdict{}
}

// notBegun: Velero may still take it up, so only on request.
func notBegun(e *Evidence, r Request, o owner) verdict {
	j := e.Job
	shown := j.Phase
	if shown == "" {
		shown = velero.PhaseNew
	}
	switch {
	case r.Phase == velero.PhaseFailed:
		return goTo(velero.PhaseFailed, "given up in phase "+shown+", before Velero began with it")
	case r.Phase != "":
		return refuse("It can be given up with --phase Failed.", "nothing has been done for it yet, so %s would not be true", r.Phase)
	case j.Phase == velero.PhaseReadyToStart && o.live():
		return refuse("Wake it (--wake) when it has been so for two minutes. If that does not help, give it up with --phase Failed.",
			"it is ready to start and may only need to be looked at again: a restarted server forgets such backups")
	case !o.live():
		return refuse("Get the Velero server to run again, or give the job up with --phase Failed.",
			"it has not begun, and Velero takes it up when its server runs again")
	}
	return refuse("See what it waits for with: veltui explain "+word(j.Kind)+"/"+j.Name+". It can be given up with --phase Failed.",
		"it has not begun and a Velero server runs, which will take it up")
}

// inProgress follows what Velero itself does with such jobs when it starts, but
// saves what was stored.
func inProgress(e *Evidence, r Request, o owner) verdict {
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
		return refuse("Look again in a minute: after an outage it takes Velero a while to answer. It can be given up with --phase Failed.",
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
	return refuse(restartAdvice, "a Velero server runs that was there when it began and may still work on it; a phase written now would be overwritten")
}

const restartAdvice = "Wait, or restart the Velero server: at its start it marks this Failed, with everything else that is in progress."

// stillWorking refuses while a server that may own the job shows signs of it.
func stillWorking(e *Evidence) verdict {
	if moving := e.moving(velero.PodVolumeBackup, velero.PodVolumeRestore); len(moving) > 0 {
		return refuse("Wait for them. Do not cancel pod volume backups: some versions of Velero then wait for hours (Velero issue 9464).",
			"a Velero server works on it: %s still moving", count(len(moving), "volume is", "volumes are"))
	}
	if e.Volumes != Yes {
		return refuse("Ask for the right to list Velero's volume resources in namespace "+e.Job.Namespace+".",
			"whether a volume is still moving could not be found out: %s", e.VolumesWhy)
	}
	quiet, needed := e.quiet(), patchWindow(e.Job.Object)
	for _, a := range e.Artifacts {
		if a.State == job.Present && !a.LastModified.IsZero() {
			quiet = min(quiet, max(0, e.At.Sub(a.LastModified)))
		}
	}
	if quiet < needed {
		return refuse(fmt.Sprintf("Look again in %s.", words(needed-quiet)),
			"a Velero server works on it: the last sign was %s ago, and it tries to write its last status for %s", words(quiet), words(needed))
	}
	return verdict{}
}

// abandoned: no server runs. One that comes back marks the job Failed.
func abandoned(e *Evidence, r Request) verdict {
	complete := proof(e)
	switch {
	case r.Phase != "" && !velero.TerminalPhase(r.Phase):
		return refuse("Get the Velero server to run again.", "no Velero server runs that could go on from %s", r.Phase)
	case r.Phase == velero.PhaseFailed:
		return goTo(velero.PhaseFailed, "no Velero server runs, and nobody works on it")
	case complete.refusal == "" && !e.dataMover():
		return goTo(velero.PhasePartiallyFailed, "no Velero server runs; what it stored is complete, but it was not finalized")
	case r.Phase == "":
		return goTo(velero.PhaseFailed, "no Velero server runs, and nobody works on it")
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
	case o.live() && waiting:
		return refuse(cancelAdvice(e), "a Velero server runs and ends it by itself when its operations end or their time is over")
	case o.live() && j.Kind == job.Backup:
		return refuse("If it goes on for more than five minutes, wake it (--wake). A restart of the server also goes on with finalizing.",
			"a Velero server runs and finalizes it; a phase written now would be overwritten")
	case o.live():
		return refuse("If an exec hook never ended (Velero issues 9744, 9749) a restart of the server helps: it goes on with finalizing.",
			"a Velero server runs and finalizes it; a phase written now would be overwritten")
	case r.Phase == "":
		return refuse("Get the Velero server to run again. If it never comes back: --phase "+target+".",
			"no Velero server runs; one that comes back goes on with it by itself")
	case r.Phase != target && r.Phase != velero.PhaseFailed:
		return refuse("Without a server --phase "+target+" is possible.", "%s would not be true", r.Phase)
	case waiting && j.Kind == job.Restore && len(e.moving(velero.DataDownload)) > 0:
		return refuse(cancelAdvice(e), "%s still moving", count(len(e.moving(velero.DataDownload)), "data download is", "data downloads are"))
	}
	return goTo(r.Phase, "no Velero server runs that could finalize it")
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
	return fmt.Sprintf("Wait for %s; what stands still can be cancelled (--cancel-volumes).", count(len(movers), "volume", "volumes"))
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
		return refuse(fmt.Sprintf("Ask for the verb patch on %s in namespace %s.", resource(j.Kind), j.Namespace),
			"you may not patch %s in namespace %s%s", resource(j.Kind), j.Namespace, because(e.MayPatchWhy))
	case Unknown:
		return refuse("", "whether you may patch it could not be found out%s", because(e.MayPatchWhy))
	}
	return verdict{}
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}
