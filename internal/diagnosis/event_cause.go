package diagnosis

import (
	"cmp"
	"time"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// noteUnreadEvidence says what could not be read about the end of the job.
func (a *jobJudge) noteUnreadEvidence(cause Cause) {
	e := a.jobEvidence().EndEvidence
	if e.ResultsUnread != "" && cause.IsZero() && a.j.Errors > 0 {
		a.AddDoubt(SourceStorage, a.Now, "what its %s say was not read: %s", human.Count(a.j.Errors, "error"),
			e.ResultsUnread)
	}
	if e.PodEventsUnread != "" {
		a.AddDoubt(SourceEvents, a.Now, "the events of Velero's pods could not all be read: %s", e.PodEventsUnread)
	}
	if e.LogUnread != "" {
		a.AddDoubt(SourceLog, a.Now, "the log of the container that ended could not be read: %s", e.LogUnread)
	}
}

// findPodEvent returns the last event between two times that fits.
func (a *jobJudge) findPodEvent(began, ended time.Time, fits func(*velero.PodEvent) bool) (last *velero.PodEvent) {
	events := a.jobEvidence().PodEvents
	for i := range events {
		e := &events[i]
		if hasEndedDuring(e.Time, began, ended) && (last == nil || e.Time.After(last.Time)) && fits(e) {
			last = e
		}
	}
	return last
}

// findServerEviction returns the eviction of a server's pod that is gone.
func (a *jobJudge) findServerEviction(began, ended time.Time) *velero.PodEvent {
	deployment := cmp.Or(a.world.Server.Deployment, "velero")
	return a.findPodEvent(began, ended, func(e *velero.PodEvent) bool {
		return e.IsEviction() && velero.IsPodOfDeployment(e.Pod, deployment)
	})
}

// findAgentEviction returns the eviction of the node-agent that moved a volume.
func (a *jobJudge) findAgentEviction(v *job.Volume) *velero.PodEvent {
	if v.Node == "" {
		return nil
	}
	return a.findPodEvent(v.Created, job.LatestTime(v.Completed, v.LastChanged), func(e *velero.PodEvent) bool {
		return e.IsEviction() && e.Node == v.Node && velero.IsPodOfDaemonSet(e.Pod, "node-agent")
	})
}

// evictionText says what took something from its node.
func evictionText(what string, e *velero.PodEvent) string {
	switch e.Reason {
	case "Preempted":
		return what + " had to make room for a pod of a higher priority" + causeClause(e.Message)
	case "TaintManagerEviction":
		return what + " was evicted because its node got a taint"
	}
	return "the node evicted " + what + causeClause(e.Message)
}

func (a *jobJudge) addPodEvent(who string, e *velero.PodEvent) {
	times := ""
	if e.Count > 1 {
		times = human.InParens(human.CountTimes(e.Count))
	}
	a.AddSupport(SourceEvents, e.Time, "%s %s: %s%s%s", who, e.Pod, e.Reason, causeClause(human.Shorten(e.Message, 400)),
		times)
}

// moverEvents are what events of a mover's pod show, the most certain first. The pod has the name of its volume's
// resource (pkg/exposer/csi_snapshot.go, generic_restore.go and pod_volume.go).
var moverEvents = []struct {
	fits   func(*velero.PodEvent) bool
	reason Reason
	// isBeforeStart is true for what only keeps a pod from starting: of a pod that started later, it explains nothing.
	isBeforeStart bool
	text          func(e *velero.PodEvent) string
}{
	{(*velero.PodEvent).IsEviction, MoverEvicted, false, func(e *velero.PodEvent) string {
		return evictionText("a pod that moved a volume", e)
	}},
	{(*velero.PodEvent).IsUnscheduled, MoverNotScheduled, true, func(e *velero.PodEvent) string {
		return MoverNotScheduled.Meaning() + causeClause(human.Shorten(e.Message, 160))
	}},
	{(*velero.PodEvent).KeepsPodFromStarting, MoverNotReady, true, func(e *velero.PodEvent) string {
		return "the pods that move volumes did not start: " + e.Reason + causeClause(human.Shorten(e.Message, 160))
	}},
}

// hasStarted reports whether the mover of a volume that has ended moved anything, or could have. Velero gives what
// never started the time of its end as that of its start (pkg/controller/data_upload_controller.go tryCancelDataUpload,
// updateStatusWithPhaseFailed and their siblings), within the second to which times are stored.
func hasStarted(v *job.Volume) bool {
	ended := v.Completed
	if ended.IsZero() {
		ended = v.LastChanged
	}
	return v.Done > 0 || !v.Started.IsZero() && ended.Sub(v.Started) > time.Second
}

// explainMovers returns why the pods of volumes that failed did not do their work, by their events; c without any.
func (a *jobJudge) explainMovers(c Cause, volumes []*job.Volume) Cause {
	if len(a.jobEvidence().PodEvents) == 0 {
		return c
	}
	for _, shown := range moverEvents {
		for _, v := range volumes {
			if shown.isBeforeStart && hasStarted(v) {
				continue
			}
			e := a.findPodEvent(v.Created, job.LatestTime(v.Completed, v.LastChanged), func(e *velero.PodEvent) bool {
				return e.Pod == v.Name && shown.fits(e)
			})
			if e != nil {
				a.world.nameVolume(&a.Names, v)
				a.Names.Node = cmp.Or(a.Names.Node, e.Node)
				a.addPodEvent("pod", e)
				return Cause{Reason: shown.reason, Text: shown.text(e)}
			}
		}
	}
	return c
}

// withFatalLine adds to a cause what the container wrote that ended.
func (a *jobJudge) withFatalLine(c Cause, end *velero.PodEnd) Cause {
	c.End = end
	line := a.jobEvidence().FatalLine
	if line.Text == "" {
		return c
	}
	in := human.Prefixed(" in ", line.Function)
	a.AddSupport(SourceLog, end.Time, "it wrote last: %s%s", human.Shorten(line.Text, 400), in)
	c.Text += ": " + human.Shorten(line.Text, 120) + in
	return c
}
