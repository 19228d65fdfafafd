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

// sourceRetry is the pause between attempts to watch one kind while the server answers: a kind
// that is forbidden or missing is tried again within half a minute.
var sourceRetry = wait.Backoff{
	Duration: 500 * time.Millisecond,
	Factor:   2,
	Jitter:   0.2,
	Steps:    7,
	Cap:      30 * time.Second,
}

// steadyAfter is how long a watch must have held for its end to be no reason to back off, and
// grace how long a source may be without a watch before it is called stale: the server ends each
// watch every few minutes, and the next one follows at once.
const (
	steadyAfter = 10 * time.Second
	grace       = time.Second
)

// listing takes in a list of a whole kind. What was added counts once it is done,
// at the latest; one that is given up leaves what was there before.
type listing interface {
	add(o *received)
	remove(o *received) // takes out what was added
	again(total int)    // the list begins anew. So many are in it, 0 if nobody knows
	done()
}

type source struct {
	kind     *kind
	store    *Store
	now      func() time.Time
	log      *slog.Logger
	kick     chan struct{} // ends a pause between attempts
	appeared func()        // called when a kind that was missing is there
	// after are the sources that are read before this one, which waits no longer than its patience for them.
	after    []*source
	patience time.Duration

	mu      sync.Mutex
	listed  *storeList    // the list that was read and is not done yet
	known   Source        // the state as a reader sees it
	begun   bool          // true once the kind was asked for
	settled chan struct{} // closed once known.State is no longer SourceSyncing
	told    time.Time     // when a reader was last told how much was read
	denied  bool          // true after a 401
	retryAt time.Time
	misses  int // counts answers in a row that the kind does not exist
	// watches counts the watches that were opened, so that the grace of one that ended does not hit the next.
	watches int
	synced  time.Time // when the kind was last known as a whole
}

func newSource(k *kind, s *Store, now func() time.Time, log *slog.Logger) *source {
	src := &source{
		kind:     k,
		store:    s,
		now:      now,
		log:      log.With("resource", k.resource),
		kick:     make(chan struct{}, 1),
		patience: turnPatience,
	}
	src.reset()
	return src
}

// reset forgets what was known, for a change of the namespace.
func (s *source) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = Source{Resource: s.kind.resource, State: SourceSyncing, Since: s.now()}
	s.settled = make(chan struct{})
	s.begun, s.denied, s.misses, s.synced = false, false, 0, time.Time{}
}

func (s *source) run(ctx context.Context, c rest.Interface, namespace string) {
	logger := klog.FromContext(ctx)
	reflector := cache.NewReflectorWithOptions(
		s.listWatch(newReader(s.kind, c, namespace)),
		nil,
		intake{s},
		cache.ReflectorOptions{
			Name:            s.kind.resource,
			TypeDescription: s.kind.resource,
			Logger:          &logger,
			Backoff:         &sourceRetry,
		},
	)
	for backoff := sourceRetry; ; {
		began := s.now()
		err := s.listAndWatch(ctx, reflector)
		if ctx.Err() != nil {
			return
		}
		if s.steadySince(began) {
			backoff = sourceRetry
		}
		wait := backoff.Step()
		s.ended(err, wait)
		if !pause(ctx, wait, s.kick) {
			return
		}
	}
}

// listAndWatch returns when the watch has ended. A panic while an object is
// taken in must not end the program, which would leave the terminal as it is.
func (s *source) listAndWatch(ctx context.Context, r *cache.Reflector) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic while taking in a resource", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("veltui could not process a resource: %v", p)
		}
	}()
	return r.ListAndWatchWithContext(ctx)
}

func (s *source) listWatch(r reader) cache.ListerWatcher {
	return plainLists{&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			version, err := s.read(ctx, r)
			s.failed(ctx, err)
			// What was read is where it belongs; the reflector goes on from its version.
			return &internalversion.List{ListMeta: metav1.ListMeta{ResourceVersion: version}}, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			w, err := r.watch(ctx, o)
			if err != nil {
				s.failed(ctx, err)
				return nil, err
			}
			number := s.opened()
			return &observed{w, func() { s.closed(number) }}, nil
		},
	}}
}

// plainLists keeps the reflector from listing by a watch, which is larger and has no length.
type plainLists struct{ *cache.ListWatch }

func (plainLists) IsWatchListSemanticsUnSupported() bool { return true }

func (s *source) read(ctx context.Context, r reader) (version string, err error) {
	if err := s.awaitTurn(ctx); err != nil {
		return "", err
	}
	s.begin()
	list := s.store.list(s.kind)
	list.count = s.count
	version, err = r.all(ctx, list)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.Read, s.known.Total = 0, 0
	if err = cmp.Or(err, ctx.Err()); err == nil {
		s.listed = list
	}
	return version, err
}

