package human

import (
	"strings"
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour:                           "0s",
		999 * time.Millisecond:               "0s",
		16 * time.Second:                     "16s",
		time.Minute:                          "1m",
		3*time.Minute + 12*time.Second:       "3m12s",
		3*time.Minute + 2*time.Second:        "3m02s",
		10*time.Minute + 59*time.Second:      "10m",
		59*time.Minute + 59*time.Second:      "59m",
		time.Hour:                            "1h",
		75 * time.Minute:                     "1h15m",
		64 * time.Minute:                     "1h04m",
		13 * time.Hour:                       "13h",
		47*time.Hour + 59*time.Minute:        "47h59m",
		75 * time.Hour:                       "3d",
		time.Duration(1<<63 - 1):             "106751d",
		time.Minute + 59500*time.Millisecond: "1m59s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestSpoken(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{SpokenStyle.Duration(0), "0 seconds"}, {SpokenStyle.Duration(61 * time.Second), "1 minute 1 second"}, {SpokenStyle.Duration(time.Hour), "1 hour"},
		{SpokenStyle.Duration(182 * time.Second), "3 minutes 2 seconds"}, {SpokenStyle.Duration(125 * time.Minute), "2 hours 5 minutes"}, {SpokenStyle.Duration(75 * time.Hour), "3 days"},
		{SpokenStyle.TimeLeft(194 * time.Second), "3 minutes 10 seconds"}, {SpokenStyle.TimeLeftRange(3*time.Second, 11*time.Second), "3 to 20 seconds"},
		{SpokenStyle.TimeLeftRange(32*time.Second, 91*time.Second), "30 seconds to 2 minutes"}, {SpokenStyle.TimeLeftRange(time.Minute, time.Minute), "1 minute"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// An ETA is no finer than it is known, and what has not ended takes some time.
func TestTimeLeft(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Minute:                    "1s",
		0:                               "1s",
		29 * time.Second:                "29s",
		33 * time.Second:                "35s",
		3*time.Minute + 14*time.Second:  "3m10s",
		41*time.Minute + 31*time.Second: "42m",
		75*time.Minute + 3*time.Second:  "1h15m",
	} {
		if got := ShortStyle.TimeLeft(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// Times are the reader's own. One of another day says so; in a narrow cell, only one that is more than a day ago.
func TestClock(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 30, 0, 0, time.FixedZone("CET", 3600))
	for _, c := range []struct {
		at           time.Time
		clock, short string
	}{
		{time.Time{}, "", ""},
		{time.Date(2026, 11, 20, 23, 10, 0, 0, time.UTC), "00:10", "00:10"},
		{time.Date(2026, 11, 20, 22, 55, 0, 0, time.UTC), "Nov 20 23:55", "23:55"},
		{time.Date(2026, 11, 19, 23, 29, 0, 0, time.UTC), "Nov 20 00:29", "Nov 20"},
		{time.Date(2026, 11, 22, 23, 10, 0, 0, time.UTC), "Nov 23 00:10", "Nov 23"},
		{time.Date(2025, 11, 21, 12, 0, 0, 0, time.UTC), "2025-11-21 13:00", "2025-11"},
	} {
		if got := ClockTime(c.at, now); got != c.clock {
			t.Errorf("%s: %q, want %q", c.at, got, c.clock)
		}
		if got := CompactClock(c.at, now); got != c.short {
			t.Errorf("%s: %q, want %q", c.at, got, c.short)
		}
	}
	at := time.Date(2026, 11, 20, 23, 10, 7, 0, time.UTC)
	for got, want := range map[string]string{
		Moment(at, now):    "2026-11-21 00:10:07 CET",
		MomentUTC(now):     "2026-11-20 23:30:00 UTC",
		ClockUTC(now):      "23:30 UTC",
		TimeOfDay(at, now): "00:10:07 CET",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := Age(now.Add(-75*time.Minute), now); got != "1h15m" {
		t.Errorf("age %q", got)
	}
	if got := Ago(now.Add(-75*time.Minute), now); got != "1h15m ago" {
		t.Errorf("ago %q", got)
	}
	if got := Age(time.Time{}, now) + Ago(time.Time{}, now); got != "" {
		t.Errorf("of an unknown moment: %q", got)
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Bytes(0), "0B"}, {Bytes(999), "999B"}, {Bytes(1000), "1.0K"}, {Bytes(13314398617), "12.4G"}, {Bytes(512 << 30), "512G"}, {Bytes(1 << 62), "4.0E"},
		{BytesProgress(0, 0), ""}, {BytesProgress(2048, 0), "2.0K"}, {BytesProgress(512<<20, 4<<30), "0.5/4.0G"},
		{PerSecond(34.4), "34/s"}, {PerSecond(0.25), "0.2/s"}, {BytesPerSecond(13 << 20), "13.0M/s"},
		{Percent(0.999), "99%"}, {Percent(1), "100%"}, {Percent(-1), "0%"}, {Percent(0.29), "29%"},
		{Ordinal(1), "1st"}, {Ordinal(2), "2nd"}, {Ordinal(3), "3rd"}, {Ordinal(4), "4th"}, {Ordinal(11), "11th"}, {Ordinal(112), "112th"}, {Ordinal(121), "121st"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestCounts(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Count(1, "item"), "1 item"}, {Count(0, "item"), "0 items"}, {Count(int64(3), "item"), "3 items"},
		{CountTimes(1) + ", " + CountTimes(2) + ", " + CountTimes(3), "once, twice, 3 times"}, {AllOf(1, "item"), "the only item"}, {AllOf(2, "item"), "all 2 items"},
		{PartOf(1, 1, "volume"), "the only volume"}, {PartOf(2, 2, "volume"), "all 2 volumes"}, {PartOf(1, 2, "volume"), "1 of 2 volumes"},
		{Count(2, "entry"), "2 entries"}, {Count(2, "day"), "2 days"}, {Count(2, "class"), "2 classes"}, {Count(2, "storage class"), "2 storage classes"},
		{CountForms(1, "volume is", "volumes are"), "1 volume is"}, {CountForms(2, "volume is", "volumes are"), "2 volumes are"},
		{JoinNames(nil, 3), ""}, {JoinNames([]string{"a"}, 3), "a"}, {JoinNames([]string{"a", "b"}, 3), "a and b"}, {JoinNames([]string{"a", "b", "c"}, 3), "a, b and c"},
		{JoinNames([]string{"a", "b", "c", "d"}, 3), "a, b, c and d"}, {JoinNames([]string{"a", "b", "c", "d", "e"}, 3), "a, b, c and 2 more"},
		{More(1234), "1,234 more"}, {AndMore(3), " and 3 more"}, {AndMore(0), ""}, {AndMore(-1), ""},
		{TopCounts(nil, 3), ""}, {TopCounts(map[string]int{"b": 3, "a": 3, "c": 5}, -1), "c 5, a 3, b 3"}, {TopCounts(map[string]int{"b": 3, "a": 3, "c": 5}, 2), "c 5, a 3, +1 more"},
		{strings.Join(ShorterTopCounts(map[string]int{"b": 3, "a": 3, "c": 5}, 9), "; "), "c 5, a 3, +1 more; c 5, +2 more"},
		{strings.Join(ShorterTopCounts(map[string]int{"b": 3, "a": 3, "c": 5}, 1), "; "), "c 5, +2 more"},
		{strings.Join(ShorterTopCounts(map[string]int{"b": 3}, 9), "; "), ""}, {strings.Join(ShorterTopCounts(nil, 9), "; "), ""},
		{Shorten("crème", 5), "crème"}, {Shorten("crème brûlée", 8), "crème..."}, {Shorten("abcdef", 2), ".."},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestTimeLeftRange(t *testing.T) {
	for _, c := range []struct {
		low, high time.Duration
		want      string
	}{
		{63 * time.Second, 170 * time.Second, "1 to 3m"},
		{20 * time.Second, 50 * time.Second, "20 to 50s"},
		{3 * time.Second, 11 * time.Second, "3 to 20s"},
		{0, 0, "1 to 10s"},
		{32 * time.Second, 91 * time.Second, "30s to 2m"},
		{17 * time.Second, 61 * time.Second, "10 to 70s"},
		{3 * time.Second, 100 * time.Second, "1s to 2m"},
		{45 * time.Minute, 95 * time.Minute, "40m to 2h"},
		{10 * time.Minute, 80 * time.Minute, "10 to 80m"},
		{2 * time.Hour, 5*time.Hour + time.Second, "2 to 6h"},
		{60 * time.Second, 60 * time.Second, "1m"},
	} {
		if got := ShortStyle.TimeLeftRange(c.low, c.high); got != c.want {
			t.Errorf("%v to %v: %q, want %q", c.low, c.high, got, c.want)
		}
	}
}
