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

// IsServer tells a pod of Velero's server by the labels that installers set, or by its command. A
// node-agent also carries component=velero.
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

// containerIn finds a program's container: by its usual name, by what it runs, or as the
// only one. It is nil if that is not clear.
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

// AgentContainer is the name of the container in which the node-agent runs, the
// usual one if that cannot be told.
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
