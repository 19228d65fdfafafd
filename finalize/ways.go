package finalize

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/job"
)

// How long nothing must have changed before another look of Velero's could help.
const (
	// wakeStart: a backup that left the queue starts within seconds.
	wakeStart = 2 * time.Minute
	// wakeFinalizer: finalizing takes seconds as a rule, but needs the store.
	wakeFinalizer = 5 * time.Minute
	// terminatingWait is how long Velero waits for one item of a namespace that
	// is being deleted (--terminating-resource-timeout, 10 minutes), and a margin.
	terminatingWait = 15 * time.Minute
	// leftBehind is how long a volume may go on after its job has ended.
	leftBehind = 2 * time.Minute
)

// Ways finds the ways out that the evidence speaks for, the gentlest first;
// none for a job that moves. Of the request only the context counts. The rules
// are those of velero's controllers: what makes them look again
// (pkg/controller/*_controller.go, SetupWithManager), who hears spec.cancel
// (pkg/controller/data_upload_controller.go), and what a restart marks Failed
// (pkg/cmd/server/server.go).
func Ways(e Evidence, r Request) []Way {
	var found []Way
	for _, find := range []func(*Evidence, *Way) bool{wake, cancelVolumes, restart} {
		w := Way{Kind: e.Job.Kind, Namespace: e.Job.Namespace, Name: e.Job.Name, UID: e.Job.UID, Phase: phaseOf(e.Object),
			request: r, evidence: e}
		if find(&e, &w) {
			found = append(found, w)
		}
	}
	return found
}

// wake: the controllers look at a backup that is ready to start only when it is
// changed, and not at their start; the finalizers look at every change, and
// after errors in ever longer intervals.
func wake(e *Evidence, w *Way) bool {
	j := e.Job
	finalizing := j.Phase == job.PhaseFinalizing || j.Phase == job.PhaseFinalizingPartly
	starting := j.Phase == job.PhaseReadyToStart && j.Kind == job.Backup
	switch {
	case j.Deleting, !starting && !finalizing, e.Server.Visible && !e.owner().live():
		return false
	case starting && e.quiet() < wakeStart, finalizing && e.quiet() < wakeFinalizer:
		return false
	}
	w.Action, w.Title = Wake, "wake it"
	w.targets = []*unstructured.Unstructured{e.Object}
	w.Why = fmt.Sprintf("it has been %s for %s; Velero looks at it again when it is changed", j.Phase, words(e.quiet()))
	w.Will = []string{"write annotations that say who woke it and when, only if nothing has changed it since; the phase stays as it is"}
	if starting {
		w.Then = append(w.Then, "Velero's server starts the backup within seconds, if it is able to")
	} else {
		w.Then = append(w.Then, "Velero's finalizer tries again at once, instead of after its growing delay of up to 17 minutes")
		if j.Kind == job.Restore {
			w.WillNot = append(w.WillNot, "help if the finalizer waits for a hook that never ends (Velero issues 9744, 9749): only a restart of the server does")
		}
	}
	if o := e.owner(); o == ownerUnknown {
		w.WillNot = append(w.WillNot, "help if no Velero server runs, which could not be found out: "+unseen(e))
	}
	w.Commands = []string{kubectl(w.request.Context, j.Namespace, "annotate", resource(j.Kind), j.Name,
		AnnotationWokenAt+"="+e.At.UTC().Format(time.RFC3339), "--overwrite", "--resource-version="+e.Object.GetResourceVersion())}
	if v := mayPatch(e); v.refusal != "" {
		w.Refusal, w.Advice = v.refusal, v.advice
	}
	return true
}

