package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/verify"
	"github.com/veltui/veltui/internal/testbed/fixture"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// TestRulesToCompare: the rules hold the ConfigMaps of Velero's actions, also where the snapshot lacks the backup, and
// the result says where they could not be read.
func TestRulesToCompare(t *testing.T) {
	const path = "/apis/velero.io/v1/namespaces/velero/backups/b"
	asked := 0
	api := fixture.NewServer(t, func(w http.ResponseWriter, r *http.Request) {
		if asked++; r.URL.Path != path {
			fixture.WriteStatus(w, http.StatusNotFound, metav1.StatusReasonNotFound, "")
			return
		}
		_, _ = fmt.Fprint(
			w,
			`{"kind": "Backup", "apiVersion": "velero.io/v1", "metadata": {"name": "b", "namespace": "velero"}, "status": {"phase": "Completed", "volumeSnapshotsAttempted": 1}}`,
		)
	})
	client, err := (&Cluster{}).newClient(&rest.Config{Host: api.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	store := &BackupStore{namespace: "velero", client: client}
	known := &watch.Snapshot{
		Jobs: []*job.Job{
			{
				Name: "b",
				Object: &veleroapi.Backup{
					ObjectMeta: metav1.ObjectMeta{Name: "b"},
					Status:     veleroapi.BackupStatus{VolumeSnapshotsAttempted: 1},
				},
			},
		},
	}
	around := &live.Environment{
		StorageClassMap: map[string]string{"fast": "slow"},
		PluginConfigs:   map[string][]string{live.ChangeStorageClassLabel: {"classes"}},
	}
	for name, c := range map[string]struct {
		snap   *watch.Snapshot
		backup string
		asked  int
		fails  string
		unread string
	}{
		"the snapshot has the backup":       {snap: known, backup: "b"},
		"it does not":                       {snap: &watch.Snapshot{}, backup: "b", asked: 1},
		"the backup is gone":                {snap: &watch.Snapshot{}, backup: "gone", asked: 1, fails: "there is no backup gone"},
		"ConfigMaps that may not be listed": {snap: &watch.Snapshot{}, backup: "b", asked: 1, unread: "you may not list them"},
	} {
		t.Run(name, func(t *testing.T) {
			asked = 0
			state, err := store.fetchVeleroState(t.Context(), c.snap, c.backup)
			if asked != c.asked || (err != nil) != (c.fails != "") ||
				err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Fatalf("asked %d times: %v", asked, err)
			}
			if err != nil {
				return
			}
			of := *around
			if c.unread != "" {
				of.Unchecked = []live.Unchecked{{Resource: live.ConfigMaps, Why: c.unread}}
			}
			var result verify.Result
			rules := buildComparisonRules(SurveyQuery{Velero: state}, &of, "r", &result)
			if rules.RestoreName != "r" || rules.StorageClassMap["fast"] != "slow" || rules.Plugins[live.ChangeStorageClassLabel] == nil ||
				!rules.NativeSnapshots {
				t.Errorf("%+v", rules)
			}
			if notes := strings.Join(
				result.Notes,
				"|",
			); result.Incomplete != (c.unread != "") || !strings.HasSuffix(notes, c.unread) ||
				(notes == "") == result.Incomplete {
				t.Errorf("unknown %t: %s", result.Incomplete, notes)
			}
		})
	}
}

// TestMinReplicas: KEDA scales to none below the autoscaler that it makes.
func TestMinReplicas(t *testing.T) {
	for text, want := range map[string]int64{
		`{}`:                           1,
		`{"spec": {"minReplicas": 3}}`: 3,
		`{"metadata": {"labels": {"app.kubernetes.io/managed-by": "keda-operator"}}, "spec": {"minReplicas": 1}}`: 0,
		`{"metadata": {"ownerReferences": [{"kind": "ScaledObject", "name": "x"}]}, "spec": {"minReplicas": 1}}`:  0,
	} {
		var h autoscaler
		if err := json.Unmarshal([]byte(text), &h); err != nil || h.minReplicas() != want {
			t.Errorf("%s: %d, want %d (%v)", text, h.minReplicas(), want, err)
		}
	}
}
