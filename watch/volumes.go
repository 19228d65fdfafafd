package watch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/decode"
)

// ownerOf is the uid in the label, else in the owner reference (docs/dev/velero.md#labels). Names are cut and reused.
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

func readable(o client.Object) bool {
	return o.GetLabels()[velerov1.BackupUIDLabel] != "" || o.GetLabels()[velerov1.RestoreUIDLabel] != ""
}

func compareVolumes(a, b job.Volume) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}

const minPending = 1024 // from how many pending changes on a shrinking list is folded

// volumes are those of one job: the list that jobs share, and what changed since.
type volumes struct {
	list      []job.Volume
	pending   map[types.UID]*job.Volume // the newest state of each changed volume, nil if it is gone
	completed *job.Completed            // those that are only summed up
	count     int                       // how many volumes there are
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

// fold returns the present list, sorted by kind and name; earlier ones stay unchanged.
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

// ReadVolumes reads all volumes of a job, sorted (see [Options.SumVolumes]). Its errors are safe to draw, on one line.
func (w *Watcher) ReadVolumes(ctx context.Context, j *job.Job) ([]job.Volume, error) {
	w.mu.Lock()
	c, namespace := w.present, w.installation.namespace
	w.mu.Unlock()
	var all []job.Volume
	for _, k := range volumeKinds(resourceOf(j.Kind)) {
		read := &collected{names: map[string]bool{}, report: func(int) {}}
		_, err := newReader(
			k.selecting(labels.Set{k.uidLabel: string(j.UID)}.String()),
			c.rest,
			namespace,
		).all(ctx, read)
		// A kind that may not be listed, or does not exist, is named by its source.
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return nil, fmt.Errorf("reading the volumes of %s/%s: %s", j.Kind.Word(), j.Name, words(err))
		}
		for _, o := range read.objects {
			if r := o.(*received); prepare(r.Object, k) {
				all = append(all, volumeOf(k, r.Object, r.malformed))
			}
		}
	}
	slices.SortFunc(all, compareVolumes)
	return all, nil
}

func volumeOf(k *kind, o client.Object, malformed []decode.Malformed) job.Volume {
	v := k.volume(o)
	v.UID = uidOf(o)
	if len(malformed) > 0 {
		v.Malformed = malformed[0]
	}
	return v
}
