package watch

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/testbed/fixture"
)

// stub is an API server that answers as the test says.
type stub struct{ *fixture.Server }

// A credential plugin that must ask the user something gets no advice that only others
// can follow.
func TestExpiredLoginOfAPluginThatAsks(t *testing.T) {
	for err, asks := range map[string]bool{
		`Get "https://a/version": getting credentials: exec plugin cannot support interactive mode: standard input is unavailable: quit and start again`: true,
		`Get "https://a/version": getting credentials: exec: executable login failed with exit code 1`:                                                   false,
		"the API server answers 401 Unauthorized": false,
	} {
		w := &Watcher{}
		fromBeat := w.currentHealth(livenessState{lost: true, denied: true, err: err}, nil)
		fromSource := w.currentHealth(livenessState{}, []sourceStatus{{Source: Source{Err: err}, denied: true}})
		for _, h := range []Health{fromBeat, fromSource} {
			if h.State != Unauthorized || h.NeedsLogin != asks || strings.HasSuffix(h.Err, loginAdvice) == asks {
				t.Errorf("%s: %+v", err, h)
			}
		}
	}
}

func newStub(t *testing.T, answer http.HandlerFunc) *stub {
	t.Helper()
	return &stub{fixture.NewServer(t, answer)}
}

func (s *stub) connect(t *testing.T) *connection {
	t.Helper()
	c, err := newGatedConnection(s.RESTConfig(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func nothingToList() []string { return nil }

func TestHeartbeatKnowsLifeFromDeath(t *testing.T) {
	released := make(chan struct{})
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   error
		words  string
	}{
		"ok":           {status(200), nil, ""},
		"forbidden":    {status(403), nil, ""},
		"not found":    {status(404), nil, ""},
		"throttled":    {status(429), nil, "429 Too Many Requests"},
		"unauthorized": {status(401), errRejected, "401 Unauthorized"},
		"starting":     {status(503), nil, "503 Service Unavailable"},
		"silent": {func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-released:
			}
		}, context.DeadlineExceeded, "no response within"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStub(t, c.answer)
			h := &heartbeat{timing: timing{answerTimeout: 200 * time.Millisecond}, clock: time.Now, listablePaths: nothingToList}
			if name != "silent" {
				h.timing.answerTimeout = enough
			}
			_, err := h.probeServer(t.Context(), s.connect(t))
			if (err == nil) != (c.words == "") || c.want != nil && !errors.Is(err, c.want) {
				t.Fatalf("got %v", err)
			}
			if err != nil && !strings.Contains(formatError(err), c.words) {
				t.Errorf("%q does not say %q", formatError(err), c.words)
			}
		})
	}
	close(released)
	t.Run("refused", func(t *testing.T) {
		s := newStub(t, status(200))
		c := s.connect(t)
		s.Close()
		h := &heartbeat{timing: timing{answerTimeout: enough}, clock: time.Now, listablePaths: nothingToList}
		if _, err := h.probeServer(t.Context(), c); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("got %v", err)
		}
	})
}

// The heartbeat asks for what only etcd knows, by a list that it may have, and takes no
// answer for one that the API server gives by itself.
func TestHeartbeatReadsFromEtcd(t *testing.T) {
	for name, c := range map[string]struct {
		codes map[string]int
		asked string
		ok    bool
	}{
		"the first":            {map[string]int{"/a": 200}, "/a", true},
		"one that may be read": {map[string]int{"/a": 403, "/b": 404, "/c": 200}, "/a /b /c", true},
		"none":                 {map[string]int{"/a": 403, "/b": 404, "/c": 403, "/version": 200}, "/a /b /c /version", true},
		"etcd fails":           {map[string]int{"/a": 500, "/version": 200}, "/a", false},
		"throttled":            {map[string]int{"/a": 429, "/version": 200}, "/a", false},
		"credentials rejected": {map[string]int{"/a": 401, "/version": 200}, "/a", false},
	} {
		var asked []string
		s := newStub(t, func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.Path)
			if q := r.URL.Query(); r.URL.Path != "/version" &&
				(q.Has("resourceVersion") || q.Get("limit") != "1" || q.Get("fieldSelector") != "metadata.name="+probeName) {
				t.Errorf("%s: %s is no small quorum read", name, r.URL)
			}
			w.WriteHeader(c.codes[r.URL.Path])
		})
		h := &heartbeat{
			timing:        timing{answerTimeout: enough},
			clock:         time.Now,
			listablePaths: func() []string { return []string{"/a", "/b", "/c"} },
		}
		if _, err := h.probeServer(t.Context(), s.connect(t)); (err == nil) != c.ok || strings.Join(asked, " ") != c.asked {
			t.Errorf("%s: asked %v: %v", name, asked, err)
		}
	}
}

