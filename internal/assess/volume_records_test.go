package assess

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/kubectl"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func podBackup(pod, claim, phase string) JudgedVolume {
	return JudgedVolume{
		Volume: &job.Volume{
			Kind:           velero.PodVolumeBackup,
			Name:           "pvb-" + pod,
			Phase:          phase,
			Namespace:      "shop",
			Pod:            pod,
			PodVolume:      "data",
			Claim:          claim,
			Target:         "shop/" + pod + ":data",
			Node:           "a",
			Uploader:       "kopia",
			SnapshotHandle: "k-" + pod,
			Done:           3,
			Total:          7,
		},
	}
}

func upload(claim, phase string) JudgedVolume {
	return JudgedVolume{
		Volume: &job.Volume{Kind: velero.DataUpload, Name: "du-" + claim, Phase: phase, Namespace: "shop", Claim: claim,
			Target: "shop/" + claim, OperationID: "du-op." + claim, Done: 1, Total: 9},
	}
}

// words are what a page says of each record, in their order.
func words(records []VolumeRecord) []string {
	all := make([]string, len(records))
	for i := range records {
		r := &records[i]
		done, total := r.MovedBytes()
		all[i] = fmt.Sprintf("%s|%s|%s|%s|%s|%d/%d", r.Name(), r.Pod(), r.Node(), r.State(), r.MethodText(), done, total)
	}
	return all
}

