package diff

import (
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/sanitize"
)

// maxShown is how many fields of an object are named, and maxName how long they may be.
const maxShown, maxName = 8, 120

// Shown names the fields in which an object differs, fit to be shown.
func Shown(paths []string) (shown []string) {
	for _, path := range paths[:min(len(paths), maxShown)] {
		shown = append(shown, human.Shorten(sanitize.String(path), maxName))
	}
	return shown
}

// WhyUnread is why an object could not be compared. read is true if its item of the backup was read, broken is why the
// backup was not read to its end, if it was not, and unseen what could not be read of the cluster.
func WhyUnread(resource, namespace string, read bool, broken error, unseen []live.NotSeen) string {
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
