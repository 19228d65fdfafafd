package retry

import (
	"math/rand/v2"
	"time"
)

// The defaults of a Backoff.
const (
	DefaultFirst    = 250 * time.Millisecond
	DefaultFactor   = 2
	DefaultCap      = 8 * time.Second
	DefaultJitter   = 0.1
	DefaultDeadline = 10 * time.Minute
	DefaultAttempt  = 15 * time.Second
)

// Backoff is a schedule of delays between attempts.
type Backoff struct {
	// First is the delay after the first attempt.
	First time.Duration
	// Factor is by what each delay is longer than the one before.
	Factor float64
	// Cap bounds each delay; at the cap it goes on with that delay.
	Cap time.Duration
	// Jitter is the part of a delay, from 0 to 1, that is left to chance. It
	// only ever makes a delay shorter, so that Cap holds.
	Jitter float64
}

// CapBackoff is a schedule whose steps grow up to the given cap and stay
// there. A cap of zero or less stands for DefaultCap.
func CapBackoff(cap time.Duration) Backoff {
	return Backoff{First: DefaultFirst, Factor: DefaultFactor, Cap: cap, Jitter: DefaultJitter}.complete()
}

// complete puts defaults where nothing usable is set.
func (b Backoff) complete() Backoff {
	if b.Cap <= 0 {
		b.Cap = DefaultCap
	}
	if b.First <= 0 {
		b.First = DefaultFirst
	}
	if !(b.Factor >= 1) { // NaN too
		b.Factor = DefaultFactor
	}
	if !(b.Jitter >= 0 && b.Jitter <= 1) {
		b.Jitter = DefaultJitter
	}
	b.First = min(b.First, b.Cap)
	return b
}

// steps hands out the delays of a schedule in turn.
type steps struct {
	Backoff
	next float64 // in nanoseconds, without jitter
	rand func() float64
}

func (b Backoff) start(random func() float64) *steps {
	b = b.complete()
	if random == nil {
		random = rand.Float64
	}
	return &steps{Backoff: b, next: float64(b.First), rand: random}
}

func (s *steps) step() time.Duration {
	delay := s.next
	s.next = min(s.next*s.Factor, float64(s.Cap))
	return time.Duration(delay * (1 - s.Jitter*s.rand()))
}
