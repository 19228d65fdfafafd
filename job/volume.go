package job

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/velero"
	"github.com/veltui/veltui/velero/decode"
)

// Volume is one volume of a job whose data is being moved.
type Volume struct {
	Kind  velero.VolumeKind
	Name  string
	UID   types.UID
	Phase string
	// Owner is the job that it is moved for, as "backup/NAME" or "restore/NAME",
	// empty if its labels do not name one. Velero cuts a name over 63 characters
	// (pkg/label/label.go GetValidName).
	Owner string
	// Target says what is moved, in the reader's words: namespace/pod:volume
	// or namespace/pvc.
	Target string
	Node   string
	// Namespace and Claim are those of the PVC, Claim empty for a pod's volume
	// without one and for PodVolumeRestores, which do not say.
	Namespace, Claim string
	// Pod and PodVolume are the pod's, and its volume's name, for pod volumes.
	Pod, PodVolume string
	// Uploader is spec.uploaderType of pod volumes: kopia or restic.
	Uploader string
	// Handle is the snapshot's in the backup repository, empty until it is made.
	Handle string
	// Operation is the item operation that waits for it, by the label
	// velero.io/async-operation-id; empty for pod volumes.
	Operation string
	// Incremental is how many of the bytes were new, 0 if not said (Velero 1.18).
	Incremental int64
	// Done and Total are bytes as the uploader counts them (processed, not
	// sent); Total is 0 until it is known and may grow (docs/dev/velero.md#byte-progress).
	Done  int64
	Total int64

	Created time.Time
	// Accepted is when a node agent took it up; zero before, and for versions
	// of Velero that do not say.
	Accepted  time.Time
	Started   time.Time
	Completed time.Time
	// Changed is when the resource last changed, in the cluster's clock.
	Changed time.Time
	Message string
	// CancelAsked is true if spec.cancel is set.
	CancelAsked bool
	// DataMover is spec.datamover; empty for Velero's own and for pod volumes.
	DataMover string
	// Malformed is the first field whose value Velero's type cannot hold; the
	// zero value stands for none.
	Malformed decode.Malformed
}

// Fraction is how much of the volume is moved, from 0 to 1, and 1 only once it
// completed. known is false while its size is not.
func (v *Volume) Fraction() (fraction float64, known bool) {
	switch {
	case v.Phase == velero.VolumeCompleted:
		return 1, true
	case v.Total <= 0:
		return 0, false
	}
	return min(float64(max(0, v.Done))/float64(v.Total), almost), true
}
