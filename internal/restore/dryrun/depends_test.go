package dryrun

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestDependencies: what the restore creates before is no obstacle to what needs it, and what nobody creates is one.
func TestDependencies(t *testing.T) {
	ns := "depends"
	// The test bed's own API servers do not look for service accounts.
	b := bedOn(
		t,
		testbed.StartForTest(
			t,
			testbed.Options{APIServerFlags: map[string]string{"disable-admission-plugins": "DefaultIngressClass"}},
		),
		ns,
	)
	b.make(t, &corev1.Namespace{ObjectMeta: meta("", ns+"-locked")})
	// Pod Security answers once the service account is out of the way.
	b.label(t, ns+"-locked", "pod-security.kubernetes.io/enforce", "restricted")
	b.make(t, &corev1.ServiceAccount{ObjectMeta: meta(ns+"-locked", "default")})
	for _, of := range []string{ns, ns + "-locked"} {
		b.holds(
			t,
			"serviceaccounts",
			`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"namespace":"`+of+`","name":"robot"}}`,
		)
	}
	b.holds(
		t,
		"priorityclasses.scheduling.k8s.io",
		`{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"`+ns+`-brought"},"value":7}`,
	)
	b.holds(
		t,
		"runtimeclasses.node.k8s.io",
		`{"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass","metadata":{"name":"`+ns+`-brought"},"handler":"runc"}`,
	)
	b.pod(t, ns, "fine", "")
	b.pod(t, ns, "robot", `,"serviceAccountName":"robot"`)
	b.pod(
		t,
		ns,
		"all",
		`,"serviceAccountName":"robot","priorityClassName":"`+ns+`-brought","runtimeClassName":"`+ns+`-brought"`,
	)
	b.pod(t, ns+"-locked", "robot", `,"serviceAccountName":"robot","hostNetwork":true`)
	b.pod(t, ns, "ghost", `,"serviceAccountName":"ghost"`)
	b.pod(t, ns, "no-priority", `,"priorityClassName":"`+ns+`-missing"`)
	b.pod(t, ns, "no-runtime", `,"runtimeClassName":"`+ns+`-missing"`)
	// Never to preempt stands in the pod, too, and is refused without the class.
	b.holds(
		t,
		"priorityclasses.scheduling.k8s.io",
		`{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"`+ns+`-never"},"value":7,"preemptionPolicy":"Never"}`,
	)
	b.pod(t, ns, "never", `,"priorityClassName":"`+ns+`-never","priority":7,"preemptionPolicy":"Never"`)
	b.spec.IncludeClusterResources = &yes
	b.query.Order = []string{"runtimeclasses.node.k8s.io", "pods"} // as a server with other priorities
	d := b.run(t)
	of := "pods/" + ns + "/"
	wants(t, "rejected", rejectedOf(d), map[string]string{
		of + "ghost":                        `error looking up service account ` + ns + `/ghost: serviceaccount "ghost" not found`,
		of + "no-priority":                  "no PriorityClass with name " + ns + "-missing was found",
		of + "no-runtime":                   `RuntimeClass "` + ns + `-missing" not found`,
		"pods/" + ns + "-locked" + "/robot": `violates PodSecurity "restricted:latest"`,
	})
	wants(t, "cannot tell", untoldOf(d.CannotTell), nil)
	// Velero's own order: a RuntimeClass comes after the pods, and nothing brings it along.
	b.query.Order = []string{"pods", "runtimeclasses.node.k8s.io"}
	if text := rejectedOf(b.run(t))[of+"all"]; !strings.Contains(text, `RuntimeClass "`+ns+`-brought" not found`) {
		t.Errorf("a RuntimeClass that comes too late: %q", text)
	}
}

var yes = true

func (b *bed) label(t *testing.T, namespace, key, value string) {
	t.Helper()
	var n corev1.Namespace
	n.Name = namespace
	if err := b.Get(t.Context(), clientKey("", namespace), &n); err != nil {
		t.Fatal(err)
	}
	n.Labels[key] = value
	if err := b.Update(t.Context(), &n); err != nil {
		t.Fatal(err)
	}
}

