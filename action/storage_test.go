package action

import (
	"strings"
	"testing"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/stored/artifact"
)

var (
	_ Prober  = Storage{}
	_ Counter = Storage{}
)

func TestCountsOfStoredFiles(t *testing.T) {
	results, err := artifact.ReadResults(strings.NewReader(
		`{"errors":{"velero":["a"],"namespaces":{"shop":["b","c"]}},"warnings":{"cluster":["d"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	operations, err := artifact.ReadItemOperations(strings.NewReader(
		`[{"status":{"phase":"Completed"}},{"status":{"phase":"Failed"}},{"status":{"phase":"InProgress"}},{"status":{"phase":"New"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	want := job.StoredCounts{Errors: 3, Warnings: 1, Operations: job.Operations{Attempted: 4, Completed: 1, Failed: 1}}
	if got := countStored(results, operations); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
