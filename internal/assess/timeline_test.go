package assess

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/kubectl"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

func earlier(d time.Duration) *metav1.Time { at := metav1.NewTime(noon.Add(-d)); return &at }

// storied is a backup with a bit of everything behind it.
func storied() *job.Job {
	b := &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{
			Name:              "b",
			Namespace:         "velero",
			UID:               "b",
			CreationTimestamp: *earlier(20 * time.Minute),
			Labels:            map[string]string{veleroapi.ScheduleNameLabel: "nightly"},
			DeletionTimestamp: earlier(time.Minute),
			ManagedFields: []metav1.ManagedFieldsEntry{
				{
					Manager:  "velero-server",
					Time:     earlier(5 * time.Minute),
					FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:phase":{}}}`),
				},
			},
		},
	}
	b.Spec.StorageLocation = "default"
	b.Status = veleroapi.BackupStatus{
		Phase:               "PartiallyFailed",
		StartTimestamp:      earlier(19 * time.Minute),
		CompletionTimestamp: earlier(5 * time.Minute),
		Errors:              2,
	}
	return job.Fold(nil, job.Observation{Backup: b, ObservedAt: noon, Volumes: []job.Volume{
		{
			Kind:    velero.DataUpload,
			Name:    "b-1",
			Phase:   "Failed",
			Target:  "shop/data",
			Node:    "node-a",
			Message: "no space left",
			Created: noon.Add(
				-18 * time.Minute,
			),
			Accepted:  noon.Add(-17 * time.Minute),
			Started:   noon.Add(-16 * time.Minute),
			Completed: noon.Add(-15 * time.Minute),
		},
	}})
}

func texts(l Timeline) string {
	var b strings.Builder
	for _, e := range l.Events {
		fmt.Fprintln(&b, noon.Sub(e.At), e.Source, e.Text)
	}
	return b.String()
}

