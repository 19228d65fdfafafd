package sim

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/veltui/veltui/testbed"
)

func TestDownloads(t *testing.T) {
	w := newWorld(t, testbed.ForTest(t, testbed.Options{}), Options{})
	w.backup("b", velerov1.BackupSpec{IncludedNamespaces: []string{"alpha"}, DefaultVolumesToFsBackup: ptr.To(true)})
	w.step("running", time.Hour, func() bool { return w.phase("b") == velerov1.BackupPhaseInProgress })
	if status, _ := w.download(t, velerov1.DownloadTargetKindBackupLog, "b"); status != http.StatusNotFound {
		t.Errorf("the log of a backup InProgress answers %d, want 404: nothing is uploaded before its end", status)
	}
	w.step("ended", time.Hour, func() bool { return w.phase("b") == velerov1.BackupPhaseCompleted })
	w.restore("r", velerov1.RestoreSpec{BackupName: "b", NamespaceMapping: map[string]string{"alpha": "small"}, IncludedNamespaces: []string{"alpha"}})
	w.step("ended", time.Hour, func() bool { return w.restorePhase("r") == velerov1.RestorePhasePartiallyFailed })

	t.Run("contents", func(t *testing.T) {
		_, body := w.download(t, velerov1.DownloadTargetKindBackupContents, "b")
		names := entries(t, body)
		if len(names) != 1+2*itemsOf {
			t.Errorf("the tarball has %d entries, want the version and %d items twice", len(names), itemsOf)
		}
		for _, name := range []string{
			"metadata/version",
			"resources/pods/namespaces/alpha/app-0.json", "resources/pods/v1-preferredversion/namespaces/alpha/app-0.json",
			"resources/deployments.apps/v1-preferredversion/namespaces/alpha/app.json",
			"resources/persistentvolumes/cluster/pv-alpha.json",
			"resources/customresourcedefinitions.apiextensions.k8s.io/cluster/widgets.example.com.json",
		} {
			if !names[name] {
				t.Errorf("the tarball lacks %s", name)
			}
		}
		if names["resources/configmaps/namespaces/alpha/cm-50.json"] {
			t.Error("the tarball holds an item that is labelled to be left out")
		}
	})
	for _, c := range []struct {
		kind velerov1.DownloadTargetKind
		name string
		want string // in the inflated body
	}{
		{velerov1.DownloadTargetKindBackupLog, "b", "Backed up 69 items out of an estimated total of 69"},
		{velerov1.DownloadTargetKindBackupResults, "b", `{"errors":{},"warnings":{}}`},
		{velerov1.DownloadTargetKindBackupResourceList, "b", `"apps/v1/Deployment":["alpha/app"]`},
		{velerov1.DownloadTargetKindBackupItemOperations, "b", `[]`},
		{velerov1.DownloadTargetKindBackupVolumeSnapshots, "b", `null`},
		{velerov1.DownloadTargetKindBackupVolumeInfos, "b", `"backupMethod":"PodVolumeBackup"`},
		{velerov1.DownloadTargetKindRestoreLog, "r", "exceeded quota"},
		{velerov1.DownloadTargetKindRestoreResults, "r", `"errors":{"namespaces":{"small":["error restoring configmaps`},
		{velerov1.DownloadTargetKindRestoreResourceList, "r", `"small/cm-61(failed)"`},
		{velerov1.DownloadTargetKindRestoreItemOperations, "r", `[]`},
		{velerov1.DownloadTargetKindRestoreVolumeInfo, "r", `"restoreMethod":"PodVolumeRestore"`},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			status, body := w.download(t, c.kind, c.name)
			if status != http.StatusOK {
				t.Fatalf("answers %d", status)
			}
			text := inflate(t, body)
			if !strings.Contains(string(text), c.want) {
				t.Errorf("lacks %s:\n%.600s", c.want, text)
			}
			if !strings.HasSuffix(string(c.kind), "Log") && !json.Valid(text) {
				t.Errorf("is no JSON:\n%.600s", text)
			}
		})
	}
	t.Run("what Velero no longer uploads", func(t *testing.T) {
		if status, _ := w.download(t, velerov1.DownloadTargetKindCSIBackupVolumeSnapshots, "b"); status != http.StatusNotFound {
			t.Errorf("answers %d, want 404", status)
		}
	})
	t.Run("a backup that is not there", func(t *testing.T) {
		d := w.request(t, velerov1.DownloadTargetKindBackupLog, "nobody")
		if d.Status.DownloadURL != "" || d.Status.Phase != "" || d.Status.Expiration == nil {
			t.Errorf("answered with %+v, want an expiration and nothing else", d.Status)
		}
	})
	t.Run("requests go away when they expire", func(t *testing.T) {
		d := w.request(t, velerov1.DownloadTargetKindBackupLog, "b")
		w.step("swept", 15*time.Minute, func() bool {
			w.sim.mu.Lock()
			defer w.sim.mu.Unlock()
			_, there := w.sim.downloads.get(d.Name)
			return !there
		})
	})
}

