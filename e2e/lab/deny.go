package lab

import (
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// DenyPhases makes the API server refuse to let one Backup or Restore (by its kind)
// come into any of these phases, until [Lab.AllowPhases].
func (l *Lab) DenyPhases(ctx context.Context, kind, name string, phases ...string) error {
	meta := metav1.ObjectMeta{Name: denyPolicyName(kind, name)}
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
				Rule: admissionv1.Rule{
					APIGroups:   []string{"velero.io"},
					APIVersions: []string{"*"},
					Resources:   []string{strings.ToLower(kind) + "s"},
				},
			},
		}}},
		Validations: []admissionv1.Validation{
			{
				Expression: `object.metadata.name != "` + name + `" || !has(object.status) || !has(object.status.phase) || ` +
					`!(object.status.phase in ["` + strings.Join(
					phases,
					`","`,
				) + `"])`,
			},
		},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: meta,
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: meta.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	for _, object := range []client.Object{policy, binding} {
		if err := client.IgnoreAlreadyExists(l.Client.Create(ctx, object)); err != nil {
			return fmt.Errorf("denying phases of %s: %w", name, err)
		}
	}
	// A policy takes effect a moment after it was made.
	return pollUntil(ctx, "the phases of "+name+" to be denied", func() (bool, error) {
		probe := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "velero.io/v1",
			"kind":       kind,
			"metadata":   map[string]any{"namespace": Namespace, "name": name},
			"spec":       map[string]any{"backupName": "none"},
			"status":     map[string]any{"phase": phases[0]},
		}}
		err := l.Client.Create(ctx, probe, client.DryRunAll)
		if apierrors.IsInvalid(err) {
			return true, nil
		}
		return false, client.IgnoreAlreadyExists(err)
	})
}

// AllowPhases takes back what Deny did.
func (l *Lab) AllowPhases(ctx context.Context, kind, name string) error {
	meta := metav1.ObjectMeta{Name: denyPolicyName(kind, name)}
	for _, object := range []client.Object{
		&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta},
		&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: meta},
	} {
		if err := client.IgnoreNotFound(l.Client.Delete(ctx, object)); err != nil {
			return fmt.Errorf("allowing the phases of %s: %w", name, err)
		}
	}
	return nil
}

func denyPolicyName(kind, name string) string { return "deny-" + strings.ToLower(kind) + "-" + name }
