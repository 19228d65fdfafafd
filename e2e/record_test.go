//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/veltui/veltui/e2e/lab"
)

// kept are the jobs worth keeping as test data for the unit tests, which have
// no lab.
var kept = []struct{ kind, name string }{
	{"Backup", "queue-overlap"},
	{"Backup", "operations"},
	{"Backup", "half"},
	{"Backup", "away-refused"},
	{"Restore", "cluster-off"},
	{"Restore", "worker-3"},
	{"Restore", "killed"},
	{"Restore", "lost"},
	{"Restore", "away"},
	{"Restore", "outage"},
}

// keep writes what was recorded of those jobs into the folder that E2E_RECORD
// names, in the form of internal/job/testdata/replays.
func keep() error {
	target := os.Getenv("E2E_RECORD")
	if target == "" {
		return nil
	}
	for _, k := range kept {
		h := recorder.JobHistory(k.kind, k.name)
		if len(h) == 0 {
			continue // not every run makes every job
		}
		if err := write(filepath.Join(target, "e2e-"+k.name), h); err != nil {
			return fmt.Errorf("keeping the recording of %s: %w", k.name, err)
		}
	}
	return nil
}

func write(dir string, h lab.History) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false)
	if end := slices.IndexFunc(h, func(e lab.Event) bool { return lab.HasEnded(lab.History{e}) }); end >= 0 {
		h = h[:end+1] // and not that it was deleted
	}
	for _, e := range h {
		if err := encoder.Encode(e); err != nil {
			return err
		}
	}
	total := 0
	if p := h.LastState().Progress; p != nil {
		total = p.Total
	}
	expected, err := json.MarshalIndent(map[string]any{
		"phase":      h.LastState().Phase,
		"totalItems": total,
		"totalsSeen": append([]int{}, h.ItemTotals()...),
		"warnings":   h.StatusNumber("warnings"),
		"errors":     h.StatusNumber("errors"),
	}, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "expected.json"), append(expected, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "watch.jsonl"), lines.Bytes(), 0o644)
}
