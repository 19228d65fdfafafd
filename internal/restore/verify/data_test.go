package verify

import (
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
)

// dataCase is a claim that came back as shop/data, from old/data of the backup.
type dataCase struct {
	did      results.ItemStatus // Created if empty
	created  time.Time          // during the restore if zero
	restored string             // the label with the restore's name; r1 if empty, none if "-"
	pod      results.ItemStatus // of pod shop/db-0; the restore has none if empty
	podThere time.Duration      // after the beginning
	claim    Claim
	saved    []artifact.VolumeInfo
	change   func(*Input, *DataEvidence)
	want     DataState
	says     string
}

func (c dataCase) judge(t *testing.T) VolumeData {
	t.Helper()
	if c.did == "" {
		c.did = results.Created
	}
	items := results.Items{
		Kinds: []results.Kind{
			{Name: claims, Items: []results.Item{{Namespace: "shop", Name: "data", BackupNamespace: "old", Status: c.did}}},
		},
	}
	if c.pod != "" {
		items.Kinds = append(
			items.Kinds,
			results.Kind{
				Name:  "pods",
				Items: []results.Item{{Namespace: "shop", Name: "db-0", BackupNamespace: "old", Status: c.pod}},
			},
		)
	}
	in := Input{RestoreName: "r1", Started: began, Ended: ended, Items: items}
	e := DataEvidence{BackupVolumes: c.saved}
	if c.change != nil {
		c.change(&in, &e)
	}
	in.Target = live.NewState(BuildQuery(in.Items), func(resource, _, _ string) *live.Object {
		o := &live.Object{Created: began.Add(time.Minute), RestoreName: "r1"}
		switch {
		case resource == "pods":
			o.Created = began.Add(c.podThere)
			return o
		case !c.created.IsZero():
			o.Created = c.created
		}
		switch c.restored {
		case "":
		case "-":
			o.RestoreName = ""
		default:
			o.RestoreName = c.restored
		}
		return o
	})
	r := Judge(in)
	c.claim.Namespace, c.claim.Name = "shop", "data"
	if c.claim.Phase == "" {
		c.claim.Phase = "Bound"
	}
	r.AddClaims([]Claim{c.claim}, nil)
	r.AddVolumes(in, e)
	for _, v := range r.Volumes {
		if v.Claim == "data" {
			if r.Incomplete != (v.State == DataUnknown) {
				t.Errorf("unknown: %t, though the state is %s", r.Incomplete, v.State)
			}
			if r.IsSettled() != (v.State != DataUnknown && v.State != DataWaiting) {
				t.Errorf("settled: %t, though the state is %s", r.IsSettled(), v.State)
			}
			if waits := strings.Contains(
				r.Summary(),
				"; the data of 1 volume may still come",
			); waits != (v.State == DataWaiting) {
				t.Errorf("%q, though the state is %s", r.Summary(), v.State)
			}
			if lost := r.CountLostVolumes() > 0; lost != (v.State == DataEmpty) {
				t.Errorf("lost: %t, though the state is %s", lost, v.State)
			}
			return v
		}
	}
	t.Fatal("nothing was judged")
	return VolumeData{}
}

