package action

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
)

var (
	_ Prober      = ObjectStore{}
	_ CountReader = ObjectStore{}
)

func TestCountsOfStoredFiles(t *testing.T) {
	results := artifact.Results{
		Errors:   artifact.Messages{Velero: []string{"a"}, Namespaces: map[string][]string{"shop": {"b", "c"}}},
		Warnings: artifact.Messages{Cluster: []string{"d"}},
	}
	operations := []artifact.Operation{{Phase: "Completed"}, {Phase: "Failed"}, {Phase: "InProgress"}, {Phase: "New"}}
	want := job.StoredCounts{Errors: 3, Warnings: 1, Operations: job.Operations{Attempted: 4, Completed: 1, Failed: 1}}
	if got := countStored(results, operations); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// answeredStore holds every file since a moment, and counts what it is asked.
type answeredStore struct {
	since  time.Time
	errors int
	asked  int
}

func (s *answeredStore) ProbeFile(context.Context, job.Kind, string, string) (job.Presence, error) {
	s.asked++
	return job.Presence{State: job.Present, LastModified: s.since}, nil
}

func (s *answeredStore) FetchCounts(context.Context, job.Kind, string) (job.StoredCounts, error) {
	s.asked++
	return job.StoredCounts{Errors: s.errors}, nil
}

func (s *answeredStore) FetchErrorCount(context.Context, job.Kind, string) (int, error) {
	s.asked++
	return s.errors, nil
}

// A look that asks the store again within minutes asks nothing, and says the same: also one that leaves the operations.
func TestStoredEvidenceIsKept(t *testing.T) {
	for _, leave := range []bool{false, true} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			b := newSendBench(finalizeSend)
			o := b.options(dir)
			store := &answeredStore{since: time.Now(), errors: 3}
			o.ReadOnly, o.Prober, o.CountReader, o.SkipOperations = true, store, store, leave
			engine, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			first, err := engine.GatherEvidence(t.Context(), job.Restore, "r")
			if err != nil {
				t.Fatal(err)
			}
			asked := store.asked
			o.Prober, o.CountReader = nil, nil
			if engine, err = New(o); err != nil {
				t.Fatal(err)
			}
			again, err := engine.GatherEvidence(t.Context(), job.Restore, "r")
			if err != nil {
				t.Fatal(err)
			}
			engine.GatherStored(t.Context(), &again, &first)
			was, is := first.VerdictEvidence(), again.VerdictEvidence()
			if was.StoredAt.IsZero() || was.StoredErrors != 3 || asked == 0 {
				t.Fatalf("leaving operations %v: the first look found %+v, asking %d times", leave, was, asked)
			}
			if is.StoredAt != was.StoredAt || is.StoredErrors != was.StoredErrors || is.NextPhase != was.NextPhase ||
				store.asked != asked {
				t.Errorf(
					"leaving operations %v: %v %d %q, before %v %d %q, asked %d times more",
					leave,
					is.StoredAt,
					is.StoredErrors,
					is.NextPhase,
					was.StoredAt,
					was.StoredErrors,
					was.NextPhase,
					store.asked-asked,
				)
			}
		})
	}
}
