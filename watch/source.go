package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// sourceBackoff is the backoff between attempts to watch one kind while the server answers: a forbidden or missing kind
// is tried again within half a minute.
var sourceBackoff = wait.Backoff{
	Duration: 500 * time.Millisecond,
	Factor:   2,
	Jitter:   0.2,
	Steps:    7,
	Cap:      30 * time.Second,
}

// steadyAfter is how long a watch must have lasted for its end to be no reason to back off, and watchGrace is how
// long a source may be without a watch before it counts as stale: the server ends each watch every few minutes, and
// the next one follows at once.
const (
	steadyAfter = 10 * time.Second
	watchGrace  = time.Second
)

// listSink receives the list of a whole kind. The added objects count once the list is finished, at the latest; an
// abandoned list leaves the previous objects in place.
type listSink interface {
	addObject(o *receivedObject)
	removeObject(o *receivedObject) // removes an object added before
	restartList(total int)          // the list starts again, with total objects, 0 if unknown
	finishList()
}

type source struct {
	kind     *kind
	store    *Store
	now      func() time.Time
	log      *slog.Logger
	retryNow chan struct{} // ends a pause between attempts
	onAppear func()        // called when a missing kind has appeared
	// waitsFor are the sources that are read before this one, which waits for them no longer than turnTimeout.
	waitsFor    []*source
	turnTimeout time.Duration

	mu            sync.Mutex
	pendingList   *storeListSink // the list that was read and is not finished yet
	current       Source         // the state as readers see it
	started       bool           // true once the kind was requested
	settled       chan struct{}  // closed once current.State is no longer SourceSyncing
	lastSignal    time.Time      // when readers were last told how much was read
	denied        bool           // true after a 401
	retryAt       time.Time
	notFoundCount int // counts consecutive answers that the kind does not exist
	// watches counts the opened watches, so that the grace period of an ended watch does not affect the next.
	watches    int
	lastSynced time.Time // when the kind was last known in full
}

func newSource(k *kind, s *Store, now func() time.Time, log *slog.Logger) *source {
	src := &source{
		kind:        k,
		store:       s,
		now:         now,
		log:         log.With("resource", k.resource),
		retryNow:    make(chan struct{}, 1),
		turnTimeout: maxTurnWait,
	}
	src.resetState()
	return src
}

// resetState resets the source, for a change of the namespace.
func (s *source) resetState() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = Source{Resource: s.kind.resource, State: SourceSyncing, Since: s.now()}
	s.settled = make(chan struct{})
	s.started, s.denied, s.notFoundCount, s.lastSynced = false, false, 0, time.Time{}
}

func (s *source) runReflector(ctx context.Context, c rest.Interface, namespace string) {
	logger := klog.FromContext(ctx)
	reflector := cache.NewReflectorWithOptions(
		s.listWatch(newKindReader(s.kind, c, namespace)),
		nil,
		reflectorStore{s},
		cache.ReflectorOptions{
			Name:            s.kind.resource,
			TypeDescription: s.kind.resource,
			Logger:          &logger,
			Backoff:         &sourceBackoff,
		},
	)
	for backoff := sourceBackoff; ; {
		began := s.now()
		err := s.listAndWatch(ctx, reflector)
		if ctx.Err() != nil {
			return
		}
		if s.isSteadySince(began) {
			backoff = sourceBackoff
		}
		wait := backoff.Step()
		s.recordAttemptEnd(err, wait)
		if !sleepUntilRetry(ctx, wait, s.retryNow) {
			return
		}
	}
}

// listAndWatch returns when the watch has ended. It recovers a panic while an object is added: ending the program
// that way would not restore the terminal.
func (s *source) listAndWatch(ctx context.Context, r *cache.Reflector) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic while taking in a resource", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("veltui could not process a resource: %v", p)
		}
	}()
	return r.ListAndWatchWithContext(ctx)
}

func (s *source) listWatch(r kindReader) cache.ListerWatcher {
	return plainListWatch{&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			version, err := s.readKind(ctx, r)
			s.noteFailure(ctx, err)
			// The objects are in the store already; the reflector only needs the version to continue from.
			return &internalversion.List{ListMeta: metav1.ListMeta{ResourceVersion: version}}, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			w, err := r.openWatch(ctx, o)
			if err != nil {
				s.noteFailure(ctx, err)
				return nil, err
			}
			number := s.noteWatchOpened()
			return &observedWatch{w, func() { s.noteWatchClosed(number) }}, nil
		},
	}}
}

// plainListWatch keeps the reflector from listing by a watch, which is larger and of unknown length.
type plainListWatch struct{ *cache.ListWatch }

func (plainListWatch) IsWatchListSemanticsUnSupported() bool { return true }

func (s *source) readKind(ctx context.Context, r kindReader) (version string, err error) {
	if err := s.awaitTurn(ctx); err != nil {
		return "", err
	}
	s.markStarted()
	list := s.store.startList(s.kind)
	list.onRead = s.addReadCount
	version, err = r.readAll(ctx, list)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current.ObjectsRead, s.current.ObjectsTotal = 0, 0
	if err = cmp.Or(err, ctx.Err()); err == nil {
		s.pendingList = list
	}
	return version, err
}