// TestTimelineIsNewestFirstAndNamesItsSources.
func TestTimelineIsNewestFirstAndNamesItsSources(t *testing.T) {
	j := storied()
	j.SeenChanges = []job.SeenChange{
		{At: noon.Add(-5 * time.Minute), ChangeKind: job.SeenPhase, From: "InProgress", To: "PartiallyFailed"},
	}
	snap := snapshotOf(noon, j)
	snap.Server.ServerPod = velero.ServerPod{
		Name:                  "velero-0",
		Running:               true,
		StartedAt:             noon.Add(-time.Hour),
		LastTerminationReason: "OOMKilled",
		LastTerminationAt:     noon.Add(-61 * time.Minute),
	}
	snap.DeleteRequests = []*veleroapi.DeleteBackupRequest{
		{
			ObjectMeta: metav1.ObjectMeta{Name: "b-x", CreationTimestamp: *earlier(30 * time.Second)},
			Spec: veleroapi.DeleteBackupRequestSpec{
				BackupName: "b",
			},
			Status: veleroapi.DeleteBackupRequestStatus{Phase: "Processed", Errors: []string{"denied"}},
		},
	}
	snap.Events = []watch.ClusterEvent{
		{At: noon.Add(-61 * time.Minute), Kind: watch.EventServerStop, Name: "velero-0", Reason: "OOMKilled"},
		{At: noon.Add(-12 * time.Minute), Until: noon.Add(-11 * time.Minute), Kind: watch.EventOutage, Reason: "no answer"},
		{
			At:     noon.Add(-10 * time.Minute),
			Kind:   watch.EventLocationPhase,
			Name:   "default",
			From:   "Available",
			To:     "Unavailable",
			Reason: "403",
		},
		{
			At:   noon.Add(-10 * time.Minute),
			Kind: watch.EventLocationPhase,
			Name: "other",
			From: "Available",
			To:   "Unavailable",
		},
	}
	operations := []artifact.Operation{
		{
			Action:    "velero.io/csi",
			Resource:  "persistentvolumeclaims",
			Namespace: "shop",
			Name:      "data",
			Phase:     "Failed",
			Error:     "gone",
			Created:   noon.Add(-18 * time.Minute),
			Updated:   noon.Add(-14 * time.Minute),
		},
	}
	a := newAssessment(snap, snap, nil, noon, kubectl.ClusterAccess{})
	got := texts(a.BuildTimeline(j, operations))
	want := `30s cluster deletion of the backup and its data was asked for (b-x): Processed: denied
1m0s cluster somebody asked to delete its resource
5m0s velero it ended as PartiallyFailed, 2 errors
5m0s seen phase InProgress -> PartiallyFailed
5m0s cluster velero-server last wrote its status
10m0s seen storage location default: Available -> Unavailable: 403
11m0s seen all was live again, after 1m
12m0s seen veltui no longer reached the API server: no answer
14m0s velero the operation for persistentvolumeclaims shop/data: Failed: gone
15m0s node-agent shop/data: Failed: no space left
16m0s node-agent shop/data: its data began to move on node-a
17m0s node-agent shop/data: a node-agent accepted it
18m0s velero velero.io/csi began an operation for persistentvolumeclaims shop/data
18m0s cluster DataUpload for shop/data was created
19m0s velero Velero began to work on it
20m0s cluster created by schedule nightly
1h0m0s node Velero's server started (pod velero-0)
1h1m0s node Velero's server stopped: OOMKilled (pod velero-0)
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestTimelineOfDifferentClocks puts Velero's times right where its clock is
// known to be off, and says where times cannot be compared.
func TestTimelineOfDifferentClocks(t *testing.T) {
	j := storied()
	a := newAssessment(snapshotOf(noon, j), snapshotOf(noon, j), nil, noon, kubectl.ClusterAccess{})
	a.World.ServerClockOffset = 12 * time.Minute
	l := a.BuildTimeline(j, nil)
	if got := texts(
		l,
	); !strings.Contains(got, "31m0s velero Velero began") || !strings.Contains(got, "16m0s node-agent") || len(l.Notes) != 1 ||
		!strings.Contains(l.Notes[0], "12m ahead of") {
		t.Errorf("%v\n%s", l.Notes, got)
	}
	j.Started = j.Created.Add(-time.Minute)
	a.World.ServerClockOffset = 0
	if l := a.BuildTimeline(
		j,
		nil,
	); len(l.Notes) != 1 ||
		!strings.Contains(l.Notes[0], "1m before the API server created it") {
		t.Errorf("%v", l.Notes)
	}
}

// TestTimelineTellsTheLog that a closer look has read.
func TestTimelineTellsTheLog(t *testing.T) {
	b := &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{
			Name:              "b",
			Namespace:         "velero",
			UID:               "b",
			CreationTimestamp: *earlier(2 * time.Hour),
		},
	}
	b.Status = veleroapi.BackupStatus{Phase: "InProgress", StartTimestamp: earlier(2 * time.Hour)}
	j := job.Fold(nil, job.Observation{Backup: b, ObservedAt: noon})
	snap := snapshotOf(noon, j)
	looks := map[types.UID]CloserLook{"b": {At: noon, Evidence: diagnosis.JobEvidence{LogChecked: true, ServerLog: velero.JobLog{
		GaveUp: velero.LogLine{At: noon.Add(-time.Hour), Text: "Error updating backup's status", Error: "refused"}}}}}
	if got := texts(
		newAssessment(snap, snap, looks, noon, kubectl.ClusterAccess{}).BuildTimeline(j, nil),
	); !strings.Contains(
		got,
		"1h0m0s log the server gave up writing its status: Error updating backup's status: refused",
	) {
		t.Error(got)
	}
}

// TestTimelineNamesWhatMayNotBeSeen and would have been in it.
func TestTimelineNamesWhatMayNotBeSeen(t *testing.T) {
	j := storied()
	snap := snapshotOf(noon, j)
	snap.Sources = []watch.Source{
		{Resource: watch.Pods, State: watch.SourceForbidden},
		{Resource: watch.DataUploads, State: watch.SourceForbidden},
		{
			Resource: watch.DataDownloads,
			State:    watch.SourceForbidden,
		},
		{Resource: watch.StorageLocations, State: watch.SourceLive},
	}
	looks := map[types.UID]CloserLook{"b": {At: noon, Evidence: diagnosis.JobEvidence{LogUnchecked: "you may not get pods/log"}}}
	notes := strings.Join(newAssessment(snap, snap, looks, noon, kubectl.ClusterAccess{}).BuildTimeline(j, nil).Notes, "\n")
	for _, words := range []string{"You may not list pods and datauploads.velero.io,", "log is missing here: you may not get pods/log."} {
		if !strings.Contains(notes, words) {
			t.Errorf("%q is not in:\n%s", words, notes)
		}
	}
}

// TestTimelineIsBounded: of many volumes those that failed are told of.
func TestTimelineIsBounded(t *testing.T) {
	j := storied()
	for i := range 10_000 {
		j.Volumes = append(
			j.Volumes,
			job.Volume{
				Kind:      velero.PodVolumeBackup,
				Name:      fmt.Sprint(i),
				Phase:     "Completed",
				Target:    "t",
				Created:   noon,
				Completed: noon,
			},
		)
	}
	j.Volumes = append(
		j.Volumes,
		job.Volume{
			Kind:      velero.PodVolumeBackup,
			Name:      "z",
			Phase:     "Failed",
			Target:    "last",
			Created:   noon,
			Completed: noon,
		},
	)
	l := newAssessment(snapshotOf(noon, j), snapshotOf(noon, j), nil, noon, kubectl.ClusterAccess{}).BuildTimeline(j, nil)
	if n := len(
		l.Events,
	); n > 5*maxTimelineVolumes+20 || len(l.Notes) != 1 ||
		!strings.Contains(texts(l), "last: Failed") {
		t.Errorf("%d events, %v", n, l.Notes)
	}
}
