package cmd

import (
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// toClipboard is what a terminal was sent for its clipboard.
var toClipboard = regexp.MustCompile(`\x1b\]52;c;([A-Za-z0-9+/=]*)(\x07|\x1b\\)`)

// The pages of a backup with volumes read their resources when they are opened:
// the details of one, and all of them as YAML.
func TestDashboardReadsVolumes(t *testing.T) {
	b := control(t)
	now := metav1.Now()
	backup := &veleroapi.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "volumes-seen"},
		Spec:       veleroapi.BackupSpec{StorageLocation: "default"},
		Status:     veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseInProgress, StartTimestamp: &now},
	}
	b.create(t, backup)
	labels := map[string]string{veleroapi.BackupUIDLabel: string(backup.UID), veleroapi.AsyncOperationIDLabel: "du-7"}
	b.create(t, &veleroapi.DataUpload{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "volumes-seen-1", Labels: labels},
		Spec: veleroapi.DataUploadSpec{
			SourcePVC:             "pg",
			SourceNamespace:       "shop",
			BackupStorageLocation: "default",
			CSISnapshot:           &veleroapi.CSISnapshotSpec{StorageClass: "gold"},
		},
		Status: veleroapi.DataUploadStatus{Phase: veleroapi.DataUploadPhaseInProgress, Node: "node-1"},
	})
	pvb := &veleroapi.PodVolumeBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "volumes-seen-2", Labels: labels},
		Spec: veleroapi.PodVolumeBackupSpec{
			Volume:       "spool",
			UploaderType: "kopia",
			Node:         "node-1",
			Tags:         map[string]string{"pod": "mail-0"},
		},
	}
	pvb.Spec.Pod.Namespace, pvb.Spec.Pod.Name = "shop", "mail-0"
	b.create(t, pvb)
	open := func(args ...string) *console {
		c := openConsole(t, b, 120, 40, append([]string{"-n", "velero"}, args...)...)
		c.sees(t, "volumes-seen")
		c.types(t, "/volumes-seen\r\r5")
		c.sees(t, "[5 Volumes 2]", "shop/pg", "shop/mail-0:spool", "known when all items are done")
		return c
	}

	c := open()
	c.types(t, "/shop/pg\r\r")
	c.sees(
		t,
		"dataupload/volumes-seen-1",
		"du-7",
		"Spec of volumes-seen-1",
		"storageClass: gold",
		"InProgress: its bytes are moved",
	)
	c.types(t, "\x1b")
	c.types(t, "8")
	c.sees(t, "kind: Backup", "name: volumes-seen", "---")
	c.types(t, "Y")
	c.sees(t, "Sent to the terminal's clipboard: all of the YAML")
	found := toClipboard.FindAllStringSubmatch(c.OutputText(), -1)
	if len(found) != 1 {
		t.Fatalf("%d texts for the clipboard", len(found))
	}
	text, err := base64.StdEncoding.DecodeString(found[0][1])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kind: Backup\n", "\n---\n# DataUpload volumes-seen-1\n", "storageClass: gold", "\n---\n# PodVolumeBackup volumes-seen-2\n", "uploaderType: kopia"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in what was copied:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "managedFields") {
		t.Error("managed fields are copied")
	}
	c.types(t, "q")
	c.exits(t)

	config, err := b.AddUserWithRules(
		t.Context(),
		"volumes-lister",
		"velero",
		rbacv1.PolicyRule{
			APIGroups: []string{"velero.io"},
			Resources: []string{"backups", "restores", "backupstoragelocations"},
			Verbs:     []string{"get", "list", "watch"},
		},
		rbacv1.PolicyRule{
			APIGroups: []string{"velero.io"},
			Resources: []string{"datauploads", "podvolumebackups"},
			Verbs:     []string{"watch", "list"},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := b.KubeconfigFor(config, "volumes-lister.kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	c = open("--kubeconfig", kubeconfig)
	c.types(t, "\r")
	c.sees(t, "The spec is unknown", "volumes-lister", "forbidden")
	c.types(t, "q")
	c.exits(t)
}

// What a hostile server puts into a resource is copied as harmless text.
func TestHostileServerAndTheClipboard(t *testing.T) {
	b := control(t)
	b.prey(t)
	kubeconfig := b.hostileTo(t, testbed.Hostility{})
	c := startConsole(t, through(kubeconfig, b.command(t, "-n", "velero")), 100, 30)
	c.sees(t, "prey", "live")
	for _, keys := range []string{"3", "/prey-backup\r", "\r", "8", "y", "Y", "5", "y", "\r", "Y", "6", "Y"} {
		c.types(t, keys)
		c.settles(t)
	}
	c.types(t, "q")
	c.exits(t)
	raw := c.OutputText()
	found := toClipboard.FindAllStringSubmatch(raw, -1)
	if len(found) < 3 {
		t.Errorf("only %d texts for the clipboard; the last screen:\n%s", len(found), c.ScreenText())
	}
	for _, m := range found {
		text, err := base64.StdEncoding.DecodeString(m[1])
		if err != nil {
			t.Fatal(err)
		}
		if why := unsafeText(string(text), "\n\t"); why != "" {
			t.Errorf("copied: %s", why)
		}
	}
	checkTerminal(t, "all but the clipboard", toClipboard.ReplaceAllString(raw, ""))
}