// markStarted records when a kind is first requested: before, it only waited for its turn.
func (s *source) markStarted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current.State == SourceSyncing && !s.started {
		s.started, s.current.Since = true, s.now()
	}
}

// maxTurnWait limits the wait for other kinds: a server may never answer for one of them.
const maxTurnWait = 15 * time.Second

func (s *source) awaitTurn(ctx context.Context) error {
	patience := time.NewTimer(s.turnTimeout)
	defer patience.Stop()
	for _, first := range s.waitsFor {
		select {
		case <-first.settledSignal():
		case <-patience.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// readSignalInterval is the minimum interval of signals while a list is read.
const readSignalInterval = 500 * time.Millisecond

// addReadCount adds to the number of objects read. A total of 0 or more means that the list starts again.
func (s *source) addReadCount(read, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current.ObjectsRead += read
	if total >= 0 {
		s.current.ObjectsRead, s.current.ObjectsTotal = 0, total
	}
	if total < 0 && s.current.ObjectsRead%100 != 0 {
		return
	}
	if now := s.now(); now.Sub(s.lastSignal) >= readSignalInterval {
		s.lastSignal = now
		s.store.signalUpdate()
	}
}

func (s *source) settledSignal() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settled
}

type observedWatch struct {
	apiwatch.Interface
	onStop func()
}

func (o *observedWatch) Stop() {
	o.Interface.Stop()
	o.onStop()
}

type reflectorStore struct{ s *source }

func (i reflectorStore) Add(o any) error { return i.Update(o) }
func (i reflectorStore) Resync() error   { return nil }

func (i reflectorStore) Delete(o any) error {
	i.s.store.removeObject(i.s.kind, o.(*receivedObject))
	return nil
}

func (i reflectorStore) Update(o any) error {
	i.s.store.upsertReceived(i.s.kind, o.(*receivedObject))
	return nil
}

// Replace finishes the list and makes the source live: everything that the server listed is in the store.
func (i reflectorStore) Replace([]any, string) error {
	i.s.mu.Lock()
	list := i.s.pendingList
	i.s.pendingList = nil
	i.s.mu.Unlock()
	list.finishList()
	i.s.markLive()
	return nil
}

func (s *source) markLive() {
	s.mu.Lock()
	appeared := s.current.State == SourceMissing
	s.lastSynced = s.now()
	s.denied, s.notFoundCount = false, 0
	s.setState(SourceLive, "")
	s.mu.Unlock()
	if appeared && s.onAppear != nil {
		s.onAppear()
	}
}

// noteWatchOpened returns the number of a new watch. The watch continues where the last one or the list ended, so it
// makes the source live again.
func (s *source) noteWatchOpened() (number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches++
	if !s.lastSynced.IsZero() {
		s.denied, s.notFoundCount = false, 0
		s.setState(SourceLive, "")
	}
	return s.watches
}

func (s *source) noteWatchClosed(number int) {
	at := s.now()
	time.AfterFunc(watchGrace, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.watches == number && s.current.State == SourceLive {
			s.setState(SourceStale, "the watch has ended")
			s.current.Since = at
		}
	})
}

func (s *source) noteFailure(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	s.log.Debug("cannot watch", "err", err)
	s.mu.Lock()
	s.denied = isUnauthenticated(err)
	gone := false
	switch {
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		// The version is too old to continue from; the reflector lists at once.
	case s.denied:
		s.setState(SourceStale, formatError(err))
	case apierrors.IsForbidden(err):
		s.setState(SourceForbidden, formatError(err))
	case apierrors.IsNotFound(err):
		s.notFoundCount++
		// A starting server may not know the kind for a moment.
		gone = s.notFoundCount > 1 && !s.lastSynced.IsZero()
		s.setState(SourceMissing, missingCRDText)
	default:
		s.setState(SourceStale, formatError(err))
	}
	if gone {
		s.lastSynced = time.Time{}
	}
	s.mu.Unlock()
	if gone {
		s.store.startList(s.kind).finishList()
	}
}

// recordAttemptEnd records when the next attempt follows, and an error that was not reported yet.
func (s *source) recordAttemptEnd(err error, pause time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retryAt = s.now().Add(pause)
	if err != nil && (s.current.State == SourceLive || s.current.State == SourceSyncing) {
		s.setState(SourceStale, formatError(err))
	}
}

func (s *source) isSteadySince(began time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.lastSynced.IsZero() && s.now().Sub(began) > steadyAfter
}

const missingCRDText = "the API server does not have this kind: its CRD is not installed"

// setState changes the state. The caller holds the lock.
func (s *source) setState(state SourceState, err string) {
	if s.current.State == state && s.current.Err == err {
		return
	}
	if s.current.State != state {
		if s.current.State == SourceSyncing {
			close(s.settled)
		}
		s.current.State, s.current.Since = state, s.now()
		s.log.Debug("source changed", "state", state, "err", err)
	}
	s.current.Err = err
	s.store.signalUpdate()
}

type sourceStatus struct {
	Source
	denied  bool
	retryAt time.Time
}

func (s *source) currentStatus() sourceStatus {
	s.mu.Lock()
	now := sourceStatus{s.current, s.denied, s.retryAt}
	s.mu.Unlock()
	now.ObjectCount = s.store.countObjects(s.kind.resource)
	return now
}
