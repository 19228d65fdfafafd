package velero

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TimeZoneVariable is the environment variable that sets a container's time zone.
const TimeZoneVariable = "TZ"

// ServerPod is one pod of Velero's server. During a roll-out there are several.
type ServerPod struct {
	Name    string
	Created time.Time
	// TerminationGracePeriod is how long the pod may run on after it is deleted.
	TerminationGracePeriod time.Duration
	// Container is the name of the server's container, empty if it cannot be distinguished from the pod's other
	// containers.
	Container string
	// Running is true if the server's container runs, Ready if it is also ready.
	Running bool
	Ready   bool
	// StartedAt is when the container started, zero if unknown.
	StartedAt time.Time
	Restarts  int
	// WaitingReason is why the container does not run, such as CrashLoopBackOff. WaitingMessage is what the kubelet or
	// the scheduler adds; it may be empty.
	WaitingReason, WaitingMessage string
	// LastTerminationReason is why the container last ended, such as OOMKilled, empty if it never ended.
	LastTerminationReason string
	LastTerminationAt     time.Time
	// Version is the image's tag as [ParseVersion] reads it, or the Velero version of an OADP release; empty if there is
	// none.
	Version string
	Flags   ServerFlags
	// TimeZone is TZ of the container's environment, empty for the image's own, which is UTC.
	TimeZone string
	// Deployment is the name of the pod's Deployment, empty if it has none.
	Deployment string
	// ServiceAccount is the account that makes Velero's requests.
	ServiceAccount string
	// Ends are the known ends of the container.
	Ends []PodEnd
	// IsOADP is true if the image is OADP's, whose operator installed the server.
	IsOADP bool
}

// ServerPods returns those pods that run Velero's server.
func ServerPods(pods []*corev1.Pod) []ServerPod {
	var found []ServerPod
	for _, p := range pods {
		if IsServer(p) {
			found = append(found, readServer(p))
		}
	}
	return found
}

// maxGraceSeconds bounds a grace period, which may be any number, to 68 years: more do not fit a duration.
const maxGraceSeconds = 1 << 31

func readServer(p *corev1.Pod) ServerPod {
	s := ServerPod{
		Name:                   p.Name,
		Created:                p.CreationTimestamp.Time,
		Deployment:             deploymentOf(p),
		ServiceAccount:         cmp.Or(p.Spec.ServiceAccountName, "default"),
		Flags:                  DefaultServerFlags(),
		TerminationGracePeriod: 30 * time.Second,
	}
	if g := p.Spec.TerminationGracePeriodSeconds; g != nil {
		s.TerminationGracePeriod = time.Duration(min(max(0, *g), maxGraceSeconds)) * time.Second
	}
	pod := ReadPodState(p)
	var container *ContainerState
	c := findServerContainer(p)
	if c != nil {
		container = pod.FindContainer(c.Name)
		s.Container, s.Version = c.Name, imageVersion(c.Image)
		s.IsOADP = strings.Contains(c.Image, "oadp")
		s.Flags = ParseServerFlags(slices.Concat(c.Command, c.Args)).withVersionDefaults(s.Version)
		for _, e := range c.Env {
			if e.Name == TimeZoneVariable {
				s.TimeZone = e.Value
			}
		}
	}
	s.Ends = readPodEnds(p, container, c)
	if container == nil {
		// It may be any of the pod's containers, so since when is not known.
		if s.Running = pod.Phase == corev1.PodRunning; !s.Running {
			s.WaitingReason = cmp.Or(pod.Reason, pod.UnscheduledReason, string(pod.Phase))
			s.WaitingMessage = cmp.Or(pod.Message, pod.UnscheduledMessage)
		}
		return s
	}
	s.Ready, s.Restarts = container.Ready, container.Restarts
	s.Running, s.StartedAt = container.IsRunning, container.StartedAt
	s.WaitingReason, s.WaitingMessage = container.WaitingReason, container.WaitingMessage
	if container.End != nil {
		s.WaitingReason, s.WaitingMessage = container.End.Reason, container.End.Message
	}
	if end := container.NewestEnd(); end != nil {
		s.LastTerminationReason, s.LastTerminationAt = end.ReasonText(), end.Time
	}
	return s
}

