package watch

import (
	"cmp"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/job"
)

// ownerOf is the uid in the label, else that of the owner reference to a
// Backup or Restore (docs/dev/velero.md#labels). Names are never used: they are cut at
// 63 characters and used again.
func ownerOf(o metav1.Object, label string) types.UID {
	if uid := o.GetLabels()[label]; uid != "" {
		return types.UID(uid)
	}
	for _, r := range o.GetOwnerReferences() {
		group, _, _ := strings.Cut(r.APIVersion, "/")
		if group == velerov1.SchemeGroupVersion.Group && (r.Kind == "Backup" || r.Kind == "Restore") {
			return r.UID
		}
	}
	return ""
}

// readable reports whether a volume can be found again by its job's uid.
func readable(o client.Object) bool {
	return o.GetLabels()[velerov1.BackupUIDLabel] != "" || o.GetLabels()[velerov1.RestoreUIDLabel] != ""
}

func compareVolumes(a, b job.Volume) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}

// minPending is from how many pending changes on a shrinking list is folded.
const minPending = 1024

// volumes are those of one job: the list that jobs share, and what changed
// since it was made.
type volumes struct {
	list []job.Volume
	// pending is the newest state of each changed volume, nil if it is gone.
	pending map[types.UID]*job.Volume
	// completed are those that are only summed up.
	completed *job.Completed
	// count is how many volumes there are.
	count int
}

// put notes a volume's newest state; grow is by how much the count changes.
func (v *volumes) put(uid types.UID, volume *job.Volume, grow int) {
	if v.pending == nil {
		v.pending = map[types.UID]*job.Volume{}
	}
	v.pending[uid] = volume
	v.count += grow
	if len(v.pending) > 2*v.count+minPending {
		// Volumes that come and go while nobody looks must not pile up.
		v.fold()
	}
}

// fold returns the present list, sorted by kind and name. The list that it
// returned before stays as it was.
func (v *volumes) fold() []job.Volume {
	if len(v.pending) == 0 {
		return v.list
	}
	list := make([]job.Volume, 0, len(v.list)+len(v.pending))
	for i := range v.list {
		old := &v.list[i]
		now, changed := v.pending[old.UID]
		if !changed {
			list = append(list, *old)
			continue
		}
		if now != nil {
			list = append(list, *now)
		}
		delete(v.pending, old.UID)
	}
	known := len(list)
	for _, now := range v.pending {
		if now != nil {
			list = append(list, *now)
		}
	}
	if len(list) > known {
		slices.SortFunc(list, compareVolumes)
	}
	v.list, v.pending = list, nil
	return list
}
