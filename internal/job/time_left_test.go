package job

import (
	"testing"
	"time"

	"github.com/veltui/veltui/internal/velero"
)

func TestTimeLeftReplacesTheWindow(t *testing.T) {
	j, at := moving(t, time.Second, 1000, steady(100, 20, 11)...)
	k := j.WithTimeLeft(TimeLeft{CountedAt: at, Likely: 90 * time.Second, Known: true})
	for _, c := range []struct{ silence, want time.Duration }{
		{0, 90 * time.Second},
		{-time.Hour, 90 * time.Second}, // clocks differ
		{1500 * time.Millisecond, 88500 * time.Millisecond},
		{5 * time.Second, 88 * time.Second}, // nothing is told, so nothing is taken off
		{15 * time.Second, 88 * time.Second},
	} {
		if left, ok := k.ETA(at.Add(c.silence)); !ok || left != c.want {
			t.Errorf("after %v of silence: %v, %v; want %v", c.silence, left, ok, c.want)
		}
	}
	if left, ok := k.ETA(at.Add(16 * time.Second)); ok {
		t.Errorf("%v is left although nothing came for 16s", left)
	}
	if left, ok := j.ETA(at); !ok || left == 90*time.Second {
		t.Errorf("the job itself changed: %v, %v", left, ok)
	}
	for name, f := range map[string]TimeLeft{
		"a guess":  {CountedAt: at, Likely: time.Minute},
		"negative": {CountedAt: at, Likely: -time.Minute, Known: true},
		"forever":  {CountedAt: at, Likely: 1 << 62, Known: true},
	} {
		if left, ok := j.WithTimeLeft(f).ETA(at); ok {
			t.Errorf("%s: %v", name, left)
		}
	}
	if left, ok := j.WithTimeLeft(TimeLeft{CountedAt: at, Known: true}).ETA(at); !ok || left != time.Second {
		t.Errorf("out of time, but not done: %v, %v; want a second", left, ok)
	}
}

// What was said about other items does not count.
func TestTimeLeftIsOfTheItemsSeen(t *testing.T) {
	j, at := moving(t, time.Second, 1000, steady(100, 20, 11)...)
	window, _ := j.ETA(at)
	old := j.WithTimeLeft(TimeLeft{CountedAt: at.Add(-time.Second), Likely: time.Hour, Known: true})
	if left, ok := old.ETA(at); !ok || left != window {
		t.Errorf("%v, %v; want the window's %v", left, ok, window)
	}
	in := spec{name: "r", kind: Restore, phase: velero.PhaseInProgress, started: 1, done: 320, total: 1000}.input()
	in.ObservedAt = at.Add(time.Second)
	said := j.WithTimeLeft(TimeLeft{CountedAt: at, Likely: time.Hour, Known: true})
	if next := Fold(said, in); next.forecastLeft != nil {
		t.Error("passed on to the next items")
	}
	in = spec{name: "r", kind: Restore, phase: velero.PhaseCompleted, started: 1, done: 1000, total: 1000}.input()
	in.ObservedAt = at.Add(time.Second)
	ended := Fold(j, in)
	if k := ended.WithTimeLeft(TimeLeft{CountedAt: at, Likely: time.Hour, Known: true}); k != ended {
		t.Error("an ended restore takes it")
	}
}

func TestItemsSince(t *testing.T) {
	j, at := moving(t, time.Second, 1000, steady(100, 20, 11)...)
	all := j.ItemCountsSince(time.Time{})
	if len(all) != 11 || all[0].Done != 100 || all[10].Done != 300 || !all[10].At.Equal(at) {
		t.Errorf("%v", all)
	}
	if some := j.ItemCountsSince(at.Add(-2 * time.Second)); len(some) != 2 || some[0].Done != 280 || some[1].Done != 300 {
		t.Errorf("%v", some)
	}
	if none := j.ItemCountsSince(at); none != nil {
		t.Errorf("%v", none)
	}
	u, _ := uploading(
		t,
		velero.PhaseWaitingForPluginOperations,
		volume(velero.DataUpload, "v", velero.VolumeInProgress, 1<<20, 9<<20, 0, 0),
	)
	if none := u.ItemCountsSince(time.Time{}); none != nil {
		t.Errorf("bytes are counted as items: %v", none)
	}
}

// BenchmarkETAForeseen is what the ETA of a visible row costs.
func BenchmarkETAForeseen(b *testing.B) {
	j, at := moving(&testing.T{}, time.Second, 10000, steady(0, 20, 100)...)
	j = j.WithTimeLeft(TimeLeft{CountedAt: at, Likely: time.Minute, Known: true})
	for b.Loop() {
		if _, ok := j.ETA(at); !ok {
			b.Fatal("no ETA")
		}
	}
}

func TestRoughETA(t *testing.T) {
	j, at := moving(t, time.Second, 1000, steady(100, 20, 11)...)
	for name, c := range map[string]struct {
		left  TimeLeft
		rough bool
	}{
		"rough":      {TimeLeft{CountedAt: at, Likely: 90 * time.Second, Low: time.Minute, High: 3 * time.Minute, Known: true, Rough: true}, true},
		"well known": {TimeLeft{CountedAt: at, Likely: 90 * time.Second, Low: 80 * time.Second, High: 100 * time.Second, Known: true}, false},
		"equal bounds": {TimeLeft{
			CountedAt: at, Likely: time.Minute, Low: time.Minute, High: time.Minute, Known: true, Rough: true,
		}, false},
		"no bounds":   {TimeLeft{CountedAt: at, Likely: 90 * time.Second, Known: true}, false},
		"not known":   {TimeLeft{CountedAt: at, Low: time.Minute, High: 3 * time.Minute, Rough: true}, false},
		"other items": {TimeLeft{CountedAt: at.Add(-time.Second), Likely: time.Minute, High: time.Hour, Known: true, Rough: true}, false},
	} {
		low, high, rough := j.WithTimeLeft(c.left).ETARange(at.Add(time.Second))
		if rough != c.rough || rough && (low != c.left.Low-time.Second || high != c.left.High-time.Second) {
			t.Errorf("%s: %v to %v, %v", name, low, high, rough)
		}
	}
	if _, _, rough := j.ETARange(at); rough {
		t.Error("the window has no range")
	}
}
