package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func labelled(namespace, name string, labels ...string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{}}
	for i := 0; i < len(labels); i += 2 {
		m.Labels[labels[i]] = labels[i+1]
	}
	return m
}

func location(namespace, name string) *veleroapi.BackupStorageLocation {
	return &veleroapi.BackupStorageLocation{ObjectMeta: named(namespace, name), Spec: veleroapi.BackupStorageLocationSpec{
		Provider:    "aws",
		StorageType: veleroapi.StorageType{ObjectStorage: &veleroapi.ObjectStorageLocation{Bucket: "b"}},
	}}
}

func dataUpload(namespace, name string, labels ...string) *veleroapi.DataUpload {
	return &veleroapi.DataUpload{
		ObjectMeta: labelled(namespace, name, labels...),
		Spec: veleroapi.DataUploadSpec{
			SnapshotType: veleroapi.SnapshotTypeCSI, SourceNamespace: "shop", SourcePVC: "data",
			BackupStorageLocation: "default", OperationTimeout: metav1.Duration{Duration: time.Hour},
		},
	}
}

func podVolumeBackup(namespace, name string, labels ...string) *veleroapi.PodVolumeBackup {
	return &veleroapi.PodVolumeBackup{
		ObjectMeta: labelled(namespace, name, labels...),
		Spec: veleroapi.PodVolumeBackupSpec{
			Node: "n1", Volume: "data", Pod: corev1.ObjectReference{Namespace: "shop", Name: "web-0"},
		},
	}
}

