package verify

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/stored/results"
)

// entry is an entry of managed fields, in YAML; fields are FieldsV1.
func entry(manager, at, fields string) string {
	return fmt.Sprintf(
		"{manager: %s, operation: Update, apiVersion: v1, time: '%s', fieldsType: FieldsV1, fieldsV1: %s}",
		manager, at, fields,
	)
}

const (
	beforeBackup = "2020-01-01T00:00:00Z"
	afterRestore = "2031-01-01T00:00:00Z"
)

// written adds managed fields to an object in YAML.
func written(t *testing.T, text string, entries ...string) string {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	metadata, _ := o["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	var all []any
	if err := yaml.Unmarshal([]byte("["+strings.Join(entries, ", ")+"]"), &all); err != nil {
		t.Fatalf("%v: %s", err, entries)
	}
	metadata["managedFields"], o["metadata"] = all, metadata
	body, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// moreFields are objects of a backup, what the live object has more, and what its managed fields say of that.
var moreFields = map[string]struct {
	resource, backup, live, fields, want string
	content                              ContentState
}{
	"ingress opened": {
		"networkpolicies.networking.k8s.io",
		"{kind: NetworkPolicy, spec: {podSelector: {matchLabels: {a: b}}, policyTypes: [Ingress]}}",
		"{kind: NetworkPolicy, spec: {podSelector: {matchLabels: {a: b}}, policyTypes: [Ingress], ingress: [{}]}}",
		"{f:spec: {f:ingress: {}}}", "spec.ingress", Changed,
	},
	"a rule more": {
		"networkpolicies.networking.k8s.io",
		"{kind: NetworkPolicy, spec: {egress: [{ports: [{port: 1}]}]}}",
		"{kind: NetworkPolicy, spec: {egress: [{ports: [{port: 1}]}, {ports: [{port: 2}]}]}}",
		"{f:spec: {f:egress: {}}}", "spec.egress", Changed,
	},
	"a peer widened to all namespaces": {
		"networkpolicies.networking.k8s.io",
		"{kind: NetworkPolicy, spec: {ingress: [{from: [{podSelector: {matchLabels: {a: b}}}]}]}}",
		"{kind: NetworkPolicy, spec: {ingress: [{from: [{podSelector: {matchLabels: {a: b}}, namespaceSelector: {}}]}]}}",
		"{f:spec: {f:ingress: {}}}", "spec.ingress[0].from[0].namespaceSelector", Changed,
	},
	"a peer narrowed to its namespace": {
		"networkpolicies.networking.k8s.io",
		"{kind: NetworkPolicy, spec: {ingress: [{from: [{podSelector: {matchLabels: {a: b}}, namespaceSelector: {}}]}]}}",
		"{kind: NetworkPolicy, spec: {ingress: [{from: [{podSelector: {matchLabels: {a: b}}}]}]}}",
		"{f:spec: {f:ingress: {}}}", "spec.ingress[0].from[0].namespaceSelector", Changed,
	},
	"paused": {
		"deployments.apps", "{kind: Deployment, spec: {replicas: 1}}", "{kind: Deployment, spec: {replicas: 1, paused: true}}",
		"{f:spec: {f:paused: {}}}", "spec.paused", Changed,
	},
	"immutable": {
		"configmaps", "{kind: ConfigMap, data: {a: b}}", "{kind: ConfigMap, data: {a: b}, immutable: true}",
		"{f:immutable: {}}", "immutable", Changed,
	},
	"host network": {
		"daemonsets.apps",
		"{kind: DaemonSet, spec: {template: {spec: {containers: [{name: web}]}}}}",
		"{kind: DaemonSet, spec: {template: {spec: {hostNetwork: true, containers: [{name: web}]}}}}",
		"{f:spec: {f:template: {f:spec: {f:hostNetwork: {}}}}}", "spec.template.spec.hostNetwork", Changed,
	},
	"privileged": {
		"deployments.apps",
		"{kind: Deployment, spec: {template: {spec: {containers: [{name: web}, {name: db}]}}}}",
		"{kind: Deployment, spec: {template: {spec: {containers: [{name: web, securityContext: {privileged: true}}, {name: db}]}}}}",
		"{f:spec: {f:template: {f:spec: {f:containers: {'k:{\"name\":\"web\"}': {f:securityContext: {f:privileged: {}}}}}}}}",
		"spec.template.spec.containers[web].securityContext.privileged", Changed,
	},
	"suspended": {
		"cronjobs.batch", "{kind: CronJob, spec: {schedule: a}}", "{kind: CronJob, spec: {schedule: a, suspend: true}}",
		"{f:spec: {f:suspend: {}}}", "spec.suspend", Changed,
	},
	"a label": {
		"services", "{kind: Service, metadata: {labels: {a: b}}, spec: {type: ClusterIP}}",
		"{kind: Service, metadata: {labels: {a: b, example.com/tier: x}}, spec: {type: ClusterIP}}",
		"{f:metadata: {f:labels: {f:example.com/tier: {}}}}", "metadata.labels.example.com/tier", Changed,
	},
	"left out of backups": {
		"configmaps", "{kind: ConfigMap, data: {a: b}}",
		"{kind: ConfigMap, metadata: {labels: {velero.io/exclude-from-backup: 'true'}}, data: {a: b}}",
		"{f:metadata: {f:labels: {.: {}, f:velero.io/exclude-from-backup: {}}}}",
		"metadata.labels.velero.io/exclude-from-backup", Changed,
	},
	"an Ingress annotation": {
		"ingresses.networking.k8s.io", "{kind: Ingress, spec: {ingressClassName: a}}",
		"{kind: Ingress, metadata: {annotations: {nginx.ingress.kubernetes.io/auth-type: none}}, spec: {ingressClassName: a}}",
		"{f:metadata: {f:annotations: {.: {}, f:nginx.ingress.kubernetes.io/auth-type: {}}}}",
		"metadata.annotations.nginx.ingress.kubernetes.io/auth-type", Changed,
	},
	"a port more": {
		"services", "{kind: Service, spec: {ports: [{name: a, port: 1, protocol: TCP}]}}",
		"{kind: Service, spec: {ports: [{name: a, port: 1, protocol: TCP}, {name: b, port: 2, protocol: TCP}]}}",
		"{f:spec: {f:ports: {'k:{\"port\":2,\"protocol\":\"TCP\"}': {.: {}, f:name: {}, f:port: {}, f:protocol: {}}}}}",
		"spec.ports", Changed,
	},
	"a rule of a Role more": {
		"roles.rbac.authorization.k8s.io", "{kind: Role, rules: [{verbs: [get]}]}",
		"{kind: Role, rules: [{verbs: [get]}, {verbs: [delete]}]}", "{f:rules: {}}", "rules", Changed,
	},
	"a verb more": {
		"roles.rbac.authorization.k8s.io", "{kind: Role, rules: [{verbs: [get]}]}",
		"{kind: Role, rules: [{verbs: [get, delete]}]}", "{f:rules: {}}", "rules[0].verbs", Changed,
	},
	"a pull secret of an account": {
		"serviceaccounts", "{kind: ServiceAccount}", "{kind: ServiceAccount, imagePullSecrets: [{name: a}]}",
		"{f:imagePullSecrets: {'k:{\"name\":\"a\"}': {.: {}, f:name: {}}}}", "imagePullSecrets", Changed,
	},
	"an ephemeral container": {
		"pods", "{kind: Pod, spec: {containers: [{name: web}]}}",
		"{kind: Pod, spec: {containers: [{name: web}], ephemeralContainers: [{name: dbg, image: sh}]}}",
		"{f:spec: {f:ephemeralContainers: {.: {}, 'k:{\"name\":\"dbg\"}': {.: {}, f:image: {}, f:name: {}}}}}",
		"spec.ephemeralContainers", Changed,
	},
	"a webhook's selector": {
		live.ValidatingWebhooks, "{kind: X, webhooks: [{name: a, sideEffects: None}]}",
		"{kind: X, webhooks: [{name: a, sideEffects: None, matchConditions: [{name: c, expression: 'false'}]}]}",
		"{f:webhooks: {'k:{\"name\":\"a\"}': {f:matchConditions: {.: {}, 'k:{\"name\":\"c\"}': {.: {}, f:name: {}, f:expression: {}}}}}}",
		"webhooks[a].matchConditions", Changed,
	},
	"scaling behavior": {
		"horizontalpodautoscalers.autoscaling", "{kind: X, spec: {maxReplicas: 9}}",
		"{kind: X, spec: {maxReplicas: 9, behavior: {scaleDown: {selectPolicy: Disabled}}}}",
		"{f:spec: {f:behavior: {f:scaleDown: {f:selectPolicy: {}}}}}", "spec.behavior.scaleDown.selectPolicy", Changed,
	},
}

// TestRolloutRestart: of a template, the annotation of a restart is no change, nor is that it has annotations then.
func TestRolloutRestart(t *testing.T) {
	const was = "{kind: Deployment, spec: {x: y, template: {spec: {a: b}}}}"
	for template, want := range map[string]ContentState{
		"{metadata: {annotations: {kubectl.kubernetes.io/restartedAt: now}}, spec: {a: b}}":             Same,
		"{metadata: {annotations: {kubectl.kubernetes.io/restartedAt: now, sidecar: x}}, spec: {a: b}}": Changed,
	} {
		fields := "{f:spec: {f:template: {f:metadata: {f:annotations: {.: {}, f:kubectl.kubernetes.io/restartedAt: {}, f:sidecar: {}}}}}}"
		item, _ := contentCase{
			resource: "deployments.apps", backup: was,
			live: written(t, "{kind: Deployment, spec: {x: y, template: "+template+"}}", entry("kubectl", afterRestore, fields)),
		}.compare(t)
		if item.Content != want {
			t.Errorf("%s: %s %q", template, item.Content, item.Fields)
		}
	}
}

// TestFieldsMore: what somebody wrote after the restore is a change, whoever wrote other fields of the object. What the
// restore brought, or the API server filled in, is none.
func TestFieldsMore(t *testing.T) {
	for name, c := range moreFields {
		t.Run(name, func(t *testing.T) {
			hand := entry("kubectl-edit", afterRestore, c.fields)
			old := entry("kubectl-edit", beforeBackup, c.fields)
			server := entry("velero-server", afterRestore, c.fields)
			other := entry("kubectl-label", afterRestore, "{f:metadata: {f:labels: {f:other: {}}}}")
			longer := strings.HasSuffix(name, "more") // an element more counts whoever wrote it, as admission seldom does
			for _, w := range []struct {
				who     string
				backup  []string
				live    []string
				content ContentState
			}{
				{"hand", []string{old}, []string{hand, other}, c.content},
				{"hand, new to the object", []string{other}, []string{other, hand}, c.content},
				{"hand, after Velero", nil, []string{server, hand}, c.content},
				{"the backup's manager", []string{old}, []string{old, other}, Same},
				{"Velero", nil, []string{server}, Same},
				{"nobody", nil, []string{other}, Same},
			} {
				item, _ := contentCase{
					resource: c.resource, backup: written(t, c.backup, w.backup...), live: written(t, c.live, w.live...),
				}.compare(t)
				if longer || name == "a peer narrowed to its namespace" {
					w.content = Changed
				}
				if fields := strings.Join(item.Fields, " "); item.Content != w.content ||
					w.content == c.content && fields != c.want {
					t.Errorf("%s: %s %q, want %s %q", w.who, item.Content, fields, w.content, c.want)
				}
			}
		})
	}
}

// TestDriftByAnotherHand: each field that may drift drifts as long as nobody but its controller wrote it.
func TestDriftByAnotherHand(t *testing.T) {
	for _, d := range prepare.Drifts {
		t.Run(d.Resource+" "+d.Field, func(t *testing.T) {
			if d.Writer == "" {
				t.Error("the row does not say who writes the field")
			}
			was, fields := fieldObject(d, "old")
			is, _ := fieldObject(d, "new")
			old := entry("kubectl-create", beforeBackup, fields)
			managers := map[string]ContentState{"kubectl-edit": Changed, "some-operator": Changed, "velero-server": Same}
			for _, m := range d.Managers {
				managers[m] = Same
			}
			if d.IsCertificate {
				managers["some-operator"] = Same
			}
			for manager, want := range managers {
				item, _ := contentCase{
					resource: d.Resource, backup: written(t, was, old), live: written(t, is, entry(manager, afterRestore, fields)),
				}.compare(t)
				if item.Content != want {
					t.Errorf("written by %s: %s %q, want %s", manager, item.Content, item.Fields, want)
				}
			}
			if item, _ := (contentCase{resource: d.Resource, backup: written(t, was, old), live: written(t, is, old)}).
				compare(t); item.Content != Same {
				t.Errorf("written by the API server: %s %q", item.Content, item.Fields)
			}
			lacking := "{kind: X, apiVersion: v1, kept: {x: y}"
			if d.IfFilled {
				lacking += ", metadata: {annotations: {kubernetes.io/service-account.name: x}}"
			}
			if d.IfAggregated {
				lacking += ", aggregationRule: {x: y}"
			}
			if item, _ := (contentCase{resource: d.Resource, backup: written(t, was, old), live: written(t, lacking+"}", old)}).
				compare(t); (item.Content == Same) != d.MayLack {
				t.Errorf("the object lacks it: %s %q", item.Content, item.Fields)
			}
			if item, _ := (contentCase{resource: "widgets.example.com", backup: written(t, was, old), live: written(t, is, old)}).
				compare(t); item.Content != Changed {
				t.Errorf("of another kind: %s %q", item.Content, item.Fields)
			}
		})
	}
}

// fieldObject returns an object in which a field has a value, beside another, and the FieldsV1 of the field.
func fieldObject(d prepare.Drift, value string) (text, fields string) {
	if d.Field == "metadata.labels" {
		return "{kind: X, apiVersion: v1, kept: {x: y}, metadata: {labels: {a: " + value + "}}}", "{f:metadata: {f:labels: {f:a: {}}}}"
	}
	path := strings.Split(d.Field, ".")
	text, fields = value, "{}"
	if last := path[len(path)-1]; last == "data" {
		text = "{token: " + value + "}"
	}
	for i := len(path) - 1; i >= 0; i-- {
		name, isList := strings.CutSuffix(path[i], "[]")
		if isList {
			text = "[{name: a, " + strings.Trim(text, "{}") + "}]"
			fields = `{'k:{"name":"a"}': ` + fields + "}"
			if strings.Contains(text, "caBundle") {
				text = "[{name: a, sideEffects: None, clientConfig: {caBundle: " + value + "}}]"
			}
		}
		text, fields = "{"+name+": "+text+"}", "{f:"+name+": "+fields+"}"
	}
	metadata := "{}"
	if d.IfFilled {
		metadata = "{annotations: {kubernetes.io/service-account.name: x}}"
	}
	text = "{kind: X, apiVersion: v1, metadata: " + metadata + ", kept: {x: y}, " + strings.TrimPrefix(text, "{")
	if d.IfAggregated {
		text = strings.TrimSuffix(text, "}") + ", aggregationRule: {x: y}}"
	}
	return text, fields
}

// TestAutoscalerByAnotherHand: within the bounds of an autoscaler, what somebody else scaled is scaled all the same.
func TestAutoscalerByAnotherHand(t *testing.T) {
	const was, is = "{kind: Deployment, spec: {replicas: 3, x: y}}", "{kind: Deployment, spec: {replicas: 5, x: y}}"
	for manager, want := range map[string]ContentState{"kube-controller-manager": Same, "keda": Same, "kubectl": Scaled} {
		scale := strings.Replace(
			entry(manager, afterRestore, "{f:spec: {f:replicas: {}}}"), "{", "{subresource: scale, ", 1,
		)
		item, _ := contentCase{
			resource: "deployments.apps", autoscaler: true, backup: was, live: written(t, is, scale),
		}.compare(t)
		if item.Content != want {
			t.Errorf("%s: %s %q, want %s", manager, item.Content, item.Fields, want)
		}
	}
}

// TestAccountOfTheCluster: of the ServiceAccount that the cluster makes in each namespace, what users added is compared.
func TestAccountOfTheCluster(t *testing.T) {
	items := results.Items{Kinds: []results.Kind{{Name: "serviceaccounts", Items: []results.Item{
		{Namespace: "shop", Name: "default", Status: results.Failed, Why: differs},
	}}}}
	in := Input{RestoreName: "r1", Started: began, Ended: ended, Items: items}
	in.Target = live.NewState(BuildQuery(items), func(string, string, string) *live.Object {
		return &live.Object{Created: began}
	})
	r := Judge(in)
	if !r.IsComplete() || r.Kinds[0].Items[0].State != Existed {
		t.Errorf("without a comparison: %+v", r.Kinds[0].Items[0])
	}
	c := NewComparison(in, &r, prepare.Rules{}, func(string) []string { return nil })
	body := func(secrets string) []byte {
		return []byte(`{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": "shop", "name": "default",
			"managedFields": [{"manager": "kube-controller-manager"}]}` + secrets + `}`)
	}
	c.AddBackupItem("serviceaccounts", "shop", "default", body(`, "imagePullSecrets": [{"name": "pull"}]`))
	var account unstructured.Unstructured
	if err := account.UnmarshalJSON(body("")); err != nil {
		t.Fatal(err)
	}
	c.CompareLive("serviceaccounts", &account)
	c.FinishResult(nil, nil)
	if i := r.Kinds[0].Items[0]; i.Content != Emptied {
		t.Errorf("%+v", i)
	}
}

// TestMergedAccount: of an account that existed, only what the backup has and the account lacks counts. Velero keeps
// what the account has.
func TestMergedAccount(t *testing.T) {
	const backup = "{kind: ServiceAccount, metadata: {annotations: {role: a}}, imagePullSecrets: [{name: a}]}"
	hand := func(at string) string {
		return entry("kubectl-patch", at, "{f:metadata: {f:annotations: {f:role: {}}}, f:imagePullSecrets: "+
			`{'k:{"name":"b"}': {.: {}, f:name: {}}}}`)
	}
	older := live.Object{Created: began.Add(-time.Hour)}
	for name, c := range map[string]struct {
		live string
		want ContentState
	}{
		"an element more": {"{annotations: {role: a}}, imagePullSecrets: [{name: b}, {name: a}]", Same},
		"another role":    {"{annotations: {role: b}}, imagePullSecrets: [{name: a}]", Same},
		"a label more":    {"{annotations: {role: a}, labels: {x: y}}, imagePullSecrets: [{name: a}]", Same},
		"another element": {"{annotations: {role: a}}, imagePullSecrets: [{name: b}]", Changed},
		"no element":      {"{annotations: {role: a}}", Emptied},
		"no annotation":   {"{annotations: {x: y}}, imagePullSecrets: [{name: a}]", Changed},
		"a field more":    {"{annotations: {role: a}}, imagePullSecrets: [{name: a}], secrets: [{name: t}]", Same},
	} {
		for _, did := range []results.ItemStatus{results.Updated, results.Skipped} {
			item, _ := contentCase{
				resource: "serviceaccounts", did: did, object: older, backup: backup,
				live: written(t, "{kind: ServiceAccount, metadata: "+c.live+"}", hand(beforeBackup)),
			}.compare(t)
			if item.Content != c.want {
				t.Errorf("%s, %s: %s %q, want %s", name, did, item.Content, item.Fields, c.want)
			}
		}
	}
}

// TestWrittenBeforeTheRestore: who wrote before the restore began did not change what the restore made, but may be why
// an object differs that Velero left.
func TestWrittenBeforeTheRestore(t *testing.T) {
	const backup, is = "{kind: ConfigMap, data: {a: b}}", "{kind: ConfigMap, data: {a: b}, immutable: true}"
	for _, c := range []struct {
		did   results.ItemStatus
		at    string
		state State
		want  ContentState
	}{
		{results.Created, beforeBackup, Restored, Same},
		{results.Created, afterRestore, Restored, Changed},
		{results.Failed, beforeBackup, Differs, ""},
	} {
		item, _ := contentCase{
			resource: "configmaps", did: c.did, backup: backup,
			live: written(t, is, entry("kubectl-edit", c.at, "{f:immutable: {}}")),
		}.compare(t)
		if item.State != c.state || item.Content != c.want {
			t.Errorf("%s, written %s: %s %s %q", c.did, c.at, item.State, item.Content, item.Fields)
		}
	}
}

// TestCertificates: the certificate of a webhook's server is no user's, unless its writer wrote more than that.
func TestCertificates(t *testing.T) {
	const was = "{kind: X, webhooks: [{name: a, sideEffects: None, clientConfig: {caBundle: old}}]}"
	const is = "{kind: X, webhooks: [{name: a, sideEffects: None, clientConfig: {caBundle: new}}]}"
	fields := func(more string) string {
		return `{f:metadata: {f:labels: {f:x: {}}}, f:webhooks: {'k:{"name":"a"}': {.: {}, f:clientConfig: {f:caBundle: {}}` + more + "}}}"
	}
	for more, want := range map[string]ContentState{
		"": Same, ", f:failurePolicy: {}": Same, ", f:rules: {}": Changed,
	} {
		for _, did := range []results.ItemStatus{results.Created, results.Failed} {
			item, _ := contentCase{
				resource: live.ValidatingWebhooks, did: did, backup: was,
				live: written(t, is, entry("pilot-discovery", afterRestore, fields(more))),
			}.compare(t)
			if state := item.State; did == results.Created && item.Content != want ||
				did == results.Failed && (state == Differs) == (want == Same) {
				t.Errorf("%q, %s: %s %s %q", more, did, state, item.Content, item.Fields)
			}
		}
	}
}

// TestLeaderInEndpoints: who leads a database is in annotations of its Endpoints.
func TestLeaderInEndpoints(t *testing.T) {
	const endpoints = "{kind: Endpoints, metadata: {annotations: {leader: %s}}, subsets: [{addresses: [{ip: 10.0.0.1}]}]}"
	item, _ := contentCase{
		resource: "endpoints", backup: fmt.Sprintf(endpoints, "db-0"),
		live: written(t, fmt.Sprintf(endpoints, "db-1"),
			entry("Patroni", afterRestore, "{f:metadata: {f:annotations: {f:leader: {}}}}")),
	}.compare(t)
	if item.Content != Same {
		t.Errorf("%s %q", item.Content, item.Fields)
	}
}

// TestExistedWithMore: a Service that existed, and that Velero always finds different, may differ by an old label.
func TestExistedWithMore(t *testing.T) {
	item, _ := contentCase{
		resource: "services", did: results.Failed, object: live.Object{Created: began.Add(-time.Hour)},
		backup: "{kind: Service, spec: {type: ClusterIP}}",
		live: written(t, "{kind: Service, metadata: {labels: {x: y}}, spec: {type: ClusterIP}}",
			entry("kubectl-label", beforeBackup, "{f:metadata: {f:labels: {f:x: {}}}}")),
	}.compare(t)
	if item.State != Existed || item.Content != Changed {
		t.Errorf("%s %s %q", item.State, item.Content, item.Why)
	}
}
