package watch

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/client"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// ticker is a clock that goes on by a millisecond with each look.
func ticker() func() time.Time {
	now := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	return func() time.Time {
		now = now.Add(time.Millisecond)
		return now
	}
}

// object fills in what an API server does.
func object[T client.Object](o T, name string, uid types.UID, version, created int) T {
	o.SetNamespace("velero")
	o.SetName(name)
	o.SetUID(uid)
	o.SetResourceVersion(strconv.Itoa(version))
	o.SetCreationTimestamp(metav1.NewTime(time.Unix(1_700_000_000+int64(created), 0)))
	return o
}

func runningBackup(name string, uid types.UID, version, created, done int) *veleroapi.Backup {
	return object(&veleroapi.Backup{Status: veleroapi.BackupStatus{
		Phase:    veleroapi.BackupPhaseInProgress,
		Progress: &veleroapi.BackupProgress{TotalItems: 1_000_000, ItemsBackedUp: done},
	}}, name, uid, version, created)
}

func pvbOf(owner types.UID, name string, uid types.UID, version, done int) *veleroapi.PodVolumeBackup {
	o := object(&veleroapi.PodVolumeBackup{}, name, uid, version, 0)
	o.Labels = map[string]string{veleroapi.BackupUIDLabel: string(owner)}
	o.Status.Progress.BytesDone = int64(done)
	return o
}

func jobNames(jobs []*job.Job) (names []string) {
	for _, j := range jobs {
		names = append(names, j.Name)
	}
	return names
}

func TestStoreSignalsOnce(t *testing.T) {
	s := NewStore(ticker(), 0)
	for i := range 100 {
		s.Upsert(runningBackup("b", "u", i+1, 0, i))
	}
	<-s.Updates()
	select {
	case <-s.Updates():
		t.Error("100 changes made two signals")
	default:
	}
	if got := s.Snapshot().Jobs[0].Items.Done; got != 99 {
		t.Errorf("%d items, want the newest number", got)
	}
	s.Upsert(runningBackup("b", "u", 100, 0, 99))
	select {
	case <-s.Updates():
		t.Error("what is known already made a signal")
	default:
	}
}

func TestStoreOrdersJobs(t *testing.T) {
	s := NewStore(ticker(), 0)
	s.Upsert(runningBackup("old", "1", 1, 10, 0))
	s.Upsert(runningBackup("same-b", "2", 1, 20, 0))
	s.Upsert(
		object(
			&veleroapi.Restore{Status: veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted}},
			"same-a",
			"3",
			1,
			20,
		),
	)
	s.Upsert(runningBackup("new", "4", 1, 30, 0))
	first := s.Snapshot()
	if got := jobNames(first.Jobs); !slices.Equal(got, []string{"new", "same-a", "same-b", "old"}) {
		t.Errorf("order %v", got)
	}
	if got := jobNames(first.Active); !slices.Equal(got, []string{"new", "same-b", "old"}) {
		t.Errorf("active %v", got)
	}

	s.Upsert(runningBackup("same-b", "2", 2, 20, 5))
	s.Delete(runningBackup("old", "1", 1, 10, 0))
	s.Upsert(runningBackup("between", "5", 1, 25, 0))
	second := s.Snapshot()
	if got := jobNames(second.Jobs); !slices.Equal(got, []string{"new", "between", "same-a", "same-b"}) {
		t.Errorf("order %v", got)
	}
	if second.Jobs[0] != first.Jobs[0] || second.Jobs[3].Items.Done != 5 || first.Jobs[2].Items.Done != 0 {
		t.Error("unchanged jobs are not shared, or the first snapshot changed")
	}
	third := s.Snapshot()
	if &third.Jobs[0] != &second.Jobs[0] || &third.Active[0] != &second.Active[0] {
		t.Error("lists without a change are not shared")
	}
	if third.Seq <= second.Seq {
		t.Error("the number of a snapshot did not grow")
	}
}

func TestStoreJoinsVolumes(t *testing.T) {
	s := NewStore(ticker(), 0)
	// Volumes may come first.
	s.Upsert(pvbOf("b", "v2", "v2", 1, 1))
	s.Upsert(pvbOf("b", "v1", "v1", 1, 1))
	s.Upsert(pvbOf("other", "x", "x", 1, 1))
	byReference := pvbOf("", "v3", "v3", 1, 1)
	byReference.Labels = nil
	byReference.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Pod", UID: "p"}, {APIVersion: "velero.io/v1", Kind: "Backup", UID: "b"},
	}
	s.Upsert(byReference)
	s.Upsert(runningBackup("b", "b", 1, 0, 0))
	names := func(n *Snapshot) (names []string) {
		for _, v := range n.Jobs[0].Volumes {
			names = append(names, fmt.Sprint(v.Name, "=", v.Done))
		}
		return names
	}
	first := s.Snapshot()
	if got := names(first); !slices.Equal(got, []string{"v1=1", "v2=1", "v3=1"}) {
		t.Errorf("volumes %v", got)
	}
	s.Upsert(pvbOf("b", "v1", "v1", 2, 7))
	s.Upsert(pvbOf("b", "v0", "v0", 1, 1))
	s.Delete(pvbOf("b", "v2", "v2", 1, 1))
	s.Upsert(pvbOf("other", "v3", "v3", 2, 1))
	if got := names(s.Snapshot()); !slices.Equal(got, []string{"v0=1", "v1=7"}) {
		t.Errorf("volumes %v", got)
	}
	if got := names(first); !slices.Equal(got, []string{"v1=1", "v2=1", "v3=1"}) {
		t.Errorf("the first snapshot changed: %v", got)
	}
}

