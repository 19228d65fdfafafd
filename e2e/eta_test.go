//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/e2e/seed"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/job/forecast/score"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestETA restores everything at the rate at which Velero comes, three times, and judges the total and the time left
// that `veltui get -w` shows at every second. It takes five minutes and runs only if E2E_ETA names the folder for the
// tables and recordings (make e2e-eta).
func TestETA(t *testing.T) {
	target := os.Getenv("E2E_ETA")
	if target == "" {
		t.Skip("E2E_ETA is not set: see make e2e-eta")
	}
	for _, c := range []struct {
		name, suffix string
		flags        []string
		namespaces   []string
	}{
		{"eta-1", "eta-1", nil, seed.NamespaceNames()},
		{"eta-2", "eta-2", nil, seed.NamespaceNames()},
		{"eta-3", "eta-3", nil, seed.NamespaceNames()},
		{"eta-again", "eta-3", nil, seed.NamespaceNames()}, // everything is there already
		{"eta-slow", "eta-slow", []string{"--client-qps=20", "--client-burst=30"}, []string{"billing"}},
	} {
		must(t, theLab.EnsureVelero(patient(t), c.flags...))
		fullBackup(t)
		_, err := estimate(t, "backup/"+full) // reads the backup, so that veltui knows what is restored
		must(t, err)
		spec := veleroapi.RestoreSpec{
			BackupName: full, IncludedNamespaces: c.namespaces, NamespaceMapping: to(c.suffix),
		}
		known, err := collectorEstimate(t, spec)
		must(t, err)
		h := restore(t, c.name, spec, nil)
		wantEnd(t, h, "Completed")
		shown := shownOf(h, wantTold(t, h))
		result := shown.Score()
		t.Logf("%s: %s", c.name, result)
		if result.WrongTotals > 0 || result.Setbacks > 0 || result.Overruns > 0 {
			t.Errorf("%s: the number of items was known before: %s", c.name, result)
		}
		must(t, keepETA(filepath.Join(target, c.name), h, shown, known))
	}
}

// collectorEstimate estimates a restore into the namespaces that exist now.
func collectorEstimate(t *testing.T, spec veleroapi.RestoreSpec) (e collector.Estimate, err error) {
	t.Helper()
	file, err := os.Open(theLab.ObjectPath("backups/" + spec.BackupName + "/" + spec.BackupName + ".tar.gz"))
	if err != nil {
		return e, err
	}
	defer func() { _ = file.Close() }()
	index, err := collector.Read(t.Context(), file, collector.Limits{})
	if err != nil {
		return e, err
	}
	var there corev1.NamespaceList
	if err := theLab.Client.List(t.Context(), &there); err != nil {
		return e, err
	}
	in := collector.RestoreInput{Restore: spec, ExistingNamespaces: collector.TargetNamespaces{IsComplete: true}}
	for _, n := range there.Items {
		in.ExistingNamespaces.Names = append(in.ExistingNamespaces.Names, n.Name)
	}
	return index.Estimate(t.Context(), in, collector.Discovery{})
}

// shownOf returns what veltui told of a restore while it ran.
func shownOf(h lab.History, docs []told) (r score.Restore) {
	r.Total = h.LastState().Progress.Total
	for _, e := range h {
		if s := (lab.History{e}).LastState(); s.Phase == "InProgress" && s.Progress != nil {
			r.Ended = e.At
		}
	}
	for _, d := range docs {
		if d.Items == nil || d.readAt.After(r.Ended) {
			continue
		}
		reading := score.Reading{
			At: d.readAt, Done: d.Items.Done, Total: d.Items.Total, VeleroTotal: d.Items.Total,
			InItems: d.Stage == string(job.StageItems),
		}
		switch {
		case d.Items.Published != nil:
			reading.VeleroTotal = *d.Items.Published
		case d.Items.Estimated:
			reading.VeleroTotal = 0
		}
		if d.Fraction != nil {
			reading.Fraction = *d.Fraction
		}
		reading.ETA, reading.Known = seconds(d.ETASeconds)
		reading.Low, _ = seconds(d.ETALowSeconds)
		reading.High, reading.Rough = seconds(d.ETAHighSeconds)
		r.Readings = append(r.Readings, reading)
	}
	return r
}

func seconds(n *int64) (left time.Duration, known bool) {
	if n == nil {
		return 0, false
	}
	return time.Duration(*n) * time.Second, true
}

// keepETA keeps a recording in the form of internal/job/testdata/replays, with what was known before it began, and the
// table of what was shown.
func keepETA(dir string, h lab.History, shown score.Restore, known collector.Estimate) error {
	if err := write(dir, h); err != nil {
		return err
	}
	steps, err := json.MarshalIndent(known, "", " ")
	if err != nil {
		return err
	}
	var table bytes.Buffer
	fmt.Fprintf(&table, "%s\n\n", shown.Score())
	if err := shown.WriteTable(&table); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "estimate.json"), append(steps, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "table.md"), table.Bytes(), 0o644)
}
