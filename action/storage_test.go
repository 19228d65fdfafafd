package action

import (
	"testing"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/stored/artifact"
)

var (
	_ Prober  = Storage{}
	_ Counter = Storage{}
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
