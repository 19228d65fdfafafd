package describe

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) *metav1.Time { t := metav1.NewTime(noon.Add(d)); return &t }

func ptr[T any](v T) *T { return &v }

func described(in job.Observation, deletions ...diagnosis.DeletionRequest) map[string]string {
	return describedIn(diagnosis.World{DeletionRequests: deletions}, in)
}

func describedIn(env diagnosis.World, in job.Observation) map[string]string {
	in.ObservedAt = noon
	lines := map[string]string{}
	for _, s := range Job(assess.JudgedJob{Job: job.Fold(nil, in)}, &assess.Assessment{World: env}, noon) {
		for _, f := range s.Fields {
			lines[strings.TrimSpace(s.Title+" / "+f.Title)] = strings.Join(f.Values, "\n")
		}
	}
	return lines
}

func check(t *testing.T, got, want map[string]string) {
	t.Helper()
	for title, value := range want {
		if got[title] != value {
			t.Errorf("%s: %q, want %q", title, got[title], value)
		}
	}
}

// TestUnsetFilters: what Velero takes for resource filters that are not set
// depends on its version.
func TestUnsetFilters(t *testing.T) {
	for version, want := range map[string]map[string]string{
		"v1.16.2": {"filters / Included resources": "*", "filters / Included namespaced": ""},
		"v1.17.0": {"filters / Included resources": "", "filters / Included namespaced": "*"},
		"":        {"filters / Included resources": "", "filters / Included namespaced": "*"},
	} {
		check(
			t,
			describedIn(
				diagnosis.World{Server: velero.Server{ServerPod: velero.ServerPod{Version: version}}},
				job.Observation{Backup: &veleroapi.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "b"}}},
			),
			want,
		)
	}
}

