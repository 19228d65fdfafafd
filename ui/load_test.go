package ui

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/creack/pty"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// The load that the dashboard must bear: 30,000 resources, 500 changes a second.
const (
	loadBackups   = 5_000
	loadRestores  = 5_000
	loadVolumes   = 20_000
	loadPerSecond = 500
	loadWindow    = 250 * time.Millisecond // as package watch gathers changes
)

// storeSource feeds the dashboard from a store, at the edge where informers
// would feed it: no API server can write this fast to one namespace.
type storeSource struct {
	store *watch.Store
}

func (s storeSource) Next(ctx context.Context) (*watch.Snapshot, error) {
	select {
	case <-s.store.Updates():
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case <-time.After(loadWindow):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	snap := s.store.Snapshot()
	snap.Health, snap.Namespace = watch.Health{State: watch.Live}, "velero"
	return snap, nil
}

func (storeSource) Retry() {}

// fleet writes a large installation and its changes.
type fleet struct {
	version int
	items   [loadRestores]int
}

func (f *fleet) meta(kind string, i int) metav1.ObjectMeta {
	f.version++
	return metav1.ObjectMeta{
		Namespace: "velero",
		Name:      fmt.Sprintf("%s-%05d", kind, i),
		UID:       types.UID(fmt.Sprintf("%s-%d", kind, i)),
		ResourceVersion: fmt.Sprint(
			f.version,
		),
		CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(i) * time.Second)),
	}
}

func (f *fleet) backup(i int) client.Object {
	return &veleroapi.Backup{
		ObjectMeta: f.meta("backup", i),
		Status: veleroapi.BackupStatus{
			Phase: veleroapi.BackupPhaseInProgress,
			StartTimestamp: ptr(
				ago(time.Hour),
			),
			Progress: &veleroapi.BackupProgress{TotalItems: 1 << 30, ItemsBackedUp: f.version},
		},
	}
}

func (f *fleet) restore(i int) client.Object {
	f.items[i]++
	return &veleroapi.Restore{ObjectMeta: f.meta("restore", i), Spec: veleroapi.RestoreSpec{BackupName: "b"},
		Status: veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress, StartTimestamp: ptr(ago(time.Hour)),
			Progress: &veleroapi.RestoreProgress{TotalItems: 1 << 30, ItemsRestored: f.items[i]}}}
}

func (f *fleet) volume(i int) client.Object {
	v := &veleroapi.PodVolumeBackup{
		ObjectMeta: f.meta("volume", i),
		Status:     veleroapi.PodVolumeBackupStatus{Phase: veleroapi.PodVolumeBackupPhaseInProgress},
	}
	v.Labels = map[string]string{veleroapi.BackupUIDLabel: fmt.Sprintf("backup-%d", i%loadBackups)}
	v.Status.Progress.TotalBytes, v.Status.Progress.BytesDone = 1<<40, int64(f.version)
	return v
}

func (f *fleet) fill(s *watch.Store) {
	for i := range loadBackups {
		s.Upsert(f.backup(i))
	}
	for i := range loadRestores {
		s.Upsert(f.restore(i))
	}
	for i := range loadVolumes {
		s.Upsert(f.volume(i))
	}
}

// keepChanging makes loadPerSecond changes a second, evenly, until ctx ends,
// and returns how many it made.
func (f *fleet) keepChanging(ctx context.Context, s *watch.Store) int {
	random := rand.New(rand.NewPCG(7, 7))
	start, made := time.Now(), 0
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return made
		case <-ticker.C:
		}
		for due := int(time.Since(start).Seconds() * loadPerSecond); made < due; made++ {
			switch n := random.IntN(loadBackups + loadRestores + loadVolumes); {
			case n < loadBackups:
				s.Upsert(f.backup(n))
			case n < loadBackups+loadRestores:
				s.Upsert(f.restore(n - loadBackups))
			default:
				s.Upsert(f.volume(n - loadBackups - loadRestores))
			}
		}
	}
}

// glass reads what the dashboard writes and tells when a text comes by.
type glass struct {
	mu   sync.Mutex
	seen bytes.Buffer
	news chan struct{}
}

