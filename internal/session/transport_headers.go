package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/retry"
)

// Meter measures an API server's clock, its silence and the cost of requests. Several goroutines may share it.
type Meter struct {
	now             func() time.Time
	requests, bytes atomic.Int64

	mu           sync.Mutex
	lastActivity time.Time
	offset       time.Duration
	offsetKnown  bool
}

// NewMeter returns a meter that uses our own clock; nil means time.Now.
func NewMeter(now func() time.Time) *Meter {
	if now == nil {
		now = time.Now
	}
	return &Meter{now: now, lastActivity: now()}
}

// ClockOffset returns the API server's clock minus ours according to its last Date header, and whether there was one.
func (m *Meter) ClockOffset() (offset time.Duration, known bool) {
	if m == nil {
		return 0, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.offset, m.offsetKnown
}

func (m *Meter) SilentFor() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now().Sub(m.lastActivity)
}

// Totals returns the number of requests, and the number of bytes in the answers after decompression.
func (m *Meter) Totals() (requests int, bytes int64) { return int(m.requests.Load()), m.bytes.Load() }

func (m *Meter) countRequest() (at time.Time) {
	m.requests.Add(1)
	return m.now()
}

func (m *Meter) recordResponse(response *http.Response, sent time.Time) {
	now := m.now()
	offset, known := ClockOffset(response.Header.Get("Date"), sent, now)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lastActivity = now
	if known {
		m.offset, m.offsetKnown = offset, true
	}
}

func (m *Meter) countBytes(n int) {
	m.bytes.Add(int64(n))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lastActivity = m.now()
}

// smaller offsets come from the rounding of a Date, and from an answer's duration
const minClockOffset = 2 * time.Second

// ClockOffset returns the server's clock minus ours according to the Date of an answer, which is truncated to
// seconds; zero if they agree within two seconds. known is false without a date.
func ClockOffset(date string, sent, received time.Time) (offset time.Duration, known bool) {
	server, err := http.ParseTime(date)
	if err != nil {
		return 0, false
	}
	middle := sent.Add(received.Sub(sent) / 2)
	offset = server.Add(500 * time.Millisecond).Sub(middle)
	if offset.Abs() < minClockOffset {
		return 0, true
	}
	return offset.Round(time.Second), true
}

// capRetryAfter shortens the delay that a busy server asks for: Kubernetes' client repeats a request ten times. It
// removes an invalid delay, so that the client does not repeat.
func capRetryAfter(response *http.Response) {
	if response.Header.Get("Retry-After") == "" {
		return
	}
	delay, ok := retryAfter(response)
	if !ok {
		response.Header.Del("Retry-After")
		return
	}
	delay = min(max(delay, time.Second), retry.MaxRetryAfter)
	response.Header.Set("Retry-After", strconv.Itoa(int(delay/time.Second)))
}

// retryAfter parses the Retry-After header: seconds, or a date by the server's own clock (RFC 9110, 10.2.3). It is
// false for a negative delay and for anything else.
func retryAfter(response *http.Response) (time.Duration, bool) {
	text := response.Header.Get("Retry-After")
	if date, err := http.ParseTime(text); err == nil {
		now, err := http.ParseTime(response.Header.Get("Date"))
		if err != nil {
			return 0, false
		}
		return max(0, date.Sub(now)), true
	}
	seconds, err := strconv.ParseUint(text, 10, 64)
	switch {
	case err == nil:
		return time.Duration(min(seconds, uint64(retry.MaxRetryAfter/time.Second))) * time.Second, true
	case errors.Is(err, strconv.ErrRange):
		return retry.MaxRetryAfter, true
	}
	return 0, false
}

// retryLaterError returns an error for an answer that asks to retry later, else nil. An answer that is not a Status is
// marked as client-go marks it (apierrors.IsUnexpectedServerError): the server may have acted.
func retryLaterError(request *http.Request, response *http.Response, text []byte) error {
	asked := response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError
	delay, ok := retryAfter(response)
	if !asked || !ok {
		return nil
	}
	seconds := int32(delay / time.Second)
	var status metav1.Status
	if json.Unmarshal(text, &status) == nil && status.Kind == "Status" && int(status.Code) == response.StatusCode {
		if status.Details == nil {
			status.Details = &metav1.StatusDetails{}
		}
		status.Details.RetryAfterSeconds = seconds
		return &apierrors.StatusError{ErrStatus: status}
	}
	err := apierrors.NewGenericServerResponse(
		response.StatusCode,
		request.Method,
		schema.GroupResource{},
		"",
		"",
		int(seconds),
		true,
	)
	err.ErrStatus.Message = fmt.Sprintf(
		"the server is busy (%d %s) and asks to come back in %d s",
		response.StatusCode,
		http.StatusText(response.StatusCode),
		seconds,
	)
	return err
}