func TestBackup(t *testing.T) {
	b := &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         "velero",
			Name:              "full",
			UID:               "u",
			CreationTimestamp: *at(-time.Hour),
			Labels: map[string]string{
				veleroapi.ScheduleNameLabel: "nightly",
			},
			Annotations: map[string]string{veleroapi.GlobalBackupVolumePolicyConfigMapAnnotation: "global"},
		},
	}
	b.Spec = veleroapi.BackupSpec{
		IncludedNamespaces: []string{
			"a",
			"b",
		},
		ExcludedNamespaces:               []string{"c"},
		IncludedNamespaceScopedResources: []string{"pods"},
		LabelSelector:                    &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
		StorageLocation:                  "default",
		OrLabelSelectors: []*metav1.LabelSelector{
			{MatchLabels: map[string]string{"x": "1"}},
			{MatchLabels: map[string]string{"x": "2"}},
		},
		SnapshotVolumes:  ptr(false),
		SnapshotMoveData: ptr(true),
		TTL:              metav1.Duration{Duration: 720 * time.Hour},
		CSISnapshotTimeout: metav1.Duration{
			Duration: 10 * time.Minute,
		},
		ItemOperationTimeout: metav1.Duration{Duration: 4*time.Hour + 30*time.Second},
		ResourcePolicy: &corev1.TypedLocalObjectReference{
			Kind: "configmap",
			Name: "policy",
		},
		UploaderConfig:   &veleroapi.UploaderConfigForBackup{ParallelFilesUpload: 3},
		OrderedResources: map[string]string{"pods": "a/x,a/y"},
		Hooks: veleroapi.BackupHooks{
			Resources: []veleroapi.BackupResourceHookSpec{
				{
					Name:               "freeze",
					ExcludedNamespaces: []string{"c"},
					PreHooks: []veleroapi.BackupResourceHook{
						{
							Exec: &veleroapi.ExecHook{
								Container: "db",
								Command:   []string{"fsfreeze", "-f", "/var"},
								OnError:   "Fail",
								Timeout:   metav1.Duration{Duration: 30 * time.Second},
							},
						},
					},
					PostHooks: []veleroapi.BackupResourceHook{{Exec: &veleroapi.ExecHook{Command: []string{"thaw"}}}},
				},
			},
		},
	}
	b.Status = veleroapi.BackupStatus{
		Phase:               veleroapi.BackupPhasePartiallyFailed,
		StartTimestamp:      at(-time.Hour),
		CompletionTimestamp: at(-30 * time.Minute),
		Expiration: at(
			24 * time.Hour,
		),
		FormatVersion:    "1.1.0",
		Errors:           2,
		Warnings:         1,
		FailureReason:    "why",
		ValidationErrors: []string{"one", "two"},
		Progress: &veleroapi.BackupProgress{
			ItemsBackedUp: 7,
			TotalItems:    9,
		},
		HookStatus:                    &veleroapi.HookStatus{HooksAttempted: 4, HooksFailed: 1},
		CSIVolumeSnapshotsAttempted:   2,
		CSIVolumeSnapshotsCompleted:   1,
		BackupItemOperationsAttempted: 3,
		BackupItemOperationsCompleted: 2,
		BackupItemOperationsFailed:    1,
	}
	got := described(
		job.Observation{
			Backup:  b,
			Volumes: []job.Volume{{Kind: velero.PodVolumeBackup, Phase: "Completed"}, {Kind: velero.PodVolumeBackup}},
		},
		diagnosis.DeletionRequest{Backup: "full", Phase: "Processed", Errors: []string{"denied"}, Created: noon},
		diagnosis.DeletionRequest{
			Backup:  "other",
			Created: noon,
		},
		diagnosis.DeletionRequest{Backup: "full", Phase: "Processed", Created: noon.Add(-2 * time.Hour)},
	)
	check(t, got, map[string]string{
		"/ Phase":                           "PartiallyFailed",
		"/ Started":                         "2026-11-20 11:00:00 UTC",
		"/ Completed":                       "2026-11-20 11:30:00 UTC",
		"/ Elapsed":                         "30m",
		"/ Items":                           "7 of 9",
		"/ Errors":                          "2",
		"/ Warnings":                        "1",
		"/ Failed because":                  "why",
		"/ Not valid":                       "one\ntwo",
		"/ Deletion":                        "2026-11-20 12:00:00 UTC: Processed\n  denied",
		"progress / PodVolumeBackups":       "2: Completed 1, New 1",
		"progress / CSI snapshots":          "1 of 2 completed",
		"progress / Item operations":        "2 of 3 completed, 1 failed",
		"progress / Hooks failed":           "1",
		"storage / Schedule":                "nightly",
		"storage / TTL":                     "720h",
		"storage / Expires":                 "2026-11-21 12:00:00 UTC",
		"filters / Included namespaces":     "a, b",
		"filters / Included cluster-scoped": "none",
		"filters / Included namespaced":     "pods",
		"filters / Included resources":      "",
		"filters / Label selector":          "app=db",
		"filters / Or label selector":       "x=1 or x=2",
		"filters / Resource policies":       "configmap policy",
		"filters / Global volume policies":  "configmap global",
		"filters / Ordered resources":       "pods: a/x,a/y",
		"volumes / Snapshot volumes":        "false",
		"volumes / Data mover":              "velero",
		"volumes / File system by default":  "not set",
		"volumes / Item operation timeout":  "4h0m30s",
		"hooks / freeze":                    "namespaces * but not c\nresources *\nlabels none\nbefore: fsfreeze -f /var (container db, on error Fail, timeout 30s)\nafter: thaw",
		"metadata / Labels":                 "velero.io/schedule-name=nightly",
	})
}

func TestRestore(t *testing.T) {
	r := &veleroapi.Restore{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "r", DeletionTimestamp: at(0)},
		Spec: veleroapi.RestoreSpec{
			BackupName:              "full",
			NamespaceMapping:        map[string]string{"b": "d", "a": "c"},
			IncludeClusterResources: ptr(false),
			PreserveNodePorts:       ptr(true),
			ExistingResourcePolicy:  "update",
			ResourceModifier:        &corev1.TypedLocalObjectReference{Kind: "ConfigMap", Name: "m"},
			RestoreStatus:           &veleroapi.RestoreStatusSpec{IncludedResources: []string{"workflows"}},
			UploaderConfig: &veleroapi.UploaderConfigForRestore{
				WriteSparseFiles:      ptr(true),
				ParallelFilesDownload: 8,
			},
			Hooks: veleroapi.RestoreHooks{
				Resources: []veleroapi.RestoreResourceHookSpec{{Name: "warm", PostHooks: []veleroapi.RestoreResourceHook{
					{
						Exec: &veleroapi.ExecRestoreHook{
							Command:     []string{"warm"},
							WaitTimeout: metav1.Duration{Duration: time.Minute},
						},
					},
					{
						Init: &veleroapi.InitRestoreHook{
							InitContainers: []runtime.RawExtension{
								{Raw: []byte(`{"name":"i","image":"img"}`)},
								{Raw: []byte(`[`)},
							},
						},
					},
				}}},
			},
		},
	}
	check(t, described(job.Observation{Restore: r}), map[string]string{
		"/ Phase":                          "New (being deleted)",
		"source / Backup":                  "full",
		"filters / Namespace mapping":      "a -> c\nb -> d",
		"filters / Cluster-scoped":         "excluded",
		"options / Restore PVs":            "auto",
		"options / Existing resources":     "update",
		"options / Status restored of":     "workflows",
		"options / Resource modifier":      "ConfigMap m",
		"options / Write sparse files":     "true",
		"options / Parallel restore":       "8",
		"options / Item operation timeout": "not set",
		"hooks / warm":                     "namespaces *\nresources *\nlabels none\nafter: warm (wait 1m)\ninit containers: i (img), (unreadable)",
		"metadata / Annotations":           "none",
	})
}

