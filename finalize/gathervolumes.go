package finalize

import (
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/job"
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

// volumes lists the volumes that carry the job's uid.
func (g *gathering) volumes(kind job.Kind) ([]job.Volume, error) {
	kinds, label := []job.VolumeKind{job.PodVolumeBackup, job.DataUpload}, velerov1.BackupUIDLabel
	if kind == job.Restore {
		kinds, label = []job.VolumeKind{job.PodVolumeRestore, job.DataDownload}, velerov1.RestoreUIDLabel
	}
	g.e.Volumes, g.e.volumes = Yes, map[volumeKey]*unstructured.Unstructured{}
	var found []job.Volume
	for _, k := range kinds {
		resources, err := g.listRaw(volumeKind(k), client.MatchingLabels{label: string(g.e.Object.GetUID())})
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
func volumeOf(kind job.VolumeKind, o *unstructured.Unstructured) (job.Volume, error) {
	switch kind {
	case job.PodVolumeBackup:
		return volumeFrom(o, job.VolumeFromPodVolumeBackup)
	case job.PodVolumeRestore:
		return volumeFrom(o, job.VolumeFromPodVolumeRestore)
	case job.DataUpload:
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
