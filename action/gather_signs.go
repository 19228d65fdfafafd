package action

import (
	"encoding/json"
	"strings"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"github.com/vmware-tanzu/velero/pkg/label"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// veleroWrote is when a server last wrote to an object, as the API server noted
// it. A server's field manager is its command and its word "server"
// (pkg/cmd/server/server.go SetBasename), velero-server in all but rebranded
// builds; the command line is velero. Whoever else writes a status, but a person
// with kubectl or veltui, may be one too.
func veleroWrote(managers []metav1.ManagedFieldsEntry) time.Time {
	var newest time.Time
	for i := range managers {
		m := &managers[i]
		server := strings.HasSuffix(m.Manager, "-server") ||
			m.Manager != fieldManager && !strings.HasPrefix(m.Manager, "kubectl") && len(statusOf(m)) > 0
		if server && m.Time != nil && m.Time.After(newest) {
			newest = m.Time.Time
		}
	}
	return newest
}

// statusOf are the fields of the status that an entry of managedFields owns.
func statusOf(m *metav1.ManagedFieldsEntry) map[string]any {
	var owned struct {
		Status map[string]any `json:"f:status"`
	}
	if m.FieldsV1 == nil || json.Unmarshal(m.FieldsV1.GetRawBytes(), &owned) != nil {
		return nil
	}
	return owned.Status
}

// phaseOwner is who last wrote the phase, and when; empty if that was not noted.
func phaseOwner(o *unstructured.Unstructured) (owner string, at time.Time) {
	managers := o.GetManagedFields()
	for i := range managers {
		m := &managers[i]
		if _, owns := statusOf(m)["f:phase"]; owns && m.Time != nil && !m.Time.Time.Before(at) {
			owner, at = m.Manager, m.Time.Time
		}
	}
	return owner, at
}

// runsOn reports whether a job has a final phase that a person wrote, while
// Velero wrote to it after that, or a moment ago.
func runsOn(o *unstructured.Unstructured, at time.Time) bool {
	by, written := phaseOwner(o)
	if by == "" || strings.HasSuffix(by, "-server") || !velero.TerminalPhase(phaseOf(o)) {
		return false
	}
	wrote := veleroWrote(o.GetManagedFields())
	return wrote.After(written) || !wrote.IsZero() && at.Sub(wrote) < lifeless
}

// locations finds out when a server last wrote to any storage location: it
// validates and syncs each, by default once a minute
// (backup_storage_location_controller.go, backup_sync_controller.go).
func (g *gathering) locations() error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(velerov1.SchemeGroupVersion.WithKind("BackupStorageLocationList"))
	why, err := open("listing storage locations", g.client.List(g.ctx, list, client.InNamespace(g.namespace)))
	if err != nil || why != "" {
		g.e.LocationsWhy = why
		return err
	}
	g.e.Locations = Yes
	for i := range list.Items {
		o := &list.Items[i]
		newest := veleroWrote(o.GetManagedFields())
		for _, field := range []string{"lastValidationTime", "lastSyncedTime"} {
			text, _, _ := unstructured.NestedString(o.Object, "status", field)
			if at, err := time.Parse(time.RFC3339, text); err == nil {
				newest = job.Latest(newest, at)
			}
		}
		g.e.LocationsWrote = job.Latest(g.e.LocationsWrote, newest)
	}
	return nil
}

// The annotations by which a pod asks a restore to run a command in it
// (internal/hook/item_hook_handler.go).
const (
	hookCommand   = "post.hook.restore.velero.io/command"
	hookContainer = "post.hook.restore.velero.io/container"
	hookWait      = "post.hook.restore.velero.io/wait-timeout"
)