// deploymentOf is the pod's Deployment: its ReplicaSet is named after it and after the hash of the pod template.
func deploymentOf(p *corev1.Pod) string {
	for _, o := range p.OwnerReferences {
		hash := p.Labels["pod-template-hash"]
		if name, ok := strings.CutSuffix(o.Name, "-"+hash); ok && o.Kind == "ReplicaSet" && hash != "" {
			return name
		}
	}
	return ""
}

// Server is what all server pods together tell about the current server.
type Server struct {
	// Visible is false if the pods could not be listed, so that the server is unknown.
	Visible bool
	// ServerPod is the pod whose container started last, or the newest pod if none runs. It has no name if no pod was
	// recognised as a server.
	ServerPod
	// Pods are all pods with a running server, the one that started first before the others. During a roll-out the old
	// server may still work.
	Pods []ServerPod
	// LastStopped is when the container of any server pod last ended, zero if none has ended.
	LastStopped time.Time
	// Ends are the known ends of all servers' containers. They hide those of the pod above.
	Ends []PodEnd
	// SeenAt is when the pods were last known to be in this state.
	SeenAt time.Time
}

// ServerOf returns the current server, read from Velero's pods at a time in the cluster's clock.
func ServerOf(pods []*corev1.Pod, seen time.Time) Server {
	return NewServer(ServerPods(pods), seen)
}

// NewServer returns the server of pods, seen at a time in the cluster's clock.
func NewServer(all []ServerPod, seen time.Time) Server {
	s := Server{Visible: true, SeenAt: seen, ServerPod: ServerPod{Flags: DefaultServerFlags()}}
	if len(all) > 0 {
		s.ServerPod = slices.MaxFunc(all, compareServers)
	}
	for i := range all {
		s.Ends = append(s.Ends, all[i].Ends...)
		if all[i].LastTerminationAt.After(s.LastStopped) {
			s.LastStopped = all[i].LastTerminationAt
		}
		if all[i].Running {
			s.Pods = append(s.Pods, all[i])
		}
	}
	slices.SortStableFunc(s.Pods, func(a, b ServerPod) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.Name, b.Name))
	})
	return s
}

// RunningServers returns the servers that run, the one that started first before the others.
func (s *Server) RunningServers() []ServerPod {
	if len(s.Pods) == 0 && s.Running {
		return []ServerPod{s.ServerPod}
	}
	return s.Pods
}

// OtherServerCount returns how many servers run besides the one that started last.
func (s *Server) OtherServerCount() int { return max(0, len(s.RunningServers())-1) }

// IsCrashLooping reports whether a recognised server ends at each start.
func (s *Server) IsCrashLooping() bool {
	return s.Visible && len(s.RunningServers()) == 0 && s.WaitingReason != "" && s.Restarts >= CrashLoopRestarts
}

// IsStarting reports whether a server that does not run yet is about to: its image is pulled, its container is created,
// or has just ended for the first times.
func (s *Server) IsStarting() bool {
	return s.Name != "" && !s.Running && (isCreating(s.WaitingReason) || s.WaitingReason == "" ||
		!s.LastTerminationAt.IsZero() && s.Restarts < CrashLoopRestarts)
}

// DownGrace returns for how long a server that does not run may still come back by itself.
func (s *Server) DownGrace() time.Duration {
	if s.Name != "" && s.Restarts < CrashLoopRestarts {
		return MaxRestartDelay
	}
	return RestartGrace
}

// HasRestartedSince reports whether every running server started after a time, in the clocks of the servers' nodes.
// Of several servers, the oldest may still work on what it started.
func (s *Server) HasRestartedSince(t time.Time) bool {
	running := s.RunningServers()
	return len(running) > 0 && !slices.ContainsFunc(running, func(p ServerPod) bool { return !p.StartedAt.After(t) })
}