// TestSnapshotsAreInTheClustersClock lets our own clock be an hour slow.
func TestSnapshotsAreInTheClustersClock(t *testing.T) {
	c := newCluster(t)
	w := c.watch(Options{Namespace: "nowhere", Clock: func() time.Time { return time.Now().Add(-time.Hour) }})
	s := w.until("the watch is live", func(s *Snapshot) bool { return isLive(s) && s.ClockOffset != 0 })
	if off := (s.ClockOffset - time.Hour).Abs(); off > time.Minute {
		t.Errorf("offset %v", s.ClockOffset)
	}
	if off := time.Since(s.At).Abs(); off > time.Minute {
		t.Errorf("taken at %v, which is %v off", s.At, off)
	}
	if off := time.Since(s.BuildWorld(time.Now().Add(-time.Hour)).Now).Abs(); off > time.Minute {
		t.Errorf("verdicts are told a time that is %v off", off)
	}
}

// TestGateHoldsRequestsBack checks that a server which is away costs nothing:
// while the heartbeat waits for its next attempt, no list reaches it.
func TestGateHoldsRequestsBack(t *testing.T) {
	var alive atomic.Bool
	s := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		if !alive.Load() {
			w.WriteHeader(503)
			return
		}
		io.WriteString(w, "{}")
	})
	c := s.connect(t)
	changed := make(chan struct{}, 100)
	h := &heartbeat{
		timing:           timing{period: time.Hour, answerTimeout: enough, outageBackoff: wait.Backoff{Duration: time.Hour}},
		clock:            time.Now,
		liveness:         &liveness{onChange: func() { changed <- struct{}{} }},
		retryNow:         make(chan struct{}, 1),
		listablePaths:    nothingToList,
		renewCredentials: func() bool { return false },
		onRecovery:       func() {},
		isDenied:         func() bool { return false },
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); h.runProbes(ctx, c) }()
	<-changed

	answers := make(chan error, 20)
	for range cap(answers) {
		go func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/apis", nil)
			if err == nil {
				var answer *http.Response
				if answer, err = c.gate.RoundTrip(r); err == nil {
					answer.Body.Close()
				}
			}
			answers <- err
		}()
	}
	gone, end := context.WithCancel(ctx)
	end()
	r, _ := http.NewRequestWithContext(gone, http.MethodGet, s.URL, nil)
	if _, err := c.gate.RoundTrip(r); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that was given up ended with %v", err)
	}
	if n := s.RequestCount(); n != 1 {
		t.Errorf("the server was asked %d times, want 1", n)
	}
	if p := h.liveness.currentState(); !p.lost || p.denied || time.Until(p.retryAt) < time.Minute {
		t.Errorf("liveness %+v", p)
	}

	alive.Store(true)
	h.retryNow <- struct{}{}
	for range cap(answers) {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	cancel()
	<-done
}

// flaky fails as often as it is told.
type flaky struct {
	failures int
	calls    int
	body     io.ReadCloser
}

func (f *flaky) RoundTrip(*http.Request) (*http.Response, error) {
	if f.calls++; f.calls <= f.failures {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: 200, Body: f.body}, nil
}

