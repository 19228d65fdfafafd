package watch

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// The size that the dashboard is made for.
const (
	manyBackups  = 5_000
	manyRestores = 5_000
	manyVolumes  = 20_000
	updates      = 500 // a second
	window       = 4   // snapshots a second
)

// fleet is a large installation: all jobs run, and each backup has volumes.
type fleet struct {
	version int
	done    map[types.UID]int
}

func realistic(o client.Object) {
	now := metav1.NewTime(time.Unix(1_700_000_000, 0))
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[veleroapi.StorageLocationLabel] = "default"
	o.SetLabels(labels)
	o.SetAnnotations(
		map[string]string{"velero.io/source-cluster-k8s-gitversion": "v1.36.3", "velero.io/resource-timeout": "10m0s"},
	)
	o.SetManagedFields([]metav1.ManagedFieldsEntry{
		{
			Manager:   "velero",
			Operation: metav1.ManagedFieldsOperationUpdate,
			Time:      &now,
			FieldsV1:  metav1.NewFieldsV1(`{"f:status":{"f:progress":{}}}`),
		},
	})
}

func (f *fleet) backup(i int) *veleroapi.Backup {
	f.version++
	uid := types.UID(fmt.Sprintf("b-%d", i))
	f.done[uid] = f.version
	b := runningBackup(fmt.Sprintf("backup-%05d", i), uid, f.version, i, f.version)
	realistic(b)
	b.Spec.IncludedNamespaces = []string{"shop"}
	return b
}

func (f *fleet) restore(i int) *veleroapi.Restore {
	f.version++
	uid := types.UID(fmt.Sprintf("r-%d", i))
	f.done[uid] = f.version
	r := object(&veleroapi.Restore{Spec: veleroapi.RestoreSpec{BackupName: "b"}, Status: veleroapi.RestoreStatus{
		Phase:    veleroapi.RestorePhaseInProgress,
		Progress: &veleroapi.RestoreProgress{TotalItems: 1_000_000, ItemsRestored: f.version},
	}}, fmt.Sprintf("restore-%05d", i), uid, f.version, i)
	realistic(r)
	return r
}

func (f *fleet) volume(i int) client.Object {
	f.version++
	uid := types.UID(fmt.Sprintf("v-%d", i))
	f.done[uid] = f.version
	owner := types.UID(fmt.Sprintf("b-%d", i%manyBackups))
	v := pvbOf(owner, fmt.Sprintf("volume-%05d", i), uid, f.version, f.version)
	realistic(v)
	return v
}

// fill lists everything, as the first list of each kind does.
func (f *fleet) fill(s *Store) {
	var backups, restores, vols []client.Object
	for i := range manyBackups {
		backups = append(backups, f.backup(i))
	}
	for i := range manyRestores {
		restores = append(restores, f.restore(i))
	}
	for i := range manyVolumes {
		vols = append(vols, f.volume(i))
	}
	s.Replace(PodVolumeBackups, vols)
	s.Replace(Backups, backups)
	s.Replace(Restores, restores)
}

// next is any update that a cluster of running jobs may send.
func (f *fleet) next(r *rand.Rand) client.Object {
	switch r.IntN(3) {
	case 0:
		return f.backup(r.IntN(manyBackups))
	case 1:
		return f.restore(r.IntN(manyRestores))
	default:
		return f.volume(r.IntN(manyVolumes))
	}
}

// TestLoadLosesNothing feeds a minute's worth of updates while another
// goroutine takes snapshots, and looks for each number at the end.
func TestLoadLosesNothing(t *testing.T) {
	s := NewStore(time.Now, 0)
	f := &fleet{done: map[types.UID]int{}}
	f.fill(s)
	stop, stopped := make(chan struct{}), make(chan int)
	go func() {
		taken := 0
		for {
			select {
			case <-s.Updates():
				s.Snapshot()
				taken++
			case <-stop:
				stopped <- taken
				return
			}
		}
	}()
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 * updates {
		s.Upsert(f.next(r))
	}
	close(stop)
	taken := <-stopped
	n := s.Snapshot()
	if len(n.Jobs) != manyBackups+manyRestores {
		t.Fatalf("%d jobs", len(n.Jobs))
	}
	volumes := 0
	for _, j := range n.Jobs {
		if want := f.done[j.UID]; j.Items.Done != want {
			t.Fatalf("%s has %d items, want %d", j.Name, j.Items.Done, want)
		}
		for _, v := range j.Volumes {
			volumes++
			if want := f.done[v.UID]; v.Done != int64(want) {
				t.Fatalf("%s has %d bytes, want %d", v.Name, v.Done, want)
			}
		}
	}
	if volumes != manyVolumes {
		t.Errorf("%d volumes, want %d", volumes, manyVolumes)
	}
	t.Logf("%d updates, %d snapshots meanwhile", 60*updates, taken)
}

