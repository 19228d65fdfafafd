package ui

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/cluster"
	inmemory "github.com/veltui/veltui/internal/demo/cluster"
	"github.com/veltui/veltui/internal/restore/preflight"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/ui/dialog"
)

// inMemory answers as an API server whose clock is right.
type inMemory struct{ http.Handler }

func (h inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	answer.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	r.Header.Set("Authorization", "Bearer t")
	h.ServeHTTP(answer, r)
	response := answer.Result()
	response.Request = r
	return response, nil
}

// engine plans for a cluster that holds some objects.
func engine(t *testing.T, objects ...runtime.Object) *action.Engine {
	t.Helper()
	c := inmemory.New(func() time.Time { return noon })
	for _, o := range objects {
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.PutObject(&unstructured.Unstructured{Object: raw}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := session.New(session.Options{Context: "prod-east", LoadConfig: func() (*rest.Config, error) {
		return &rest.Config{Host: "https://prod-east.example.test", Transport: inMemory{c.APIHandler("t")}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := action.New(
		action.Options{
			Session:   s,
			Namespace: "velero",
			Context:   "prod-east",
			AuditDir:  t.TempDir(),
			Now:       func() time.Time { return noon },
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// changing is a dashboard whose schedules can be changed, and from whose backup can be restored.
func changing(t *testing.T, change ...func(*veleroapi.Schedule)) *bench {
	t.Helper()
	snap := stageful()
	s := snap.Schedules[0].DeepCopy()
	for _, c := range change {
		c(s)
	}
	snap.Schedules[0] = s.DeepCopy()
	s.TypeMeta = metav1.TypeMeta{APIVersion: "velero.io/v1", Kind: "Schedule"}
	began := metav1.NewTime(noon.Add(-80 * time.Hour))
	e := engine(
		t,
		s,
		&corev1.Namespace{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "7f1e0c52-0001"},
		},
		&veleroapi.Backup{
			TypeMeta:   metav1.TypeMeta{APIVersion: "velero.io/v1", Kind: "Backup"},
			ObjectMeta: meta("hourly-web-0900", 21*time.Minute),
			Spec: veleroapi.BackupSpec{
				StorageLocation: "default",
			},
			Status: veleroapi.BackupStatus{
				Phase:               veleroapi.BackupPhaseCompleted,
				CompletionTimestamp: ptr(ago(20 * time.Minute)),
			},
		},
		&veleroapi.Backup{
			TypeMeta:   metav1.TypeMeta{APIVersion: "velero.io/v1", Kind: "Backup"},
			ObjectMeta: meta("nightly-erp", 30*time.Second),
			Status:     veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseQueued},
		},
		&veleroapi.BackupStorageLocation{
			TypeMeta:   metav1.TypeMeta{APIVersion: "velero.io/v1", Kind: "BackupStorageLocation"},
			ObjectMeta: meta("default", 24*time.Hour),
			Status: veleroapi.BackupStorageLocationStatus{
				Phase:              veleroapi.BackupStorageLocationPhaseAvailable,
				LastValidationTime: ptr(ago(20 * time.Second)),
			},
		},
		&corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{
				Namespace:         "velero",
				Name:              "velero-7d4",
				UID:               "p-1",
				CreationTimestamp: began,
				Labels: map[string]string{
					"component": "velero",
					"deploy":    "velero",
				},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "velero", Image: "velero/velero:v1.18.3"}}},
			Status: corev1.PodStatus{
				Phase: corev1.PodRunning,
				ContainerStatuses: []corev1.ContainerStatus{
					{
						Name:  "velero",
						Ready: true,
						State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}},
					},
				},
			},
		},
	)
	preview := shopPreview()
	preview.Backup = "hourly-web-0900"
	p := &previewer{answer: preview, saved: map[string]string{}, differs: cluster.CheckResult{
		Findings: []preflight.Finding{
			{
				Severity: preflight.Obstacle,
				Reason:   preflight.Rejected,
				Sentence: "The API server rejects 3 pods in namespace shop: the policy require-limits denies them.",
			},
			{Severity: preflight.Doubt, Sentence: "14 secrets exist already: Velero skips them."},
		},
		DryRun: &preflight.DryRun{User: "velero", ItemCount: 1402, SentCount: 1402, Rejected: make([]preflight.Rejection, 3)}}}
	b := newBench(t, 80, 24, func(o *Options) {
		fake(o).previewer = p
		fake(o).propose = func(name action.Kind, object *unstructured.Unstructured, r action.Request) (action.Plan, error) {
			return e.ProposePlan(context.Background(), name, object, r)
		}
	})
	show(b.Model, snap)
	return b
}

// TestGoldenChangeFrames are the dialogs of what is no running job.
func TestGoldenChangeFrames(t *testing.T) {
	paused := func(s *veleroapi.Schedule) { s.Spec.Paused = true }
	for _, frame := range []struct {
		name   string
		change []func(*veleroapi.Schedule)
		show   func(b *bench)
	}{
		{"backup-now", nil, func(b *bench) { b.keys("4", "b") }},
		{"pause", nil, func(b *bench) { b.keys("4", "p") }},
		{"unpause", []func(*veleroapi.Schedule){paused}, func(b *bench) { b.keys("4", "p") }},
		{"unpause-due", []func(*veleroapi.Schedule){paused, func(s *veleroapi.Schedule) {
			s.Spec.SkipImmediately, s.Status.LastBackup = ptr(false), ptr(ago(50*time.Hour))
			s.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm"}
		}}, func(b *bench) { b.keys("4", "p") }},
		{"restore", nil, func(b *bench) {
			b.write(":preview hourly-web-0900")
			b.keys("enter")
			b.until("it was checked", func() bool {
				return strings.Contains(b.frame(), "about 40s") && !strings.Contains(b.frame(), "checking")
			})
			b.keys("ctrl+r")
			b.until("the dry run ended", func() bool { return strings.Contains(b.frame(), "1,402 of 1,402") })
			b.keys("ctrl+o")
		}},
	} {
		t.Run(frame.name, func(t *testing.T) {
			t.Parallel()
			b := changing(t, frame.change...)
			frame.show(b)
			b.reaches(dialog.StageChoosing)
			for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
				b.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
				golden(t, fmt.Sprintf("change-%s-%dx%d", frame.name, size[0], size[1]), plain(checkFrame(t, b.Model)))
			}
			b.keys("end")
			b.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
			b.keys("end")
			golden(t, fmt.Sprintf("change-%s-end-80x24", frame.name), plain(checkFrame(t, b.Model)))
			if !strings.Contains(b.frame(), "y copies it") && !strings.Contains(b.frame(), "velero ") &&
				!strings.Contains(b.frame(), "kubectl ") {
				t.Errorf("its end shows no command:\n%s", b.frame())
			}
		})
	}
}
