package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	velerov2alpha1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v2alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Options say what a simulated Velero works on and how.
type Options struct {
	// Config reaches the API server as somebody who may do everything.
	Config *rest.Config
	// Scheme knows Kubernetes' own kinds and Velero's.
	Scheme *runtime.Scheme
	// Namespace is Velero's own; "velero" if empty.
	Namespace string
	Cluster   *Cluster
	// ConcurrentBackups is the server's --concurrent-backups; 1 if zero.
	ConcurrentBackups int
	// Pace is how fast things go; the zero Pace is [DefaultPace].
	Pace Pace
	// Wrote is called after each write with the simulated instant and the API
	// server's answer, from within Step; may be nil.
	Wrote func(at time.Time, answer client.Object)
	// Log gets one line for what a real server would log as a warning or an
	// error; nil drops them.
	Log func(format string, args ...any)
}

// Pace is how long the simulated work takes, in simulated time.
type Pace struct {
	// Collect is how long a backup looks for items before its first progress.
	Collect time.Duration
	// BackupItem and RestoreItem are what an ordinary item costs; RestoreSlow
	// is for items whose restore is slow (Deployments and ReplicaSets went at
	// 10 a second on a real server, others at 50).
	BackupItem, BackupPod, RestoreItem, RestoreSlow time.Duration
	// Prepare is how long a restore needs before its first item.
	Prepare time.Duration
	// Upload and Finalize are how long these take.
	Upload, Finalize time.Duration
	// VolumeRefresh is how often the bytes of a volume are written; the real
	// uploader does it every 10 s.
	VolumeRefresh time.Duration
	// VolumeSlots is how many volumes a node moves at a time.
	VolumeSlots int
}

// DefaultPace is a busy cluster with a slow API server: slower than the
// recorded restores of a laboratory, so that a person can follow.
var DefaultPace = Pace{
	Collect:       3 * time.Second,
	BackupItem:    25 * time.Millisecond,
	BackupPod:     800 * time.Millisecond,
	RestoreItem:   30 * time.Millisecond,
	RestoreSlow:   120 * time.Millisecond,
	Prepare:       1500 * time.Millisecond,
	Upload:        time.Second,
	Finalize:      3 * time.Second,
	VolumeRefresh: 10 * time.Second,
	VolumeSlots:   2,
}

// Sim is a simulated Velero server with its node agents.
type Sim struct {
	Options
	api     client.Client
	storage *Storage

	// clock is stamp for those who must not wait for a Step to end.
	clock atomic.Int64

	mu sync.Mutex // guards everything below, against informers
	// now is the simulated instant of the present Step, stamp what is written
	// into status fields at it.
	now, stamp time.Time
	// away is set while the API server does not answer; see write.go.
	away error

	backups    *objects[*velerov1.Backup]
	restores   *objects[*velerov1.Restore]
	schedules  *objects[*velerov1.Schedule]
	locations  *objects[*velerov1.BackupStorageLocation]
	downloads  *objects[*velerov1.DownloadRequest]
	deletions  *objects[*velerov1.DeleteBackupRequest]
	statuses   *objects[*velerov1.ServerStatusRequest]
	pvbs       *objects[*velerov1.PodVolumeBackup]
	pvrs       *objects[*velerov1.PodVolumeRestore]
	uploads    *objects[*velerov2alpha1.DataUpload]
	dataDowns  *objects[*velerov2alpha1.DataDownload]
	namespaces *objects[*corev1.Namespace]

	memory
	backupRecords map[string]*BackupRecord
	stopWatching  context.CancelFunc
}

// memory is what a server forgets when it ends.
type memory struct {
	// running are the backups that a worker owns, in the order of their start;
	// ready those released from the queue and not begun.
	running []*backupRun
	ready   map[types.UID]bool
	// tracked are the backups that "is still in progress" is said of
	// (pkg/controller/backup_tracker.go).
	tracked map[string]bool
	// restore is what the only restore worker does, nil if it is idle.
	restore *restoreRun
	// backupOperations and restoreOperations are the operations in flight.
	backupOperations  map[types.UID]*BackupRecord
	restoreOperations map[types.UID]*RestoreRecord
	finalizing        map[types.UID]*finalization
	moving            map[types.UID]*movementState
	due               map[string]time.Time
}

func newMemory() memory {
	return memory{
		ready: map[types.UID]bool{}, tracked: map[string]bool{},
		backupOperations: map[types.UID]*BackupRecord{}, restoreOperations: map[types.UID]*RestoreRecord{},
		finalizing: map[types.UID]*finalization{}, moving: map[types.UID]*movementState{}, due: map[string]time.Time{},
	}
}

