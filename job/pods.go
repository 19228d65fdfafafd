package job

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// serverContainer is the name in every installation (Velero's pkg/install, OADP).
const serverContainer = "velero"

// IsNodeAgent tells a node-agent by the labels that installers set (velero-facts
// 6.5).
func IsNodeAgent(p *corev1.Pod) bool {
	return p.Labels["role"] == "node-agent" || strings.HasPrefix(p.Labels["name"], "node-agent")
}

// IsServer tells a pod of Velero's server by the labels that installers set, or
// by its command. A node-agent also carries component=velero.
func IsServer(p *corev1.Pod) bool {
	switch {
	case IsNodeAgent(p):
		return false
	case p.Labels["deploy"] == "velero":
		return true
	}
	return slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool {
		return c.Name == serverContainer && p.Labels["component"] == "velero" || runsServer(c)
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

// ServerContainer is the container in which the server runs, nil if that is not
// clear.
func ServerContainer(p *corev1.Pod) *corev1.Container {
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

// ServerStatus is the status of the server's container, nil if there is none yet
// or it cannot be told from its neighbours.
func ServerStatus(p *corev1.Pod) *corev1.ContainerStatus {
	of := ServerContainer(p)
	for i := range p.Status.ContainerStatuses {
		if c := &p.Status.ContainerStatuses[i]; of != nil && c.Name == of.Name {
			return c
		}
	}
	return nil
}
