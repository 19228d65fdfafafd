package dryrun

import (
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/restore/modifier"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestNoDataOfSecrets: whatever is said of a Secret, no message quotes its data.
func TestNoDataOfSecrets(t *testing.T) {
	s := &Sender{User: "bob"}
	for _, text := range []string{
		`admission webhook "w" denied the request: data.password hunter2 is weak`,
		`secrets "s" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: hunter2`,
		`Internal error occurred: failed calling webhook "w": failed to call webhook: an error on the server ("cannot check {password: hunter2}") has prevented the request from succeeding`,
		`Secret "s" is invalid: data: Invalid value: "hunter2": no`,
	} {
		for _, v := range []verdict{rejected, warned, cannotTell, notSent} {
			a := answer{verdict: v, reason: text}
			if v == rejected && strings.HasPrefix(text, "admission webhook") {
				a = s.allowForUser(t.Context(), a)
			}
			i := &item{itemKey: itemKey{secrets, "ns", "s"}}
			i.setVerdict(a.verdict, a.reason)
			all := map[itemKey]*item{i.itemKey: i}
			r := &runner{Sender: s, Query: Query{Rules: &prepare.Rules{}}, items: all, itemsByTarget: all}
			if said := fmt.Sprintf(
				"%+v",
				r.buildResult(nil),
			); strings.Contains(said, "hunter2") ||
				!strings.Contains(said, "leaves out") {
				t.Errorf("%d of %s: %s", v, text, said)
			}
		}
	}
}

// TestStandInHoldsTheSameName: existence is the last thing that the API server asks.
func TestStandInHoldsTheSameName(t *testing.T) {
	ns := shared.Name("standin")
	b := newBed(t, ns)
	b.make(t, &corev1.ConfigMap{ObjectMeta: meta(ns, "a")})
	b.configMap(t, ns+"-new", "a", "")
	b.query.StandInNamespace = ns
	if d := b.run(t); d.AcceptedCount != 2 || len(d.NotSent) > 0 { // and the namespace
		t.Errorf("%+v", d)
	}
}

// TestOddNameCostsItself: an item whose name is no part of a path ends nothing.
func TestOddNameCostsItself(t *testing.T) {
	ns := shared.Name("odd")
	b := newBed(t, ns)
	b.configMap(t, ns, "a", "")
	b.bodies["a%b.x.io//z"] = `{"apiVersion":"x.io/v1","kind":"A","metadata":{"name":"z"}}`
	b.spec.IncludeClusterResources = &yes
	d := b.run(t)
	if d.AcceptedCount != 1 {
		t.Errorf("%+v", d)
	}
	wants(t, "cannot tell", untoldOf(d.CannotTell), map[string]string{"a%b.x.io/z": "no part of a path"})
}

// TestWebhooksChooseTheirCode: a webhook's denial is one, whichever code it chooses.
func TestWebhooksChooseTheirCode(t *testing.T) {
	ns := shared.Name("code")
	b := newBed(t, ns)
	b.asVelero(t, ns)
	fail, none := admissionv1.Fail, admissionv1.SideEffectClassNone
	var hooks []admissionv1.ValidatingWebhook
	for n, status := range []metav1.Status{{Code: 409, Reason: metav1.StatusReasonAlreadyExists}, {Code: 429}, {Code: 401}, {Code: 401, Reason: metav1.StatusReasonUnauthorized}, {Code: 404, Reason: metav1.StatusReasonNotFound}} {
		status.Message = "not today"
		denying, label := denier(t, &status), fmt.Sprint("h", n)
		hooks = append(
			hooks,
			admissionv1.ValidatingWebhook{
				Name:                    label + ".test.io",
				ClientConfig:            admissionv1.WebhookClientConfig{URL: &denying.url, CABundle: denying.ca},
				FailurePolicy:           &fail,
				SideEffects:             &none,
				AdmissionReviewVersions: []string{"v1"},
				NamespaceSelector: &metav1.LabelSelector{
					MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns},
				},
				ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"h": label}},
				Rules: []admissionv1.RuleWithOperations{
					{
						Operations: []admissionv1.OperationType{admissionv1.Create},
						Rule: admissionv1.Rule{
							APIGroups:   []string{""},
							APIVersions: []string{"v1"},
							Resources:   []string{"configmaps"},
						},
					},
				},
			},
		)
		b.configMap(t, ns, label, `,"labels":{"h":"`+label+`"}`)
	}
	b.configMap(t, ns, "fine", "")
	b.make(t, &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: meta("", ns), Webhooks: hooks})
	b.settled(
		t,
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "denied", Labels: map[string]string{"h": "h4"}},
		},
		"denied the request",
	)
	d := b.run(t)
	want := map[string]string{}
	for n := range hooks {
		want[fmt.Sprintf("configmaps/%s/h%d", ns, n)] = "denied the request: not today"
	}
	wants(t, "rejected", rejectedOf(d), want)
	if d.AcceptedCount != 1 {
		t.Errorf("%+v", d)
	}
}

