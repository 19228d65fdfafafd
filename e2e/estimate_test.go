//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// estimated is what `veltui estimate -o json` prints.
type estimated struct {
	Kind      string `json:"kind"`
	Items     int    `json:"items"`
	Resources []struct {
		Resource string `json:"resource"`
		Items    int    `json:"items"`
		// Namespaces are those of the target.
		Namespaces map[string]int `json:"namespaces"`
	} `json:"resources"`
	Assumptions []string `json:"assumptions"`
	Partial     bool     `json:"partial"`
}

// estimate runs `veltui estimate`. veltui gets the backup's tarball out of the
// S3 server through a DownloadRequest.
func estimate(t *testing.T, args ...string) (e estimated, err error) {
	path, err := veltui()
	if err != nil {
		return e, err
	}
	cmd := exec.CommandContext(
		patient(t),
		path,
		append(
			[]string{"estimate", "-o", "json", "--kubeconfig", theLab.Kubeconfig(), "-n", lab.Namespace},
			args...)...)
	cmd.Env = veltuiTells.cmd.Env
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return e, fmt.Errorf("veltui estimate %q: %w: %s", args, err, exit.Stderr)
	}
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(out, &e); err != nil {
		return e, fmt.Errorf("veltui estimate %q: %w", args, err)
	}
	if e.Kind != "Estimate" || e.Partial {
		return e, fmt.Errorf("veltui estimate %q printed %s", args, out)
	}
	return e, nil
}

// estimateSpec asks veltui what a restore in a file would restore.
func estimateSpec(t *testing.T, spec veleroapi.RestoreSpec) (estimated, error) {
	t.Helper()
	data, err := json.Marshal(&veleroapi.Restore{
		TypeMeta:   metav1.TypeMeta{APIVersion: veleroapi.GroupVersion.String(), Kind: "Restore"},
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: "planned"},
		Spec:       spec,
	})
	must(t, err)
	file := filepath.Join(t.TempDir(), "restore.json")
	must(t, os.WriteFile(file, data, 0o600))
	return estimate(t, "-f", file)
}

// wantEstimate checks an estimate against what Velero ended with.
func wantEstimate(t *testing.T, e estimated, h lab.History) {
	t.Helper()
	if total := h.LastState().Progress.Total; e.Items != total {
		t.Errorf(
			"veltui estimated %d items before the restore, Velero ended with %d (%v)",
			e.Items,
			total,
			e.Assumptions,
		)
	}
	sum := 0
	for _, r := range e.Resources {
		sum += r.Items
	}
	if sum != e.Items {
		t.Errorf("the estimate's resources sum up to %d, not %d", sum, e.Items)
	}
}