// compareServers returns a positive number if a tells more about the current server than b.
func compareServers(a, b ServerPod) int {
	if a.Running != b.Running {
		if a.Running {
			return 1
		}
		return -1
	}
	return cmp.Or(a.StartedAt.Compare(b.StartedAt), a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
}

// NodeAgent is a pod of the node-agents.
type NodeAgent struct {
	Pod   string
	Node  string
	Ready bool
	// Created is when the pod was created, in the API server's clock.
	Created   time.Time
	StartedAt time.Time
	Restarts  int
	// WaitingReason is why its container does not run, such as CrashLoopBackOff, or why the pod fits no node; empty if
	// it runs or the reason is unknown. Message is what the kubelet or the scheduler adds.
	WaitingReason, Message string
	// EndedAt is when its container last ended, zero if it never ended.
	EndedAt time.Time
	// Ends are the known ends of the container.
	Ends  []PodEnd
	Flags NodeAgentFlags
}

const (
	// agentStartGrace is how long a node-agent whose start fails may still come up, and how long a roll-out may leave a
	// node without a pod.
	agentStartGrace = 5 * time.Minute
)

// IsStarting reports whether the node-agent is about to run: its image is being pulled, or its container is being
// created or has just ended. A pod that fits no node, or whose start fails, is starting only while it is new.
func (a NodeAgent) IsStarting(now time.Time) bool {
	switch {
	case a.Ready:
		return false
	case !a.Created.IsZero() && now.Sub(a.Created) < agentStartGrace:
		return true
	case !a.EndedAt.IsZero():
		return a.Restarts < CrashLoopRestarts && now.Sub(a.EndedAt) < MaxRestartDelay
	case !a.StartedAt.IsZero(): // it runs but is not ready
		return now.Sub(a.StartedAt) < agentStartGrace
	}
	return a.Node != "" && isCreating(a.WaitingReason)
}

// NodeAgentsOf returns the node-agents among Velero's pods, sorted by node and pod.
func NodeAgentsOf(pods []*corev1.Pod) []NodeAgent {
	var found []NodeAgent
	for _, p := range pods {
		if IsNodeAgent(p) {
			found = append(found, readAgent(p))
		}
	}
	slices.SortStableFunc(found, func(a, b NodeAgent) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Pod, b.Pod))
	})
	return found
}

func readAgent(p *corev1.Pod) NodeAgent {
	a := NodeAgent{Pod: p.Name, Node: p.Spec.NodeName, Created: p.CreationTimestamp.Time, Flags: parseAgentFlags(nil)}
	if c := findAgentContainer(p); c != nil {
		a.Flags = parseAgentFlags(slices.Concat(c.Command, c.Args))
	}
	pod := ReadPodState(p)
	c := pod.FindContainer(AgentContainer(p))
	a.Ends = readPodEnds(p, c, findAgentContainer(p))
	if c == nil {
		a.WaitingReason, a.Message = pod.UnscheduledReason, pod.UnscheduledMessage
		return a
	}
	a.Ready, a.Restarts, a.StartedAt = c.Ready, c.Restarts, c.StartedAt
	a.WaitingReason, a.Message = c.WaitingReason, c.WaitingMessage
	if c.End != nil {
		a.WaitingReason, a.Message = c.End.Reason, c.End.Message
	}
	if end := c.NewestEnd(); end != nil {
		a.EndedAt = end.Time
	}
	return a
}

