//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

const drySource = "dry-source"

// plantDrySource makes the namespace that is backed up, with something for each trouble. It returns what is taken away
// from the cluster after the backup.
func plantDrySource(t *testing.T) (taken []client.Object) {
	t.Helper()
	ctx := patient(t)
	make := func(o client.Object) { must(t, theLab.Client.Create(ctx, o)) }
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: drySource, Name: name} }
	make(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: drySource}})
	for _, name := range []string{"a", "b", "owner"} {
		make(&corev1.ConfigMap{ObjectMeta: meta(name), Data: map[string]string{"from": "backup"}})
	}
	make(&corev1.Secret{ObjectMeta: meta("s"), StringData: map[string]string{"from": "backup"}})
	make(&corev1.ServiceAccount{ObjectMeta: meta("robot")})
	make(
		&rbacv1.Role{
			ObjectMeta: meta("reader"),
			Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}},
			},
		},
	)
	make(
		&rbacv1.RoleBinding{
			ObjectMeta: meta("reader"),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: drySource, Name: "robot"}},
		},
	)
	front := &corev1.Service{
		ObjectMeta: meta("front"),
		Spec: corev1.ServiceSpec{
			Type:  corev1.ServiceTypeNodePort,
			Ports: []corev1.ServicePort{{Port: 80, NodePort: 30778}},
		},
	}
	front.Annotations = map[string]string{
		corev1.LastAppliedConfigAnnotation: `{"spec":{"ports":[{"port":80,"nodePort":30778}]}}`,
	}
	make(front)
	priority := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "dry-priority"}, Value: 7}
	runtime := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "dry-runtime"}, Handler: "runc"}
	make(priority)
	make(runtime)
	pod := func(name string, change func(*corev1.PodSpec)) {
		spec := corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "web", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{
					"cpu": resource.MustParse("2"),
				},
				Limits: corev1.ResourceList{"cpu": resource.MustParse("2")},
			}}},
		}
		change(&spec)
		must(t, theLab.CreatePod(ctx, &corev1.Pod{ObjectMeta: meta(name), Spec: spec}))
	}
	pod("plain", func(*corev1.PodSpec) {})
	pod("robot", func(s *corev1.PodSpec) { s.ServiceAccountName = "robot" })
	pod("important", func(s *corev1.PodSpec) { s.PriorityClassName = "dry-priority" })
	pod("sandboxed", func(s *corev1.PodSpec) { runtime := "dry-runtime"; s.RuntimeClassName = &runtime })
	for plural, kind := range map[string]string{"dryas": "Drya", "drybs": "Dryb"} {
		served := customKind(plural, kind, "v1")
		make(served)
		taken = append(taken, served)
		object := &unstructured.Unstructured{
			Object: map[string]any{
				"apiVersion": "pf.example.com/v1",
				"kind":       kind,
				"metadata":   map[string]any{"namespace": drySource, "name": "x"},
			},
		}
		eventuallyCreate(t, object)
	}
	return append(taken, priority, runtime, front)
}

func eventuallyCreate(t *testing.T, o client.Object) {
	t.Helper()
	awaitTrue(
		t,
		"the API server to take "+o.GetName(),
		func() bool { return theLab.Client.Create(patient(t), o.DeepCopyObject().(client.Object)) == nil },
	)
}

