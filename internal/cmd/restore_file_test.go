package cmd

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/watch"
)

const restoreInFile = "apiVersion: velero.io/v1\nkind: Restore\nmetadata: {name: back, namespace: velero}\n" +
	"spec: {backupName: nightly}\n"

func inUTF16(text string, order binary.AppendByteOrder) []byte {
	var data []byte
	for _, unit := range append([]uint16{0xfeff}, utf16.Encode([]rune(text))...) {
		data = order.AppendUint16(data, unit)
	}
	return data
}

// TestRestoreFilesOfOtherKindsAreNamed parses what people have in place of a file with one Restore.
func TestRestoreFilesOfOtherKindsAreNamed(t *testing.T) {
	configMap := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mods}\ndata: {a: b}\n---\n"
	selection := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: veltui-back, labels: {" +
		restorespec.SelectionLabel + ": 'true'}}\n---\n"
	little := inUTF16(restoreInFile, binary.LittleEndian)
	for name, c := range map[string]struct{ file, want string }{
		"tab":               {"apiVersion: velero.io/v1\nkind: Restore\nmetadata:\n\tname: a\n", "line 4 is indented with a tab"},
		"tab within":        {strings.Replace(restoreInFile, "name: back", "name:\tback", 1), ""},
		"UTF-16":            {string(little), ""},
		"UTF-16, big":       {string(inUTF16(restoreInFile, binary.BigEndian)), ""},
		"UTF-16, cut off":   {string(little[:len(little)-1]), "text in UTF-16, and ends within a character"},
		"only its mark":     {"\xff\xfe", "contains no Restore"},
		"ConfigMap":         {configMap + restoreInFile, "the ConfigMap mods beside the Restore"},
		"two ConfigMaps":    {configMap + configMap + restoreInFile, "apply the ConfigMap first"},
		"another selection": {selection + restoreInFile, "--only-from FILE"},
		"page":              {"<html><title>Login</title>", "it is an HTML page (Login), not a Restore"},
		"gzip":              {"\x1f\x8b\x08", "it is gzip data"},
		"plain":             {restoreInFile, ""},
	} {
		restore, err := parseRestore([]byte(c.file))
		switch {
		case c.want == "" && (err != nil || restore.Name != "back" || restore.Spec.BackupName != "nightly"):
			t.Errorf("%s: %v, %+v", name, err, restore)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestFileNamesAnotherNamespace compares a file's namespace with those in which there is a Velero.
func TestFileNamesAnotherNamespace(t *testing.T) {
	restore, err := parseRestore([]byte(restoreInFile))
	if err != nil {
		t.Fatal(err)
	}
	a := requestedRestore{file: "r.yaml", fileRestore: restore}
	for name, c := range map[string]struct {
		snap watch.Snapshot
		want string
	}{
		"the same":         {watch.Snapshot{Namespace: "velero"}, ""},
		"one of two":       {watch.Snapshot{Namespace: "oadp", OtherNamespaces: []string{"velero"}}, ""},
		"unknown":          {watch.Snapshot{Namespace: "velero", NamespaceNotice: "forbidden"}, ""},
		"another":          {watch.Snapshot{Namespace: "oadp"}, "r.yaml is for namespace velero, and this cluster's Velero is in oadp"},
		"named by a flag":  {watch.Snapshot{Namespace: "velero", NamespaceNotice: "none", OtherNamespaces: []string{"oadp"}}, "Velero is in oadp"},
		"neither of a few": {watch.Snapshot{Namespace: "a", OtherNamespaces: []string{"b"}}, "Velero is in a and b"},
	} {
		err := a.checkFileNamespace(&c.snap)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
