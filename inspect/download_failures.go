package inspect

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/veltui/veltui/stored/artifact"
)

// What failed is tried again after firstRetry, then after twice as long each
// time, up to lastRetry.
const (
	firstRetry = time.Minute
	lastRetry  = time.Hour
	// maxFailures is how many backups are remembered.
	maxFailures = 1000
)

// failures remembers which backups could not be downloaded: each restore of one
// asks for it, and a tarball may be large, or the store slow to say no.
type failures struct {
	mu sync.Mutex
	of map[string]failure // by the backup's uid
}

type failure struct {
	err  error
	at   time.Time
	wait time.Duration
}

// recent is why a backup is not tried now, nil if it is.
func (f *failures) recent(uid string, now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, failed := f.of[uid]
	if next := last.at.Add(last.wait); failed && now.Before(next) {
		return fmt.Errorf("%w (at %s; veltui tries again at %s)", last.err, last.at.Format(time.TimeOnly), next.Format(time.TimeOnly))
	}
	return nil
}

// note takes how a download ended.
func (f *failures) note(uid string, err error, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, failed := f.of[uid]
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, ErrNoDownload), errors.Is(err, artifact.ErrForbidden):
		return // says nothing about the backup, and costs nothing to ask
	case err == nil:
		delete(f.of, uid)
		return
	case failed && now.Before(last.at.Add(last.wait)):
		return // somebody else who waited for the same download
	case len(f.of) >= maxFailures && !failed:
		return
	}
	if f.of == nil {
		f.of = map[string]failure{}
	}
	f.of[uid] = failure{err, now, min(max(firstRetry, 2*last.wait), lastRetry)}
}
