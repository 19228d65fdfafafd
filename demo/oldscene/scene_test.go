package oldscene

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/testbed"
)

func TestPastIs200FinishedBackups(t *testing.T) {
	for _, now := range []time.Time{
		time.Date(2026, 11, 21, 3, 54, 0, 0, time.UTC), time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC),
		time.Date(2027, 1, 3, 3, 0, 30, 0, time.UTC), time.Date(2027, 1, 3, 3, 56, 0, 0, time.UTC), time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC),
	} {
		names, phases := map[string]bool{}, map[velerov1.BackupPhase]int{}
		for _, p := range pastBackups(now) {
			names[p.name()] = true
			phases[p.phase()]++
			if restart := now.Add(-serverStarted); p.started.Before(restart) && p.completed().After(restart) && p.phase() != velerov1.BackupPhaseFailed {
				t.Errorf("%s is %s although the server restarted while it ran", p.name(), p.phase())
			}
			if ended := p.completed(); ended.After(now) {
				t.Errorf("%s ended at %s, after %s", p.name(), ended, now)
			}
			if expires := p.started.Add(p.schedule.ttl); expires.Before(now) {
				t.Errorf("%s had expired by %s", p.name(), now)
			}
		}
		for _, source := range []string{"crm-nightly", "ops-nightly"} {
			if newestPast(now, source) == "" {
				t.Errorf("at %s: nothing to restore from of %s", now, source)
			}
		}
		if len(names) != 200 {
			t.Errorf("at %s: %d backups, want 200", now, len(names))
		}
		for _, phase := range []velerov1.BackupPhase{velerov1.BackupPhaseCompleted, velerov1.BackupPhasePartiallyFailed, velerov1.BackupPhaseFailed, velerov1.BackupPhaseFailedValidation} {
			if phases[phase] == 0 {
				t.Errorf("at %s: no backup that is %s in %v", now, phase, phases)
			}
		}
	}
}

// stage is a scene that plays, fast, until its test ends.
func stage(t *testing.T, o Options) (client.Client, time.Time) {
	t.Helper()
	if o.Config == nil {
		o.Config = testbed.ForTest(t, testbed.Options{}).Config()
	}
	o.Scheme, o.Seed = testbed.Scheme(), 1
	before := time.Now()
	scene, err := Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := scene.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { scene.Run(ctx) })
	t.Cleanup(func() { stop(); group.Wait() })
	api, err := client.New(o.Config, client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return api, before
}

