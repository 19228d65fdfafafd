package cmd

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/veltui/veltui/collector/cache"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestFailedDownloadIsNotRepeated: ten restores of a backup that cannot be
// downloaded ask for it once, and all say why.
func TestFailedDownloadIsNotRepeated(t *testing.T) {
	b := control(t)
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, "out of order", http.StatusInternalServerError)
	}))
	t.Cleanup(server.Close)
	s := &store{url: server.URL}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.sign(ctx, b)
	}()
	t.Cleanup(func() { stop(); <-ended })
	s.stored(t, b, "b-broken", veleroapi.BackupPhaseCompleted)

	c := withFlags(t, "--kubeconfig", b.Kubeconfig())
	now := time.Now()
	c.process.clock = func() time.Time { return now }
	r := c.newCluster()
	r.Indexes = cache.Open(cache.Options{})
	ask := func() {
		t.Helper()
		_, err := r.EstimateRestore(t.Context(), &job.Job{
			Kind:      job.Restore,
			Namespace: "velero",
			Name:      "r",
			Object: &veleroapi.Restore{
				Spec: veleroapi.RestoreSpec{BackupName: "b-broken"},
			},
		}, velero.Server{ServerPod: velero.ServerPod{Version: "v1.18.3"}}, func(int64, int64) {})
		if err == nil || !strings.Contains(err.Error(), "500") {
			t.Errorf("%v", err)
		}
	}
	for range 10 {
		ask()
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the store was asked %d times", n)
	}
	now = now.Add(time.Minute)
	ask()
	ask()
	if n := asked.Load(); n != 2 {
		t.Errorf("after a minute the store was asked %d times", n)
	}
}

// TestClusterIdentity: what is kept of a cluster is not taken for another's.
func TestClusterIdentity(t *testing.T) {
	dir := t.TempDir()
	first, second := dir+"/first", dir+"/second"
	twoClusters(t, first, "east")
	twoClusters(t, second, "west")
	identity := func(path string) string {
		config, err := restConfig(withFlags(t, "--kubeconfig", path))
		if err != nil {
			t.Fatal(err)
		}
		return session.CacheKey(config)
	}
	if again := identity(first); again != identity(first) || again == identity(second) {
		t.Errorf("%q and %q", identity(first), identity(second))
	}
	config, err := restConfig(withFlags(t, "--kubeconfig", first))
	if err != nil {
		t.Fatal(err)
	}
	before := session.CacheKey(config)
	config.CAData = []byte("made anew")
	if session.CacheKey(config) == before {
		t.Error("a cluster with another authority is taken for the same")
	}
}
