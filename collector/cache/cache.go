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

// Options set where indexes are kept and how many. A zero field means its default.
type Options struct {
	// Dir is the folder on disk, created when needed. If it is empty, indexes are kept in memory only.
	Dir string
	// Cluster is any text that names the cluster: a cluster that was restored from another cluster's etcd has backups
	// with the same uids.
	Cluster string
	// Identify returns the uid of the cluster's namespace kube-system, empty if it may not be read. It is called when a
	// file is to be read or written, until it has succeeded once; after an error, the disk is no longer used. It is nil
	// for a cluster without an identity.
	Identify func(context.Context) (types.UID, error)
	// MaxFiles and Bytes limit the files on disk; the least recently used are removed first. Default: 64 files, 256 MiB.
	MaxFiles int
	MaxBytes int64
	MaxHeld  int              // how many indexes stay in memory; default 4
	Clock    func() time.Time // our own clock; default time.Now
	OnError  func(error)      // called if the disk cannot be used; the cache then works without it
}

// Cache holds the indexes of one cluster's backups by the backups' uids. Several goroutines may use it, and several
// programs its folder.
type Cache struct {
	disk    diskStore
	maxHeld int
	onError func(error)

	mu    sync.Mutex
	held  []heldEntry // the most recently used last
	reads map[string]*sharedRead
}

type heldEntry struct {
	uid   string
	index *collector.Index
}

// Open returns a Cache. It does not access the disk yet.
func Open(o Options) *Cache {
	sum := sha256.Sum256([]byte(o.Cluster))
	c := &Cache{
		disk: diskStore{cluster: hex.EncodeToString(sum[:8]), Dir: statedir.Dir{
			Path:     o.Dir,
			Suffix:   fileSuffix,
			MaxFiles: cmp.Or(o.MaxFiles, 64),
			MaxBytes: cmp.Or(o.MaxBytes, 256<<20),
			Clock:    o.Clock,
		}, identity: &clusterIdentity{address: o.Cluster, identify: o.Identify}},
		maxHeld: cmp.Or(o.MaxHeld, 4), onError: o.OnError, reads: map[string]*sharedRead{},
	}
	if c.disk.Clock == nil {
		c.disk.Clock = time.Now
	}
	if c.onError == nil {
		c.onError = func(error) {}
	}
	return c
}

// ReadFunc reads a backup's tarball. Like [collector.Read] it may return both an index and an error.
type ReadFunc func(ctx context.Context) (*collector.Index, error)

// GetOrReadIndex returns the index of the backup with the given uid. If the cache has none, it calls read once for all
// concurrent callers, with a context that ends when the last of them has left. The last caller waits until read has
// cleaned up; the others return at once when their ctx ends.
//
// An index that read returns with an error is passed on, but not kept.
func (c *Cache) GetOrReadIndex(ctx context.Context, uid string, read ReadFunc) (*collector.Index, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if x := c.findHeldIndex(uid); x != nil {
		return x, nil
	}
	f := c.joinRead(ctx, uid, read)
	select {
	case <-f.done:
		return f.index, f.err
	case <-ctx.Done():
		if c.leaveRead(uid, f) {
			<-f.done
		}
		return nil, context.Cause(ctx)
	}
}

// sharedRead is one read that several callers wait for.
type sharedRead struct {
	cancel  context.CancelFunc
	waiters int // guarded by the cache's mutex
	done    chan struct{}
	index   *collector.Index // set before done is closed
	err     error
}

// joinRead joins the running read of a backup, or starts one.
func (c *Cache) joinRead(ctx context.Context, uid string, read ReadFunc) *sharedRead {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.reads[uid]; f != nil {
		f.waiters++
		return f
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &sharedRead{cancel: cancel, waiters: 1, done: make(chan struct{})}
	c.reads[uid] = f
	go c.runRead(own, f, uid, read)
	return f
}

// runRead reads a backup for all waiters. A panic becomes their error: the terminal must be restored.
func (c *Cache) runRead(ctx context.Context, f *sharedRead, uid string, read ReadFunc) {
	defer close(f.done)
	defer f.cancel()
	defer func() {
		if value := recover(); value != nil {
			f.index, f.err = nil, fmt.Errorf("reading a backup: %v\n%s", value, debug.Stack())
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.reads[uid] == f {
			delete(c.reads, uid)
		}
	}()
	f.index, f.err = c.loadIndex(ctx, uid, read)
}

// leaveRead removes a waiter, and cancels the read after the last one.
func (c *Cache) leaveRead(uid string, f *sharedRead) (last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.waiters--
	if f.waiters > 0 {
		return false
	}
	f.cancel()
	if c.reads[uid] == f {
		delete(c.reads, uid)
	}
	return true
}

func (c *Cache) loadIndex(ctx context.Context, uid string, read ReadFunc) (*collector.Index, error) {
	x, err := c.disk.loadIndex(ctx, uid)
	if err != nil {
		c.onError(err)
	}
	if x != nil {
		c.keepIndex(uid, x)
		return x, nil
	}
	x, err = read(ctx)
	if err != nil || x == nil {
		return x, err
	}
	c.keepIndex(uid, x)
	if err := c.disk.saveIndex(ctx, uid, x); err != nil {
		c.onError(err)
	}
	return x, nil
}

func (c *Cache) findHeldIndex(uid string) *collector.Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.held, func(e heldEntry) bool { return e.uid == uid })
	if i < 0 {
		return nil
	}
	e := c.held[i]
	c.held = append(slices.Delete(c.held, i, i+1), e)
	return e.index
}