// cancelVolumes: data movement that has stood still for longer than anything
// explains, or that goes on although its job has ended.
func cancelVolumes(e *Evidence, w *Way) bool {
	var dead, forbidden []job.Volume
	for _, v := range e.moving() {
		switch {
		case v.CancelAsked || !idle(e, &v):
		case isPodVolume(v.Kind) && podVolumeRisk(e) != "":
			forbidden = append(forbidden, v)
		case e.volumes[volumeKey{v.Kind, v.Name}] != nil:
			dead = append(dead, v)
		}
	}
	switch {
	case len(dead) > 0:
		describeCancel(e, w, dead)
	case len(forbidden) > 0:
		w.Refusal, w.Advice = podVolumeRisk(e), "Wait for Velero's time-out, or see to the node-agent that should move them."
	default:
		return false
	}
	named := slices.Concat(dead, forbidden)
	w.Action, w.Title = CancelVolumes, "cancel "+volumesTitle(named)
	w.Why = fmt.Sprintf("%s: no change for %s", volumesTitle(named), words(silence(e, named)))
	if e.Job.Terminal() {
		w.Why = fmt.Sprintf("the %s has ended, but %s not", word(e.Job.Kind), count(len(named), "volume of it has", "volumes of it have"))
	}
	if len(dead) > 0 && len(forbidden) > 0 {
		w.WillNot = append(w.WillNot, fmt.Sprintf("cancel %s: %s", volumesTitle(forbidden), podVolumeRisk(e)))
	}
	return true
}

