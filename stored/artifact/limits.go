package artifact

import "time"

// Limits bound what a download may take. A zero field means its default.
type Limits struct {
	// Answer is how long Velero may take to sign a URL; default 1 min, as
	// Velero's own client waits for logs.
	Answer time.Duration
	// Idle is how long nothing may arrive, from the connection on; default
	// 1 min.
	Idle time.Duration
	// Total is how long a download may take in all; default 6 h.
	Total time.Duration

	Contents int64 // bytes of a backup's tarball; default 64 GiB
	Stored   int64 // bytes of any other artifact as stored; default 512 MiB
	Text     int64 // bytes of an unpacked log; default 8 GiB
	JSON     int64 // bytes of an unpacked JSON artifact; default 64 MiB
	// Ratio is how many bytes one stored byte may become, on average, once
	// ratioFrom bytes came out; default 400.
	Ratio int64
}

// ratioFrom is how much must have come out before the ratio is judged: a short
// text that repeats itself may pack far better than the limit.
const ratioFrom = 4 << 20

// tidyTimeout is how long deleting a request may take, also when the download
// itself was cancelled.
const tidyTimeout = 5 * time.Second

func (l Limits) withDefaults() Limits {
	l.Answer = orDefault(l.Answer, time.Minute)
	l.Idle = orDefault(l.Idle, time.Minute)
	l.Total = orDefault(l.Total, 6*time.Hour)
	l.Contents = orDefault(l.Contents, 64<<30)
	l.Stored = orDefault(l.Stored, 512<<20)
	l.Text = orDefault(l.Text, 8<<30)
	l.JSON = orDefault(l.JSON, 64<<20)
	l.Ratio = orDefault(l.Ratio, 400)
	return l
}

func orDefault[T int64 | time.Duration](value, usual T) T {
	if value <= 0 {
		return usual
	}
	return value
}
