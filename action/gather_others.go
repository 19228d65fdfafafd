package action

import (
	"cmp"
	"fmt"
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
	"github.com/veltui/veltui/velero/decode"
)

// others lists the jobs beside this one that have not ended, or run on although
// a person wrote a final phase on them, and the queue.
func (g *gathering) others() error {
	for _, kind := range []job.Kind{job.Backup, job.Restore} {
		raw, err := g.listRaw(jobKind(kind))
		why, err := open("listing "+kind.Resource(), err)
		if err != nil {
			return err
		}
		if why != "" {
			g.e.OthersWhy = why
		}
		slices.SortStableFunc(raw, func(a, b unstructured.Unstructured) int { return cmp.Compare(queuePosition(&a), queuePosition(&b)) })
		for i := range raw {
			g.other(kind, &raw[i])
		}
	}
	return nil
}

func queuePosition(o *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(o.Object, "status", "queuePosition")
	return n
}

func (g *gathering) other(kind job.Kind, o *unstructured.Unstructured) {
	name, phase := sanitize.String(o.GetName()), sanitize.String(phaseOf(o))
	if malformed := malformedJob(kind, o); len(malformed) > 0 {
		g.e.Malformed = append(g.e.Malformed, fmt.Sprintf("%s/%s (%s)", kind.Word(), name, malformed[0]))
	}
	if o.GetUID() == g.e.Job.UID {
		return
	}
	running := runsOn(o, g.e.At)
	if running || !velero.TerminalPhase(phase) {
		g.e.Others = append(g.e.Others, Other{Kind: kind, Name: name, Phase: phase, Running: running})
	}
	if phase == velero.PhaseQueued && kind == job.Backup && g.e.Job.Kind == job.Backup {
		g.e.Queued = append(g.e.Queued, name)
	}
}

// malformedJob is what a server's client cannot read of a job.
func malformedJob(kind job.Kind, o *unstructured.Unstructured) []decode.Malformed {
	var typed any = &velerov1.Backup{}
	if kind == job.Restore {
		typed = &velerov1.Restore{}
	}
	malformed, _ := decode.Unstructured(o, typed) // an object that was read as one is one
	return malformed
}

// targets looks for namespaces that are being deleted among those that a
// restore restores into (Velero issues 5697, 7516 and 8234).
func (g *gathering) targets() error {
	restore, ok := g.e.Job.Object.(*velerov1.Restore)
	if !ok || g.e.Job.Terminal() {
		return nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if ok, err := answered("listing namespaces", g.client.List(g.ctx, list, "", metav1.ListOptions{}), &g.e.NamespacesWhy); !ok {
		return err
	}
	g.e.NamespacesSeen = true
	for i := range list.Items {
		if n := &list.Items[i]; n.DeletionTimestamp != nil && velero.RestoresInto(restore, g.backup, n.Name) {
			g.e.Terminating = append(g.e.Terminating, n.Name)
		}
	}
	return nil
}
