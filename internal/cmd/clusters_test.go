package cmd

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// planes are control planes of its own for a test, each with a restore under way
// that is called like its context, in one kubeconfig.
func planes(t *testing.T, names ...string) (map[string]*testbed.ControlPlane, string) {
	t.Helper()
	var (
		mu      sync.Mutex
		all     sync.WaitGroup
		started = map[string]*testbed.ControlPlane{}
		merged  = clientcmdapi.NewConfig()
	)
	for _, name := range names {
		all.Go(func() {
			plane, err := testbed.Start(context.Background(), testbed.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = plane.Stop() })
			config, err := clientcmd.LoadFromFile(plane.Kubeconfig())
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			started[name] = plane
			for _, c := range config.Contexts {
				merged.Clusters[name], merged.AuthInfos[name] = config.Clusters[c.Cluster], config.AuthInfos[c.AuthInfo]
				merged.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for name, plane := range started {
		c := clientOf(t, plane)
		if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "velero"}}); err != nil {
			t.Fatal(err)
		}
		now := metav1.Now()
		if err := c.Create(t.Context(), &veleroapi.Restore{
			ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "restore-" + name},
			Spec:       veleroapi.RestoreSpec{BackupName: "nightly"},
			Status: veleroapi.RestoreStatus{
				Phase:          veleroapi.RestorePhaseInProgress,
				StartTimestamp: &now,
				Progress:       &veleroapi.RestoreProgress{ItemsRestored: 10, TotalItems: 100},
			},
		}); err != nil {
			t.Fatal(err)
		}
	}
	merged.CurrentContext = names[0]
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*merged, path); err != nil {
		t.Fatal(err)
	}
	return started, path
}

func clientOf(t *testing.T, plane *testbed.ControlPlane) client.Client {
	t.Helper()
	c, err := client.New(plane.RESTConfig(), client.Options{Scheme: testbed.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Of three clusters on one screen one is killed and one hangs: the third goes on
// as if it were alone, and the others come back by themselves.
func TestThreeClusters(t *testing.T) {
	testbed.RequireMore(t)
	t.Parallel()
	skipUnderRace(t)
	b := control(t)
	started, kubeconfig := planes(t, "east", "west", "lab")
	cmd := b.command(t, "--kubeconfig", kubeconfig, "--context", "east,west,lab", "-n", "velero")
	c := startConsole(t, cmd, 120, 40)
	c.sees(t, "east live", "west live", "lab live", "restore-east", "restore-west", "restore-lab")

	if err := started["west"].KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	if err := started["lab"].PauseAPIServer(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = started["lab"].ResumeAPIServer() }()
	c.sees(t, "east live", "west stale", "lab stale", "restore-west", "restore-lab")

	east := clientOf(t, started["east"])
	var r veleroapi.Restore
	key := client.ObjectKey{Namespace: "velero", Name: "restore-east"}
	if err := east.Get(t.Context(), key, &r); err != nil {
		t.Fatal(err)
	}
	before := r.DeepCopy()
	r.Status.Progress.ItemsRestored = 73
	if err := east.Patch(t.Context(), &r, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	c.sees(t, "73/100")

	c.types(t, "/restore-east\r\r")
	c.sees(t, "east/velero", "R restore-east")
	c.types(t, "f")
	c.sees(t, "Finalize restore velero/restore-east", "Refused", "esc back  ? help")
	c.types(t, "\x1b")
	c.sees(t, "l logs", "esc back")
	c.types(t, "\x1b")
	c.sees(t, "1 of 3")
	c.types(t, "\x1b")

	if err := started["lab"].ResumeAPIServer(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := started["west"].StartAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
	c.sees(t, "east live", "west live", "lab live")
	c.types(t, "q")
	if code := c.exits(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
