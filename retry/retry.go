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
	// Deadline is the time from the first attempt to the last, measured by both clocks; DefaultDeadline if zero or less.
	Deadline time.Duration
	// AttemptTimeout limits one attempt, also the one at the deadline; DefaultAttemptTimeout if zero or less.
	AttemptTimeout time.Duration
	// Refresh renews the credentials after the API server refused them, successfully at most once; nil means that
	// nothing can be renewed. Its error replaces the refusal, so that a permanent error ends the attempts.
	Refresh   func(context.Context) error
	OnAttempt func(Attempt)  // called after each attempt, before the delay
	Rand      func() float64 // returns numbers in [0, 1); nil means math/rand
}

// Attempt is the outcome of one attempt.
type Attempt struct {
	Number    int           // counts from 1
	Err       error         // nil if it succeeded
	Delay     time.Duration // the delay before the next attempt; none if Last
	Last      bool
	Remaining time.Duration // the time left until the deadline, not below zero
}

// DeadlineError is returned when the deadline has passed; it wraps the error of the last attempt.
type DeadlineError struct {
	Attempts int
	After    time.Duration
	Err      error
}

func (e *DeadlineError) Error() string {
	return fmt.Sprintf("gave up after %d attempts in %s: %v", e.Attempts, e.After.Round(time.Second), e.Err)
}

func (e *DeadlineError) Unwrap() error { return e.Err }

// RetryOnErrorMaxBackOff calls fn until it succeeds, fails with an error that is not Retriable (see [Classify]), or
// the deadline has passed.
func RetryOnErrorMaxBackOff(ctx context.Context, o Options, fn func(context.Context) error) error {
	return RetryOnRetriableMaxBackOff(ctx, o, fn, func(err error) bool { return Classify(err) == Retriable })
}

// RetryOnRetriableMaxBackOff calls fn until it succeeds, fails with an error that is not retriable, or the deadline
// has passed: then it returns a [DeadlineError]. When ctx ends, it starts no further attempt and returns the
// context's cause, joined with the last error if there was one.
//
// After an Unauthorized answer, it tries once more after Options.Refresh. A Retry-After of the server lengthens a
// delay up to [MaxRetryAfter], but never past the deadline. Once a server that was away answers, if only with an
// error, the schedule starts again: such a server is mostly ready within seconds.
func RetryOnRetriableMaxBackOff(
	ctx context.Context,
	o Options,
	fn func(context.Context) error,
	retriable func(error) bool,
) error {
	r := o.newRun()
	for {
		if ctx.Err() != nil {
			return r.interruptedError(ctx)
		}
		err := r.makeAttempt(ctx, fn)
		if err == nil {
			r.reportAttempt(Attempt{Last: true})
			return nil
		}
		if Classify(err) == Unauthorized && r.Refresh != nil && !r.refreshed && ctx.Err() == nil {
			if failed := r.Refresh(ctx); failed != nil {
				err = failed
			} else {
				r.refreshed = true
				r.reportAttempt(Attempt{Err: err})
				continue
			}
		}
		switch {
		case ctx.Err() != nil:
			r.reportAttempt(Attempt{Err: err, Last: true})
			return r.interruptedError(ctx)
		case !retriable(err):
			r.reportAttempt(Attempt{Err: err, Last: true})
			return err
		}
		left := r.timeLeft()
		if left <= 0 {
			r.reportAttempt(Attempt{Err: err, Last: true})
			return &DeadlineError{Attempts: r.number, After: time.Since(r.startTime), Err: err}
		}
		delay := min(max(r.nextDelay(err), retryAfter(err)), left)
		r.reportAttempt(Attempt{Err: err, Delay: delay})
		if !SleepContext(ctx, delay) {
			return r.interruptedError(ctx)
		}
		if Elapsed(r.deadline, time.Now()) > r.AttemptTimeout {
			// The machine slept: the missed attempts are not made up for.
			return &DeadlineError{Attempts: r.number, After: time.Since(r.startTime), Err: err}
		}
	}
}

