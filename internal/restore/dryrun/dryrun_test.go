package dryrun

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// settled waits until creating an object, without storing it, fails with a text: admission hears of what configures
// it a moment later.
func (b *bed) settled(t *testing.T, o client.Object, text string) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(
		t.Context(),
		50*time.Millisecond,
		time.Minute,
		true,
		func(ctx context.Context) (bool, error) {
			last = b.Create(ctx, o.DeepCopyObject().(client.Object), client.DryRunAll)
			return last != nil && strings.Contains(last.Error(), text), nil
		},
	)
	if err != nil {
		t.Fatalf("%v: last %v", err, last)
	}
}

// TestAdmission: what admission rejects is found, in its words, and only that.
func TestAdmission(t *testing.T) {
	ns := shared.Name("admission")
	b := newBed(t, ns)
	b.asVelero(t, ns)
	in := func(name string) metav1.ObjectMeta { return meta(ns, name) }
	fail := admissionv1.Fail
	deny := admissionv1.DenyAction
	none := admissionv1.SideEffectClassNone
	some := admissionv1.SideEffectClassNoneOnDryRun
	only := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}}
	rules := []admissionv1.RuleWithOperations{
		{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule: admissionv1.Rule{
				APIGroups:   []string{""},
				APIVersions: []string{"v1"},
				Resources:   []string{"configmaps"},
			},
		},
	}
	labelled := func(value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"hook": value}}
	}
	hook := func(name, url string, effect *admissionv1.SideEffectClass, objects *metav1.LabelSelector, conditions ...admissionv1.MatchCondition) admissionv1.ValidatingWebhook {
		return admissionv1.ValidatingWebhook{
			Name:                    name,
			ClientConfig:            admissionv1.WebhookClientConfig{URL: &url, CABundle: b.RESTConfig().CAData},
			Rules:                   rules,
			FailurePolicy:           &fail,
			SideEffects:             effect,
			NamespaceSelector:       only,
			ObjectSelector:          objects,
			AdmissionReviewVersions: []string{"v1"},
			MatchConditions:         conditions,
		}
	}
	denying := denier(t, &metav1.Status{Message: "not today", Code: http.StatusForbidden})
	url := denying.url
	withCA := hook("denies.test.io", url, &none, labelled("denies"))
	withCA.ClientConfig.CABundle = denying.ca
	b.make(
		t,
		&admissionv1.ValidatingWebhookConfiguration{ObjectMeta: meta("", ns), Webhooks: []admissionv1.ValidatingWebhook{
			withCA,
			hook("refuses.test.io", "https://127.0.0.1:1/", &some, labelled("refuses")),
			hook(
				"skips.test.io",
				"https://127.0.0.1:1/",
				&none,
				labelled("skips"),
				admissionv1.MatchCondition{Name: "never", Expression: "false"},
			),
		}},
	)
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: meta("", ns),
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: only,
				ResourceRules:     []admissionv1.NamedRuleWithOperations{{RuleWithOperations: rules[0]}},
			},
			Validations: []admissionv1.Validation{
				{
					Expression: "object.metadata.name != 'denied' && !object.metadata.name.startsWith('owner-')",
					Message:    "needs an owner",
				},
			},
		},
	}
	b.make(t, policy)
	b.make(
		t,
		&admissionv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: meta("", ns),
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName:        ns,
				ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			},
		},
	)
	paramed := policy.DeepCopy()
	paramed.ObjectMeta = meta("", ns+"-param")
	paramed.Spec.ParamKind = &admissionv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
	paramed.Spec.Validations[0] = admissionv1.Validation{Expression: "true"}
	paramed.Spec.MatchConstraints.ObjectSelector = labelled("param")
	b.make(t, paramed)
	b.make(
		t,
		&admissionv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: meta("", ns+"-param"),
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: ns + "-param",
				ParamRef: &admissionv1.ParamRef{
					Name:                    "missing",
					ParameterNotFoundAction: &deny,
				},
				ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			},
		},
	)
	b.quota(t, ns, "few", corev1.ResourceList{"count/services": resource.MustParse("0")})
	b.make(
		t,
		&corev1.LimitRange{
			ObjectMeta: in("limits"),
			Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypePersistentVolumeClaim,
				Max: corev1.ResourceList{"storage": resource.MustParse("1Gi")}}}},
		},
	)
	b.settled(t, &corev1.ConfigMap{ObjectMeta: in("denied")}, "needs an owner")
	b.settled(
		t,
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p", Labels: map[string]string{"hook": "param"}},
		},
		"no params found",
	)
	b.settled(
		t,
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p", Labels: map[string]string{"hook": "refuses"}},
		},
		"refused",
	)

	b.configMap(t, ns, "fine", "")
	b.configMap(t, ns, "denied", "")
	for i := range 3 {
		b.configMap(t, ns, fmt.Sprintf("owner-%d", i), "")
	}
	for _, value := range []string{"denies", "refuses", "skips", "param"} {
		b.configMap(t, ns, "hook-"+value, `,"labels":{"hook":"`+value+`"}`)
	}
	b.holds(
		t,
		"services",
		`{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"`+ns+`","name":"web"},"spec":{"ports":[{"port":80}]}}`,
	)
	b.holds(
		t,
		"persistentvolumeclaims",
		`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"namespace":"`+ns+`","name":"big"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"2Gi"}}}}`,
	)

	d := b.run(t)
	of := "configmaps/" + ns + "/"
	want := map[string]string{
		of + "denied":                           "needs an owner",
		of + "hook-denies":                      `admission webhook "denies.test.io" denied the request: not today`,
		of + "hook-refuses":                     `failed calling webhook "refuses.test.io"`,
		of + "hook-param":                       "no params found",
		"services/" + ns + "/web":               "exceeded quota: few",
		"persistentvolumeclaims/" + ns + "/big": "maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi",
	}
	for i := range 3 {
		want[of+fmt.Sprintf("owner-%d", i)] = "needs an owner"
	}
	wants(t, "rejected", rejectedOf(d), want)
	if len(d.CannotTell) > 0 || len(d.NotSent) > 0 || d.SentCount != 11 || d.AcceptedCount != 2 {
		t.Errorf("%d sent, %d accepted, cannot tell %v, not sent %v", d.SentCount, d.AcceptedCount, d.CannotTell, d.NotSent)
	}
}
