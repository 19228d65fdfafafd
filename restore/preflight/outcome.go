package preflight

import (
	"cmp"
	"slices"
	"strings"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/restore/target"
)

// Outcome is what Velero does with an object that exists (pkg/restore/restore.go of
// 1.18.3, restoreItem). Outcomes are API (docs/preflight.md).
type Outcome string

// The outcomes.
const (
	// Equal: it is as in the backup. Velero leaves it without a warning; with the
	// policy update it sets its own labels.
	Equal Outcome = "Equal"
	// Left: it differs. Velero leaves it as it is, with a warning.
	Left Outcome = "Left"
	// Patched: it differs, and Velero patches it.
	Patched Outcome = "Patched"
	// PatchRefused: it differs in what Kubernetes lets nobody change. Velero's patch
	// fails with a warning, and Velero sets only its own labels.
	PatchRefused Outcome = "PatchRefused"
	// Merged: Velero adds to it what the backup has more.
	Merged Outcome = "Merged"
	// Skipped: Velero does not touch it, and does not warn.
	Skipped Outcome = "Skipped"
	// CannotTell: veltui cannot tell.
	CannotTell Outcome = "CannotTell"
)

// Existing is an object of the target that a restore is to restore, too.
type Existing struct {
	Resource  string  `json:"resource"`
	Namespace string  `json:"namespace,omitempty"`
	Name      string  `json:"name"`
	Outcome   Outcome `json:"outcome"`
	// Fields are those that differ, without their values: most of them at most.
	Fields []string `json:"fields,omitempty"`
	// Why is why veltui cannot tell.
	Why string `json:"why,omitempty"`
}

// Existing is all that was compared, sorted. unseen is what could not be read of the
// cluster, and broken why the backup was not read to its end, if it was not.
func (c *Comparison) Existing(unseen []target.NotSeen, broken error) []Existing {
	all := make([]Existing, 0, len(c.items))
	for at, i := range c.items {
		e := Existing{Resource: at.resource, Namespace: at.namespace, Name: at.name, Outcome: i.outcome, Why: i.why}
		if i.outcome == "" {
			e.Outcome, e.Why = CannotTell, missing(at, i, unseen, broken)
		}
		for _, f := range i.fields[:min(len(i.fields), maxFields)] {
			e.Fields = append(e.Fields, shortened(sanitize.String(f)))
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(x, y Existing) int {
		return cmp.Or(strings.Compare(x.Resource, y.Resource), strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Name, y.Name))
	})
	return all
}

// missing says why there is nothing to compare.
func missing(at place, i *compared, unseen []target.NotSeen, broken error) string {
	switch {
	case i.inBackup == nil && broken != nil:
		return "veltui could not read the backup: " + broken.Error()
	case i.inBackup == nil:
		return "veltui did not find its body in the backup"
	}
	for _, n := range unseen {
		if n.Resource == at.resource && (n.Namespace == "" || n.Namespace == at.namespace) {
			return "veltui could not read it: " + n.Why
		}
	}
	return "it is gone since veltui found it"
}

func shortened(s string) string {
	if r := []rune(s); len(r) > maxField {
		return string(r[:maxField-1]) + "…"
	}
	return s
}