func (g *glass) Write(p []byte) (int, error) {
	g.mu.Lock()
	g.seen.Write(p)
	g.mu.Unlock()
	select {
	case g.news <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (g *glass) clear() {
	g.mu.Lock()
	g.seen.Reset()
	g.mu.Unlock()
}

func (g *glass) await(b *testing.B, text string) {
	b.Helper()
	deadline := time.After(time.Minute)
	for {
		g.mu.Lock()
		found := bytes.Contains(g.seen.Bytes(), []byte(text))
		g.mu.Unlock()
		if found {
			return
		}
		select {
		case <-g.news:
		case <-deadline:
			b.Fatalf("%q never came to the terminal", text)
		}
	}
}

// onTerminal runs the dashboard on a pseudo-terminal until ctx ends.
func onTerminal(
	ctx context.Context,
	b *testing.B,
	store *watch.Store,
	columns, rows uint16,
) (master io.Writer, g *glass, ended chan error) {
	b.Helper()
	file, tty, err := pty.Open()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = file.Close(); _ = tty.Close() })
	if err := pty.Setsize(file, &pty.Winsize{Cols: columns, Rows: rows}); err != nil {
		b.Fatal(err)
	}
	g, ended = &glass{news: make(chan struct{}, 1)}, make(chan error, 1)
	go func() { _, _ = io.Copy(g, file) }()
	go func() {
		_, err := Run(
			ctx,
			Options{
				Clusters:     []Cluster{{Backend: &fakeCluster{source: storeSource{store}}, Context: "load"}},
				Clock:        time.Now,
				Theme:        "dark",
				FPS:          30,
				TickInterval: time.Second,
				Terminal:     Terminal{Title: true, Progress: true},
				Input:        tty,
				Output:       tty,
			},
		)
		ended <- err
	}()
	return file, g, ended
}

// BenchmarkBytes measures how much is written to an 80x24 terminal: while nothing
// runs, and while restores run that Velero counts once a second, as it does.
func BenchmarkBytes(b *testing.B) {
	for _, running := range []int{0, 1, 10} {
		b.Run(fmt.Sprint(running), func(b *testing.B) {
			ctx, cancel := context.WithCancel(context.Background())
			store := watch.NewStore(time.Now, 0)
			for i := range 30 {
				at := func(d time.Duration) *metav1.Time { return ptr(metav1.NewTime(time.Now().Add(-d))) }
				store.Upsert(
					&veleroapi.Backup{ObjectMeta: (&fleet{}).meta("backup", i), Status: veleroapi.BackupStatus{
						Phase: veleroapi.BackupPhaseCompleted,
						StartTimestamp: at(
							9 * time.Minute,
						),
						CompletionTimestamp: at(8 * time.Minute),
						Progress:            &veleroapi.BackupProgress{TotalItems: 400, ItemsBackedUp: 400},
					}},
				)
			}
			items := 0
			change := func() {
				items += 20
				for i := range running {
					r := &veleroapi.Restore{
						ObjectMeta: (&fleet{version: items}).meta("restore", i),
						Spec:       veleroapi.RestoreSpec{BackupName: "b"},
						Status: veleroapi.RestoreStatus{
							Phase:          veleroapi.RestorePhaseInProgress,
							StartTimestamp: ptr(metav1.NewTime(time.Now().Add(-time.Hour))),
							Progress:       &veleroapi.RestoreProgress{TotalItems: 9000, ItemsRestored: items + i},
						},
					}
					r.CreationTimestamp = *r.Status.StartTimestamp
					store.Upsert(r)
				}
			}
			change()
			_, g, ended := onTerminal(ctx, b, store, 80, 24)
			g.await(b, "backup-000")
			for range 5 { // until rates and ETAs are there
				change()
				time.Sleep(time.Second)
			}
			g.clear()
			seconds := 0
			for b.Loop() {
				change()
				time.Sleep(time.Second)
				seconds++
			}
			g.mu.Lock()
			b.ReportMetric(float64(g.seen.Len())/float64(seconds), "bytes/s")
			g.mu.Unlock()
			cancel()
			<-ended
		})
	}
}

