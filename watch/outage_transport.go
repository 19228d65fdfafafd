package watch

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// gate is the transport of every list and watch. Requests wait here while the API server is away: they would run into
// the reflectors' exponential back-off, and so return up to a minute late.
type gate struct {
	next      http.RoundTripper
	suspected chan struct{} // ready when a request failed in a way that the heartbeat should look into

	mu       sync.Mutex
	passable chan struct{} // closed while the gate is open
	open     bool
	flights  map[*flight]struct{}
	answers  atomic.Uint64 // counts the pieces that were read of all answers
}

type flight struct {
	io.ReadCloser
	gate   *gate
	cancel context.CancelFunc
	closed atomic.Bool
}

func newGate(next http.RoundTripper) *gate {
	return &gate{
		next:      next,
		suspected: make(chan struct{}, 1),
		passable:  make(chan struct{}),
		flights:   map[*flight]struct{}{},
	}
}

// RoundTrip waits until the gate is open. A read that fails on the way is sent once more when
// the heartbeat has found the server alive; what fails then is the caller's.
func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.pass(r.Context()); err != nil {
		return nil, err
	}
	answer, err := g.send(r)
	if err == nil || r.Method != http.MethodGet || r.Context().Err() != nil {
		return answer, err
	}
	if err := g.pass(r.Context()); err != nil {
		return nil, err
	}
	return g.send(r)
}

func (g *gate) pass(ctx context.Context) error {
	g.mu.Lock()
	passable := g.passable
	g.mu.Unlock()
	select {
	case <-passable:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) send(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	f := &flight{gate: g, cancel: cancel}
	g.mu.Lock()
	g.flights[f] = struct{}{}
	g.mu.Unlock()
	answer, err := g.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		f.land()
		if r.Context().Err() == nil {
			g.suspect()
		}
		return nil, err
	}
	if answer.StatusCode == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") != "" {
		answer.Header.Set("Retry-After", "1") // an API server that starts asks for five seconds, and is ready in one
	}
	f.ReadCloser = answer.Body
	answer.Body = f
	return answer, nil
}

func (g *gate) suspect() {
	g.shut()
	notify(g.suspected)
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open {
		g.open, g.passable = false, make(chan struct{})
	}
}

func (g *gate) unlock() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open {
		g.open = true
		close(g.passable)
	}
}

// cut ends every answer that is still being read: a watch over a connection that is silent for
// long may be dead without knowing, and must not be taken for live when the server is back.
func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for f := range g.flights {
		f.cancel()
	}
}

// Read passes on what it reads, and reports a connection that breaks.
func (f *flight) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if n > 0 {
		f.gate.answers.Add(1)
	}
	if err != nil && err != io.EOF && !f.closed.Load() {
		f.gate.suspect()
	}
	return n, err
}

func (f *flight) Close() error {
	f.closed.Store(true)
	err := f.ReadCloser.Close()
	f.land()
	return err
}

func (f *flight) land() {
	f.cancel()
	f.gate.mu.Lock()
	defer f.gate.mu.Unlock()
	delete(f.gate.flights, f)
}