func TestStoreKeepsTheNewOneOfAName(t *testing.T) {
	s := NewStore(ticker(), 10)
	first := runningBackup("b", "first", 1, 0, 0)
	s.Upsert(first)
	s.Upsert(pvbOf("first", "v", "v", 1, 1))
	s.Upsert(runningBackup("b", "second", 2, 5, 0))
	s.Delete(first) // The deletion comes late.
	n := s.Snapshot()
	if len(n.Jobs) != 1 || n.Jobs[0].UID != "second" || len(n.Jobs[0].Volumes) != 0 {
		t.Errorf("jobs %+v", n.Jobs)
	}
	if len(n.Changes) != 3 || !n.Changes[1].Deleted || n.Changes[1].Job.UID != "first" ||
		n.Changes[2].Job.UID != "second" {
		t.Errorf("changes %+v", n.Changes)
	}
	// The same resource deleted and there again between two snapshots.
	again := runningBackup("b", "second", 3, 5, 0)
	s.Delete(again)
	s.Upsert(again)
	if n := s.Snapshot(); len(n.Jobs) != 1 {
		t.Errorf("jobs %v", jobNames(n.Jobs))
	}
}

func TestStoreReplacesAKind(t *testing.T) {
	s := NewStore(ticker(), 10)
	list := func(objects ...client.Object) { s.Replace(Backups, objects) }
	list(runningBackup("a", "a", 1, 0, 0), runningBackup("b", "b", 1, 0, 0))
	first := s.Snapshot()
	if len(first.Jobs) != 2 || len(first.Changes) != 0 {
		t.Errorf("%d jobs, %d changes", len(first.Jobs), len(first.Changes))
	}
	s.Upsert(object(&veleroapi.Restore{}, "r", "r", 1, 0))
	list(runningBackup("a", "a", 1, 0, 0), runningBackup("c", "c", 1, 9, 0))
	n := s.Snapshot()
	if got := jobNames(n.Jobs); !slices.Equal(got, []string{"c", "a", "r"}) {
		t.Errorf("jobs %v", got)
	}
	if n.Jobs[1] != first.Jobs[0] {
		t.Error("a job that did not change is not shared")
	}
	if len(n.Changes) != 3 {
		t.Errorf("changes %+v, want the restore, the deletion of b, and c", n.Changes)
	}
	s.Clear()
	if n := s.Snapshot(); len(n.Jobs) != 0 || len(n.Active) != 0 {
		t.Errorf("%d jobs after Clear", len(n.Jobs))
	}
}

func TestJournalGivesUpTheOldest(t *testing.T) {
	s := NewStore(ticker(), 10)
	for i := range 25 {
		s.Upsert(runningBackup("b", "u", i+1, 0, i))
	}
	n := s.Snapshot()
	if len(n.Changes) != 10 || n.DroppedChanges != 15 || n.Changes[0].Job.Items.Done != 15 ||
		n.Changes[9].Job.Items.Done != 24 {
		t.Errorf("%d changes, %d dropped, from %d", len(n.Changes), n.DroppedChanges, n.Changes[0].Job.Items.Done)
	}
	if n := s.Snapshot(); len(n.Changes) != 0 || n.DroppedChanges != 0 {
		t.Error("changes were handed over twice")
	}
	s.Upsert(pvbOf("u", "v", "v", 1, 3))
	if n := s.Snapshot(); len(n.Changes) != 1 || len(n.Changes[0].Job.Volumes) != 1 {
		t.Errorf("a volume's change was not noted: %+v", n.Changes)
	}
}

func TestStoreIgnoresWhatItDoesNotKnow(t *testing.T) {
	s := NewStore(ticker(), 0)
	s.Upsert(&veleroapi.DownloadRequest{})
	s.Delete(&veleroapi.DownloadRequest{})
	s.Delete(nil)
	s.Replace("things", nil)
	s.Upsert(&veleroapi.Backup{})
	s.Upsert(&veleroapi.PodVolumeBackup{})
	if n := s.Snapshot(); len(n.Jobs) != 1 {
		t.Errorf("%d jobs", len(n.Jobs))
	}
}

