//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/e2e/lab"
	rules "github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// oneAtATime lets a node move one volume, and prepare one more.
const oneAtATime = `{"loadConcurrency":{"globalConfig":1,"prepareQueueLength":1}}`

// The backups of the test and what they are called everywhere.
const (
	holder = "slot-holder"
	waiter = "slot-waiter"
)

// TestVolumesWaitForASlot runs a real node-agent that moves one volume at a
// time. Velero leaves the next one in Prepared and the others in New without a
// word for as long as that takes, so nothing may be called stuck or cancelled
// for it.
func TestVolumesWaitForASlot(t *testing.T) {
	needs(t, !serverVersion(t).Before(rules.Version{1, 17, 0}), "limit on volumes that are being prepared")
	ctx := patient(t)
	must(t, theLab.StartSnapshots(ctx))
	must(t, theLab.StartNodeAgent(ctx, oneAtATime))
	must(t, theLab.EnsureVelero(ctx, "--features=EnableCSI"))
	moveVolumes(t, holder, 1)
	awaitUploads(t, holder, "Accepted")
	runMover(t, in(t, holder, "Accepted"))
	awaitUploads(t, holder, "InProgress")
	moveVolumes(t, waiter, 2)
	awaitUploads(t, waiter, "", "Accepted")
	runMover(t, in(t, waiter, "Accepted"))
	awaitUploads(t, waiter, "", "Prepared")

	t.Run("behind another backup", func(t *testing.T) {
		moves(t, in(t, holder, "InProgress"), 1<<20)
		for _, by := range []time.Duration{40 * time.Minute, 6 * time.Hour} {
			at := shifted(t, "behind-another-"+by.String(), older(by, ofJob(t, waiter)))
			wantWaitsForSlot(t, explain(t, at, "backup/"+waiter))
			wantRefused(t, at, "Backup", waiter, "--cancel-volumes")
		}
		wantNotCancelled(t, waiter)
	})
	t.Run("pod volumes", func(t *testing.T) { podVolumeWaits(t) })
	t.Run("without a node-agent", func(t *testing.T) { withoutAgent(t) })
	ends(t, in(t, holder, "InProgress"))
	wantEnd(t, ended(t, "Backup", holder), "Completed")
	awaitUploads(t, waiter, "Accepted", "InProgress")
	runMover(t, in(t, waiter, "Accepted"))
	awaitUploads(t, waiter, "InProgress", "Prepared")

	t.Run("behind the same backup", func(t *testing.T) {
		moving := in(t, waiter, "InProgress")
		moves(t, moving, 1<<20)
		for _, by := range []time.Duration{40 * time.Minute, 6 * time.Hour} {
			job := ofJob(t, waiter)
			at := shifted(
				t,
				"behind-own-"+by.String(),
				older(by, func(kind, name string) bool { return name != moving.Name && job(kind, name) }),
			)
			wantWaitsForSlot(t, explain(t, at, "backup/"+waiter))
			wantRefused(t, at, "Backup", waiter, "--cancel-volumes")
		}
		wantNotCancelled(t, waiter)
	})
	t.Run("cancelled", func(t *testing.T) { cancelGone(t) })
}