func awaitTrue(t *testing.T, what string, done func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(
		patient(t),
		50*time.Millisecond,
		time.Minute,
		true,
		func(context.Context) (bool, error) { return done(), nil },
	)
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// settling is how long admission may take to hear of its configuration.
const settling = 3 * time.Second

// restoring matches Velero's errors that name an object of a namespace.
var restoring = regexp.MustCompile(`^error restoring ([^/ ]+)/(?:[^/ ]+/)?([^ :]+): `)

// refusedBy returns the objects for which a restore has an error, and how many errors name none.
func refusedBy(t *testing.T, name, namespace string) (refused []string, unnamed int) {
	t.Helper()
	var real map[string]struct {
		Velero     []string
		Namespaces map[string][]string
	}
	must(t, json.Unmarshal([]byte(stored(t, name, "results")), &real))
	unnamed = len(real["errors"].Velero)
	for _, message := range real["errors"].Namespaces[namespace] {
		if m := restoring.FindStringSubmatch(message); m != nil {
			refused = append(refused, m[1]+"/"+m[2])
			continue
		}
		t.Logf("%s: %s", name, message)
		unnamed++
	}
	slices.Sort(refused)
	return refused, unnamed
}

// TestDryRunEqualsRestore plants trouble in one target after another: what the dry run says is rejected is what the
// real Velero then has errors for, object by object.
func TestDryRunEqualsRestore(t *testing.T) {
	ctx := patient(t)
	make := func(o client.Object) { must(t, theLab.Client.Create(ctx, o)) }
	taken := plantDrySource(t)
	tidy := func(name string) { // so that they do not fill the first screen of later tests
		t.Cleanup(func() {
			r := &veleroapi.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: name}}
			must(t, client.IgnoreNotFound(theLab.Client.Delete(context.Background(), r)))
		})
	}
	restart := func() { must(t, theLab.TerminateVelero(ctx)); must(t, theLab.StartVelero(ctx, unthrottled...)) }
	restart()
	wantEnd(t, backup(t, "dry", veleroapi.BackupSpec{IncludedNamespaces: []string{drySource}}, nil), "Completed")
	for _, o := range taken {
		must(t, theLab.DeleteAndWait(ctx, o))
	}
	strict := customKind("drybs", "Dryb", "v1") // and dryas is not served any more
	strict.Spec.Versions[0].Schema = &crdv1.CustomResourceValidation{
		OpenAPIV3Schema: &crdv1.JSONSchemaProps{Type: "object", Required: []string{"spec"},
			Properties: map[string]crdv1.JSONSchemaProps{"spec": {Type: "object"}}},
	}
	make(strict)
	defer func() { must(t, theLab.DeleteAndWait(ctx, strict)) }()
	make(
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "dry-velero"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects: []rbacv1.Subject{
				{Kind: rbacv1.ServiceAccountKind, Namespace: lab.Namespace, Name: "default"},
			},
		},
	) // the lab's server pod has no other
	restart()

	fail, none, never := admissionv1.Fail, admissionv1.SideEffectClassNone, "https://127.0.0.1:1/"
	within := func(ns string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}}
	}
	rules := []admissionv1.RuleWithOperations{
		{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule: admissionv1.Rule{
				APIGroups:   []string{""},
				APIVersions: []string{"v1"},
				Resources:   []string{"configmaps", "secrets"},
			},
		},
	}
	hook := func(ns string, conditions ...admissionv1.MatchCondition) client.Object {
		return &admissionv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: ns},
			Webhooks: []admissionv1.ValidatingWebhook{
				{
					Name: "check.pf.example.com",
					ClientConfig: admissionv1.WebhookClientConfig{
						URL: &never,
					},
					Rules:                   rules,
					FailurePolicy:           &fail,
					SideEffects:             &none,
					NamespaceSelector:       within(ns),
					AdmissionReviewVersions: []string{"v1"},
					MatchConditions:         conditions,
				},
			},
		}
	}
	in := func(ns, name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns, Name: name} }
	quota := func(ns string, hard corev1.ResourceList) client.Object {
		return &corev1.ResourceQuota{ObjectMeta: in(ns, "few"), Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	}
	limits := func(ns string, item corev1.LimitRangeItem) client.Object {
		return &corev1.LimitRange{
			ObjectMeta: in(ns, "limits"),
			Spec:       corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}},
		}
	}
	// What is gone from the cluster troubles every restore.
	everywhere := []string{"dryas.pf.example.com/x", "drybs.pf.example.com/x", "pods/important", "pods/sandboxed"}
	for _, c := range []struct {
		ns     string
		plant  func(ns string) []client.Object
		labels map[string]string
		spec   func(*veleroapi.RestoreSpec)
		args   []string
		want   []string // besides everywhere
		warned []string
	}{
		{ns: "dry-nothing"},
		{ns: "dry-limits", plant: func(ns string) []client.Object {
			return []client.Object{limits(ns, corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{"cpu": resource.MustParse("1")}})}
		}, want: []string{"pods/plain", "pods/robot"}},
		{ns: "dry-ratio", plant: func(ns string) []client.Object {
			return []client.Object{limits(ns, corev1.LimitRangeItem{Type: corev1.LimitTypePod, Min: corev1.ResourceList{"memory": resource.MustParse("1Gi")}})}
		}, want: []string{"pods/plain", "pods/robot"}},
		{ns: "dry-policy", plant: func(ns string) []client.Object {
			return []client.Object{&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: admissionv1.ValidatingAdmissionPolicySpec{FailurePolicy: &fail,
				MatchConstraints: &admissionv1.MatchResources{NamespaceSelector: within(ns), ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: rules[0]}}},
				Validations:      []admissionv1.Validation{{Expression: "object.metadata.name != 'owner' && object.metadata.name != 's'", Message: "needs an owner"}}}},
				&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: ns, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}}}
		}, want: []string{"configmaps/owner", "secrets/s"}},
		{ns: "dry-param", plant: func(ns string) []client.Object {
			deny := admissionv1.DenyAction
			return []client.Object{&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: admissionv1.ValidatingAdmissionPolicySpec{FailurePolicy: &fail, ParamKind: &admissionv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"},
				MatchConstraints: &admissionv1.MatchResources{NamespaceSelector: within(ns), ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: rules[0]}}},
				Validations:      []admissionv1.Validation{{Expression: "true"}}}},
				&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: ns, ParamRef: &admissionv1.ParamRef{Name: "missing", Namespace: lab.Namespace, ParameterNotFoundAction: &deny}, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}}}
		}, want: []string{"configmaps/a", "configmaps/b", "configmaps/owner", "secrets/s"}},
		{ns: "dry-refused", plant: func(ns string) []client.Object { return []client.Object{hook(ns)} }, want: []string{"configmaps/a", "configmaps/b", "configmaps/owner", "secrets/s"}},
		{ns: "dry-matched", plant: func(ns string) []client.Object {
			return []client.Object{hook(ns, admissionv1.MatchCondition{Name: "never", Expression: "false"})}
		}},
		{ns: "dry-quota", plant: func(ns string) []client.Object {
			return []client.Object{quota(ns, corev1.ResourceList{"count/secrets": resource.MustParse("0"), "count/services": resource.MustParse("0")})}
		}, want: []string{"secrets/s", "services/front"}},
		{ns: "dry-unsaid", plant: func(ns string) []client.Object {
			return []client.Object{quota(ns, corev1.ResourceList{"requests.memory": resource.MustParse("1Gi")})}
		}, want: []string{"pods/plain", "pods/robot"}},
		{ns: "dry-secure", labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}, want: []string{"pods/plain", "pods/robot"}},
		{ns: "dry-port", plant: func(ns string) []client.Object {
			return []client.Object{&corev1.Service{ObjectMeta: in(ns, "holder"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30778}}}}}
		}, want: []string{"services/front"}},
		{ns: "dry-update", spec: func(s *veleroapi.RestoreSpec) { s.ExistingResourcePolicy = veleroapi.PolicyTypeUpdate }, args: []string{"--existing-resource-policy", "update"}, plant: func(ns string) []client.Object {
			frozen := true
			return []client.Object{&corev1.ConfigMap{ObjectMeta: in(ns, "a"), Data: map[string]string{"from": "cluster"}, Immutable: &frozen},
				&corev1.ConfigMap{ObjectMeta: in(ns, "b"), Data: map[string]string{"from": "cluster"}}}
		}, warned: []string{"configmaps/a"}},
	} {
		make(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.ns, Labels: c.labels}})
		awaitTrue(t, "what Kubernetes makes in "+c.ns, func() bool {
			return theLab.Client.Get(
				ctx,
				client.ObjectKey{Namespace: c.ns, Name: "default"},
				&corev1.ServiceAccount{},
			) == nil &&
				theLab.Client.Get(
					ctx,
					client.ObjectKey{Namespace: c.ns, Name: "kube-root-ca.crt"},
					&corev1.ConfigMap{},
				) == nil
		})
		var planted []client.Object
		if c.plant != nil {
			for _, o := range c.plant(c.ns) {
				make(o)
				planted = append(planted, o)
			}
		}
		if planted != nil {
			time.Sleep(settling)
		}
		args := append(
			[]string{
				"preflight",
				"-o",
				"json",
				"backup/dry",
				"--dry-run",
				"--dry-run-secrets",
				"--namespace-mappings",
				drySource + ":" + c.ns,
				"--include-cluster-resources=false",
			},
			c.args...)
		_, printed := runVeltui(t, args...)
		var d struct {
			DryRun struct {
				AsVelero bool
				Rejected []struct {
					Resource, Name, Message string
					Warned                  bool
				}
				CannotTell []struct {
					Why   string
					Names []string
				}
			}
		}
		if err := json.Unmarshal(document(printed), &d); err != nil {
			t.Fatalf("%v in %s", err, printed)
		}
		var said, warned []string
		words := map[string]string{}
		for _, r := range d.DryRun.Rejected {
			key := r.Resource + "/" + r.Name
			if words[key] = r.Message; r.Warned {
				warned = append(warned, key)
			} else {
				said = append(said, key)
			}
		}
		slices.Sort(said)
		spec := veleroapi.RestoreSpec{
			BackupName:              "dry",
			NamespaceMapping:        map[string]string{drySource: c.ns},
			IncludeClusterResources: new(bool),
		}
		if c.spec != nil {
			c.spec(&spec)
		}
		tidy(c.ns)
		wantEnd(t, restore(t, c.ns, spec, nil), "PartiallyFailed")
		refused, unnamed := refusedBy(t, c.ns, c.ns)
		if !slices.Equal(said, refused) || unnamed > 0 || len(d.DryRun.CannotTell) > 0 || !d.DryRun.AsVelero ||
			!slices.Equal(warned, c.warned) {
			t.Errorf(
				"%s: the dry run says %q, Velero %q and %d more; warned %q, cannot tell %v\n%s",
				c.ns,
				said,
				refused,
				unnamed,
				warned,
				d.DryRun.CannotTell,
				fmt.Sprint(slices.Sorted(maps.Values(words))),
			)
		}
		want := slices.Concat(everywhere, c.want)
		if slices.Sort(want); !slices.Equal(refused, want) {
			t.Errorf("%s: Velero refused %q, planted for %q", c.ns, refused, want)
		}
		for _, o := range planted {
			must(t, theLab.DeleteAndWait(ctx, o))
		}
		// It holds the node port.
		must(t, client.IgnoreNotFound(theLab.Client.Delete(ctx, &corev1.Service{ObjectMeta: in(c.ns, "front")})))
	}

	// A name that Kubernetes does not take: Velero says it once for each item.
	d, found := preflight(
		t,
		exitRefused,
		"backup/dry",
		"--dry-run",
		"--dry-run-secrets",
		"--namespace-mappings",
		drySource+":Ops_2",
		"--include-cluster-resources=false",
	)
	tidy("dry-invalid")
	wantEnd(
		t,
		restore(
			t,
			"dry-invalid",
			veleroapi.RestoreSpec{
				BackupName:              "dry",
				NamespaceMapping:        map[string]string{drySource: "Ops_2"},
				IncludeClusterResources: new(bool),
			},
			nil,
		),
		"PartiallyFailed",
	)
	// The namespace is an item, and has no error of its own.
	if refused, unnamed := refusedBy(
		t,
		"dry-invalid",
		"Ops_2",
	); len(refused) > 0 || unnamed != d.Items-1 ||
		!slices.Contains(found, "obstacle Rejected ") {
		t.Errorf("Velero has %q and %d errors for %d items; found %q", refused, unnamed, d.Items, found)
	}
}
