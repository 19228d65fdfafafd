package velero

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	s := ServerPod{Name: p.Name, Created: p.CreationTimestamp.Time, Deployment: deploymentOf(p), ServiceAccount: cmp.Or(p.Spec.ServiceAccountName, "default"), Flags: DefaultServerFlags(), Grace: 30 * time.Second}
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
	// Others is how many more server pods run.
	Others int
	// SeenAt is when the pods were last known to be so.
	SeenAt time.Time
}

// ServerOf reads the present server from Velero's pods, seen at a moment in the cluster's clock.
func ServerOf(pods []*corev1.Pod, seen time.Time) Server {
	s := Server{Visible: true, SeenAt: seen, ServerPod: ServerPod{Flags: DefaultServerFlags()}}
	all := ServerPods(pods)
	if len(all) > 0 {
		s.ServerPod = slices.MaxFunc(all, compareServers)
	}
	for i := range all {
		if all[i].Running && all[i].Name != s.Name {
			s.Others++
		}
	}
	return s
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

type Agent struct {
	Pod   string
	Node  string
	Ready bool
	// Created is when the pod was, in the API server's clock.
	Created   time.Time
	StartedAt time.Time
	Restarts  int
	// Waiting is why its container does not run, such as CrashLoopBackOff; empty if it runs or nothing is said.
	Waiting string
	Flags   AgentFlags
}

// agentStart is how long a node-agent gets from its pod's creation until it is ready, image pull included.
const agentStart = 5 * time.Minute

// Starting reports whether the node-agent is not ready yet because its pod is new, as in a rolling update.
func (a Agent) Starting(now time.Time) bool {
	return !a.Ready && !a.Created.IsZero() && now.Sub(a.Created) < agentStart
}

// AgentsOf reads the node-agents among Velero's pods, sorted by node and pod.
func AgentsOf(pods []*corev1.Pod) []Agent {
	var found []Agent
	for _, p := range pods {
		if !IsNodeAgent(p) {
			continue
		}
		a := Agent{Pod: p.Name, Node: p.Spec.NodeName, Created: p.CreationTimestamp.Time, Flags: parseAgentFlags(nil)}
		if c := agentIn(p); c != nil {
			a.Flags = parseAgentFlags(slices.Concat(c.Command, c.Args))
		}
		if s := statusOf(p, AgentContainer(p)); s != nil {
			a.Ready, a.Restarts = s.Ready, int(s.RestartCount)
			switch {
			case s.State.Running != nil:
				a.StartedAt = s.State.Running.StartedAt.Time
			case s.State.Waiting != nil:
				a.Waiting = s.State.Waiting.Reason
			}
		}
		found = append(found, a)
	}
	slices.SortStableFunc(found, func(a, b Agent) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Pod, b.Pod))
	})
	return found
}

// lifeless is how long after its grace period a server that is being replaced may still write.
const lifeless = 5 * time.Minute

// LeftOver reports whether a write to a job in progress, after this server's start, is no sign of work:
// a server takes up none that was in progress (pkg/controller/backup_controller.go and
// restore_controller.go Reconcile). The pod before it writes on for its grace period; later it is a
// label (gc_controller.go Reconcile), or an unrecognised server, which writes again.
func (s *Server) LeftOver(wrote, now time.Time) bool {
	return s.Others == 0 && !s.Created.IsZero() && now.Sub(wrote) >= s.Grace+lifeless && now.Sub(s.StartedAt) >= s.Grace+lifeless
}

// The containers' names in every installation (pkg/install/deployment.go and daemonset.go, the Helm chart, OADP).
const (
	serverContainer = "velero"
	agentContainer  = "node-agent"
)

// IsNodeAgent goes by installers' labels (pkg/install/daemonset.go, the Helm chart, OADP; docs/dev/velero.md#pods).
func IsNodeAgent(p *corev1.Pod) bool {
	return p.Labels["role"] == "node-agent" || strings.HasPrefix(p.Labels["name"], "node-agent")
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
	// What a shell runs is one word of several.
	words := strings.Fields(strings.Join(slices.Concat(c.Command, c.Args), " "))
	for i, w := range words {
		if w == "server" && (i > 0 && path.Base(words[i-1]) == "velero" || i == 0 && strings.Contains(c.Image, "velero")) {
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
	return containerIn(p, agentContainer, func(corev1.Container) bool { return false })
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
