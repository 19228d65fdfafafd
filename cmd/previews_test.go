package cmd

import (
	"strings"
	"testing"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/restorespec"
	"github.com/veltui/veltui/watch"
)

// TestSourceOnALocationThatIsNotAvailable: Velero refuses it since 1.16.2.
func TestSourceOnALocationThatIsNotAvailable(t *testing.T) {
	var d restorespec.Draft
	d.Restore.Spec.BackupName = "b"
	for _, c := range []struct {
		version string
		phase   velerov1.BackupStorageLocationPhase
		refused bool
	}{
		{"v1.16.1", "Unavailable", false}, {"v1.16.2", "Unavailable", true}, {"v1.18.3", "", true}, {"", "Unavailable", true},
		{"v1.18.3", "Available", false}, {"v1.14.1", "", false},
	} {
		snap := &watch.Snapshot{
			Jobs:      []*job.Job{{Kind: job.Backup, Name: "b", StorageLocation: "default", Phase: "Completed"}},
			Locations: []*velerov1.BackupStorageLocation{{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Status: velerov1.BackupStorageLocationStatus{Phase: c.phase}}},
		}
		snap.Server.Version = c.version
		backup, refused := source(d, &assess.Assessment{Snapshot: snap})
		if said := strings.Contains(strings.Join(refused, " "), "location default of backup b is not Available"); backup != "b" || said != c.refused {
			t.Errorf("%s, %q: %q is refused for %q", c.version, c.phase, backup, refused)
		}
	}
}
