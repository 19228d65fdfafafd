package cache

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/statedir"
)

// Options say where indexes are kept and how many. A zero field means its default.
type Options struct {
	// Dir is made when it is needed. If it is empty, indexes are kept in memory only.
	Dir string
	// Cluster says whose backups these are, in any words: a cluster that was
	// restored from another's etcd has backups of the same uids.
	Cluster string
	// Identify returns the uid of the cluster's namespace kube-system, empty if it may not be read. It is called when
	// there is a file to be read or written, and until it has answered once; with an error, the disk is not used
	// any more. nil for a cluster that has none.
	Identify func(context.Context) (types.UID, error)
	// Files and Bytes bound what is on disk, least recently used first; default 64 files, 256 MiB.
	Files  int
	Bytes  int64
	Held   int              // how many indexes stay in memory; default 4
	Clock  func() time.Time // our own clock; default time.Now
	Failed func(error)      // called if the disk cannot be used; the cache then does without it
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
	sum := sha256.Sum256([]byte(o.Cluster))
	c := &Cache{
		disk: disk{cluster: hex.EncodeToString(sum[:8]), Dir: statedir.Dir{
			Path: o.Dir, Suffix: suffix, Files: cmp.Or(o.Files, 64), Bytes: cmp.Or(o.Bytes, 256<<20), Clock: o.Clock,
		}, identity: &identity{address: o.Cluster, identify: o.Identify}},
		most: cmp.Or(o.Held, 4), failed: o.Failed, flights: map[string]*flight{},
	}
	if c.disk.Clock == nil {
		c.disk.Clock = time.Now
	}
	if c.failed == nil {
		c.failed = func(error) {}
	}
	return c
}

// Read reads a backup's tarball. Like [collector.Read] it may return both an index and an error.
type Read func(ctx context.Context) (*collector.Index, error)

// Index returns the index of the backup with the given uid. If the cache has none, read is called: once for all who
// ask meanwhile, under a context that ends when the last of them has gone. That last one waits until read has cleaned
// up; the others return at once when their ctx ends.
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

// fly reads a backup for all who wait. A panic becomes their error: the terminal must be restored.
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

// leave takes one who waits off. After the last one the reading is cancelled.
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
	x, err := c.disk.load(ctx, uid)
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
	if err := c.disk.store(ctx, uid, x); err != nil {
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

const suffix = ".index"

// plainUID is what Kubernetes makes of uids, and safe as a file's name.
var plainUID = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z-]{0,63}$`)

// identity asks once which cluster the cache is of.
type identity struct {
	address  string
	identify func(context.Context) (types.UID, error)

	mu     sync.Mutex
	uid    types.UID
	known  bool
	failed bool // and the disk is not used
}

// errUnidentified is of a cluster that did not say which one it is.
var errUnidentified = errors.New("the cluster is not identified")

// cluster returns errUnidentified, without another question, after the first error.
func (i *identity) cluster(ctx context.Context) (statedir.Cluster, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.failed:
		return statedir.Cluster{}, errUnidentified
	case !i.known && i.identify != nil:
		uid, err := i.identify(ctx)
		if err != nil {
			i.failed = ctx.Err() == nil // who was called off did not hear the answer
			return statedir.Cluster{}, fmt.Errorf("%w: %w", errUnidentified, err)
		}
		i.uid = uid
	}
	i.known = true
	return statedir.Cluster{Address: i.address, UID: string(i.uid), Identified: true}, nil
}

// disk is the part of the cache that outlives the program.
type disk struct {
	statedir.Dir
	cluster  string // as part of a file's name
	identity *identity
}

// indexFormat is the version of what is sealed: the encoding of an index has its own.
const indexFormat = 1

// header says what the file of a backup is of.
func (d disk) header(ctx context.Context, uid string) (statedir.Header, error) {
	cluster, err := d.identity.cluster(ctx)
	return statedir.Header{Kind: "index", Format: indexFormat, Cluster: cluster, Backup: uid}, err
}

func (d disk) file(uid string) string { return d.cluster + "-" + uid + suffix }

func (d disk) keeps(uid string) bool { return d.Path != "" && plainUID.MatchString(uid) }

// load reads an index. It is nil if there is none, and with an error if there is one that cannot be used.
func (d disk) load(ctx context.Context, uid string) (*collector.Index, error) {
	if !d.keeps(uid) || !d.Has(d.file(uid)) {
		return nil, nil
	}
	want, err := d.header(ctx, uid)
	if err != nil {
		return nil, fmt.Errorf("reading a cached index: %w", err)
	}
	_, data, err := d.ReadSealed(d.file(uid), d.Bytes, want)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading a cached index: %w", err)
	}
	x := &collector.Index{}
	if err := x.UnmarshalBinary(data); err != nil {
		return nil, fmt.Errorf("reading a cached index: %w", err) // store replaces it
	}
	_ = d.Touch(d.file(uid)) // only says that it was used
	return x, nil
}

// store writes an index, whole or not at all, and makes room.
func (d disk) store(ctx context.Context, uid string, x *collector.Index) error {
	if !d.keeps(uid) {
		return nil
	}
	header, err := d.header(ctx, uid)
	if err != nil {
		return fmt.Errorf("caching an index: %w", err)
	}
	data, err := x.MarshalBinary()
	if err != nil {
		return fmt.Errorf("encoding an index: %w", err)
	}
	if int64(len(data)) > d.Bytes {
		return nil
	}
	if err := d.WriteSealed(d.file(uid), header, data); err != nil {
		return fmt.Errorf("caching an index: %w", err)
	}
	return nil
}
