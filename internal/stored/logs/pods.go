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

// container is one whose log is read.
type container struct {
	pod, name string
	// source is the pod in what is shown, empty for a server's.
	source string
	// created is the pod's; started is zero if the container does not run.
	created, started time.Time
	restarts         int
	// mover is true for a pod that moves one of the job's volumes: all its lines belong to the job.
	mover bool
}

// containers lists those that log about a job, servers first, oldest first; left counts those beyond maxPods.
func (r *Reader) containers(ctx context.Context, q Query) (found []container, left int, err error) {
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
	pods, err := r.o.Pods()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.o.Patience)
	defer cancel()
	var all []*corev1.Pod
	err = session.Pages(
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

// volumePods are the movers of the job's volumes, and the node-agents of their nodes; of all nodes if one is unknown.
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
		switch of, moves := velero.MoverOf(p); {
		case moves && volumes[of] && len(p.Spec.Containers) > 0:
			c.name, c.mover = p.Spec.Containers[0].Name, true
			c.state(p)
			movers = append(movers, c)
		case !moves && velero.IsNodeAgent(p) && (anywhere || nodes[p.Spec.NodeName]):
			c.name = velero.AgentContainer(p)
			c.state(p)
			agents = append(agents, c)
		}
	}
	return append(agents, movers...)
}

func (c *container) state(p *corev1.Pod) {
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

// belongs tells which lines of a container's log are about a job.
type belongs struct {
	kind, namespace, name string
	volumes               map[string]bool
	container             container
	// repeats is true while a node-agent repeats the log of a pod that moved one of the volumes.
	repeats bool
}

func newBelongs(q Query, c container) *belongs {
	b := &belongs{
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

// line decides about a whole line; at is when it was written, zero if unknown.
func (b *belongs) line(raw []byte) (is bool, at time.Time) {
	if b.container.source == "" && !bytes.Contains(raw, []byte(b.name)) {
		return false, at
	}
	if b.container.mover {
		return true, timeOf(raw)
	}
	text := string(raw)
	if b.container.source != "" {
		begins, ends := velero.MovedLog(text)
		switch {
		case begins != "":
			b.repeats = b.volumes[begins]
			return b.repeats, at
		case ends != "":
			was := b.repeats
			b.repeats = false
			return was, at
		case b.repeats:
			return true, timeOf(raw)
		}
	}
	e, ok := velero.ParseLogLine(text)
	if !ok {
		return false, at
	}
	is = e.About(b.kind, b.namespace, b.name) || b.container.source != "" && e.AboutVolume(b.namespace, b.volumes)
	return is, e.At
}

// long decides about a line of which only the beginning and the end are known.
func (b *belongs) long(head, tail []byte) bool {
	if b.container.mover || b.repeats {
		return true
	}
	ref := b.namespace + "/" + b.name
	for _, part := range [][]byte{head, tail} {
		text := string(part)
		for _, key := range velero.JobKeys[b.kind] {
			if strings.Contains(text, key+"="+ref) || strings.Contains(text, `"`+key+`":"`+ref+`"`) {
				return true
			}
		}
	}
	return false
}
