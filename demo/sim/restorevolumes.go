package sim

import (
	"context"
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// startRestoredVolumes starts what moves an item's data back: PodVolumeRestores
// for a pod, a DataDownload for a claim. It reports false if the API server
// went away, so that the item is handled again.
func (s *Sim) startRestoredVolumes(ctx context.Context, run *restoreRun, item *Item) bool {
	for _, v := range run.source.Volumes {
		if v.Failed || v.Namespace != item.Namespace || s.restoresAlready(run, v) {
			continue
		}
		ok := true
		switch {
		case v.Method == byPodVolume && item.GroupResource() == "pods" && v.Pod == item.Name:
			ok = s.startPodVolumeRestore(ctx, run, item, v)
		case v.Method == bySnapshot && item.GroupResource() == "persistentvolumeclaims" && v.Claim == item.Name:
			ok = s.startDataDownload(ctx, run, item, v)
		}
		if !ok {
			return false
		}
	}
	return true
}

func (s *Sim) restoresAlready(run *restoreRun, v MovedVolume) bool {
	return slices.ContainsFunc(run.record.Volumes, func(have MovedVolume) bool {
		return have.Namespace == v.Namespace && have.Claim == v.Claim
	})
}

func (s *Sim) startPodVolumeRestore(ctx context.Context, run *restoreRun, pod *Item, v MovedVolume) bool {
	_, err := create(ctx, s, s.pvrs, &velerov1.PodVolumeRestore{
		ObjectMeta: s.child(run.restore, "Restore", map[string]string{velerov1.PodUIDLabel: pod.UID}),
		Spec: velerov1.PodVolumeRestoreSpec{
			Pod:                   corev1.ObjectReference{Kind: "Pod", Namespace: run.work.target(v.Namespace), Name: v.Pod, UID: types.UID(pod.UID)},
			Volume:                v.PodVolume,
			BackupStorageLocation: s.defaultLocation(),
			RepoIdentifier:        repository(v.Namespace),
			UploaderType:          "kopia",
			SnapshotID:            v.SnapshotID,
			SourceNamespace:       v.Namespace,
			SnapshotSize:          v.Bytes,
		},
		Status: velerov1.PodVolumeRestoreStatus{Phase: velerov1.PodVolumeRestorePhaseNew},
	})
	if err != nil {
		return false
	}
	run.record.Volumes = append(run.record.Volumes, v)
	return true
}

func (s *Sim) startDataDownload(ctx context.Context, run *restoreRun, claim *Item, v MovedVolume) bool {
	id := "dd-" + string(run.uid) + "." + claim.UID
	target := run.work.target(v.Namespace)
	download, err := create(ctx, s, s.dataDowns, &velerov2alpha1.DataDownload{
		ObjectMeta: s.child(run.restore, "Restore", map[string]string{velerov1.AsyncOperationIDLabel: labelValue(id)}),
		Spec: velerov2alpha1.DataDownloadSpec{
			TargetVolume:          velerov2alpha1.TargetVolumeSpec{PVC: v.Claim, Namespace: target},
			BackupStorageLocation: s.defaultLocation(),
			SnapshotID:            v.SnapshotID,
			SourceNamespace:       v.Namespace,
			OperationTimeout:      run.restore.Spec.ItemOperationTimeout,
			NodeOS:                velerov2alpha1.NodeOSLinux,
			SnapshotSize:          v.Bytes,
		},
		Status: velerov2alpha1.DataDownloadStatus{Phase: velerov2alpha1.DataDownloadPhaseNew},
	})
	if err != nil {
		return false
	}
	v.Operation = id
	run.record.Volumes = append(run.record.Volumes, v)
	run.record.operations = append(run.record.operations, s.newOperation(id, "velero.io/csi-pvc-restorer", claim, target, download.Name))
	return true
}

// gatherPodRestores reports whether all PodVolumeRestores of a restore have
// ended; the restore stays InProgress until then (velero-facts 3.9).
func (s *Sim) gatherPodRestores(run *restoreRun) bool {
	timedOut := s.now.Sub(run.began) > podVolumeTimeout
	var failures []string
	for _, p := range s.pvrs.sorted() {
		if p.Labels[velerov1.RestoreUIDLabel] != string(run.uid) {
			continue
		}
		switch p.Status.Phase {
		case velerov1.PodVolumeRestorePhaseCompleted:
		case velerov1.PodVolumeRestorePhaseFailed, velerov1.PodVolumeRestorePhaseCanceled:
			failures = append(failures, "pod volume restore "+string(p.Status.Phase)+": "+p.Status.Message)
		default:
			if !timedOut {
				return false
			}
			failures = append(failures, "timed out waiting for all PodVolumeRestores to complete")
		}
	}
	run.record.Errors.Velero = append(run.record.Errors.Velero, failures...)
	return true
}

// uploadItem is a DataUpload as its backup stores it.
func (s *Sim) uploadItem(upload *velerov2alpha1.DataUpload) (*Item, error) {
	u, err := unstructuredOf(s.Scheme, upload)
	if err != nil {
		return nil, err
	}
	return NewItem("datauploads", u)
}
