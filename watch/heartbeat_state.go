package watch

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync"
	"time"
)

// liveness publishes what the heartbeat has found out.
type liveness struct {
	// changed is called after every change.
	changed func()

	mu  sync.Mutex
	now livenessState
}

// livenessState holds times of our own clock.
type livenessState struct {
	// heard is true once the server has answered, lost while it does not, and denied while it
	// refuses our credentials.
	heard, lost, denied bool
	misdirected         bool // true while lost to an error that time does not mend
	// answeredAt is when the server last answered, lostAt when it stopped.
	answeredAt, lostAt time.Time
	// err and retryAt are only set while lost.
	err     string
	retryAt time.Time
	offset  time.Duration // the server's clock minus ours
}

func (p *liveness) read() livenessState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// beat records an answer, and returns true for the first one, or the first after a loss.
func (p *liveness) beat(at time.Time, offset time.Duration) (again bool) {
	p.mu.Lock()
	old := p.now
	// The header's whole seconds make the offset jump by one.
	if (offset == 0) == (old.offset == 0) && (offset-old.offset).Abs() <= time.Second {
		offset = old.offset
	}
	p.now = livenessState{heard: true, answeredAt: at, offset: offset}
	p.mu.Unlock()
	again = !old.heard || old.lost
	if again || offset != old.offset {
		p.changed()
	}
	return again
}

// miss records a missing or refusing answer; the next attempt follows after the pause.
func (p *liveness) miss(at time.Time, err error, pause time.Duration) {
	p.mu.Lock()
	if !p.now.lost {
		p.now.lostAt = at
	}
	p.now.lost = true
	p.now.denied, p.now.misdirected = errors.Is(err, errRejected), misdirected(err)
	p.now.err, p.now.retryAt = words(err), at.Add(pause)
	p.mu.Unlock()
	p.changed()
}

// misdirected reports whether an error means a wrong address, or a server other than the
// kubeconfig's.
func misdirected(err error) bool {
	var (
		host        *net.DNSError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
	)
	return errors.As(err, &host) && host.IsNotFound || errors.As(err, &certificate) || errors.As(err, &record) ||
		// net/http has no type for this.
		err != nil && strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}
