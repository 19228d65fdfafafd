package ui

import (
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"k8s.io/apimachinery/pkg/types"
)

// downloadPace is how often at most a download is drawn anew.
const downloadPace = 250 * time.Millisecond

// download is how much of a backup has come, between the goroutine that reads
// it and the screen.
type download struct {
	done, total atomic.Int64
	moved       chan struct{} // holds one
}

func newDownload() *download { return &download{moved: make(chan struct{}, 1)} }

// report is a [Progress].
func (d *download) report(done, total int64) {
	d.done.Store(done)
	d.total.Store(total)
	select {
	case d.moved <- struct{}{}:
	default: // the screen has not seen the last one yet
	}
}

// downloadMoved says that more of a backup has come.
type downloadMoved struct {
	uid    types.UID
	number int
}

// follow makes the command that waits until more has come, but not less than
// pause. It ends with the question, and says nothing while nothing comes.
func (q *question) follow(uid types.UID, pause time.Duration) tea.Cmd {
	ctx, number, moved := q.ctx, q.number, q.download.moved
	return guarded(func() tea.Msg {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
		select {
		case <-moved:
			return downloadMoved{uid, number}
		case <-ctx.Done():
			return nil
		}
	})
}

// advance takes over how much has come, and waits for more.
func (e *estimates) advance(m downloadMoved) tea.Cmd {
	q := e.questions[m.uid]
	if q == nil || q.number != m.number || !q.answer.pending {
		return nil
	}
	q.answer = &answer{pending: true, done: q.download.done.Load(), total: q.download.total.Load()}
	return q.follow(m.uid, downloadPace)
}
