package action

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
)

// Whoever may create a Backup writes its annotations: none of them may keep a
// plan from being made, nor make finalizing go on for ever.
func TestAnnotatedResourceTimeoutIsBounded(t *testing.T) {
	for _, value := range []string{"2562047h47m16.854775807s", "2500000h", "9999h", "-1h", "1e3", "∞"} {
		e := evidence(t, job.Backup, "InProgress", alive, stored, resourceTimeoutOf(value))
		made := make(chan time.Duration, 1)
		go func() { made <- statusPatchWindow(&e) }()
		select {
		case got := <-made:
			if got < 5*time.Minute || got > 2*time.Hour {
				t.Errorf("%s: a window of %s", value, got)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: no window was found within a minute", value)
		}
		if got := velero.ResourceTimeout(e.Job.Object, velero.ServerFlags{}); got <= 0 || got > 24*time.Hour {
			t.Errorf("%s: a deadline of %s", value, got)
		}
	}
}

// A pod whose server container has a name of its own, beside a sidecar, is a
// server that runs: taking it for none would write Failed over its work.
func TestServerBesideASidecarRuns(t *testing.T) {
	running := func(name string, at time.Time) corev1.ContainerStatus {
		return corev1.ContainerStatus{
			Name:  name,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at)}},
		}
	}
	for _, c := range []struct {
		name string
		spec []corev1.Container
		want int
	}{
		{"by its command", []corev1.Container{{Name: "istio-proxy"}, {Name: "velero-server", Image: "x/y:v1.18.3", Command: []string{"/velero", "server"}}}, 1},
		{"unknown which", []corev1.Container{{Name: "istio-proxy"}, {Name: "backup"}}, 1},
	} {
		pod := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"deploy": "velero"}},
			Spec:       corev1.PodSpec{Containers: c.spec},
		}
		pod.Status.Phase = corev1.PodRunning
		for i, s := range c.spec {
			pod.Status.ContainerStatuses = append(
				pod.Status.ContainerStatuses,
				running(s.Name, began.Add(time.Duration(i-2)*time.Hour)),
			)
		}
		e := evidence(
			t,
			job.Restore,
			"InProgress",
			func(e *Evidence) { e.Server = velero.ServerOf([]*corev1.Pod{&pod}, e.Now) },
		)
		if len(e.Server.Pods) != c.want {
			t.Errorf("%s: %d servers run, want %d", c.name, len(e.Server.Pods), c.want)
		}
		if p := draft(e, Request{}); p.Effect() != EffectRefuse {
			t.Errorf("%s: %s to %s: %s", c.name, p.Action, p.ToPhase, p.EvidenceText)
		}
	}
}

// A name may have 253 characters, a file's name 255 bytes.
func TestCopyOfALongName(t *testing.T) {
	a, err := newAuditLog(Options{AuditDir: t.TempDir()}, newAttemptID())
	if err != nil {
		t.Fatal(err)
	}
	e := evidence(t, job.Backup, "InProgress")
	path, err := a.saveCopies(
		&AuditEntry{Kind: "Backup", Namespace: strings.Repeat("n", 63), Name: strings.Repeat("b", 253)},
		e.Object,
	)
	if err != nil || !strings.HasSuffix(path, a.attempt+".yaml") || filepath.Dir(filepath.Dir(path)) != a.dir {
		t.Errorf("%s: %v", path, err)
	}
}

// A restore may end Completed while its volumes are still being filled (Velero
// issue 9365): those that move are left alone.
func TestVolumesThatMoveAfterTheEndAreLeftAlone(t *testing.T) {
	for _, c := range []struct {
		phase  string
		silent time.Duration
		want   int
	}{
		{"Completed", time.Second, 0},
		{"PartiallyFailed", time.Second, 0},
		{"Completed", 50 * time.Minute, 1},
		{"Failed", time.Second, 1},
	} {
		found := remedies(
			evidence(
				t,
				job.Restore,
				c.phase,
				alive,
				veleroVersion("v1.18.3"),
				agents("n1"),
				mover(velero.PodVolumeRestore, "pvr", "InProgress", c.silent),
			),
			Request{},
		)
		if len(found) != c.want {
			t.Errorf("%s, silent for %s: %+v", c.phase, c.silent, found)
		}
	}
}

// The commands go where veltui went, wherever that is: a restart is guarded by
// nothing else.
func TestCommandsCarryTheFlagsOfTheConnection(t *testing.T) {
	r := Request{Context: "prod", Flags: []string{"--kubeconfig=/home/jane doe/prod", "--as=root"}}
	const want = "kubectl --context prod '--kubeconfig=/home/jane doe/prod' --as=root -n velero "
	commands := []string{draft(evidence(t, job.Restore, "InProgress", restarted, notStored), r).Commands[0]}
	for _, c := range [][]change{{alive, stored, nothingBackedUp, others(OtherJob{Kind: job.Restore, Name: "r", Phase: "InProgress"})},
		{alive, veleroVersion("v1.18.3"), agents("n1"), mover(velero.DataUpload, "du", "InProgress", time.Hour)}} {
		for _, phase := range []string{"InProgress", "Finalizing", "ReadyToStart"} {
			for _, w := range remedies(evidence(t, job.Backup, phase, c...), r) {
				commands = append(commands, w.Commands...)
			}
		}
	}
	if len(commands) < 6 {
		t.Errorf("only %d commands: %q", len(commands), commands)
	}
	for _, c := range commands {
		if !strings.HasPrefix(c, want) {
			t.Errorf("%s", c)
		}
	}
}
