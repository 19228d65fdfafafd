package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/document"
)

// planted is a Velero in a namespace of its own that is well: a server, a location and a schedule that ran.
func (b *bed) planted(t *testing.T, namespace string, more ...client.Object) {
	t.Helper()
	now := metav1.Now()
	b.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	b.pod(
		t,
		namespace,
		"velero-0",
		map[string]string{"component": "velero", "deploy": "velero"},
		corev1.Container{Name: "velero", Image: "velero/velero:v1.18.3"},
		corev1.PodStatus{
			Phase: corev1.PodRunning,
			ContainerStatuses: []corev1.ContainerStatus{
				{
					Name:  "velero",
					Ready: true,
					State: corev1.ContainerState{
						Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now.Add(-time.Hour))},
					},
				},
			},
		},
	)
	location := &veleroapi.BackupStorageLocation{
		ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Spec: veleroapi.BackupStorageLocationSpec{
			Provider:    "aws",
			Default:     true,
			StorageType: veleroapi.StorageType{ObjectStorage: &veleroapi.ObjectStorageLocation{Bucket: "b"}},
		},
		Status: veleroapi.BackupStorageLocationStatus{
			Phase:              veleroapi.BackupStorageLocationPhaseAvailable,
			LastValidationTime: &now,
			LastSyncedTime:     &now,
		},
	}
	for _, o := range append([]client.Object{location, scheduled("well", &now, "Enabled"), ran("well", "well-1", veleroapi.BackupPhaseCompleted, time.Hour)}, more...) {
		o.SetNamespace(namespace)
		b.create(t, o)
	}
}

func scheduled(name string, last *metav1.Time, phase veleroapi.SchedulePhase) *veleroapi.Schedule {
	return &veleroapi.Schedule{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       veleroapi.ScheduleSpec{Schedule: "0 3 * * *"},
		Status:     veleroapi.ScheduleStatus{Phase: phase, LastBackup: last},
	}
}

func ran(schedule, name string, phase veleroapi.BackupPhase, ago time.Duration) *veleroapi.Backup {
	began, ended := metav1.NewTime(time.Now().Add(-ago)), metav1.NewTime(time.Now().Add(time.Minute-ago))
	return &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{veleroapi.ScheduleNameLabel: schedule}},
		Spec: veleroapi.BackupSpec{
			StorageLocation: "default",
		},
		Status: veleroapi.BackupStatus{Phase: phase, StartTimestamp: &began, CompletionTimestamp: &ended},
	}
}

func found(t *testing.T, stdout string) (d document.Check, lines []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		t.Fatalf("%v in:\n%s", err, stdout)
	}
	for _, f := range d.Items {
		lines = append(lines, fmt.Sprintf("%s %s %s/%s", f.Severity, f.Reason, f.Object.Kind, f.Object.Name))
	}
	return d, lines
}

