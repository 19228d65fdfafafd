package watch

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

// outageKind is how a server is away.
type outageKind int

const (
	present   outageKind = iota
	stopped              // connections stand, and nothing is answered
	etcdHangs            // nothing that only etcd knows is answered
	killed               // connections are refused, and those that stood have ended
)

// fakeServer is an API server of an empty cluster without a network, for a bubble of testing/synctest.
type fakeServer struct {
	mu      sync.Mutex
	outage  outageKind
	changed chan struct{} // closed when outage changes
}

func newFakeServer() *fakeServer { return &fakeServer{changed: make(chan struct{})} }

func (f *fakeServer) set(o outageKind) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outage = o
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fakeServer) state() (outageKind, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.outage, f.changed
}

// CloseIdleConnections does what client-go expects of a transport: there is no connection.
func (f *fakeServer) CloseIdleConnections() {}

// RoundTrip implements http.RoundTripper.
func (f *fakeServer) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	readsEtcd := r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/namespaces") &&
		q.Get("resourceVersion") == ""
	for {
		outage, changed := f.state()
		if outage == killed {
			return nil, syscall.ECONNREFUSED
		}
		if outage == present || outage == etcdHangs && !readsEtcd {
			break
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	last := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch {
	case q.Has("watch"):
		var begin string
		if q.Has("sendInitialEvents") {
			begin = streamOf()
		}
		response := answerOf(r, http.StatusOK, "")
		response.Body = &fakeStream{Reader: strings.NewReader(begin), server: f, request: r}
		return response, nil
	case strings.HasPrefix(last, "selfsubjectaccess"):
		return answerOf(r, http.StatusCreated, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1",`+
			`"status":{"allowed":true}}`), nil
	case last == "version":
		return answerOf(r, http.StatusOK, `{"major":"1","minor":"36","gitVersion":"v1.36.3"}`), nil
	case last == "kube-system":
		return answerOf(r, http.StatusOK, `{"kind":"Namespace","apiVersion":"v1",`+
			`"metadata":{"name":"kube-system","uid":"kube-system-a"}}`), nil
	}
	return answerOf(r, http.StatusOK, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[]}`), nil
}

func answerOf(r *http.Request, code int, body string) *http.Response {
	return &http.Response{
		StatusCode: code, Status: fmt.Sprint(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(strings.NewReader(body)),
	}
}

// fakeStream is a watch that says nothing more, until its server is killed or nobody reads on.
type fakeStream struct {
	io.Reader
	server  *fakeServer
	request *http.Request
}

func (s *fakeStream) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	for {
		outage, changed := s.server.state()
		if outage == killed {
			return n, io.ErrUnexpectedEOF
		}
		select {
		case <-changed:
		case <-s.request.Context().Done():
			return n, s.request.Context().Err()
		}
	}
}

func (s *fakeStream) Close() error { return nil }

// staleWithin and liveWithin are what a person may rely on.
const staleWithin, liveWithin = 10 * time.Second, 2 * time.Second

// Data is stale soon after the API server, or only its etcd, has gone, and live again
// soon after it is back, after an outage of any length.
func TestOutagesAreNoticedInTime(t *testing.T) {
	for name, outage := range map[string]outageKind{"stopped": stopped, "etcd hangs": etcdHangs, "killed": killed} {
		for _, lasts := range []time.Duration{30 * time.Second, 5 * time.Minute, 3 * time.Hour} {
			t.Run(fmt.Sprint(name, " for ", lasts), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { testOutage(t, outage, lasts) })
			})
		}
	}
}

func testOutage(t *testing.T, outage outageKind, lasts time.Duration) {
	server := newFakeServer()
	c := &cluster{t: t}
	w := c.watch(Options{
		Namespace: "velero", timing: defaultTiming, Clock: time.Now,
		Config: &rest.Config{Host: "https://a.example.test", Transport: server},
	})
	w.until("the watch is live", isLive)
	time.Sleep(time.Minute + defaultTiming.period/2)

	gone := time.Now()
	server.set(outage)
	s := w.until("the data is stale", func(s *Snapshot) bool { return s.Health.State == Stale })
	if took := time.Since(gone); took > staleWithin {
		t.Errorf("stale after %v", took)
	}
	if before := gone.Sub(s.Health.Since); before < 0 || before > defaultTiming.period {
		t.Errorf("stale since %v before the outage, want at most one heartbeat", before)
	}
	time.Sleep(lasts)
	back := time.Now()
	server.set(present)
	w.until("the data is live again", isLive)
	if took := time.Since(back); took > liveWithin {
		t.Errorf("live %v after the API server was back", took)
	}
}
