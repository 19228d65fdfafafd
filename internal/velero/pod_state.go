package velero

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// PodState is what Kubernetes says of a pod and its containers. Every pod is read as one: the server's, a node-agent's,
// a mover's, and the pods of other operators' jobs.
type PodState struct {
	Name string
	// Node is empty until a node takes the pod.
	Node  string
	Phase corev1.PodPhase
	// Reason and Message are the pod's own, such as Evicted; mostly empty.
	Reason, Message string
	// Created is when the pod was, Started when a node took it, zero if none did; both in the API server's clock.
	Created, Started time.Time
	// IsUnscheduled is true if the scheduler found no node yet. UnscheduledReason is its word for that, such as
	// Unschedulable, and UnscheduledMessage its sentence; both may be empty.
	IsUnscheduled                         bool
	UnscheduledReason, UnscheduledMessage string
	InitContainers, Containers            []ContainerState
}

// ContainerState is what the kubelet says of a container: it runs, waits or has ended, or none of them yet.
type ContainerState struct {
	Name     string
	Ready    bool
	Restarts int

	IsRunning bool
	StartedAt time.Time // of a running container

	IsWaiting                     bool
	WaitingReason, WaitingMessage string

	// End is how the container has ended, nil while it waits or runs; LastEnd is how it ended before its last restart.
	End, LastEnd *ContainerEnd
}

// ContainerEnd is how a container ended.
type ContainerEnd struct {
	// Reason is Kubernetes' word, such as OOMKilled, and may be empty; Message is what the container left.
	Reason, Message string
	ExitCode        int
	Time            time.Time
}

// PodEnd is how a container of Velero's ended, with its pod.
type PodEnd struct {
	Pod, Container string
	ContainerEnd
	// PodReason is why the node ended the whole pod, such as Evicted, empty if it did not; Message is then the pod's.
	PodReason string
	// MemoryLimit is the limit of the container's memory, empty for none.
	MemoryLimit string
	// IsBeforeRestart is true if the container was started again since: its log is then the previous one.
	IsBeforeRestart bool
}

// DoubledMemory returns twice the memory limit, empty without a limit.
func (e *PodEnd) DoubledMemory() string {
	limit, err := resource.ParseQuantity(e.MemoryLimit)
	if err != nil || limit.Sign() <= 0 {
		return ""
	}
	return resource.NewQuantity(2*limit.Value(), resource.BinarySI).String()
}

// readPodEnds returns how a container of a pod ended, as far as Kubernetes keeps it: the present end, and the one
// before the last restart.
func readPodEnds(p *corev1.Pod, s *ContainerState, spec *corev1.Container) (ends []PodEnd) {
	base := PodEnd{Pod: p.Name}
	if spec != nil {
		base.Container = spec.Name
		if limit, ok := spec.Resources.Limits[corev1.ResourceMemory]; ok {
			base.MemoryLimit = limit.String()
		}
	}
	var known []*ContainerEnd
	if s != nil {
		known = []*ContainerEnd{s.LastEnd, s.End}
	}
	for _, end := range known {
		if end != nil {
			e := base
			e.ContainerEnd, e.IsBeforeRestart = *end, end == s.LastEnd
			ends = append(ends, e)
		}
	}
	return withPodReason(ends, base, p, s)
}

// withPodReason returns the ends of a pod's container with why the node ended the whole pod: the kubelet makes the pod
// Failed with a reason and a message, and adds the condition DisruptionTarget (Kubernetes,
// pkg/kubelet/eviction/eviction_manager.go evictPod, pkg/kubelet/preemption/preemption.go evictPodsToFreeRequests,
// pkg/kubelet/nodeshutdown/nodeshutdown_manager.go killPods). A pod that the kubelet never admitted has a reason too
// (pkg/kubelet/kubelet.go rejectPod), but no end: nothing of it ran.
func withPodReason(ends []PodEnd, base PodEnd, p *corev1.Pod, s *ContainerState) []PodEnd {
	disrupted := time.Time{}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			disrupted = c.LastTransitionTime.Time
		}
	}
	hasEnded := s != nil && s.End != nil
	if p.Status.Phase != corev1.PodFailed || p.Status.Reason == "" || !hasEnded && disrupted.IsZero() {
		return ends
	}
	if !hasEnded {
		ends = append(ends, base)
	}
	last := &ends[len(ends)-1]
	last.PodReason, last.Reason, last.Message = p.Status.Reason, p.Status.Reason, p.Status.Message
	if last.Time.IsZero() {
		last.Time = disrupted
	}
	return ends
}

