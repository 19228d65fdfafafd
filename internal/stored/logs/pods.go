package logs

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/velero"
)

// maxPods is how many pods' logs are read at once.
const maxPods = 40

// container is a container whose log is read.
type container struct {
	pod, name string
	// source is the pod's name as it is shown, empty for a server's pod.
	source string
	// created is when the pod was created; started is zero if the container does not run.
	created, started time.Time
	restarts         int
	// isMover is true for a pod that moves one of the job's volumes: all its lines belong to the job.
	isMover bool
}

// listContainers lists the containers that log about a job, servers first, oldest first; left counts those beyond
// maxPods.
func (r *Reader) listContainers(ctx context.Context, q Query) (found []container, left int, err error) {
	pods, err := r.listPods(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, s := range velero.ServerPods(pods) {
		found = append(
			found,
			container{pod: s.Name, name: s.Container, created: s.Created, started: s.StartedAt, restarts: s.Restarts},
		)
	}
	slices.SortFunc(
		found,
		func(a, b container) int { return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.pod, b.pod)) },
	)
	if q.Volumes {
		found = append(found, volumePods(q, pods)...)
	}
	read := min(len(found), maxPods)
	return found[:read], len(found) - read, nil
}

func (r *Reader) listPods(ctx context.Context) ([]*corev1.Pod, error) {
	pods, err := r.options.PodsClient()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.options.IdleTimeout)
	defer cancel()
	var all []*corev1.Pod
	err = session.ReadPages(
		ctx,
		metav1.ListOptions{Limit: session.PageSize},
		func(ctx context.Context, o metav1.ListOptions) (string, error) {
			page, err := pods.List(ctx, o)
			if err != nil {
				return "", err
			}
			if o.Continue == "" {
				all = nil
			}
			for i := range page.Items {
				all = append(all, &page.Items[i])
			}
			return page.Continue, nil
		},
	)
	if err != nil {
		return nil, fmt.Errorf("listing Velero's pods: %w", err)
	}
	return all, nil
}

// volumePods returns the movers of the job's volumes and the node-agents of their nodes; of all nodes if a node is
// unknown.
func volumePods(q Query, pods []*corev1.Pod) []container {
	if len(q.Job.Volumes) == 0 {
		return nil
	}
	volumes := map[velero.VolumeRef]bool{}
	nodes := map[string]bool{}
	anywhere := false
	for _, v := range q.Job.Volumes {
		volumes[velero.VolumeRef{Kind: v.Kind, Name: v.Name}] = true
		nodes[v.Node] = true
		anywhere = anywhere || v.Node == ""
	}
	var movers, agents []container
	for _, p := range pods {
		c := container{pod: p.Name, source: p.Name, created: p.CreationTimestamp.Time}
		switch of, moves := velero.VolumeMovedBy(p); {
		case moves && volumes[of] && len(p.Spec.Containers) > 0:
			c.name, c.isMover = p.Spec.Containers[0].Name, true
			c.updateState(p)
			movers = append(movers, c)
		case !moves && velero.IsNodeAgent(p) && (anywhere || nodes[p.Spec.NodeName]):
			c.name = velero.AgentContainer(p)
			c.updateState(p)
			agents = append(agents, c)
		}
	}
	return append(agents, movers...)
}

func (c *container) updateState(p *corev1.Pod) {
	for i := range p.Status.ContainerStatuses {
		s := &p.Status.ContainerStatuses[i]
		if s.Name != c.name {
			continue
		}
		c.restarts = int(s.RestartCount)
		if s.State.Running != nil {
			c.started = s.State.Running.StartedAt.Time
		}
	}
}

// jobFilter decides which lines of a container's log are about a job.
type jobFilter struct {
	kind, namespace, name string
	volumes               map[string]bool
	container             container
	// repeatsMover is true while a node-agent repeats the log of a pod that moved one of the volumes.
	repeatsMover bool
}

func newJobFilter(q Query, c container) *jobFilter {
	b := &jobFilter{
		kind:      string(q.Job.Kind),
		namespace: q.Job.Namespace,
		name:      q.Job.Name,
		container: c,
		volumes:   map[string]bool{},
	}
	for _, v := range q.Job.Volumes {
		b.volumes[v.Name] = true
	}
	return b
}

// matchesLine reports whether a whole line is about the job; at is when it was written, zero if unknown.
func (b *jobFilter) matchesLine(raw []byte) (is bool, at time.Time) {
	if b.container.source == "" && !bytes.Contains(raw, []byte(b.name)) {
		return false, at
	}
	if b.container.isMover {
		return true, parseLineTime(raw)
	}
	text := string(raw)
	if b.container.source != "" {
		begins, ends := velero.ParseMoverLogMarker(text)
		switch {
		case begins != "":
			b.repeatsMover = b.volumes[begins]
			return b.repeatsMover, at
		case ends != "":
			was := b.repeatsMover
			b.repeatsMover = false
			return was, at
		case b.repeatsMover:
			return true, parseLineTime(raw)
		}
	}
	e, ok := velero.ParseLogLine(text)
	if !ok {
		return false, at
	}
	is = e.IsAboutJob(b.kind, b.namespace, b.name) || b.container.source != "" && e.IsAboutVolume(b.namespace, b.volumes)
	return is, e.At
}

// matchesLongLine reports whether a line of which only the beginning and the end are known is about the job.
func (b *jobFilter) matchesLongLine(head, tail []byte) bool {
	if b.container.isMover || b.repeatsMover {
		return true
	}
	ref := b.namespace + "/" + b.name
	for _, part := range [][]byte{head, tail} {
		text := string(part)
		for _, key := range velero.JobLogFields[b.kind] {
			if strings.Contains(text, key+"="+ref) || strings.Contains(text, `"`+key+`":"`+ref+`"`) {
				return true
			}
		}
	}
	return false
}
