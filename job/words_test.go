package job

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

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0B", 999: "999B", 1000: "1.0K", 13314398617: "12.4G", 512 << 30: "512G", 1 << 62: "4.0E"} {
		if got := Size(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