// request asks for a download and returns the answered request.
func (w *world) request(t *testing.T, kind velerov1.DownloadTargetKind, name string) *velerov1.DownloadRequest {
	t.Helper()
	d := &velerov1.DownloadRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", GenerateName: "get-"},
		Spec:       velerov1.DownloadRequestSpec{Target: velerov1.DownloadTarget{Kind: kind, Name: name}},
	}
	w.create(d)
	waitFor(t, "the server to see the request", func() bool { return knows(w.sim, w.sim.downloads, d.Name) })
	w.step("answered", time.Minute, func() bool {
		w.sim.mu.Lock()
		defer w.sim.mu.Unlock()
		known, _ := w.sim.downloads.get(d.Name)
		return known != nil && known.Status.Expiration != nil
	})
	if err := w.api.Get(w.ctx, keyOf(d), d); err != nil {
		t.Fatal(err)
	}
	return d
}

func (w *world) download(t *testing.T, kind velerov1.DownloadTargetKind, name string) (int, []byte) {
	t.Helper()
	d := w.request(t, kind, name)
	if d.Status.Phase != velerov1.DownloadRequestPhaseProcessed {
		t.Fatalf("%s of %s: the request is %q", kind, name, d.Status.Phase)
	}
	return get(t, d.Status.DownloadURL)
}

func get(t *testing.T, address string) (int, []byte) {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, body
}

func inflate(t *testing.T, body []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func entries(t *testing.T, body []byte) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	archive := tar.NewReader(bytes.NewReader(inflate(t, body)))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		if names[header.Name] {
			t.Errorf("%s is in the tarball more than once", header.Name)
		}
		names[header.Name] = true
	}
}

func TestStorageGivesNothingWithoutASignature(t *testing.T) {
	now := testNow
	s, err := newStorage(func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	s.put("backups/b/b-logs.gz", testNow, func() ([]byte, error) { return []byte("0123456789"), nil })
	signed, err := s.sign("backups/b/b-logs.gz", testNow.Add(10*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if status, body := get(t, signed); status != http.StatusOK || string(body) != "0123456789" {
		t.Errorf("a signed URL answers %d %q", status, body)
	}
	bare, _, _ := strings.Cut(signed, "?")
	if status, _ := get(t, bare); status != http.StatusForbidden {
		t.Errorf("an unsigned URL answers %d, want 403", status)
	}
	other, err := url.Parse(signed)
	if err != nil {
		t.Fatal(err)
	}
	other.Path = "/velero/backups/c/c-logs.gz"
	if status, _ := get(t, other.String()); status != http.StatusForbidden {
		t.Errorf("a signature for another object answers %d, want 403", status)
	}
	request, err := http.NewRequest(http.MethodGet, signed, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Range", "bytes=0-0")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusPartialContent || answer.Header.Get("Content-Range") != "bytes 0-0/10" || answer.Header.Get("Last-Modified") == "" {
		t.Errorf("a range of one byte answers %d with %v", answer.StatusCode, answer.Header)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
	now = testNow.Add(11 * time.Minute)
	if status, _ := get(t, signed); status != http.StatusForbidden {
		t.Errorf("an expired URL answers %d, want 403", status)
	}
}
