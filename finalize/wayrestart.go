package finalize

import (
	"fmt"
	"time"

	"github.com/veltui/veltui/velero"
)

// terminatingWait is how long Velero waits for one item of a namespace that is
// being deleted (--terminating-resource-timeout, 10 minutes), and a margin.
const terminatingWait = 15 * time.Minute

// restart is what gets a hung server going again, at the cost of all that it
// works on.
func restart(e *Evidence, w *Way) bool {
	j := e.Job
	switch {
	case j.Deleting || e.quiet() < wakeFinalizer || !e.owner().live() || e.owner() == ownerRestarting:
		return false
	case j.Phase == velero.PhaseInProgress && e.owner() == ownerAlive:
		if e.quiet() < patchWindow(j.Object) || len(e.Terminating) > 0 && e.quiet() < terminatingWait {
			return false
		}
		if len(e.Terminating) > 0 {
			w.WillNot = append(w.WillNot, "end the deletion of "+some(e.Terminating, 5)+", which a restore into it waits for")
		}
		w.Why = fmt.Sprintf("a server that may work on it runs, but nothing has changed for %s", words(e.quiet()))
		w.Then = append(w.Then, "Velero marks it Failed at its start")
	case j.Phase == velero.PhaseFinalizing || j.Phase == velero.PhaseFinalizingPartly:
		w.Why = fmt.Sprintf("it has been %s for %s; the finalizer may hang, on a hook of this or another restore (Velero issues 9744, 9749) or on a patch without end", j.Phase, words(e.quiet()))
		w.Then = append(w.Then, "Velero goes on with finalizing it after its start")
	case j.Phase == "" || j.Phase == velero.PhaseNew || j.Phase == velero.PhaseQueued:
		if busy := e.busy(); busy != "" || e.OthersWhy != "" {
			return false
		}
		w.Why = fmt.Sprintf("it has waited for %s although nothing else is in progress; the server's worker or queue may hang (Velero issues 4128, 10519)", words(e.quiet()))
		w.Then = append(w.Then, "Velero takes it up after its start")
	default:
		return false
	}
	describeRestart(e, w)
	return true
}

// busy is another job that may keep this one waiting.
func (e *Evidence) busy() string {
	for _, o := range e.Others {
		switch o.Phase {
		case velero.PhaseInProgress, velero.PhaseReadyToStart:
			return o.ref()
		}
	}
	return ""
}

func (o Other) ref() string { return word(o.Kind) + "/" + o.Name }

func describeRestart(e *Evidence, w *Way) {
	j := e.Job
	w.Action, w.Title = Restart, "restart Velero's server"
	if j.Phase == velero.PhaseInProgress {
		w.Fails = append(w.Fails, word(j.Kind)+"/"+j.Name)
	}
	for _, o := range e.Others {
		if o.Phase == velero.PhaseInProgress {
			w.Fails = append(w.Fails, o.ref())
		}
	}
	switch {
	case e.OthersWhy != "":
		w.Will = append(w.Will, "mark Failed every job in progress, which could not all be listed: "+e.OthersWhy)
	case len(w.Fails) > 0:
		w.Will = append(w.Will, fmt.Sprintf("mark Failed %s in progress, and cancel their volumes: %s", count(len(w.Fails), "job", "jobs"), some(w.Fails, 10)))
	default:
		w.Will = append(w.Will, "fail nothing: no job is in progress")
	}
	w.Will = append(w.Will, "empty the server's memory, so that deletions it refused are accepted")
	w.WillNot = append(w.WillNot, "remove snapshots or objects that failed jobs leave behind", "touch jobs that wait for operations or are finalized: they go on")
	if e.Server.Deployment != "" {
		w.Commands = []string{kubectl(w.request, j.Namespace, "rollout", "restart", "deployment/"+e.Server.Deployment)}
	} else {
		for _, c := range e.Server.Running {
			w.Commands = append(w.Commands, kubectl(w.request, j.Namespace, "delete", "pod", c.Pod))
		}
	}
	w.Refusal = "veltui restarts nothing itself"
	w.Advice = "Run the command when what it fails can be spared."
}
