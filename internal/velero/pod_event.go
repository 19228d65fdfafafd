package velero

import (
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// PodEvent is what Kubernetes reported about a pod of Velero's, which may be gone.
type PodEvent struct {
	Pod string
	// Node is the node of the kubelet that reported it, or that the message names; empty if it names none.
	Node string
	// Reason is a word such as Evicted, Message the sentence behind it.
	Reason, Message string
	// Time is when it last happened, and Count how often it did.
	Time  time.Time
	Count int
}

// ReadPodEvent reads an event about a pod. Components that use the newer API leave out the times and the source of the
// older one (k8s.io/api/events/v1).
func ReadPodEvent(e *corev1.Event) PodEvent {
	p := PodEvent{
		Pod: e.InvolvedObject.Name, Node: e.Source.Host, Reason: e.Reason, Message: strings.TrimSpace(e.Message),
		Count: max(1, int(e.Count)),
	}
	if p.Node == "" && e.ReportingController == "kubelet" {
		p.Node = e.ReportingInstance
	}
	if p.Node == "" && p.Reason == "Preempted" { // Kubernetes, pkg/scheduler/framework/preemption/executor.go
		if at := strings.LastIndex(p.Message, " on node "); at >= 0 {
			p.Node = strings.TrimSuffix(p.Message[at+len(" on node "):], ".")
		}
	}
	times := []time.Time{e.FirstTimestamp.Time, e.EventTime.Time, e.LastTimestamp.Time}
	if e.Series != nil {
		times = append(times, e.Series.LastObservedTime.Time)
		p.Count = max(p.Count, int(e.Series.Count))
	}
	for _, at := range times {
		if at.After(p.Time) {
			p.Time = at
		}
	}
	return p
}

// IsEviction reports whether the event took the pod from its node: for what the node lacked (Kubernetes,
// pkg/kubelet/eviction/helpers.go), for a pod of a higher priority (pkg/scheduler/framework/preemption/executor.go), or
// for a taint of the node (pkg/controller/tainteviction/taint_eviction.go).
func (e *PodEvent) IsEviction() bool {
	switch e.Reason {
	case "Evicted", "Preempted":
		return true
	case "TaintManagerEviction":
		return strings.HasPrefix(e.Message, "Marking for deletion")
	}
	return false
}

// IsUnscheduled reports whether the scheduler found no node for the pod (pkg/scheduler/schedule_one.go).
func (e *PodEvent) IsUnscheduled() bool { return e.Reason == "FailedScheduling" }

// KeepsPodFromStarting reports whether the event says why the pod does not start (Kubernetes,
// pkg/kubelet/events/event.go).
func (e *PodEvent) KeepsPodFromStarting() bool {
	switch e.Reason {
	case "FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox", "FailedCreatePodContainer",
		"Failed", "BackOff", "InspectFailed", "ErrImageNeverPull", "FailedPrepareDynamicResources", "FailedBinding":
		return true
	}
	return false
}

// generatedName matches what the API server and the controllers append to names (k8s.io/apimachinery
// pkg/util/rand, SafeEncodeString).
var (
	replicaSetPodName = regexp.MustCompile(`^-[bcdfghjklmnpqrstvwxz2456789]{1,10}-[bcdfghjklmnpqrstvwxz2456789]{5}$`)
	daemonSetPodName  = regexp.MustCompile(`^-[bcdfghjklmnpqrstvwxz2456789]{5}$`)
)

// IsPodOfDeployment reports whether a pod has a name that only a Deployment's pod has.
func IsPodOfDeployment(pod, deployment string) bool {
	rest, ok := strings.CutPrefix(pod, deployment)
	return ok && replicaSetPodName.MatchString(rest)
}

// IsPodOfDaemonSet reports whether a pod has a name that only a DaemonSet's pod has.
func IsPodOfDaemonSet(pod, daemonSet string) bool {
	rest, ok := strings.CutPrefix(pod, daemonSet)
	return ok && daemonSetPodName.MatchString(rest)
}
