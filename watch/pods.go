package watch

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/job"
)

// role is what a pod does for Velero.
type role int

const (
	roleNone role = iota
	roleServer
	roleAgent
	roleMover
)

// agentContainer is the container's name in every installation (Velero's
// pkg/install, OADP).
const agentContainer = "node-agent"

func roleOf(p *corev1.Pod) role {
	switch {
	case job.IsNodeAgent(p):
		return roleAgent
	case job.IsServer(p):
		return roleServer
	}
	if _, moves := job.MoverOf(p); moves {
		return roleMover
	}
	return roleNone
}

// serverOf reads the Velero server from its pods. Of several (a rolling update
// runs two for a moment) it takes the one whose container started last, and
// without a running one the newest pod.
func serverOf(pods []*corev1.Pod, seen time.Time) job.Server {
	found := job.Server{Visible: true, ConcurrentBackups: 1, SeenAt: seen}
	var newest *corev1.Pod
	for _, p := range pods {
		if roleOf(p) != roleServer {
			continue
		}
		if newest == nil || compareServers(p, newest) > 0 {
			newest = p
		}
	}
	if newest == nil {
		return found
	}
	found.Pod = newest.Name
	if c := job.ServerContainer(newest); c != nil {
		found.Version = tag(c.Image)
		found.ConcurrentBackups = concurrentBackups(c.Args)
	}
	status := job.ServerStatus(newest)
	if status == nil {
		if _, found.Running = serverStart(newest); !found.Running {
			found.Waiting = cmp.Or(newest.Status.Reason, string(newest.Status.Phase))
		}
		return found
	}
	found.Ready = status.Ready
	found.Restarts = int(status.RestartCount)
	if t := status.LastTerminationState.Terminated; t != nil {
		found.LastTermination, found.LastTerminationAt = t.Reason, t.FinishedAt.Time
	}
	switch {
	case status.State.Running != nil:
		found.Running, found.StartedAt = true, status.State.Running.StartedAt.Time
	case status.State.Waiting != nil:
		found.Waiting = status.State.Waiting.Reason
	case status.State.Terminated != nil:
		found.Waiting = status.State.Terminated.Reason
	}
	return found
}

// compareServers is positive if a tells more about the present server than b.
func compareServers(a, b *corev1.Pod) int {
	startA, runsA := serverStart(a)
	startB, runsB := serverStart(b)
	if runsA != runsB {
		if runsA {
			return 1
		}
		return -1
	}
	return cmp.Or(
		startA.Compare(startB),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

// serverStart is when a pod's server started and whether it runs. Where it may
// be any of several containers, since when is not known.
func serverStart(p *corev1.Pod) (at time.Time, running bool) {
	if s := job.ServerStatus(p); s != nil {
		return started(s)
	}
	return time.Time{}, p.Status.Phase == corev1.PodRunning
}

// agentsOf reads the node-agents, sorted by node and pod.
func agentsOf(pods []*corev1.Pod) []job.Agent {
	var found []job.Agent
	for _, p := range pods {
		if roleOf(p) != roleAgent {
			continue
		}
		a := job.Agent{Pod: p.Name, Node: p.Spec.NodeName}
		s := agentStatus(p)
		a.StartedAt, _ = started(s)
		if s != nil {
			a.Ready, a.Restarts = s.Ready, int(s.RestartCount)
		}
		found = append(found, a)
	}
	slices.SortFunc(found, func(a, b job.Agent) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Pod, b.Pod))
	})
	return found
}

// moversOf reads the pods that move volumes, and how long the node-agents let
// preparing one take.
func moversOf(pods []*corev1.Pod) (movers map[job.VolumeRef]job.MoverPhase, prepare time.Duration) {
	for _, p := range pods {
		switch roleOf(p) {
		case roleAgent:
			prepare = max(prepare, job.PrepareTimeout(p))
		case roleMover:
			if movers == nil {
				movers = map[job.VolumeRef]job.MoverPhase{}
			}
			of, _ := job.MoverOf(p)
			movers[of] = job.MoverPhase(p.Status.Phase)
		}
	}
	return movers, prepare
}

// agentStatus is the status of the node-agent's container: that of its name,
// else the only one there is.
func agentStatus(p *corev1.Pod) *corev1.ContainerStatus {
	for i := range p.Status.ContainerStatuses {
		if p.Status.ContainerStatuses[i].Name == agentContainer {
			return &p.Status.ContainerStatuses[i]
		}
	}
	if len(p.Status.ContainerStatuses) == 1 {
		return &p.Status.ContainerStatuses[0]
	}
	return nil
}

func started(s *corev1.ContainerStatus) (at time.Time, running bool) {
	if s == nil || s.State.Running == nil {
		return time.Time{}, false
	}
	return s.State.Running.StartedAt.Time, true
}

// tag is the tag of an image, empty if it has none.
func tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	image = image[strings.LastIndexByte(image, '/')+1:]
	_, t, _ := strings.Cut(image, ":")
	return t
}

// concurrentBackups reads the server's flag (Velero 1.18; its default is 1).
func concurrentBackups(args []string) int {
	const flag = "--concurrent-backups"
	limit := 1
	for i, a := range args {
		name, value, given := strings.Cut(a, "=")
		if name != flag {
			continue
		}
		if !given && i+1 < len(args) {
			value = args[i+1]
		}
		if n, err := strconv.Atoi(value); err == nil && n > 0 {
			limit = n
		}
	}
	return limit
}
