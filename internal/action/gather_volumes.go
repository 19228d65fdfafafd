package action

import (
	"cmp"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"github.com/vmware-tanzu/velero/pkg/label"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
)

// volumes returns the job's own. If one has not ended it lists all that move: they share the slots of the nodes.
func (g *gathering) volumes(kind job.Kind) (own []job.Volume) {
	kinds, label := []velero.VolumeKind{velero.PodVolumeBackup, velero.DataUpload}, velerov1.BackupUIDLabel
	if kind == job.Restore {
		kinds, label = []velero.VolumeKind{velero.PodVolumeRestore, velero.DataDownload}, velerov1.RestoreUIDLabel
	}
	g.e.volumes = map[velero.VolumeRef]*unstructured.Unstructured{}
	moves := false
	g.e.Volumes = g.listVolumes(kinds, &g.e.VolumesWhy, func(v job.Volume, o *unstructured.Unstructured) {
		g.e.volumes[v.Ref()] = o
		own, moves = append(own, v), moves || !v.Ended()
	}, label+"="+string(g.e.Object.GetUID()))
	slices.SortFunc(own, func(a, b job.Volume) int {
		return strings.Compare(string(a.Kind)+"/"+a.Name, string(b.Kind)+"/"+b.Name)
	})
	if !moves || g.err != nil {
		return own
	}
	g.e.MovingKnown = g.listVolumes(velero.VolumeKinds[:], nil, func(v job.Volume, _ *unstructured.Unstructured) {
		if !v.Ended() {
			g.e.Moving = append(g.e.Moving, v)
		}
		if v.Malformed != (decode.Malformed{}) {
			g.e.MalformedVolumes = append(
				g.e.MalformedVolumes,
				diagnosis.Malformed{Ref: v.Ref().String(), Field: v.Malformed},
			)
		}
	})
	return own
}

// listVolumes returns Yes unless the API server refuses a kind. A Velero without a kind has none of it.
func (g *gathering) listVolumes(
	kinds []velero.VolumeKind,
	why *string,
	each func(job.Volume, *unstructured.Unstructured),
	labels ...string,
) Answer {
	answer := Yes
	for _, kind := range kinds {
		found, err := g.list(kind.GroupVersionKind(), g.o.Namespace, labels...)
		if !apierrors.IsNotFound(err) && !g.seen("listing volumes", err, why) {
			answer = Unknown
		}
		for i := range found {
			var v job.Volume
			if v, g.err = volumeOf(kind, &found[i]); g.err != nil {
				break
			}
			each(v, &found[i])
		}
		if g.err != nil {
			break
		}
	}
	return answer
}

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

// slots reads how many volumes may move at once, where one of the job waits for that.
func (g *gathering) slots() {
	nodes := map[string]bool{}
	for i := range g.e.Job.Volumes {
		v := &g.e.Job.Volumes[i]
		if v.BuiltIn() && v.Waiting() && v.Phase != velero.VolumeAccepted {
			nodes[v.Node] = true
		}
	}
	if len(nodes) == 0 {
		return
	}
	delete(nodes, "")
	config, source, why := g.loadConcurrency()
	if g.e.Slots.Why = why; why != "" || g.err != nil {
		return
	}
	g.e.Slots = velero.Slots{Source: source, ByNode: map[string]int{}, PrepareQueue: config.PrepareQueueLength}
	for name := range nodes {
		node := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
		node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
		if len(config.PerNodeConfig) == 0 || g.seen("reading a node", g.client.Get(g.ctx, node), &g.e.Slots.Why) {
			g.e.Slots.ByNode[name] = config.Slots(node.Labels)
		}
		if g.err != nil {
			return
		}
	}
}

// loadConcurrency reads the node-agents' ConfigMap; why says why not.
func (g *gathering) loadConcurrency() (config velero.LoadConcurrency, source, why string) {
	var names []string
	for _, a := range g.e.Agents {
		names = append(names, a.Flags.ConfigMap)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	version, known := velero.ParseVersion(g.e.Server.Version)
	switch {
	case !g.e.Server.Visible:
		return config, "", "pods may not be listed"
	case len(names) == 0:
		return config, "", "no node-agent was seen"
	case len(names) > 1:
		return config, "", "the node-agents name different ConfigMaps"
	case names[0] == "" && !known:
		return config, "", "the server's version is not known"
	case names[0] == "" && version.NamesAgentConfig():
		return config, "default of Velero, the node-agents name no ConfigMap", ""
	}
	name := cmp.Or(names[0], velero.DefaultAgentConfig)
	m := bare(corev1.SchemeGroupVersion.WithKind("ConfigMap"), g.o.Namespace, name)
	err := g.client.Get(g.ctx, m)
	if apierrors.IsNotFound(err) && names[0] == "" {
		return config, "default of Velero, there is no ConfigMap " + name, ""
	}
	if !g.seen("reading the node-agents' ConfigMap", err, &why) {
		return config, "", why
	}
	data, _, err := unstructured.NestedStringMap(m.Object, "data")
	if err == nil {
		config, err = velero.ParseLoadConcurrency(data)
	}
	if err != nil {
		return config, "", sanitize.String("ConfigMap " + name + ": " + err.Error())
	}
	return config, "ConfigMap " + g.o.Namespace + "/" + name, ""
}

// snapshots looks for CSI snapshots that a backup waits for: those that are not bound, or whose content has no handle
// yet (pkg/util/csi/volume_snapshot.go WaitUntilVSCHandleIsReady). That one is not ready to use does not count.
func (g *gathering) snapshots() {
	j := g.e.Job
	if j.Kind != job.Backup || j.Phase != velero.PhaseInProgress {
		return
	}
	snapshots, err := g.list(
		velero.VolumeSnapshots.WithKind("VolumeSnapshot"),
		"",
		labeled(velerov1.BackupNameLabel, j.Name),
	)
	if apierrors.IsNotFound(err) || !g.seen("listing VolumeSnapshots", err, &g.e.SnapshotsWhy) {
		return // the first: a cluster without CSI snapshots
	}
	for i := range snapshots {
		if g.snapshot(&snapshots[i]); g.err != nil {
			return
		}
	}
}

func (g *gathering) snapshot(o *unstructured.Unstructured) {
	s := diagnosis.Snapshot{
		Name:    sanitize.String(o.GetNamespace() + "/" + o.GetName()),
		Created: o.GetCreationTimestamp().Time,
	}
	if ready, _, _ := unstructured.NestedBool(
		o.Object,
		"status",
		"readyToUse",
	); ready ||
		s.Created.Before(g.e.Job.Created) {
		return
	}
	if bound, _, _ := unstructured.NestedString(o.Object, "status", "boundVolumeSnapshotContentName"); bound != "" {
		o = bare(velero.VolumeSnapshots.WithKind("VolumeSnapshotContent"), "", bound)
		if !g.seen("reading a VolumeSnapshotContent", g.client.Get(g.ctx, o), &g.e.SnapshotsWhy) {
			return
		}
		if handle, _, _ := unstructured.NestedString(o.Object, "status", "snapshotHandle"); handle != "" {
			return
		}
	}
	text, _, _ := unstructured.NestedString(o.Object, "status", "error", "message")
	s.Error = sanitize.String(text)
	g.e.Snapshots = append(g.e.Snapshots, s)
}

// labeled selects what Velero labels with the name of a job.
func labeled(key, job string) string { return key + "=" + label.GetValidName(job) }
