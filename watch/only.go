package watch

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation"
)

// kinds lists those that are watched: all, or what [Options.Only] leaves of them.
func (o Options) kinds() (watched []*kind) {
	for _, k := range kinds {
		if k = k.only(o.Only); k != nil {
			watched = append(watched, k)
		}
	}
	return watched
}

// only returns the kind narrowed to what belongs to some jobs, nil if nothing of it
// does. An empty name stands for all jobs of its kind. Without jobs it is the kind
// itself. The API server finds one object by its name, but not one of several.
func (k *kind) only(jobs []JobName) *kind {
	if len(jobs) == 0 {
		return k
	}
	resource := cmp.Or(k.jobs, k.resource)
	names := namesOf(jobs, resource)
	some := *k
	switch {
	case len(names) == 0:
		return nil
	case slices.Contains(names, ""):
		return k
	case k.input != nil && len(names) == 1:
		some.field = fields.OneTermEqualSelector("metadata.name", names[0]).String()
	case k.volume != nil && len(names) <= maxSelected && !slices.ContainsFunc(names, isNoLabel):
		of, _ := kindNamed(resource)
		some.selector = of.nameLabel + " in (" + strings.Join(names, ",") + ")"
	}
	return &some
}

// isNoLabel reports whether Velero shortens a name in labels (pkg/label/label.go,
// GetValidName).
func isNoLabel(name string) bool { return len(validation.IsValidLabelValue(name)) > 0 }

func namesOf(jobs []JobName, resource string) (names []string) {
	for _, j := range jobs {
		if j.Resource == resource && !slices.Contains(names, j.Name) {
			names = append(names, j.Name)
		}
	}
	return names
}
