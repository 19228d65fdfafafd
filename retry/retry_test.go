package retry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// outage is an API server that is away for a time; each request costs some.
type outage struct {
	back     time.Time
	cost     time.Duration
	err      error
	attempts []time.Time
}

func (o *outage) request(context.Context) error {
	o.attempts = append(o.attempts, time.Now())
	time.Sleep(o.cost)
	if time.Now().Before(o.back) {
		return o.err
	}
	return nil
}

// delays returns where the delays between attempts are recorded.
func delays(o *Options) *[]time.Duration {
	var found []time.Duration
	o.OnAttempt = func(a Attempt) {
		if !a.Last {
			found = append(found, a.Delay)
		}
	}
	return &found
}

var restores = schema.GroupResource{Group: "velero.io", Resource: "restores"}

func TestClassify(t *testing.T) {
	dial := &url.Error{
		Op:  "Patch",
		URL: "https://api",
		Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
	}
	reset := &url.Error{
		Op:  "Patch",
		URL: "https://api",
		Err: &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)},
	}
	status := func(code int) error {
		return apierrors.NewGenericServerResponse(code, "PATCH", restores, "r", "words", 0, true)
	}
	for _, c := range []struct {
		name      string
		err       error
		want      Class
		ambiguous bool
	}{
		{"refused", dial, Retriable, false},
		{"reset", reset, Retriable, true},
		{"end of file", &url.Error{Op: "Patch", Err: io.EOF}, Retriable, true},
		{"cut off", fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), Retriable, true},
		{"attempt's time over", fmt.Errorf("x: %w", context.DeadlineExceeded), Retriable, true},
		{"http2 lost", errors.New("http2: client connection lost"), Retriable, true},
		{"no such host", &url.Error{Op: "Get", Err: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}}, Retriable, false},
		{"handshake", &url.Error{Op: "Get", Err: errors.New("net/http: TLS handshake timeout")}, Retriable, true},
		{"alert", &net.OpError{Op: "remote error", Err: tls.AlertError(40)}, Retriable, true},
		{"certificate", &url.Error{Op: "Get", Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}, Retriable, false},
		{"429", apierrors.NewTooManyRequests("busy", 3), Retriable, false},
		{"500", status(500), Retriable, true},
		{"502", status(502), Retriable, true},
		{"503", apierrors.NewServiceUnavailable("starting"), Retriable, true},
		{"504", apierrors.NewTimeoutError("slow", 1), Retriable, true},
		{"server timeout", apierrors.NewServerTimeout(restores, "patch", 1), Retriable, true},
		{"etcd", apierrors.NewInternalError(errors.New("etcdserver: leader changed")), Retriable, true},
		{"etcd in words", errors.New("rpc error: etcdserver: no leader"), Retriable, true},
		{"501", status(501), Permanent, true},
		{"404", apierrors.NewNotFound(restores, "r"), Permanent, false},
		{"403", apierrors.NewForbidden(restores, "r", errors.New("no")), Permanent, false},
		{"422", apierrors.NewInvalid(schema.GroupKind{}, "r", nil), Permanent, false},
		{"405", apierrors.NewMethodNotSupported(restores, "patch"), Permanent, false},
		{"413", apierrors.NewRequestEntityTooLargeError("big"), Permanent, false},
		{"400", apierrors.NewBadRequest("bad"), Permanent, false},
		{"401", apierrors.NewUnauthorized("expired"), Unauthorized, false},
		{"409", apierrors.NewConflict(restores, "r", errors.New("changed")), Conflict, false},
		{"403 of a proxy", apierrors.NewGenericServerResponse(403, "PATCH", restores, "r", "<html>", 0, true), Permanent, true},
		{"404 of a proxy", apierrors.NewGenericServerResponse(404, "PATCH", restores, "r", "<html>", 0, true), Permanent, true},
		{"429 of a proxy", apierrors.NewGenericServerResponse(429, "PATCH", restores, "r", "<html>", 0, true), Retriable, true},
		{"408", apierrors.NewGenericServerResponse(408, "PATCH", restores, "r", "", 0, false), Retriable, true},
		{"credential plugin", &url.Error{Op: "Patch", Err: errors.New("getting credentials: exec: exit 1")}, Permanent, false},
		{"our own mistake", errors.New("json: unsupported type"), Permanent, true},
		{"cancelled", context.Canceled, Permanent, true},
		{"nothing", nil, Permanent, false},
	} {
		if got := Classify(c.err); got != c.want {
			t.Errorf("%s: class %d, want %d", c.name, got, c.want)
		}
		if got := !ProvesRejected(c.err) && !IsUnsent(c.err); c.err != nil && got != c.ambiguous {
			t.Errorf("%s: ambiguous %v, want %v", c.name, got, c.ambiguous)
		}
	}
}

func TestPermanentErrorsEndAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, err := range []error{
			apierrors.NewForbidden(restores, "r", errors.New("no")),
			apierrors.NewConflict(restores, "r", errors.New("changed")),
			apierrors.NewNotFound(restores, "r"),
			apierrors.NewUnauthorized("expired"),
		} {
			began, calls := time.Now(), 0
			got := RetryOnErrorMaxBackOff(t.Context(), Options{}, func(context.Context) error { calls++; return err })
			if calls != 1 || got != err || time.Since(began) != 0 {
				t.Errorf("%v: %d calls in %s, returned %v", err, calls, time.Since(began), got)
			}
		}
	})
}

