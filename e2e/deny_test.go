//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// deny makes the API server refuse to let one Backup or Restore (by the plural
// of its kind) come into a phase, until lift.
func deny(t *testing.T, plural, name, phase string) (lift func()) {
	t.Helper()
	kind := map[string]string{"backups": "Backup", "restores": "Restore"}[strings.ToLower(plural)]
	must(t, theLab.DenyPhases(patient(t), kind, name, phase))
	lifted := false
	return func() {
		if !lifted {
			lifted = true
			must(t, theLab.AllowPhases(patient(t), kind, name))
		}
	}
}
