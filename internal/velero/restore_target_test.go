package velero

import (
	"strings"
	"testing"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
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
		r := &velerov1.Restore{
			Spec: velerov1.RestoreSpec{
				IncludedNamespaces: words(c.included),
				ExcludedNamespaces: words(c.excluded),
				NamespaceMapping:   c.mapping,
			},
		}
		b := &velerov1.Backup{
			Spec: velerov1.BackupSpec{
				IncludedNamespaces: words(c.backupIncluded),
				ExcludedNamespaces: words(c.backupExcluded),
			},
		}
		for _, name := range words(c.into) {
			if !RestoresInto(r, b, name) {
				t.Errorf("%s: not into %s", c.name, name)
			}
		}
		for _, name := range words(c.notInto) {
			if RestoresInto(r, b, name) {
				t.Errorf("%s: into %s", c.name, name)
			}
		}
	}
	if !RestoresInto(&velerov1.Restore{}, nil, "shop") {
		t.Error("without its backup known, everything counts")
	}
}
