package watch

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/veltui/veltui/internal/session"
)

// ErrStopped is what [Watcher.Next] returns once the Watcher has stopped.
var ErrStopped = errors.New("the watcher has stopped")

// installationRetry is the pause between attempts to find Velero's namespace.
var installationRetry = wait.Backoff{Duration: 2 * time.Second, Factor: 2, Jitter: 0.2, Steps: 5, Cap: 30 * time.Second}

// Watcher follows one Velero installation.
type Watcher struct {
	opts     Options
	store    *Store
	sources  []*source
	etcd     *etcdWatch
	liveness *liveness
	beats    *heartbeat

	latest atomic.Pointer[Snapshot]
	told   atomic.Pointer[time.Time] // when Next returned a snapshot last, nil before the first
	stop   context.CancelFunc
	done   chan struct{}

	mu              sync.Mutex
	installation    installation // where Velero is; its namespace is empty until that is known
	installationErr string       // why the installation is not known yet
	renewed         *connection  // a connection with newer credentials, to be taken next
	present         *connection
	complete        bool   // true once each source has been heard of, in this namespace
	moved           error  // why the watch has ended, if it has because of another cluster
	health          Health // the last one that a snapshot had, to date the changes of it
}

// New starts to watch until ctx ends and returns at once. It fails for a configuration that names a missing file.
func New(ctx context.Context, o Options) (*Watcher, error) {
	if o.Config == nil {
		return nil, errors.New("starting to watch: there is no client configuration")
	}
	o = o.withDefaults()
	c, err := connect(o.Config, o.Log)
	if err != nil {
		return nil, err
	}
	w := &Watcher{opts: o, present: c, done: make(chan struct{})}
	w.store = NewStore(w.now, o.Journal)
	w.store.sums, w.store.left.within = o.SumVolumes, o.EndedWithin
	w.liveness = &liveness{changed: w.store.signal}
	w.beats = &heartbeat{
		timing:   o.timing,
		clock:    o.Clock,
		liveness: w.liveness,
		kick:     make(chan struct{}, 1),
		session:  o.Session,
		lists:    w.lists,
		renew:    w.renew,
		revived:  w.retrySources,
		denied:   w.denied,
	}
	var jobs []*source
	for _, k := range o.kinds() {
		s := newSource(k, w.store, w.now, o.Log)
		s.appeared = w.retryMissing
		switch {
		case k.input != nil:
			jobs = append(jobs, s)
		case k.volume != nil:
			// What decides comes first: the jobs, then what they move.
			s.after = jobs
		}
		w.sources = append(w.sources, s)
	}
	w.etcd = newEtcdWatch(w.store, w.now, o.Log)
	w.health = Health{State: Connecting, Since: o.Clock()}
	w.latest.Store(w.snapshot())
	w.store.signal()
	// client-go logs to what it finds in the context, else to the terminal.
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(o.Log.Handler()))
	ctx, w.stop = context.WithCancel(ctx)
	go w.run(ctx, c)
	return w, nil
}

func (w *Watcher) now() time.Time {
	if w.liveness == nil {
		return w.opts.Clock()
	}
	return w.opts.Clock().Add(w.liveness.read().offset)
}

// Next waits for a change and returns the newest snapshot; the first call returns at once. It is for one reader. A
// watch that ends because of another cluster says so in a last snapshot, then in a [session.MovedError].
func (w *Watcher) Next(ctx context.Context) (*Snapshot, error) {
	select {
	case <-w.store.Dirty():
	case <-w.done:
		select {
		case <-w.store.Dirty():
			return w.next(), nil
		default:
			w.mu.Lock()
			defer w.mu.Unlock()
			return nil, cmp.Or(w.moved, ErrStopped)
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if wait := w.gathers(); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			// The change is still to be told.
			w.store.signal()
			return nil, ctx.Err()
		}
	}
	select {
	case <-w.store.Dirty():
	default:
	}
	return w.next(), nil
}

func (w *Watcher) next() *Snapshot {
	s := w.snapshot()
	w.latest.Store(s)
	told := time.Now()
	w.told.Store(&told)
	return s
}

