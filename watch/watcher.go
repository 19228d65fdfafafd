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

// ErrStopped is returned by [Watcher.Next] once the Watcher has stopped.
var ErrStopped = errors.New("the watcher has stopped")

// installationBackoff is the backoff between attempts to find Velero's namespace.
var installationBackoff = wait.Backoff{
	Duration: 2 * time.Second,
	Factor:   2,
	Jitter:   0.2,
	Steps:    5,
	Cap:      30 * time.Second,
}

// Watcher follows one Velero installation.
type Watcher struct {
	opts      Options
	store     *Store
	sources   []*source
	etcd      *etcdWatch
	liveness  *liveness
	heartbeat *heartbeat

	latest        atomic.Pointer[Snapshot]
	lastPublished atomic.Pointer[time.Time] // when Next last returned a snapshot, nil before the first
	stop          context.CancelFunc
	stopped       chan struct{}

	mu                sync.Mutex
	installation      installation // where Velero is; its namespace is empty until that is known
	installationErr   string       // why the installation is not known yet
	nextConnection    *connection  // a connection with newer credentials, to be taken next
	currentConnection *connection
	synced            bool   // true once each source has been read or refused, in this namespace
	movedErr          error  // set if the watch ended because another cluster is at the address
	health            Health // the health in the last snapshot, to date its changes
}

// New starts a watch that lasts until ctx ends, and returns at once. It fails if the configuration names a missing
// file.
func New(ctx context.Context, o Options) (*Watcher, error) {
	if o.Config == nil {
		return nil, errors.New("starting to watch: there is no client configuration")
	}
	o = o.withDefaults()
	c, err := newGatedConnection(o.Config, o.Log)
	if err != nil {
		return nil, err
	}
	w := &Watcher{opts: o, currentConnection: c, stopped: make(chan struct{})}
	w.store = NewStore(w.clusterTime, o.JournalLimit)
	w.store.sumsVolumes, w.store.agedOut.maxAge = o.SumVolumes, o.EndedWithin
	w.liveness = &liveness{onChange: w.store.signalUpdate}
	w.heartbeat = &heartbeat{
		timing:           o.timing,
		clock:            o.Clock,
		liveness:         w.liveness,
		retryNow:         make(chan struct{}, 1),
		session:          o.Session,
		listablePaths:    w.listablePaths,
		renewCredentials: w.renewCredentials,
		onRecovery:       w.retrySources,
		isDenied:         w.hasDeniedSource,
	}
	var jobs []*source
	for _, k := range o.watchedKinds() {
		s := newSource(k, w.store, w.clusterTime, o.Log)
		s.onAppear = w.retryMissingKinds
		switch {
		case k.toObservedJob != nil:
			jobs = append(jobs, s)
		case k.toVolume != nil:
			// Jobs decide the verdicts: read them before their volumes.
			s.waitsFor = jobs
		}
		w.sources = append(w.sources, s)
	}
	w.etcd = newEtcdWatch(w.store, w.clusterTime, o.Log)
	w.health = Health{State: Connecting, Since: o.Clock()}
	w.latest.Store(w.buildSnapshot())
	w.store.signalUpdate()
	// client-go logs to the logger in the context, else to the terminal.
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(o.Log.Handler()))
	ctx, w.stop = context.WithCancel(ctx)
	go w.runConnections(ctx, c)
	return w, nil
}

func (w *Watcher) clusterTime() time.Time {
	if w.liveness == nil {
		return w.opts.Clock()
	}
	return w.opts.Clock().Add(w.liveness.currentState().offset)
}

// Next waits for a change and returns the newest snapshot; the first call returns at once. Only one goroutine may
// call it. A watch that ends because another cluster is at the address reports it in a last snapshot, then as a
// [session.MovedError].
func (w *Watcher) Next(ctx context.Context) (*Snapshot, error) {
	select {
	case <-w.store.Updates():
	case <-w.stopped:
		select {
		case <-w.store.Updates():
			return w.publishSnapshot(), nil
		default:
			w.mu.Lock()
			defer w.mu.Unlock()
			return nil, cmp.Or(w.movedErr, ErrStopped)
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if wait := w.gatherDelay(); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			// The change is still unread.
			w.store.signalUpdate()
			return nil, ctx.Err()
		}
	}
	select {
	case <-w.store.Updates():
	default:
	}
	return w.publishSnapshot(), nil
}

