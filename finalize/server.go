package finalize

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/velero"
)

// serverOf reads all servers: during a roll-out the old one may still work.
func serverOf(pods []corev1.Pod) Server {
	s := Server{Visible: true}
	newest := time.Time{}
	for _, p := range velero.ServerPods(pointers(pods)) {
		s.add(p)
		if !p.Created.Before(newest) {
			newest, s.Version, s.Deployment = p.Created, p.Version, p.Deployment
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
		s.Running = append(s.Running, Container{p.Name, p.StartedAt})
	} else {
		s.Down = p.Waiting
	}
}

// nodeAgents are the nodes with a node-agent that is ready.
func nodeAgents(pods []corev1.Pod) []string {
	var nodes []string
	for _, a := range velero.AgentsOf(pointers(pods)) {
		if a.Ready {
			nodes = append(nodes, a.Node)
		}
	}
	return nodes
}

func pointers(pods []corev1.Pod) []*corev1.Pod {
	out := make([]*corev1.Pod, len(pods))
	for i := range pods {
		out[i] = &pods[i]
	}
	return out
}

// latestBy is when a field manager whose name begins with prefix last wrote.
func latestBy(managers []metav1.ManagedFieldsEntry, prefix string) time.Time {
	var newest time.Time
	for _, m := range managers {
		if strings.HasPrefix(m.Manager, prefix) && m.Time != nil && m.Time.After(newest) {
			newest = m.Time.Time
		}
	}
	return newest
}
