package retry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// The same outages for ours and for Velero's helper, which is built from the
// schedule that Velero gives to apimachinery (pkg/client/retry.go CapBackoff).
func TestOutagesThatVelerosHelperGivesUpOn(t *testing.T) {
	for _, c := range []struct {
		outage      time.Duration
		veleroLands bool
	}{
		{5 * time.Second, true},
		{30 * time.Second, true},
		{45 * time.Second, false},
		{100 * time.Second, false},
		{4 * time.Minute, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := &outage{back: time.Now().Add(c.outage), err: syscall.ECONNREFUSED}
			err := RetryOnErrorMaxBackOff(t.Context(), Options{}, server.request)
			if err != nil {
				t.Fatalf("ours gave up: %v", err)
			}
			if late := time.Since(server.back); late < 0 || late > DefaultCap {
				t.Errorf("ours landed %s after the server came back, want within one step of %s", late, DefaultCap)
			}

			server = &outage{back: time.Now().Add(c.outage), err: syscall.ECONNREFUSED}
			err = asVelero(server.request)
			if landed := err == nil; landed != c.veleroLands {
				t.Errorf(
					"outage of %s: Velero's helper landed %v after %s, want %v",
					c.outage,
					landed,
					time.Since(server.attempts[0]),
					c.veleroLands,
				)
			}
		})
	}
}

// The numbers of Velero's schedule, so that the comparison above is with what
// it really does.
func TestVelerosHelperEndsAt39Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		server := &outage{back: began.Add(time.Hour), err: syscall.ECONNREFUSED}
		if err := asVelero(server.request); err == nil {
			t.Fatal("it got through an outage of an hour")
		}
		last := server.attempts[len(server.attempts)-1].Sub(began)
		if len(server.attempts) != 7 || last < 39*time.Second || last > 43*time.Second {
			t.Errorf("%d attempts, the last after %s; want 7, the last after 39 to 43 s", len(server.attempts), last)
		}
		if end := time.Since(began); end < 195*time.Second || end > 215*time.Second {
			t.Errorf("it returned after %s, want 195 to 215 s", end)
		}
	})
}

// asVelero runs apimachinery's loop (wait.ExponentialBackoff).
func asVelero(fn func(context.Context) error) error {
	b := wait.Backoff{
		Duration: 10 * time.Millisecond,
		Factor:   5,
		Jitter:   0.1,
		Steps:    math.MaxInt,
		Cap:      10 * time.Minute,
	}
	var err error
	for b.Steps > 0 {
		if err = fn(context.Background()); err == nil {
			return nil
		}
		if b.Steps == 1 {
			break
		}
		time.Sleep(b.Step())
	}
	return err
}

// Whatever the schedule and the outage: no sleep passes the deadline, the last
// attempt is made at it, delays keep to the cap and grow up to it but for
// jitter, and an outage shorter than the deadline is survived.
func TestScheduleProperties(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(5, 7207))
		for i := range 3000 {
			o := Options{
				Backoff: Backoff{
					First:  time.Duration(1 + random.Int64N(int64(5*time.Second))),
					Factor: 1 + 9*random.Float64(),
					Cap:    time.Duration(1 + random.Int64N(int64(time.Minute))),
					Jitter: random.Float64(),
				},
				Deadline: time.Duration(1 + random.Int64N(int64(20*time.Minute))),
				Rand:     random.Float64,
			}
			// A schedule of nanoseconds would make this test take hours.
			o.Backoff.First = max(o.Backoff.First, 10*time.Millisecond)
			o.Backoff.Cap = max(o.Backoff.Cap, o.Deadline/500)
			o.Backoff.Jitter = min(o.Backoff.Jitter, 0.9)
			began := time.Now()
			deadline := began.Add(o.Deadline)
			server := &outage{
				err:  syscall.ECONNRESET,
				back: began.Add(time.Duration(random.Int64N(int64(2 * o.Deadline)))),
				cost: time.Duration(random.Int64N(int64(time.Second))),
			}
			var slept []time.Duration
			var sleptUntil []time.Time
			o.OnAttempt = func(a Attempt) {
				if !a.Last {
					slept, sleptUntil = append(slept, a.Delay), append(sleptUntil, time.Now().Add(a.Delay))
				}
			}
			err := RetryOnErrorMaxBackOff(t.Context(), o, server.request)
			if problem := wrong(o, server, slept, sleptUntil, deadline, err); problem != "" {
				t.Fatalf("schedule %d (%+v, deadline %s, server back after %s, %s each): %s",
					i, o.Backoff, o.Deadline, server.back.Sub(began), server.cost, problem)
			}
		}
	})
}

func wrong(
	o Options,
	server *outage,
	slept []time.Duration,
	sleptUntil []time.Time,
	deadline time.Time,
	err error,
) string {
	b := o.Backoff.withDefaults()
	for i, until := range sleptUntil {
		d := slept[i]
		if until.After(deadline) {
			return fmt.Sprintf("sleep %d passes the deadline by %s", i, until.Sub(deadline))
		}
		if d > b.Cap {
			return fmt.Sprintf("sleep %d of %s is longer than the cap", i, d)
		}
		if i > 0 && !until.Equal(deadline) && float64(d) < float64(slept[i-1])*(1-b.Jitter)-1 {
			return fmt.Sprintf("sleep %d of %s is shorter than the one before, %s", i, d, slept[i-1])
		}
	}
	last := server.attempts[len(server.attempts)-1]
	if err == nil {
		if late := time.Since(server.back); late > b.Cap+2*server.cost {
			return fmt.Sprintf("landed %s after the server's return", late)
		}
		return ""
	}
	var over *DeadlineError
	switch {
	case !errors.As(err, &over) || !errors.Is(err, syscall.ECONNRESET):
		return fmt.Sprintf("ended with %v", err)
	case server.back.Before(deadline):
		return "gave up although the server came back in time"
	case last.Add(server.cost).Before(deadline):
		return fmt.Sprintf("the last attempt ended %s before the deadline", deadline.Sub(last.Add(server.cost)))
	case over.Attempts != len(server.attempts):
		return fmt.Sprintf("says %d attempts, made %d", over.Attempts, len(server.attempts))
	}
	return ""
}