func TestDataOfClaims(t *testing.T) {
	saved := func(v artifact.VolumeInfo) []artifact.VolumeInfo {
		v.Namespace, v.Claim, v.PersistentVolume = "old", "data", "pv-old"
		return []artifact.VolumeInfo{v}
	}
	skippedBecause := func(why string) []artifact.VolumeInfo {
		return saved(artifact.VolumeInfo{Skipped: true, SkippedReason: why})
	}
	byPod := saved(
		artifact.VolumeInfo{
			Method:       "PodVolumeBackup",
			PodNamespace: "old",
			Pod:          "db-0",
			PodVolume:    "data",
			Result:       "succeeded",
		},
	)
	byMover := saved(artifact.VolumeInfo{Method: "CSISnapshot", DataMoved: true, Result: "succeeded"})
	byCSI := saved(artifact.VolumeInfo{Method: "CSISnapshot"})
	byNative := saved(artifact.VolumeInfo{Method: "NativeSnapshot", Result: "succeeded"})
	moved := func(kind velero.VolumeKind, phase string) func(*Input, *DataEvidence) {
		return func(_ *Input, e *DataEvidence) {
			e.Transfers = []job.Volume{{Kind: kind, Name: "m", Namespace: "shop", Claim: "data", Phase: phase}}
			if kind.IsPodVolume() {
				e.Transfers = []job.Volume{
					{Kind: kind, Name: "m", Namespace: "shop", Pod: "db-0", PodVolume: "data", Phase: phase},
				}
			}
		}
	}
	noVolumes := func(_ *Input, e *DataEvidence) { e.VolumesLeftOut = true }
	goesOn := func(in *Input, _ *DataEvidence) { in.InProgress, in.Unlisted, in.Ended = true, true, time.Time{} }
	madeBy := func(m artifact.VolumeInfo) func(*Input, *DataEvidence) {
		return func(_ *Input, e *DataEvidence) {
			m.Namespace, m.Claim = "shop", "data"
			e.RestoredVolumes, e.Completed = []artifact.VolumeInfo{m}, true
		}
	}
	pvr := artifact.VolumeInfo{Method: "PodVolumeRestore", PodNamespace: "shop", Pod: "db-0", PodVolume: "data"}
	volumeMade := func(in *Input, _ *DataEvidence) {
		in.Items.Kinds = append(
			in.Items.Kinds,
			results.Kind{Name: "persistentvolumes", Items: []results.Item{{Name: "pv-old", Status: results.Created}}},
		)
	}
	before, after := began.Add(-time.Hour), ended.Add(time.Hour)
	for name, c := range map[string]dataCase{
		"no record, and it can never be bound": {claim: Claim{Phase: "Pending", Volume: "pv-x", UnbindableReason: "it is not there"}, want: DataEmpty, says: "volume pv-x can never be bound to it: it is not there"},
		"copied into a pod":                    {pod: results.Created, saved: byPod, change: moved(velero.PodVolumeRestore, "Completed"), want: DataRestored},
		"copying failed":                       {pod: results.Created, saved: byPod, change: moved(velero.PodVolumeRestore, "Failed"), want: DataFailed},
		"not copied":                           {pod: results.Created, saved: byPod, want: DataEmpty, says: "no PodVolumeRestore"},
		"the pod is left out":                  {pod: results.LeftOut, saved: byPod, want: DataEmpty, says: "only through pod db-0, which the restore leaves out"},
		"the pod existed":                      {pod: results.Skipped, podThere: -time.Hour, saved: byPod, want: DataEmpty, says: "pod db-0 existed"},
		"no list of PodVolumeRestores": {pod: results.Created, saved: byPod, change: func(_ *Input, e *DataEvidence) {
			e.UncheckedKinds = map[velero.VolumeKind]bool{velero.PodVolumeRestore: true}
		}, want: DataUnknown, says: "may not list"},
		"the PodVolumeRestore was deleted": {pod: results.Created, saved: byPod, change: func(_ *Input, e *DataEvidence) {
			e.RestoredVolumes = []artifact.VolumeInfo{{PodNamespace: "shop", Pod: "db-0", PodVolume: "data"}}
		}, want: DataUnknown, says: "not there any more"},
		"it was deleted, and nothing failed": {pod: results.Created, saved: byPod, change: func(_ *Input, e *DataEvidence) {
			e.Completed, e.RestoredVolumes = true, []artifact.VolumeInfo{{PodNamespace: "shop", Pod: "db-0", PodVolume: "data"}}
		}, want: DataRestored},
		"moved from storage":                     {saved: byMover, change: moved(velero.DataDownload, "Completed"), want: DataRestored},
		"moved, and the backup's record is gone": {change: moved(velero.DataDownload, "Completed"), want: DataRestored},
		"moving was cancelled":                   {saved: byMover, change: moved(velero.DataDownload, "Canceled"), want: DataFailed},
		"not moved":                              {saved: byMover, want: DataEmpty, says: "no DataDownload"},
		"not moved yet":                          {saved: byMover, change: goesOn, want: DataWaiting},
		"the backup could not move it":           {saved: saved(artifact.VolumeInfo{Method: "CSISnapshot", DataMoved: true, Result: "failed", Phase: "Canceled"}), want: DataEmpty, says: "could not save it (Canceled)"},
		"made from a CSI snapshot":               {saved: byCSI, claim: Claim{Snapshot: "vs"}, want: DataRestored},
		"the driver has not made it yet":         {saved: byCSI, claim: Claim{Snapshot: "vs", Phase: "Pending"}, want: DataWaiting, says: "snapshot vs"},
		"made without its CSI snapshot":          {saved: byCSI, want: DataEmpty, says: "was not made from one"},
		"told to restore no volumes":             {saved: byCSI, change: noVolumes, want: DataLeftOut},
		"a native snapshot": {saved: byNative, claim: Claim{Volume: "restore-1"}, change: func(_ *Input, e *DataEvidence) {
			e.RestoredVolumes = []artifact.VolumeInfo{{PersistentVolume: "restore-1", Method: "NativeSnapshot"}}
		}, want: DataRestored},
		"no volume from the native snapshot":       {saved: byNative, claim: Claim{Volume: "pvc-1"}, want: DataEmpty, says: "no volume was made"},
		"a native snapshot and no record":          {saved: byNative, claim: Claim{Volume: "pvc-1"}, change: func(_ *Input, e *DataEvidence) { e.RestoredVolumesUnchecked = "since 1.14" }, want: DataUnknown, says: "since 1.14"},
		"its volume was still there":               {saved: byNative, claim: Claim{Volume: "pv-old"}, want: DataKept},
		"skipped, and empty":                       {saved: skippedBecause("volumeSnapshot: no applicable volumesnapshotter found;"), claim: Claim{Volume: "pvc-1"}, want: DataEmpty, says: "skipped it: volumeSnapshot: no applicable volumesnapshotter found"},
		"skipped, empty and not bound":             {saved: skippedBecause(""), claim: Claim{Phase: "Pending"}, want: DataEmpty, says: "the backup skipped it"},
		"skipped, and its volume is retained":      {saved: skippedBecause("x"), claim: Claim{Volume: "pv-old"}, want: DataKept, says: "old volume pv-old"},
		"skipped, and it waits for its old volume": {saved: skippedBecause("x"), claim: Claim{Volume: "pv-old", Phase: "Pending"}, want: DataWaiting},
		"skipped, and its old volume is another's": {saved: skippedBecause("x"), claim: Claim{Volume: "pv-old", Phase: "Pending", UnbindableReason: "it is kept for claim old/data"}, want: DataEmpty, says: "volume pv-old can never be bound to it: it is kept for claim old/data"},
		"a native snapshot, and the volume is gone": {saved: byNative, claim: Claim{Volume: "restore-1", Phase: "Pending", UnbindableReason: "it is not there"}, change: func(_ *Input, e *DataEvidence) {
			e.RestoredVolumes = []artifact.VolumeInfo{{PersistentVolume: "restore-1", Method: "NativeSnapshot"}}
		}, want: DataEmpty, says: "it is not there"},
		"skipped by name": {saved: skippedBecause("any: item has label velero.io/exclude-from-backup=true;"), want: DataLeftOut, says: "exclude-from-backup"},
		"opted out of one way, and no other took it":   {saved: skippedBecause("podvolume: opted out due to annotation in pod db-0;volumeSnapshot: not satisfy the criteria;"), want: DataEmpty},
		"skipped by a policy, as the CSI plugin's are": {saved: skippedBecause("any: skipped due to resource policy ;volumeSnapshot: not satisfy the criteria for VolumePolicy or the legacy snapshot way;"), want: DataLeftOut, says: "resource policy"},
		"no record of the backup's, but a PodVolumeRestore": {pod: results.Created, change: func(in *Input, e *DataEvidence) {
			madeBy(pvr)(in, e)
			moved(velero.PodVolumeRestore, "Completed")(in, e)
		}, want: DataRestored},
		"no record of the backup's, and its PodVolumeRestore failed": {pod: results.Created, change: func(in *Input, e *DataEvidence) {
			madeBy(pvr)(in, e)
			moved(velero.PodVolumeRestore, "Failed")(in, e)
		}, want: DataFailed},
		"no record of the backup's, and its PodVolumeRestore is gone": {pod: results.Created, change: madeBy(pvr), want: DataRestored},
		"no record of the backup's, but a CSI snapshot":               {change: madeBy(artifact.VolumeInfo{Method: "CSISnapshot"}), claim: Claim{Snapshot: "vs"}, want: DataRestored},
		"no record of the backup's, but a native snapshot":            {change: madeBy(artifact.VolumeInfo{Method: "NativeSnapshot", PersistentVolume: "restore-1"}), claim: Claim{Volume: "restore-1"}, want: DataRestored},
		"its old volume was made again, with nothing in it":           {saved: byNative, claim: Claim{Volume: "pv-old"}, change: volumeMade, want: DataUnknown, says: "whether its storage is still there"},
		"no record":                 {want: DataUnknown, says: "no record"},
		"the record cannot be read": {change: func(_ *Input, e *DataEvidence) { e.BackupVolumesUnchecked = "since 1.13" }, want: DataUnknown},
		"existed":                   {did: results.Skipped, created: before, restored: "-", saved: byMover, want: DataExisted},
		"existed, and another restore had made it":     {did: results.Skipped, created: before, restored: "r0", saved: byMover, want: DataExisted},
		"existed, and its pod's volume was written":    {did: results.Skipped, created: before, restored: "-", pod: results.Created, saved: byPod, change: moved(velero.PodVolumeRestore, "Completed"), want: DataRestored},
		"made anew by hand":                            {created: after, restored: "-", saved: byMover, change: moved(velero.DataDownload, "Completed"), want: DataEmpty, says: "after the restore had ended"},
		"made anew by another restore":                 {created: after, restored: "r2", saved: byMover, change: moved(velero.DataDownload, "Completed"), want: DataExisted, says: "restore r2"},
		"its controller made it while Velero restored": {did: results.Failed, restored: "-", saved: byMover, want: DataEmpty, says: "no DataDownload"},
	} {
		t.Run(name, func(t *testing.T) {
			if v := c.judge(t); v.State != c.want || !strings.Contains(v.Why, c.says) {
				t.Errorf("%s (%s), expected %s (%s)", v.State, v.Why, c.want, c.says)
			}
		})
	}
}

