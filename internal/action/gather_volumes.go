package action

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// fetchVolumes returns the job's volumes. If one has not ended, it lists all moving volumes: they share the slots of
// the nodes.
func (g *gatherer) fetchVolumes(kind job.Kind) (own []job.Volume) {
	kinds, label := []velero.VolumeKind{velero.PodVolumeBackup, velero.DataUpload}, veleroapi.BackupUIDLabel
	if kind == job.Restore {
		kinds, label = []velero.VolumeKind{velero.PodVolumeRestore, velero.DataDownload}, veleroapi.RestoreUIDLabel
	}
	g.evidence.volumeObjects = map[velero.VolumeRef]*unstructured.Unstructured{}
	moves := false
	g.evidence.VolumesListed = g.listVolumes(
		kinds,
		&g.evidence.VolumesUnchecked,
		func(v job.Volume, o *unstructured.Unstructured) {
			g.evidence.volumeObjects[v.Ref()] = o
			own, moves = append(own, v), moves || !v.HasEnded()
		},
		label+"="+string(g.evidence.Object.GetUID()),
	)
	slices.SortFunc(own, func(a, b job.Volume) int {
		return strings.Compare(string(a.Kind)+"/"+a.Name, string(b.Kind)+"/"+b.Name)
	})
	if !moves || g.err != nil {
		return own
	}
	g.evidence.AllOpenVolumesListed = g.listVolumes(
		velero.VolumeKinds[:],
		nil,
		func(v job.Volume, _ *unstructured.Unstructured) {
			if !v.HasEnded() {
				g.evidence.AllOpenVolumes = append(g.evidence.AllOpenVolumes, v)
			}
			if v.MalformedField != (decode.MalformedField{}) {
				g.evidence.MalformedVolumes = append(
					g.evidence.MalformedVolumes,
					diagnosis.MalformedResource{Ref: v.Ref().String(), Field: v.MalformedField},
				)
			}
		},
	)
	return own
}

