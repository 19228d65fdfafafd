package retry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

type Options struct {
	Backoff Backoff // the schedule; unset fields have their defaults
	// Deadline is the time from the first attempt to the last, by both clocks; DefaultDeadline if it is zero or less.
	Deadline time.Duration
	// AttemptTimeout bounds one attempt, also the one at the deadline; DefaultAttempt if it is zero or less.
	AttemptTimeout time.Duration
	// Refresh renews the credentials after the API server refused them. It succeeds at most
	// once; nil means that nothing can be renewed. Its error takes the place of the refusal, so
	// that one which time does not mend ends the attempts.
	Refresh func(context.Context) error
	Report  func(Attempt)  // told of each attempt, after it and before the delay
	Rand    func() float64 // returns numbers from 0 to below 1; nil stands for those of math/rand
}

// Attempt is what happened at one attempt.
type Attempt struct {
	Number int           // counts from 1
	Err    error         // nil if it succeeded
	Next   time.Duration // the delay before the next attempt; Last means that there is none
	Last   bool
	Left   time.Duration // how much of the deadline is left, not below zero
}

// DeadlineError is returned when the deadline is over; it wraps the error of the last attempt.
type DeadlineError struct {
	Attempts int
	After    time.Duration
	Err      error
}

func (e *DeadlineError) Error() string {
	return fmt.Sprintf("gave up after %d attempts in %s: %v", e.Attempts, e.After.Round(time.Second), e.Err)
}

func (e *DeadlineError) Unwrap() error { return e.Err }

// RetryOnErrorMaxBackOff calls fn until it succeeds, fails with an error that
// time does not mend (see [Classify]), or the deadline is over.
func RetryOnErrorMaxBackOff(ctx context.Context, o Options, fn func(context.Context) error) error {
	return RetryOnRetriableMaxBackOff(ctx, o, fn, func(err error) bool { return Classify(err) == Retriable })
}

// RetryOnRetriableMaxBackOff calls fn until it succeeds, fails with an error that is not retriable, or the deadline
// is over: then it returns a [DeadlineError]. When ctx ends it returns the context's cause, joined with the last
// error if there was one; it starts no attempt after that.
//
// An Unauthorized answer is tried once more after Options.Refresh. A Retry-After of the server lengthens a delay up
// to [MaxRetryAfter], but never past the deadline. Once a server that was away answers, if only with an error, the
// schedule begins anew: what it lacks then it mostly has within seconds.
func RetryOnRetriableMaxBackOff(
	ctx context.Context,
	o Options,
	fn func(context.Context) error,
	retriable func(error) bool,
) error {
	r := o.start()
	for {
		if ctx.Err() != nil {
			return r.interrupted(ctx)
		}
		err := r.attempt(ctx, fn)
		if err == nil {
			r.report(Attempt{Last: true})
			return nil
		}
		if Classify(err) == Unauthorized && r.Refresh != nil && !r.refreshed && ctx.Err() == nil {
			if failed := r.Refresh(ctx); failed != nil {
				err = failed
			} else {
				r.refreshed = true
				r.report(Attempt{Err: err})
				continue
			}
		}
		switch {
		case ctx.Err() != nil:
			r.report(Attempt{Err: err, Last: true})
			return r.interrupted(ctx)
		case !retriable(err):
			r.report(Attempt{Err: err, Last: true})
			return err
		}
		left := r.left()
		if left <= 0 {
			r.report(Attempt{Err: err, Last: true})
			return &DeadlineError{Attempts: r.number, After: time.Since(r.began), Err: err}
		}
		delay := min(max(r.step(err), retryAfter(err)), left)
		r.report(Attempt{Err: err, Next: delay})
		if !Sleep(ctx, delay) {
			return r.interrupted(ctx)
		}
		if Elapsed(r.deadline, time.Now()) > r.AttemptTimeout {
			// The machine slept: what was due then is not made up for now.
			return &DeadlineError{Attempts: r.number, After: time.Since(r.began), Err: err}
		}
	}
}

type run struct {
	Options
	next      float64 // the next delay in nanoseconds, without jitter
	began     time.Time
	deadline  time.Time
	number    int
	last      error
	refreshed bool
	away      bool // the attempt before got no answer
}

func (o Options) start() *run {
	o.Backoff = o.Backoff.complete()
	r := &run{Options: o, next: float64(o.Backoff.First)}
	if r.Rand == nil {
		r.Rand = rand.Float64
	}
	if r.Deadline <= 0 {
		r.Deadline = DefaultDeadline
	}
	if r.AttemptTimeout <= 0 {
		r.AttemptTimeout = DefaultAttempt
	}
	r.began = time.Now()
	r.deadline = r.began.Add(r.Deadline)
	return r
}

func (r *run) attempt(ctx context.Context, fn func(context.Context) error) error {
	r.number++
	ctx, cancel := context.WithTimeout(ctx, r.AttemptTimeout)
	defer cancel()
	r.last = fn(ctx)
	return r.last
}

// step returns the delay after an error. Only a schedule that has reached its cap begins
// anew, so that a server that comes and goes is not asked more often.
func (r *run) step(err error) time.Duration {
	var status apierrors.APIStatus
	answered := errors.As(err, &status)
	b := r.Backoff
	if answered && r.away && r.next >= float64(b.Cap) {
		r.next = float64(b.First)
	}
	r.away = !answered
	delay := r.next * (1 - b.Jitter*r.Rand())
	r.next = min(r.next*b.Factor, float64(b.Cap))
	return time.Duration(delay)
}

func (r *run) left() time.Duration { return max(0, -Elapsed(r.deadline, time.Now())) }

func (r *run) report(a Attempt) {
	if r.Report == nil {
		return
	}
	a.Number, a.Left = r.number, r.left()
	r.Report(a)
}

// Sleep waits for d, and reports false if ctx has ended before.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// Elapsed returns the time from since to now, by the monotonic or by the wall clock, whichever shows more: the
// monotonic clock stands still while a machine sleeps, and the wall clock may be set back.
func Elapsed(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

func (r *run) interrupted(ctx context.Context) error {
	cause := context.Cause(ctx)
	if r.last == nil || errors.Is(r.last, cause) {
		return cause
	}
	return errors.Join(cause, r.last)
}

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
	First  time.Duration // the delay after the first attempt
	Factor float64       // by what each delay is longer than the one before
	Cap    time.Duration // bounds each delay; at the cap it goes on with that delay
	Jitter float64       // the part of a delay, from 0 to 1, by which chance makes it shorter
}

// CapBackoff returns the default schedule with a cap of its own, [DefaultCap] if that is zero or less. The cap bounds a
// delay: in Velero's helper of this name (pkg/client/retry.go, 1.18.3) it also ends the attempts.
func CapBackoff(cap time.Duration) Backoff {
	if cap <= 0 {
		cap = DefaultCap
	}
	return Backoff{First: min(DefaultFirst, cap), Factor: DefaultFactor, Cap: cap, Jitter: DefaultJitter}
}

// complete puts the values of CapBackoff where nothing usable is set.
func (b Backoff) complete() Backoff {
	defaults := CapBackoff(b.Cap)
	b.Cap = defaults.Cap
	if b.First <= 0 {
		b.First = defaults.First
	}
	if !(b.Factor >= 1) { // NaN too
		b.Factor = defaults.Factor
	}
	if !(b.Jitter >= 0 && b.Jitter <= 1) {
		b.Jitter = defaults.Jitter
	}
	b.First = min(b.First, b.Cap)
	return b
}