// begin notes when a kind is asked for at first: before, it only waited for its turn.
func (s *source) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known.State == SourceSyncing && !s.begun {
		s.begun, s.known.Since = true, s.now()
	}
}

// turnPatience limits the wait for other kinds: a server may never answer for one.
const turnPatience = 15 * time.Second

func (s *source) awaitTurn(ctx context.Context) error {
	patience := time.NewTimer(s.patience)
	defer patience.Stop()
	for _, first := range s.after {
		select {
		case <-first.hasSettled():
		case <-patience.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// tell is the interval of signals while a list is read.
const tell = 500 * time.Millisecond

// count adds to what was read. With a total, the list begins anew.
func (s *source) count(read, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.Read += read
	if total >= 0 {
		s.known.Read, s.known.Total = 0, total
	}
	if total < 0 && s.known.Read%100 != 0 {
		return
	}
	if now := s.now(); now.Sub(s.told) >= tell {
		s.told = now
		s.store.signal()
	}
}

func (s *source) hasSettled() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settled
}

type observed struct {
	apiwatch.Interface
	stopped func()
}

func (o *observed) Stop() {
	o.Interface.Stop()
	o.stopped()
}

type intake struct{ s *source }

func (i intake) Add(o any) error { return i.Update(o) }
func (i intake) Resync() error   { return nil }

func (i intake) Delete(o any) error {
	i.s.store.remove(i.s.kind, o.(*received))
	return nil
}

func (i intake) Update(o any) error {
	i.s.store.upsert(i.s.kind, o.(*received))
	return nil
}

// Replace is where a source becomes live: all that the server listed is in the store.
func (i intake) Replace([]any, string) error {
	i.s.mu.Lock()
	list := i.s.listed
	i.s.listed = nil
	i.s.mu.Unlock()
	list.done()
	i.s.live()
	return nil
}

func (s *source) live() {
	s.mu.Lock()
	appeared := s.known.State == SourceMissing
	s.synced = s.now()
	s.denied, s.misses = false, 0
	s.set(SourceLive, "")
	s.mu.Unlock()
	if appeared && s.appeared != nil {
		s.appeared()
	}
}

// opened numbers a watch, which goes on where the last one or the list ended, and so makes the source live again.
func (s *source) opened() (number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches++
	if !s.synced.IsZero() {
		s.denied, s.misses = false, 0
		s.set(SourceLive, "")
	}
	return s.watches
}

func (s *source) closed(number int) {
	at := s.now()
	time.AfterFunc(grace, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.watches == number && s.known.State == SourceLive {
			s.set(SourceStale, "the watch has ended")
			s.known.Since = at
		}
	})
}

func (s *source) failed(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	s.log.Debug("cannot watch", "err", err)
	s.mu.Lock()
	s.denied = unauthenticated(err)
	gone := false
	switch {
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		// Too old a version to go on from; the reflector lists at once.
	case s.denied:
		s.set(SourceStale, words(err))
	case apierrors.IsForbidden(err):
		s.set(SourceForbidden, words(err))
	case apierrors.IsNotFound(err):
		s.misses++
		// A server that is starting may not know the kind for a moment.
		gone = s.misses > 1 && !s.synced.IsZero()
		s.set(SourceMissing, noKind)
	default:
		s.set(SourceStale, words(err))
	}
	if gone {
		s.synced = time.Time{}
	}
	s.mu.Unlock()
	if gone {
		s.store.list(s.kind).done()
	}
}

// ended notes when the next attempt follows, and an error that was not reported.
func (s *source) ended(err error, pause time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retryAt = s.now().Add(pause)
	if err != nil && (s.known.State == SourceLive || s.known.State == SourceSyncing) {
		s.set(SourceStale, words(err))
	}
}

func (s *source) steadySince(began time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.synced.IsZero() && s.now().Sub(began) > steadyAfter
}

const noKind = "the API server does not have this kind: its CRD is not installed"

// set changes the state. The caller holds the lock.
func (s *source) set(state SourceState, err string) {
	if s.known.State == state && s.known.Err == err {
		return
	}
	if s.known.State != state {
		if s.known.State == SourceSyncing {
			close(s.settled)
		}
		s.known.State, s.known.Since = state, s.now()
		s.log.Debug("source changed", "state", state, "err", err)
	}
	s.known.Err = err
	s.store.signal()
}

type sourceStatus struct {
	Source
	denied  bool
	retryAt time.Time
}

func (s *source) status() sourceStatus {
	s.mu.Lock()
	now := sourceStatus{s.known, s.denied, s.retryAt}
	s.mu.Unlock()
	now.Objects = s.store.count(s.kind.resource)
	return now
}