// Each planted cluster has its findings once, and its exit code; a healthy one has none.
func TestCheckPlantedClusters(t *testing.T) {
	b := control(t)
	now, days := metav1.Now(), metav1.NewTime(time.Now().Add(-72*time.Hour))
	rejected := scheduled("never", nil, veleroapi.SchedulePhaseFailedValidation)
	rejected.Status.ValidationErrors = []string{"invalid schedule"}
	bad := &veleroapi.BackupStorageLocation{
		ObjectMeta: metav1.ObjectMeta{Name: "nas"},
		Spec: veleroapi.BackupStorageLocationSpec{
			Provider:    "aws",
			StorageType: veleroapi.StorageType{ObjectStorage: &veleroapi.ObjectStorageLocation{Bucket: "b"}},
		},
		Status: veleroapi.BackupStorageLocationStatus{
			Phase:              veleroapi.BackupStorageLocationPhaseUnavailable,
			Message:            "no route to host",
			LastValidationTime: &now,
		},
	}
	onNAS := func(name string) *veleroapi.Schedule {
		s := scheduled(name, &now, "Enabled")
		s.Spec.Template.StorageLocation = "nas"
		return s
	}
	refused := ran("erp", "erp-1", veleroapi.BackupPhaseFailedValidation, time.Hour)
	refused.Spec.StorageLocation = "nas"
	deletion := &veleroapi.DeleteBackupRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "well-1-x"},
		Spec:       veleroapi.DeleteBackupRequestSpec{BackupName: "well-1"},
		Status: veleroapi.DeleteBackupRequestStatus{
			Phase:  veleroapi.DeleteBackupRequestPhaseProcessed,
			Errors: []string{"access denied"},
		},
	}
	killed := veleroapi.BackupRepositoryMaintenanceStatus{
		Result:         veleroapi.BackupRepositoryMaintenanceFailed,
		StartTimestamp: &days,
		Message:        "OOMKilled",
	}
	repository := &veleroapi.BackupRepository{
		ObjectMeta: metav1.ObjectMeta{Name: "shop-default-kopia"},
		Spec: veleroapi.BackupRepositorySpec{
			VolumeNamespace:       "shop",
			BackupStorageLocation: "default",
			RepositoryType:        "kopia",
		},
		Status: veleroapi.BackupRepositoryStatus{
			Phase:             veleroapi.BackupRepositoryPhaseReady,
			RecentMaintenance: []veleroapi.BackupRepositoryMaintenanceStatus{killed, killed},
		},
	}
	for _, c := range []struct {
		name string
		more []client.Object
		code int
		want []string
	}{
		{"check-well", nil, ExitOK, nil},
		{"check-failing", []client.Object{ran("well", "well-2", veleroapi.BackupPhaseFailed, 30*time.Minute), ran("well", "well-3", veleroapi.BackupPhaseFailed, 20*time.Minute)}, ExitPartiallyFailed,
			[]string{"warning FailingRepeatedly schedule/well"}},
		{"check-storage", []client.Object{bad, onNAS("erp"), onNAS("crm"), refused}, ExitRefused, []string{"critical LocationUnavailable storage/nas"}},
		{"check-schedules", []client.Object{rejected, scheduled("late", &days, "Enabled")}, ExitRefused,
			[]string{"critical ScheduleMissed schedule/late", "critical ScheduleInvalid schedule/never"}},
		{"check-care", []client.Object{deletion, repository}, ExitPartiallyFailed, []string{"warning MaintenanceFailing repository/shop-default-kopia", "warning DeletionFailed deletion/well-1-x"}},
		{"check-restores", []client.Object{&veleroapi.Restore{ObjectMeta: metav1.ObjectMeta{Name: "back"}, Spec: veleroapi.RestoreSpec{BackupName: "well-1"},
			Status: veleroapi.RestoreStatus{Phase: veleroapi.RestorePhasePartiallyFailed, Errors: 2, CompletionTimestamp: &now}}}, ExitPartiallyFailed, []string{"warning PartiallyFailed restore/back"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.planted(t, c.name, c.more...)
			stdout, stderr, code := b.run(t, "check", "-n", c.name, "-o", "json")
			d, lines := found(t, stdout)
			if code != c.code || !slices.Equal(lines, c.want) || len(d.Unread) > 0 {
				t.Errorf("exit code %d, %s\n%s", code, stderr, stdout)
			}
			stdout, stderr, code = b.run(t, "check", "-n", c.name)
			if code != c.code || strings.Count(stdout, "\n") != len(c.want) ||
				(stdout+stderr == "") != (c.want == nil) {
				t.Errorf("in lines: exit code %d, %s\n%s", code, stderr, stdout)
			}
			stdout, _, code = b.run(t, "check", "-n", c.name, "--nagios")
			if nagios := map[int]int{ExitOK: 0, ExitPartiallyFailed: 1, ExitRefused: 2}[c.code]; code != nagios ||
				strings.Count(stdout, "\n") != 1 ||
				!strings.HasPrefix(stdout, "VELERO ") {
				t.Errorf("for Nagios: exit code %d, %s", code, stdout)
			}
		})
	}
}