func (w *Watcher) publishSnapshot() *Snapshot {
	s := w.buildSnapshot()
	w.latest.Store(s)
	told := time.Now()
	w.lastPublished.Store(&told)
	return s
}

// gatherDelay returns how long to wait after a change for further ones.
func (w *Watcher) gatherDelay() time.Duration {
	told := w.lastPublished.Load()
	switch {
	case told == nil:
		return 0
	case w.Latest().Health.State != Live, w.liveness.currentState().lost:
		return w.opts.BatchWindow
	}
	return max(w.opts.BatchWindow, minWindowsApart*w.opts.BatchWindow-time.Since(*told))
}

// Latest returns the snapshot that [Watcher.Next] returned last, or an empty one.
func (w *Watcher) Latest() *Snapshot { return w.latest.Load() }

// Retry reads the credentials again and retries every source that is not live.
func (w *Watcher) Retry() {
	trySend(w.heartbeat.retryNow)
	w.retrySources()
}

// Stop ends the watches, and returns when all of them have ended.
func (w *Watcher) Stop() {
	w.stop()
	<-w.stopped
}

func (w *Watcher) retrySources() {
	retrySourcesUnless(w.sources, SourceLive)
	w.etcd.retrySources()
}

// retrySourcesUnless ends the pauses of the sources that are not in the given state.
func retrySourcesUnless(sources []*source, state SourceState) {
	for _, s := range sources {
		if s.currentStatus().State != state {
			trySend(s.retryNow)
		}
	}
}

func (w *Watcher) hasDeniedSource() bool {
	return slices.ContainsFunc(w.sources, func(s *source) bool { return s.currentStatus().denied })
}

// retryMissingKinds retries all missing kinds: Velero's CRDs are installed together.
func (w *Watcher) retryMissingKinds() {
	for _, s := range w.sources {
		if s.currentStatus().State == SourceMissing {
			trySend(s.retryNow)
		}
	}
}

// listablePaths returns the paths of the live kinds, the locations first, which every role may list.
func (w *Watcher) listablePaths() (paths []string) {
	w.mu.Lock()
	namespace, complete := w.installation.namespace, w.synced
	w.mu.Unlock()
	if !complete {
		return nil // a busy server may answer late while everything is read at once
	}
	for _, s := range w.sources {
		if s.currentStatus().State != SourceLive {
			continue
		}
		at := len(paths)
		if s.kind.resource == StorageLocations {
			at = 0
		}
		paths = slices.Insert(paths, at, resourcePath(s.kind, namespace))
	}
	return paths
}

func (w *Watcher) runConnections(ctx context.Context, c *connection) {
	defer close(w.stopped)
	defer w.stop()
	for c != nil && ctx.Err() == nil {
		w.watchConnection(ctx, c)
		w.mu.Lock()
		c, w.nextConnection = w.nextConnection, nil
		w.mu.Unlock()
	}
}

// watchConnection watches over one connection until ctx ends or another connection is to be used.
func (w *Watcher) watchConnection(ctx context.Context, c *connection) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.mu.Lock()
	w.currentConnection = c
	w.mu.Unlock()
	var all sync.WaitGroup
	all.Go(func() {
		defer cancel()
		if moved := w.heartbeat.runProbes(ctx, c); moved != nil {
			w.mu.Lock()
			w.movedErr = moved
			w.mu.Unlock()
		}
	})
	all.Go(func() { w.watchInstallations(ctx, c) })
	if len(w.opts.OnlyJobs) == 0 {
		all.Go(func() { w.etcd.watchEtcd(ctx, c.rest) })
	}
	all.Wait()
	utilnet.CloseIdleConnectionsFor(c.ungated)
}

// watchInstallations watches the namespace where Velero is found, and searches again while the namespace is only a
// guess.
func (w *Watcher) watchInstallations(ctx context.Context, c *connection) {
	p := w.waitForInstallation(ctx, c)
	for ctx.Err() == nil {
		w.setInstallation(p)
		inner, cancel := context.WithCancel(ctx)
		var all sync.WaitGroup
		for _, s := range w.sources {
			all.Go(func() { s.runReflector(inner, c.rest, p.namespace) })
		}
		p = w.waitForBetterInstallation(ctx, c, p)
		cancel()
		all.Wait()
	}
}

