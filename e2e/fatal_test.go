//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// muchLater is an hour from now, with a location that is as fresh then as it is
// now: everything of a job has long been quiet, and nothing else is wrong. The
// jobs began a minute before, so that no file is of the second of their start,
// and the server before them.
var muchLater = lab.TimeShift{AgeOf: func(kind, _ string) time.Duration {
	switch kind {
	case "BackupStorageLocation", "DownloadRequest":
		return 0
	case "Backup":
		return time.Hour + time.Minute
	case "Pod":
		return time.Hour + 10*time.Minute
	}
	return time.Hour
}}

// TestLostPatchOfAFailedBackup makes backups whose last patch is lost. Two of
// them have failed as a whole, before anything was backed up, and yet all their
// files are stored and tell of no error: moved on, they would be Completed and
// empty. The third is whole, and is moved on once its location can be written.
func TestLostPatchOfAFailedBackup(t *testing.T) {
	ctx := patient(t)
	must(t, theLab.EnsureVelero(ctx, "--resource-timeout=5s"))
	of := func(namespace string) veleroapi.BackupSpec {
		return veleroapi.BackupSpec{IncludedNamespaces: []string{namespace}}
	}
	badHook := of("ops") // a lost backup holds back all others of its namespaces
	badHook.Hooks = veleroapi.BackupHooks{Resources: []veleroapi.BackupResourceHookSpec{
		{
			Name: "bad",
			LabelSelector: &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Exist"}},
			},
		},
	}}

	loseByPolicy(t, "fatal-hooks", "Failed", badHook)
	must(t, theLab.OpenGate(lab.NoSelectorGate))
	loseByPolicy(t, "fatal-actions", "Failed", of("media"))
	must(t, theLab.CloseGate(lab.NoSelectorGate))
	loseByPolicy(t, "lost-whole", "Finalizing", of("billing"))

	at := shifted(t, "fatal", muchLater)
	for _, name := range []string{"fatal-hooks", "fatal-actions"} {
		t.Run(name, func(t *testing.T) { wantNotCompleted(t, at, name) })
	}
	t.Run("a location that is only read", func(t *testing.T) {
		setAccess(t, veleroapi.BackupStorageLocationAccessModeReadOnly)
		defer setAccess(t, veleroapi.BackupStorageLocationAccessModeReadWrite)
		wantRefused(t, at, "Backup", "lost-whole")
		explain(t, at, "backup/lost-whole", "--artifacts").wantWords(t, "storage location "+lab.LocationName, "read-only")
	})
	code, printed := runVeltuiAt(
		t,
		at,
		"finalize",
		"backup/lost-whole",
		"--yes",
		"--reason",
		"end-to-end test",
		"--observe",
		"20s",
	)
	if code != 0 {
		t.Fatalf("veltui finalize ended with %d:\n%s", code, printed)
	}
	wantFinalizedAsSeen(t, "Backup", "lost-whole", "Completed")
}

// loseByPolicy makes a backup whose last patch, to a phase, the API server
// refuses until Velero has given up on it. It returns when Velero logged that.
func loseByPolicy(t *testing.T, name, phase string, spec veleroapi.BackupSpec) (loggedAt time.Time) {
	t.Helper()
	lift := deny(t, "backups", name, phase)
	_, logged, err := theLab.VeleroLog(0)
	must(t, err)
	createBackup(t, name, spec, nil)
	must(t, theLab.AwaitLog(patient(t), logged, lostPatchLine(t, "Backup", name, phase)...))
	loggedAt = time.Now()
	lift()
	d := doomed{kind: "Backup", name: name}
	now := liveJob(t, d.kind, name).LastState()
	if now.Phase != "InProgress" || !theLab.ObjectExists(d.results()) || !theLab.ObjectExists(d.heldUp()) {
		t.Fatalf("%s is %s, want InProgress with all files stored", d, now)
	}
	return loggedAt
}

// wantNotCompleted checks that a backup that failed as a whole is not made to
// look like one that did not: veltui refuses, or says Failed.
func wantNotCompleted(t *testing.T, kubeconfig, name string) {
	t.Helper()
	for _, flags := range [][]string{nil, {"--phase", "Finalizing"}} {
		code, printed := runVeltuiAt(
			t,
			kubeconfig,
			append(
				[]string{"finalize", "backup/" + name, "--yes", "--reason", "end-to-end test", "--observe", "10s"},
				flags...)...)
		phase := liveJob(t, "Backup", name).LastState().Phase
		t.Logf("veltui finalize %q ended with %d; it is %s: %s", flags, code, phase, refusal(printed))
		if refused := code == exitRefused && phase == "InProgress"; !refused && phase != "Failed" {
			t.Errorf("veltui finalize %q ended with %d, and it is %s:\n%s", flags, code, phase, printed)
		}
	}
	if phases := recorder.JobHistory("Backup", name).
		Phases(); slices.ContainsFunc(
		phases,
		func(p string) bool { return strings.HasPrefix(p, "Finalizing") || p == "Completed" },
	) {
		t.Errorf("phases %q", phases)
	}
}

// setAccess sets the access mode of the storage location.
func setAccess(t *testing.T, mode veleroapi.BackupStorageLocationAccessMode) {
	t.Helper()
	location := &veleroapi.BackupStorageLocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: lab.LocationName},
	}
	must(
		t,
		theLab.Client.Patch(
			patient(t),
			location,
			client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"accessMode":"`+string(mode)+`"}}`)),
		),
	)
}
