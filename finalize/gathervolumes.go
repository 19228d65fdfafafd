package finalize

import (
	"fmt"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/sanitize"
)

// volumeKind is the kind of a volume's resource.
func volumeKind(kind job.VolumeKind) schema.GroupVersionKind {
	switch kind {
	case job.DataUpload, job.DataDownload:
		return velerov2alpha1.SchemeGroupVersion.WithKind(string(kind))
	}
	return velerov1.SchemeGroupVersion.WithKind(string(kind))
}

// plural is the name of a volume's resource.
func plural(kind job.VolumeKind) string { return strings.ToLower(string(kind)) + "s" }

// volumes returns the volumes that carry the job's uid. Only where one of them
// has not ended the others are listed too: they share the slots of the nodes.
func (g *gathering) volumes(kind job.Kind) ([]job.Volume, error) {
	kinds, label := []job.VolumeKind{job.PodVolumeBackup, job.DataUpload}, velerov1.BackupUIDLabel
	if kind == job.Restore {
		kinds, label = []job.VolumeKind{job.PodVolumeRestore, job.DataDownload}, velerov1.RestoreUIDLabel
	}
	g.e.Volumes, g.e.volumes = Yes, map[job.VolumeRef]*unstructured.Unstructured{}
	var own []job.Volume
	moves := false
	for _, k := range kinds {
		why, err := g.listVolumes(k, func(v job.Volume, o *unstructured.Unstructured) {
			g.e.volumes[v.Ref()] = o
			own, moves = append(own, v), moves || !v.Ended()
		}, client.MatchingLabels{label: string(g.e.Object.GetUID())})
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
	for _, k := range []job.VolumeKind{job.PodVolumeBackup, job.PodVolumeRestore, job.DataUpload, job.DataDownload} {
		why, err := g.listVolumes(k, func(v job.Volume, _ *unstructured.Unstructured) {
			if !v.Ended() {
				g.e.Moving = append(g.e.Moving, v)
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
func (g *gathering) listVolumes(kind job.VolumeKind, each func(job.Volume, *unstructured.Unstructured), options ...client.ListOption) (why string, _ error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(volumeKind(kind))
	err := g.client.List(g.ctx, list, append(options, client.InNamespace(g.namespace))...)
	if apierrors.IsNotFound(err) {
		return "", nil // a Velero without that kind has none of it
	}
	if why, err = open("listing volumes", err); err != nil || why != "" {
		return why, err
	}
	for i := range list.Items {
		v, err := volumeOf(kind, &list.Items[i])
		if err != nil {
			return "", err
		}
		each(v, &list.Items[i])
	}
	return "", nil
}

func volumeOf(kind job.VolumeKind, o *unstructured.Unstructured) (job.Volume, error) {
	switch kind {
	case job.PodVolumeBackup:
		return convert(kind, o, job.VolumeFromPodVolumeBackup)
	case job.PodVolumeRestore:
		return convert(kind, o, job.VolumeFromPodVolumeRestore)
	case job.DataUpload:
		return convert(kind, o, job.VolumeFromDataUpload)
	}
	return convert(kind, o, job.VolumeFromDataDownload)
}

func convert[T any](kind job.VolumeKind, o *unstructured.Unstructured, read func(*T) job.Volume) (job.Volume, error) {
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return job.Volume{}, fmt.Errorf("reading %s %s: %w", kind, o.GetName(), err)
	}
	sanitize.Object(typed)
	return read(typed), nil
}
