//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// cli runs Velero's own command and checks that it says all words.
func cli(t *testing.T, words []string, args ...string) {
	t.Helper()
	printed, err := theLab.VeleroCLI(patient(t), args...)
	must(t, err)
	if i := slices.IndexFunc(words, func(w string) bool { return !strings.Contains(printed, w) }); i >= 0 {
		t.Errorf("velero %s does not say %q:\n%s", strings.Join(args, " "), words[i], printed)
	}
}

// wantRestoreBehaves checks that Velero's own command takes a finalized restore
// as any other, and removes it with what is stored of it.
func wantRestoreBehaves(t *testing.T, name, phase string) {
	t.Helper()
	cli(t, []string{name, phase}, "restore", "get", name)
	cli(
		t,
		[]string{"Phase:", phase, "Items restored:", "Resource List:", "v1/ConfigMap"},
		"restore",
		"describe",
		name,
		"--details",
	)
	cli(t, []string{"restore=" + lab.Namespace + "/" + name, "Restored "}, "restore", "logs", name)
	cli(t, nil, "restore", "delete", name, "--confirm")
	await(t, "Restore", name, "be deleted", lab.IsDeleted)
	if theLab.ObjectExists("restores/" + name + "/restore-" + name + "-results.gz") {
		t.Errorf("what is stored of restore %s is still there", name)
	}
}

// wantBackupBehaves does so for a backup, which has to be there still after
// Velero's backup sync, and restores from it.
func wantBackupBehaves(t *testing.T, name, phase string) {
	t.Helper()
	h := recorder.JobHistory("Backup", name)
	if lab.IsDeleted(h) || len(h) == 0 {
		t.Fatalf("backup %s was removed", name)
	}
	cli(t, []string{name, phase}, "backup", "get", name)
	cli(
		t,
		[]string{"Phase:", phase, "Items backed up:", "Resource List:", "v1/ConfigMap"},
		"backup",
		"describe",
		name,
		"--details",
	)
	cli(t, []string{"backup=" + lab.Namespace + "/" + name, "Backed up "}, "backup", "logs", name)
	spec := veleroapi.RestoreSpec{
		BackupName:        name,
		IncludedResources: []string{"configmaps", "pvc", "widgets.lab.veltui.io"},
		NamespaceMapping:  to("of-" + name),
	}
	guess, err := estimateSpec(t, spec)
	must(t, err)
	restored := restore(t, "of-"+name, spec, nil)
	wantEnd(t, restored, "Completed")
	wantEstimate(t, guess, restored)
	cli(t, nil, "backup", "delete", name, "--confirm")
	await(t, "Backup", name, "be deleted", lab.IsDeleted)
	if theLab.ObjectExists("backups/" + name + "/" + name + ".tar.gz") {
		t.Errorf("what is stored of backup %s is still there", name)
	}
}
