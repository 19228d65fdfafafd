package retry

import (
	"context"
	"time"
)

// fakeClock moves only when somebody waits on it.
type fakeClock struct {
	now    time.Time
	sleeps []time.Duration
	// onSleep is called before the clock moves.
	onSleep func(time.Duration)
}

func newFakeClock() *fakeClock {
	return &fakeClock{now: time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)}
}

func (c *fakeClock) Now() time.Time { return c.now }

func (c *fakeClock) NewTimer(d time.Duration) Timer {
	if c.onSleep != nil {
		c.onSleep(d)
	}
	c.sleeps = append(c.sleeps, d)
	c.now = c.now.Add(d)
	fired := make(chan time.Time, 1)
	fired <- c.now
	return firedTimer(fired)
}

type firedTimer chan time.Time

func (t firedTimer) C() <-chan time.Time { return t }
func (firedTimer) Stop()                 {}

// outage is an API server that is away for a time; each request costs some.
type outage struct {
	clock    *fakeClock
	back     time.Time
	cost     time.Duration
	err      error
	attempts []time.Time
}

func (o *outage) request(context.Context) error {
	o.attempts = append(o.attempts, o.clock.now)
	o.clock.now = o.clock.now.Add(o.cost)
	if o.clock.now.Before(o.back) {
		return o.err
	}
	return nil
}
