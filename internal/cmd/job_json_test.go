package cmd

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// The example in the help of get names what the dashboard counts as stuck,
// orphaned jobs with it.
func TestStuckExampleNamesWhatIsCounted(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	before := metav1.NewTime(now.Add(-time.Hour))
	one := func(name string, phase veleroapi.RestorePhase) *job.Job {
		return job.Fold(nil, job.Observation{ObservedAt: now, Restore: &veleroapi.Restore{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: before},
			Status:     veleroapi.RestoreStatus{Phase: phase, StartTimestamp: &before}}})
	}
	orphaned, ended := one("orphaned", veleroapi.RestorePhaseInProgress), one("ended", veleroapi.RestorePhaseCompleted)
	snap := &watch.Snapshot{
		At:     now,
		Jobs:   []*job.Job{orphaned, ended},
		Active: []*job.Job{orphaned},
		Health: watch.Health{State: watch.Live},
		Server: velero.Server{
			Visible: true,
			ServerPod: velero.ServerPod{
				Running:   true,
				Ready:     true,
				StartedAt: now.Add(-10 * time.Minute),
				Flags:     velero.DefaultServerFlags(),
			},
		},
	}
	a := new(assess.Estimates).AssessSnapshot(snap, now)
	if a.Troubled != 1 || a.AssessJob(orphaned).Verdict.State() != diagnosis.Orphaned {
		t.Fatalf("%d in trouble, %s", a.Troubled, a.AssessJob(orphaned).Verdict.State())
	}
	example := newGetCommand(newCLI(nil, nil, nil)).Example
	_, template, _ := strings.Cut(example, "-o jsonpath='")
	template, _, _ = strings.Cut(template, "'")
	var out strings.Builder
	c := newCLI(nil, nil, nil)
	c.stdio.streams.Out = &out
	p, err := getFlags{output: "jsonpath=" + template}.newRowPrinter(c, selection{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.printRows(rowsOf("", a, snap.Jobs...), nil, rowPlaces{}); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(out.String()); got != "orphaned" {
		t.Errorf("%s prints %q", template, got)
	}
}
