package watch

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// meddler answers requests for one resource in the API server's place.
type meddler struct {
	next     http.RoundTripper
	resource string
	// answer is the status code, 0 to let requests through.
	answer *atomic.Int32
	count  *atomic.Int32
}

func (m meddler) RoundTrip(r *http.Request) (*http.Response, error) {
	code := int(m.answer.Load())
	if code == 0 || !strings.HasSuffix(r.URL.Path, "/"+m.resource) {
		return m.next.RoundTrip(r)
	}
	m.count.Add(1)
	return &http.Response{
		StatusCode: code, Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(strings.NewReader("broken")),
	}, nil
}

func meddle(cfg *restConfig, resource string, code int32) (answer, count *atomic.Int32) {
	answer, count = &atomic.Int32{}, &atomic.Int32{}
	answer.Store(code)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return meddler{next, resource, answer, count} })
	return answer, count
}

func TestOneKindThatFailsIsNamed(t *testing.T) {
	c := newCluster(t)
	ns := c.namespace("failing")
	c.create(&veleroapi.Backup{ObjectMeta: named(ns, "b")}, &veleroapi.Restore{ObjectMeta: named(ns, "r")})
	cfg := c.RESTConfig()
	answer, _ := meddle(cfg, "restores", http.StatusInternalServerError)
	w := c.watch(Options{Config: cfg, Namespace: ns})
	s := w.until("the others are live", func(s *Snapshot) bool {
		return s.Health.State == Stale && sourceState(s, Backups) == SourceLive && len(s.Jobs) == 1
	})
	if !strings.Contains(s.Health.Err, Restores) || s.Health.Since.IsZero() {
		t.Errorf("health %+v", s.Health)
	}
	answer.Store(0)
	w.Retry()
	w.until("all is live", func(s *Snapshot) bool { return isLive(s) && len(s.Jobs) == 2 })
}

// TestTokenRefusedForResourcesOnly is a server that lets everybody ask for its
// version, so that the heartbeat alone would notice nothing.
func TestTokenRefusedForResourcesOnly(t *testing.T) {
	c := newCluster(t)
	ns := c.namespace("refused")
	c.create(&veleroapi.Backup{ObjectMeta: named(ns, "b")})
	cfg := c.RESTConfig()
	meddle(cfg, "backups", http.StatusUnauthorized)
	var renewed atomic.Bool
	good := c.RESTConfig()
	good.BearerToken = "other"
	w := c.watch(Options{Config: cfg, Namespace: ns, Session: c.session(func() *restConfig {
		if renewed.Load() {
			return good
		}
		return cfg
	})})
	s := w.until("the refusal is known", func(s *Snapshot) bool { return s.Health.State == Unauthorized })
	if !strings.Contains(s.Health.Err, "log in again") {
		t.Errorf("health %+v", s.Health)
	}
	renewed.Store(true)
	w.until("the other credentials are used", func(s *Snapshot) bool { return isLive(s) && len(s.Jobs) == 1 })
}

// TestNobodyIsToldSo is a kubeconfig whose credentials were lost: the API
// server takes us for anonymous and forbids everything.
func TestNobodyIsToldSo(t *testing.T) {
	c := newCluster(t)
	cfg := c.RESTConfig()
	nobody := &restConfig{Host: cfg.Host, TLSClientConfig: cfg.TLSClientConfig}
	nobody.CertData, nobody.KeyData = nil, nil
	w := c.watch(Options{Config: nobody, Namespace: "velero"})
	w.until("the lack of credentials is known", func(s *Snapshot) bool { return s.Health.State == Unauthorized })
}

func TestConfigThatCannotBeUsed(t *testing.T) {
	if _, err := New(t.Context(), Options{}); err == nil {
		t.Error("no configuration is taken for one")
	}
	cfg := &restConfig{Host: "https://localhost:1"}
	cfg.CAFile = "does-not-exist.pem"
	if _, err := New(
		t.Context(),
		Options{Config: cfg},
	); err == nil ||
		!strings.Contains(err.Error(), "does-not-exist.pem") {
		t.Errorf("a missing file is reported as %v", err)
	}
}

// TestPanicBecomesAnError checks that a resource which our own code cannot take
// ends neither the program nor its terminal.
func TestPanicBecomesAnError(t *testing.T) {
	s := newSource(kinds[0], NewStore(time.Now, 0), time.Now, slog.New(slog.DiscardHandler))
	broken := &cache.ListWatch{
		ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { panic("boom") },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (apiwatch.Interface, error) { panic("boom") },
	}
	r := cache.NewReflector(broken, nil, reflectorStore{s}, 0)
	if err := s.listAndWatch(t.Context(), r); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("got %v", err)
	}
}
