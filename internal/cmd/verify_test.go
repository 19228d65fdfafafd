package cmd

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/document"
)

const verifySpace = "verify-ops"

// verifyCluster has a restore that has ended, with four planted losses: a service
// that was deleted afterwards, a Secret that a quota refused, one that existed, and
// one that Velero does not list.
func (b *bed) verifyCluster(t *testing.T, s *store, name string) {
	t.Helper()
	meta := func(item string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: verifySpace,
			Name:      item,
			Labels:    map[string]string{"velero.io/restore-name": name, "velero.io/backup-name": "b-verify"},
		}
	}
	targetNamespaces(t, b, verifySpace)
	var secrets, services []string
	for i := range 10 {
		full := fmt.Sprintf("%s/sec-%04d", verifySpace, i)
		switch i {
		case 3, 4:
			full += "(failed)"
		case 5:
			continue
		default:
			full += "(created)"
		}
		secrets = append(secrets, `"`+full+`"`)
		o := &corev1.Secret{ObjectMeta: meta(fmt.Sprintf("sec-%04d", i))}
		switch i {
		case 3: // the quota refused it
			continue
		case 4:
			o.Labels = nil // it existed
		}
		b.create(t, o)
	}
	for i := range 5 {
		services = append(services, fmt.Sprintf(`"%s/svc-%d(created)"`, verifySpace, i))
		if i != 2 { // that was deleted afterwards
			b.create(
				t,
				&corev1.Service{
					ObjectMeta: meta(fmt.Sprintf("svc-%d", i)),
					Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
				},
			)
		}
	}
	files := map[string]string{
		"RestoreResourceList/" + name: fmt.Sprintf(
			`{"v1/Secret": [%s], "v1/Service": [%s]}`,
			strings.Join(secrets, ","),
			strings.Join(services, ","),
		),
		"RestoreResults/" + name: `{"errors": {"namespaces": {"` + verifySpace + `": ["error restoring secrets/` + verifySpace + `/sec-0003: secrets \"sec-0003\" is forbidden: exceeded quota: compute"]}},
			"warnings": {"namespaces": {"` + verifySpace + `": ["could not restore, Secret:sec-0004 already exists. Warning: the in-cluster version is different than the backed-up version"]}}}`,
	}
	if s.files == nil {
		s.files = map[string]string{}
	}
	for path, file := range files {
		s.files[path] = file
	}
	began, ended := metav1.NewTime(
		time.Now().Add(-time.Minute).Truncate(time.Second),
	), metav1.NewTime(
		time.Now().Truncate(time.Second),
	)
	r := restore(
		name,
		veleroapi.RestoreStatus{
			Phase:               veleroapi.RestorePhasePartiallyFailed,
			Errors:              1,
			Warnings:            1,
			StartTimestamp:      &began,
			CompletionTimestamp: &ended,
		},
	)
	r.Spec = veleroapi.RestoreSpec{
		BackupName:         "b-verify",
		IncludedNamespaces: []string{"ops"},
		IncludedResources:  []string{"secrets", "services"},
		NamespaceMapping:   map[string]string{"ops": verifySpace},
	}
	b.create(t, r)
}

