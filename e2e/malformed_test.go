//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestMalformedObjects creates a Backup and, in another namespace, a location
// with durations that the CRDs take and Go cannot read. From then on Velero's
// server sees no new Backup, while the other namespace's location does it no
// harm. veltui shows all there is, and names what is wrong.
func TestMalformedObjects(t *testing.T) {
	ctx := patient(t)
	must(t, theLab.EnsureVelero(ctx))
	const tenant = "tenant"
	must(t, theLab.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenant}}))
	location := velero("BackupStorageLocation", tenant, "malformed", map[string]any{
		"provider": "aws", "validationFrequency": "1d", "objectStorage": map[string]any{"bucket": "tenant"},
	})
	malformed := velero("Backup", lab.Namespace, "malformed", map[string]any{
		"ttl": "30d", "includedNamespaces": []any{"media"}, "storageLocation": lab.LocationName,
	})
	_, logged, err := theLab.VeleroLog(0)
	must(t, err)
	for _, object := range []*unstructured.Unstructured{location, malformed} {
		must(t, theLab.Client.Create(ctx, object))
	}
	must(t, theLab.AwaitLog(ctx, logged, "failed to list *v1.Backup", "30d"))
	createBackup(t, "beside", veleroapi.BackupSpec{IncludedNamespaces: []string{"ops"}}, nil)

	code, printed := runVeltui(t, "get", "backup")
	if code != 0 || !holdsAll(printed, []string{"beside", "malformed"}) {
		t.Errorf("veltui get ended with %d:\n%s", code, printed)
	}
	code, printed = runVeltui(t, "get", "backup", "-n", "") // it searches for Velero
	if code != 0 || !holdsAll(printed, []string{"beside"}) {
		t.Errorf("veltui get without a namespace ended with %d:\n%s", code, printed)
	}
	explain(t, theLab.Kubeconfig(), "backup/malformed").wantWords(t, "ttl", "30d")
	at := shifted(
		t,
		"blinded",
		older(10*time.Minute, func(kind, _ string) bool { return kind == "Backup" || kind == "Restore" }),
	)
	explain(t, at, "backup/beside").wantWords(t, "MalformedSpec", "malformed", "ttl", "30d")
	if phase := liveJob(t, "Backup", "beside").LastState().Phase; phase != "" {
		t.Errorf("Velero took it up (%s), although it cannot list Backups", phase)
	}

	must(t, theLab.Client.Delete(ctx, malformed))
	must(t, theLab.Client.Delete(ctx, location))
	h := ended(t, "Backup", "beside")
	wantEnd(t, h, "Completed")
	wantTold(t, h)
}

// velero is an object of a kind of Velero's, as it is sent.
func velero(kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": veleroapi.GroupVersion.String(), "kind": kind,
		"metadata": map[string]any{"namespace": namespace, "name": name}, "spec": spec,
	}}
}
