package velero

import (
	"strings"
	"testing"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

func TestRestoresInto(t *testing.T) {
	words := func(s string) []string { return strings.Fields(s) }
	for _, c := range []struct {
		name                           string
		included, excluded             string
		mapping                        map[string]string
		backupIncluded, backupExcluded string
		into, notInto                  string
	}{
		{"everything", "", "", nil, "", "", "shop db", ""},
		{"a star", "*", "", nil, "*", "", "shop", ""},
		{"some", "shop", "", nil, "", "", "shop", "db"},
		{"all but some", "*", "db", nil, "", "", "shop", "db"},
		{"not in the backup", "", "", nil, "shop", "", "shop", "db"},
		{"left out of the backup", "", "", nil, "", "db", "shop", "db"},
		{"mapped", "shop", "", map[string]string{"shop": "shop-2"}, "", "", "shop-2", "shop"},
		{"mapped, but left out", "", "shop", map[string]string{"shop": "shop-2"}, "", "", "db", "shop"},
		{"swapped", "", "", map[string]string{"a": "b", "b": "a"}, "", "", "a b", ""},
		{"patterns", "team-*", "team-x", nil, "team-*", "", "team-a", "team-x shop"},
	} {
		r := &veleroapi.Restore{
			Spec: veleroapi.RestoreSpec{
				IncludedNamespaces: words(c.included),
				ExcludedNamespaces: words(c.excluded),
				NamespaceMapping:   c.mapping,
			},
		}
		b := &veleroapi.Backup{
			Spec: veleroapi.BackupSpec{
				IncludedNamespaces: words(c.backupIncluded),
				ExcludedNamespaces: words(c.backupExcluded),
			},
		}
		for _, name := range words(c.into) {
			if !MayRestoreInto(r, b, name) {
				t.Errorf("%s: not into %s", c.name, name)
			}
		}
		for _, name := range words(c.notInto) {
			if MayRestoreInto(r, b, name) {
				t.Errorf("%s: into %s", c.name, name)
			}
		}
	}
	if !MayRestoreInto(&veleroapi.Restore{}, nil, "shop") {
		t.Error("without its backup known, everything counts")
	}
}