// New starts a simulated server: its object store listens and its informers
// have synced when it returns, and jobs that a former server left InProgress
// are marked Failed. stamp is the present time. Close must be called when it
// is done with.
func New(ctx context.Context, o Options, stamp time.Time) (*Sim, error) {
	if o.Namespace == "" {
		o.Namespace = "velero"
	}
	o.ConcurrentBackups = max(o.ConcurrentBackups, 1)
	if o.Pace == (Pace{}) {
		o.Pace = DefaultPace
	}
	if o.Wrote == nil {
		o.Wrote = func(time.Time, client.Object) {}
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	s := &Sim{
		Options: o, now: stamp, stamp: stamp, memory: newMemory(), backupRecords: map[string]*BackupRecord{},
		backups: newObjects[*velerov1.Backup](), restores: newObjects[*velerov1.Restore](),
		schedules: newObjects[*velerov1.Schedule](), locations: newObjects[*velerov1.BackupStorageLocation](),
		downloads: newObjects[*velerov1.DownloadRequest](), deletions: newObjects[*velerov1.DeleteBackupRequest](),
		statuses: newObjects[*velerov1.ServerStatusRequest](),
		pvbs:     newObjects[*velerov1.PodVolumeBackup](), pvrs: newObjects[*velerov1.PodVolumeRestore](),
		uploads: newObjects[*velerov2alpha1.DataUpload](), dataDowns: newObjects[*velerov2alpha1.DataDownload](),
		namespaces: newObjects[*corev1.Namespace](),
	}
	config := rest.CopyConfig(o.Config)
	config.Timeout = writeTimeout
	var err error
	if s.api, err = client.New(config, client.Options{Scheme: o.Scheme}); err != nil {
		return nil, fmt.Errorf("connecting the simulated Velero: %w", err)
	}
	s.clock.Store(stamp.UnixNano())
	if s.storage, err = newStorage(s.present); err != nil {
		return nil, err
	}
	if err := s.watch(ctx); err != nil {
		return nil, errors.Join(err, s.storage.close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.markInProgressFailed(ctx)
	return s, nil
}

// Close ends the simulation and its object store.
func (s *Sim) Close() error {
	s.stopWatching()
	return s.storage.close()
}

// Storage is the object store, for its address.
func (s *Sim) Storage() *Storage { return s.storage }

func (s *Sim) present() time.Time { return time.Unix(0, s.clock.Load()) }

func (s *Sim) stampTime() *metav1.Time { return &metav1.Time{Time: s.stamp.Truncate(time.Second)} }

// StoreBackup puts the artifacts of a backup that ended before the simulation
// began into the store.
func (s *Sim) StoreBackup(r *BackupRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.storeBackup(r, r.Completed)
}

// StoreRestore is StoreBackup for a restore.
func (s *Sim) StoreRestore(r *RestoreRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.storeRestore(r, r.Completed)
}

// Run steps the simulation on the wall clock, speed times as fast as it, until
// ctx ends. Times written into status fields are those of the wall clock.
func (s *Sim) Run(ctx context.Context, speed float64) {
	const granularity = 100 * time.Millisecond
	ticker := time.NewTicker(max(time.Duration(float64(granularity)/speed), 5*time.Millisecond))
	defer ticker.Stop()
	began, origin := time.Now(), s.now
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			wall := time.Now()
			s.Step(ctx, origin.Add(time.Duration(float64(wall.Sub(began))*speed)), wall)
		}
	}
}

// Step does what the server's controllers do between the last simulated
// instant and now. stamp is what they read from their clock for time stamps.
func (s *Sim) Step(ctx context.Context, now, stamp time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.stamp = now, stamp
	s.clock.Store(stamp.UnixNano())
	if s.away != nil && !s.back(ctx) {
		s.retryLastPatches(ctx)
		return
	}
	for _, controller := range []func(context.Context){
		s.answerDownloads, s.answerStatusRequests, s.checkLocations, s.runSchedules,
		s.queueBackups, s.workOnBackups, s.workOnRestores, s.moveVolumes,
		s.pollOperations, s.finalizeBackups, s.finalizeRestores,
		s.deleteBackups, s.collectGarbage,
	} {
		if s.away != nil || ctx.Err() != nil {
			return
		}
		controller(ctx)
	}
}

// every reports whether a periodic task is due, which it is at first and then
// once each period.
func (s *Sim) every(task string, period time.Duration) bool {
	if next, ok := s.due[task]; ok && s.now.Before(next) {
		return false
	}
	s.due[task] = s.now.Add(period)
	return true
}