// What may not be listed is named, and only what would have been shown.
func TestNotSeen(t *testing.T) {
	snap := &watch.Snapshot{Namespace: "velero"}
	for _, kind := range []string{watch.PodVolumeRestores, watch.PodVolumeBackups, watch.DeleteRequests} {
		snap.Sources = append(snap.Sources, watch.Source{Resource: kind, State: watch.SourceForbidden})
	}
	j := job.Fold(nil, job.Observation{Restore: &veleroapi.Restore{}, ObservedAt: noon})
	var values []string
	for _, s := range Job(assess.JudgedJob{Job: j}, &assess.Assessment{Snapshot: snap}, noon) {
		for _, f := range s.Fields {
			if f.Name == "notSeen" {
				values = append(values, f.Values...)
			}
		}
	}
	if len(values) != 1 || values[0] != "you may not list podvolumerestores.velero.io in namespace velero" {
		t.Errorf("%q", values)
	}
}

// printed is a label that a string in Velero's source begins with.
var printed = regexp.MustCompile(`^\t*((?:%s )?[A-Z][A-Za-z /-]*[A-Za-z](?: \((?:Default|bytes)\))?)`)

// Velero's own source tells what its describe command prints: each label in it
// is a part of some path in testdata/velero-describe.md.
func TestTableNamesEveryLabelOfVelero(t *testing.T) {
	table := tableLabels(t)
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/vmware-tanzu/velero").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, name := range []string{"backup_describer.go", "restore_describer.go", "describe.go"} {
		file, err := parser.ParseFile(
			token.NewFileSet(),
			filepath.Join(strings.TrimSpace(string(out)), "pkg/cmd/util/output", name),
			nil,
			0,
		)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			for _, arg := range call.Args {
				for _, text := range texts(arg) {
					if m := printed.FindStringSubmatch(
						text,
					); m != nil &&
						called(call, "Printf", "Println", "DescribeMap", "DescribeSlice", "describeResult") {
						found[strings.Replace(m[1], "%s", "UPLOADER", 1)] = true
					}
				}
			}
			return true
		})
	}
	delete(found, "WARNING") // about a certificate
	for label := range found {
		if !slices.Contains(table, label) {
			t.Errorf("Velero prints %q, which testdata/velero-describe.md does not have", label)
		}
	}
	if len(found) < 80 {
		t.Errorf("only %d labels found in Velero's source: the test no longer reads it", len(found))
	}
}

func called(call *ast.CallExpr, names ...string) bool {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return slices.Contains(names, f.Sel.Name)
	case *ast.Ident:
		return slices.Contains(names, f.Name)
	}
	return false
}

// texts are the string literals in an argument, joined ones by their parts.
func texts(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return []string{text}
		}
	case *ast.BinaryExpr:
		return texts(e.X)
	}
	return nil
}

// tableLabels are the parts of all paths in the first column of the table.
func tableLabels(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/velero-describe.md")
	if err != nil {
		t.Fatal(err)
	}
	var labels []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for part := range strings.SplitSeq(strings.Trim(strings.TrimSpace(cells[1]), "`"), " > ") {
			// A word in capitals behind others stands for a name.
			labels = append(labels, strings.TrimSuffix(part, " ITEM"))
		}
	}
	return labels
}

func TestBackupSpec(t *testing.T) {
	spec := veleroapi.BackupSpec{
		IncludedNamespaces: []string{"media"},
		SnapshotMoveData:   ptr(true),
		Metadata:           veleroapi.Metadata{Labels: map[string]string{"team": "crm"}},
	}
	var set []string
	for _, s := range BackupSpec(spec, "v1.18.3") {
		for _, f := range s.Fields {
			if !f.Unset {
				set = append(set, f.Title+" "+strings.Join(f.Values, "\n"))
			}
		}
	}
	if want := []string{
		"Included namespaces media",
		"Snapshot move data true",
		"Labels team=crm",
	}; !slices.Equal(
		set,
		want,
	) {
		t.Errorf("set are %q, want %q", set, want)
	}
}