// The flags leave findings out, and a reason that there is not is named with all that there are.
func TestCheckFlags(t *testing.T) {
	b := control(t)
	days := metav1.NewTime(time.Now().Add(-72 * time.Hour))
	b.planted(
		t,
		"check-flags",
		scheduled("late", &days, "Enabled"),
		ran("well", "well-2", veleroapi.BackupPhaseFailed, 30*time.Minute),
	)
	for _, c := range []struct {
		args string
		code int
		want []string
	}{
		{"", ExitRefused, []string{"ScheduleMissed", "LastRunFailed"}},
		{"--min-severity critical", ExitRefused, []string{"ScheduleMissed"}},
		{"--ignore schedulemissed", ExitPartiallyFailed, []string{"LastRunFailed"}},
		{"--ignore ScheduleMissed,LastRunFailed", ExitOK, nil},
		{"--ignore ScheduleMissed --ignore LastRunFailed", ExitOK, nil},
	} {
		stdout, _, code := b.run(
			t,
			append([]string{"check", "-n", "check-flags", "-o", "json"}, strings.Fields(c.args)...)...)
		d, _ := found(t, stdout)
		var reasons []string
		for _, f := range d.Items {
			reasons = append(reasons, f.Reason)
		}
		if code != c.code || !slices.Equal(reasons, c.want) {
			t.Errorf("%s: exit code %d, %q", c.args, code, reasons)
		}
	}
	for args, want := range map[string]string{"--ignore Nothing": "the reasons are BackupFailed, ", "--min-severity low": "must be warning or critical", "--bogus": "unknown flag: --bogus", "extra": "",
		"--config /nowhere/veltui.yaml": "/nowhere/veltui.yaml"} {
		if _, stderr, code := b.run(
			t,
			append([]string{"check", "-n", "check-flags"}, strings.Fields(args)...)...); code != ExitUsage ||
			!strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %s", args, code, stderr)
		}
		b.nagiosUnknown(t, want, append([]string{"check", "-n", "check-flags", "--nagios"}, strings.Fields(args)...)...)
		b.nagiosUnknown(t, want, append(append([]string{"check"}, strings.Fields(args)...), "--nagios=true")...)
	}
	b.nagiosUnknown(t, "leave -o json out", "check", "--nagios", "-o", "json")
}

// nagiosUnknown runs a check that cannot be made: for Nagios that is unknown, in one line.
func (b *bed) nagiosUnknown(t *testing.T, want string, args ...string) {
	t.Helper()
	stdout, stderr, code := b.run(t, args...)
	if code != 3 || !strings.HasPrefix(stdout, "VELERO UNKNOWN - ") || !strings.Contains(stdout, want) ||
		strings.Count(stdout, "\n") != 1 {
		t.Errorf("%q: exit code %d, %s%s", args, code, stdout, stderr)
	}
}

