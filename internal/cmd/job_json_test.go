package cmd

import (
	"strings"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

// The example in the help of get names what the dashboard counts as stuck,
// orphaned jobs with it.
func TestStuckExampleNamesWhatIsCounted(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	before := metav1.NewTime(now.Add(-time.Hour))
	one := func(name string, phase velerov1.RestorePhase) *job.Job {
		return job.Next(nil, job.Input{At: now, Restore: &velerov1.Restore{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: before},
			Status:     velerov1.RestoreStatus{Phase: phase, StartTimestamp: &before}}})
	}
	orphaned, ended := one("orphaned", velerov1.RestorePhaseInProgress), one("ended", velerov1.RestorePhaseCompleted)
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
	a := new(assess.Estimates).Assess(snap, now)
	if a.Troubled != 1 || a.Of(orphaned).Verdict.State() != diagnosis.Orphaned {
		t.Fatalf("%d in trouble, %s", a.Troubled, a.Of(orphaned).Verdict.State())
	}
	example := newGet(newCLI(nil, nil, nil)).Example
	_, template, _ := strings.Cut(example, "-o jsonpath='")
	template, _, _ = strings.Cut(template, "'")
	var out strings.Builder
	c := newCLI(nil, nil, nil)
	c.streams.Out = &out
	p, err := getFlags{output: "jsonpath=" + template}.printer(c, selection{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.list(rowsOf("", a, snap.Jobs...), nil, false); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(out.String()); got != "orphaned" {
		t.Errorf("%s prints %q", template, got)
	}
}