func (w *Watcher) waitForInstallation(ctx context.Context, c *connection) installation {
	for backoff := installationBackoff; ; {
		p, err := findInstallation(ctx, c.client, w.opts)
		if err == nil || ctx.Err() != nil {
			return p
		}
		w.mu.Lock()
		w.installationErr = formatError(err)
		w.mu.Unlock()
		w.store.signalUpdate()
		sleepUntilRetry(ctx, backoff.Step(), nil)
	}
}

// waitForBetterInstallation returns once another namespace is the better choice.
func (w *Watcher) waitForBetterInstallation(ctx context.Context, c *connection, p installation) installation {
	for backoff := installationBackoff; p.notice != ""; {
		if !sleepUntilRetry(ctx, backoff.Step(), nil) {
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
		w.setInstallation(p)
	}
	<-ctx.Done()
	return p
}

// setInstallation records where Velero is, and forgets the objects of another namespace.
func (w *Watcher) setInstallation(p installation) {
	w.mu.Lock()
	moved := w.installation.namespace != p.namespace
	left := w.installation.namespace != "" && moved
	w.installation, w.installationErr = p, ""
	w.synced = w.synced && !moved
	w.mu.Unlock()
	if left {
		for _, s := range w.sources {
			s.resetState()
		}
		w.store.Clear()
	}
	w.store.signalUpdate()
}

// renewCredentials reads the credentials again, and reports whether a new connection is to replace the current one.
func (w *Watcher) renewCredentials() bool {
	if w.opts.Session == nil {
		return false
	}
	if err := w.opts.Session.RefreshCredentials(); err != nil {
		w.opts.Log.Warn("cannot read the client configuration again", "err", err)
		return false
	}
	cfg := w.opts.Session.RESTConfig()
	w.mu.Lock()
	present := w.currentConnection
	w.mu.Unlock()
	if hasSameAccess(cfg, present.config) {
		return false
	}
	c, err := newGatedConnection(cfg, w.opts.Log)
	if err != nil {
		w.opts.Log.Warn("cannot use the new client configuration", "err", err)
		return false
	}
	w.opts.Log.Info("continuing with a new client configuration", "host", cfg.Host)
	w.mu.Lock()
	w.nextConnection = c
	w.mu.Unlock()
	return true
}

// sleepUntilRetry returns after the duration, when kick is ready, or when ctx has ended. It is false if ctx has
// ended.
func sleepUntilRetry(ctx context.Context, d time.Duration, kick <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-kick:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

func trySend(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// defaultBatchWindow is short enough to look live and long enough for a burst to be one snapshot.
const defaultBatchWindow = 250 * time.Millisecond

// minWindowsApart is the minimum time between snapshots, in windows, once all is live: Velero writes progress every
// second.
const minWindowsApart = 4

type Options struct {
	Config *rest.Config // leads to the API server. It is copied, not changed
	// Session is the session that Config belongs to, nil if nothing can be read again. Its credentials are read again by
	// [Watcher.Retry], and while the current ones do not work. A Watcher ends with a [session.MovedError] once the
	// session leads to another cluster.
	Session *session.Session

	Namespace        string // set by flag; may be empty, like the next two
	EnvNamespace     string // set by VELERO_NAMESPACE
	ContextNamespace string // set by the kubeconfig's context

	// BatchWindow is how long [Watcher.Next] waits for further changes. Zero means 250 ms, or none if JournalLimit is set.
	BatchWindow  time.Duration
	JournalLimit int // how many changes of jobs are kept from one snapshot to the next; zero for none

	// OnlyJobs narrows the watch to some jobs and their volumes; a JobName without a name stands for all jobs of its
	// kind. Nothing else that verdicts depend on is watched then; [Read] reads it.
	OnlyJobs      []JobName
	OptionalKinds []string // kinds that are not watched by default: [SnapshotLocations]

	// SumVolumes keeps only the sum of an ended job's completed volumes. [Watcher.ReadVolumes] reads them.
	SumVolumes bool
	// EndedWithin leaves out jobs that ended longer ago, with their ended volumes; 0 keeps all.
	EndedWithin time.Duration

	Clock func() time.Time // our own clock; nil means time.Now
	// Log receives debug messages and warnings; nil discards them. Nothing is ever written to a global logger.
	Log *slog.Logger

	timing timing // the heartbeat's, for tests
}

func (o Options) withDefaults() Options {
	if o.BatchWindow == 0 && o.JournalLimit == 0 {
		o.BatchWindow = defaultBatchWindow
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.timing.period == 0 {
		o.timing = defaultTiming
	}
	return o
}
