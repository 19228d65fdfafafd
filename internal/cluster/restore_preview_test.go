package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// TestSourceOnALocationThatIsNotAvailable: Velero refuses it since 1.16.2.
func TestSourceOnALocationThatIsNotAvailable(t *testing.T) {
	var d restorespec.Draft
	d.Restore.Spec.BackupName = "b"
	for _, c := range []struct {
		version string
		phase   veleroapi.BackupStorageLocationPhase
		refused bool
	}{
		{"v1.16.1", "Unavailable", false}, {"v1.16.2", "Unavailable", true}, {"v1.18.3", "", true}, {"", "Unavailable", true},
		{"v1.18.3", "Available", false}, {"v1.14.1", "", false},
	} {
		snap := &watch.Snapshot{
			Jobs: []*job.Job{{Kind: job.Backup, Name: "b", StorageLocation: "default", Phase: "Completed"}},
			StorageLocations: []*veleroapi.BackupStorageLocation{
				{
					ObjectMeta: metav1.ObjectMeta{Name: "default"},
					Status:     veleroapi.BackupStorageLocationStatus{Phase: c.phase},
				},
			},
		}
		snap.Server.Version = c.version
		backup, refused := FindSourceBackup(d, &assess.Assessment{Snapshot: snap})
		if said := strings.Contains(
			strings.Join(refused, " "),
			"location default of backup b is not Available",
		); backup != "b" ||
			said != c.refused {
			t.Errorf("%s, %q: %q is refused for %q", c.version, c.phase, backup, refused)
		}
	}
}

// TestCheckOfABackupThatCannotBeRead: what does not depend on the items is judged, and
// what was not looked at is named.
func TestCheckOfABackupThatCannotBeRead(t *testing.T) {
	backup := &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{Name: "b"},
		Status:     veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseInProgress},
	}
	a := &assess.Assessment{
		Snapshot: &watch.Snapshot{Jobs: []*job.Job{{Kind: job.Backup, Name: "b", Phase: "InProgress", Object: backup}}},
	}
	p := &Cluster{Clock: time.Now, Log: slog.New(slog.DiscardHandler), NoArtifacts: true}
	var d restorespec.Draft
	d.Restore.Spec.BackupName = "b"
	answer := p.PreviewRestore(t.Context(), d, a)
	if answer.ItemsUnchecked != "with --no-artifacts veltui does not read backups" {
		t.Fatalf("%+v", answer)
	}
	check := p.CheckRestore(t.Context(), d, answer, a)
	if said := fmt.Sprint(
		check,
	); !strings.Contains(said, "Backup b is still InProgress.") ||
		!strings.Contains(said, "the cluster, because the items are not known") {
		t.Errorf("%s", said)
	}
}

// TestSaveTwice: the same text is where it was saved, unless somebody changed the file
// since.
func TestSaveTwice(t *testing.T) {
	t.Chdir(t.TempDir())
	p := &Cluster{}
	for range 2 {
		if path, err := p.SaveFile("r.yaml", []byte("a: b\n")); err != nil || filepath.Base(path) != "r.yaml" {
			t.Fatalf("%q, %v", path, err)
		}
	}
	if err := os.WriteFile("r.yaml", []byte("a: c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if path, err := p.SaveFile("r.yaml", []byte("a: b\n")); !errors.Is(err, ErrFileExists) {
		t.Errorf("%q, %v", path, err)
	}
	if got, _ := os.ReadFile("r.yaml"); string(got) != "a: c\n" {
		t.Errorf("replaced by %q", got)
	}
}