// hooks looks at the pods that a restore has made, once all else is restored.
func (g *gathering) hooks() error {
	j := g.e.Job
	if j.Kind != job.Restore || j.Terminal() || j.Stage == job.StageQueued {
		return nil
	}
	var pods corev1.PodList
	why, err := open("listing restored pods", g.client.List(g.ctx, &pods, client.MatchingLabels{velerov1.RestoreNameLabel: label.GetValidName(j.Name)}))
	if err != nil || why != "" {
		return err
	}
	g.e.HooksSeen = Yes
	for i := range pods.Items {
		if h, asked := hookOf(&pods.Items[i]); asked {
			g.e.Hooks = append(g.e.Hooks, h)
		}
	}
	return nil
}

func hookOf(p *corev1.Pod) (Hook, bool) {
	if p.Annotations[hookCommand] == "" {
		return Hook{}, false
	}
	h := Hook{Pod: sanitize.String(p.Namespace + "/" + p.Name), Container: sanitize.String(p.Annotations[hookContainer]), Created: p.CreationTimestamp.Time}
	if d, err := time.ParseDuration(p.Annotations[hookWait]); err == nil {
		h.Waits = max(0, d)
	}
	for _, c := range p.Status.ContainerStatuses {
		first := p.Annotations[hookContainer] == "" && len(p.Spec.Containers) > 0 && c.Name == p.Spec.Containers[0].Name
		if w := c.State.Waiting; w != nil && (first || c.Name == p.Annotations[hookContainer]) && cannotStart[w.Reason] {
			h.Blocked = w.Reason
		}
	}
	return h, true
}

// cannotStart are the kubelet's reasons for a container that will not start by
// itself.
var cannotStart = map[string]bool{
	"ImagePullBackOff": true, "ErrImagePull": true, "ErrImageNeverPull": true, "InvalidImageName": true,
	"CreateContainerConfigError": true, "CreateContainerError": true, "CrashLoopBackOff": true,
}

// snapshots looks for CSI snapshots that a backup waits for: those that are not
// bound, or whose content has no handle yet (pkg/util/csi/volume_snapshot.go
// WaitUntilVSCHandleIsReady). That one is not ready to use does not count.
func (g *gathering) snapshots() error {
	j := g.e.Job
	if j.Kind != job.Backup || j.Phase != velero.PhaseInProgress {
		return nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(velero.VolumeSnapshots.WithKind("VolumeSnapshotList"))
	err := g.client.List(g.ctx, list, client.MatchingLabels{velerov1.BackupNameLabel: label.GetValidName(j.Name)})
	if apierrors.IsNotFound(err) {
		return nil // a cluster without CSI snapshots
	}
	why, err := open("listing VolumeSnapshots", err)
	if err != nil || why != "" {
		g.e.SnapshotsWhy = why
		return err
	}
	for i := range list.Items {
		if err := g.snapshot(&list.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

func (g *gathering) snapshot(o *unstructured.Unstructured) error {
	s := diagnosis.Snapshot{Name: sanitize.String(o.GetNamespace() + "/" + o.GetName()), Created: o.GetCreationTimestamp().Time}
	bound, _, _ := unstructured.NestedString(o.Object, "status", "boundVolumeSnapshotContentName")
	ready, _, _ := unstructured.NestedBool(o.Object, "status", "readyToUse")
	switch {
	case ready || s.Created.Before(g.e.Job.Created):
		return nil
	case bound != "":
		content := bare(velero.VolumeSnapshots.WithKind("VolumeSnapshotContent"), "", bound)
		why, err := open("reading a VolumeSnapshotContent", g.client.Get(g.ctx, client.ObjectKeyFromObject(content), content))
		if err != nil || why != "" {
			g.e.SnapshotsWhy = why
			return err
		}
		if handle, _, _ := unstructured.NestedString(content.Object, "status", "snapshotHandle"); handle != "" {
			return nil
		}
		s.Error, _, _ = unstructured.NestedString(content.Object, "status", "error", "message")
	default:
		s.Error, _, _ = unstructured.NestedString(o.Object, "status", "error", "message")
	}
	s.Error = sanitize.String(s.Error)
	g.e.Snapshots = append(g.e.Snapshots, s)
	return nil
}
