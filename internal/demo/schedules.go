package demo

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/internal/demo/cluster"
)

var scheduleKind = schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: "Schedule"}

// runSchedules makes the backups that are due, so that a demo left open misses no run. The story makes many itself.
func (d *Demo) runSchedules() {
	now := d.options.Clock().UTC()
	for _, o := range d.cluster.List(scheduleKind, "") {
		s := storyJob{o}
		due := s.time("status", "lastBackup").Add(interval(s.text("spec", "schedule")))
		paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
		if paused || s.text("status", "phase") != "Enabled" || due.After(now) {
			continue
		}
		if newest, found := d.newestRun(
			o.GetName(),
		); found &&
			now.Sub(newest.GetCreationTimestamp().Time) > 20*time.Minute {
			d.repeat(newest, o.GetName()+due.Format("-20060102150405"), due, now)
		}
		_, _ = d.cluster.Edit(scheduleKind, o.GetNamespace(), o.GetName(), veleroServer, func(o *cluster.Object) bool {
			return unstructured.SetNestedField(o.Object, stamp(due), "status", "lastBackup") == nil
		})
	}
}

// interval is that of the demo's schedules, which name a minute, an hour or a weekday.
func interval(cron string) time.Duration {
	switch strings.Count(cron, "*") {
	case 4:
		return time.Hour
	case 3:
		return 24 * time.Hour
	}
	return 7 * 24 * time.Hour
}

func (d *Demo) newestRun(schedule string) (newest storyJob, found bool) {
	for _, o := range d.cluster.List(toldKinds[0], "") {
		if o.GetLabels()["velero.io/schedule-name"] == schedule &&
			(!found || newest.GetCreationTimestamp().Time.Before(o.GetCreationTimestamp().Time)) {
			newest, found = storyJob{o}, true
		}
	}
	return newest, found
}

// repeat makes a backup that ends as another did.
func (d *Demo) repeat(like storyJob, name string, began, now time.Time) {
	o := like.DeepCopy()
	o.SetName(name)
	later := began.Sub(like.GetCreationTimestamp().Time)
	for _, field := range []string{"startTimestamp", "completionTimestamp", "expiration"} {
		if at := like.time("status", field); !at.IsZero() {
			at = at.Add(later)
			if field == "completionTimestamp" && at.After(now) {
				at = now
			}
			_ = unstructured.SetNestedField(o.Object, stamp(at), "status", field) // status is a map
		}
	}
	_, _ = d.cluster.Create(o, cluster.Author{Manager: veleroServer.Manager, At: began}) // the name is new
}