func TestEveryKindIsJoinedByUID(t *testing.T) {
	c := newCluster(t)
	ns := c.namespace("joined")
	w := c.watch(Options{Namespace: ns})
	w.until("the watch is live", isLive)

	backup := &veleroapi.Backup{ObjectMeta: named(ns, "nightly")}
	restore := &veleroapi.Restore{ObjectMeta: named(ns, "back"), Spec: veleroapi.RestoreSpec{BackupName: "nightly"}}
	c.create(backup, restore)
	ofBackup := []string{veleroapi.BackupUIDLabel, string(backup.UID), veleroapi.BackupNameLabel, "nightly"}
	ofRestore := []string{veleroapi.RestoreUIDLabel, string(restore.UID)}
	server := &corev1.Pod{
		ObjectMeta: labelled(ns, "velero-1", "deploy", "velero", "component", "velero"),
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{
				{Name: "velero", Image: "velero/velero:v1.18.3", Args: []string{"server", "--concurrent-backups=3"}},
			},
		},
	}
	agent := &corev1.Pod{
		ObjectMeta: labelled(ns, "node-agent-x", "name", "node-agent", "component", "velero"),
		Spec: corev1.PodSpec{
			NodeName: "n1", Containers: []corev1.Container{{Name: "node-agent", Image: "velero/velero:v1.18.3"}},
		},
	}
	c.create(
		podVolumeBackup(ns, "pvb", ofBackup...),
		podVolumeBackup(ns, "by-name-only", veleroapi.BackupNameLabel, "nightly"),
		dataUpload(ns, "du", ofBackup...),
		&veleroapi.PodVolumeRestore{ObjectMeta: labelled(ns, "pvr", ofRestore...), Spec: veleroapi.PodVolumeRestoreSpec{
			Volume:                "data",
			Pod:                   corev1.ObjectReference{Namespace: "shop", Name: "web-0"},
			RepoIdentifier:        "r",
			SnapshotID:            "s",
			SourceNamespace:       "shop",
			BackupStorageLocation: "default",
		}},
		&veleroapi.DataDownload{
			ObjectMeta: labelled(ns, "dd", ofRestore...),
			Spec: veleroapi.DataDownloadSpec{
				TargetVolume:          veleroapi.TargetVolumeSpec{PVC: "data", Namespace: "shop"},
				SourceNamespace:       "shop",
				BackupStorageLocation: "default",
				SnapshotID:            "s",
				OperationTimeout:      metav1.Duration{Duration: time.Hour},
			},
		},
		&veleroapi.Schedule{ObjectMeta: named(ns, "daily"), Spec: veleroapi.ScheduleSpec{Schedule: "@daily"}},
		location(ns, "default"),
		&veleroapi.BackupRepository{ObjectMeta: named(ns, "repo"), Spec: veleroapi.BackupRepositorySpec{
			VolumeNamespace:       "shop",
			BackupStorageLocation: "default",
			RepositoryType:        "kopia",
			MaintenanceFrequency:  metav1.Duration{Duration: time.Hour},
		}},
		&veleroapi.DeleteBackupRequest{
			ObjectMeta: named(ns, "delete"),
			Spec:       veleroapi.DeleteBackupRequestSpec{BackupName: "nightly"},
		},
		server,
		agent,
		&corev1.Pod{
			ObjectMeta: named(ns, "stranger"),
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		},
	)
	server.Status.ContainerStatuses = []corev1.ContainerStatus{
		{
			Name:    "velero",
			Ready:   true,
			Image:   "i",
			ImageID: "i",
			State: corev1.ContainerState{
				Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Unix(1_700_000_000, 0))},
			},
		},
	}
	if err := c.Status().Update(t.Context(), server); err != nil {
		t.Fatal(err)
	}

	s := w.until("all kinds are there", func(s *Snapshot) bool {
		return len(s.Jobs) == 2 && len(jobNamed(s, "nightly").Volumes) == 2 && len(jobNamed(s, "back").Volumes) == 2 &&
			len(s.Schedules) == 1 && len(s.StorageLocations) == 1 && len(s.Repositories) == 1 && len(s.DeleteRequests) == 1 &&
			s.Server.Running && len(s.NodeAgents) == 1 && isLive(s)
	})
	if v := jobNamed(s, "nightly").Volumes; v[0].Kind != velero.DataUpload || v[0].Name != "du" || v[1].Name != "pvb" {
		t.Errorf("volumes of the backup: %+v", v)
	}
	if v := jobNamed(s, "back").Volumes; v[0].Kind != velero.DataDownload || v[1].Kind != velero.PodVolumeRestore {
		t.Errorf("volumes of the restore: %+v", v)
	}
	if s.Server.Version != "v1.18.3" || s.Server.Flags.ConcurrentBackups != 3 || !s.Server.Visible ||
		s.Server.StartedAt.Unix() != 1_700_000_000 {
		t.Errorf("server: %+v", s.Server)
	}
	if a := s.NodeAgents[0]; a.Node != "n1" || a.Pod != "node-agent-x" {
		t.Errorf("agent: %+v", a)
	}
	if len(s.Active) != 2 || s.Namespace != ns || s.NamespaceOrigin != OriginFlag {
		t.Errorf("%d active jobs in %s from %s", len(s.Active), s.Namespace, s.NamespaceOrigin)
	}
	for _, source := range s.Sources {
		want := 1
		switch source.Resource {
		case PodVolumeBackups, Pods:
			want = 2
		}
		if source.State != SourceLive || source.ObjectCount != want {
			t.Errorf("source %+v, want %d objects", source, want)
		}
	}
	if k := jobNamed(s, "nightly").Object.GetObjectKind().GroupVersionKind(); k.Kind != "Backup" || k.Version != "v1" {
		t.Errorf("the object's kind is %v", k)
	}

	// Another backup under the same name has none of the first one's volumes.
	if err := c.Delete(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	again := &veleroapi.Backup{ObjectMeta: named(ns, "nightly")}
	c.create(again)
	s = w.until("the new backup has replaced the old one", func(s *Snapshot) bool {
		j := jobNamed(s, "nightly")
		return j != nil && j.UID == again.UID
	})
	if len(s.Jobs) != 2 || len(jobNamed(s, "nightly").Volumes) != 0 {
		t.Errorf("%d jobs; volumes of the new backup: %+v", len(s.Jobs), jobNamed(s, "nightly").Volumes)
	}
}

func jobNamed(s *Snapshot, name string) *job.Job {
	for _, j := range s.Jobs {
		if j.Name == name {
			return j
		}
	}
	return nil
}