// gathers is how long to wait after a change for others to come.
func (w *Watcher) gathers() time.Duration {
	told := w.told.Load()
	switch {
	case told == nil:
		return 0
	case w.Latest().Health.State != Live, w.liveness.read().lost:
		return w.opts.Window
	}
	return max(w.opts.Window, windowsApart*w.opts.Window-time.Since(*told))
}

// Latest returns the snapshot that [Watcher.Next] returned last, or an empty one.
func (w *Watcher) Latest() *Snapshot { return w.latest.Load() }

// Retry reads the credentials again and tries everything that does not work.
func (w *Watcher) Retry() {
	notify(w.beats.kick)
	w.retrySources()
}

func (w *Watcher) Stop() {
	w.stop()
	<-w.done
}

func (w *Watcher) retrySources() {
	retryUnless(w.sources, SourceLive)
	w.etcd.retry()
}

// retryUnless ends the pauses of the sources in another state.
func retryUnless(sources []*source, state SourceState) {
	for _, s := range sources {
		if s.status().State != state {
			notify(s.kick)
		}
	}
}

func (w *Watcher) denied() bool {
	return slices.ContainsFunc(w.sources, func(s *source) bool { return s.status().denied })
}

// retryMissing: Velero's CRDs are installed together.
func (w *Watcher) retryMissing() {
	for _, s := range w.sources {
		if s.status().State == SourceMissing {
			notify(s.kick)
		}
	}
}

// lists returns the read kinds' paths, first the locations, which each role may list.
func (w *Watcher) lists() (paths []string) {
	w.mu.Lock()
	namespace, complete := w.installation.namespace, w.complete
	w.mu.Unlock()
	if !complete {
		return nil // a busy server may answer late while all is read at once
	}
	for _, s := range w.sources {
		if s.status().State != SourceLive {
			continue
		}
		at := len(paths)
		if s.kind.resource == Locations {
			at = 0
		}
		paths = slices.Insert(paths, at, pathOf(s.kind, namespace))
	}
	return paths
}

func (w *Watcher) run(ctx context.Context, c *connection) {
	defer close(w.done)
	defer w.stop()
	for c != nil && ctx.Err() == nil {
		w.follow(ctx, c)
		w.mu.Lock()
		c, w.renewed = w.renewed, nil
		w.mu.Unlock()
	}
}

// follow watches over one connection until ctx ends or another is there.
func (w *Watcher) follow(ctx context.Context, c *connection) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.mu.Lock()
	w.present = c
	w.mu.Unlock()
	var all sync.WaitGroup
	all.Go(func() {
		defer cancel()
		if moved := w.beats.run(ctx, c); moved != nil {
			w.mu.Lock()
			w.moved = moved
			w.mu.Unlock()
		}
	})
	all.Go(func() { w.watchInstallations(ctx, c) })
	if len(w.opts.Only) == 0 {
		all.Go(func() { w.etcd.run(ctx, c.rest) })
	}
	all.Wait()
	utilnet.CloseIdleConnectionsFor(c.direct)
}

// watchInstallations watches where Velero is found, and looks again while that is only a guess.
func (w *Watcher) watchInstallations(ctx context.Context, c *connection) {
	p := w.waitForInstallation(ctx, c)
	for ctx.Err() == nil {
		w.move(p)
		inner, cancel := context.WithCancel(ctx)
		var all sync.WaitGroup
		for _, s := range w.sources {
			all.Go(func() { s.run(inner, c.rest, p.namespace) })
		}
		p = w.waitForBetterInstallation(ctx, c, p)
		cancel()
		all.Wait()
	}
}

func (w *Watcher) waitForInstallation(ctx context.Context, c *connection) installation {
	for backoff := installationRetry; ; {
		p, err := findInstallation(ctx, c.client, w.opts)
		if err == nil || ctx.Err() != nil {
			return p
		}
		w.mu.Lock()
		w.installationErr = words(err)
		w.mu.Unlock()
		w.store.signal()
		pause(ctx, backoff.Step(), nil)
	}
}

