package action

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"github.com/vmware-tanzu/velero/pkg/label"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
	"github.com/veltui/veltui/velero/decode"
)

// volumes returns the volumes that carry the job's uid. Only where one of them
// has not ended the others are listed too: they share the slots of the nodes.
func (g *gathering) volumes(kind job.Kind) ([]job.Volume, error) {
	kinds, label := []velero.VolumeKind{velero.PodVolumeBackup, velero.DataUpload}, velerov1.BackupUIDLabel
	if kind == job.Restore {
		kinds, label = []velero.VolumeKind{velero.PodVolumeRestore, velero.DataDownload}, velerov1.RestoreUIDLabel
	}
	g.e.Volumes, g.e.volumes = Yes, map[velero.VolumeRef]*unstructured.Unstructured{}
	var own []job.Volume
	moves := false
	for _, k := range kinds {
		why, err := g.listVolumes(k, func(v job.Volume, o *unstructured.Unstructured) {
			g.e.volumes[v.Ref()] = o
			own, moves = append(own, v), moves || !v.Ended()
		}, label+"="+string(g.e.Object.GetUID()))
		if err != nil {
			return nil, err
		}
		if why != "" {
			g.e.Volumes, g.e.VolumesWhy = Unknown, why
		}
	}
	slices.SortFunc(own, func(a, b job.Volume) int {
		return strings.Compare(string(a.Kind)+"/"+a.Name, string(b.Kind)+"/"+b.Name)
	})
	if moves {
		return own, g.moving()
	}
	return own, nil
}

// moving lists the volumes of all jobs that have not ended.
func (g *gathering) moving() error {
	g.e.MovingKnown = Yes
	for _, k := range velero.VolumeKinds {
		why, err := g.listVolumes(k, func(v job.Volume, _ *unstructured.Unstructured) {
			if !v.Ended() {
				g.e.Moving = append(g.e.Moving, v)
			}
			if v.Malformed != (decode.Malformed{}) {
				if g.e.BlindingVolumes == nil {
					g.e.BlindingVolumes = map[velero.VolumeKind]string{}
				}
				g.e.BlindingVolumes[k] = fmt.Sprintf("%s/%s (%s)", strings.ToLower(string(k)), v.Name, v.Malformed.Field)
			}
		})
		if err != nil {
			return err
		}
		if why != "" {
			g.e.MovingKnown = Unknown
		}
	}
	return nil
}

// listVolumes lists volumes of one kind; why is the API server's refusal.
func (g *gathering) listVolumes(kind velero.VolumeKind, each func(job.Volume, *unstructured.Unstructured), labels ...string) (why string, _ error) {
	found, err := g.listRaw(kind.GroupVersionKind(), labels...)
	if apierrors.IsNotFound(err) {
		return "", nil // a Velero without that kind has none of it
	}
	if why, err = open("listing volumes", err); err != nil || why != "" {
		return why, err
	}
	for i := range found {
		v, err := volumeOf(kind, &found[i])
		if err != nil {
			return "", err
		}
		each(v, &found[i])
	}
	return "", nil
}

// volumeOf reads a volume as far as its type can hold it.
func volumeOf(kind velero.VolumeKind, o *unstructured.Unstructured) (job.Volume, error) {
	switch kind {
	case velero.PodVolumeBackup:
		return volumeFrom(o, job.VolumeFromPodVolumeBackup)
	case velero.PodVolumeRestore:
		return volumeFrom(o, job.VolumeFromPodVolumeRestore)
	case velero.DataUpload:
		return volumeFrom(o, job.VolumeFromDataUpload)
	}
	return volumeFrom(o, job.VolumeFromDataDownload)
}

func volumeFrom[T any](o *unstructured.Unstructured, read func(*T) job.Volume) (job.Volume, error) {
	typed := new(T)
	malformed, err := convert(o, typed)
	if err != nil {
		return job.Volume{}, err
	}
	v := read(typed)
	if len(malformed) > 0 {
		v.Malformed = malformed[0]
	}
	return v, nil
}

// slots finds out how many volumes may be moved and prepared at once, where a
// volume of the job waits for that.
func (g *gathering) slots() error {
	nodes := map[string]bool{}
	for i := range g.e.Job.Volumes {
		v := &g.e.Job.Volumes[i]
		if v.BuiltIn() && v.Waiting() && v.Phase != velero.VolumeAccepted {
			nodes[v.Node] = true
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	delete(nodes, "")
	config, source, why, err := g.loadConcurrency()
	if err != nil || why != "" {
		g.e.Slots.Why = why
		return err
	}
	g.e.Slots = velero.Slots{Source: source, ByNode: map[string]int{}, PrepareQueue: config.PrepareQueueLength}
	for name := range nodes {
		node := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
		node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
		if len(config.PerNodeConfig) > 0 {
			why, err := open("reading a node", g.client.Get(g.ctx, node))
			if err != nil {
				return err
			}
			if why != "" {
				g.e.Slots.Why = why
				continue
			}
		}
		g.e.Slots.ByNode[name] = config.Slots(node.Labels)
	}
	return nil
}

// loadConcurrency reads the ConfigMap that the node-agents name; why says why it
// is not known.
func (g *gathering) loadConcurrency() (config velero.LoadConcurrency, source, why string, _ error) {
	var names []string
	for _, a := range g.e.Agents {
		names = append(names, a.Flags.ConfigMap)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	version, known := velero.ParseVersion(g.e.Server.Version)
	switch {
	case !g.e.Server.Visible:
		return config, "", "pods may not be listed", nil
	case len(names) == 0:
		return config, "", "no node-agent was seen", nil
	case len(names) > 1:
		return config, "", "the node-agents name different ConfigMaps", nil
	case names[0] == "" && !known:
		return config, "", "the server's version is not known", nil
	case names[0] == "" && version.NamesAgentConfig():
		return config, "default of Velero, the node-agents name no ConfigMap", "", nil
	}
	name := cmp.Or(names[0], velero.DefaultAgentConfig)
	m := bare(corev1.SchemeGroupVersion.WithKind("ConfigMap"), g.namespace, name)
	err := g.client.Get(g.ctx, m)
	if apierrors.IsNotFound(err) && names[0] == "" {
		return config, "default of Velero, there is no ConfigMap " + name, "", nil
	}
	if why, err = open("reading the node-agents' ConfigMap", err); err != nil || why != "" {
		return config, "", why, err
	}
	data, _, err := unstructured.NestedStringMap(m.Object, "data")
	if err == nil {
		config, err = velero.ParseLoadConcurrency(data)
	}
	if err != nil {
		return config, "", sanitize.String("ConfigMap " + name + ": " + err.Error()), nil
	}
	return config, "ConfigMap " + g.namespace + "/" + name, "", nil
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
	err := g.client.List(g.ctx, list, "", labeled(velerov1.BackupNameLabel, j.Name))
	if apierrors.IsNotFound(err) {
		return nil // a cluster without CSI snapshots
	}
	if ok, err := answered("listing VolumeSnapshots", err, &g.e.SnapshotsWhy); !ok {
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
		why, err := open("reading a VolumeSnapshotContent", g.client.Get(g.ctx, content))
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

// labeled selects what Velero labels with the name of a job.
func labeled(key, job string) metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: key + "=" + label.GetValidName(job)}
}