// ReadPodState reads the state of a pod.
func ReadPodState(p *corev1.Pod) PodState {
	s := PodState{
		Name:           p.Name,
		Node:           p.Spec.NodeName,
		Phase:          p.Status.Phase,
		Reason:         p.Status.Reason,
		Message:        p.Status.Message,
		Created:        p.CreationTimestamp.Time,
		InitContainers: readContainerStates(p.Status.InitContainerStatuses),
		Containers:     readContainerStates(p.Status.ContainerStatuses),
	}
	if p.Status.StartTime != nil {
		s.Started = p.Status.StartTime.Time
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			s.IsUnscheduled, s.UnscheduledReason, s.UnscheduledMessage = true, c.Reason, c.Message
		}
	}
	return s
}

func readContainerStates(statuses []corev1.ContainerStatus) []ContainerState {
	states := make([]ContainerState, len(statuses))
	for i := range statuses {
		states[i] = readContainerState(&statuses[i])
	}
	return states
}

func readContainerState(c *corev1.ContainerStatus) ContainerState {
	s := ContainerState{
		Name:     c.Name,
		Ready:    c.Ready,
		Restarts: int(c.RestartCount),
		End:      readContainerEnd(c.State.Terminated),
		LastEnd:  readContainerEnd(c.LastTerminationState.Terminated),
	}
	switch {
	case c.State.Running != nil:
		s.IsRunning, s.StartedAt = true, c.State.Running.StartedAt.Time
	case c.State.Waiting != nil:
		s.IsWaiting = true
		s.WaitingReason, s.WaitingMessage = c.State.Waiting.Reason, c.State.Waiting.Message
	}
	return s
}

func readContainerEnd(t *corev1.ContainerStateTerminated) *ContainerEnd {
	if t == nil {
		return nil
	}
	return &ContainerEnd{Reason: t.Reason, Message: t.Message, ExitCode: int(t.ExitCode), Time: t.FinishedAt.Time}
}

// FindContainer returns the state of a container, nil if the kubelet has not said anything of it yet.
func (s *PodState) FindContainer(name string) *ContainerState {
	for i := range s.Containers {
		if s.Containers[i].Name == name {
			return &s.Containers[i]
		}
	}
	return nil
}

// NewestEnd returns the later of both ends, nil if the container never ended.
func (c *ContainerState) NewestEnd() *ContainerEnd {
	if c.End == nil || c.LastEnd != nil && c.LastEnd.Time.After(c.End.Time) {
		return c.LastEnd
	}
	return c.End
}

// HasFailed reports whether the container has ended with an error.
func (c *ContainerState) HasFailed() bool {
	return c.End != nil && (c.End.ExitCode != 0 || c.End.Reason == "OOMKilled")
}

// IsStarting reports whether a waiting container is about to start (Kubernetes, pkg/kubelet/kubelet_pods.go).
func (c *ContainerState) IsStarting() bool {
	return c.IsWaiting && (c.WaitingReason == "" || isCreating(c.WaitingReason))
}

// isCreating reports whether a waiting container's reason says that it is about to start.
func isCreating(reason string) bool {
	return reason == "ContainerCreating" || reason == "PodInitializing"
}

// ReasonText is the reason, or words for its lack.
func (e *ContainerEnd) ReasonText() string { return cmp.Or(e.Reason, "no reason given") }