// BenchmarkKey measures how long after a key its frame is written to the
// terminal, in a real program on a pseudo-terminal: with nothing else going
// on, and under load. Run it with -benchtime 1000x for a minute of load.
func BenchmarkKey(b *testing.B) {
	b.Run("idle", func(b *testing.B) { benchmarkKey(b, false) })
	b.Run("load", func(b *testing.B) { benchmarkKey(b, true) })
}

func benchmarkKey(b *testing.B, load bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	store := watch.NewStore(time.Now, 0)
	f := &fleet{}
	f.fill(store)
	master, g, ended := onTerminal(ctx, b, store, 120, 40)
	g.await(b, "veltui restore-")
	press := func(key string) {
		if _, err := io.WriteString(master, key); err != nil {
			b.Fatal(err)
		}
	}
	press("4")
	g.await(b, "veltui restore-04999")
	var changes sync.WaitGroup
	made := 0
	if load {
		changes.Go(func() { made = f.keepChanging(ctx, store) })
	}

	var waits []time.Duration
	keys := []struct{ key, title string }{{"j", "veltui restore-04998"}, {"k", "veltui restore-04999"}}
	for b.Loop() {
		time.Sleep(20*time.Millisecond + rand.N(40*time.Millisecond)) // a person types; this is the load, not a wait
		k := keys[len(waits)%2]
		g.clear()
		start := time.Now()
		press(k.key)
		g.await(b, k.title)
		waits = append(waits, time.Since(start))
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)

	if load {
		// At the end every number must be the one that was written last.
		cancel()
		changes.Wait()
		if err := <-ended; err == nil {
			b.Error("the dashboard ended without a reason")
		}
		lost := 0
		for _, j := range store.Snapshot().Jobs {
			var i int
			if n, _ := fmt.Sscanf(j.Name, "restore-%d", &i); n == 1 && j.Items.Done != f.items[i] {
				lost++
			}
		}
		b.ReportMetric(float64(lost), "lost")
		b.ReportMetric(float64(made), "changes")
	}
	slices.Sort(waits)
	b.ReportMetric(float64(waits[len(waits)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(waits[len(waits)-1].Microseconds())/1000, "max-ms")
	b.ReportMetric(float64(memory.HeapInuse)/(1<<20), "heap-MiB")
	b.ReportMetric(float64(memory.Sys)/(1<<20), "sys-MiB")
}

// BenchmarkOneMoves is what a snapshot costs a dashboard of 10,000 backups, 10,000 restores and 50,000 volumes in which
// only one restore moves: to take it, to judge it, and to draw it.
func BenchmarkOneMoves(b *testing.B) {
	store := watch.NewStore(time.Now, 0)
	ended := testbed.LargeFleet("velero", time.Now())
	ended.RunningCount = 0
	version := 0
	for o, err := range ended.Objects() {
		if err != nil {
			b.Fatal(err)
		}
		version++
		o.SetResourceVersion(fmt.Sprint(version))
		store.Upsert(o)
	}
	began := metav1.NewTime(time.Now().Add(-time.Minute))
	f := &fleet{version: version}
	move := func() {
		r := f.restore(0).(*veleroapi.Restore)
		r.Name, r.CreationTimestamp, r.Status.StartTimestamp = "running", began, &began
		store.Upsert(r)
	}
	source := storeSource{store}
	m, err := newModel(b.Context(), Options{
		Clusters:     []Cluster{{Backend: &fakeCluster{source: source}, Context: "large"}},
		Clock:        time.Now,
		Theme:        "dark",
		TickInterval: time.Second,
		Terminal:     Terminal{Title: true, Progress: true},
	})
	if err != nil {
		b.Fatal(err)
	}
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
	of := m.clusters[0]
	b.ReportAllocs()
	runtime.GC() // of what the filling left
	before, moves := processorTime(b), 0
	for b.Loop() {
		moves++
		move()
		snap := store.Snapshot()
		snap.Health, snap.Namespace = watch.Health{State: watch.Live}, "velero"
		m.Update(snapshotAssessedMsg{of, of.estimates.AssessSnapshot(snap, time.Now())})
		_ = m.View()
	}
	b.ReportMetric(float64((processorTime(b)-before).Microseconds())/1000/float64(moves), "processor-ms/op")
}

// processorTime is what this process has used, the collection of garbage included: on a busy machine the only measure.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