// podVolumeWaits makes a PodVolumeBackup that waits in New for its turn to be
// prepared, for which DataUploads count too, and cancels it as Velero does at its
// time-out.
func podVolumeWaits(t *testing.T) {
	needs(
		t,
		!serverVersion(t).HangsOnCancelledVolume(),
		"end for a backup whose pod volume was cancelled (Velero issue 9464)",
	)
	ctx := patient(t)
	const name = "slot-pod"
	must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	must(t, theLab.CreatePod(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "files"},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{
				{
					Name:         "main",
					Image:        "registry.example.com/lab/files:1",
					VolumeMounts: []corev1.VolumeMount{{Name: "files", MountPath: "/files"}},
				},
			},
			Volumes: []corev1.Volume{
				{Name: "files", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
		},
	}))
	must(t, theLab.RunPod(ctx, name, "files"))
	yes := true
	createBackup(t, name, veleroapi.BackupSpec{IncludedNamespaces: []string{name}, DefaultVolumesToFsBackup: &yes}, nil)
	var list veleroapi.PodVolumeBackupList
	for len(list.Items) == 0 {
		must(
			t,
			theLab.Client.List(
				ctx,
				&list,
				client.InNamespace(lab.Namespace),
				client.MatchingLabels{veleroapi.BackupNameLabel: name},
			),
		)
		time.Sleep(50 * time.Millisecond)
	}
	volume := &list.Items[0]
	for _, by := range []time.Duration{40 * time.Minute, 3 * time.Hour} {
		at := shifted(
			t,
			"pod-volume-"+by.String(),
			older(by, func(_, n string) bool { return n == name || n == volume.Name }),
		)
		wantWaitsForSlot(t, explain(t, at, "backup/"+name))
		wantRefused(t, at, "Backup", name, "--cancel-volumes")
	}
	must(t, theLab.Client.Get(ctx, client.ObjectKeyFromObject(volume), volume))
	if volume.Spec.Cancel || volume.Status.Phase != "" && volume.Status.Phase != veleroapi.PodVolumeBackupPhaseNew {
		t.Errorf("the pod volume backup is %q, cancel %v; want it new", volume.Status.Phase, volume.Spec.Cancel)
	}
	must(
		t,
		theLab.Client.Patch(
			ctx,
			volume,
			client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"cancel":true}}`)),
		),
	)
	wantEnd(t, ended(t, "Backup", name), "PartiallyFailed")
}

// withoutAgent lets the node-agent crash over and over, and brings it back: it
// goes on with what it moved.
func withoutAgent(t *testing.T) {
	ctx := patient(t)
	must(t, theLab.CrashNodeAgent(ctx, 7))
	ofHolder, ofWaiter := ofJob(t, holder), ofJob(t, waiter)
	at := shifted(t, "no-agent", older(3*time.Hour, func(kind, name string) bool {
		return ofHolder(kind, name) || ofWaiter(kind, name) // else a node-agent wrote a moment ago
	}))
	explain(t, at, "backup/"+waiter).wantWords(t, "NodeAgentMissing", "CrashLoopBackOff")
	must(t, theLab.RunNodeAgent(ctx))
	awaitUploads(t, holder, "InProgress")
	awaitUploads(t, waiter, "", "Prepared")
}

// cancelGone cancels a volume whose mover pod is gone, and no other. The
// node-agent answers at once that it does so, but waits for the pod to end: after
// five minutes it gives up on that. What it would write then is written here.
func cancelGone(t *testing.T) {
	ctx := patient(t)
	moving := in(t, waiter, "InProgress")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: moving.Name}}
	must(t, theLab.Client.Delete(ctx, pod, client.GracePeriodSeconds(0)))
	at := shifted(t, "gone", older(6*time.Hour, ofJob(t, waiter)))
	explain(t, at, "backup/"+waiter).wantWords(t, "MoverGone", "cancel-volumes")
	settled := make(chan int)
	go func() { // it observes until the volume has ended
		code, printed := runVeltuiAt(
			t,
			at,
			"finalize",
			"backup/"+waiter,
			"--cancel-volumes",
			"--yes",
			"--reason",
			"end-to-end test",
		)
		t.Logf("ended with %d: %s", code, printed)
		settled <- code
	}()
	awaitUploads(t, waiter, "Canceling", "Prepared")
	for _, u := range uploads(t, waiter) {
		if u.Spec.Cancel != (u.Name == moving.Name) {
			t.Errorf("%s has cancel %v", u.Name, u.Spec.Cancel)
		}
	}
	must(t, theLab.RemoveNodeAgent(ctx))
	for _, u := range uploads(t, waiter) {
		must(t, theLab.Client.Patch(ctx, &u, client.RawPatch("application/merge-patch+json", []byte(canceled))))
	}
	wantEnd(t, ended(t, "Backup", waiter), "PartiallyFailed")
	if code := <-settled; code != 0 {
		t.Errorf("veltui finalize --cancel-volumes ended with %d", code)
	}
}

// TestCancelOneOfThree cancels the one volume whose mover pod is gone by its name. Those that move are refused by theirs,
// and finish.
func TestCancelOneOfThree(t *testing.T) {
	ctx := patient(t)
	must(t, theLab.StartSnapshots(ctx))
	must(t, theLab.StartNodeAgent(ctx, `{"loadConcurrency":{"globalConfig":3}}`))
	must(t, theLab.EnsureVelero(ctx, "--features=EnableCSI"))
	const name = "one-of-three"
	moveVolumes(t, name, 3)
	awaitUploads(t, name, "Accepted", "Accepted", "Accepted")
	for _, u := range uploads(t, name) {
		runMover(t, u)
	}
	awaitUploads(t, name, "InProgress", "InProgress", "InProgress")
	all := uploads(t, name)
	gone, others := all[0], all[1:]
	must(
		t,
		theLab.Client.Delete(
			ctx,
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: gone.Name}},
			client.GracePeriodSeconds(0),
		),
	)
	at := shifted(t, name, older(6*time.Hour, ofJob(t, name)))
	for _, u := range others {
		wantRefused(t, at, "Backup", name, "--cancel-volumes", "--volume", u.Name)
	}
	wantNotCancelled(t, name)
	settled := make(chan int)
	go func() { // it observes until the volume has ended
		code, printed := runVeltuiAt(
			t,
			at,
			"finalize",
			"backup/"+name,
			"--cancel-volumes",
			"--volume",
			gone.Name,
			"--yes",
			"--reason",
			"end-to-end test",
		)
		t.Logf("ended with %d: %s", code, printed)
		settled <- code
	}()
	awaitUploads(t, name, "Canceling", "InProgress", "InProgress")
	for _, u := range uploads(t, name) {
		if u.Spec.Cancel != (u.Name == gone.Name) {
			t.Errorf("%s has cancel %v", u.Name, u.Spec.Cancel)
		}
	}
	for _, u := range others {
		ends(t, u)
	}
	awaitUploads(t, name, "Canceling", "Completed", "Completed")
	must(t, theLab.RemoveNodeAgent(ctx))
	must(t, theLab.Client.Patch(ctx, &gone, client.RawPatch("application/merge-patch+json", []byte(canceled))))
	wantEnd(t, ended(t, "Backup", name), "PartiallyFailed")
	if code := <-settled; code != 0 {
		t.Errorf("veltui finalize --volume ended with %d", code)
	}
}

// canceled is what a node-agent writes: with the label the volume would take a place in the queue of those that are being
// prepared for ever.
const canceled = `{"metadata":{"labels":{"velero.io/expose-on-going":null}},"status":{"phase":"Canceled"}}`

// wantWaitsForSlot checks that a backup is said to live, and that nothing offers
// to cancel its volumes.
func wantWaitsForSlot(t *testing.T, e explained) {
	t.Helper()
	e.wantAlive(t)
	if strings.Contains(e.printed, "cancel-volumes") {
		t.Errorf("the explanation offers to cancel volumes:\n%s", e.printed)
	}
}

// moveVolumes backs a new namespace up whose claims a data mover is to move, and
// waits until only that is left.
func moveVolumes(t *testing.T, name string, claims int) {
	t.Helper()
	yes := true
	must(t, theLab.Client.Create(patient(t), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	for i := range claims {
		must(t, theLab.CreateClaim(patient(t), name, fmt.Sprintf("data-%d", i)))
	}
	createBackup(t, name, veleroapi.BackupSpec{
		IncludedNamespaces: []string{
			name,
		},
		SnapshotMoveData:     &yes,
		ItemOperationTimeout: metav1.Duration{Duration: 24 * time.Hour},
	}, nil)
	await(t, "Backup", name, "wait for its volumes", lab.InPhase(waiting))
}

// uploads are the DataUploads of a backup.
func uploads(t *testing.T, backup string) []veleroapi.DataUpload {
	t.Helper()
	var list veleroapi.DataUploadList
	must(
		t,
		theLab.Client.List(
			patient(t),
			&list,
			client.InNamespace(lab.Namespace),
			client.MatchingLabels{veleroapi.BackupNameLabel: backup},
		),
	)
	return list.Items
}

// awaitUploads waits until the DataUploads of a backup are in these phases.
func awaitUploads(t *testing.T, backup string, want ...string) {
	t.Helper()
	ctx := patient(t)
	for {
		var phases []string
		for _, u := range uploads(t, backup) {
			phases = append(phases, string(u.Status.Phase))
		}
		slices.Sort(phases)
		if slices.Equal(phases, want) {
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the data uploads of %s are %q, want %q", backup, phases, want)
		}
	}
}

// in is the DataUpload of a backup that is in a phase.
func in(t *testing.T, backup string, phase veleroapi.DataUploadPhase) veleroapi.DataUpload {
	t.Helper()
	all := uploads(t, backup)
	i := slices.IndexFunc(all, func(u veleroapi.DataUpload) bool { return u.Status.Phase == phase })
	if i < 0 {
		t.Fatalf("no data upload of %s is %s", backup, phase)
	}
	return all[i]
}

// ofJob tells a backup, its DataUploads and their pods.
func ofJob(t *testing.T, backup string) func(kind, name string) bool {
	t.Helper()
	names := []string{backup}
	for _, u := range uploads(t, backup) {
		names = append(names, u.Name)
	}
	return func(_, name string) bool { return slices.Contains(names, name) }
}

func wantNotCancelled(t *testing.T, backup string) {
	t.Helper()
	for _, u := range uploads(t, backup) {
		if u.Spec.Cancel {
			t.Errorf("%s of %s was cancelled", u.Name, backup)
		}
	}
}

// runMover runs the mover pod of a DataUpload once the node-agent has made it.
func runMover(t *testing.T, u veleroapi.DataUpload) {
	t.Helper()
	must(t, theLab.AwaitPod(patient(t), lab.Namespace, u.Name))
	must(t, theLab.RunPod(patient(t), lab.Namespace, u.Name))
}

// says makes the event by which a mover pod reports to the node-agent.
func says(t *testing.T, u veleroapi.DataUpload, reason, message string) {
	t.Helper()
	must(t, theLab.Client.Create(patient(t), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, GenerateName: u.Name + "-"},
		InvolvedObject: corev1.ObjectReference{
			Kind:       "DataUpload",
			APIVersion: "velero.io/v2alpha1",
			Namespace:  lab.Namespace,
			Name:       u.Name,
			UID:        u.UID,
		},
		Reason:  reason,
		Message: message,
		Type:    corev1.EventTypeNormal,
	}))
}

// moves reports as a mover pod does that it has moved some bytes of a gibibyte,
// and waits until the node-agent has written so.
func moves(t *testing.T, u veleroapi.DataUpload, bytes int64) {
	t.Helper()
	says(t, u, "Data-Path-Started", "")
	says(t, u, "Data-Path-Progress", fmt.Sprintf(`{"doneBytes":%d,"totalBytes":%d}`, bytes, 1<<30))
	for u.Status.Progress.BytesDone != bytes {
		must(t, theLab.Client.Get(patient(t), client.ObjectKeyFromObject(&u), &u))
		time.Sleep(50 * time.Millisecond)
	}
}

// ends is a mover pod that has uploaded all.
func ends(t *testing.T, u veleroapi.DataUpload) {
	t.Helper()
	result, err := json.Marshal(
		map[string]any{
			"snapshotID": strings.ToLower(u.Name),
			"source":     map[string]any{"byPath": "/data"},
			"totalBytes": 1 << 30,
		},
	)
	must(t, err)
	says(t, u, "Data-Path-Started", "")
	says(t, u, "Data-Path-Stopped", "")
	must(t, theLab.EndPod(patient(t), lab.Namespace, u.Name, 0, string(result)))
}
