package finalize

import (
	"fmt"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/sanitize"
	"github.com/veltui/veltui/velero"
)

// volumes lists the volumes that carry the job's uid.
func (g *gathering) volumes(kind job.Kind) ([]job.Volume, error) {
	kinds, label := []velero.VolumeKind{velero.PodVolumeBackup, velero.DataUpload}, velerov1.BackupUIDLabel
	if kind == job.Restore {
		kinds, label = []velero.VolumeKind{velero.PodVolumeRestore, velero.DataDownload}, velerov1.RestoreUIDLabel
	}
	g.e.Volumes, g.e.volumes = Yes, map[volumeKey]*unstructured.Unstructured{}
	var found []job.Volume
	for _, k := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(k.GroupVersionKind())
		err := g.client.List(g.ctx, list, client.InNamespace(g.namespace), client.MatchingLabels{label: string(g.e.Object.GetUID())})
		if apierrors.IsNotFound(err) {
			continue // a Velero without that kind has none of it
		}
		why, err := open("listing volumes", err)
		if err != nil {
			return nil, err
		}
		if why != "" {
			g.e.Volumes, g.e.VolumesWhy = Unknown, why
			continue
		}
		for i := range list.Items {
			v, err := volumeOf(k, &list.Items[i])
			if err != nil {
				return nil, err
			}
			g.e.volumes[volumeKey{k, v.Name}] = &list.Items[i]
			found = append(found, v)
		}
	}
	slices.SortFunc(found, func(a, b job.Volume) int {
		return strings.Compare(string(a.Kind)+"/"+a.Name, string(b.Kind)+"/"+b.Name)
	})
	return found, nil
}

func volumeOf(kind velero.VolumeKind, o *unstructured.Unstructured) (job.Volume, error) {
	switch kind {
	case velero.PodVolumeBackup:
		return convert(kind, o, job.VolumeFromPodVolumeBackup)
	case velero.PodVolumeRestore:
		return convert(kind, o, job.VolumeFromPodVolumeRestore)
	case velero.DataUpload:
		return convert(kind, o, job.VolumeFromDataUpload)
	}
	return convert(kind, o, job.VolumeFromDataDownload)
}

func convert[T any](kind velero.VolumeKind, o *unstructured.Unstructured, read func(*T) job.Volume) (job.Volume, error) {
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return job.Volume{}, fmt.Errorf("reading %s %s: %w", kind, o.GetName(), err)
	}
	sanitize.Object(typed)
	return read(typed), nil
}