func TestForbiddenKindsNeverStopTheOthers(t *testing.T) {
	c := newCluster(t)
	ns := c.namespace("restricted")
	c.create(&veleroapi.Backup{ObjectMeta: named(ns, "seen")}, &veleroapi.Restore{ObjectMeta: named(ns, "hidden")})
	cfg := c.user("restricted-reader", ns, mayRead(veleroapi.GroupVersion.Group, "backups"))
	w := c.watch(Options{Config: cfg, Namespace: ns})

	s := w.until("the watch is live", isLive)
	if len(s.Jobs) != 1 || s.Jobs[0].Name != "seen" {
		t.Errorf("jobs: %v", s.Jobs)
	}
	if s.Server.Visible || s.BuildWorld(time.Now()).Server.Visible {
		t.Error("the server is called visible, though pods are forbidden")
	}
	for _, source := range s.Sources {
		if source.Resource == Backups {
			continue
		}
		if source.State != SourceForbidden || !strings.Contains(source.Err, "restricted-reader") {
			t.Errorf("source %+v, want forbidden with the user's name", source)
		}
	}

	binding := c.grant(
		ns,
		"restricted-reader",
		mayRead(veleroapi.GroupVersion.Group, "restores"),
		mayRead("", "pods"),
	)
	w.until("what was granted is there by itself", func(s *Snapshot) bool {
		return len(s.Jobs) == 2 && s.Server.Visible && isLive(s)
	})

	// A right that is taken away leaves the data, but not unnoticed.
	if err := c.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	if err := c.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	if err := c.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = w.until("restores are forbidden again", func(s *Snapshot) bool {
		return sourceState(s, Restores) == SourceForbidden && sourceState(s, Backups) == SourceLive &&
			s.Health.State == Stale && strings.HasPrefix(s.Health.Err, Restores)
	})
	if len(s.Jobs) != 2 {
		t.Errorf("%d jobs", len(s.Jobs))
	}
}

func TestMissingKindsAreTakenUpLater(t *testing.T) {
	c := newCluster(t)
	ns := c.namespace("lacking")
	backup := &veleroapi.Backup{ObjectMeta: named(ns, "b")}
	c.create(backup)
	c.create(dataUpload(ns, "du", veleroapi.BackupUIDLabel, string(backup.UID)))
	w := c.watch(Options{Namespace: ns})
	w.until("the volume is there", func(s *Snapshot) bool { return len(s.Jobs) == 1 && len(s.Jobs[0].Volumes) == 1 })

	c.removeCRDs("datauploads", "datadownloads")
	s := w.until("the kinds are missing", func(s *Snapshot) bool {
		return sourceState(s, DataUploads) == SourceMissing && sourceState(s, DataDownloads) == SourceMissing &&
			isLive(s)
	})
	if len(s.Jobs) != 1 || len(s.Jobs[0].Volumes) != 0 {
		t.Errorf("jobs %v, want one without volumes", s.Jobs)
	}

	if err := testbed.InstallCRDs(t.Context(), c.RESTConfig(), "datauploads", "datadownloads"); err != nil {
		t.Fatal(err)
	}
	c.create(dataUpload(ns, "du2", veleroapi.BackupUIDLabel, string(backup.UID)))
	w.until("the kinds are there by themselves", func(s *Snapshot) bool {
		return sourceState(s, DataUploads) == SourceLive && sourceState(s, DataDownloads) == SourceLive &&
			len(s.Jobs[0].Volumes) == 1 && s.Jobs[0].Volumes[0].Name == "du2" && isLive(s)
	})
}

