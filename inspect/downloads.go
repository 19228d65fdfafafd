package inspect

import (
	"io"
	"slices"
	"sync"
)

// downloads tells all who wait for a backup how much of it has come: it is
// downloaded once, by the first of them.
type downloads struct {
	mu      sync.Mutex
	waiting map[string][]*Progress // by the backup's uid
}

// join waits for a backup until leave is called.
func (d *downloads) join(uid string, progress Progress) (leave func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting == nil {
		d.waiting = map[string][]*Progress{}
	}
	d.waiting[uid] = append(d.waiting[uid], &progress)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.waiting[uid] = slices.DeleteFunc(d.waiting[uid], func(p *Progress) bool { return p == &progress })
		if len(d.waiting[uid]) == 0 {
			delete(d.waiting, uid)
		}
	}
}

func (d *downloads) report(uid string, done, total int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, progress := range d.waiting[uid] {
		(*progress)(done, total)
	}
}

// counted tells how much was read through it.
type counted struct {
	io.Reader
	done, total int64
	progress    Progress
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.done += int64(n)
	c.progress(c.done, c.total)
	return n, err
}
