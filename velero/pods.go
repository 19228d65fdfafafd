package velero

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The containers' names in every installation (pkg/install/deployment.go and
// daemonset.go, the Helm chart, OADP).
const (
	serverContainer = "velero"
	agentContainer  = "node-agent"
)

// IsNodeAgent tells a node-agent by the labels that installers set (pkg/install/
// daemonset.go, the Helm chart, OADP; docs/dev/velero.md#pods).
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

// serverIn is the container in which the server runs, nil if that is not clear.
func serverIn(p *corev1.Pod) *corev1.Container {
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

// serverStatus is the status of the server's container, nil if there is none yet
// or it cannot be told from its neighbours.
func serverStatus(p *corev1.Pod) *corev1.ContainerStatus {
	if c := serverIn(p); c != nil {
		return statusNamed(p, c.Name)
	}
	return nil
}

// agentStatus is the status of the node-agent's container: that of its name,
// else the only one there is.
func agentStatus(p *corev1.Pod) *corev1.ContainerStatus {
	if s := statusNamed(p, agentContainer); s != nil {
		return s
	}
	if len(p.Status.ContainerStatuses) == 1 {
		return &p.Status.ContainerStatuses[0]
	}
	return nil
}

func statusNamed(p *corev1.Pod, container string) *corev1.ContainerStatus {
	for i := range p.Status.ContainerStatuses {
		if s := &p.Status.ContainerStatuses[i]; s.Name == container {
			return s
		}
	}
	return nil
}

// AgentContainer is the name of the container in which the node-agent runs, the
// usual one if that cannot be told.
func AgentContainer(p *corev1.Pod) string {
	if len(p.Spec.Containers) == 1 {
		return p.Spec.Containers[0].Name
	}
	return agentContainer
}
