package watch

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/veltui/veltui/job"
)

// ReadVolumes reads all volumes of a job, sorted by kind and name, for one that
// leaves some out (see [Options.SumVolumes]). It ends with ctx; its errors are safe
// to draw and on one line.
func (w *Watcher) ReadVolumes(ctx context.Context, j *job.Job) ([]job.Volume, error) {
	w.mu.Lock()
	c, namespace := w.present, w.installation.namespace
	w.mu.Unlock()
	read := &volumeList{}
	for _, k := range volumeKinds(resourceOf(j.Kind)) {
		ofJob := *k
		ofJob.selector = labels.Set{k.uidLabel: string(j.UID)}.String()
		read.kind = &ofJob
		_, err := newReader(&ofJob, c.rest, namespace).all(ctx, read)
		// A kind that may not be listed, or is not there, the source of the kind names.
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return nil, fmt.Errorf("reading the volumes of %s/%s: %s", j.Kind.Word(), j.Name, words(err))
		}
		read.done()
	}
	slices.SortFunc(read.all, compareVolumes)
	return read.all, nil
}

// volumeList takes in the volumes of one job.
type volumeList struct {
	kind *kind
	all  []job.Volume
	// before is how many there were of other kinds.
	before int
}

func (l *volumeList) add(o *received) {
	if !prepare(o.Object, l.kind) {
		return
	}
	v := l.kind.volume(o.Object)
	v.UID = uidOf(o)
	if len(o.malformed) > 0 {
		v.Malformed = o.malformed[0]
	}
	l.all = append(l.all, v)
}

func (l *volumeList) remove(o *received) {
	l.all = slices.DeleteFunc(l.all, func(v job.Volume) bool { return v.UID == uidOf(o) })
}

func (l *volumeList) again(int) { l.all = l.all[:l.before] }
func (l *volumeList) done()     { l.before = len(l.all) }
