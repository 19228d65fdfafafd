package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// child is the metadata of a volume's resource: named after its job and owned
// by it, with the labels by which Velero itself joins them.
func (s *Sim) child(job client.Object, kind string, labels map[string]string) metav1.ObjectMeta {
	lower := map[string]string{"Backup": "backup", "Restore": "restore"}[kind]
	labels["velero.io/"+lower+"-name"] = labelValue(job.GetName())
	labels["velero.io/"+lower+"-uid"] = string(job.GetUID())
	controller := true
	return metav1.ObjectMeta{
		Namespace: s.Namespace, GenerateName: job.GetName() + "-", Labels: labels,
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: velerov1.SchemeGroupVersion.String(), Kind: kind,
			Name: job.GetName(), UID: job.GetUID(), Controller: &controller,
		}},
	}
}

// labelValue is the value under which a name stands in a label: the first 57
// characters and six of a hash if it is too long (pkg/label/label.go).
func labelValue(name string) string {
	if len(name) <= 63 {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:57] + hex.EncodeToString(sum[:])[:6]
}

// snapshotID looks like kopia's; it follows from what it is made of.
func snapshotID(of ...string) string {
	h := sha256.New()
	for _, part := range of {
		h.Write([]byte(part + "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

func repository(namespace string) string {
	return "s3:http://object-store.storage.svc:9000/" + Bucket + "/kopia/" + namespace
}

func (s *Sim) startPodVolumeBackup(ctx context.Context, run *backupRun, v Volume) bool {
	_, err := create(ctx, s, s.pvbs, &velerov1.PodVolumeBackup{
		ObjectMeta: s.child(run.backup, "Backup", map[string]string{velerov1.PVCUIDLabel: v.ClaimUID}),
		Spec: velerov1.PodVolumeBackupSpec{
			Node:                  v.Node,
			Pod:                   corev1.ObjectReference{Kind: "Pod", Namespace: v.Namespace, Name: v.Pod, UID: types.UID(v.PodUID)},
			Volume:                v.PodVolume,
			BackupStorageLocation: run.backup.Spec.StorageLocation,
			RepoIdentifier:        repository(v.Namespace),
			UploaderType:          "kopia",
			Tags:                  map[string]string{"backup": run.backup.Name, "pod": v.Pod, "ns": v.Namespace, "volume": v.PodVolume},
		},
		Status: velerov1.PodVolumeBackupStatus{Phase: velerov1.PodVolumeBackupPhaseNew},
	})
	return err == nil
}

func (s *Sim) startDataUpload(ctx context.Context, run *backupRun, claim *Item, v Volume) bool {
	id := "du-" + string(run.uid) + "." + claim.UID
	upload, err := create(ctx, s, s.uploads, &velerov2alpha1.DataUpload{
		ObjectMeta: s.child(run.backup, "Backup", map[string]string{
			velerov1.PVCUIDLabel: claim.UID, velerov1.AsyncOperationIDLabel: labelValue(id),
		}),
		Spec: velerov2alpha1.DataUploadSpec{
			SnapshotType: velerov2alpha1.SnapshotTypeCSI,
			CSISnapshot: &velerov2alpha1.CSISnapshotSpec{
				VolumeSnapshot: "velero-" + v.Claim, StorageClass: "fast-ssd", SnapshotClass: "csi-snapclass", Driver: "disk.csi.example.com",
			},
			SourcePVC: v.Claim, SourceNamespace: v.Namespace,
			BackupStorageLocation: run.backup.Spec.StorageLocation,
			OperationTimeout:      run.backup.Spec.CSISnapshotTimeout,
		},
		Status: velerov2alpha1.DataUploadStatus{Phase: velerov2alpha1.DataUploadPhaseNew},
	})
	if err != nil {
		return false
	}
	run.record.operations = append(run.record.operations, s.newOperation(id, "velero.io/csi-pvc-backupper", claim, claim.Namespace, upload.Name))
	run.record.Volumes = append(run.record.Volumes, MovedVolume{Volume: v, Method: bySnapshot, Operation: id, Started: s.stamp})
	// The DataUpload itself becomes an additional item of the backup.
	if item, err := s.uploadItem(upload); err == nil {
		run.record.Items = append(run.record.Items, item)
	}
	return true
}

func (s *Sim) newOperation(id, plugin string, claim *Item, namespace, mover string) *operation {
	return &operation{
		ID: id, Plugin: plugin, Mover: mover, Phase: "New", Created: s.stamp, Updated: s.stamp,
		On: resourceIdentifier{Resource: "persistentvolumeclaims", Namespace: namespace, Name: claim.Name},
	}
}

// gatherPodVolumes reports whether all PodVolumeBackups of a backup have
// ended, and then takes their outcome into its record.
func (s *Sim) gatherPodVolumes(run *backupRun) bool {
	var volumes []MovedVolume
	var failures []string
	for _, p := range s.pvbs.sorted() {
		if p.Labels[velerov1.BackupUIDLabel] != string(run.uid) {
			continue
		}
		moved := MovedVolume{Method: byPodVolume, SnapshotID: p.Status.SnapshotID}
		for _, v := range s.Cluster.volumesOf(p.Spec.Pod.Namespace, p.Spec.Pod.Name) {
			if v.PodVolume == p.Spec.Volume {
				moved.Volume = v
			}
		}
		moved.Started, moved.Completed = timeOf(p.Status.StartTimestamp), timeOf(p.Status.CompletionTimestamp)
		switch p.Status.Phase {
		case velerov1.PodVolumeBackupPhaseCompleted:
		case velerov1.PodVolumeBackupPhaseFailed:
			moved.Failed = true
			failures = append(failures, "pod volume backup failed: "+p.Status.Message)
		default:
			// A Canceled one is never counted as ended (Velero issue 9464).
			return s.now.Sub(run.collected) > podVolumeTimeout
		}
		volumes = append(volumes, moved)
	}
	run.record.Volumes = append(run.record.Volumes, volumes...)
	run.record.Errors.Velero = append(run.record.Errors.Velero, failures...)
	return true
}

// podVolumeTimeout is the server's --fs-backup-timeout.
const podVolumeTimeout = 4 * time.Hour

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
