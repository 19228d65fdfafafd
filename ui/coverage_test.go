package ui

import (
	"errors"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/assess/coverage"
)

// TestCoverageTab: what backups protect is read when the tab is opened and not again while it stays open; until then
// nothing is claimed, and enter shows why.
func TestCoverageTab(t *testing.T) {
	reads, failure := 0, error(nil)
	result := &coverage.Result{State: coverage.Unprotected, At: noon, Namespaces: []coverage.Namespace{
		{
			Item: coverage.Item{
				Kind:     "Namespace",
				Name:     "warehouse",
				State:    coverage.Unprotected,
				Reason:   coverage.LabelExcluded,
				Sentence: "claim db-1: In no backup: the label excludes it.",
			},
			Claims: []coverage.Item{
				{
					Kind:      "PersistentVolumeClaim",
					Namespace: "warehouse",
					Name:      "db-1",
					State:     coverage.Unprotected,
					Reason:    coverage.LabelExcluded,
					Sentence:  "In no backup: the label excludes it.",
				},
			},
			Workloads: []coverage.Item{
				{
					Kind:     "Deployment",
					Name:     "api",
					State:    coverage.CoveredWithWarning,
					Sentence: "The newest copy is 9h old, more than 2h.",
				},
				{
					Kind:     "Deployment",
					Name:     "web",
					State:    coverage.CoveredWithWarning,
					Sentence: "The newest copy is 9h old, more than 2h.",
				},
			},
		},
	}}
	gate := make(chan bool)
	b := newBench(t, 120, 30, func(o *Options) {
		fake(o).coverage = func(_ *assess.Assessment, say func(string)) (*coverage.Result, error) {
			say("reading what backups hold: 7 read, at most 9 left")
			reads++
			<-gate
			return result, failure
		}
	})
	again := func() { b.send(snapshotAssessedMsg{b.clusters[0], b.clusters[0].assessment}) }
	again()
	b.keys("6")
	b.sees("? Reading what backups hold: 7 read")
	close(gate)
	b.sees("warehouse")
	b.shows("unprotected", "0 of 1", "read at", "claim db-1: In no backup")
	again()
	again()
	b.keys("enter")
	b.sees("claim db-1: In no backup: the label excludes it.")
	b.shows(
		"namespace warehouse",
		"Claims",
		"Why",
		"Deployment api and Deployment web: The newest copy is 9h old",
	) // one reason, one line
	b.keys("esc", "1", "6")
	if reads != 1 {
		t.Errorf("it was read %d times", reads)
	}
	failure = errors.New("the API server is away")
	b.pass(2 * time.Minute)
	b.keys("1", "6")
	b.sees("the API server is away")
	b.shows("warehouse")
	if reads != 2 {
		t.Errorf("opened again after a while, it was read %d times in all", reads)
	}
}

// TestNextRunOnThePageOfASchedule: what the next run takes is read when the page is opened, and shown as `veltui coverage --next` prints it.
func TestNextRunOnThePageOfASchedule(t *testing.T) {
	var read []string
	failure := error(nil)
	gate := make(chan bool)
	b := newBench(t, 120, 60, func(o *Options) {
		fake(o).predict = func(schedule string, say func(string)) (*coverage.Prediction, error) {
			say("reading persistentvolumeclaims")
			read = append(read, schedule)
			<-gate
			return &coverage.Prediction{
				Schedule:       schedule,
				Namespaces:     []string{"shop"},
				Claims:         []string{"shop/data", "shop/scratch"},
				ClaimsWithData: []string{"shop/data"},
				Workloads: map[string][]string{
					"Deployment": {"shop/web"},
				},
				Undecided: []string{"pods: you may not list it"},
			}, failure
		}
	})
	b.send(snapshotAssessedMsg{b.clusters[0], b.clusters[0].assessment})
	b.keys("4", "enter")
	b.sees("? Reading persistentvolumeclaims")
	close(gate)
	b.sees("shop/scratch, without its data")
	b.shows(
		"What the next run takes",
		"Namespaces",
		"Claims",
		"shop/data",
		"Deployments",
		"shop/web",
		"Unknown",
		"pods: you may not list it",
	)
	b.keys("esc", "enter")
	b.shows("shop/web")
	if len(read) != 1 {
		t.Errorf("opened twice within a minute, it was read for %q", read)
	}
	failure = errors.New("the API server is away")
	b.pass(2 * time.Minute)
	b.keys("esc", "enter")
	b.sees("? The API server is away")
	b.shows("shop/web")
}