func TestUnauthorizedIsTriedOnceMoreAfterRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		expired := apierrors.NewUnauthorized("expired")
		for _, c := range []struct {
			name        string
			refreshErr  error
			works       bool
			calls, done int
		}{
			{"new credentials work", nil, true, 2, 1},
			{"new credentials do not", nil, false, 2, 1},
			{"there are none", errors.New("no"), false, 1, 1},
		} {
			refreshed, calls := 0, 0
			err := RetryOnErrorMaxBackOff(t.Context(), Options{
				Refresh: func(context.Context) error { refreshed++; return c.refreshErr },
			}, func(context.Context) error {
				calls++
				if c.works && refreshed > 0 {
					return nil
				}
				return expired
			})
			if (err == nil) != c.works || calls != c.calls || refreshed != c.done {
				t.Errorf("%s: %v, %d calls, %d refreshes", c.name, err, calls, refreshed)
			}
		}
	})
}

func TestRetryAfterIsCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		err := RetryOnErrorMaxBackOff(
			t.Context(),
			Options{Deadline: 12 * time.Second, Backoff: Backoff{Cap: 2 * time.Second}},
			func(context.Context) error {
				at = append(at, time.Since(began))
				return apierrors.NewTooManyRequests("busy", 40)
			},
		)
		var over *DeadlineError
		if !errors.As(err, &over) {
			t.Fatalf("ended with %v", err)
		}
		if want := []time.Duration{0, 5 * time.Second, 10 * time.Second, 12 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("attempts at %v, want %v", at, want)
		}
	})
}

func TestReportOfAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &outage{back: time.Now().Add(time.Second), err: syscall.ECONNREFUSED}
		var got []Attempt
		o := Options{
			Deadline:  time.Minute,
			Rand:      func() float64 { return 0 },
			OnAttempt: func(a Attempt) { got = append(got, a) },
		}
		if err := RetryOnErrorMaxBackOff(t.Context(), o, server.request); err != nil {
			t.Fatal(err)
		}
		ms := time.Millisecond
		want := []Attempt{
			{Number: 1, Err: syscall.ECONNREFUSED, Delay: 250 * ms, Remaining: time.Minute},
			{Number: 2, Err: syscall.ECONNREFUSED, Delay: 500 * ms, Remaining: time.Minute - 250*ms},
			{Number: 3, Err: syscall.ECONNREFUSED, Delay: 1000 * ms, Remaining: time.Minute - 750*ms},
			{Number: 4, Last: true, Remaining: time.Minute - 1750*ms},
		}
		if !slices.Equal(got, want) {
			t.Errorf("reported\n%+v, want\n%+v", got, want)
		}
	})
}

func TestCancelledWhileWaitingStartsNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("ctrl-c")
		ctx, cancel := context.WithCancelCause(t.Context())
		calls := 0
		o := Options{OnAttempt: func(a Attempt) {
			if a.Number == 3 {
				time.AfterFunc(a.Delay/2, func() { cancel(cause) })
			}
		}}
		err := RetryOnErrorMaxBackOff(ctx, o, func(context.Context) error { calls++; return syscall.ECONNREFUSED })
		if !errors.Is(err, cause) || !errors.Is(err, syscall.ECONNREFUSED) || calls != 3 {
			t.Errorf("%v after %d calls", err, calls)
		}
		calls = 0
		err = RetryOnErrorMaxBackOff(ctx, Options{}, func(context.Context) error { calls++; return nil })
		if !errors.Is(err, cause) || calls != 0 {
			t.Errorf("an ended context: %v after %d calls", err, calls)
		}
	})
}

func TestAttemptTimeoutEndsOneAttemptOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		err := RetryOnErrorMaxBackOff(
			t.Context(),
			Options{AttemptTimeout: time.Millisecond},
			func(ctx context.Context) error {
				calls++
				if calls == 1 {
					<-ctx.Done() // a server that hangs
					return ctx.Err()
				}
				return nil
			},
		)
		if err != nil || calls != 2 {
			t.Errorf("%v after %d calls", err, calls)
		}
	})
}

// A server that was away for long lacks its caches when it returns, one kind after the
// other.
func TestScheduleBeginsAnewOnceTheServerAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := &url.Error{Op: "Get", Err: syscall.ECONNREFUSED}
		starting := apierrors.NewTooManyRequests("storage is (re)initializing", 0)
		for _, c := range []struct {
			name string
			err  func(call int) error
			want []time.Duration
		}{
			{"returns at the cap", func(call int) error {
				if call <= 3 {
					return away
				}
				return starting
			}, []time.Duration{1, 2, 4, 1, 2, 4, 4}},
			{"returns before the cap", func(call int) error {
				if call <= 1 {
					return away
				}
				return starting
			}, []time.Duration{1, 2, 4, 4}},
			{"comes and goes", func(call int) error {
				if call%2 == 1 {
					return away
				}
				return starting
			}, []time.Duration{1, 2, 4, 1, 2, 1, 2, 1}},
		} {
			o := Options{
				Rand:     func() float64 { return 0 },
				Backoff:  Backoff{First: 1, Cap: 4, Factor: 2},
				Deadline: time.Hour,
			}
			slept, calls := delays(&o), 0
			_ = RetryOnErrorMaxBackOff(t.Context(), o, func(context.Context) error {
				if calls++; calls > len(c.want) {
					return nil
				}
				return c.err(calls)
			})
			if !slices.Equal(*slept, c.want) {
				t.Errorf("%s: slept %v, want %v", c.name, *slept, c.want)
			}
		}
	})
}
