package demo

import (
	"sync/atomic"
	"testing"
	"time"
)

// TestLeftOpen: hours later every schedule has run, as Velero would have run it.
func TestLeftOpen(t *testing.T) {
	var later atomic.Int64
	r := start(t, Options{Clock: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }})
	before := map[string]bool{}
	for _, o := range r.cluster.ListObjects(storyKinds[0], "") {
		before[o.GetName()] = true
	}
	for range 50 {
		later.Add(int64(time.Hour))
		r.runSchedules()
	}
	made := map[string]int{}
	for _, o := range r.cluster.ListObjects(storyKinds[0], "") {
		b := storyObject{o}
		if before[o.GetName()] {
			continue
		}
		made[o.GetLabels()["velero.io/schedule-name"]]++
		if end := b.timeField(
			"status",
			"completionTimestamp",
		); end.After(r.options.Clock()) ||
			!end.IsZero() && end.Before(b.startedAt()) {
			t.Errorf("%s ended %s and began %s", o.GetName(), end, b.startedAt())
		}
	}
	for schedule, least := range map[string]int{"shop-hourly": 48, "crm-nightly": 2, "erp-nightly": 2, "media-nightly": 1} {
		if made[schedule] < least {
			t.Errorf("%s ran %d times in 50 hours", schedule, made[schedule])
		}
	}
	if n := made["web-before-move"] + made["web-weekly"]; n > 0 {
		t.Errorf("schedules that are paused or invalid ran %d times", n)
	}
	for _, o := range r.cluster.ListObjects(scheduleKind, "") {
		s := storyObject{o}
		due := s.timeField("status", "lastBackup").Add(scheduleInterval(s.stringField("spec", "schedule")))
		if s.stringField("status", "phase") == "Enabled" && o.GetName() != "web-before-move" && due.Before(r.options.Clock()) {
			t.Errorf("%s has missed its run at %s", o.GetName(), due)
		}
	}
}
