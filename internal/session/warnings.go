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

// WriteFailures remembers the last failed writes: with a full etcd, reads are still answered.
type WriteFailures struct {
	Clock func() time.Time

	mu     sync.Mutex
	failed map[string]writeFailure // by host
}

type writeFailure struct {
	at  time.Time
	err string
}

const writeFailureAge = 5 * time.Minute // how long a failed write is reported that no other one followed

// Last returns the failure of the last write to a host, empty if it was stored or is old.
func (w *WriteFailures) Last(host string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	f, failed := w.failed[host]
	if !failed || w.Clock().Sub(f.at) > writeFailureAge {
		return ""
	}
	return f.err
}

// Watch returns a transport that takes note of the writes to a host.
func (w *WriteFailures) Watch(host string) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return &writeWatch{next, w, host} }
}

type writeWatch struct {
	next     http.RoundTripper
	failures *WriteFailures
	host     string
}

// WrappedRoundTripper lets Kubernetes' packages close idle connections.
func (t *writeWatch) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t *writeWatch) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	if !stores(r) || r.Context().Err() != nil {
		return answer, err
	}
	t.failures.note(t.host, r, answer, err)
	return answer, err
}

// stores reports whether a request makes the API server write into etcd.
func stores(r *http.Request) bool {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		unstored, dryRun := strings.Contains(r.URL.Path, "reviews") ||
			strings.HasSuffix(r.URL.Path, "/portforward"), r.URL.Query().
			Has("dryRun")
		return !unstored && !dryRun
	}
	return false
}

// note takes in how a write ended. One that the server refused was no failure of storing.
func (w *WriteFailures) note(host string, r *http.Request, answer *http.Response, err error) {
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
	maxWarnings = 100 // different ones that are logged in one run
	maxWarning  = 500 // characters
)

// Warnings logs the Warning headers of the API server, each once: a webhook or a proxy may put any
// number of them on every answer. The zero value logs nothing yet.
type Warnings struct {
	log atomic.Pointer[slog.Logger]

	mu         sync.Mutex
	seen       map[string]bool
	leftOut    int
	nextReport int // how many are left out when that is said again
}

func (w *Warnings) LogTo(log *slog.Logger) { w.log.Store(log) }

func (w *Warnings) HandleWarningHeader(code int, agent, text string) {
	log := w.log.Load()
	if log == nil || text == "" {
		return
	}
	text = sanitize.Cut(text, maxWarning)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.seen[text]:
	case len(w.seen) < maxWarnings:
		if w.seen == nil {
			w.seen = map[string]bool{}
		}
		w.seen[text] = true
		log.Warn("warning from the API server", "code", code, "agent", sanitize.Cut(agent, 100), "text", text)
	default:
		if w.leftOut++; w.leftOut > w.nextReport {
			w.nextReport = 10 * w.leftOut
			log.Warn("other warnings from the API server are left out", "count", w.leftOut)
		}
	}
}
