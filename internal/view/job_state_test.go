package view

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

var jobNoon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// restoreWith is a restore that began an hour ago.
func restoreWith(status veleroapi.RestoreStatus) *job.Job {
	started := metav1.NewTime(jobNoon.Add(-time.Hour))
	status.StartTimestamp = &started
	return job.Fold(nil, job.Observation{ObservedAt: jobNoon, Restore: &veleroapi.Restore{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "u", CreationTimestamp: started},
		Status:     status,
	}})
}

func TestJobSentence(t *testing.T) {
	ended := metav1.NewTime(jobNoon.Add(-57 * time.Minute))
	running := veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress}
	for _, c := range []struct {
		name string
		j    assess.JudgedJob
		want string
	}{
		{"completed", assess.JudgedJob{Job: restoreWith(veleroapi.RestoreStatus{
			Phase: veleroapi.RestorePhaseCompleted, CompletionTimestamp: &ended,
		})}, "Completed after 3m"},
		{"with errors", assess.JudgedJob{Job: restoreWith(veleroapi.RestoreStatus{
			Phase: veleroapi.RestorePhaseFailed, CompletionTimestamp: &ended,
			Errors: 2, Warnings: 1, FailureReason: "no space",
		})}, "Failed after 3m, 2 errors, 1 warning: no space"},
		{"not valid", assess.JudgedJob{Job: restoreWith(veleroapi.RestoreStatus{
			Phase: veleroapi.RestorePhaseFailedValidation, ValidationErrors: []string{"no backup", "no namespace"},
		})}, "FailedValidation: no backup; no namespace"},
		{"moving", assess.JudgedJob{Job: restoreWith(running), State: diagnosis.Progressing}, "phase InProgress for 1h"},
		{"quiet, being deleted", assess.JudgedJob{
			Job: restoreWith(running), State: diagnosis.Quiet, Verdict: diagnosis.Verdict{Text: "nothing moved"},
			DeletionRequestedAt: jobNoon.Add(-time.Minute),
		}, "phase InProgress for 1h, deletion requested 1m ago, quiet: nothing moved"},
		{"new", assess.JudgedJob{Job: restoreWith(veleroapi.RestoreStatus{})}, "phase New for 1h"},
	} {
		if got := JobSentence(c.j, jobNoon); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestJobOutcomeNamesWhatWentWrong(t *testing.T) {
	o := NewJobOutcome(restoreWith(veleroapi.RestoreStatus{
		Phase: veleroapi.RestorePhasePartiallyFailed, Errors: 2, Warnings: 3, ValidationErrors: []string{"odd"},
		Progress: &veleroapi.RestoreProgress{ItemsRestored: 3, TotalItems: 5},
	}))
	got := []string{o.Phase.Text, o.Took, o.Items, o.Errors.FitWidth(0), o.Warnings.FitWidth(0), o.Invalid.Text, o.Reason}
	want := []string{"PartiallyFailed", "", "3/5", "2 err", "3 warn", "", "odd"}
	if !slices.Equal(got, want) || o.Phase.Tone != Waiting || o.Errors.Tone != Bad || o.Warnings.Tone != Waiting {
		t.Errorf("%q, want %q", got, want)
	}
	refused := NewJobOutcome(restoreWith(veleroapi.RestoreStatus{
		Phase: veleroapi.RestorePhaseFailedValidation, ValidationErrors: []string{"odd"},
	}))
	if refused.Invalid.Text != "invalid" || !refused.Ended.Equal(jobNoon) {
		t.Errorf("a job that is not valid: %+v", refused)
	}
}

func TestStageSteps(t *testing.T) {
	ended := metav1.NewTime(jobNoon)
	for phase, want := range map[veleroapi.RestorePhase]string{
		veleroapi.RestorePhaseInProgress:       "present",
		veleroapi.RestorePhaseCompleted:        "ended",
		veleroapi.RestorePhaseFailedValidation: "ended",
	} {
		status := veleroapi.RestoreStatus{Phase: phase}
		if want == "ended" {
			status.CompletionTimestamp = &ended
		}
		var marks []string
		for _, step := range StageSteps(restoreWith(status), jobNoon) {
			marks = append(marks, [...]string{"ahead", "skipped", "present", "passed", "ended"}[step.Position])
		}
		if !slices.Contains(marks, want) || want == "ended" && slices.Contains(marks, "ahead") ||
			want == "present" && !slices.Contains(marks, "ahead") {
			t.Errorf("%s: %s", phase, strings.Join(marks, " "))
		}
	}
}

func TestSpokenProgress(t *testing.T) {
	j := assess.JudgedJob{
		Job: restoreWith(veleroapi.RestoreStatus{
			Phase:    veleroapi.RestorePhaseInProgress,
			Progress: &veleroapi.RestoreProgress{ItemsRestored: 1000, TotalItems: 4000},
		}),
		ETA: assess.TimeLeft{Known: true, Left: 2 * time.Minute},
	}
	want := "25 percent, 1,000 of 4,000 items, about 2 minutes left"
	if got := SpokenProgress(j); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := JobActivity(j.Job); got != "restoring items" {
		t.Errorf("it is %q", got)
	}
	for n, want := range map[int64]string{12: "12 bytes", 2 << 30: "2.0 GiB"} {
		if got := spokenBytes(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