// waitForBetterInstallation returns once another namespace is the better choice.
func (w *Watcher) waitForBetterInstallation(ctx context.Context, c *connection, p installation) installation {
	for backoff := installationRetry; p.notice != ""; {
		if !pause(ctx, backoff.Step(), nil) {
			return p
		}
		next, err := findInstallation(ctx, c.client, w.opts)
		if err != nil {
			continue
		}
		if next.namespace != p.namespace {
			return next
		}
		p = next
		w.move(p)
	}
	<-ctx.Done()
	return p
}

// move notes where Velero is, and forgets what was known of another namespace.
func (w *Watcher) move(p installation) {
	w.mu.Lock()
	moved := w.installation.namespace != p.namespace
	left := w.installation.namespace != "" && moved
	w.installation, w.installationErr = p, ""
	w.complete = w.complete && !moved
	w.mu.Unlock()
	if left {
		for _, s := range w.sources {
			s.reset()
		}
		w.store.Clear()
	}
	w.store.signal()
}

// renew looks for new credentials, and returns true if the connection shall be left.
func (w *Watcher) renew() bool {
	if w.opts.Session == nil {
		return false
	}
	if err := w.opts.Session.Refresh(); err != nil {
		w.opts.Log.Warn("cannot read the client configuration again", "err", err)
		return false
	}
	cfg := w.opts.Session.Config()
	w.mu.Lock()
	present := w.present
	w.mu.Unlock()
	if sameAccess(cfg, present.config) {
		return false
	}
	c, err := connect(cfg, w.opts.Log)
	if err != nil {
		w.opts.Log.Warn("cannot use the new client configuration", "err", err)
		return false
	}
	w.opts.Log.Info("continuing with a new client configuration", "host", cfg.Host)
	w.mu.Lock()
	w.renewed = c
	w.mu.Unlock()
	return true
}

// pause returns after a time, when kick is ready, or when ctx has ended, and false then.
func pause(ctx context.Context, d time.Duration, kick <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-kick:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// defaultWindow is short enough to look live and long enough for a burst to be one snapshot.
const defaultWindow = 250 * time.Millisecond

// windowsApart is the least distance of snapshots, in windows, once all is live: Velero writes progress each second.
const windowsApart = 4

type Options struct {
	Config *rest.Config // leads to the API server. It is copied, not changed
	// Session is the connection that Config is of, nil if nothing can be read again. Its
	// credentials are read again by [Watcher.Retry], and while the present ones do not work. A
	// Watcher ends with a [session.MovedError] once the session leads to another cluster.
	Session *session.Session

	Namespace        string // asked for by flag; may be empty, like the next two
	EnvNamespace     string // asked for by VELERO_NAMESPACE
	ContextNamespace string // asked for by the kubeconfig's context

	// Window is how long [Watcher.Next] waits for further changes. Zero means 250 ms, or none if there is a Journal.
	Window  time.Duration
	Journal int // how many changes of jobs are kept from one snapshot to the next; zero for none

	// Only narrows the watch to some jobs and their volumes; a JobName without a name is all
	// jobs of its kind. Nothing else that verdicts depend on is watched then; [Read] reads that.
	Only []JobName
	With []string // kinds that are else not watched: [SnapshotLocations]

	// SumVolumes keeps of completed volumes of an ended job only their sum. [Watcher.ReadVolumes] reads them.
	SumVolumes bool
	// EndedWithin leaves out jobs that ended longer ago, with their volumes that have ended; 0 keeps all.
	EndedWithin time.Duration

	Clock func() time.Time // our own clock; nil means time.Now
	// Log gets what happens on the way; nil discards it. Nothing is ever written to a global logger.
	Log *slog.Logger

	timing timing // the heartbeat's, for tests
}

func (o Options) withDefaults() Options {
	if o.Window == 0 && o.Journal == 0 {
		o.Window = defaultWindow
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.timing.period == 0 {
		o.timing = usualTiming
	}
	return o
}