// idle reports whether a volume may be cancelled.
func idle(e *Evidence, v *job.Volume) bool {
	if e.Job.Terminal() {
		return e.At.Sub(latest(e.Job.Completed, v.Created)) >= leftBehind
	}
	return v.StandsStill(e.At)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func silence(e *Evidence, volumes []job.Volume) time.Duration {
	newest := time.Time{}
	for _, v := range volumes {
		newest = latest(newest, v.Changed)
	}
	return max(0, e.At.Sub(newest))
}

func isPodVolume(kind job.VolumeKind) bool {
	return kind == job.PodVolumeBackup || kind == job.PodVolumeRestore
}

// podVolumeRisk is why pod volumes are not cancelled, empty if they may be.
func podVolumeRisk(e *Evidence) string {
	v, known := job.ParseVersion(e.Server.Version)
	switch {
	case !known:
		return "pod volumes are only cancelled where the server's version is known: some wait for hours for a cancelled one (Velero issue 9464)"
	case !v.CancelsPodVolumes():
		return "Velero " + v.String() + " cannot cancel pod volumes"
	case v.HangsOnCancelledVolume():
		return "Velero " + v.String() + " waits for hours for a cancelled pod volume (Velero issue 9464)"
	}
	return ""
}

func describeCancel(e *Evidence, w *Way, volumes []job.Volume) {
	w.Volumes = volumes
	for _, v := range volumes {
		o := e.volumes[volumeKey{v.Kind, v.Name}]
		w.targets = append(w.targets, o)
		w.Commands = append(w.Commands, cancelCommand(w, o))
	}
	w.Will = []string{fmt.Sprintf("write spec.cancel on %s, each only if nothing has changed it since: %s", volumesTitle(volumes), someVolumes(volumes)),
		"note in their annotations who did it and when"}
	w.WillNot = []string{"bring back the data of these volumes, nor remove what was moved so far"}
	switch {
	case e.Job.Terminal():
		w.WillNot = append(w.WillNot, "change the "+word(e.Job.Kind)+", which has ended")
	case e.Job.Kind == job.Backup:
		w.Then = append(w.Then, "Velero counts them as failed and goes on; the backup ends PartiallyFailed at best")
	default:
		w.Then = append(w.Then, "Velero counts them as failed and goes on; the restore ends PartiallyFailed at best, and their claims stay without data")
	}
	w.Then = append(w.Then, "the node-agent marks them Canceled in seconds; if it does not answer, after 5 minutes (1 hour for those in progress)")
	switch {
	case !e.Server.Visible:
		w.WillNot = append(w.WillNot, "help if no node-agent runs that hears it, which could not be found out: "+unseen(e))
	case len(e.NodeAgents) == 0 && !slices.ContainsFunc(w.targets, foreignMover):
		w.Refusal, w.Advice = "no node-agent runs that would hear it", "Get the node-agent DaemonSet to run. Without it Velero gives up on them at the item operation time-out."
	}
	for _, v := range volumes {
		if e.MayCancel[v.Kind] == No {
			w.Refusal = fmt.Sprintf("you may not patch %s in namespace %s", plural(v.Kind), w.Namespace)
			w.Advice = fmt.Sprintf("Ask for the verb patch on %s in namespace %s.", plural(v.Kind), w.Namespace)
		} else if e.MayCancel[v.Kind] == Unknown {
			w.Refusal = "whether you may patch " + plural(v.Kind) + " could not be found out"
		}
	}
}

// foreignMover tells a volume that another data mover than Velero's moves.
func foreignMover(o *unstructured.Unstructured) bool {
	mover, _, _ := unstructured.NestedString(o.Object, "spec", "datamover")
	return mover != "" && mover != "velero"
}

func cancelCommand(w *Way, o *unstructured.Unstructured) string {
	e, err := newEdit(o, "", []operation{{"add", "/spec/cancel", true}})
	if err != nil {
		return ""
	}
	return kubectl(w.request.Context, o.GetNamespace(), "patch", strings.ToLower(o.GetKind())+"s.velero.io", o.GetName(), "--type=json", "-p", string(e.data))
}

// volumesTitle counts volumes by kind.
func volumesTitle(volumes []job.Volume) string {
	var parts []string
	for _, k := range []struct {
		kind      job.VolumeKind
		one, many string
	}{
		{job.DataUpload, "data upload", "data uploads"}, {job.DataDownload, "data download", "data downloads"},
		{job.PodVolumeBackup, "pod volume backup", "pod volume backups"}, {job.PodVolumeRestore, "pod volume restore", "pod volume restores"},
	} {
		n := 0
		for _, v := range volumes {
			if v.Kind == k.kind {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, count(n, k.one, k.many))
		}
	}
	return strings.Join(parts, " and ")
}

func someVolumes(volumes []job.Volume) string {
	var names []string
	for _, v := range volumes {
		names = append(names, fmt.Sprintf("%s (%s)", v.Name, v.Target))
	}
	return some(names, 5)
}

// restart is what gets a hung server going again, at the cost of all that it
// works on.
func restart(e *Evidence, w *Way) bool {
	j := e.Job
	switch {
	case j.Deleting || e.quiet() < wakeFinalizer || !e.owner().live() || e.owner() == ownerRestarting:
		return false
	case j.Phase == job.PhaseInProgress && e.owner() == ownerAlive:
		if e.quiet() < patchWindow(j.Object) || len(e.Terminating) > 0 && e.quiet() < terminatingWait {
			return false
		}
		if len(e.Terminating) > 0 {
			w.WillNot = append(w.WillNot, "end the deletion of "+some(e.Terminating, 5)+", which a restore into it waits for")
		}
		w.Why = fmt.Sprintf("a server that may work on it runs, but nothing has changed for %s", words(e.quiet()))
		w.Then = append(w.Then, "Velero marks it Failed at its start")
	case j.Phase == job.PhaseFinalizing || j.Phase == job.PhaseFinalizingPartly:
		w.Why = fmt.Sprintf("it has been %s for %s; the finalizer may hang, on a hook of this or another restore (Velero issues 9744, 9749) or on a patch without end", j.Phase, words(e.quiet()))
		w.Then = append(w.Then, "Velero goes on with finalizing it after its start")
	case j.Phase == "" || j.Phase == job.PhaseNew || j.Phase == job.PhaseQueued:
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
		case job.PhaseInProgress, job.PhaseReadyToStart:
			return o.ref()
		}
	}
	return ""
}

func (o Other) ref() string { return word(o.Kind) + "/" + o.Name }

func describeRestart(e *Evidence, w *Way) {
	j := e.Job
	w.Action, w.Title = Restart, "restart Velero's server"
	if j.Phase == job.PhaseInProgress {
		w.Fails = append(w.Fails, word(j.Kind)+"/"+j.Name)
	}
	for _, o := range e.Others {
		if o.Phase == job.PhaseInProgress {
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
		w.Commands = []string{kubectl(w.request.Context, j.Namespace, "rollout", "restart", "deployment/"+e.Server.Deployment)}
	} else {
		for _, c := range e.Server.Running {
			w.Commands = append(w.Commands, kubectl(w.request.Context, j.Namespace, "delete", "pod", c.Pod))
		}
	}
	w.Refusal = "veltui restarts nothing itself"
	w.Advice = "Run the command when what it fails can be spared."
}
