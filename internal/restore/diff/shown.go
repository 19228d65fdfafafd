package diff

import (
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/sanitize"
)

// maxShownFields is how many fields of an object are named, and maxFieldName how long their names may be.
const maxShownFields, maxFieldName = 8, 120

// ShownFields returns names, fit to be shown, of the fields in which an object differs.
func ShownFields(paths []string) (shown []string) {
	for _, path := range paths[:min(len(paths), maxShownFields)] {
		shown = append(shown, human.Shorten(sanitize.String(path), maxFieldName))
	}
	return shown
}

// UnreadReason returns why an object could not be compared. read is true if its item of the backup was read; broken
// is why the backup was not read to its end, nil if it was; unseen is what could not be read of the cluster.
func UnreadReason(resource, namespace string, read bool, broken error, unseen []live.Unchecked) string {
	switch {
	case !read && broken != nil:
		return "veltui could not read the backup: " + broken.Error()
	case !read:
		return "veltui did not find its body in the backup"
	}
	for _, n := range unseen {
		if n.Resource == resource && (n.Namespace == "" || n.Namespace == namespace) {
			return "veltui could not read it: " + n.Why
		}
	}
	return "it is gone since veltui found it"
}
