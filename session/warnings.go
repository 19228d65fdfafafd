package session

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/veltui/veltui/internal/sanitize"
)

const (
	// maxWarnings is how many different warnings are logged in one run, and
	// maxWarning how many characters of each.
	maxWarnings = 100
	maxWarning  = 500
)

// Warnings logs what the API server warns of (the Warning headers of its
// answers), each once: an admission webhook or a proxy may put any number of
// them on every answer. Its zero value logs nothing yet.
type Warnings struct {
	log atomic.Pointer[slog.Logger]

	mu         sync.Mutex
	seen       map[string]bool
	leftOut    int
	nextReport int // how many are left out when that is said again
}

// LogTo sets where warnings are logged from now on.
func (w *Warnings) LogTo(log *slog.Logger) { w.log.Store(log) }

// HandleWarningHeader logs one warning.
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
