package diagnosis

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// The verdict on a running job names the store that is away, whether the location or the log says so: what needs it now
// waits for it, what needs it later moves on, and nothing is stuck without a proof.
func TestStoreOutageIsNamed(t *testing.T) {
	away := func(w *World) {
		w.Locations["default"] = LocationStatus{
			Name: "default", Phase: velero.LocationUnavailable, Message: "dial tcp: connection refused",
			LastValidated: minutesAgo(0.2), LastSynced: minutesAgo(1),
		}
		w.LocationByBackup = map[string]string{"nightly": "default"}
	}
	logged := func(ago time.Duration) func(*World) {
		return func(w *World) {
			w.LocationByBackup = map[string]string{"nightly": "default"}
			w.Evidence = map[types.UID]JobEvidence{}
			for _, kind := range []job.Kind{job.Backup, job.Restore} {
				w.Evidence[types.UID(string(kind)+"/a")] = JobEvidence{LogChecked: true, ServerLog: velero.JobLog{
					StoreFailure: velero.LogLine{
						At: noon.Add(-ago), Level: "error", Text: "Reconciler error", Error: "error getting volumeInfo",
					},
				}}
			}
		}
	}
	items := spec{name: "a", phase: "InProgress", started: 2, changed: 0.05, done: 221, total: 1035, location: "default"}
	storing := spec{name: "a", phase: "InProgress", started: 2, changed: 0.1, done: 1035, total: 1035, location: "default"}
	quiet := storing
	quiet.changed = 2
	finalizing := spec{name: "a", kind: job.Restore, phase: "Finalizing", started: 5, changed: 0.1, done: 9, total: 9}
	longFinalizing := finalizing
	longFinalizing.changed = 4
	for name, test := range map[string]struct {
		job    spec
		change func(*World)
		state  State
		reason Reason
	}{
		"processing items":             {items, away, Progressing, ItemsMoving},
		"storing":                      {storing, away, Waiting, LocationUnavailable},
		"storing, quiet":               {quiet, away, Waiting, LocationUnavailable},
		"finalizing":                   {finalizing, away, Waiting, LocationUnavailable},
		"finalizing, says the log":     {finalizing, logged(5 * time.Second), Waiting, LocationUnavailable},
		"finalizing for long, the log": {longFinalizing, logged(3 * time.Minute), Waiting, LocationUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			w := healthy()
			test.change(&w)
			v := Judge(test.job.job(t), w)
			if v.State() != test.state || v.Reason != test.reason || !strings.Contains(v.Text, "location default") {
				t.Errorf("%s, %s: %s", v.State(), v.Reason, v.Text)
			}
			count := 0
			for _, f := range v.Facts {
				if f.Supports && (strings.Contains(f.Text, "is Unavailable") || strings.Contains(f.Text, "could not reach the object store")) {
					count++
				}
			}
			if count != 1 || (v.Advice == "") != (test.state == Progressing) {
				t.Errorf("%d facts name the store, advice %q: %+v", count, v.Advice, v.Facts)
			}
		})
	}
	w := healthy()
	logged(time.Hour)(&w)
	if v := Judge(finalizing.job(t), w); strings.Contains(v.Text, "store") {
		t.Errorf("a failure of long ago: %s", v.Text)
	}
	w = healthy()
	away(&w)
	queued := spec{name: "a", phase: "New", created: 1, location: "default"}
	if v := Judge(queued.job(t), w); strings.Contains(v.Text, "storage location") {
		t.Errorf("a job that has not begun: %s", v.Text)
	}
}
