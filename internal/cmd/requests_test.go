package cmd

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// What TestRequests measures: two minutes, from a minute after the first frame
// with live data.
const (
	requestsSettle  = time.Minute
	requestsMeasure = 2 * time.Minute
)

// counted is a kubeconfig that leads to the API server through a proxy that counts.
func (b *bed) counted(t *testing.T) *testbed.CountingProxy {
	t.Helper()
	proxy, err := b.StartCountingProxy("counted-" + strings.ReplaceAll(t.Name(), "/", "-"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return proxy
}

// TestRequests measures what the dashboard asks of the API server, for `make
// bench-requests` (docs/dev/architecture.md). VELTUI_BENCH_REQUESTS is yes for this
// source, or the path of another veltui.
func TestRequests(t *testing.T) {
	which := os.Getenv("VELTUI_BENCH_REQUESTS")
	if which == "" {
		t.Skip("make bench-requests runs it")
	}
	b := control(t)
	objects := openStore(t, b)
	b.veleroPod(t, time.Now().Add(-24*time.Hour))
	ended := metav1.NewTime(time.Now().Add(-2 * time.Hour).Truncate(time.Second))
	began := metav1.NewTime(ended.Add(-20 * time.Minute))
	for i := range 30 {
		b.create(
			t,
			&veleroapi.Backup{
				ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: fmt.Sprintf("nightly-%02d", i)},
				Spec: veleroapi.BackupSpec{
					StorageLocation:    "default",
					IncludedNamespaces: []string{"shop"},
					TTL:                metav1.Duration{Duration: 720 * time.Hour},
				},
				Status: veleroapi.BackupStatus{
					Phase:               veleroapi.BackupPhaseCompleted,
					StartTimestamp:      &began,
					CompletionTimestamp: &ended,
					FormatVersion:       "1.1.0",
					Progress:            &veleroapi.BackupProgress{TotalItems: 900, ItemsBackedUp: 900},
				},
			},
		)
	}
	for i := range 5 {
		b.create(
			t,
			restore(
				fmt.Sprintf("drill-%d", i),
				veleroapi.RestoreStatus{
					Phase:               veleroapi.RestorePhaseCompleted,
					StartTimestamp:      &began,
					CompletionTimestamp: &ended,
					Progress:            &veleroapi.RestoreProgress{TotalItems: 900, ItemsRestored: 900},
				},
			),
		)
	}
	t.Run("idle", func(t *testing.T) {
		b.measure(t, which, "30", "", func(int) []client.Object { return nil })
	})
	t.Run("open", func(t *testing.T) {
		silent := inProgress("silent", 3*time.Hour)
		b.quiet(t, silent)
		b.measure(t, which, "silent", "/silent\r\r", func(int) []client.Object { return nil })
	})
	t.Run("busy", func(t *testing.T) {
		objects.stored(t, b, "stored", veleroapi.BackupPhaseCompleted)
		now := metav1.Now()
		r := restore(
			"moving",
			veleroapi.RestoreStatus{
				Phase:          veleroapi.RestorePhaseInProgress,
				StartTimestamp: &now,
				Progress:       &veleroapi.RestoreProgress{TotalItems: 2000},
			},
		)
		r.Spec.BackupName = "stored"
		b.create(t, r)
		backup := &veleroapi.Backup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "running"},
			Spec:       veleroapi.BackupSpec{StorageLocation: "default"},
			Status: veleroapi.BackupStatus{
				Phase:          veleroapi.BackupPhaseInProgress,
				StartTimestamp: &now,
				Progress:       &veleroapi.BackupProgress{TotalItems: 2000},
			},
		}
		b.create(t, backup)
		moving := []client.Object{r, backup}
		for i := range 3 {
			u := &veleroapi.DataUpload{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "velero",
					Name:      fmt.Sprintf("running-%d", i),
					Labels: map[string]string{
						veleroapi.BackupUIDLabel:  string(backup.UID),
						veleroapi.BackupNameLabel: backup.Name,
					},
				},
				Spec: veleroapi.DataUploadSpec{
					SourcePVC:             "data",
					SourceNamespace:       "shop",
					BackupStorageLocation: "default",
					DataMover:             "velero",
				},
				Status: veleroapi.DataUploadStatus{
					Phase:          veleroapi.DataUploadPhaseInProgress,
					Node:           "node-1",
					StartTimestamp: &now,
				},
			}
			b.create(t, u)
			moving = append(moving, u)
		}
		b.measure(t, which, "moving", "", func(second int) []client.Object {
			r.Status.Progress.ItemsRestored = 5 * second
			backup.Status.Progress.ItemsBackedUp = 5 * second
			for _, o := range moving[2:] {
				o.(*veleroapi.DataUpload).Status.Progress = veleroapi.DataMoveOperationProgress{
					TotalBytes: 10 << 30,
					BytesDone:  int64(second) << 24,
				}
			}
			return moving
		})
	})
}

// measure runs a dashboard while Velero's part is played: what moves is written
// once a second, and the storage location once a minute.
// types are keys that open what is measured.
func (b *bed) measure(t *testing.T, which, sees, types string, moves func(second int) []client.Object) {
	t.Helper()
	proxy := b.counted(t)
	cmd := through(proxy.Kubeconfig(), b.command(t, "-n", "velero"))
	if which != "yes" {
		cmd.Path = which
	}
	c := startConsole(t, cmd, 160, 50)
	c.sees(t, "live", sees)
	c.types(t, types)
	started := proxy.ReadTraffic()
	var before testbed.Traffic
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for i := 1; ; i++ {
		<-second.C
		for _, o := range moves(i) {
			if err := b.client.Update(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		if i%60 == 30 {
			location := &veleroapi.BackupStorageLocation{}
			if err := b.client.Get(
				t.Context(),
				client.ObjectKey{Namespace: "velero", Name: "default"},
				location,
			); err != nil {
				t.Fatal(err)
			}
			now := metav1.Now()
			location.Status.Phase, location.Status.LastValidationTime = veleroapi.BackupStorageLocationPhaseAvailable, &now
			if err := b.client.Update(t.Context(), location); err != nil {
				t.Fatal(err)
			}
		}
		switch now := proxy.ReadTraffic(); {
		case before.At.IsZero() && now.At.Sub(started.At) >= requestsSettle:
			before = now
		case !before.At.IsZero() && now.At.Sub(before.At) >= requestsMeasure:
			minutes := now.At.Sub(before.At).Minutes()
			t.Logf(
				"%.1f requests a minute, %.1f kB a minute to veltui, %.1f kB a minute from it; to the first live frame %d requests, %.1f kB to veltui",
				float64(
					now.Requests-before.Requests,
				)/minutes,
				float64(now.ToClient-before.ToClient)/minutes/1e3,
				float64(now.FromClient-before.FromClient)/minutes/1e3,
				started.Requests,
				float64(started.ToClient)/1e3,
			)
			for _, what := range slices.Sorted(maps.Keys(now.RequestCounts)) {
				if n := now.RequestCounts[what] - before.RequestCounts[what]; n > 0 {
					t.Logf("%6.1f a minute: %s", float64(n)/minutes, what)
				}
			}
			c.types(t, "q")
			if code := c.exits(t); code != ExitOK {
				t.Errorf("exit code %d:\n%s", code, c.OutputText())
			}
			return
		}
	}
}
