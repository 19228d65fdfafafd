package diagnosis_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/demo/scene"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/watch"
)

// hidden are the kinds that somebody may lack the right to list, by resource.
var hidden = map[string]string{
	"pods":                  "Pod",
	watch.Backups:           "Backup",
	watch.Restores:          "Restore",
	watch.PodVolumeBackups:  "PodVolumeBackup",
	watch.PodVolumeRestores: "PodVolumeRestore",
	watch.DataUploads:       "DataUpload",
	watch.DataDownloads:     "DataDownload",
	watch.StorageLocations:  "BackupStorageLocation",
	watch.Repositories:      "BackupRepository",
	watch.DeleteRequests:    "DeleteBackupRequest",
}

// TestNothingIsProvenByWhatIsHidden hides each kind in turn from each scenario: no verdict becomes stronger, offers
// more, or states what was not seen.
func TestNothingIsProvenByWhatIsHidden(t *testing.T) {
	now, judged := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC), 0
	for _, path := range scenarios(t) {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := scene.Load(file, now)
		file.Close() //nolint:errcheck,gosec // it was only read
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		all, ok := judgeHidden(t, s, now, "")
		if !ok {
			t.Fatalf("%s: there is no %s", name, s.Expect.Job)
		}
		for resource := range hidden {
			v, ok := judgeHidden(t, s, now, resource)
			if !ok {
				continue // the job itself is hidden
			}
			judged++
			if proven(v) && !proven(all) {
				t.Errorf(
					"%s, %s hidden: %s (%s), with all seen %s (%s): %s",
					name,
					resource,
					v.State(),
					v.Reason,
					all.State(),
					all.Reason,
					v.Summary(),
				)
			}
			if v.Action != "" && v.Action != all.Action {
				t.Errorf(
					"%s, %s hidden: offers %s, with all seen %q: %s",
					name,
					resource,
					v.Action,
					all.Action,
					v.Summary(),
				)
			}
			if said := unseen(v, resource); said != "" {
				t.Errorf("%s, %s hidden, yet it says %q", name, resource, said)
			}
		}
	}
	t.Logf("%d verdicts", judged)
}

func proven(v diagnosis.Verdict) bool {
	return v.State() == diagnosis.Stuck || v.State() == diagnosis.Orphaned || !v.Proof.IsZero()
}

// unseen is a fact that only what is hidden could show.
func unseen(v diagnosis.Verdict, resource string) string {
	absent := map[string][]string{
		watch.PodVolumeBackups:  {"volume is still moving"},
		watch.PodVolumeRestores: {"volume is still moving"},
		watch.DataUploads:       {"no volume is still moving"},
		watch.DataDownloads:     {"no volume is still moving"},
		watch.DeleteRequests: {
			"no DeleteBackupRequest",
		},
		watch.StorageLocations: {"does not exist"},
		"pods":                 {"no Velero server runs", "node-agent pod is ready"},
	}
	for _, f := range v.Facts {
		if f.Supports &&
			slices.ContainsFunc(absent[resource], func(words string) bool { return strings.Contains(f.Text, words) }) {
			return f.Text
		}
	}
	return ""
}

// judgeHidden judges a scenario's job where a resource may not be listed, with the log and the files that others see.
func judgeHidden(t *testing.T, s *scene.Scene, now time.Time, resource string) (diagnosis.Verdict, bool) {
	t.Helper()
	store, known := watch.NewStore(func() time.Time { return now }, 0), testbed.VeleroScheme()
	for _, o := range slices.DeleteFunc(slices.Clone(s.Objects), func(o *unstructured.Unstructured) bool { return o.GetKind() == hidden[resource] }) {
		if object, _ := typed(t, known, o); object != nil {
			store.Upsert(object)
		}
	}
	snap := live(store)
	for i := range snap.Sources {
		if snap.Sources[i].Resource == resource {
			snap.Sources[i].State = watch.SourceForbidden
		}
	}
	if snap.Server.Visible = resource != "pods"; !snap.Server.Visible {
		snap.Server = velero.Server{}
	}
	kind, name := s.Expect.KindAndName()
	i := slices.IndexFunc(
		snap.Jobs,
		func(j *job.Job) bool { return strings.EqualFold(string(j.Kind), kind) && j.Name == name },
	)
	if i < 0 {
		return diagnosis.Verdict{}, false
	}
	j, env := snap.Jobs[i], snap.BuildWorld(now)
	seen := diagnosis.JobEvidence{}
	if len(s.Logs) > 0 {
		seen.LogChecked, seen.ServerLog = true, velero.ReadJobLog(text(s.Logs), string(j.Kind), j.Namespace, j.Name, j.Started)
	}
	env.Evidence = map[types.UID]diagnosis.JobEvidence{j.UID: seen}
	v := diagnosis.Judge(j, env)
	if v.StorageDecides() {
		seen.StoredAt, seen.StoredErrors = storedOf(s.Stored, j)
		env.Evidence[j.UID] = seen
		v = diagnosis.Judge(j, env)
	}
	return v, true
}

func text(lines []scene.LogLine) string {
	var all strings.Builder
	for _, l := range lines {
		all.WriteString(l.Text + "\n")
	}
	return all.String()
}