// IsLeftoverWrite reports whether a write to a job in progress, after this server's start, is no sign of work: a server
// does not resume jobs that were in progress (pkg/controller/backup_controller.go and restore_controller.go
// Reconcile). The previous pod continues to write during its grace period; a later write is the garbage collector's
// label, which an expired backup has (gc_controller.go Reconcile), or comes from the process that began the job,
// whatever the clocks say about its start.
func (s *Server) IsLeftoverWrite(wrote, now time.Time, o metav1.Object) bool {
	silent := s.TerminationGracePeriod + LifelessAfter
	byPredecessor := wrote.Sub(s.StartedAt) < silent
	return s.OtherServerCount() == 0 && !s.Created.IsZero() && now.Sub(wrote) >= silent &&
		now.Sub(s.StartedAt) >= silent &&
		(byPredecessor || o != nil && o.GetLabels()[gcFailureLabel] != "")
}

// gcFailureLabel is the label that says why the garbage collector could not delete a backup
// (pkg/controller/gc_controller.go).
const gcFailureLabel = "velero.io/gc-failure"

// The containers' names in every installation (pkg/install/deployment.go and daemonset.go, the Helm chart, OADP).
const (
	serverContainer = "velero"
	agentContainer  = "node-agent"
)

// IsNodeAgent reports whether a pod is a node-agent, by the installers' labels (pkg/install/daemonset.go, the Helm
// chart, OADP; docs/dev/velero.md#pods), or by the command.
func IsNodeAgent(p *corev1.Pod) bool {
	return p.Labels["role"] == "node-agent" || strings.HasPrefix(p.Labels["name"], "node-agent") ||
		slices.ContainsFunc(p.Spec.Containers, isAgentContainer)
}

// isAgentContainer recognises `velero node-agent server` in a chart with labels of its own.
func isAgentContainer(c corev1.Container) bool {
	words := commandWords(c)
	return slices.ContainsFunc(words, func(w string) bool { return w == agentCommand }) &&
		slices.Index(words, "server") == slices.Index(words, agentCommand)+1
}

// agentCommand is the subcommand of velero that has the node-agent's server.
const agentCommand = "node-agent"

// commandWords returns the words of a container's command; a command line for a shell is split into its words.
func commandWords(c corev1.Container) []string {
	return strings.Fields(strings.Join(slices.Concat(c.Command, c.Args), " "))
}

// IsServer reports whether a pod is a server, by the installers' labels or by the command. A node-agent also has
// component=velero.
func IsServer(p *corev1.Pod) bool {
	runs := func(c corev1.Container) bool {
		return c.Name == serverContainer && p.Labels["component"] == "velero" || isServerContainer(c)
	}
	return !IsNodeAgent(p) && (p.Labels["deploy"] == "velero" || slices.ContainsFunc(p.Spec.Containers, runs))
}

// isServerContainer recognises `velero server` in a chart with labels of its own.
func isServerContainer(c corev1.Container) bool {
	words := commandWords(c)
	for i, w := range words {
		if w == "server" &&
			(i > 0 && path.Base(words[i-1]) == "velero" || i == 0 && strings.Contains(c.Image, "velero")) {
			return true
		}
	}
	return false
}

// findContainer finds a program's container by its usual name, by what it runs, or as the only container; nil if
// unclear.
func findContainer(p *corev1.Pod, name string, runs func(corev1.Container) bool) *corev1.Container {
	for _, is := range []func(corev1.Container) bool{
		func(c corev1.Container) bool { return c.Name == name },
		runs,
		func(corev1.Container) bool { return len(p.Spec.Containers) == 1 },
	} {
		if i := slices.IndexFunc(p.Spec.Containers, is); i >= 0 {
			return &p.Spec.Containers[i]
		}
	}
	return nil
}

func findServerContainer(p *corev1.Pod) *corev1.Container {
	return findContainer(p, serverContainer, isServerContainer)
}

func findAgentContainer(p *corev1.Pod) *corev1.Container {
	return findContainer(p, agentContainer, isAgentContainer)
}

// AgentContainer returns the name of the container in which the node-agent runs, the usual name if that is unclear.
func AgentContainer(p *corev1.Pod) string {
	if c := findAgentContainer(p); c != nil {
		return c.Name
	}
	return agentContainer
}
