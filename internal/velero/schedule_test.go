package velero

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// The next run by the rules of Velero's getNextRunTime.
func TestNextRun(t *testing.T) {
	at := func(text string) metav1.Time {
		parsed, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return metav1.NewTime(parsed)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	made := at("2026-11-20T12:00:30Z")
	for _, c := range []struct {
		cron, last, skipped, want string
		zone                      *time.Location
	}{
		{cron: "0 2 * * *", want: "2026-11-21T02:00:00Z"},
		{cron: "0 2 * * *", zone: berlin, want: "2026-11-21T01:00:00Z"},
		{cron: "CRON_TZ=America/New_York 0 2 * * *", zone: berlin, want: "2026-11-21T07:00:00Z"},
		{cron: "TZ=Asia/Tokyo 0 2 * * *", want: "2026-11-20T17:00:00Z"},
		{cron: "0 2 * * *", last: "2026-11-18T02:00:20Z", want: "2026-11-19T02:00:00Z"}, // it is late
		{cron: "0 2 * * *", last: "2026-11-18T02:00:20Z", skipped: "2026-11-20T09:00:00Z", want: "2026-11-21T02:00:00Z"},
		{cron: "0 2 * * *", last: "2026-11-20T02:00:20Z", skipped: "2026-11-18T09:00:00Z", want: "2026-11-21T02:00:00Z"},
		{cron: "@every 1h", last: "2026-11-20T11:30:10Z", want: "2026-11-20T12:30:10Z"},
		{cron: "@every 1h", want: "2026-11-20T13:00:30Z"},
		{cron: "@weekly", want: "2026-11-22T00:00:00Z"},
		{cron: "*/15 8-18 * * MON-FRI", last: "2026-11-20T18:45:00Z", want: "2026-11-23T08:00:00Z"},
	} {
		s := &veleroapi.Schedule{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: made}}
		if c.last != "" {
			last := at(c.last)
			s.Status.LastBackup = &last
		}
		if c.skipped != "" {
			skipped := at(c.skipped)
			s.Status.LastSkipped = &skipped
		}
		if c.zone == nil {
			c.zone = time.UTC
		}
		table, err := ParseTimetable(c.cron, c.zone)
		if err != nil {
			t.Errorf("%s: %v", c.cron, err)
			continue
		}
		if want := at(c.want); !table.NextRun(s).Equal(want.Time) {
			t.Errorf(
				"%s in %s after %q, skipped %q: %s, want %s",
				c.cron,
				c.zone,
				c.last,
				c.skipped,
				table.NextRun(s).UTC(),
				want.UTC(),
			)
		}
	}
	for _, bad := range []string{"", "daily", "61 * * * *", "* * * * * *", "CRON_TZ=Nowhere/Town 0 2 * * *", "TZ=UTC", "@every", "@every -5m", "\x00"} {
		if table, err := ParseTimetable(bad, time.UTC); err == nil {
			t.Errorf("%q is read: %v", bad, table.NextAfter(made.Time))
		}
	}
	if got := (Timetable{}).NextAfter(made.Time); !got.IsZero() {
		t.Errorf("no timetable has a run at %s", got)
	}
}