// listVolumes returns Yes unless the API server refuses a kind. A kind that this Velero does not have has no volumes.
func (g *gatherer) listVolumes(
	kinds []velero.VolumeKind,
	why *string,
	each func(job.Volume, *unstructured.Unstructured),
	labels ...string,
) TriState {
	answer := Yes
	for _, kind := range kinds {
		found, err := g.listObjects(kind.GroupVersionKind(), g.options.Namespace, labels...)
		if !apierrors.IsNotFound(err) && !g.checkAnswer("listing volumes", err, why) {
			answer = Unknown
		}
		for i := range found {
			var v job.Volume
			if v, g.err = convertVolume(kind, &found[i]); g.err != nil {
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

func convertVolume(kind velero.VolumeKind, o *unstructured.Unstructured) (job.Volume, error) {
	switch kind {
	case velero.PodVolumeBackup:
		return convertVolumeWith(o, job.VolumeFromPodVolumeBackup)
	case velero.PodVolumeRestore:
		return convertVolumeWith(o, job.VolumeFromPodVolumeRestore)
	case velero.DataUpload:
		return convertVolumeWith(o, job.VolumeFromDataUpload)
	}
	return convertVolumeWith(o, job.VolumeFromDataDownload)
}

func convertVolumeWith[T any](o *unstructured.Unstructured, read func(*T) job.Volume) (job.Volume, error) {
	typed := new(T)
	malformed, err := convertObject(o, typed)
	if err != nil {
		return job.Volume{}, err
	}
	v := read(typed)
	if len(malformed) > 0 {
		v.MalformedField = malformed[0]
	}
	return v, nil
}

// fetchSlots reads how many volumes may move at once on the nodes where a volume of the job waits for a slot.
func (g *gatherer) fetchSlots() {
	nodes := map[string]bool{}
	for i := range g.evidence.Job.Volumes {
		v := &g.evidence.Job.Volumes[i]
		if v.IsBuiltIn() && v.IsWaiting() && v.Phase != velero.VolumeAccepted {
			nodes[v.Node] = true
		}
	}
	if len(nodes) == 0 {
		return
	}
	delete(nodes, "")
	config, source, why := g.fetchConcurrency()
	if g.evidence.Slots.Unchecked = why; why != "" || g.err != nil {
		return
	}
	g.evidence.Slots = velero.Slots{Source: source, ByNode: map[string]int{}, PrepareQueue: config.PrepareQueueLength}
	for name := range nodes {
		node := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
		node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
		if len(config.PerNodeConfig) == 0 ||
			g.checkAnswer("reading a node", g.client.Get(g.ctx, node), &g.evidence.Slots.Unchecked) {
			g.evidence.Slots.ByNode[name] = config.SlotsOnNode(node.Labels)
		}
		if g.err != nil {
			return
		}
	}
}

// fetchConcurrency reads the node-agents' ConfigMap; why says why it could not be read.
func (g *gatherer) fetchConcurrency() (config velero.LoadConcurrency, source, why string) {
	var names []string
	for _, a := range g.evidence.Agents {
		names = append(names, a.Flags.ConfigMap)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	version, known := velero.ParseVersion(g.evidence.Server.Version)
	switch {
	case !g.evidence.Server.Visible:
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
	m := newObject(corev1.SchemeGroupVersion.WithKind("ConfigMap"), g.options.Namespace, name)
	err := g.client.Get(g.ctx, m)
	if apierrors.IsNotFound(err) && names[0] == "" {
		return config, "default of Velero, there is no ConfigMap " + name, ""
	}
	if !g.checkAnswer("reading the node-agents' ConfigMap", err, &why) {
		return config, "", why
	}
	data, _, err := unstructured.NestedStringMap(m.Object, "data")
	if err == nil {
		config, err = velero.ParseLoadConcurrency(data)
	}
	if err != nil {
		return config, "", sanitize.String("ConfigMap " + name + ": " + err.Error())
	}
	return config, "ConfigMap " + g.options.Namespace + "/" + name, ""
}

// fetchSnapshots finds CSI snapshots that a backup waits for: those that are not bound, or whose content has no
// handle yet (pkg/util/csi/volume_snapshot.go WaitUntilVSCHandleIsReady). A snapshot that is only not ready to use
// does not count.
func (g *gatherer) fetchSnapshots() {
	j := g.evidence.Job
	if j.Kind != job.Backup || j.Phase != velero.PhaseInProgress {
		return
	}
	snapshots, err := g.listObjects(
		velero.VolumeSnapshotGroupVersion.WithKind("VolumeSnapshot"),
		"",
		jobLabelSelector(veleroapi.BackupNameLabel, j.Name),
	)
	if apierrors.IsNotFound(err) || !g.checkAnswer("listing VolumeSnapshots", err, &g.evidence.SnapshotsUnchecked) {
		return // NotFound means a cluster without CSI snapshots
	}
	for i := range snapshots {
		if g.addSnapshot(&snapshots[i]); g.err != nil {
			return
		}
	}
}

func (g *gatherer) addSnapshot(o *unstructured.Unstructured) {
	s := diagnosis.PendingSnapshot{
		Name:    sanitize.String(o.GetNamespace() + "/" + o.GetName()),
		Created: o.GetCreationTimestamp().Time,
	}
	if ready, _, _ := unstructured.NestedBool(
		o.Object,
		"status",
		"readyToUse",
	); ready ||
		s.Created.Before(g.evidence.Job.Created) {
		return
	}
	if bound, _, _ := unstructured.NestedString(o.Object, "status", "boundVolumeSnapshotContentName"); bound != "" {
		o = newObject(velero.VolumeSnapshotGroupVersion.WithKind("VolumeSnapshotContent"), "", bound)
		if !g.checkAnswer("reading a VolumeSnapshotContent", g.client.Get(g.ctx, o), &g.evidence.SnapshotsUnchecked) {
			return
		}
		if handle, _, _ := unstructured.NestedString(o.Object, "status", "snapshotHandle"); handle != "" {
			return
		}
	}
	text, _, _ := unstructured.NestedString(o.Object, "status", "error", "message")
	s.Error = sanitize.String(text)
	g.evidence.PendingSnapshots = append(g.evidence.PendingSnapshots, s)
}

// jobLabelSelector returns the selector of resources that Velero labels with the name of a job.
func jobLabelSelector(key, job string) string { return key + "=" + veleroapi.ValidLabel(job) }