func (c *Cache) keepIndex(uid string, x *collector.Index) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = slices.DeleteFunc(c.held, func(e heldEntry) bool { return e.uid == uid })
	c.held = append(c.held, heldEntry{uid, x})
	if extra := len(c.held) - c.maxHeld; extra > 0 {
		c.held = slices.Delete(c.held, 0, extra)
	}
}

const fileSuffix = ".index"

// plainUID matches uids as Kubernetes creates them, which are safe in file names.
var plainUID = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z-]{0,63}$`)

// clusterIdentity identifies the cache's cluster, once.
type clusterIdentity struct {
	address  string
	identify func(context.Context) (types.UID, error)

	mu         sync.Mutex
	uid        types.UID
	identified bool
	failed     bool // the disk is not used then
}

// errUnidentified means that the cluster could not be identified.
var errUnidentified = errors.New("the cluster is not identified")

// identifyCluster returns the identity of the cluster. After the first error it returns errUnidentified without
// another request.
func (i *clusterIdentity) identifyCluster(ctx context.Context) (statedir.ClusterID, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.failed:
		return statedir.ClusterID{}, errUnidentified
	case !i.identified && i.identify != nil:
		uid, err := i.identify(ctx)
		if err != nil {
			i.failed = ctx.Err() == nil // a cancelled caller did not get the answer
			return statedir.ClusterID{}, fmt.Errorf("%w: %w", errUnidentified, err)
		}
		i.uid = uid
	}
	i.identified = true
	return statedir.ClusterID{Address: i.address, UID: string(i.uid), Identified: true}, nil
}

// diskStore is the part of the cache that outlives the program.
type diskStore struct {
	statedir.Dir
	cluster  string // as part of a file's name
	identity *clusterIdentity
}

// indexFormat is the version of the sealed content; the encoding of an index has its own version.
const indexFormat = 2

// fileHeader returns the header of a backup's file.
func (d diskStore) fileHeader(ctx context.Context, uid string) (statedir.Header, error) {
	cluster, err := d.identity.identifyCluster(ctx)
	return statedir.Header{Kind: "index", Format: indexFormat, Cluster: cluster, Backup: uid}, err
}

func (d diskStore) fileName(uid string) string { return d.cluster + "-" + uid + fileSuffix }

func (d diskStore) canStore(uid string) bool { return d.Path != "" && plainUID.MatchString(uid) }

// loadIndex reads an index. It returns nil if there is none, and an error if the file cannot be used.
func (d diskStore) loadIndex(ctx context.Context, uid string) (*collector.Index, error) {
	if !d.canStore(uid) || !d.Exists(d.fileName(uid)) {
		return nil, nil
	}
	want, err := d.fileHeader(ctx, uid)
	if err != nil {
		return nil, fmt.Errorf("reading a cached index: %w", err)
	}
	_, data, err := d.ReadSealed(d.fileName(uid), d.MaxBytes, want)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading a cached index: %w", err)
	}
	x := &collector.Index{}
	if err := x.UnmarshalBinary(data); err != nil {
		return nil, fmt.Errorf("reading a cached index: %w", err) // saveIndex replaces the file
	}
	_ = d.Touch(d.fileName(uid)) // only records the use
	return x, nil
}

// saveIndex writes an index, in full or not at all, and removes the oldest files beyond the limits.
func (d diskStore) saveIndex(ctx context.Context, uid string, x *collector.Index) error {
	if !d.canStore(uid) {
		return nil
	}
	header, err := d.fileHeader(ctx, uid)
	if err != nil {
		return fmt.Errorf("caching an index: %w", err)
	}
	data, err := x.MarshalBinary()
	if err != nil {
		return fmt.Errorf("encoding an index: %w", err)
	}
	if int64(len(data)) > d.MaxBytes {
		return nil
	}
	if err := d.WriteSealed(d.fileName(uid), header, data); err != nil {
		return fmt.Errorf("caching an index: %w", err)
	}
	return nil
}
