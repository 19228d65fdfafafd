package cluster

import (
	"errors"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/testbed/fixture"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// Once the ConfigMap of selected objects is deleted, the restore itself tells what it selects. Of another policy that is
// gone nothing is counted.
func TestPolicyOfASelectionThatIsGone(t *testing.T) {
	asked := 0
	api := fixture.NewServer(t, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		fixture.WriteStatus(w, http.StatusNotFound, metav1.StatusReasonNotFound, "")
	})
	client, err := (&Cluster{}).newClient(&rest.Config{Host: api.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	store := &BackupStore{namespace: "velero", client: client}
	d := restorespec.Draft{
		Restore: veleroapi.Restore{
			ObjectMeta: metav1.ObjectMeta{Name: "r"},
			Spec:       veleroapi.RestoreSpec{BackupName: "b"},
		},
	}
	if err := d.SelectItems([]restorespec.Item{{Resource: "configmaps", Namespace: "shop", Name: "cm"}}); err != nil {
		t.Fatal(err)
	}
	r := restorespec.NewRestore(&d, "velero")
	spec := collector.RestoreInput{Restore: r.Spec, Policy: SelectionPolicy(&job.Job{Object: r})}
	if err := store.ReadPolicy(
		t.Context(),
		&spec,
	); err != nil || asked > 0 || len(spec.Policy.Namespaced) != 1 ||
		spec.Policy.Namespaced[0].Filters[0].Names[0] != "cm" {
		t.Errorf("%v, asked %d times, %+v", err, asked, spec.Policy)
	}
	r.Spec.ResourcePolicy = &corev1.TypedLocalObjectReference{Kind: "configmap", Name: "own"}
	spec = collector.RestoreInput{Restore: r.Spec, Policy: SelectionPolicy(&job.Job{Object: r})}
	if err := store.ReadPolicy(
		t.Context(),
		&spec,
	); !errors.Is(err, ErrPolicyRefused) ||
		err.Error() != "there is no ConfigMap own with its resource policy: velero would refuse it now" {
		t.Errorf("%v", err)
	}
	if SelectionPolicy(&job.Job{Object: &veleroapi.Backup{}}) != nil || SelectionPolicy(&job.Job{}) != nil {
		t.Error("what is no restore has a policy")
	}
}
