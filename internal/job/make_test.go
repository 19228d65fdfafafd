package job

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// noon is when the jobs of these tests are looked at.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func minutesAgo(m float64) time.Time {
	return noon.Add(-time.Duration(m * float64(time.Minute)))
}

// spec describes a job as a test wants it; times are minutes before noon.
type spec struct {
	name     string
	kind     Kind
	phase    string
	started  float64 // 0: not started
	created  float64 // 0: as started, else an hour
	changed  float64 // when Velero last wrote
	done     int
	total    int // -1: progress is nil
	ops      [3]int
	position int
	includes []string
	excludes []string
	location string
	ended    float64
	errors   int
	warnings int
	reason   string
	invalid  []string
	volumes  []Volume
	backup   func(*veleroapi.Backup)
	restore  func(*veleroapi.Restore)
}

func (s spec) input() Observation {
	kind := s.kind
	if kind == "" {
		kind = Backup
	}
	meta := metav1.ObjectMeta{
		Name: s.name, Namespace: "velero", UID: types.UID(string(kind) + "/" + s.name),
		ResourceVersion: fmt.Sprintf("%s-%v-%d-%v", s.phase, s.changed, s.done, s.ops),
	}
	created := s.created
	if created == 0 {
		created = max(s.started, s.changed)
	}
	if created == 0 {
		created = 60
	}
	meta.CreationTimestamp = metav1.NewTime(minutesAgo(created))
	written := metav1.NewTime(minutesAgo(s.changed))
	meta.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "velero-server", Operation: metav1.ManagedFieldsOperationUpdate, Time: &written},
	}
	var started, ended *metav1.Time
	if s.started != 0 {
		at := metav1.NewTime(minutesAgo(s.started))
		started = &at
	}
	if s.ended != 0 {
		at := metav1.NewTime(minutesAgo(s.ended))
		ended = &at
	}
	in := Observation{ObservedAt: noon, Volumes: s.volumes}
	if kind == Restore {
		r := &veleroapi.Restore{ObjectMeta: meta}
		r.Spec.BackupName = "nightly"
		r.Status = veleroapi.RestoreStatus{
			Phase:                          veleroapi.RestorePhase(s.phase),
			StartTimestamp:                 started,
			CompletionTimestamp:            ended,
			Errors:                         s.errors,
			Warnings:                       s.warnings,
			FailureReason:                  s.reason,
			ValidationErrors:               s.invalid,
			RestoreItemOperationsAttempted: s.ops[0],
			RestoreItemOperationsCompleted: s.ops[1],
			RestoreItemOperationsFailed:    s.ops[2],
		}
		if s.total >= 0 {
			r.Status.Progress = &veleroapi.RestoreProgress{TotalItems: s.total, ItemsRestored: s.done}
		}
		if s.restore != nil {
			s.restore(r)
		}
		in.Restore = r
		return in
	}
	b := &veleroapi.Backup{ObjectMeta: meta}
	b.Spec.IncludedNamespaces, b.Spec.ExcludedNamespaces = s.includes, s.excludes
	b.Spec.StorageLocation = s.location
	b.Status = veleroapi.BackupStatus{
		Phase: veleroapi.BackupPhase(
			s.phase,
		),
		StartTimestamp:                started,
		CompletionTimestamp:           ended,
		QueuePosition:                 s.position,
		Errors:                        s.errors,
		Warnings:                      s.warnings,
		FailureReason:                 s.reason,
		ValidationErrors:              s.invalid,
		BackupItemOperationsAttempted: s.ops[0],
		BackupItemOperationsCompleted: s.ops[1],
		BackupItemOperationsFailed:    s.ops[2],
	}
	if s.total >= 0 {
		b.Status.Progress = &veleroapi.BackupProgress{TotalItems: s.total, ItemsBackedUp: s.done}
	}
	if s.backup != nil {
		s.backup(b)
	}
	in.Backup = b
	return in
}

func (s spec) job(t testing.TB) *Job {
	t.Helper()
	j := Fold(nil, s.input())
	if j == nil {
		t.Fatalf("no job of %+v", s)
	}
	return j
}

// volume makes one; times are minutes before noon.
func volume(kind velero.VolumeKind, name, phase string, done, total int64, created, changed float64) Volume {
	return Volume{
		Kind: kind, Name: name, UID: types.UID(name), Phase: phase, Target: "shop/" + name, Done: done, Total: total,
		Created: minutesAgo(created), Started: minutesAgo(created), LastChanged: minutesAgo(changed),
	}
}