// TestNamespaces: a new name that Kubernetes refuses is found by creating the namespace, and refuses all that is in it;
// what goes into a new one is not told, unless another stands in.
func TestNamespaces(t *testing.T) {
	ns := shared.Name("spaces")
	b := newBed(t, ns+"-there")
	b.holds(t, "namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+ns+`"}}`)
	b.configMap(t, ns, "a", "")
	b.pod(t, ns, "p", "")
	b.spec.NamespaceMapping = map[string]string{ns: "Ops_2"}
	d := b.run(t)
	wants(
		t,
		"rejected",
		rejectedOf(d),
		map[string]string{
			"namespaces//Ops_2":  "is invalid: metadata.name",
			"configmaps/Ops_2/a": "is invalid: metadata.name",
			"pods/Ops_2/p":       "is invalid: metadata.name",
		},
	)

	delete(b.bodies, "namespaces//"+ns) // Velero makes one all the same
	wants(
		t,
		"rejected",
		rejectedOf(b.run(t)),
		map[string]string{
			"namespaces//Ops_2":  "is invalid",
			"configmaps/Ops_2/a": "is invalid",
			"pods/Ops_2/p":       "is invalid",
		},
	)

	b.spec.NamespaceMapping = nil
	b.pod(t, ns, "bad", `,"restartPolicy":"Perhaps"`)
	d = b.run(t)
	wants(t, "rejected", rejectedOf(d), nil)
	why := "namespace " + ns + " does not exist yet"
	wants(
		t,
		"cannot tell",
		untoldOf(d.CannotTell),
		map[string]string{"configmaps/" + ns + "/a": why, "pods/" + ns + "/p": why, "pods/" + ns + "/bad": why},
	)

	b.quota(t, ns+"-there", "none", corev1.ResourceList{"count/configmaps": quantity("0")})
	b.query.StandInNamespace = ns + "-there"
	d = b.run(t)
	wants(t, "rejected", rejectedOf(d), map[string]string{"pods/" + ns + "/bad": "restartPolicy: Unsupported value"})
	wants(
		t,
		"cannot tell",
		untoldOf(d.CannotTell),
		map[string]string{"configmaps/" + ns + "/a": "is not that of the one that stands in"},
	)
	if d.AcceptedCount != 2 { // the namespace and the pod
		t.Errorf("accepted %d", d.AcceptedCount)
	}
	if d.Answered("pods", ns, "p") || !d.Answered("pods", ns, "bad") || !d.Answered("namespaces", ns, ns) {
		t.Error("what another namespace lets in is answered, or what it rejects is not")
	}
}

// TestCustomKinds: schema, conversion, versions and size, and kinds that the restore brings.
func TestCustomKinds(t *testing.T) {
	ns := shared.Name("custom")
	b := newBed(t, ns)
	group := ns + ".test.io"
	kind := func(plural string, change func(*crdv1.CustomResourceDefinition)) {
		keep := true
		open := &crdv1.CustomResourceValidation{
			OpenAPIV3Schema: &crdv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &keep},
		}
		crd := &crdv1.CustomResourceDefinition{
			ObjectMeta: meta("", plural+"."+group),
			Spec: crdv1.CustomResourceDefinitionSpec{
				Group: group,
				Scope: crdv1.NamespaceScoped,
				Names: crdv1.CustomResourceDefinitionNames{
					Plural: plural,
					Kind:   strings.ToUpper(plural[:1]) + plural[1:] + "Kind",
				},
				Versions: []crdv1.CustomResourceDefinitionVersion{
					{Name: "v1", Served: true, Storage: true, Schema: open},
				},
			},
		}
		change(crd)
		b.make(t, crd)
	}
	kind("strict", func(c *crdv1.CustomResourceDefinition) {
		c.Spec.Versions[0].Schema = &crdv1.CustomResourceValidation{
			OpenAPIV3Schema: &crdv1.JSONSchemaProps{Type: "object", Properties: map[string]crdv1.JSONSchemaProps{
				"spec": {
					Type:       "object",
					Required:   []string{"size"},
					Properties: map[string]crdv1.JSONSchemaProps{"size": {Type: "integer"}},
				},
			}},
		}
	})
	kind("converted", func(c *crdv1.CustomResourceDefinition) {
		url := "https://127.0.0.1:1/"
		v2 := c.Spec.Versions[0]
		v2.Name, c.Spec.Versions[0].Storage = "v2", false
		c.Spec.Versions = append(c.Spec.Versions, v2)
		c.Spec.Conversion = &crdv1.CustomResourceConversion{
			Strategy: crdv1.WebhookConverter,
			Webhook: &crdv1.WebhookConversion{
				ConversionReviewVersions: []string{"v1"},
				ClientConfig:             &crdv1.WebhookClientConfig{URL: &url},
			},
		}
	})
	kind("moved", func(c *crdv1.CustomResourceDefinition) { c.Spec.Versions[0].Name = "v2" })
	kind("large", func(*crdv1.CustomResourceDefinition) {})
	object := func(plural, spec string) {
		b.holds(
			t,
			plural+"."+group,
			fmt.Sprintf(
				`{"apiVersion":"%s/v1","kind":%q,"metadata":{"namespace":%q,"name":"x"},"spec":%s}`,
				group,
				strings.ToUpper(plural[:1])+plural[1:]+"Kind",
				ns,
				spec,
			),
		)
	}
	object("strict", `{}`)
	object("converted", `{}`)
	object("moved", `{}`)
	object("large", `{"text":"`+strings.Repeat("x", etcdRequestLimit-100)+`"}`)
	object("brought", `{}`)
	object("unknown", `{}`)
	b.holds(
		t,
		"customresourcedefinitions.apiextensions.k8s.io",
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"brought.`+group+`"},"spec":{"group":"`+group+`","scope":"Namespaced",
		"names":{"plural":"brought","singular":"brought","kind":"BroughtKind","listKind":"BroughtKindList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`,
	)
	err := wait.PollUntilContextTimeout(
		t.Context(),
		50*time.Millisecond,
		time.Minute,
		true,
		func(ctx context.Context) (bool, error) {
			o := &unstructured.Unstructured{
				Object: map[string]any{
					"apiVersion": group + "/v1",
					"kind":       "LargeKind",
					"metadata":   map[string]any{"namespace": ns, "name": "y"},
				},
			}
			return b.Create(ctx, o, dryRunAll) == nil, nil
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	d := b.run(t)
	of := func(plural string) string { return plural + "." + group + "/" + ns + "/x" }
	wants(t, "rejected", rejectedOf(d), map[string]string{
		of("strict"):    "spec.size: Required value",
		of("converted"): "conversion webhook for",
		of("moved"):     "the server could not find the requested resource",
		of("unknown"):   "the server could not find the requested resource",
		of("large"):     "warned: it has 1.5",
	})
	wants(t, "cannot tell", untoldOf(d.CannotTell), map[string]string{of("brought"): "this restore brings its CRD"})
}

// TestWhoAsks: an answer that depends on who asks is one only if Velero's service account asks.
func TestWhoAsks(t *testing.T) {
	ns := shared.Name("who")
	b := newBed(t, ns)
	b.velero = ServiceAccount{ns, "velero"}
	b.configMap(t, ns, "plain", "")
	b.holds(
		t,
		"services",
		`{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"`+ns+`","name":"web"},"spec":{"ports":[{"port":80}]}}`,
	)
	b.holds(
		t,
		"roles.rbac.authorization.k8s.io",
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"namespace":"`+ns+`","name":"strong"},"rules":[{"apiGroups":[""],"resources":["nodes"],"verbs":["*"]}]}`,
	)
	b.holds(
		t,
		"rolebindings.rbac.authorization.k8s.io",
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"namespace":"`+ns+`","name":"lost"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"missing"}}`,
	)
	create := rbacv1.PolicyRule{
		APIGroups: []string{"", "rbac.authorization.k8s.io"},
		Resources: []string{"configmaps", "roles", "rolebindings"},
		Verbs:     []string{"create", "get"},
	}
	var err error
	if b.config, err = b.AddUserWithRules(t.Context(), "dry-few", ns, create); err != nil {
		t.Fatal(err)
	}
	// Policies: of both that deny, one looks at who asks.
	fail := admissionv1.Fail
	for name, expression := range map[string]string{"by-user": "request.userInfo.username == 'nobody'", "by-object": "false"} {
		policy := &admissionv1.ValidatingAdmissionPolicy{
			ObjectMeta: meta("", ns+"-"+name),
			Spec: admissionv1.ValidatingAdmissionPolicySpec{
				FailurePolicy: &fail,
				MatchConstraints: &admissionv1.MatchResources{
					NamespaceSelector: &metav1.LabelSelector{
						MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns},
					},
					ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"denied": name}},
					ResourceRules: []admissionv1.NamedRuleWithOperations{
						{RuleWithOperations: admissionv1.RuleWithOperations{
							Operations: []admissionv1.OperationType{admissionv1.Create},
							Rule: admissionv1.Rule{
								APIGroups:   []string{""},
								APIVersions: []string{"v1"},
								Resources:   []string{"configmaps"},
							},
						}},
					},
				},
				Validations: []admissionv1.Validation{{Expression: expression, Message: "no"}},
			},
		}
		b.make(t, policy)
		b.make(
			t,
			&admissionv1.ValidatingAdmissionPolicyBinding{
				ObjectMeta: meta("", ns+"-"+name),
				Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
					PolicyName:        policy.Name,
					ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
				},
			},
		)
		b.configMap(t, ns, name, `,"labels":{"denied":"`+name+`"}`)
		b.settled(
			t,
			&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p", Labels: map[string]string{"denied": name}},
			},
			"denied request",
		)
	}
	b.make(
		t,
		&rbacv1.ClusterRole{
			ObjectMeta: meta("", ns),
			Rules: []rbacv1.PolicyRule{
				{
					APIGroups: []string{"admissionregistration.k8s.io"},
					Resources: []string{"validatingadmissionpolicies"},
					Verbs:     []string{"get"},
				},
			},
		},
	)
	b.make(
		t,
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: meta("", ns),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: ns},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "dry-few"}},
		},
	)
	d := b.run(t)
	if d.AsVelero || d.User != "dry-few" || d.NotVeleroReason != "you may not impersonate it" {
		t.Errorf("as %s, %t: %s", d.User, d.AsVelero, d.NotVeleroReason)
	}
	wants(t, "rejected", rejectedOf(d), map[string]string{"configmaps/" + ns + "/by-object": "denied request: no"})
	who := "depends on who asks"
	wants(
		t,
		"cannot tell",
		untoldOf(d.CannotTell),
		map[string]string{
			"configmaps/" + ns + "/by-user":                          "may look at who asks",
			"services/" + ns + "/web":                                who,
			"roles.rbac.authorization.k8s.io/" + ns + "/strong":      who,
			"rolebindings.rbac.authorization.k8s.io/" + ns + "/lost": who,
		},
	)
	if d.AcceptedCount != 1 {
		t.Errorf("accepted %d", d.AcceptedCount)
	}

	b.make(t, &corev1.ServiceAccount{ObjectMeta: meta(ns, "velero")})
	b.make(t, &rbacv1.Role{ObjectMeta: meta(ns, "velero"), Rules: []rbacv1.PolicyRule{create}})
	b.make(
		t,
		&rbacv1.RoleBinding{
			ObjectMeta: meta(ns, "velero"),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "velero"},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: "velero"}},
		},
	)
	b.config = b.RESTConfig() // an administrator, who may impersonate
	b.granted(t, "system:serviceaccount:"+ns+":velero", ns)
	d = b.run(t)
	if !d.AsVelero || d.User != "system:serviceaccount:"+ns+":velero" {
		t.Errorf("as %s, %t: %s", d.User, d.AsVelero, d.NotVeleroReason)
	}
	wants(
		t,
		"rejected",
		rejectedOf(d),
		map[string]string{
			"configmaps/" + ns + "/by-object":                        "no",
			"configmaps/" + ns + "/by-user":                          "no",
			"services/" + ns + "/web":                                `User "system:serviceaccount:` + ns + `:velero" cannot create resource "services"`,
			"roles.rbac.authorization.k8s.io/" + ns + "/strong":      "is attempting to grant RBAC permissions not currently held",
			"rolebindings.rbac.authorization.k8s.io/" + ns + "/lost": `"missing" not found`,
		},
	)
}

