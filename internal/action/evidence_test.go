package action

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// began and now frame the jobs of the unit tests.
var (
	began = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	now   = began.Add(time.Hour)
)

// evidence starts from a quiet job with all in order but the server, which is
// unknown.
func evidence(t *testing.T, kind job.Kind, phase string, change ...func(*Evidence)) Evidence {
	t.Helper()
	wrote := metav1.NewTime(began.Add(10 * time.Minute))
	meta := metav1.ObjectMeta{
		Namespace:         "velero",
		Name:              "x",
		UID:               "u-1",
		ResourceVersion:   "77",
		CreationTimestamp: metav1.NewTime(began),
		ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "velero-server", Operation: metav1.ManagedFieldsOperationUpdate, Time: &wrote},
		},
	}
	start := metav1.NewTime(began)
	var in job.Observation
	var typed any
	if kind == job.Backup {
		in.Backup = &veleroapi.Backup{
			ObjectMeta: meta,
			Status:     veleroapi.BackupStatus{Phase: veleroapi.BackupPhase(phase), StartTimestamp: &start},
		}
		typed = in.Backup
	} else {
		in.Restore = &veleroapi.Restore{
			ObjectMeta: meta,
			Status:     veleroapi.RestoreStatus{Phase: veleroapi.RestorePhase(phase), StartTimestamp: &start},
		}
		typed = in.Restore
	}
	in.ObservedAt = now
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		t.Fatal(err)
	}
	e := Evidence{Now: now, Job: job.Fold(nil, in), Object: &unstructured.Unstructured{Object: raw},
		LastVeleroWrite: wrote.Time, VolumesListed: Yes, AllOpenVolumesListed: Yes, MayPatch: Yes, Username: "jane",
		Location:        &diagnosis.LocationStatus{Name: "s3", Phase: "Available", AccessMode: "ReadWrite"},
		LocationsListed: Yes, LastLocationWrite: wrote.Time}
	e.HooksChecked = true
	for _, c := range change {
		c(&e)
	}
	return e
}

// serverOf are servers that run.
func serverOf(pods ...velero.ServerPod) velero.Server {
	for i := range pods {
		pods[i].Running, pods[i].Container = true, "velero"
	}
	return velero.NewServer(pods, now)
}

func alive(e *Evidence) {
	e.Server = serverOf(velero.ServerPod{Name: "velero-1", StartedAt: began.Add(-time.Hour)})
}

func restarted(e *Evidence) {
	e.Server = serverOf(velero.ServerPod{Name: "velero-1", StartedAt: began.Add(20 * time.Minute)})
}

func down(e *Evidence) {
	e.Server = velero.NewServer([]velero.ServerPod{{Name: "velero-1", WaitingReason: "CrashLoopBackOff"}}, e.Now)
}

func stored(e *Evidence) {
	e.Artifacts = nil
	for _, target := range ArtifactTargets(e.Job.Kind) {
		e.Artifacts = append(
			e.Artifacts,
			Artifact{target, job.Presence{State: job.Present, LastModified: began.Add(9 * time.Minute)}},
		)
	}
	e.StoredCounts = &job.StoredCounts{Items: 9, ItemsKnown: true}
}

// lookedAt moves the moment of the evidence; the job last changed after ten
// minutes.
func lookedAt(after time.Duration) func(*Evidence) {
	return func(e *Evidence) { e.Now = began.Add(after) }
}

func counts(c job.StoredCounts) func(*Evidence) {
	c.Items, c.ItemsKnown = 9, true
	return func(e *Evidence) { e.StoredCounts = &c }
}

// file is what became of one artifact, named without the kind of its job.
func file(target string, p job.Presence) func(*Evidence) {
	return func(e *Evidence) {
		for i := range e.Artifacts {
			if e.Artifacts[i].Target == string(e.Job.Kind)+target {
				e.Artifacts[i].Presence = p
			}
		}
	}
}

func volume(kind velero.VolumeKind, phase string) func(*Evidence) {
	return func(e *Evidence) {
		j := *e.Job
		j.Volumes = append(j.Volumes, job.Volume{Kind: kind, Name: "v-1", Phase: phase})
		e.Job = &j
	}
}

// notStored: the object store was asked, and has nothing of the job.
func notStored(e *Evidence) {
	e.Artifacts = []Artifact{{ArtifactTargets(e.Job.Kind)[0], job.Presence{State: job.Absent}}}
}

// lastWrittenAt makes a job whose server last wrote at a moment.
func lastWrittenAt(e *Evidence, at time.Time) {
	in, wrote := job.Observation{ObservedAt: e.Now}, metav1.NewTime(at)
	switch o := e.Job.Object.DeepCopyObject().(type) {
	case *veleroapi.Backup:
		o.ManagedFields[0].Time, in.Backup = &wrote, o
	case *veleroapi.Restore:
		o.ManagedFields[0].Time, in.Restore = &wrote, o
	}
	e.Job, e.LastVeleroWrite = job.Fold(nil, in), at
}
