package cmd

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

// warnings logs what the API server warns of (the Warning headers of its
// answers), each once: an admission webhook or a proxy may put any number of
// them on every answer. Its zero value logs nothing yet.
type warnings struct {
	log atomic.Pointer[slog.Logger]

	mu         sync.Mutex
	seen       map[string]bool
	leftOut    int
	nextReport int // how many are left out when that is said again
}

// HandleWarningHeader takes one warning.
func (w *warnings) HandleWarningHeader(code int, agent, text string) {
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