// TestDataOfPodVolumesWithoutClaim: an emptyDir that the backup copied is a volume too.
func TestDataOfPodVolumesWithoutClaim(t *testing.T) {
	saved := []artifact.VolumeInfo{
		{Method: "PodVolumeBackup", PodNamespace: "old", Pod: "db-0", PodVolume: "cache", Result: "succeeded"},
	}
	items := results.Items{
		Kinds: []results.Kind{
			{Name: "pods", Items: []results.Item{{Namespace: "shop", Name: "db-0", BackupNamespace: "old", Status: results.Created}}},
		},
	}
	in := Input{
		RestoreName: "r1",
		Started:     began,
		Ended:       ended,
		Items:       items,
		Target: live.NewState(BuildQuery(items), func(string, string, string) *live.Object {
			return &live.Object{Created: began.Add(time.Minute), RestoreName: "r1"}
		}),
	}
	r := Judge(in)
	r.AddVolumes(in, DataEvidence{BackupVolumes: saved})
	if len(r.Volumes) != 1 || r.Volumes[0].State != DataEmpty || r.Volumes[0].String() != "shop/db-0:cache" {
		t.Errorf("%+v", r.Volumes)
	}
	if s := r.Summary(); s != "all of 1 item came back; the data of 1 volume did not come back" {
		t.Error(s)
	}
	if s := r.VolumeSummary(); s != "Volume data: 0 of 1 restored, 1 without data." {
		t.Error(s)
	}
	r = Judge(in)
	r.AddVolumes(in, DataEvidence{BackupVolumes: saved, Completed: true})
	if len(r.Volumes) != 1 || r.Volumes[0].State != DataUnknown || r.IsSettled() {
		t.Errorf("a restore that completed, and its PodVolumeRestores are gone: %+v", r.Volumes)
	}
}

func TestManyVolumesInWords(t *testing.T) {
	r := Result{Volumes: make([]VolumeData, 3000)}
	for i := range r.Volumes {
		r.Volumes[i] = VolumeData{Method: MethodCSISnapshot, State: []DataState{DataRestored, DataEmpty}[i%2]}
	}
	if s := r.VolumeSummary(); s != "Volume data: 1,500 of 3,000 restored (1,500 from a CSI snapshot), 1,500 without data." {
		t.Error(s)
	}
}
