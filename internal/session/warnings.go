package session

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/veltui/veltui/internal/sanitize"
)

// WriteFailures records the last failed write to each host: with a full etcd, reads still succeed.
type WriteFailures struct {
	Clock func() time.Time

	mu     sync.Mutex
	failed map[string]writeFailure // by host
}

type writeFailure struct {
	at  time.Time
	err string
}

const writeFailureAge = 5 * time.Minute // how long a failed write is reported if no other write follows

// LastFailure returns the failure of the last write to a host, empty if the write succeeded or is old.
func (w *WriteFailures) LastFailure(host string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	f, failed := w.failed[host]
	if !failed || w.Clock().Sub(f.at) > writeFailureAge {
		return ""
	}
	return f.err
}

// RecordWrites returns a transport wrapper that records the writes to a host.
func (w *WriteFailures) RecordWrites(host string) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return &writeTransport{next, w, host} }
}

type writeTransport struct {
	next     http.RoundTripper
	failures *WriteFailures
	host     string
}

// WrappedRoundTripper lets Kubernetes' packages close idle connections.
func (t *writeTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t *writeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	if !isStoredWrite(r) || r.Context().Err() != nil {
		return answer, err
	}
	t.failures.recordOutcome(t.host, r, answer, err)
	return answer, err
}

// isStoredWrite reports whether a request makes the API server write into etcd.
func isStoredWrite(r *http.Request) bool {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		unstored, dryRun := strings.Contains(r.URL.Path, "reviews") ||
			strings.HasSuffix(r.URL.Path, "/portforward"), r.URL.Query().
			Has("dryRun")
		return !unstored && !dryRun
	}
	return false
}

// recordOutcome records the outcome of a write. A write that the server refused is not a failure to store.
func (w *WriteFailures) recordOutcome(host string, r *http.Request, answer *http.Response, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil && answer.StatusCode < http.StatusBadRequest:
		delete(w.failed, host)
		return
	case err == nil && answer.StatusCode < http.StatusInternalServerError:
		return
	case err == nil:
		err = fmt.Errorf("the API server answers %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	}
	if w.failed == nil {
		w.failed = map[string]writeFailure{}
	}
	w.failed[host] = writeFailure{
		w.Clock(),
		fmt.Sprintf("%s %s: %v", r.Method, r.URL.Path, sanitize.String(err.Error())),
	}
}

const (
	maxWarnings     = 100 // different warnings logged in one run
	maxWarningRunes = 500 // characters
)

// Warnings logs the Warning headers of the API server, each once: a webhook or a proxy may put any number of them on
// every answer. The zero value logs nothing until SetLogger.
type Warnings struct {
	log atomic.Pointer[slog.Logger]

	mu         sync.Mutex
	seen       map[string]bool
	suppressed int
	nextReport int // the number of suppressed warnings at which they are reported again
}

func (w *Warnings) SetLogger(log *slog.Logger) { w.log.Store(log) }

func (w *Warnings) HandleWarningHeader(code int, agent, text string) {
	log := w.log.Load()
	if log == nil || text == "" {
		return
	}
	text = sanitize.Truncate(text, maxWarningRunes)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.seen[text]:
	case len(w.seen) < maxWarnings:
		if w.seen == nil {
			w.seen = map[string]bool{}
		}
		w.seen[text] = true
		log.Warn("warning from the API server", "code", code, "agent", sanitize.Truncate(agent, 100), "text", text)
	default:
		if w.suppressed++; w.suppressed > w.nextReport {
			w.nextReport = 10 * w.suppressed
			log.Warn("other warnings from the API server are left out", "count", w.suppressed)
		}
	}
}
