package cmd

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// What is kept of backups is used for the backup and cluster that it names. Which cluster that is, is asked once, and
// only where something is kept.
func TestKeptFilesNameWhatTheyAreOf(t *testing.T) {
	b := control(t)
	s := openStore(t, b)
	s.stored(t, b, "b-kept", veleroapi.BackupPhaseCompleted)
	s.stored(t, b, "b-other", veleroapi.BackupPhaseCompleted)
	b.create(t, inProgress("kept", time.Hour))
	var identified, downloads atomic.Int64
	kubeconfig := b.proxied(t, 0, func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/namespaces/kube-system") {
			identified.Add(1)
		}
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/downloadrequests") {
			downloads.Add(1)
		}
		return false
	})
	cache := t.TempDir()
	run := func(wantIdentified, wantDownloads int64, args ...string) string {
		t.Helper()
		identified.Store(0)
		downloads.Store(0)
		cmd := through(kubeconfig, b.command(t, append(args, "-n", "velero")...))
		cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+cache)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		if i, d := identified.Load(), downloads.Load(); i != wantIdentified || d != wantDownloads {
			t.Errorf("%q: %d times identified, not %d; %d downloads, not %d", args, i, wantIdentified, d, wantDownloads)
		}
		return string(out)
	}
	run(0, 0, "get")
	want := run(1, 1, "estimate", "backup/b-kept")
	files, err := filepath.Glob(filepath.Join(cache, "veltui/indexes/*.index"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	if got := run(1, 0, "estimate", "backup/b-kept"); got != want {
		t.Errorf("from disk:\n%s\nwant\n%s", got, want)
	}
	run(0, 0, "get")
	other := &veleroapi.Backup{}
	if err := b.client.Get(t.Context(), types.NamespacedName{Namespace: "velero", Name: "b-other"}, other); err != nil {
		t.Fatal(err)
	}
	prefix, _, _ := strings.Cut(filepath.Base(files[0]), "-")
	if err := os.Rename(
		files[0],
		filepath.Join(filepath.Dir(files[0]), prefix+"-"+string(other.UID)+".index"),
	); err != nil {
		t.Fatal(err)
	}
	run(1, 1, "estimate", "backup/b-other")
	run(1, 0, "estimate", "backup/b-other")
	run(1, 1, "estimate", "backup/b-kept")
}
