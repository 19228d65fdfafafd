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
	// Grace is how long the pod may run on after it is deleted.
	Grace time.Duration
	// Container is the name of the server's container, empty if it cannot be told from its neighbours.
	Container string
	// Running is true if the server's container runs, Ready if it also is ready.
	Running bool
	Ready   bool
	// StartedAt is when the container started, zero if that is not known.
	StartedAt time.Time
	Restarts  int
	// Waiting is why the container does not run, such as CrashLoopBackOff.
	Waiting string
	// LastTermination is why the container last ended, such as OOMKilled, empty if it never did.
	LastTermination   string
	LastTerminationAt time.Time
	// Version is the image's tag as [ParseVersion] reads it, or the Velero of an OADP release; empty if it has none.
	Version string
	Flags   ServerFlags
	// TimeZone is TZ of the container's environment, empty for the image's own, which is UTC.
	TimeZone string
	// Deployment is the name of the pod's Deployment, empty if it has none.
	Deployment string
	// ServiceAccount is the one that Velero's requests are made with.
	ServiceAccount string
}

// ServerPods reads those of the pods that run Velero's server.
func ServerPods(pods []*corev1.Pod) []ServerPod {
	var found []ServerPod
	for _, p := range pods {
		if IsServer(p) {
			found = append(found, readServer(p))
		}
	}
	return found
}

func readServer(p *corev1.Pod) ServerPod {
	s := ServerPod{
		Name:           p.Name,
		Created:        p.CreationTimestamp.Time,
		Deployment:     deploymentOf(p),
		ServiceAccount: cmp.Or(p.Spec.ServiceAccountName, "default"),
		Flags:          DefaultServerFlags(),
		Grace:          30 * time.Second,
	}
	if g := p.Spec.TerminationGracePeriodSeconds; g != nil {
		s.Grace = time.Duration(max(0, *g)) * time.Second
	}
	var status *corev1.ContainerStatus
	if c := serverIn(p); c != nil {
		status = statusOf(p, c.Name)
		s.Container, s.Version = c.Name, imageVersion(c.Image)
		s.Flags = ParseServerFlags(slices.Concat(c.Command, c.Args)).defaultsOf(s.Version)
		for _, e := range c.Env {
			if e.Name == TimeZoneVariable {
				s.TimeZone = e.Value
			}
		}
	}
	if status == nil {
		// It may be any of the pod's containers, so since when is not known.
		if s.Running = p.Status.Phase == corev1.PodRunning; !s.Running {
			s.Waiting = cmp.Or(p.Status.Reason, string(p.Status.Phase))
		}
		return s
	}
	s.Ready, s.Restarts = status.Ready, int(status.RestartCount)
	s.noteEnd(status.LastTerminationState.Terminated)
	switch {
	case status.State.Running != nil:
		s.Running, s.StartedAt = true, status.State.Running.StartedAt.Time
	case status.State.Waiting != nil:
		s.Waiting = status.State.Waiting.Reason
	case status.State.Terminated != nil:
		s.Waiting = status.State.Terminated.Reason
		s.noteEnd(status.State.Terminated)
	}
	return s
}