// TestStage looks for what issue 2 wants on stage, by evidence only.
func TestStage(t *testing.T) {
	api, before := stage(t, Options{Speed: 5})
	restores := func() []velerov1.Restore {
		var list velerov1.RestoreList
		if err := api.List(t.Context(), &list, client.InNamespace(Namespace)); err != nil {
			t.Fatal(err)
		}
		return list.Items
	}
	backups := func() []velerov1.Backup {
		var list velerov1.BackupList
		if err := api.List(t.Context(), &list, client.InNamespace(Namespace)); err != nil {
			t.Fatal(err)
		}
		return list.Items
	}
	var pod corev1.Pod
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: Namespace, Name: "velero-7d9c6b5f84-x2kqp"}, &pod); err != nil {
		t.Fatal(err)
	}
	serverStart := pod.Status.ContainerStatuses[0].State.Running.StartedAt

	ended := 0
	for _, b := range backups() {
		if b.Status.Phase != velerov1.BackupPhaseInProgress && b.CreationTimestamp.Time.Before(before.Add(time.Minute)) && b.Labels[velerov1.ScheduleNameLabel] != "" {
			ended++
		}
	}
	if ended < 200 {
		t.Errorf("%d finished backups, want 200", ended)
	}

	var lost *velerov1.Restore
	for _, r := range restores() {
		if r.Status.Phase == velerov1.RestorePhaseInProgress && before.Sub(changed(&r)) > 40*time.Minute && r.Status.StartTimestamp.After(serverStart.Time) {
			lost = &r
		}
	}
	if lost == nil {
		t.Error("no restore that is quiet since 40 minutes and was begun by the running server")
	} else {
		if p := lost.Status.Progress; p.ItemsRestored != p.TotalItems || p.TotalItems == 0 {
			t.Errorf("the restore whose last patch was lost stands at %+v", p)
		}
		answer := fetch(t, api, velerov1.DownloadTargetKindRestoreResults, lost.Name)
		modified, err := http.ParseTime(answer.Header.Get("Last-Modified"))
		if answer.StatusCode != http.StatusOK || err != nil || modified.Before(lost.Status.StartTimestamp.Time) {
			t.Errorf("its results: %s of %s (%v), want them newer than its start", answer.Status, modified, err)
		}
	}
	orphans := 0
	for _, b := range backups() {
		if b.Status.Phase == velerov1.BackupPhaseInProgress && b.Status.StartTimestamp.Before(&serverStart) {
			orphans++
			if answer := fetch(t, api, velerov1.DownloadTargetKindBackupLog, b.Name); answer.StatusCode != http.StatusNotFound {
				t.Errorf("the log of the orphan %s: %s, want 404", b.Name, answer.Status)
			}
		}
	}
	if orphans != 1 {
		t.Errorf("%d backups were begun by a server that is gone, want 1", orphans)
	}

	for what, met := range map[string]func() bool{
		"ten jobs under way": func() bool {
			n := 0
			for _, r := range restores() {
				if r.Status.CompletionTimestamp == nil && r.Status.Phase != velerov1.RestorePhaseFailedValidation {
					n++
				}
			}
			for _, b := range backups() {
				switch b.Status.Phase {
				case velerov1.BackupPhaseCompleted, velerov1.BackupPhasePartiallyFailed, velerov1.BackupPhaseFailed, velerov1.BackupPhaseFailedValidation:
				default:
					n++
				}
			}
			return n >= 10
		},
		"a restore that waits for its volumes": func() bool {
			var volumes velerov1.PodVolumeRestoreList
			if err := api.List(t.Context(), &volumes); err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(restores(), func(r velerov1.Restore) bool {
				return r.Status.Phase == velerov1.RestorePhaseInProgress && r.Status.Progress != nil && r.Status.Progress.ItemsRestored == r.Status.Progress.TotalItems &&
					slices.ContainsFunc(volumes.Items, func(v velerov1.PodVolumeRestore) bool {
						return v.Labels[velerov1.RestoreUIDLabel] == string(r.UID) && v.Status.CompletionTimestamp == nil
					})
			})
		},
		"a PartiallyFailed restore": func() bool {
			return slices.ContainsFunc(restores(), func(r velerov1.Restore) bool {
				return r.Status.Phase == velerov1.RestorePhasePartiallyFailed && r.Status.Errors > 0
			})
		},
		"a restore that failed its validation": func() bool {
			return slices.ContainsFunc(restores(), func(r velerov1.Restore) bool {
				return r.Status.Phase == velerov1.RestorePhaseFailedValidation && len(r.Status.ValidationErrors) > 0
			})
		},
		"a backup with operations": func() bool {
			return slices.ContainsFunc(backups(), func(b velerov1.Backup) bool { return b.Status.Phase == velerov1.BackupPhaseWaitingForPluginOperations })
		},
	} {
		t.Run(what, func(t *testing.T) {
			for end := time.Now().Add(5 * time.Minute); !met(); time.Sleep(100 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("not within five minutes")
				}
			}
		})
	}
}

// changed is when an object last changed, as its field managers say.
func changed(o client.Object) time.Time {
	var newest time.Time
	for _, entry := range o.GetManagedFields() {
		if entry.Time != nil && entry.Time.After(newest) {
			newest = entry.Time.Time
		}
	}
	return newest
}

func fetch(t *testing.T, api client.Client, kind velerov1.DownloadTargetKind, name string) *http.Response {
	t.Helper()
	d := &velerov1.DownloadRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, GenerateName: "test-"},
		Spec:       velerov1.DownloadRequestSpec{Target: velerov1.DownloadTarget{Kind: kind, Name: name}},
	}
	if err := api.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); d.Status.DownloadURL == ""; time.Sleep(20 * time.Millisecond) {
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(end) {
			t.Fatal(fmt.Errorf("no URL for %s of %s within a minute", kind, name))
		}
	}
	answer, err := http.Get(d.Status.DownloadURL)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	if err := answer.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return answer
}
