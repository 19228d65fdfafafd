package retry

import "time"

// Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	// NewTimer returns a timer that sends once after d.
	NewTimer(d time.Duration) Timer
}

// Timer is a running timer.
type Timer interface {
	C() <-chan time.Time
	// Stop lets the timer go; its channel need not be drained.
	Stop()
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now is time.Now.
func (SystemClock) Now() time.Time { return time.Now() }

// NewTimer is time.NewTimer.
func (SystemClock) NewTimer(d time.Duration) Timer { return systemTimer{time.NewTimer(d)} }

type systemTimer struct{ timer *time.Timer }

func (t systemTimer) C() <-chan time.Time { return t.timer.C }
func (t systemTimer) Stop()               { t.timer.Stop() }
