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
	// What a shell runs is one word of several.
	words := strings.Fields(strings.Join(slices.Concat(c.Command, c.Args), " "))
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
	newest := time.Time{}
	for i := range pods {
		p := &pods[i]
		if !isServer(p) {
			continue
		}
		s.add(p)
		if created := p.CreationTimestamp.Time; !created.Before(newest) {
			newest, s.Version, s.Deployment = created, versionOf(p), deploymentOf(p)
		}
	}
	slices.SortFunc(s.Running, func(a, b Container) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.Pod, b.Pod))
	})
	return s
}

func (s *Server) add(p *corev1.Pod) {
	status := statusOf(p)
	switch {
	case status == nil && p.Status.Phase == corev1.PodRunning:
		// It may be any of its containers; a start of zero is an unknown one.
		s.Running = append(s.Running, Container{Pod: p.Name})
		return
	case status == nil:
		s.Down = cmp.Or(p.Status.Reason, string(p.Status.Phase))
		return
	}
	s.Restarts += int(status.RestartCount)
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

// statusOf is the status of the server's container, nil if there is none yet or
// it cannot be told from its neighbours.
func statusOf(p *corev1.Pod) *corev1.ContainerStatus {
	of := containerOf(p)
	for i := range p.Status.ContainerStatuses {
		if c := &p.Status.ContainerStatuses[i]; of != nil && c.Name == of.Name {
			return c
		}
	}
	return nil
}

// containerOf is the container in which the server runs, nil if that is not
// clear.
func containerOf(p *corev1.Pod) *corev1.Container {
	for _, is := range []func(corev1.Container) bool{
		func(c corev1.Container) bool { return c.Name == serverContainer },
		runsServer,
		func(corev1.Container) bool { return len(p.Spec.Containers) == 1 },
	} {
		if i := slices.IndexFunc(p.Spec.Containers, is); i >= 0 {
			return &p.Spec.Containers[i]
		}
	}
	return nil
}

// versionOf is the tag of the server's image.
func versionOf(p *corev1.Pod) string {
	c := containerOf(p)
	if c == nil {
		return ""
	}
	image, _, _ := strings.Cut(c.Image, "@")
	_, tag, _ := strings.Cut(path.Base(image), ":")
	return tag
}

// deploymentOf is the pod's Deployment: its ReplicaSet is named after it and
// after the hash of the pod template.
func deploymentOf(p *corev1.Pod) string {
	for _, o := range p.OwnerReferences {
		hash := p.Labels["pod-template-hash"]
		if name, ok := strings.CutSuffix(o.Name, "-"+hash); ok && o.Kind == "ReplicaSet" && hash != "" {
			return name
		}
	}
	return ""
}

// nodeAgents are the nodes with a node-agent that is ready.
func nodeAgents(pods []corev1.Pod) []string {
	var nodes []string
	for i := range pods {
		p := &pods[i]
		agent := p.Labels["role"] == "node-agent" || strings.HasPrefix(p.Labels["name"], "node-agent")
		ready := slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.Ready })
		if agent && ready {
			nodes = append(nodes, p.Spec.NodeName)
		}
	}
	slices.Sort(nodes)
	return nodes
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