type retryRun struct {
	Options
	backoffNanos float64 // the next delay in nanoseconds, without jitter
	startTime    time.Time
	deadline     time.Time
	number       int
	lastErr      error
	refreshed    bool
	unanswered   bool // true if the last attempt got no answer
}

func (o Options) newRun() *retryRun {
	o.Backoff = o.Backoff.withDefaults()
	r := &retryRun{Options: o, backoffNanos: float64(o.Backoff.First)}
	if r.Rand == nil {
		r.Rand = rand.Float64
	}
	if r.Deadline <= 0 {
		r.Deadline = DefaultDeadline
	}
	if r.AttemptTimeout <= 0 {
		r.AttemptTimeout = DefaultAttemptTimeout
	}
	r.startTime = time.Now()
	r.deadline = r.startTime.Add(r.Deadline)
	return r
}

func (r *retryRun) makeAttempt(ctx context.Context, fn func(context.Context) error) error {
	r.number++
	ctx, cancel := context.WithTimeout(ctx, r.AttemptTimeout)
	defer cancel()
	r.lastErr = fn(ctx)
	return r.lastErr
}

// nextDelay returns the delay after an error. Only a schedule that has reached its cap starts again, so that an
// unstable server is not asked more often.
func (r *retryRun) nextDelay(err error) time.Duration {
	var status apierrors.APIStatus
	answered := errors.As(err, &status)
	b := r.Backoff
	if answered && r.unanswered && r.backoffNanos >= float64(b.Cap) {
		r.backoffNanos = float64(b.First)
	}
	r.unanswered = !answered
	delay := r.backoffNanos * (1 - b.Jitter*r.Rand())
	r.backoffNanos = min(r.backoffNanos*b.Factor, float64(b.Cap))
	return time.Duration(delay)
}

func (r *retryRun) timeLeft() time.Duration { return max(0, -Elapsed(r.deadline, time.Now())) }

func (r *retryRun) reportAttempt(a Attempt) {
	if r.OnAttempt == nil {
		return
	}
	a.Number, a.Remaining = r.number, r.timeLeft()
	r.OnAttempt(a)
}

// SleepContext waits for d. It is false if ctx ended before.
func SleepContext(ctx context.Context, d time.Duration) bool {
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

func (r *retryRun) interruptedError(ctx context.Context) error {
	cause := context.Cause(ctx)
	if r.lastErr == nil || errors.Is(r.lastErr, cause) {
		return cause
	}
	return errors.Join(cause, r.lastErr)
}

// These are the defaults of Backoff and Options.
const (
	DefaultFirst          = 250 * time.Millisecond
	DefaultFactor         = 2
	DefaultCap            = 8 * time.Second
	DefaultJitter         = 0.1
	DefaultDeadline       = 10 * time.Minute
	DefaultAttemptTimeout = 15 * time.Second
)

// Backoff is a schedule of delays between attempts.
type Backoff struct {
	First  time.Duration // the delay after the first attempt
	Factor float64       // the factor by which each delay grows
	Cap    time.Duration // the longest delay, which repeats once reached
	Jitter float64       // the largest random part, from 0 to 1, by which a delay is shortened
}

// CapBackoff returns the default schedule with the given cap, [DefaultCap] if that is zero or less. The cap limits a
// delay: in Velero's helper of the same name (pkg/client/retry.go, 1.18.3) it also ends the attempts.
func CapBackoff(cap time.Duration) Backoff {
	if cap <= 0 {
		cap = DefaultCap
	}
	return Backoff{First: min(DefaultFirst, cap), Factor: DefaultFactor, Cap: cap, Jitter: DefaultJitter}
}

// withDefaults returns the schedule with unusable values replaced by those of CapBackoff.
func (b Backoff) withDefaults() Backoff {
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
