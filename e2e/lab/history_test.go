package lab

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// told makes a history of a restore's statuses.
func told(t *testing.T, statuses ...string) History {
	t.Helper()
	var h History
	for i, status := range statuses {
		var object map[string]any
		if err := json.Unmarshal(
			[]byte(`{"kind":"Restore","metadata":{"name":"r"},"status":`+status+`}`),
			&object,
		); err != nil {
			t.Fatal(err)
		}
		h = append(
			h,
			Event{At: time.Unix(int64(i), 0), Type: watch.Modified, Object: &unstructured.Unstructured{Object: object}},
		)
	}
	return h
}

func TestHistoryOfARestore(t *testing.T) {
	h := told(t,
		`{}`, `{}`,
		`{"phase":"InProgress"}`,
		`{"phase":"InProgress","progress":{"totalItems":9}}`,
		`{"phase":"InProgress","progress":{"itemsRestored":4,"totalItems":9}}`,
		`{"phase":"InProgress","progress":{"itemsRestored":4,"totalItems":9},"warnings":1}`,
		`{"phase":"Completed","progress":{"itemsRestored":8,"totalItems":8},"warnings":3}`,
	)
	if got, want := DescribeStates(
		h.DistinctStates(),
	), " > InProgress > InProgress 0/9 > InProgress 4/9 > Completed 8/8"; got != want {
		t.Errorf("states %q, want %q", got, want)
	}
	if got, want := h.Phases(), []string{"", "InProgress", "Completed"}; !slices.Equal(got, want) {
		t.Errorf("phases %q, want %q", got, want)
	}
	if got, want := h.ItemTotals(), []int{9, 8}; !slices.Equal(got, want) {
		t.Errorf("totals %v, want %v", got, want)
	}
	if got := h.StatusNumber("warnings"); got != 3 {
		t.Errorf("%d warnings, want 3", got)
	}
	if got := h.FirstInPhase("InProgress"); !got.Equal(time.Unix(2, 0)) {
		t.Errorf("in progress since %v, want the third event", got)
	}
	if !HasEnded(h) || HasEnded(h[:6]) {
		t.Error("a restore ends with Completed, and not before")
	}
}

func TestHistoryOfAnEmptyRestore(t *testing.T) {
	// Velero leaves zeros out: an empty progress is 0 of 0, not none.
	h := told(t, `{"phase":"Completed","progress":{}}`)
	if p := h.LastState().Progress; p == nil || *p != (Progress{}) {
		t.Errorf("progress %v, want 0 of 0", p)
	}
	if got := (History{}).LastState(); got.Phase != "" || got.Progress != nil {
		t.Errorf("the state of nothing is %v", got)
	}
}

func TestEventIsWrittenAsTheRecordingsHaveIt(t *testing.T) {
	h := told(t, `{"phase":"New"}`)
	h[0].At = time.UnixMicro(1795225767762515)
	got, err := json.Marshal(h[0])
	want := `{"t":1795225767.762515,"type":"MODIFIED","object":{"kind":"Restore","metadata":{"name":"r"},"status":{"phase":"New"}}}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}
