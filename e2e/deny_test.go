//go:build e2e

package e2e

import (
	"testing"

	"github.com/veltui/veltui/e2e/lab"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// deny makes the API server refuse to let one Backup or Restore (by the plural
// of its kind) come into a phase, until lift.
func deny(t *testing.T, plural, name, phase string) (lift func()) {
	t.Helper()
	ctx := patient(t)
	meta := metav1.ObjectMeta{Name: "deny-" + name}
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
				Rule:       admissionv1.Rule{APIGroups: []string{"velero.io"}, APIVersions: []string{"*"}, Resources: []string{plural}},
			},
		}}},
		Validations: []admissionv1.Validation{{
			Expression: `object.metadata.name != "` + name + `" || !has(object.status) || !has(object.status.phase) || object.status.phase != "` + phase + `"`,
		}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: meta.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
	}}
	for _, object := range []client.Object{policy, binding} {
		must(t, theLab.Client.Create(ctx, object))
	}
	kind := map[string]string{"backups": "Backup", "restores": "Restore"}[plural]
	for { // a policy takes effect a moment after it was made
		probe := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "velero.io/v1", "kind": kind, "metadata": map[string]any{"namespace": lab.Namespace, "name": name},
			"spec": map[string]any{"backupName": full}, "status": map[string]any{"phase": phase},
		}}
		err := theLab.Client.Create(ctx, probe, client.DryRunAll)
		if apierrors.IsInvalid(err) {
			break
		}
		must(t, client.IgnoreAlreadyExists(err))
		must(t, ctx.Err())
	}
	lifted := false
	lift = func() {
		if lifted {
			return
		}
		lifted = true
		must(t, theLab.Client.Delete(patient(t), binding))
		must(t, theLab.Client.Delete(patient(t), policy))
	}
	return lift
}