// BenchmarkSnapshot is what one snapshot costs with all the updates of its
// window taken in before.
func BenchmarkSnapshot(b *testing.B) {
	s := NewStore(time.Now, 0)
	f := &fleet{done: map[types.UID]int{}}
	f.fill(s)
	s.Snapshot()
	r := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for range updates / window {
			s.Upsert(f.next(r))
		}
		b.StartTimer()
		s.Snapshot()
	}
}

// BenchmarkUpsert is what taking in one update costs, cleaning included.
func BenchmarkUpsert(b *testing.B) {
	s := NewStore(time.Now, 0)
	f := &fleet{done: map[types.UID]int{}}
	f.fill(s)
	s.Snapshot()
	r := rand.New(rand.NewPCG(1, 2))
	const batch = 1000
	objects := make([]client.Object, 0, batch)
	b.ReportAllocs()
	for b.Loop() {
		if len(objects) == 0 {
			b.StopTimer()
			for range batch {
				objects = append(objects, f.next(r))
			}
			b.StartTimer()
		}
		s.Upsert(objects[0])
		objects = objects[1:]
	}
}

// BenchmarkOneJobWithAllVolumes is the worst distribution: each snapshot copies
// the one list.
func BenchmarkOneJobWithAllVolumes(b *testing.B) {
	s := NewStore(time.Now, 0)
	s.Upsert(runningBackup("b", "b", 1, 0, 0))
	for i := range manyVolumes {
		s.Upsert(pvbOf("b", fmt.Sprintf("v%05d", i), types.UID(fmt.Sprintf("v-%d", i)), 1, 0))
	}
	s.Snapshot()
	version := 1
	r := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for range updates / window {
			version++
			i := r.IntN(manyVolumes)
			s.Upsert(pvbOf("b", fmt.Sprintf("v%05d", i), types.UID(fmt.Sprintf("v-%d", i)), version, version))
		}
		b.StartTimer()
		s.Snapshot()
	}
}

// BenchmarkStart reads the lists of a large cluster, as the API server sends them,
// and says what they leave in memory.
func BenchmarkStart(b *testing.B) {
	pages, streams := map[string]string{}, map[string]string{}
	var items, lines []string
	of := ""
	put := func() {
		if of != "" {
			pages[of] = fmt.Sprintf(
				`{"metadata":{"resourceVersion":"9","continue":"c","remainingItemCount":%d},"items":[%s]}`,
				len(items)-firstPageSize,
				strings.Join(items[:firstPageSize], ","),
			)
			streams[of] = strings.Join(
				append(
					lines,
					`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}`,
				),
				"\n",
			) + "\n"
		}
		items, lines = nil, nil
	}
	for o, err := range testbed.LargeFleet("velero", time.Now()).Objects() {
		k, ok := kindByType(o)
		o.SetResourceVersion("1")
		raw, jsonErr := json.Marshal(o)
		if err != nil || jsonErr != nil || !ok {
			b.Fatal(err, jsonErr)
		}
		if path := newKindReader(k, nil, "velero").path; path != of {
			put()
			of = path
		}
		items, lines = append(items, string(raw)), append(lines, `{"type":"ADDED","object":`+string(raw)+"}")
	}
	put()
	c, err := newREST(
		&rest.Config{Host: "http://127.0.0.1", QPS: -1},
		&http.Client{Transport: answers(func(r *http.Request) (int, string) {
			if strings.Contains(r.URL.RawQuery, "watch") {
				return http.StatusOK, streams[r.URL.Path]
			}
			return http.StatusOK, pages[r.URL.Path]
		})},
	)
	if err != nil {
		b.Fatal(err)
	}
	var before, after runtime.MemStats
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&before)
		b.StartTimer()
		s := NewStore(time.Now, 0)
		s.sumsVolumes = true
		for _, resource := range []string{Backups, Restores, DataUploads} {
			k, _ := kindByResource(resource)
			list := s.startList(k)
			if _, err := newKindReader(k, c, "velero").readAll(b.Context(), list); err != nil {
				b.Fatal(err)
			}
			list.finishList()
		}
		if n := len(s.Snapshot().Jobs); n != 20_000 {
			b.Fatal(n, "jobs")
		}
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB-held")
		runtime.KeepAlive(s)
		b.StartTimer()
	}
}

// BenchmarkFill is the first list of everything, and what it leaves in memory.
func BenchmarkFill(b *testing.B) {
	var before, after runtime.MemStats
	for b.Loop() {
		b.StopTimer()
		s, f := NewStore(time.Now, 0), &fleet{done: map[types.UID]int{}}
		runtime.GC()
		runtime.ReadMemStats(&before)
		b.StartTimer()
		f.fill(s)
		s.Snapshot()
		b.StopTimer()
		f.done = nil
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB-held")
		runtime.KeepAlive(s)
		b.StartTimer()
	}
}
