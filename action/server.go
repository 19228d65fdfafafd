package action

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/velero"
)

// serverOf reads all servers: during a roll-out the old one may still work.
func serverOf(pods []corev1.Pod) Server {
	s := Server{Visible: true}
	newest := time.Time{}
	for _, p := range velero.ServerPods(pointers(pods)) {
		s.add(p)
		if !p.Created.Before(newest) {
			newest, s.Version, s.Deployment, s.Flags = p.Created, p.Version, p.Deployment, p.Flags
		}
	}
	slices.SortFunc(s.Running, func(a, b Container) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.Pod, b.Pod))
	})
	return s
}

func (s *Server) add(p velero.ServerPod) {
	s.Restarts += p.Restarts
	if p.LastTermination != "" && (s.LastTermination == "" || p.LastTerminationAt.After(s.LastTerminationAt)) {
		s.LastTermination, s.LastTerminationAt = p.LastTermination, p.LastTerminationAt
	}
	if p.Running {
		s.Running = append(s.Running, Container{Pod: p.Name, Name: p.Container, Restarts: p.Restarts, StartedAt: p.StartedAt, Created: p.Created, Grace: p.Grace})
	} else {
		s.Down = p.Waiting
	}
}

// nodeAgents are the nodes with a node-agent that is ready, and since when it
// runs; starting are those whose node-agent is about to be ready, and prepare is
// the longest time that one lets preparing a volume take.
func nodeAgents(pods []corev1.Pod, now time.Time) (nodes map[string]time.Time, starting map[string]bool, prepare time.Duration) {
	nodes, starting = map[string]time.Time{}, map[string]bool{}
	for _, a := range velero.AgentsOf(pointers(pods)) {
		if a.Ready {
			nodes[a.Node] = a.StartedAt
		} else if a.Starting(now) {
			starting[a.Node] = true
		}
		prepare = max(prepare, a.Flags.PrepareTimeout)
	}
	return nodes, starting, prepare
}

func pointers(pods []corev1.Pod) []*corev1.Pod {
	out := make([]*corev1.Pod, len(pods))
	for i := range pods {
		out[i] = &pods[i]
	}
	return out
}
