package session

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Meter measures an API server's clock, its silence and the cost. It may be shared; nil measures
// nothing.
type Meter struct {
	now             func() time.Time
	requests, bytes atomic.Int64

	mu           sync.Mutex
	lastActivity time.Time
	offset       time.Duration
	known        bool
}

// NewMeter returns a meter by our own clock; nil stands for time.Now.
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

// Silence returns for how long nothing has come.
func (m *Meter) Silence() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now().Sub(m.lastActivity)
}

// Cost returns the number of requests, and of bytes in the answers after decompression.
func (m *Meter) Cost() (requests int, bytes int64) {
	return int(m.requests.Load()), m.bytes.Load()
}

// send notes a request and returns when it was sent.
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

// minOffset ignores the rounding of a Date, and the time of an answer.
const minOffset = 2 * time.Second

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