// TestStoreAgainstModel does at random what a cluster may do and compares each
// snapshot with one made from scratch.
func TestStoreAgainstModel(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { runModel(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func runModel(t *testing.T, r *rand.Rand) {
	type thing struct {
		uid           types.UID
		created, done int
		owner         types.UID
	}
	s := NewStore(ticker(), 0)
	jobs, vols := map[string]thing{}, map[string]thing{}
	next, version := 0, 0
	build := func(name string, b thing) *veleroapi.Backup {
		return runningBackup(name, b.uid, version, b.created, b.done)
	}
	for range 3000 {
		version++
		name := fmt.Sprintf("n%02d", r.IntN(30))
		switch r.IntN(12) {
		case 0, 1, 2, 3:
			b, ok := jobs[name]
			if !ok || r.IntN(20) == 0 { // New, or made anew under the same name.
				next++
				b = thing{uid: types.UID("j" + strconv.Itoa(next)), created: r.IntN(50)}
			}
			b.done = version
			jobs[name] = b
			s.Upsert(build(name, b))
		case 4:
			if b, ok := jobs[name]; ok {
				delete(jobs, name)
				s.Delete(build(name, b))
			}
		case 5, 6, 7, 8:
			v, ok := vols[name]
			if !ok || r.IntN(20) == 0 {
				next++
				v = thing{
					uid:   types.UID("v" + strconv.Itoa(next)),
					owner: types.UID("j" + strconv.Itoa(1+r.IntN(next))),
				}
			}
			v.done = version
			vols[name] = v
			s.Upsert(pvbOf(v.owner, name, v.uid, version, v.done))
		case 9:
			if v, ok := vols[name]; ok {
				delete(vols, name)
				s.Delete(pvbOf(v.owner, name, v.uid, version, v.done))
			}
		case 10: // The watch broke; some changed meanwhile.
			var list []client.Object
			for n, b := range jobs {
				if r.IntN(10) == 0 {
					delete(jobs, n)
					continue
				}
				b.done = version
				jobs[n] = b
				list = append(list, build(n, b))
			}
			s.Replace(Backups, list)
		case 11:
			want := make([]string, 0, len(jobs))
			type row struct {
				created int
				text    string
			}
			var rows []row
			for n, b := range jobs {
				var owned []string
				for vn, v := range vols {
					if v.owner == b.uid {
						owned = append(owned, fmt.Sprint(vn, "=", v.done))
					}
				}
				slices.Sort(owned)
				rows = append(rows, row{b.created, fmt.Sprint(n, b.uid, b.done, owned)})
			}
			slices.SortFunc(
				rows,
				func(a, b row) int { return cmp.Or(b.created-a.created, cmp.Compare(a.text, b.text)) },
			)
			for _, r := range rows {
				want = append(want, r.text)
			}
			var got []string
			for _, j := range s.Snapshot().Jobs {
				var owned []string
				for _, v := range j.Volumes {
					owned = append(owned, fmt.Sprint(v.Name, "=", v.Done))
				}
				slices.Sort(owned)
				got = append(got, fmt.Sprint(j.Name, j.UID, j.Items.Done, owned))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("after %d steps\n got %v\nwant %v", version, got, want)
			}
		}
	}
	if len(s.volumes) > len(vols)+len(jobs) {
		t.Errorf("volumes of %d jobs are kept, with %d volumes and %d jobs", len(s.volumes), len(vols), len(jobs))
	}
}

// TestStoreRemembersWhatItSaw of the server and of locations, each once and the
// newest only, and leaves the lists of older snapshots alone.
func TestStoreRemembersWhatItSaw(t *testing.T) {
	s := NewStore(ticker(), 0)
	version := 0
	location := func(phase veleroapi.BackupStorageLocationPhase) *Snapshot {
		version++
		l := object(&veleroapi.BackupStorageLocation{}, "default", "l", version, 0)
		l.Status.Phase = phase
		s.Upsert(l)
		return s.Snapshot()
	}
	server := func(started, ended int64) *Snapshot {
		version++
		p := object(&corev1.Pod{}, "velero-0", "p", version, 0)
		p.Labels = map[string]string{"component": "velero", "deploy": "velero"}
		p.Spec.Containers = []corev1.Container{
			{Name: "velero", Image: "velero/velero:v1.18.3", Args: []string{"server"}},
		}
		status := corev1.ContainerStatus{
			Name:  "velero",
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Unix(started, 0)}},
		}
		if ended > 0 {
			status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
				Reason:     "OOMKilled",
				FinishedAt: metav1.Unix(ended, 0),
			}
		}
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{status}}
		s.Upsert(p)
		return s.Snapshot()
	}
	location("Available")
	if n := location("Available"); len(n.Events) != 0 {
		t.Errorf("nothing changed: %+v", n.Events)
	}
	old := location("Unavailable")
	server(100, 0)
	server(100, 0)
	n := server(300, 200)
	var got []string
	for _, e := range n.Events {
		got = append(got, fmt.Sprintf("%s %s%s %s", e.Kind, e.From, e.To, e.Reason))
	}
	want := []string{"location AvailableUnavailable ", "server start  ", "server stop  OOMKilled", "server start  "}
	if !slices.Equal(got, want) {
		t.Errorf("seen: %q, want %q", got, want)
	}
	for i := range int64(2 * maxEvents) {
		n = server(1000+i, 0)
	}
	if len(n.Events) != maxEvents || len(old.Events) != 1 {
		t.Errorf("%d changes are kept, an older snapshot has %d", len(n.Events), len(old.Events))
	}
}
