package watch

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// A watch ends when the kubeconfig, or what answers at its address, is about another
// cluster, and nothing of that one is ever shown.
func TestAnotherCluster(t *testing.T) {
	c := newCluster(t)
	for name, leave := range map[string]func(config *restConfig, moved *atomic.Bool){
		"the kubeconfig names another server": func(config *restConfig, _ *atomic.Bool) { config.Host = "https://localhost:1" },
		"the kubeconfig names another path":   func(config *restConfig, _ *atomic.Bool) { config.Host += "/k8s/clusters/b" },
		"its CA is another": func(config *restConfig, _ *atomic.Bool) {
			config.CAData = append(bytes.Clone(config.CAData), config.CAData...)
			config.ServerName = "b"
		},
		"another cluster is at the same address": func(_ *restConfig, moved *atomic.Bool) { moved.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			c := &cluster{c.ControlPlane, c.Client, t}
			ns := c.namespace("moved")
			c.create(&veleroapi.Backup{ObjectMeta: named(ns, "ours")})
			var moved atomic.Bool
			var current atomic.Pointer[restConfig]
			config := c.RESTConfig()
			config.Wrap(func(next http.RoundTripper) http.RoundTripper { return elsewhere{next, &moved} })
			current.Store(config)
			s := c.session(func() *restConfig { return current.Load() })
			w := c.watch(Options{Namespace: ns, Config: config, Session: s})
			w.until("the watch is live", func(s *Snapshot) bool { return isLive(s) && len(s.Jobs) == 1 })
			if s.Identity().UID == "" {
				t.Error("the cluster was not identified")
			}

			other := c.RESTConfig()
			other.Wrap(config.WrapTransport)
			leave(other, &moved)
			current.Store(other)
			last := w.until("the last snapshot says so", func(s *Snapshot) bool { return s.Health.State == Stale })
			if !strings.Contains(last.Health.Err, "context prod-east leads to another cluster now") ||
				len(last.Jobs) != 1 {
				t.Errorf("%+v with %d jobs", last.Health, len(last.Jobs))
			}
			var err error
			for err == nil {
				_, err = w.Next(t.Context())
			}
			var elsewhere *session.MovedError
			if !errors.As(err, &elsewhere) {
				t.Errorf("the watch ended with %v", err)
			}
		})
	}
}

// elsewhere answers with the identity of another cluster once it has moved.
type elsewhere struct {
	next  http.RoundTripper
	moved *atomic.Bool
}

func (e elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	if e.moved.Load() && strings.HasSuffix(r.URL.Path, "/namespaces/kube-system") {
		body := io.NopCloser(strings.NewReader(`{"metadata":{"uid":"another"}}`))
		return &http.Response{
			StatusCode: http.StatusOK,
			Header:     http.Header{"Content-Type": {"application/json"}},
			Body:       body,
			Request:    r,
		}, nil
	}
	return e.next.RoundTrip(r)
}
