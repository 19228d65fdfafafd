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
	// storyOffset is the story's position when the demo starts.
	storyOffset = 40 * time.Second
	// storyPause is the pause between two runs of the story.
	storyPause = 10 * time.Second
	// maxStories is how many runs of the story stay visible.
	maxStories = 3
)

// recordedBackup is the backup whose contents were recorded.
const recordedBackup = "before-upgrade"

// validationInterval is how often Velero validates its storage locations (--store-validation-frequency).
const validationInterval = time.Minute

// serverAuthor is Velero's server as an author.
var serverAuthor = cluster.Author{FieldManager: "velero-server"}

// addStoryArtifacts adds the stored files of the story's jobs and the objects that live beside Velero.
func (d *Demo) addStoryArtifacts() {
	made := artifactBuilder{d.cluster, d.store}
	made.storeLostResults("crm-rollback")
	d.store.SetFallback(made.buildFile)
	d.storeRecordedFiles("backup", recordedBackup, recordedBackup)
	left := &restoredObjects{artifactBuilder: made, live: &liveObjects{artifactBuilder: made}}
	d.cluster.ServeExtra(left.servedKinds(), left.objectsOfKind)
}

// newStory returns a function that plays the demo's own story again and again.
func (d *Demo) newStory(r replay.Recording) func(context.Context) error {
	return func(ctx context.Context) error {
		d.group.Go(func() { d.validateLocations(ctx) })
		logs := &storyLogger{cluster: d.cluster, clock: d.options.Clock}
		logs.writeFirstLines()
		d.group.Go(func() { logs.followStory(ctx) })
		var told []jobNames
		for skip := storyOffset; ; skip = 0 {
			told = append(told, jobNames{})
			if len(told) > maxStories {
				d.deleteStoryObjects(told[0])
				told = told[1:]
			}
			n := told[len(told)-1]
			err := replay.Play(ctx, d.cluster, r, replay.Options{
				Skip: skip, Speed: d.options.Speed, ShiftNameTimes: true,
				OnRename: func(recorded, name string) {
					if !n[name] {
						n[name] = true
						d.storeRecordedFiles("restore", recorded, name)
					}
				},
			})
			if err == nil {
				err = replay.SleepContext(ctx, time.Duration(float64(storyPause)/max(1, d.options.Speed)))
			}
			if err != nil {
				return err
			}
		}
	}
}

// jobNames are the names used in one run of the story.
type jobNames map[string]bool

// storyKinds are the kinds of the objects that the story creates.
var storyKinds = []schema.GroupVersionKind{
	{Group: "velero.io", Version: "v1", Kind: "Backup"},
	{Group: "velero.io", Version: "v1", Kind: "Restore"},
	{
		Group:   "velero.io",
		Version: "v1",
		Kind:    "PodVolumeBackup",
	},
	{Group: "velero.io", Version: "v2alpha1", Kind: "DataUpload"},
}

// deleteStoryObjects deletes the objects that a run of the story has left behind.
func (d *Demo) deleteStoryObjects(old jobNames) {
	for _, kind := range storyKinds {
		for _, o := range d.cluster.ListObjects(kind, "") {
			if !old[o.GetName()] {
				continue
			}
			// An object that somebody else deletes in the meantime is deleted, too.
			_, _ = d.cluster.EditObject(kind, o.GetNamespace(), o.GetName(), serverAuthor, func(o *cluster.Object) bool {
				o.SetFinalizers(nil)
				return true
			})
			_ = d.cluster.DeleteObject(kind, o.GetNamespace(), o.GetName(), serverAuthor)
		}
	}
}

// newReplay returns a function that plays all recordings concurrently, once.
func (d *Demo) newReplay(recordings []replay.Recording) func(context.Context) error {
	return func(ctx context.Context) error {
		d.group.Go(func() { d.validateLocations(ctx) })
		errs := make([]error, len(recordings))
		var group sync.WaitGroup
		for n, r := range recordings {
			group.Go(func() { errs[n] = replay.Play(ctx, d.cluster, r, replay.Options{Speed: d.options.Speed}) })
		}
		group.Wait()
		return errors.Join(errs...)
	}
}

// validateLocations keeps the storage locations validated, like a running server.
func (d *Demo) validateLocations(ctx context.Context) {
	kind := schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: "BackupStorageLocation"}
	for replay.SleepContext(ctx, validationInterval) == nil {
		d.runSchedules()
		for _, l := range d.cluster.ListObjects(kind, "") {
			now := d.options.Clock().UTC().Format(time.RFC3339)
			_, _ = d.cluster.EditObject(kind, l.GetNamespace(), l.GetName(), serverAuthor, func(o *cluster.Object) bool {
				for _, field := range []string{"lastValidationTime", "lastSyncedTime"} {
					if phase, _, _ := unstructured.NestedString(
						o.Object,
						"status",
						"phase",
					); field == "lastSyncedTime" &&
						phase != "Available" {
						continue // nothing is synced from an unreachable location
					}
					_ = unstructured.SetNestedField(o.Object, now, "status", field) // status is a map
				}
				return true
			})
		}
	}
}
