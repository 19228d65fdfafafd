package finalize

import (
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/job"
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
		resources, err := g.listRaw(k.GroupVersionKind(), client.MatchingLabels{label: string(g.e.Object.GetUID())})
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
		for i := range resources {
			v, err := volumeOf(k, &resources[i])
			if err != nil {
				return nil, err
			}
			g.e.volumes[volumeKey{k, v.Name}] = &resources[i]
			found = append(found, v)
		}
	}
	slices.SortFunc(found, func(a, b job.Volume) int {
		return strings.Compare(string(a.Kind)+"/"+a.Name, string(b.Kind)+"/"+b.Name)
	})
	return found, nil
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
