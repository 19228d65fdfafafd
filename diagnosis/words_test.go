package diagnosis

import (
	"testing"
	"time"
)

// Times are the reader's own, and say so.
func TestClockIsTheReaders(t *testing.T) {
	now := time.Date(2026, 11, 20, 23, 30, 0, 0, time.FixedZone("CET", 3600))
	for _, c := range []struct {
		at   time.Time
		want string
	}{
		{time.Date(2026, 11, 20, 23, 10, 0, 0, time.UTC), "00:10 CET"},
		{time.Date(2026, 11, 22, 23, 10, 0, 0, time.UTC), "Nov 23 00:10 CET"},
	} {
		if got := clock(c.at, now); got != c.want {
			t.Errorf("%s: %q, want %q", c.at, got, c.want)
		}
	}
}
