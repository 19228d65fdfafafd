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

// Meter measures an API server's clock, its silence and the cost. It may be shared.
type Meter struct {
	now             func() time.Time
	requests, bytes atomic.Int64

	mu           sync.Mutex
	lastActivity time.Time
	offset       time.Duration
	known        bool
}

// NewMeter measures by our own clock; nil stands for time.Now.
func NewMeter(now func() time.Time) *Meter {
	if now == nil {
		now = time.Now
	}
	return &Meter{now: now, lastActivity: now()}
}

// Offset returns the API server's clock minus ours by its last Date, and whether there was one.
func (m *Meter) Offset() (offset time.Duration, known bool) {
	if m == nil {
		return 0, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.offset, m.known
}

func (m *Meter) Silence() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now().Sub(m.lastActivity)
}

// Cost returns the number of requests, and of bytes in the answers after decompression.
func (m *Meter) Cost() (requests int, bytes int64) { return int(m.requests.Load()), m.bytes.Load() }

func (m *Meter) send() (at time.Time) {
	m.requests.Add(1)
	return m.now()
}

func (m *Meter) receive(response *http.Response, sent time.Time) {
	now := m.now()
	offset, known := ClockOffset(response.Header.Get("Date"), sent, now)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lastActivity = now
	if known {
		m.offset, m.known = offset, true
	}
}

func (m *Meter) read(n int) {
	m.bytes.Add(int64(n))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lastActivity = m.now()
}

const minOffset = 2 * time.Second // less comes of the rounding of a Date, and the time of an answer

// ClockOffset returns the server's clock minus ours by the Date of an answer, which has whole
// seconds, cut off; zero if they agree within two seconds. known is false without a date.
func ClockOffset(date string, sent, received time.Time) (offset time.Duration, known bool) {
	server, err := http.ParseTime(date)
	if err != nil {
		return 0, false
	}
	middle := sent.Add(received.Sub(sent) / 2)
	offset = server.Add(500 * time.Millisecond).Sub(middle)
	if offset.Abs() < minOffset {
		return 0, true
	}
	return offset.Round(time.Second), true
}

// capRetryAfter shortens the delay that a busy server asks for: Kubernetes' client repeats a
// request ten times. It removes what is no delay, so that the client does not repeat.
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

// retryAfter reads the header: seconds, or a date by the server's own clock (RFC 9110,
// 10.2.3). It is false for a delay below zero and for anything else.
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

// busy returns an error for an answer that asks to come back. One that is no Status is marked as
// client-go marks it (apierrors.IsUnexpectedServerError): the server may have acted.
func busy(request *http.Request, response *http.Response, text []byte) error {
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
