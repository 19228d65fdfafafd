package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/document"
)

// patience is how long a test waits for what must come: long, because the
// machine may be slow, and never reached where all is well.
const patience = 2 * time.Minute

// bed is one control plane for all tests of this package, and the binary.
type bed struct {
	*testbed.ControlPlane
	client client.Client
	binary string
}

var (
	shared     *bed
	sharedOnce sync.Once
	sharedErr  error
)

func TestMain(m *testing.M) {
	// No test knows the configuration of whoever runs it.
	config, err := os.MkdirTemp("", "veltui-config")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for name, value := range map[string]string{"XDG_CONFIG_HOME": config, "VELTUI_CONFIG": ""} {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	code := m.Run()
	_ = os.RemoveAll(config)
	for _, b := range []*bed{shared, twinsOnce.a, twinsOnce.b} {
		if b == nil {
			continue
		}
		if err := b.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping a control plane:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// control is the shared control plane with Velero's CRDs, a namespace velero
// and a storage location.
func control(t *testing.T) *bed {
	t.Helper()
	sharedOnce.Do(func() { shared, sharedErr = newBed() })
	if sharedErr != nil {
		t.Fatal(sharedErr)
	}
	return shared
}

func newBed() (*bed, error) {
	ctx := context.Background()
	plane, err := testbed.Start(ctx, testbed.Options{})
	if err != nil {
		return nil, err
	}
	b := &bed{ControlPlane: plane, binary: filepath.Join(plane.Dir(), "veltui")}
	// What a command takes a closer look at must not depend on the machine.
	const unhurried = "-X github.com/veltui/veltui/internal/cluster.onceBudget=1h"
	if out, err := exec.Command("go", "build", "-ldflags", unhurried, "-o", b.binary, "github.com/veltui/veltui").
		CombinedOutput(); err != nil {
		return b, fmt.Errorf("building veltui: %w\n%s", err, out)
	}
	if b.client, err = client.New(plane.RESTConfig(), client.Options{Scheme: testbed.Scheme()}); err != nil {
		return b, err
	}
	b.client = client.WithFieldOwner(b.client, velero.ServerManager) // only what Velero writes is work
	if err := b.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "velero"}}); err != nil {
		return b, err
	}
	return b, b.client.Create(ctx, &veleroapi.BackupStorageLocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: "default"},
		Spec: veleroapi.BackupStorageLocationSpec{Provider: "aws",
			StorageType: veleroapi.StorageType{ObjectStorage: &veleroapi.ObjectStorageLocation{Bucket: "b"}}},
	}, client.FieldOwner("kubectl-create")) // a server that writes to a location is at work
}

// skipUnderRace leaves a test to make test: it drives the built program, of which
// the race detector sees nothing.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if testbed.RaceDetector {
		t.Skip("the race detector sees nothing of the built program")
	}
}

// command is the built veltui with a state folder of its own.
func (b *bed) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	skipUnderRace(t)
	cmd := exec.Command(b.binary, append([]string{"--kubeconfig", b.Kubeconfig()}, args...)...)
	cmd.Env = append(
		os.Environ(),
		"XDG_STATE_HOME="+t.TempDir(),
		"XDG_CACHE_HOME="+t.TempDir(),
		"TERM=xterm-256color",
		"LANG=C.UTF-8",
		"NO_COLOR=",
		"SSH_TTY=",
		"SSH_CONNECTION=",
		"VELERO_NAMESPACE=",
		"LC_ALL=",
		"LC_CTYPE=",
	)
	return cmd
}

// run runs veltui to its end.
func (b *bed) run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := b.command(t, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("running veltui: %v", err)
	}
	checkSchema(t, out.String(), args)
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func (b *bed) create(t *testing.T, o client.Object) {
	t.Helper()
	if err := b.client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(b.client.Delete(context.Background(), o)); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
}

func list(t *testing.T, stdout string) document.JobList {
	t.Helper()
	var l document.JobList
	if err := json.Unmarshal([]byte(stdout), &l); err != nil {
		t.Fatalf("%v in:\n%s", err, stdout)
	}
	return l
}

func restore(name string, status veleroapi.RestoreStatus) *veleroapi.Restore {
	return &veleroapi.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: name},
		Spec: veleroapi.RestoreSpec{BackupName: "b"}, Status: status}
}

// eventually waits for a condition, not for a time.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain until %s", patience, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func holdsAll(text string, words ...string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}