// Without the findings about what runs hold, or without runs, check reads no volumes.
func TestCheckReadsVolumesOnlyIfNeeded(t *testing.T) {
	b := control(t)
	b.planted(t, "check-volumes")
	config, err := b.AddUserWithRules(
		t.Context(),
		"no-volumes",
		"check-volumes",
		rbacv1.PolicyRule{
			APIGroups: []string{"velero.io"},
			Verbs:     []string{"get", "list", "watch"},
			Resources: []string{
				"backups",
				"schedules",
				"restores",
				"backupstoragelocations",
				"backuprepositories",
				"deletebackuprequests",
			},
		},
		rbacv1.PolicyRule{
			APIGroups: []string{""},
			Verbs:     []string{"get", "list", "watch"},
			Resources: []string{"pods"},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := b.KubeconfigFor(config, "no-volumes")
	if err != nil {
		t.Fatal(err)
	}
	for flags, wanted := range map[string]bool{"": true, "--ignore LastRunFailed": true, "--ignore RunsLostData": true, "--ignore RunsLostData,VolumesLeftOver": false, "--min-severity critical": false} {
		_, stderr, code := b.run(
			t,
			append([]string{"check", "-n", "check-volumes", "--kubeconfig", kubeconfig}, strings.Fields(flags)...)...)
		if asked := strings.Contains(
			stderr,
			"list podvolumebackups.velero.io",
		); asked != wanted ||
			code != map[bool]int{true: ExitError}[wanted] {
			t.Errorf("%q: exit code %d, %s", flags, code, stderr)
		}
	}
}

// What may not be read is named with the right to read it, and takes nothing from the rest.
func TestCheckIsIncomplete(t *testing.T) {
	b := control(t)
	b.planted(t, "check-rights", scheduled("never", nil, veleroapi.SchedulePhaseFailedValidation))
	config, err := b.AddUserWithRules(
		t.Context(),
		"check-reader",
		"check-rights",
		rbacv1.PolicyRule{
			APIGroups: []string{"velero.io"},
			Resources: []string{
				"schedules",
				"restores",
				"backupstoragelocations",
				"backuprepositories",
				"deletebackuprequests",
			},
			Verbs: []string{"get", "list", "watch"},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := b.KubeconfigFor(config, "check-reader")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"check", "-n", "check-rights", "--kubeconfig", kubeconfig}
	stdout, stderr, code := b.run(t, args...)
	if code != ExitRefused || !strings.Contains(stdout, "schedule/never") ||
		!holdsAll(
			stderr,
			"incomplete: backups.velero.io",
			"list backups.velero.io in namespace check-rights",
			"list pods in namespace check-rights",
		) {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	if _, stderr, code = b.run(
		t,
		append(args, "--ignore", "ScheduleInvalid")...); code != ExitError ||
		!strings.Contains(stderr, "incomplete: ") {
		t.Errorf("without a finding: exit code %d, %s", code, stderr)
	}
	if stdout, _, code = b.run(
		t,
		append(args, "--ignore", "ScheduleInvalid", "--nagios")...); code != unknownOutcome.nagiosCode ||
		!strings.HasPrefix(stdout, "VELERO UNKNOWN - ") {
		t.Errorf("for Nagios: exit code %d, %s", code, stdout)
	}
	if stdout, _, code = b.run(
		t,
		"check",
		"--nagios",
		"--context",
		"nowhere",
	); code != unknownOutcome.nagiosCode ||
		!strings.HasPrefix(stdout, "VELERO UNKNOWN - ") {
		t.Errorf("without a cluster: exit code %d, %s", code, stdout)
	}
}

func TestCheckSeveralContexts(t *testing.T) {
	b := control(t)
	b.planted(t, "check-several", scheduled("never", nil, veleroapi.SchedulePhaseFailedValidation))
	kubeconfig := b.severalContexts(t)
	stdout, stderr, code := b.run(
		t,
		"check",
		"-n",
		"check-several",
		"--kubeconfig",
		kubeconfig,
		"--context",
		"east,west",
	)
	if code != ExitRefused || strings.Count(stdout, "schedule/never") != 2 || !holdsAll(stdout, "east ", "west ") {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	stdout, stderr, code = b.run(
		t,
		"check",
		"-n",
		"check-several",
		"--kubeconfig",
		kubeconfig,
		"--context",
		"east,dead",
		"--request-timeout",
		"2s",
		"--ignore",
		"ScheduleInvalid",
		"-o",
		"json",
	)
	if d, _ := found(
		t,
		stdout,
	); code != ExitError || len(d.Unread) != 1 || d.Unread[0].Context != "dead" ||
		!strings.Contains(stderr, "incomplete: context dead: ") {
		t.Errorf("one that is away: exit code %d, %s%s", code, stdout, stderr)
	}
}

// The demo's findings come once each, the stuck restore after a look at the server's log; what the dashboard
// acknowledged is marked, or left out.
func TestCheckDemo(t *testing.T) {
	h := startHeadless(t)
	defer h.ends(t, syscall.SIGINT)
	stdout, stderr, code := h.run(t, "check", "-o", "json")
	_, lines := found(t, stdout)
	if sorted := slices.Compact(slices.Sorted(slices.Values(lines))); code != ExitRefused || len(sorted) != len(lines) {
		t.Errorf("exit code %d, %s\n%s", code, stderr, strings.Join(lines, "\n"))
	}
	for _, want := range []string{"critical LostPatch restore/crm-rollback", "critical LocationUnavailable storage/nas", "critical ScheduleInvalid schedule/web-weekly", "warning LastRunFailed schedule/crm-nightly",
		"critical ClaimUnbound etcdbackup/before-upgrade", "warning MaintenanceFailing repository/billing-default-kopia"} {
		if !slices.Contains(lines, want) {
			t.Errorf("no %s in\n%s", want, strings.Join(lines, "\n"))
		}
	}
	d, _ := found(t, stdout)
	if i := slices.IndexFunc(
		d.Items,
		func(f document.Finding) bool { return f.Object.Name == "nas" },
	); !slices.Contains(
		d.Items[i].Affects,
		"deletion/erp-nightly-1-r4wzx",
	) {
		t.Errorf("the deletion that Velero refused is not part of the location: %q", d.Items[i].Affects)
	}
	i := slices.IndexFunc(d.Items, func(f document.Finding) bool { return f.Object.Name == "crm-nightly" })
	f := d.Items[i]
	key := strings.Join([]string{f.Object.UID, f.Reason, f.Severity, f.Since.UTC().Format(time.RFC3339)}, " ")
	text, err := json.Marshal(map[string]map[string]time.Time{"demo": {key: time.Now()}})
	if err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	if err := os.MkdirAll(filepath.Join(state, "veltui", "acknowledged"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(state, "veltui", "acknowledged", acknowledgedFile), text, 0o600); err != nil {
		t.Fatal(err)
	}
	h.cmd.Env = append(h.cmd.Env, "XDG_STATE_HOME="+state)
	stdout, _, _ = h.run(t, "check", "-o", "json")
	if d, _ = found(
		t,
		stdout,
	); !slices.ContainsFunc(
		d.Items,
		func(f document.Finding) bool { return f.Acknowledged && f.Object.Name == "crm-nightly" },
	) {
		t.Errorf("nothing is acknowledged:\n%s", stdout)
	}
	stdout, stderr, _ = h.run(t, "check", "--acknowledged")
	if strings.Contains(stdout, "crm-nightly") || !strings.Contains(stdout, "crm-rollback") {
		t.Errorf("what was acknowledged is not left out:\n%s", stdout)
	}
	if !strings.Contains(stderr, ", 1 acknowledged left out\n") {
		t.Errorf("how many are left out is not said: %s", stderr)
	}
	stdout, _, _ = h.run(t, "check", "--acknowledged", "-o", "json")
	if left, _ := found(t, stdout); left.AcknowledgedLeftOut != 1 || len(left.Items) != len(d.Items)-1 {
		t.Errorf("%d left out, %d of %d items", left.AcknowledgedLeftOut, len(left.Items), len(d.Items))
	}
	if stdout, _, _ = h.run(
		t,
		"check",
		"--acknowledged",
		"--nagios",
	); !strings.HasSuffix(stdout, " acknowledged=1\n") ||
		!strings.Contains(stdout, ", 1 acknowledged left out") {
		t.Errorf("Nagios is not told: %s", stdout)
	}
	path := filepath.Join(state, "veltui", "acknowledged", acknowledgedFile)
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, _ = h.run(t, "check", "--acknowledged", "--nagios")
	if !strings.HasSuffix(stdout, " acknowledged=0\n") ||
		strings.Count(stderr, path+" may be written by anyone on this machine; run: mv "+path) != 1 {
		t.Errorf("what others could have written: %s%s", stdout, stderr)
	}
}

// Requests that Velero cannot read are named, as any object of a kind that check reads; who may not list them hears nothing of it.
func TestCheckNamesMalformedRequests(t *testing.T) {
	b := control(t)
	const namespace = "check-malformed"
	b.planted(t, namespace)
	malformed := func(kind, name string, rest merge) {
		b.create(
			t,
			&unstructured.Unstructured{
				Object: joined(
					merge{
						"apiVersion": "velero.io/v1",
						"kind":       kind,
						"metadata":   merge{"namespace": namespace, "name": name},
					},
					rest,
				),
			},
		)
	}
	target := merge{"spec": merge{"target": merge{"kind": "BackupLog", "name": "well-1"}}}
	malformed(
		"DownloadRequest",
		"lower",
		joined(
			target,
			merge{"status": merge{"expiration": "2026-01-01t00:00:00z", "downloadURL": "https://store/signed"}},
		),
	)
	malformed(
		"DownloadRequest",
		"offset",
		joined(target, merge{"status": merge{"expiration": "2026-01-01T00:00:00+99:99"}}),
	)
	malformed("DownloadRequest", "sound", joined(target, merge{"status": merge{"expiration": "2026-01-01T00:00:00Z"}}))
	stdout, stderr, code := b.run(t, "check", "-n", namespace, "-o", "json")
	d, lines := found(t, stdout)
	want := []string{"critical MalformedSpec downloadrequest/lower", "critical MalformedSpec downloadrequest/offset"}
	if code != ExitRefused || !slices.Equal(lines, want) || len(d.Unread) > 0 || strings.Contains(stdout, "signed") {
		t.Errorf("exit code %d, %s\n%s", code, stderr, stdout)
	}
	config, err := b.AddUserWithRules(
		t.Context(),
		"check-no-requests",
		namespace,
		rbacv1.PolicyRule{
			APIGroups: []string{"velero.io"},
			Verbs:     []string{"get", "list", "watch"},
			Resources: []string{
				"backups",
				"schedules",
				"restores",
				"backupstoragelocations",
				"backuprepositories",
				"deletebackuprequests",
				"podvolumebackups",
				"podvolumerestores",
				"datauploads",
				"datadownloads",
			},
		},
		rbacv1.PolicyRule{APIGroups: []string{""}, Verbs: []string{"list", "watch"}, Resources: []string{"pods"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := b.KubeconfigFor(config, "check-no-requests")
	if err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code = b.run(
		t,
		"check",
		"-n",
		namespace,
		"--kubeconfig",
		kubeconfig,
	); code != ExitOK ||
		stdout+stderr != "" {
		t.Errorf("without the right to list them: exit code %d, %s%s", code, stdout, stderr)
	}
}