func TestClusterWithoutVelero(t *testing.T) {
	c := newCluster(t)
	c.removeCRDs()
	c.forgetServers()
	w := c.watch(Options{})
	s := w.until("all kinds are missing", func(s *Snapshot) bool { return isLive(s) && s.NamespaceNotice != "" })
	if s.Namespace != "velero" || s.NamespaceOrigin != OriginFallback || !strings.Contains(s.NamespaceNotice, "not installed") {
		t.Errorf("namespace %q from %q, notice %q", s.Namespace, s.NamespaceOrigin, s.NamespaceNotice)
	}
	for _, source := range s.Sources {
		if source.Resource != Pods && (source.State != SourceMissing || !strings.Contains(source.Err, "CRD")) {
			t.Errorf("source %+v", source)
		}
	}

	if err := testbed.InstallCRDs(t.Context(), c.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	ns := c.namespace("found-later")
	c.create(location(ns, "default"), &veleroapi.Backup{ObjectMeta: named(ns, "first")})
	s = w.until(
		"Velero is found by itself",
		func(s *Snapshot) bool { return isLive(s) && s.Namespace == ns && len(s.Jobs) == 1 },
	)
	if s.NamespaceOrigin != OriginSearch || s.NamespaceNotice != "" {
		t.Errorf("from %q, notice %q", s.NamespaceOrigin, s.NamespaceNotice)
	}
	c.forgetLocations()
}

func TestCredentialsThatExpireAreRenewed(t *testing.T) {
	c := newCluster(t)
	ns := c.namespace("expiring")
	backup := &veleroapi.Backup{ObjectMeta: named(ns, "kept")}
	c.create(backup)
	bad, good := c.serviceAccount(ns, "first"), c.serviceAccount(ns, "second")
	renewed := make(chan struct{})
	w := c.watch(Options{Config: bad, Namespace: ns, Session: c.session(func() *restConfig {
		select {
		case <-renewed:
			return good
		default:
			return bad
		}
	})})
	w.until("the watch is live", func(s *Snapshot) bool { return isLive(s) && len(s.Jobs) == 1 })

	account := &corev1.ServiceAccount{ObjectMeta: named(ns, "first")}
	if err := c.Delete(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	s := w.until("the token is refused", func(s *Snapshot) bool { return s.Health.State == Unauthorized })
	if len(s.Jobs) != 1 || !strings.Contains(s.Health.Err, "log in again") {
		t.Errorf("%d jobs, health %+v", len(s.Jobs), s.Health)
	}

	// The kubeconfig gets another token; nobody presses a key.
	close(renewed)
	backup.Status.Phase = veleroapi.BackupPhaseInProgress
	if err := c.Update(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	w.until("the new token is used", func(s *Snapshot) bool {
		return isLive(s) && len(s.Jobs) == 1 && s.Jobs[0].Phase == "InProgress"
	})
}

func TestHostileTextComesOutTame(t *testing.T) {
	c := newCluster(t)
	ns := c.namespace("hostile")
	const evil = "a\x1b]52;c;ZXZpbA==\x07\u009b2J\u202e\u200b\U000e0041\x7f"
	backup := &veleroapi.Backup{ObjectMeta: metav1.ObjectMeta{
		Namespace: ns, Name: "b",
		Annotations: map[string]string{"note": evil, corev1.LastAppliedConfigAnnotation: "{}"},
	}, Spec: veleroapi.BackupSpec{StorageLocation: evil}, Status: veleroapi.BackupStatus{
		Phase:            veleroapi.BackupPhaseFailed,
		FailureReason:    evil + strings.Repeat("x", 10_000),
		ValidationErrors: []string{evil},
	}}
	c.create(backup)
	pvb := podVolumeBackup(ns, "v", veleroapi.BackupUIDLabel, string(backup.UID))
	pvb.Spec.Pod.Name, pvb.Status.Message = evil, evil
	bsl := location(ns, "l")
	bsl.Status.Message = evil
	c.create(pvb, bsl)
	w := c.watch(Options{Namespace: ns})
	s := w.until("all is there", func(s *Snapshot) bool {
		return isLive(s) && len(s.Jobs) == 1 && len(s.Jobs[0].Volumes) == 1 && len(s.StorageLocations) == 1
	})
	j := s.Jobs[0]
	text, err := json.Marshal(
		[]any{j.Object, j.Volumes, j.FailureReason, j.StorageLocation, j.ValidationErrors, s.StorageLocations},
	)
	if err != nil {
		t.Fatal(err)
	}
	var decoded any
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	for _, r := range fmt.Sprint(decoded) {
		if r < 0x20 || r >= 0x7f && r <= 0x9f || r == 0x202e || r == 0x200b || r == 0xe0041 {
			t.Errorf("%U came through", r)
		}
	}
	if n := utf8.RuneCountInString(j.FailureReason); n > 5000 || !strings.HasPrefix(j.FailureReason, `a\x1b]52;`) {
		t.Errorf("failure reason of %d characters: %.40q", n, j.FailureReason)
	}
	if _, kept := j.Object.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; kept {
		t.Error("the last-applied annotation was kept")
	}
	fields := j.Object.GetManagedFields()
	if len(fields) == 0 || fields[0].Time == nil || fields[0].FieldsV1 != nil {
		t.Errorf("managed fields: %+v", fields)
	}
}

func TestJournalHasEveryChange(t *testing.T) {
	c := newCluster(t)
	ns := c.namespace("journal")
	restore := &veleroapi.Restore{ObjectMeta: named(ns, "r")}
	c.create(restore)
	w := c.watch(Options{Namespace: ns, JournalLimit: 1000})
	w.until("the watch is live", isLive)

	const patches = 100
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range patches {
			patch := fmt.Appendf(
				nil,
				`{"status":{"phase":"InProgress","progress":{"itemsRestored":%d,"totalItems":%d}}}`,
				i+1,
				patches,
			)
			if err := c.Patch(
				t.Context(),
				restore.DeepCopy(),
				client.RawPatch("application/merge-patch+json", patch),
			); err != nil {
				t.Errorf("patch %d: %v", i, err)
				return
			}
		}
		if err := c.Delete(t.Context(), restore.DeepCopy()); err != nil {
			t.Error(err)
		}
	})
	defer writer.Wait()
	var seen []int
	deleted := false
	w.until("the restore is gone", func(s *Snapshot) bool {
		for _, change := range s.Changes {
			if change.Deleted {
				deleted = true
				continue
			}
			seen = append(seen, change.Job.Items.Done)
		}
		return deleted
	})
	if len(seen) != patches {
		t.Fatalf("%d changes were seen, want %d: %v", len(seen), patches, seen)
	}
	for i, done := range seen {
		if done != i+1 {
			t.Fatalf("change %d says %d items", i, done)
		}
	}
}

func TestNextEndsWithItsContextAndTheWatcher(t *testing.T) {
	c := newCluster(t)
	w := c.watch(Options{Namespace: "nowhere"})
	w.until("the watch is live", isLive)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for {
		// A change may still be waiting.
		if _, err := w.Next(ctx); err != nil {
			if err != context.Canceled {
				t.Errorf("got %v", err)
			}
			break
		}
	}
	w.Stop()
	for {
		if _, err := w.Next(t.Context()); err != nil {
			if err != ErrStopped {
				t.Errorf("got %v", err)
			}
			break
		}
	}
	if s := w.Latest(); s.Namespace != "nowhere" || !strings.Contains(s.NamespaceNotice, "no namespace nowhere") {
		t.Errorf("namespace %q, notice %q", s.Namespace, s.NamespaceNotice)
	}
}

// Bursts are gathered, and once all is live a second lies between two snapshots;
// before that, and after a quiet time, nobody waits for one.
func TestSnapshotsComeApart(t *testing.T) {
	for name, c := range map[string]struct {
		told  time.Duration // ago, 0 for never
		state HealthState
		least time.Duration
		most  time.Duration
		lost  bool
	}{
		"the first":        {0, Live, 0, 0, false},
		"connecting":       {time.Millisecond, Connecting, defaultBatchWindow, defaultBatchWindow, false},
		"live, just told":  {time.Millisecond, Live, 3 * defaultBatchWindow, 4 * defaultBatchWindow, false},
		"live, after long": {time.Minute, Live, defaultBatchWindow, defaultBatchWindow, false},
		"no longer live":   {time.Millisecond, Live, defaultBatchWindow, defaultBatchWindow, true},
	} {
		w := &Watcher{opts: Options{}.withDefaults(), liveness: &liveness{current: livenessState{lost: c.lost}}}
		w.latest.Store(&Snapshot{Health: Health{State: c.state}})
		if c.told > 0 {
			told := time.Now().Add(-c.told)
			w.lastPublished.Store(&told)
		}
		if wait := w.gatherDelay(); wait < c.least || wait > c.most {
			t.Errorf("%s: %s", name, wait)
		}
	}
}
