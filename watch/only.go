package watch

import (
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation"
)

// kinds are those that are watched: all, or what [Options.Only] leaves of them.
func (o Options) kinds() (watched []*kind) {
	for i := range kinds {
		if k := kinds[i].only(o.Only); k != nil {
			watched = append(watched, k)
		}
	}
	return watched
}

// only is the kind without what belongs to none of some jobs, and nil if nothing of it
// does. An empty name stands for all jobs of its kind. Without jobs it is the kind itself. The API server finds one object by its
// name, but not one of several.
func (k *kind) only(jobs []JobName) *kind {
	if len(jobs) == 0 {
		return k
	}
	some := *k
	for resource, label := range map[string]string{Backups: velerov1.BackupNameLabel, Restores: velerov1.RestoreNameLabel} {
		names := namesOf(jobs, resource)
		switch {
		case len(names) == 0:
		case slices.Contains(names, "") && (k.resource == resource || slices.Contains(volumeKinds[resource], k.resource)):
			return k
		case k.resource == resource:
			if len(names) == 1 {
				some.field = fields.OneTermEqualSelector("metadata.name", names[0]).String()
			}
			return &some
		case slices.Contains(volumeKinds[resource], k.resource):
			// Velero shortens a longer name in the label (pkg/label/label.go, GetValidName).
			isLabel := func(name string) bool { return len(validation.IsValidLabelValue(name)) == 0 }
			if len(names) <= maxSelected && !slices.ContainsFunc(names, func(n string) bool { return !isLabel(n) }) {
				some.selector = label + " in (" + strings.Join(names, ",") + ")"
			}
			return &some
		}
	}
	return nil
}

func namesOf(jobs []JobName, resource string) (names []string) {
	for _, j := range jobs {
		if j.Resource == resource && !slices.Contains(names, j.Name) {
			names = append(names, j.Name)
		}
	}
	return names
}