// verified runs `veltui verify -o json`.
func (b *bed) verified(t *testing.T, name string, args ...string) (d document.Verification, code int) {
	t.Helper()
	stdout, stderr, code := b.run(
		t,
		append([]string{"verify", "-n", "velero", "restore/" + name, "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	return d, code
}

// lostItems are the items that did not come back.
func lostItems(d document.Verification) (names []string) {
	for _, k := range d.Resources {
		for _, i := range k.Items {
			if i.Lost {
				names = append(names, fmt.Sprintf("%s %s/%s", i.State, k.Resource, i.Name))
			}
		}
	}
	slices.Sort(names)
	return names
}

func TestVerifyFindsPlantedLossesAndNothingElse(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	s.stored(t, b, "b-verify", veleroapi.BackupPhaseCompleted)
	b.verifyCluster(t, s, "verify-ended")

	d, code := b.verified(t, "verify-ended")
	want := []string{
		"Differs secrets/sec-0004",
		"Failed secrets/sec-0003",
		"Gone services/svc-2",
		"Missing secrets/sec-0005",
	}
	if got := lostItems(d); !slices.Equal(got, want) || code != ExitRefused || d.LostItems != 4 {
		t.Errorf("exit code %d: %q, expected %q", code, got, want)
	}
	if d.Counts["Restored"] != 11 || d.Counts["NotLookedAt"] != 0 || d.Wanted != 15 {
		t.Errorf("%v", d.Counts)
	}
	if d.Requests > 12 {
		t.Errorf("%d requests for two kinds of one namespace", d.Requests)
	}
	out, stderr, _ := b.run(t, "verify", "-n", "velero", "restore/verify-ended")
	for _, says := range []string{"restore velero/verify-ended, phase PartiallyFailed: 4 of 15 items did not come back",
		"failed           verify-ops/sec-0003 from ops: is forbidden: exceeded quota: compute",
		"existed, differs verify-ops/sec-0004 from ops: already exists", "gone             verify-ops/svc-2"} {
		if !strings.Contains(out, says) {
			t.Errorf("it does not say %q:\n%s%s", says, out, stderr)
		}
	}

	// Without the right to list Secrets, they are named, and the rest works.
	velero := rbacv1.PolicyRule{APIGroups: []string{"velero.io"}, Resources: []string{"*"}, Verbs: []string{"*"}}
	if _, err := b.AddUserWithRules(t.Context(), "verify-few", "velero", velero); err != nil {
		t.Fatal(err)
	}
	config, err := b.AddUserWithRules(
		t.Context(),
		"verify-few",
		verifySpace,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	few, err := b.KubeconfigFor(config, "verify-few.kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	d, code = b.verified(t, "verify-ended", "--kubeconfig", few)
	if got := lostItems(
		d,
	); code != ExitRefused || !slices.Equal(got, []string{"Gone services/svc-2"}) ||
		d.Counts["NotLookedAt"] != 10 {
		t.Errorf("exit code %d, %q, %v", code, got, d.Counts)
	}
	if len(d.NotSeen) != 1 || d.NotSeen[0].Resource != "secrets" || d.NotSeen[0].Why != "you may not list it" {
		t.Errorf("%+v", d.NotSeen)
	}

	// Without DownloadRequests veltui cannot tell what should have come back.
	config, err = b.AddUserWithRules(
		t.Context(),
		"verify-viewer",
		"velero",
		rbacv1.PolicyRule{APIGroups: []string{"velero.io"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	viewer, err := b.KubeconfigFor(config, "verify-viewer.kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	d, code = b.verified(t, "verify-ended", "--kubeconfig", viewer)
	if code != ExitError || len(d.Notes) != 1 ||
		!strings.Contains(d.Notes[0], "you may not create downloadrequests.velero.io") {
		t.Errorf("exit code %d, %+v", code, d.Notes)
	}

	// A Velero that stored no list, and a restore that goes on.
	delete(s.files, "RestoreResourceList/verify-ended")
	d, code = b.verified(t, "verify-ended")
	want = []string{"Missing secrets/sec-0003", "Missing secrets/sec-0005", "Missing services/svc-2"}
	if got := lostItems(
		d,
	); code != ExitRefused || !slices.Equal(got, want) ||
		!strings.Contains(strings.Join(d.Notes, " "), "Velero's list of what it restored is not there") {
		t.Errorf("exit code %d, %q, %q", code, got, d.Notes)
	}
	now := metav1.Now()
	running := restore(
		"verify-running",
		veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress, StartTimestamp: &now},
	)
	running.Spec = veleroapi.RestoreSpec{
		BackupName:         "b-verify",
		IncludedNamespaces: []string{"ops"},
		IncludedResources:  []string{"secrets"},
	}
	b.create(t, running)
	if d, _ = b.verified(t, "verify-running"); !d.SoFar || d.Wanted < 10 {
		t.Errorf("%+v", d)
	}
	b.create(t, restore("verify-invalid", veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseFailedValidation}))
	if _, stderr, code := b.run(
		t,
		"verify",
		"-n",
		"velero",
		"restore/verify-invalid",
	); code != ExitRefused ||
		!strings.Contains(stderr, "nothing to verify") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if _, stderr, code := b.run(
		t,
		"verify",
		"backup/b-verify",
	); code != ExitUsage ||
		!strings.Contains(stderr, "restore/NAME") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestVerifySaysWhatBecameOfVolumes: a restore whose name does not fit into a label,
// with a volume for each way in which data comes back, or does not.
func TestVerifySaysWhatBecameOfVolumes(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	const space = "verify-volumes"
	name := "verify-volumes-" + strings.Repeat("long-", 12) + "name"
	targetNamespaces(t, b, space)
	bodies, infos, listed := map[string]string{}, []string{}, []string{}
	for claim, info := range map[string]string{
		"copied":    `"backupMethod": "PodVolumeBackup", "result": "succeeded", "pvbInfo": {"podNamespace": "old", "podName": "db-0", "volumeName": "copied"}`,
		"failed":    `"backupMethod": "PodVolumeBackup", "result": "succeeded", "pvbInfo": {"podNamespace": "old", "podName": "db-0", "volumeName": "failed"}`,
		"moved":     `"backupMethod": "CSISnapshot", "snapshotDataMoved": true, "result": "succeeded"`,
		"forgotten": `"skipped": true, "skippedReason": "volumeSnapshot: not satisfy the criteria for VolumePolicy or the legacy snapshot way;"`,
	} {
		bodies["persistentvolumeclaims/old/"+claim] = `{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"namespace": "old", "name": "` + claim + `"}}`
		infos = append(infos, `{"pvcNamespace": "old", "pvcName": "`+claim+`", "pvName": "pv-`+claim+`", `+info+`}`)
		listed = append(listed, `"`+space+"/"+claim+`(created)"`)
		c := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: space,
				Name:      claim,
				Labels:    map[string]string{"velero.io/restore-name": veleroapi.ValidLabel(name)},
			},
			Spec: corev1.PersistentVolumeClaimSpec{
				VolumeName:  "pvc-" + claim,
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
				},
			},
		}
		b.create(t, c)
		c.Status.Phase = corev1.ClaimBound
		if err := b.client.Status().Update(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	s.tarballs = map[string][]byte{"b-volumes": tarballOf(t, bodies)}
	s.files = map[string]string{
		"BackupVolumeInfos/b-volumes": "[" + strings.Join(infos, ",") + "]",
		"RestoreVolumeInfo/" + name:   "[]",
		"RestoreResourceList/" + name: `{"v1/PersistentVolumeClaim": [` + strings.Join(listed, ",") + `]}`,
		"RestoreResults/" + name:      `{}`,
	}
	s.stored(t, b, "b-volumes", veleroapi.BackupPhaseCompleted)
	began, ended := metav1.NewTime(
		time.Now().Add(-time.Minute).Truncate(time.Second),
	), metav1.NewTime(
		time.Now().Truncate(time.Second),
	)
	r := restore(
		name,
		veleroapi.RestoreStatus{
			Phase:               veleroapi.RestorePhasePartiallyFailed,
			Errors:              1,
			StartTimestamp:      &began,
			CompletionTimestamp: &ended,
		},
	)
	r.Spec = veleroapi.RestoreSpec{BackupName: "b-volumes", NamespaceMapping: map[string]string{"old": space}}
	b.create(t, r)
	for volume, status := range map[string]veleroapi.PodVolumeRestoreStatus{
		"copied": {Phase: veleroapi.PodVolumeRestorePhaseCompleted},
		"failed": {Phase: veleroapi.PodVolumeRestorePhaseFailed, Message: "no space left on device"},
	} {
		v := &veleroapi.PodVolumeRestore{
			ObjectMeta: ofRestore("verify-"+volume, r.UID),
			Spec:       veleroapi.PodVolumeRestoreSpec{Volume: volume, UploaderType: "kopia"},
			Status:     status,
		}
		v.Spec.Pod.Namespace, v.Spec.Pod.Name = space, "db-0"
		b.create(t, v)
	}
	b.create(t, &veleroapi.DataDownload{
		ObjectMeta: ofRestore("verify-moved", r.UID),
		Spec: veleroapi.DataDownloadSpec{
			TargetVolume: veleroapi.TargetVolumeSpec{PVC: "moved", Namespace: space},
		},
		Status: veleroapi.DataDownloadStatus{Phase: veleroapi.DataDownloadPhaseCompleted},
	})

	states := func(d document.Verification) (all []string) {
		for _, v := range d.Volumes {
			all = append(all, fmt.Sprintf("%s %s %s", v.Claim, v.Method, v.State))
		}
		return all
	}
	d, code := b.verified(t, name)
	want := []string{
		"forgotten  Empty",
		"failed PodVolume Failed",
		"copied PodVolume Restored",
		"moved DataMover Restored",
	}
	if got := states(
		d,
	); !slices.Equal(got, want) || code != ExitRefused || d.LostVolumes != 2 || d.LostItems != 0 || d.Counts["Restored"] != 4 ||
		len(d.Notes) > 0 {
		t.Errorf(
			"exit code %d, %q, expected %q; %d lost volumes, %v, notes %q",
			code,
			got,
			want,
			d.LostVolumes,
			d.Counts,
			d.Notes,
		)
	}
	out, stderr, _ := b.run(t, "verify", "-n", "velero", "restore/"+name)
	for _, says := range []string{"all of 4 items came back; the data of 2 volumes did not come back",
		"without data     " + space + "/forgotten: the backup skipped it: volumeSnapshot: not satisfy the criteria",
		"not moved        " + space + "/db-0:failed: verify-failed is Failed", "no space left on device",
		"4 claims bound; volume data: 2 of 4 restored (1 copied into a pod, 1 moved from storage), 1 without data, 1 failed"} {
		if !strings.Contains(out, says) {
			t.Errorf("it does not say %q:\n%s%s", says, out, stderr)
		}
	}

	// Who may not list PodVolumeRestores does not learn that anything is lost, nor that
	// all came back.
	_, err := b.AddUserWithRules(
		t.Context(),
		"verify-blind",
		space,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"*"}, Verbs: []string{"list"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	config, err := b.AddUserWithRules(
		t.Context(),
		"verify-blind",
		"velero",
		rbacv1.PolicyRule{
			APIGroups: []string{"velero.io"},
			Resources: []string{"restores", "backups", "datadownloads", "downloadrequests", "backupstoragelocations"},
			Verbs:     []string{"*"},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	blind, err := b.KubeconfigFor(config, "verify-blind.kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	s.files["BackupVolumeInfos/b-volumes"] = strings.ReplaceAll(
		s.files["BackupVolumeInfos/b-volumes"],
		`"skipped": true`,
		`"backupMethod": "CSISnapshot", "snapshotDataMoved": true`,
	)
	d, code = b.verified(t, name, "--kubeconfig", blind)
	want = []string{
		"forgotten DataMover Empty",
		"copied PodVolume Unknown",
		"failed PodVolume Unknown",
		"moved DataMover Restored",
	}
	if got := states(d); !slices.Equal(got, want) || code != ExitRefused {
		t.Errorf("exit code %d, %q, expected %q", code, got, want)
	}

	// Where Velero stored nothing of the backup's volumes, what nothing moved is not known.
	delete(s.files, "BackupVolumeInfos/b-volumes")
	d, code = b.verified(t, name, "--kubeconfig", blind)
	want = []string{"copied  Unknown", "failed  Unknown", "forgotten  Unknown", "moved DataMover Restored"}
	if got := states(
		d,
	); !slices.Equal(got, want) || code != ExitError ||
		!strings.Contains(
			strings.Join(d.Notes, " "),
			"What the backup has of volumes is not known: Velero stored nothing",
		) {
		t.Errorf("exit code %d, %q, expected %q; %q", code, got, want, d.Notes)
	}
}

// TestVerifyBesideAnAPIThatIsDown: the kinds that Velero adds to the excludes of each restore need no answer of it.
func TestVerifyBesideAnAPIThatIsDown(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	s.stored(t, b, "b-verify", veleroapi.BackupPhaseCompleted)
	b.verifyCluster(t, s, "verify-beside")
	b.apiDown(t, "down.example.com")
	var r veleroapi.Restore
	if err := b.client.Get(
		t.Context(),
		types.NamespacedName{Namespace: "velero", Name: "verify-beside"},
		&r,
	); err != nil {
		t.Fatal(err)
	}
	r.Spec.ExcludedResources = collector.NonRestorable()
	if err := b.client.Update(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	if d, _ := b.verified(t, "verify-beside"); len(d.Notes) > 0 {
		t.Errorf("%q", d.Notes)
	}
	r.Spec.ExcludedResources = append(r.Spec.ExcludedResources, "gizmos")
	if err := b.client.Update(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	if d, _ := b.verified(
		t,
		"verify-beside",
	); len(d.Notes) != 1 ||
		!strings.Contains(d.Notes[0], "What the restore means by gizmos is not known") {
		t.Errorf("%q", d.Notes)
	}
}

// TestVerifySaysWhatTheBackupLacks: the command line watches no backups, and reads the restore's own.
func TestVerifySaysWhatTheBackupLacks(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	s.tarballs = map[string][]byte{}
	b.create(t, &veleroapi.BackupStorageLocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "pf"},
		Spec: veleroapi.BackupStorageLocationSpec{
			Provider:    "aws",
			Config:      map[string]string{"s3Url": s.url},
			StorageType: veleroapi.StorageType{ObjectStorage: &veleroapi.ObjectStorageLocation{Bucket: "b"}},
		},
	})
	unfinished(t, b, s, "b-verify")
	b.verifyCluster(t, s, "verify-lacking")
	d, _ := b.verified(t, "verify-lacking")
	if len(d.Notes) != 1 ||
		!strings.Contains(d.Notes[0], "Backup b-verify: Velero did not store its contents after its operations") {
		t.Errorf("%q", d.Notes)
	}
}

// TestWaitVerifiesEachRestoreAsItEnds, while veltui waits for another.
func TestWaitVerifiesEachRestoreAsItEnds(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	s.stored(t, b, "b-verify", veleroapi.BackupPhaseCompleted)
	b.verifyCluster(t, s, "wait-verified")
	var r veleroapi.Restore
	if err := b.client.Get(
		t.Context(),
		types.NamespacedName{Namespace: "velero", Name: "wait-verified"},
		&r,
	); err != nil {
		t.Fatal(err)
	}
	b.set(t, &r, veleroapi.RestorePhaseInProgress, 5)
	other := inProgress("wait-unverified", time.Minute)
	b.create(t, other)
	w := waits(t, b.command(t, "wait", "-n", "velero", "restore/wait-verified", "restore/wait-unverified"))
	eventually(t, "it sees both", func() bool { return holdsAll(w.errs.String(), "wait-verified", "wait-unverified") })
	b.set(t, &r, veleroapi.RestorePhasePartiallyFailed, 15)
	const found = "restore/wait-verified: verified: 4 of 15 items did not come back"
	eventually(t, "the first is verified", func() bool {
		var o veleroapi.Restore // what changes makes veltui look
		if err := b.client.Get(
			t.Context(),
			types.NamespacedName{Namespace: "velero", Name: "wait-unverified"},
			&o,
		); err != nil {
			t.Fatal(err)
		}
		b.set(t, &o, veleroapi.RestorePhaseInProgress, (o.Status.Progress.ItemsRestored+1)%40)
		return strings.Contains(w.errs.String(), found)
	})
	if err := b.client.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if code := w.code(t); code != ExitPartiallyFailed || strings.Count(w.out.String(), found) != 1 {
		t.Errorf("exit code %d: %s%s", code, w.out, w.errs)
	}
}

// TestVerifySelectedObjects: of a restore of selected objects these are verified and no others, though its ConfigMap is
// deleted. If the Restore does not tell them, what did not come back is unknown, and nothing else is missed.
func TestVerifySelectedObjects(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	s.stored(t, b, "b-verify", veleroapi.BackupPhaseCompleted)
	s.files = map[string]string{}
	const space = "verify-selected"
	targetNamespaces(t, b, space)
	b.create(
		t,
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: space,
				Name:      "sec-0000",
				Labels:    map[string]string{"velero.io/restore-name": "selected", "velero.io/backup-name": "b-verify"},
			},
		},
	)
	began, ended := metav1.NewTime(
		time.Now().Add(-time.Minute).Truncate(time.Second),
	), metav1.NewTime(
		time.Now().Truncate(time.Second),
	)
	for name, told := range map[string]bool{"selected": true, "untold": false} {
		status := veleroapi.RestoreStatus{
			Phase:               veleroapi.RestorePhaseCompleted,
			StartTimestamp:      &began,
			CompletionTimestamp: &ended,
		}
		d := restorespec.Draft{Restore: *restore(name, status)}
		d.Restore.Spec = veleroapi.RestoreSpec{BackupName: "b-verify", NamespaceMapping: map[string]string{"ops": space}}
		if err := d.SelectItems(
			[]restorespec.Item{
				{Resource: "secrets", Namespace: "ops", Name: "sec-0000"},
				{Resource: "secrets", Namespace: "ops", Name: "sec-0005"},
			},
		); err != nil {
			t.Fatal(err)
		}
		r := restorespec.NewRestore(&d, "velero")
		if r.Status = status; !told {
			r.Annotations = nil
		}
		b.create(t, r)
		s.files["RestoreResourceList/"+name] = `{"v1/Secret": ["` + space + `/sec-0000(created)"]}`
		s.files["RestoreResults/"+name] = `{}`
		v, code := b.verified(t, name)
		want, lost := 1, []string(nil)
		if told {
			want, lost = 2, []string{"Missing secrets/sec-0005"}
		}
		if got := lostItems(
			v,
		); !slices.Equal(got, lost) || v.Wanted != want || code == ExitOK ||
			strings.Contains(fmt.Sprint(v.Notes), "there is no ConfigMap veltui-"+name) == told {
			t.Errorf("%s: exit code %d, %d wanted, lost %q, %q", name, code, v.Wanted, got, v.Notes)
		}
	}
}
