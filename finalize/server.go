package finalize

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/job"
)

// serverOf reads all servers: during a roll-out the old one may still work.
func serverOf(pods []corev1.Pod) Server {
	s := Server{Visible: true}
	newest := time.Time{}
	for i := range pods {
		p := &pods[i]
		if !job.IsServer(p) {
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
	status := job.ServerStatus(p)
	switch {
	case status == nil && p.Status.Phase == corev1.PodRunning:
		// It may be any of its containers; a start of zero is an unknown one.
		s.Running = append(s.Running, Container{Pod: p.Name, Created: p.CreationTimestamp.Time})
		return
	case status == nil:
		s.Down = cmp.Or(p.Status.Reason, string(p.Status.Phase))
		return
	}
	s.Restarts += int(status.RestartCount)
	s.noteEnd(status.LastTerminationState.Terminated)
	switch {
	case status.State.Running != nil:
		s.Running = append(s.Running, Container{Pod: p.Name, StartedAt: status.State.Running.StartedAt.Time, Created: p.CreationTimestamp.Time})
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

// versionOf is the tag of the server's image.
func versionOf(p *corev1.Pod) string {
	c := job.ServerContainer(p)
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

// nodeAgents are the nodes with a node-agent that is ready, and since when it
// runs.
func nodeAgents(pods []corev1.Pod) map[string]time.Time {
	nodes := map[string]time.Time{}
	for i := range pods {
		p := &pods[i]
		if !job.IsNodeAgent(p) {
			continue
		}
		for _, c := range p.Status.ContainerStatuses {
			switch {
			case c.Ready && c.State.Running != nil:
				nodes[p.Spec.NodeName] = c.State.Running.StartedAt.Time
			case c.Ready:
				nodes[p.Spec.NodeName] = time.Time{}
			}
		}
	}
	return nodes
}

// movers are the phases of the pods that move volumes, and the longest time
// that a node-agent lets preparing one take.
func movers(pods []corev1.Pod) (found map[job.VolumeRef]job.MoverPhase, prepare time.Duration) {
	found = map[job.VolumeRef]job.MoverPhase{}
	for i := range pods {
		p := &pods[i]
		if of, moves := job.MoverOf(p); moves {
			found[of] = job.MoverPhase(p.Status.Phase)
		}
		if job.IsNodeAgent(p) {
			prepare = max(prepare, job.PrepareTimeout(p))
		}
	}
	return found, prepare
}
