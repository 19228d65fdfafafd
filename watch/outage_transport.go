package watch

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// gate is the transport of every list and watch. Requests wait here while the API server is away: otherwise they
// would run into the reflectors' exponential back-off, and return up to a minute late.
type gate struct {
	next      http.RoundTripper
	suspected chan struct{} // ready when a request failed in a way that the heartbeat should look into

	mu        sync.Mutex
	opened    chan struct{} // closed while the gate is open
	isOpen    bool
	inFlight  map[*inFlightRequest]struct{}
	bodyReads atomic.Uint64 // counts the successful reads from all answers' bodies
}

type inFlightRequest struct {
	io.ReadCloser
	gate   *gate
	cancel context.CancelFunc
	closed atomic.Bool
}

func newGate(next http.RoundTripper) *gate {
	return &gate{
		next:      next,
		suspected: make(chan struct{}, 1),
		opened:    make(chan struct{}),
		inFlight:  map[*inFlightRequest]struct{}{},
	}
}

// RoundTrip waits until the gate is open. A GET that fails on the way is sent once more when the heartbeat has found
// the server alive; the second error is returned to the caller.
func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.waitUntilOpen(r.Context()); err != nil {
		return nil, err
	}
	answer, err := g.sendRequest(r)
	if err == nil || r.Method != http.MethodGet || r.Context().Err() != nil {
		return answer, err
	}
	if err := g.waitUntilOpen(r.Context()); err != nil {
		return nil, err
	}
	return g.sendRequest(r)
}

func (g *gate) waitUntilOpen(ctx context.Context) error {
	g.mu.Lock()
	passable := g.opened
	g.mu.Unlock()
	select {
	case <-passable:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) sendRequest(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	f := &inFlightRequest{gate: g, cancel: cancel}
	g.mu.Lock()
	g.inFlight[f] = struct{}{}
	g.mu.Unlock()
	answer, err := g.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		f.finishRequest()
		if r.Context().Err() == nil {
			g.suspectOutage()
		}
		return nil, err
	}
	if answer.StatusCode == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") != "" {
		answer.Header.Set("Retry-After", "1") // a starting API server asks for five seconds, and is ready in one
	}
	f.ReadCloser = answer.Body
	answer.Body = f
	return answer, nil
}

func (g *gate) suspectOutage() {
	g.closeGate()
	trySend(g.suspected)
}

func (g *gate) closeGate() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isOpen {
		g.isOpen, g.opened = false, make(chan struct{})
	}
}

func (g *gate) openGate() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.isOpen {
		g.isOpen = true
		close(g.opened)
	}
}

// cancelRequests ends every request whose answer is still being read: a watch over a long silent connection may be
// dead unnoticed, and must not be taken for live when the server is back.
func (g *gate) cancelRequests() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for f := range g.inFlight {
		f.cancel()
	}
}

// Read passes on what it reads, and reports a broken connection.
func (f *inFlightRequest) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if n > 0 {
		f.gate.bodyReads.Add(1)
	}
	if err != nil && err != io.EOF && !f.closed.Load() {
		f.gate.suspectOutage()
	}
	return n, err
}

func (f *inFlightRequest) Close() error {
	f.closed.Store(true)
	err := f.ReadCloser.Close()
	f.finishRequest()
	return err
}

func (f *inFlightRequest) finishRequest() {
	f.cancel()
	f.gate.mu.Lock()
	defer f.gate.mu.Unlock()
	delete(f.gate.inFlight, f)
}
