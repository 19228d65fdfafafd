package watch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/decode"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// volumeOwnerUID returns the uid of a volume's job from the label, else from the owner reference
// (docs/dev/velero.md#labels). Names are shortened and reused.
func volumeOwnerUID(o metav1.Object, label string) types.UID {
	if uid := o.GetLabels()[label]; uid != "" {
		return types.UID(uid)
	}
	for _, r := range o.GetOwnerReferences() {
		group, _, _ := strings.Cut(r.APIVersion, "/")
		if group == veleroapi.GroupVersion.Group && (r.Kind == "Backup" || r.Kind == "Restore") {
			return r.UID
		}
	}
	return ""
}

func hasUIDLabel(o client.Object) bool {
	return o.GetLabels()[veleroapi.BackupUIDLabel] != "" || o.GetLabels()[veleroapi.RestoreUIDLabel] != ""
}

func compareVolumes(a, b job.Volume) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}

const minPendingToMerge = 1024 // the number of pending changes from which a shrinking list is merged

// volumeSet holds the volumes of one job: the list that versions of the job share, and the changes since.
type volumeSet struct {
	list         []job.Volume
	pending      map[types.UID]*job.Volume // the newest state of each changed volume, nil if it was deleted
	completedSum *job.CompletedVolumes     // the volumes that are only summed up
	count        int                       // how many volumes there are
}

// putVolume records a volume's newest state; grow is added to the count.
func (v *volumeSet) putVolume(uid types.UID, volume *job.Volume, grow int) {
	if v.pending == nil {
		v.pending = map[types.UID]*job.Volume{}
	}
	v.pending[uid] = volume
	v.count += grow
	if len(v.pending) > 2*v.count+minPendingToMerge {
		// Volumes that come and go while nothing reads them must not pile up.
		v.mergePending()
	}
}

// mergePending returns the current list, sorted by kind and name. Lists returned before stay unchanged.
func (v *volumeSet) mergePending() []job.Volume {
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

// ReadVolumes reads all volumes of a job, sorted (see [Options.SumVolumes]). Its errors are safe to draw and fit on
// one line.
func (w *Watcher) ReadVolumes(ctx context.Context, j *job.Job) ([]job.Volume, error) {
	w.mu.Lock()
	c, namespace := w.currentConnection, w.installation.namespace
	w.mu.Unlock()
	var all []job.Volume
	for _, k := range volumeKinds(jobResourceOf(j.Kind)) {
		read := &collectedList{names: map[string]bool{}, report: func(int) {}}
		_, err := newKindReader(
			k.withSelector(labels.Set{k.uidLabel: string(j.UID)}.String()),
			c.rest,
			namespace,
		).readAll(ctx, read)
		// A kind that may not be listed, or does not exist, is reported by its source.
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return nil, fmt.Errorf("reading the volumes of %s/%s: %s", j.Kind.Noun(), j.Name, formatError(err))
		}
		for _, o := range read.objects {
			if r := o.(*receivedObject); prepareObject(r, k) {
				all = append(all, newVolume(k, r.Object, r.malformed))
			}
		}
	}
	slices.SortFunc(all, compareVolumes)
	return all, nil
}

func newVolume(k *kind, o client.Object, malformed []decode.MalformedField) job.Volume {
	v := k.toVolume(o)
	v.UID = uidOf(o)
	if len(malformed) > 0 {
		v.MalformedField = malformed[0]
	}
	return v
}
