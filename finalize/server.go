package finalize

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// serverContainer is the name in every installation (Velero's pkg/install, OADP).
const serverContainer = "velero"

// isServer tells a pod of Velero's server by the labels that installers set, or
// by its command. A node agent also carries component=velero.
func isServer(p *corev1.Pod) bool {
	l := p.Labels
	switch {
	case l["role"] == "node-agent", strings.HasPrefix(l["name"], "node-agent"):
		return false
	case l["deploy"] == "velero":
		return true
	}
	return slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool {
		return c.Name == serverContainer && l["component"] == "velero" || runsServer(c)
	})
}

// runsServer recognises `velero server` in a chart that has labels of its own.
func runsServer(c corev1.Container) bool {
	words := slices.Concat(c.Command, c.Args)
	for i, w := range words {
		if w == "server" && (i > 0 && path.Base(words[i-1]) == "velero" || i == 0 && strings.Contains(c.Image, "velero")) {
			return true
		}
	}
	return false
}

// serverOf reads all servers: during a roll-out the old one may still work.
func serverOf(pods []corev1.Pod) Server {
	s := Server{Visible: true}
	for i := range pods {
		if p := &pods[i]; isServer(p) {
			s.add(p)
		}
	}
	slices.SortFunc(s.Running, func(a, b Container) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.Pod, b.Pod))
	})
	return s
}

func (s *Server) add(p *corev1.Pod) {
	status := statusOf(p)
	if status == nil {
		s.Down = cmp.Or(p.Status.Reason, string(p.Status.Phase))
		return
	}
	s.noteEnd(status.LastTerminationState.Terminated)
	switch {
	case status.State.Running != nil:
		s.Running = append(s.Running, Container{p.Name, status.State.Running.StartedAt.Time})
	case status.State.Terminated != nil:
		s.noteEnd(status.State.Terminated)
		s.Down = status.State.Terminated.Reason
	case status.State.Waiting != nil:
		s.Down = status.State.Waiting.Reason
	}
}

func (s *Server) noteEnd(t *corev1.ContainerStateTerminated) {
	if t != nil && (s.LastTermination == "" || t.FinishedAt.After(s.LastTerminationAt)) {
		s.LastTermination, s.LastTerminationAt = cmp.Or(t.Reason, "no reason given"), t.FinishedAt.Time
	}
}

func statusOf(p *corev1.Pod) *corev1.ContainerStatus {
	for i := range p.Status.ContainerStatuses {
		c := &p.Status.ContainerStatuses[i]
		if c.Name == serverContainer || len(p.Status.ContainerStatuses) == 1 {
			return c
		}
	}
	return nil
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