func TestGateTriesReadsOnceMore(t *testing.T) {
	for _, c := range []struct {
		method          string
		failures, calls int
		ok              bool
	}{
		{http.MethodGet, 0, 1, true},
		{http.MethodGet, 1, 2, true},
		{http.MethodGet, 2, 2, false},
		{http.MethodPost, 1, 1, false},
	} {
		f := &flaky{failures: c.failures, body: http.NoBody}
		g := newGate(f)
		g.openGate()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { // The heartbeat finds the server alive.
			select {
			case <-g.suspected:
				g.openGate()
			case <-ctx.Done():
			}
		}()
		r, err := http.NewRequestWithContext(ctx, c.method, "http://x", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := g.RoundTrip(r)
		if (err == nil) != c.ok || f.calls != c.calls {
			t.Errorf("%s after %d failures: %d calls, %v", c.method, c.failures, f.calls, err)
		}
		if err == nil {
			answer.Body.Close()
		}
		cancel()
		if len(g.inFlight) != 0 {
			t.Errorf("%d requests are still noted", len(g.inFlight))
		}
	}
}

func TestGateCutsWhatIsOpen(t *testing.T) {
	opened := make(chan struct{})
	s := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "x")
		w.(http.Flusher).Flush()
		close(opened)
		<-r.Context().Done()
	})
	c := s.connect(t)
	c.gate.openGate()
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	answer, err := c.gate.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	<-opened
	if _, err := answer.Body.Read(make([]byte, 1)); err != nil || c.gate.bodyReads.Load() == 0 {
		t.Errorf("%v; %d pieces were counted", err, c.gate.bodyReads.Load())
	}
	c.gate.cancelRequests()
	if _, err := answer.Body.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("an answer that was cut ends with %v", err)
	}
	answer.Body.Close()
}

// TestBusyServerIsNotCut has a server that never answers the heartbeat in time,
// but goes on telling a watch. Once it can be asked what it stores, that is stale.
func TestBusyServerIsNotCut(t *testing.T) {
	t.Run("while all is read", func(t *testing.T) { busyServer(t, nothingToList, false) })
	t.Run("later", func(t *testing.T) { busyServer(t, func() []string { return []string{"/apis/x"} }, true) })
}

func busyServer(t *testing.T, lists func() []string, lost bool) {
	g := newGate(nil)
	cut := make(chan struct{})
	g.inFlight[&inFlightRequest{gate: g, cancel: func() { close(cut) }}] = struct{}{}
	asked := make(chan struct{})
	busy := transport(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		g.bodyReads.Add(1)
		asked <- struct{}{}
		return nil, r.Context().Err()
	})
	h := &heartbeat{
		timing:           timing{period: time.Millisecond, answerTimeout: time.Millisecond},
		clock:            time.Now,
		liveness:         &liveness{onChange: func() {}},
		listablePaths:    lists,
		renewCredentials: func() bool { return false },
		onRecovery:       func() {},
		isDenied:         func() bool { return false },
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.runProbes(ctx, &connection{gate: g, ungated: busy, baseURL: &url.URL{Scheme: "http", Host: "x"}})
	}()
	for range 5 {
		<-asked
	}
	if p := h.liveness.currentState(); p.lost != lost || p.answered == lost {
		t.Errorf("liveness %+v", p)
	}
	select {
	case <-cut:
		t.Error("the watch was cut")
	default:
	}
	cancel()
	for {
		select {
		case <-asked:
		case <-done:
			return
		}
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func TestBrokenAnswerRaisesSuspicion(t *testing.T) {
	f := &flaky{body: io.NopCloser(brokenReader{})}
	g := newGate(f)
	g.openGate()
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x", nil)
	answer, err := g.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := answer.Body.Read(make([]byte, 1)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
	select {
	case <-g.suspected:
	default:
		t.Error("nobody was told")
	}
	answer.Body.Close()
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestSameAccess(t *testing.T) {
	a := &rest.Config{Host: "https://x", BearerToken: "t", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca")}}
	b := rest.CopyConfig(a)
	b.Dial = nil
	b.WarningHandler = rest.NoWarnings{}
	b.WrapTransport = func(rt http.RoundTripper) http.RoundTripper { return rt }
	if !hasSameAccess(a, b) {
		t.Error("the same credentials are told apart")
	}
	b.BearerToken = "u"
	if hasSameAccess(a, b) {
		t.Error("another token is not noticed")
	}
}
