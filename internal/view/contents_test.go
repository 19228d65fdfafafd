package view

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
)

func TestContentsUnavailable(t *testing.T) {
	running := &job.Job{Kind: job.Backup, Stage: job.StageItems}
	refused := collector.Estimate{Refusals: []string{"Both included and excluded: namespaces ops."}}
	for _, c := range []struct {
		job      *job.Job
		contents *Contents
		want     string
	}{
		{running, ForbiddenContents, "--no-artifacts"},
		{running, nil, "when all items are done"},
		{&job.Job{Kind: job.Backup, Stage: job.StageFinalizing}, nil, "anew until it has ended"},
		{&job.Job{Kind: job.Restore}, nil, "has no backup yet"},
		{running, &Contents{Pending: true}, "downloaded only once"},
		{running, &Contents{Err: errors.New("no route to host")}, "unknown: no route to host"},
		{running, &Contents{Estimate: refused}, "refuses this restore: Both"},
	} {
		if got := c.contents.UnavailableText(c.job); !strings.Contains(got, c.want) {
			t.Errorf("no %q: %q", c.want, got)
		}
	}
	if got := (&Contents{Resources: []collector.ResourceCount{{}}}).UnavailableText(running); got != "" {
		t.Errorf("contents that are there: %q", got)
	}
}

// Velero's count and the estimate are compared only where the count is final, exceeds the estimate, or corrects it.
func TestEstimateDifference(t *testing.T) {
	items := func(phase string, done, total int, estimated bool) *job.Job {
		stage := job.StageItems
		if phase == velero.PhaseCompleted {
			stage = job.StageDone
		}
		return &job.Job{Kind: job.Restore, Phase: phase, Stage: stage,
			Items: job.Items{Known: true, Done: done, Total: total, Estimated: estimated}}
	}
	e := &collector.Estimate{Total: 1402, Assumptions: []string{"An assumption."}}
	for name, c := range map[string]struct {
		job  *job.Job
		want string
	}{
		"ended": {items(velero.PhaseCompleted, 1399, 1399, false),
			"Velero counted 1,399 items; the estimate is 1,402, for the target's present kinds and namespaces."},
		"ended as estimated":    {items(velero.PhaseCompleted, 1402, 1402, false), ""},
		"ended without a count": {items(velero.PhaseCompleted, 12, 1399, false), ""},
		"runs":                  {items(velero.PhaseInProgress, 12, 1399, false), ""},
		"runs beyond": {items(velero.PhaseInProgress, 12, 1500, false),
			"Velero already counts 1,500 items; the estimate is 1,402."},
		"runs, as veltui counts": {items(velero.PhaseInProgress, 12, 1402, true), ""},
		"runs, corrected": {items(velero.PhaseInProgress, 12, 1405, true),
			"By Velero's counts it will be 1,405 items; the estimate was 1,402."},
	} {
		if got := EstimateDifference(c.job, e); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	failed := items(velero.PhaseCompleted, 1399, 1399, false)
	failed.Errors = 2
	notes := RestoreStepNotes(failed, e)
	if len(notes) != 3 || !strings.Contains(notes[0], "2 errors") || notes[2] != "An assumption." {
		t.Errorf("%q", notes)
	}
	if columns := RestoreStepColumns(failed, "~"); columns[3].Title != "TRIED" {
		t.Errorf("%+v", columns[3])
	}
}

func TestCurrentStepText(t *testing.T) {
	e := &collector.Estimate{Steps: make([]collector.Step, 12)}
	at := collector.Position{Step: 2, Resource: "secrets", Done: 3, Total: 40}
	got := CurrentStepText(&job.Job{Kind: job.Restore, Stage: job.StageItems}, e, at, "~")
	if got.Text != "Now secrets, 3 of ~40, the 3rd of 12 kinds" || got.FitWidth(30) != "Now secrets, 3 of ~40" {
		t.Errorf("%+v", got)
	}
	if got := CurrentStepText(&job.Job{Kind: job.Restore, Stage: job.StageVolumes}, e, at, "~"); got.Text != "" {
		t.Errorf("after the items: %q", got.Text)
	}
}

func TestItems(t *testing.T) {
	items := &results.Items{
		Kinds: []results.Kind{
			{CountByStatus: map[results.ItemStatus]int{results.Created: 2, results.Failed: 1}},
			{CountByStatus: map[results.ItemStatus]int{results.Created: 3}},
		},
		CompareUnavailable: "no contents.",
		UnnamedCount:       4,
	}
	counts := ItemCounts(job.Restore, items)
	want := []Text{Toned(Good, "5 "+string(results.Created)), Toned(Bad, "1 "+string(results.Failed))}
	if !slices.EqualFunc(counts, want, func(a, b Text) bool { return a.Text == b.Text && a.Tone == b.Tone }) {
		t.Errorf("%+v", counts)
	}
	if got := ItemCounts(job.Restore, &results.Items{}); len(got) != 1 || got[0].Text != "Velero worked on no item." {
		t.Errorf("%+v", got)
	}
	if got := ItemCounts(job.Backup, items); !strings.HasSuffix(got[0].Text, " of 2 kinds") {
		t.Errorf("%+v", got)
	}
	notes := ItemNotes(&job.Job{Kind: job.Restore, Phase: velero.PhaseCompleted, Stage: job.StageDone}, items)
	if len(notes) != 2 || !strings.Contains(notes[0].Text, "no contents.") ||
		!strings.HasPrefix(notes[1].Text, "4 more items") {
		t.Errorf("%+v", notes)
	}
	for _, kind := range []job.Kind{job.Restore, job.Backup} {
		if columns := ItemColumns(kind); kind == job.Restore && len(columns) != len(ItemStatuses)+4 {
			t.Errorf("%d columns", len(columns))
		}
	}
}