func (s *ServerPod) noteEnd(t *corev1.ContainerStateTerminated) {
	if t != nil && (s.LastTermination == "" || t.FinishedAt.After(s.LastTerminationAt)) {
		s.LastTermination, s.LastTerminationAt = cmp.Or(t.Reason, "no reason given"), t.FinishedAt.Time
	}
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

// Server is what all server pods together tell about the present server.
type Server struct {
	// Visible is false if the pods could not be listed, so that the server is unknown.
	Visible bool
	// ServerPod is the pod whose container started last, or the newest pod if
	// none runs. It has no name if no pod was recognised as a server.
	ServerPod
	// Pods are all pods whose server runs, that which started first before the others. During a roll-out the old
	// server may still work.
	Pods []ServerPod
	// Stopped is when the container of any server pod last ended, zero if none did.
	Stopped time.Time
	// SeenAt is when the pods were last known to be so.
	SeenAt time.Time
}

// ServerOf reads the present server from Velero's pods, seen at a moment in the cluster's clock.
func ServerOf(pods []*corev1.Pod, seen time.Time) Server {
	return NewServer(ServerPods(pods), seen)
}

// NewServer is what the pods of servers tell, seen at a moment in the cluster's clock.
func NewServer(all []ServerPod, seen time.Time) Server {
	s := Server{Visible: true, SeenAt: seen, ServerPod: ServerPod{Flags: DefaultServerFlags()}}
	if len(all) > 0 {
		s.ServerPod = slices.MaxFunc(all, compareServers)
	}
	for i := range all {
		if all[i].LastTerminationAt.After(s.Stopped) {
			s.Stopped = all[i].LastTerminationAt
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

// AtWork are the servers that run, that which started first before the others.
func (s *Server) AtWork() []ServerPod {
	if len(s.Pods) == 0 && s.Running {
		return []ServerPod{s.ServerPod}
	}
	return s.Pods
}

// Others is how many more servers run beside the one that started last.
func (s *Server) Others() int { return max(0, len(s.AtWork())-1) }

// CrashLoops reports whether a recognised server dies at each start.
func (s *Server) CrashLoops() bool {
	return s.Visible && len(s.AtWork()) == 0 && s.Waiting != "" && s.Restarts >= CrashLoop
}

// DownGrace is how long a server that does not run may still come back by itself.
func (s *Server) DownGrace() time.Duration {
	if s.Name != "" && s.Restarts < CrashLoop {
		return RestartDelay
	}
	return RestartGrace
}

// RestartedSince reports whether every server that runs started after a moment, in the clocks of the servers'
// nodes. Of several servers the oldest may still be at work on what it took up.
func (s *Server) RestartedSince(t time.Time) bool {
	running := s.AtWork()
	return len(running) > 0 && !slices.ContainsFunc(running, func(p ServerPod) bool { return !p.StartedAt.After(t) })
}

// compareServers is positive if a tells more about the present server than b.
func compareServers(a, b ServerPod) int {
	if a.Running != b.Running {
		if a.Running {
			return 1
		}
		return -1
	}
	return cmp.Or(a.StartedAt.Compare(b.StartedAt), a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
}

// Agent is one pod of the node-agents.
type Agent struct {
	Pod   string
	Node  string
	Ready bool
	// Created is when the pod was, in the API server's clock.
	Created   time.Time
	StartedAt time.Time
	Restarts  int
	// Waiting is why its container does not run, such as CrashLoopBackOff, or why no node takes the pod; empty if it
	// runs or nothing is said. Message is what the kubelet or the scheduler adds.
	Waiting, Message string
	// EndedAt is when its container last ended, zero if it never did.
	EndedAt time.Time
	Flags   AgentFlags
}

const (
	// agentStart is how long a node-agent whose start fails may still come up, and how long a roll-out may leave a
	// node without a pod.
	agentStart = 5 * time.Minute
)

// Starting reports whether the node-agent is coming: its image is pulled, its container is being made or has just
// ended. A pod that no node takes, or whose start fails, is not, unless it is new.
func (a Agent) Starting(now time.Time) bool {
	switch {
	case a.Ready:
		return false
	case !a.Created.IsZero() && now.Sub(a.Created) < agentStart:
		return true
	case !a.EndedAt.IsZero():
		return a.Restarts < CrashLoop && now.Sub(a.EndedAt) < RestartDelay
	case !a.StartedAt.IsZero(): // it runs, and is not ready
		return now.Sub(a.StartedAt) < agentStart
	}
	return a.Node != "" && creating(a.Waiting)
}

// AgentsOf reads the node-agents among Velero's pods, sorted by node and pod.
func AgentsOf(pods []*corev1.Pod) []Agent {
	var found []Agent
	for _, p := range pods {
		if IsNodeAgent(p) {
			found = append(found, readAgent(p))
		}
	}
	slices.SortStableFunc(found, func(a, b Agent) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Pod, b.Pod))
	})
	return found
}

func readAgent(p *corev1.Pod) Agent {
	a := Agent{Pod: p.Name, Node: p.Spec.NodeName, Created: p.CreationTimestamp.Time, Flags: parseAgentFlags(nil)}
	if c := agentIn(p); c != nil {
		a.Flags = parseAgentFlags(slices.Concat(c.Command, c.Args))
	}
	s := statusOf(p, AgentContainer(p))
	if s == nil {
		a.Waiting, a.Message = unscheduled(p)
		return a
	}
	a.Ready, a.Restarts = s.Ready, int(s.RestartCount)
	for _, ended := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
		if ended != nil && ended.FinishedAt.After(a.EndedAt) {
			a.EndedAt = ended.FinishedAt.Time
		}
	}
	switch {
	case s.State.Running != nil:
		a.StartedAt = s.State.Running.StartedAt.Time
	case s.State.Waiting != nil:
		a.Waiting, a.Message = s.State.Waiting.Reason, s.State.Waiting.Message
	case s.State.Terminated != nil:
		a.Waiting, a.Message = s.State.Terminated.Reason, s.State.Terminated.Message
	}
	return a
}

// LeftOver reports whether a write to a job in progress, after this server's start, is no sign of work:
// a server takes up none that was in progress (pkg/controller/backup_controller.go and
// restore_controller.go Reconcile). The pod before it writes on for its grace period; a later write is the
// garbage collector's label, which an expired backup carries (gc_controller.go Reconcile), or that of the process
// that began the job, whatever the clocks say of its start.
func (s *Server) LeftOver(wrote, now time.Time, o metav1.Object) bool {
	silent := s.Grace + Lifeless
	byPredecessor := wrote.Sub(s.StartedAt) < silent
	return s.Others() == 0 && !s.Created.IsZero() && now.Sub(wrote) >= silent && now.Sub(s.StartedAt) >= silent &&
		(byPredecessor || o != nil && o.GetLabels()[gcFailureLabel] != "")
}

// gcFailureLabel says why the garbage collector could not delete a backup (pkg/controller/gc_controller.go).
const gcFailureLabel = "velero.io/gc-failure"

// The containers' names in every installation (pkg/install/deployment.go and daemonset.go, the Helm chart, OADP).
const (
	serverContainer = "velero"
	agentContainer  = "node-agent"
)

// IsNodeAgent goes by installers' labels (pkg/install/daemonset.go, the Helm chart, OADP; docs/dev/velero.md#pods),
// or by the command.
func IsNodeAgent(p *corev1.Pod) bool {
	return p.Labels["role"] == "node-agent" || strings.HasPrefix(p.Labels["name"], "node-agent") ||
		slices.ContainsFunc(p.Spec.Containers, runsAgent)
}

// runsAgent recognises `velero node-agent server` in a chart that has labels of its own.
func runsAgent(c corev1.Container) bool {
	words := commandOf(c)
	return slices.ContainsFunc(words, func(w string) bool { return w == agentCommand }) &&
		slices.Index(words, "server") == slices.Index(words, agentCommand)+1
}

// agentCommand is the subcommand of velero that has the node-agent's server.
const agentCommand = "node-agent"

// commandOf is what a container runs, word by word: what a shell runs is one word of several.
func commandOf(c corev1.Container) []string {
	return strings.Fields(strings.Join(slices.Concat(c.Command, c.Args), " "))
}

// IsServer goes by the labels that installers set, or by the command. A node-agent also carries component=velero.
func IsServer(p *corev1.Pod) bool {
	runs := func(c corev1.Container) bool {
		return c.Name == serverContainer && p.Labels["component"] == "velero" || runsServer(c)
	}
	return !IsNodeAgent(p) && (p.Labels["deploy"] == "velero" || slices.ContainsFunc(p.Spec.Containers, runs))
}

// runsServer recognises `velero server` in a chart that has labels of its own.
func runsServer(c corev1.Container) bool {
	words := commandOf(c)
	for i, w := range words {
		if w == "server" &&
			(i > 0 && path.Base(words[i-1]) == "velero" || i == 0 && strings.Contains(c.Image, "velero")) {
			return true
		}
	}
	return false
}

// containerIn finds a program's container by its usual name, by what it runs, or as the only one; nil if not clear.
func containerIn(p *corev1.Pod, name string, runs func(corev1.Container) bool) *corev1.Container {
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

func serverIn(p *corev1.Pod) *corev1.Container { return containerIn(p, serverContainer, runsServer) }

func agentIn(p *corev1.Pod) *corev1.Container {
	return containerIn(p, agentContainer, runsAgent)
}

// AgentContainer is the name of the container in which the node-agent runs, the usual one if that cannot be told.
func AgentContainer(p *corev1.Pod) string {
	if c := agentIn(p); c != nil {
		return c.Name
	}
	return agentContainer
}

// statusOf is the status of a container, nil if there is none yet.
func statusOf(p *corev1.Pod, container string) *corev1.ContainerStatus {
	for i := range p.Status.ContainerStatuses {
		if s := &p.Status.ContainerStatuses[i]; s.Name == container {
			return s
		}
	}
	return nil
}
