package demo

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/internal/demo/cluster"
)

var scheduleKind = schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: "Schedule"}

// runSchedules creates the backups that are due, so that a demo left open misses no run. The story creates many
// itself.
func (d *Demo) runSchedules() {
	now := d.options.Clock().UTC()
	for _, o := range d.cluster.ListObjects(scheduleKind, "") {
		s := storyObject{o}
		due := s.timeField("status", "lastBackup").Add(scheduleInterval(s.stringField("spec", "schedule")))
		paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
		if paused || s.stringField("status", "phase") != "Enabled" || due.After(now) {
			continue
		}
		if newest, found := d.newestScheduledBackup(
			o.GetName(),
		); found &&
			now.Sub(newest.GetCreationTimestamp().Time) > 20*time.Minute {
			d.repeatBackup(newest, o.GetName()+due.Format("-20060102150405"), due, now)
		}
		_, _ = d.cluster.EditObject(scheduleKind, o.GetNamespace(), o.GetName(), serverAuthor, func(o *cluster.Object) bool {
			return unstructured.SetNestedField(o.Object, formatTime(due), "status", "lastBackup") == nil
		})
	}
}

// scheduleInterval returns the interval of a demo schedule, which names a minute, an hour or a weekday.
func scheduleInterval(cron string) time.Duration {
	switch strings.Count(cron, "*") {
	case 4:
		return time.Hour
	case 3:
		return 24 * time.Hour
	}
	return 7 * 24 * time.Hour
}

func (d *Demo) newestScheduledBackup(schedule string) (newest storyObject, found bool) {
	for _, o := range d.cluster.ListObjects(storyKinds[0], "") {
		if o.GetLabels()["velero.io/schedule-name"] == schedule &&
			(!found || newest.GetCreationTimestamp().Time.Before(o.GetCreationTimestamp().Time)) {
			newest, found = storyObject{o}, true
		}
	}
	return newest, found
}

// repeatBackup creates a backup with the same outcome as another.
func (d *Demo) repeatBackup(like storyObject, name string, began, now time.Time) {
	o := like.DeepCopy()
	o.SetName(name)
	later := began.Sub(like.GetCreationTimestamp().Time)
	for _, field := range []string{"startTimestamp", "completionTimestamp", "expiration"} {
		if at := like.timeField("status", field); !at.IsZero() {
			at = at.Add(later)
			if field == "completionTimestamp" && at.After(now) {
				at = now
			}
			_ = unstructured.SetNestedField(o.Object, formatTime(at), "status", field) // status is a map
		}
	}
	_, _ = d.cluster.CreateObject(
		o,
		cluster.Author{FieldManager: serverAuthor.FieldManager, WrittenAt: began},
	) // the name is new
}
