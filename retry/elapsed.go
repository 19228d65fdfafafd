package retry

import "time"

// Elapsed returns the time from since to now, by the monotonic or by the wall
// clock, whichever shows more: the monotonic clock stands still while a machine
// sleeps, and the wall clock may be set back.
func Elapsed(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}