func TestJoinVolumes(t *testing.T) {
	for name, c := range map[string]struct {
		volumes []JudgedVolume
		infos   []artifact.VolumeInfo
		want    []string
	}{
		"a running job has resources only": {
			[]JudgedVolume{podBackup("web", "", velero.VolumeInProgress), upload("db", "")}, nil,
			[]string{"shop/db|||Open|CSI snapshot, data mover|1/9", "shop/web:data|shop/web:data|a|Open|fs-backup, kopia|3/7"},
		},
		"a synced backup has volume info only": {
			nil, []artifact.VolumeInfo{
				{Namespace: "shop", Claim: "cache", Skipped: true, SkippedReason: "podvolume: opted out due to annotation in pod web;"},
				{Namespace: "shop", Claim: "pg", Method: artifact.MethodNativeSnapshot, Result: "succeeded", SnapshotHandle: "snap-1"},
				{Namespace: "shop", Claim: "log", Method: artifact.MethodCSISnapshot, Result: "failed", Size: 50},
				{Namespace: "shop", Claim: "db", Method: artifact.MethodCSISnapshot, DataMoved: true, DataMover: "velero", Phase: "Completed", Size: 9},
				{Namespace: "shop", Claim: "img", Method: artifact.MethodCSISnapshot, DataMoved: true, DataMover: "vendor", Phase: "Canceled"},
				{PodNamespace: "shop", Pod: "web", PodVolume: "tmp", Node: "b", Method: artifact.MethodPodVolumeBackup, Uploader: "restic", Result: "succeeded", Size: 5},
			},
			[]string{
				"shop/img|||Failed|CSI snapshot, data mover vendor|0/0", "shop/log|||Failed|CSI snapshot|0/50",
				"shop/db|||Done|CSI snapshot, data mover|9/9", "shop/pg|||Done|native snapshot|0/0",
				"shop/web:tmp|shop/web:tmp|b|Done|fs-backup, restic|5/5", "shop/cache|||Skipped||0/0",
			},
		},
		"by the operation, whatever else differs": {
			[]JudgedVolume{upload("db", velero.VolumeCompleted)},
			[]artifact.VolumeInfo{{Namespace: "old", Claim: "pg", Method: artifact.MethodCSISnapshot, DataMoved: true, Operation: "du-op.db", Phase: "Prepared"}},
			[]string{"old/pg|||Done|CSI snapshot, data mover|1/9"},
		},
		"by the pod's volume: two pods share one claim": {
			[]JudgedVolume{podBackup("web-0", "files", velero.VolumeCompleted), podBackup("web-1", "files", velero.VolumeFailed)},
			[]artifact.VolumeInfo{
				{Namespace: "shop", Claim: "files", Method: artifact.MethodPodVolumeBackup, PodNamespace: "shop", Pod: "web-1", PodVolume: "data", Result: "failed"},
				{Namespace: "shop", Claim: "files", Method: artifact.MethodPodVolumeBackup, PodNamespace: "shop", Pod: "web-0", PodVolume: "data", Result: "succeeded"},
			},
			[]string{"shop/files|shop/web-1:data|a|Failed|fs-backup, kopia|3/7", "shop/files|shop/web-0:data|a|Done|fs-backup, kopia|3/7"},
		},
		"by the snapshot's handle": {
			[]JudgedVolume{podBackup("web", "", velero.VolumeCompleted)},
			[]artifact.VolumeInfo{{Namespace: "shop", Claim: "files", Method: artifact.MethodPodVolumeBackup, SnapshotHandle: "k-web", Size: 7}},
			[]string{"shop/files|shop/web:data|a|Done|fs-backup, kopia|3/7"},
		},
		"by the claim, but not what carries no data": {
			[]JudgedVolume{upload("db", velero.VolumeCompleted)},
			[]artifact.VolumeInfo{
				{Namespace: "shop", Claim: "db", Skipped: true, SkippedReason: "no"},
				{Namespace: "shop", Claim: "db", Method: artifact.MethodCSISnapshot, Size: 4, Result: "succeeded"},
				{Namespace: "shop", Claim: "db", Method: artifact.MethodPodVolumeBackup, Size: 5, Result: "succeeded"},
				{Namespace: "shop", Claim: "db", Method: artifact.MethodCSISnapshot, DataMoved: true, Size: 6, Node: "n"},
			},
			[]string{"shop/db||n|Done|CSI snapshot, data mover|1/9", "shop/db|||Done|CSI snapshot|0/4", "shop/db|||Done|fs-backup|5/5", "shop/db|||Skipped||0/0"},
		},
		"nothing is joined twice": {
			[]JudgedVolume{upload("db", velero.VolumeCompleted)},
			[]artifact.VolumeInfo{{Namespace: "shop", Claim: "db", DataMoved: true, Method: artifact.MethodCSISnapshot, Operation: "du-op.db"}, {Namespace: "shop", Claim: "db", DataMoved: true, Method: artifact.MethodCSISnapshot}},
			[]string{"shop/db|||Done|CSI snapshot, data mover|1/9", "shop/db||||CSI snapshot, data mover|0/0"},
		},
		"of a restore no result is stored": {
			nil, []artifact.VolumeInfo{{Namespace: "shop", Claim: "db", Method: artifact.MethodCSISnapshot}, {PersistentVolume: "pv-1", Method: artifact.MethodNativeSnapshot, SnapshotHandle: "snap"}},
			[]string{"pv-1||||native snapshot|0/0", "shop/db||||CSI snapshot|0/0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := words(JoinVolumes(c.volumes, c.infos))
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// What holds the job up is first, and the same volume that Last names.
func TestTheVolumeThatHoldsTheJobUpIsFirst(t *testing.T) {
	slow, quick := upload("slow", velero.VolumeInProgress), upload("quick", velero.VolumeInProgress)
	slow.ETA, quick.ETA = TimeLeft{Left: time.Hour, Known: true}, TimeLeft{Left: time.Minute, Known: true}
	failed := upload("a", velero.VolumeFailed)
	waiting := upload("waiting", velero.VolumePrepared)
	for _, volumes := range [][]JudgedVolume{{failed, quick, slow}, {failed, quick, slow, waiting}} {
		records := JoinVolumes(volumes, nil)
		if want := FindBlockingVolume(
			volumes,
		); records[0].Volume.Name != want.Name ||
			records[len(records)-1].Volume.Name != failed.Name {
			t.Errorf("%s is held up by %s", words(records), want.Name)
		}
	}
}

func TestSkippedReasonsAndHandles(t *testing.T) {
	r := JoinVolumes(nil, []artifact.VolumeInfo{{Skipped: true, SkippedReason: "volumeSnapshot: no applicable volumesnapshotter found;podvolume: opted out; "}})[0]
	if got := r.SkippedReason(); got != "volumeSnapshot: no applicable volumesnapshotter found; podvolume: opted out" {
		t.Errorf("skipped because %q", got)
	}
	v := podBackup("web", "", velero.VolumeCompleted)
	r = JoinVolumes([]JudgedVolume{v}, nil)[0]
	if r.SnapshotHandle() != "k-web" || r.OperationID() != "" || r.IncrementalBytes() != 0 || r.SkippedReason() != "" {
		t.Errorf("handle %q, operation %q", r.SnapshotHandle(), r.OperationID())
	}
	r = JoinVolumes(nil, []artifact.VolumeInfo{{Method: artifact.MethodCSISnapshot, DataMoved: true, SnapshotHandle: "local", LocalSnapshotHandle: "local"}})[0]
	if r.SnapshotHandle() != "" {
		t.Errorf("the handle of data that is not moved yet is %q", r.SnapshotHandle())
	}
	r = JoinVolumes(nil, []artifact.VolumeInfo{{Method: artifact.MethodCSISnapshot, SnapshotHandle: "h", Operation: "o", Incremental: 2}})[0]
	if r.SnapshotHandle() != "h" || r.OperationID() != "o" || r.IncrementalBytes() != 2 {
		t.Errorf("handle %q, operation %q, %d new", r.SnapshotHandle(), r.OperationID(), r.IncrementalBytes())
	}
}

func TestOperations(t *testing.T) {
	j := restore(veleroapi.RestorePhaseWaitingForPluginOperations, 0, 0)
	a := newAssessment(snapshotOf(noon, j), snapshotOf(noon, j), nil, noon, kubectl.ClusterAccess{})
	created := noon.Add(-time.Hour)
	du := upload("db", velero.VolumeInProgress)
	got := a.JoinOperations(j, []artifact.Operation{
		{
			ID:        "1",
			Phase:     "Completed",
			Resource:  "pods",
			Namespace: "shop",
			Name:      "b",
			Created:   created,
			Done:      5,
			Total:     12,
			Units:     "steps",
		},
		{ID: "2", Phase: "Failed", Group: "example.com", Resource: "widgets", Name: "w", Created: created, Done: 3},
		{
			ID:        "3",
			Phase:     "InProgress",
			Resource:  "pods",
			Namespace: "shop",
			Name:      "a",
			Created:   created.Add(time.Minute),
			Done:      1 << 30,
			Total:     2 << 30,
			Units:     "Bytes",
		},
		{
			ID:        "du-op.db",
			Phase:     "New",
			Resource:  "persistentvolumeclaims",
			Namespace: "shop",
			Name:      "db",
			Created:   created,
		},
		{ID: "", Phase: "New", Resource: "pods", Namespace: "shop", Name: "z"},
	}, []JudgedVolume{du, {Volume: &job.Volume{Name: "without an operation"}}})
	var lines []string
	for i := range got {
		o := &got[i]
		line := o.ItemText() + "|" + o.ProgressText()
		if o.Volume != nil {
			line += "|" + o.Volume.Name
		}
		if !o.Deadline.IsZero() {
			line += "|" + o.Deadline.Sub(noon).String()
		}
		lines = append(lines, line)
	}
	want := []string{
		"pods shop/z|",
		"persistentvolumeclaims shop/db||du-db|3h0m0s",
		"pods shop/a|1.0/2.0G|3h1m0s",
		"widgets.example.com w|3",
		"pods shop/b|5/12 steps",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if !got[3].HasFailed() || got[3].HasEnded() == false || got[0].HasEnded() {
		t.Error("a failed operation has not ended, or one that runs has")
	}
}

// While items are backed up nothing is stored to ask for.
func TestListsStored(t *testing.T) {
	for phase, want := range map[veleroapi.RestorePhase]bool{
		veleroapi.RestorePhaseInProgress: false, veleroapi.RestorePhaseNew: false, veleroapi.RestorePhaseWaitingForPluginOperations: true,
		veleroapi.RestorePhaseCompleted: true, veleroapi.RestorePhaseFailedValidation: false,
	} {
		j := restore(phase, 9, 4)
		if got := (JudgedJob{Job: j}).HasStoredLists(); got != want {
			t.Errorf("%s: %v", phase, got)
		}
		// Of a job that is stuck they may be there, but not before it has started.
		stuck := want || phase == veleroapi.RestorePhaseInProgress
		if got := (JudgedJob{Job: j, State: diagnosis.Stuck}).HasStoredLists(); got != stuck {
			t.Errorf("%s, stuck: %v", phase, got)
		}
	}
}
