package velero

import (
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// longestTimeout bounds what is believed of an annotation: whoever may create a
// job writes them.
const longestTimeout = 24 * time.Hour

// ResourceTimeout is how long Velero waits for what no other limit bounds while
// it works on a job, and tries to write its status: the server's flag, which it
// notes on a backup when it begins (pkg/controller/backup_controller.go,
// prepareBackupRequest). It is a day at most.
func ResourceTimeout(o metav1.Object, flags ServerFlags) time.Duration {
	return annotated(o, velerov1.ResourceTimeoutAnnotation, flags.ResourceTimeout, DefaultServerFlags().ResourceTimeout)
}

// PodVolumeTimeout is how long all pod volumes of a job may take together,
// counted from the job's start: its annotation, else the server's flag
// (pkg/backup/backup.go, pkg/restore/restore.go).
func PodVolumeTimeout(o metav1.Object, flags ServerFlags) time.Duration {
	return annotated(o, velerov1.PodVolumeOperationTimeoutAnnotation, flags.PodVolumeTimeout, DefaultServerFlags().PodVolumeTimeout)
}

// ItemOperationTimeout is how long an asynchronous operation of a job may take,
// counted from its own start: the job's spec, else the server's flag, which the
// server writes into the spec when it begins (prepareBackupRequest,
// validateAndComplete).
func ItemOperationTimeout(o metav1.Object, flags ServerFlags) time.Duration {
	var asked time.Duration
	switch o := o.(type) {
	case *velerov1.Backup:
		asked = o.Spec.ItemOperationTimeout.Duration
	case *velerov1.Restore:
		asked = o.Spec.ItemOperationTimeout.Duration
	}
	return firstPositive(asked, flags.ItemOperationTimeout, DefaultServerFlags().ItemOperationTimeout)
}

// SnapshotTimeout is how long a backup waits for one CSI snapshot: its
// spec.csiSnapshotTimeout, 10 minutes by default.
func SnapshotTimeout(o metav1.Object) time.Duration {
	if b, ok := o.(*velerov1.Backup); ok {
		return b.Spec.CSISnapshotTimeout.Duration
	}
	return 0
}

func annotated(o metav1.Object, key string, otherwise ...time.Duration) time.Duration {
	if d, err := time.ParseDuration(o.GetAnnotations()[key]); err == nil && d > 0 {
		return min(d, longestTimeout)
	}
	return firstPositive(otherwise...)
}

func firstPositive(durations ...time.Duration) time.Duration {
	for _, d := range durations {
		if d > 0 {
			return d
		}
	}
	return 0
}
