package cache

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/statedir"
)

// Options say where indexes are kept and how many. A zero field means its
// default.
type Options struct {
	// Dir is the folder of the files; it is made when it is needed. Empty means
	// that indexes are kept in memory only.
	Dir string
	// Cluster says whose backups these are, in any words: a cluster that was
	// restored from another's etcd has backups of the same uids.
	Cluster string
	// Files and Bytes bound what is on disk; default 64 files, 256 MiB. What
	// was not used for longest goes first.
	Files int
	Bytes int64
	// Held is how many indexes stay in memory; default 4.
	Held int
	// Clock is our own clock; default time.Now.
	Clock func() time.Time
	// Failed is called if the disk cannot be used; the cache then does without it.
	Failed func(error)
}

// Cache holds indexes of one cluster's backups by the backups' uids. It may be used by
// several goroutines, and its folder by several programs.
type Cache struct {
	disk   disk
	most   int
	failed func(error)

	mu      sync.Mutex
	held    []entry // used last comes last
	flights map[string]*flight
}

type entry struct {
	uid   string
	index *collector.Index
}

// Open makes a Cache. It touches nothing yet.
func Open(o Options) *Cache {
	c := &Cache{
		disk: disk{cluster: fingerprint(o.Cluster), Dir: statedir.Dir{Path: o.Dir, Suffix: suffix, Files: o.Files, Bytes: o.Bytes, Clock: o.Clock}},
		most: o.Held, failed: o.Failed, flights: map[string]*flight{},
	}
	if c.disk.Files <= 0 {
		c.disk.Files = 64
	}
	if c.disk.Bytes <= 0 {
		c.disk.Bytes = 256 << 20
	}
	if c.disk.Clock == nil {
		c.disk.Clock = time.Now
	}
	if c.most <= 0 {
		c.most = 4
	}
	if c.failed == nil {
		c.failed = func(error) {}
	}
	return c
}

// Read reads a backup's tarball. Like [collector.Read] it may return both an
// index and an error.
type Read func(ctx context.Context) (*collector.Index, error)

// Index returns the index of the backup with the given uid. If the cache has
// none, read is called: once for all who ask meanwhile, under a context that
// ends when the last of them has gone. That last one waits until read has
// cleaned up; the others return at once when their ctx ends.
//
// What read returned with an error is passed on, and not kept.
func (c *Cache) Index(ctx context.Context, uid string, read Read) (*collector.Index, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if x := c.get(uid); x != nil {
		return x, nil
	}
	f := c.board(ctx, uid, read)
	select {
	case <-f.landed:
		return f.index, f.err
	case <-ctx.Done():
		if c.leave(uid, f) {
			<-f.landed
		}
		return nil, context.Cause(ctx)
	}
}

// flight is one reading that several wait for.
type flight struct {
	cancel  context.CancelFunc
	waiting int // guarded by the cache's mutex
	landed  chan struct{}
	index   *collector.Index // set before landed is closed
	err     error
}

// board joins the reading of a backup, or begins it.
func (c *Cache) board(ctx context.Context, uid string, read Read) *flight {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.flights[uid]; f != nil {
		f.waiting++
		return f
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{cancel: cancel, waiting: 1, landed: make(chan struct{})}
	c.flights[uid] = f
	go c.fly(own, f, uid, read)
	return f
}

// fly reads a backup for all who wait. A panic becomes their error: it must
// not end a program that has a terminal to restore.
func (c *Cache) fly(ctx context.Context, f *flight, uid string, read Read) {
	defer close(f.landed)
	defer f.cancel()
	defer func() {
		if value := recover(); value != nil {
			f.index, f.err = nil, fmt.Errorf("reading a backup: %v\n%s", value, debug.Stack())
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.flights[uid] == f {
			delete(c.flights, uid)
		}
	}()
	f.index, f.err = c.load(ctx, uid, read)
}

// leave takes one who waits off, and reports whether it was the last; then the
// reading is cancelled, and nobody can join it any more.
func (c *Cache) leave(uid string, f *flight) (last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.waiting--
	if f.waiting > 0 {
		return false
	}
	f.cancel()
	if c.flights[uid] == f {
		delete(c.flights, uid)
	}
	return true
}

func (c *Cache) load(ctx context.Context, uid string, read Read) (*collector.Index, error) {
	x, err := c.disk.load(uid)
	if err != nil {
		c.failed(err)
	}
	if x != nil {
		c.put(uid, x)
		return x, nil
	}
	x, err = read(ctx)
	if err != nil || x == nil {
		return x, err
	}
	c.put(uid, x)
	if err := c.disk.store(uid, x); err != nil {
		c.failed(err)
	}
	return x, nil
}

func (c *Cache) get(uid string) *collector.Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.held, func(e entry) bool { return e.uid == uid })
	if i < 0 {
		return nil
	}
	e := c.held[i]
	c.held = append(slices.Delete(c.held, i, i+1), e)
	return e.index
}

func (c *Cache) put(uid string, x *collector.Index) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = slices.DeleteFunc(c.held, func(e entry) bool { return e.uid == uid })
	c.held = append(c.held, entry{uid, x})
	if extra := len(c.held) - c.most; extra > 0 {
		c.held = slices.Delete(c.held, 0, extra)
	}
}