// TestModifierLeavesNamespaces: Velero makes namespaces without its modifier, and has an error for an item that it fails on.
func TestModifierLeavesNamespaces(t *testing.T) {
	ns := shared.Name("modified")
	b := newBed(t, ns+"-x")
	var err error
	b.modifier, err = modifier.Parse(
		map[string]string{
			"a": "version: v1\nresourceModifierRules:\n- conditions: {groupResource: '*'}\n  patches: [{operation: remove, path: /metadata/annotations/gone}]\n",
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	b.holds(t, "namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+ns+`"}}`)
	b.configMap(t, ns, "a", `,"annotations":{"gone":"1","x":"y"}`)
	b.configMap(t, ns, "b", "")
	b.query.StandInNamespace = ns + "-x"
	d := b.run(t)
	if len(d.Rejected) != 1 || d.Rejected[0].Name != "b" || !d.Rejected[0].ByVelero || d.AcceptedCount != 2 {
		t.Errorf("%+v", d)
	}
}

// TestLimitRangesComeFirst: what the restore's own limit ranges give a pod is not there in the dry run.
func TestLimitRangesComeFirst(t *testing.T) {
	ns := shared.Name("limits")
	b := newBed(t, ns)
	b.quota(t, ns, "q", corev1.ResourceList{"limits.cpu": quantity("10")})
	b.pod(t, ns, "p", "")
	pod := "pods/" + ns + "/p"
	wants(t, "rejected", rejectedOf(b.run(t)), map[string]string{pod: "must specify limits.cpu"})
	b.holds(
		t,
		"limitranges",
		`{"apiVersion":"v1","kind":"LimitRange","metadata":{"namespace":"`+ns+`","name":"l"},"spec":{"limits":[{"type":"Container","default":{"cpu":"1"}}]}}`,
	)
	d := b.run(t)
	wants(t, "rejected", rejectedOf(d), nil)
	wants(t, "cannot tell", untoldOf(d.CannotTell), map[string]string{pod: "limit ranges first"})
}

// TestModifierRenames: an object is sent under the name that the modifier gives it. The first under a name is sent, and
// what exists under its old name is not patched.
func TestModifierRenames(t *testing.T) {
	namespace := shared.Name("renames")
	b := newBed(t, namespace)
	b.spec.ExistingResourcePolicy = veleroapi.PolicyTypeUpdate
	b.make(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "there"}})
	for _, name := range []string{"a", "b", "there", "other"} {
		b.configMap(t, namespace, name, "")
	}
	var err error
	b.modifier, err = modifier.Parse(map[string]string{"rules": `version: v1
resourceModifierRules:
- {conditions: {groupResource: configmaps, resourceNameRegex: "^[ab]$"}, mergePatches: [{patchData: "metadata: {name: same}"}]}
- {conditions: {groupResource: configmaps, resourceNameRegex: there}, patches: [{operation: replace, path: /metadata/name, value: fresh}]}
- {conditions: {groupResource: configmaps, resourceNameRegex: other, matches: [{path: /data/a, value: b}]},
   patches: [{operation: copy, from: /data/a, path: /metadata/name}]}
`})
	if err != nil {
		t.Fatal(err)
	}
	d := b.run(t)
	if d.AcceptedCount != 3 || len(d.Rejected) != 0 {
		t.Errorf("%d accepted, %v rejected", d.AcceptedCount, d.Rejected)
	}
	wants(t, "not sent", untoldOf(d.NotSent), map[string]string{"configmaps/" + namespace + "/same": "comes first"})
	for name, want := range map[string]string{"a": "same", "there": "fresh", "other": "b"} {
		if got, known := d.FindName("configmaps", namespace, name); got != want || !known {
			t.Errorf("%s is %s, %v", name, got, known)
		}
	}
}