// TestExisting: with the policy update what exists is sent as Velero's patch, of which it only warns.
func TestExisting(t *testing.T) {
	ns := shared.Name("exists")
	b := newBed(t, ns)
	frozen := true
	b.make(t, &corev1.ConfigMap{ObjectMeta: meta(ns, "frozen"), Data: map[string]string{"a": "c"}, Immutable: &frozen})
	b.make(t, &corev1.ConfigMap{ObjectMeta: meta(ns, "same"), Data: map[string]string{"a": "b"}})
	b.make(t, &corev1.ConfigMap{ObjectMeta: meta(ns, "other"), Data: map[string]string{"a": "c"}})
	b.make(
		t,
		&corev1.Secret{
			ObjectMeta: meta(ns, "s"),
			StringData: map[string]string{"a": "cluster-value"},
			Immutable:  &frozen,
		},
	)
	for _, name := range []string{"frozen", "same", "other"} {
		b.configMap(t, ns, name, "")
	}
	b.holds(
		t,
		"secrets",
		`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"`+ns+`","name":"s"},"data":{"a":"YmFja3VwLXZhbHVl"}}`,
	)
	d := b.run(t)
	if d.SentCount != 0 || len(d.Rejected) > 0 || len(d.CannotTell) > 0 {
		t.Errorf("with the policy none: %+v", d)
	}
	b.spec.ExistingResourcePolicy = veleroapi.PolicyTypeUpdate
	d = b.run(t)
	wants(
		t,
		"rejected",
		rejectedOf(d),
		map[string]string{"configmaps/" + ns + "/frozen": "warned: ConfigMap \"frozen\" is invalid: [immutable"},
	)
	wants(t, "cannot tell", untoldOf(d.CannotTell), map[string]string{"secrets/" + ns + "/s": "only if you ask for it"})
	if d.AcceptedCount != 2 {
		t.Errorf("accepted %d", d.AcceptedCount)
	}
	b.query.SendSecrets = true
	d = b.run(t)
	wants(
		t,
		"rejected",
		rejectedOf(d),
		map[string]string{
			"configmaps/" + ns + "/frozen": "is invalid",
			"secrets/" + ns + "/s":         "warned: Secret \"s\" is invalid: [immutable",
		},
	)
	for _, text := range rejectedOf(d) {
		if strings.Contains(text, "YmFja") || strings.Contains(text, "-value") {
			t.Errorf("data of a Secret: %s", text)
		}
	}
}

// TestNodePort: a dry run asks for node ports that are taken (k8s.io/kubernetes/pkg/registry/core/service/portallocator/operation.go).
func TestNodePort(t *testing.T) {
	ns := shared.Name("ports")
	b := newBed(t, ns)
	b.make(
		t,
		&corev1.Service{
			ObjectMeta: meta(ns, "holder"),
			Spec: corev1.ServiceSpec{
				Type:  corev1.ServiceTypeNodePort,
				Ports: []corev1.ServicePort{{Port: 80, NodePort: 30123}},
			},
		},
	)
	b.holds(
		t,
		"services",
		`{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"`+ns+`","name":"web"},"spec":{"type":"NodePort","ports":[{"port":80,"nodePort":30123}]}}`,
	)
	b.spec.PreserveNodePorts = &yes
	wants(
		t,
		"rejected",
		rejectedOf(b.run(t)),
		map[string]string{"services/" + ns + "/web": "provided port is already allocated"},
	)
}
