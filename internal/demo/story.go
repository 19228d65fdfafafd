package demo

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/internal/demo/cluster"
	"github.com/veltui/veltui/internal/demo/replay"
)

const (
	// storySkip is how far the story is when the demo starts.
	storySkip = 40 * time.Second
	// storyPause lies between its end and its next beginning.
	storyPause = 10 * time.Second
	// storyKept is how many tellings stay to be seen.
	storyKept = 3
)

// recordedBackup is the one whose contents were recorded.
const recordedBackup = "before-upgrade"

// beat is how often Velero looks after its storage locations
// (--store-validation-frequency).
const beat = time.Minute

// veleroServer is Velero's server as an author.
var veleroServer = cluster.Author{Manager: "velero-server"}

// surround puts around the story what is stored of its jobs and what lives beside Velero.
func (d *Demo) surround() {
	made := archive{d.cluster, d.store}
	made.storeLost("crm-rollback")
	d.store.Otherwise(made.file)
	d.storeRecorded("backup", recordedBackup, recordedBackup)
	left := &aftermath{archive: made, living: &living{archive: made}}
	d.cluster.Beside(left.kinds(), left.objects)
}

// story tells the demo's own story again and again.
func (d *Demo) story(r replay.Recording) func(context.Context) error {
	return func(ctx context.Context) error {
		d.group.Go(func() { d.beat(ctx) })
		logs := &logger{cluster: d.cluster, clock: d.options.Clock}
		logs.begin()
		d.group.Go(func() { logs.run(ctx) })
		var told []names
		for skip := storySkip; ; skip = 0 {
			told = append(told, names{})
			if len(told) > storyKept {
				d.forget(told[0])
				told = told[1:]
			}
			n := told[len(told)-1]
			err := replay.Play(ctx, d.cluster, r, replay.Options{
				Skip: skip, Speed: d.options.Speed, Names: true,
				Named: func(recorded, name string) {
					if !n[name] {
						n[name] = true
						d.storeRecorded("restore", recorded, name)
					}
				},
			})
			if err == nil {
				err = replay.Sleep(ctx, time.Duration(float64(storyPause)/max(1, d.options.Speed)))
			}
			if err != nil {
				return err
			}
		}
	}
}

// names are the names that one telling has used.
type names map[string]bool

// toldKinds are the kinds that the story makes.
var toldKinds = []schema.GroupVersionKind{
	{Group: "velero.io", Version: "v1", Kind: "Backup"},
	{Group: "velero.io", Version: "v1", Kind: "Restore"},
	{
		Group:   "velero.io",
		Version: "v1",
		Kind:    "PodVolumeBackup",
	},
	{Group: "velero.io", Version: "v2alpha1", Kind: "DataUpload"},
}

// forget deletes what a telling has left behind.
func (d *Demo) forget(old names) {
	for _, kind := range toldKinds {
		for _, o := range d.cluster.List(kind, "") {
			if !old[o.GetName()] {
				continue
			}
			// What somebody deletes meanwhile is gone as well.
			_, _ = d.cluster.Edit(kind, o.GetNamespace(), o.GetName(), veleroServer, func(o *cluster.Object) bool {
				o.SetFinalizers(nil)
				return true
			})
			_ = d.cluster.Delete(kind, o.GetNamespace(), o.GetName(), veleroServer)
		}
	}
}

// replay plays all recordings side by side, once.
func (d *Demo) replay(recordings []replay.Recording) func(context.Context) error {
	return func(ctx context.Context) error {
		d.group.Go(func() { d.beat(ctx) })
		errs := make([]error, len(recordings))
		var group sync.WaitGroup
		for n, r := range recordings {
			group.Go(func() { errs[n] = replay.Play(ctx, d.cluster, r, replay.Options{Speed: d.options.Speed}) })
		}
		group.Wait()
		return errors.Join(errs...)
	}
}

// beat keeps the storage locations validated, as a server that lives does.
func (d *Demo) beat(ctx context.Context) {
	kind := schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: "BackupStorageLocation"}
	for replay.Sleep(ctx, beat) == nil {
		d.runSchedules()
		for _, l := range d.cluster.List(kind, "") {
			now := d.options.Clock().UTC().Format(time.RFC3339)
			_, _ = d.cluster.Edit(kind, l.GetNamespace(), l.GetName(), veleroServer, func(o *cluster.Object) bool {
				for _, field := range []string{"lastValidationTime", "lastSyncedTime"} {
					if phase, _, _ := unstructured.NestedString(
						o.Object,
						"status",
						"phase",
					); field == "lastSyncedTime" &&
						phase != "Available" {
						continue // nothing is synced from what cannot be reached
					}
					_ = unstructured.SetNestedField(o.Object, now, "status", field) // status is a map
				}
				return true
			})
		}
	}
}
