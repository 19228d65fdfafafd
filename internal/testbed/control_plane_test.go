package testbed

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// The watchdog test runs this test binary once more as the parent that dies.
const parentEnv = "VELTUI_TESTBED_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentEnv) != "" {
		c, err := Start(context.Background(), Options{NoCRDs: true})
		if err != nil {
			panic(err)
		}
		os.Stdout.WriteString(c.Dir() + "\n")
		select {}
	}
	os.Exit(m.Run())
}

func TestControlPlaneKeepsItsDataOverACrash(t *testing.T) {
	c := StartForTest(t, Options{})
	ctx := t.Context()
	k8s, err := client.New(c.RESTConfig(), client.Options{Scheme: Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	if err := k8s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "velero"}}); err != nil {
		t.Fatal(err)
	}
	backup := &veleroapi.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "b"}}
	if err := k8s.Create(ctx, backup); err != nil {
		t.Fatal(err)
	}
	past := Fleet{Namespace: "velero", Now: time.Now(), Backups: 3, Restores: 2, DataUploads: 150, RunningCount: 1}
	if err := c.WriteFleet(ctx, past); err != nil {
		t.Fatal(err)
	}
	var uploads veleroapi.DataUploadList
	var restores veleroapi.RestoreList
	if err := errors.Join(k8s.List(ctx, &uploads), k8s.List(ctx, &restores)); err != nil {
		t.Fatal(err)
	}
	if len(uploads.Items) != past.DataUploads || len(restores.Items) != past.Restores ||
		len(uploads.Items[0].ManagedFields) != 2 {
		t.Errorf("the fleet has %d uploads and %d restores", len(uploads.Items), len(restores.Items))
	}
	// What was written past the API server can be written through it.
	restores.Items[0].Labels = map[string]string{"touched": "yes"}
	if err := k8s.Update(ctx, &restores.Items[0]); err != nil {
		t.Errorf("writing into a restore of the fleet: %v", err)
	}

	if err := c.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	if err := k8s.Get(ctx, client.ObjectKeyFromObject(backup), backup); err == nil {
		t.Error("a killed API server answers")
	}
	if err := c.StartAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
	if err := k8s.Get(ctx, client.ObjectKeyFromObject(backup), backup); err != nil {
		t.Errorf("reading the backup after the crash: %v", err)
	}

	user, err := c.AddUser("nobody")
	if err != nil {
		t.Fatal(err)
	}
	powerless, err := client.New(user, client.Options{Scheme: Scheme()})
	if err == nil {
		err = powerless.Get(ctx, client.ObjectKeyFromObject(backup), backup)
	}
	if err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("a user without rights got %v, want a refusal", err)
	}
}

func TestWatchdogEndsServersOfADeadParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentEnv+"=1")
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(line)
	var pids []string
	for _, program := range []string{etcdProgram, apiServerProgram} {
		pid, err := os.ReadFile(filepath.Join(dir, program+".pid"))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, strings.TrimSpace(string(pid)))
	}
	outside, err := os.ReadFile(filepath.Join(dir, outsideFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()

	deadline := time.Now().Add(time.Minute)
	gone := func() bool {
		for _, pid := range pids {
			if exec.Command("kill", "-0", pid).Run() == nil {
				return false
			}
		}
		for _, folder := range []string{dir, strings.TrimSpace(string(outside))} {
			if _, err := os.Stat(folder); !os.IsNotExist(err) {
				return false
			}
		}
		return true
	}
	for !gone() {
		if time.Now().After(deadline) {
			t.Fatalf("servers %v or folder %s are still there", pids, dir)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestAStartThatFailsSaysWhyAndLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	_, err := Start(t.Context(), Options{APIServerFlags: map[string]string{"nonsense": "1"}})
	if err == nil || !strings.Contains(err.Error(), "unknown flag: --nonsense") {
		t.Errorf("Start with a wrong flag: %v, want kube-apiserver's own words", err)
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}
