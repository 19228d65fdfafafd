package verify

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/internal/restore/diff"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/modifier"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// contentCase is an object of the backup, and what the cluster has in its place.
type contentCase struct {
	resource    string
	did         results.ItemStatus // Created if empty
	object      live.Object
	backup      string // YAML without its name
	live        string
	versions    int
	unread      string // a resource modifier that could not be read
	autoscaler  bool
	full        bool // as much as may be is kept of other objects
	stripped    bool // the object has no managed fields
	noStatus    bool // the kind does not keep its status apart
	modifier    *modifier.Rules
	wantState   State // Restored if empty
	wantContent ContentState
	wantFields  string
}

func (c contentCase) compare(t *testing.T) (Item, Result) {
	t.Helper()
	if c.did == "" {
		c.did = results.Created
	}
	if c.object.Created.IsZero() {
		c.object.Created = began.Add(time.Minute)
	}
	namespace, from, name := "shop", "old", "x"
	if c.resource == "namespaces" {
		namespace, from, name = "", "", "old"
	}
	items := results.Items{
		Kinds: []results.Kind{
			{
				Name: c.resource,
				Items: []results.Item{
					{
						Namespace:       namespace,
						Name:            "x",
						BackupNamespace: "old",
						Status:          c.did,
						Why:             map[bool]string{true: differs}[c.did == results.Failed],
					},
				},
			},
		},
	}
	in := Input{RestoreName: "r1", Started: began, Ended: ended, Items: items}
	in.Target = live.NewState(BuildQuery(items), func(string, string, string) *live.Object {
		if c.live == "" {
			return nil
		}
		return &c.object
	})
	r := Judge(in)
	spec := veleroapi.RestoreSpec{BackupName: "b", NamespaceMapping: map[string]string{"old": "shop"}}
	comparison := NewComparison(
		in,
		&r,
		prepare.Rules{Restore: spec, RestoreName: "r1", UnreadModifier: c.unread, Modifier: c.modifier},
		func(string) []string { return make([]string, c.versions) },
	)
	comparison.SetStatusKinds(func(string) bool { return !c.noStatus })
	read := func(text, namespace string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		body, err := yaml.YAMLToJSON([]byte(text))
		if err == nil {
			err = o.UnmarshalJSON(body)
		}
		if err != nil {
			t.Fatal(err)
		}
		o.SetName("x")
		o.SetNamespace(namespace)
		if o.GetManagedFields() == nil && !c.stripped {
			o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: velero.ServerManager}})
		}
		return o
	}
	if comparison.WantsBody(c.resource, from, name) {
		body, err := read(c.backup, from).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		comparison.AddBackupItem(c.resource, from, name, body)
	}
	if c.full {
		kept := make([]diff.FieldHash, 1<<20)
		for range 9 {
			comparison.table.AddKept(kept)
		}
	}
	if comparison.BuildQuery().CountItems() > 0 {
		comparison.CompareLive(c.resource, read(c.live, namespace))
	}
	if c.autoscaler {
		comparison.AddAutoscaler("shop", "Deployment", "x", 1, 9)
	}
	comparison.FinishResult(nil, nil)
	return r.Kinds[0].Items[0], r
}

func TestContent(t *testing.T) {
	const config = "{apiVersion: v1, kind: ConfigMap, data: {a: '1', b: '2'}}"
	deployment := func(replicas int, of string) string {
		return fmt.Sprintf(
			"{apiVersion: apps/v1, kind: Deployment, spec: {replicas: %d, template: {spec: {containers: [%s]}}}}",
			replicas,
			of,
		)
	}
	const web = "{name: web, image: 'web:1', args: [a, b]}"
	service := func(port string) string {
		return "{apiVersion: v1, kind: Service, spec: {clusterIP: 10.0.0." + port[:1] + ", ports: [{port: " + port + ", nodePort: 3000" + port[:1] + "}]}}"
	}
	const token = "{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {annotations: {kubernetes.io/service-account.name: x}}, data: {token: %s}}"
	later, older := live.Object{Created: ended.Add(time.Hour)}, live.Object{Created: began.Add(-time.Hour)}
	for name, c := range map[string]contentCase{
		"the same":                        {resource: "configmaps", backup: config, live: config, wantContent: Same},
		"another value":                   {resource: "configmaps", backup: config, live: "{apiVersion: v1, kind: ConfigMap, data: {a: '1', b: '3'}}", wantContent: Changed, wantFields: "data.b"},
		"a key is gone":                   {resource: "configmaps", backup: config, live: "{apiVersion: v1, kind: ConfigMap, data: {a: '1'}}", wantContent: Changed, wantFields: "data.b"},
		"too much is kept":                {resource: "configmaps", full: true, backup: config, live: config, wantContent: NotCompared},
		"a key more":                      {resource: "configmaps", backup: config, live: "{apiVersion: v1, kind: ConfigMap, data: {a: '1', b: '2', c: '3'}}", wantContent: Changed, wantFields: "data.c"},
		"no data":                         {resource: "configmaps", backup: config, live: "{apiVersion: v1, kind: ConfigMap}", wantContent: Emptied, wantFields: "data.a data.b"},
		"empty values":                    {resource: "configmaps", backup: config, live: "{apiVersion: v1, kind: ConfigMap, data: {a: '', b: ''}}", wantContent: Emptied, wantFields: "data.a data.b"},
		"made again":                      {resource: "configmaps", object: later, backup: config, live: "{apiVersion: v1, kind: ConfigMap}", wantState: CreatedByOthers, wantContent: Recreated, wantFields: "data.a data.b"},
		"made again, the same":            {resource: "configmaps", object: later, backup: config, live: config, wantState: CreatedByOthers, wantContent: Same},
		"made again, another label":       {resource: "configmaps", object: later, backup: "{apiVersion: v1, kind: ConfigMap, metadata: {labels: {a: b}}}", live: "{apiVersion: v1, kind: ConfigMap}", wantState: CreatedByOthers, wantContent: Changed, wantFields: "metadata.labels.a"},
		"existed, and differs":            {resource: "configmaps", did: results.Failed, object: older, backup: config, live: "{apiVersion: v1, kind: ConfigMap}", wantState: Differs, wantFields: "data.a data.b"},
		"existed, called different":       {resource: "configmaps", did: results.Failed, object: older, backup: config, live: "{apiVersion: v1, kind: ConfigMap, metadata: {labels: {velero.io/restore-name: r0}, managedFields: [{manager: x}]}, data: {a: '1', b: '2'}}", wantState: Existed, wantContent: Same},
		"existed, a Service that differs": {resource: "services", did: results.Failed, object: older, backup: service("80"), live: service("90"), wantState: Existed, wantContent: Changed, wantFields: "spec.ports[0].port"},
		"what the cluster sets":           {resource: "services", backup: service("80"), live: "{apiVersion: v1, kind: Service, spec: {clusterIP: 10.9.9.9, clusterIPs: [10.9.9.9], type: ClusterIP, ports: [{port: 80, nodePort: 31111, protocol: TCP}]}, status: {loadBalancer: {}}}", wantContent: Same},
		"a Service that is as it was":     {resource: "services", did: results.Failed, object: older, backup: service("80"), live: service("80"), wantState: Existed, wantContent: Same},
		"a hook's container, its name at random": {resource: "pods", backup: "{apiVersion: v1, kind: Pod, metadata: {annotations: {init.hook.restore.velero.io/container-image: x, init.hook.restore.velero.io/command: run}}, spec: {containers: [{name: web}], initContainers: [{name: mine}]}}",
			live: "{apiVersion: v1, kind: Pod, metadata: {annotations: {init.hook.restore.velero.io/container-image: x, init.hook.restore.velero.io/command: run}}, spec: {containers: [{name: web}], initContainers: [{name: restore-wait}, {name: velero-restore-init-1a2b3c4d, image: x, command: [run]}, {name: mine}]}}", wantContent: Same},
		"an init container of its own is gone": {resource: "pods", backup: "{apiVersion: v1, kind: Pod, spec: {containers: [{name: web}], initContainers: [{name: mine, image: x}]}}",
			live: "{apiVersion: v1, kind: Pod, spec: {containers: [{name: web}], initContainers: [{name: restore-wait}]}}", wantContent: Changed, wantFields: "spec.initContainers[mine].image spec.initContainers[mine].name"},
		"a quantity in another form":      {resource: "deployments.apps", backup: deployment(3, "{name: web, resources: {limits: {cpu: 1000m, memory: 1024Mi}}}"), live: deployment(3, "{name: web, resources: {limits: {cpu: '1', memory: 1Gi}}}"), wantContent: Same},
		"another quantity":                {resource: "deployments.apps", backup: deployment(3, "{name: web, resources: {limits: {cpu: 1000m}}}"), live: deployment(3, "{name: web, resources: {limits: {cpu: '2'}}}"), wantContent: Changed, wantFields: "spec.template.spec.containers[web].resources.limits.cpu"},
		"a claim that asks for less":      {resource: "persistentvolumeclaims", object: later, backup: "{apiVersion: v1, kind: X, spec: {volumeName: a, resources: {requests: {storage: 1Gi}}}}", live: "{apiVersion: v1, kind: X, spec: {volumeName: b, resources: {requests: {storage: 512Mi}}}}", wantState: CreatedByOthers, wantContent: Recreated, wantFields: "spec.resources.requests.storage"},
		"a claim that has grown":          {resource: "persistentvolumeclaims", backup: "{apiVersion: v1, kind: X, spec: {resources: {requests: {storage: 1Gi}}}}", live: "{apiVersion: v1, kind: X, spec: {resources: {requests: {storage: 2Gi}}}}", wantContent: Same},
		"a claim that its user has grown": {resource: "persistentvolumeclaims", backup: "{apiVersion: v1, kind: X, spec: {resources: {requests: {storage: 1Gi}}}}", live: "{apiVersion: v1, kind: X, metadata: {managedFields: [{manager: kubectl, fieldsV1: {f:spec: {f:resources: {f:requests: {f:storage: {}}}}}}]}, spec: {resources: {requests: {storage: 2Gi}}}}", wantContent: Same},
		"annotations of clusters":         {resource: "ingresses.networking.k8s.io", backup: annotatedBy("old"), live: annotatedBy("new"), wantContent: Same},
		"annotations of their users":      {resource: "ingresses.networking.k8s.io", backup: "{apiVersion: v1, kind: X, metadata: {annotations: {ingress.kubernetes.io/ssl-redirect: a, k8s.v1.cni.cncf.io/networks: a, service.kubernetes.io/topology-mode: a}}}", live: "{apiVersion: v1, kind: X}", wantContent: Changed, wantFields: "metadata.annotations.ingress.kubernetes.io/ssl-redirect metadata.annotations.k8s.v1.cni.cncf.io/networks metadata.annotations.service.kubernetes.io/topology-mode"},
		"of a CronJob's template":         {resource: "cronjobs.batch", backup: "{apiVersion: batch/v1, kind: CronJob, spec: {jobTemplate: {spec: {template: {metadata: {annotations: {cattle.io/timestamp: a}}}}}}}", live: "{apiVersion: batch/v1, kind: CronJob, spec: {jobTemplate: {spec: {template: {metadata: {annotations: {cattle.io/timestamp: b}}}}}}}", wantContent: Same},
		"a bundle of OpenShift":           {resource: "configmaps", backup: "{apiVersion: v1, kind: ConfigMap, metadata: {annotations: {service.beta.openshift.io/inject-cabundle: 'true'}}, data: {service-ca.crt: a}}", live: "{apiVersion: v1, kind: ConfigMap, metadata: {annotations: {service.beta.openshift.io/inject-cabundle: 'true'}}, data: {service-ca.crt: b}}", wantContent: Same},
		"annotations of controllers":      {resource: "deployments.apps", backup: "{apiVersion: apps/v1, kind: Deployment, metadata: {annotations: {deployment.kubernetes.io/revision: '3', team: a}}, spec: {template: {metadata: {annotations: {kubectl.kubernetes.io/restartedAt: x}}}}}", live: "{apiVersion: apps/v1, kind: Deployment, metadata: {annotations: {deployment.kubernetes.io/revision: '1', team: a}}, spec: {template: {metadata: {annotations: {kubectl.kubernetes.io/restartedAt: y}}}}}", wantContent: Same},
		"an annotation of somebody":       {resource: "configmaps", backup: "{apiVersion: v1, kind: ConfigMap, metadata: {annotations: {team: a}}}", live: "{apiVersion: v1, kind: ConfigMap, metadata: {annotations: {team: b}}}", wantContent: Changed, wantFields: "metadata.annotations.team"},
		"scaled":                          {resource: "deployments.apps", backup: deployment(3, web), live: deployment(0, web), wantContent: Scaled, wantFields: "spec.replicas"},
		"scaled by an autoscaler":         {resource: "deployments.apps", backup: deployment(3, web), live: deployment(5, web), autoscaler: true, wantContent: Same},
		"scaled to none beside one":       {resource: "deployments.apps", backup: deployment(3, web), live: deployment(0, web), autoscaler: true, wantContent: Scaled, wantFields: "spec.replicas"},
		"made again, and scaled":          {resource: "deployments.apps", object: later, backup: deployment(3, web), live: deployment(5, web), autoscaler: true, wantState: CreatedByOthers, wantContent: Same},
		"existed, and scaled":             {resource: "deployments.apps", did: results.Failed, object: older, backup: deployment(3, web), live: deployment(5, web), autoscaler: true, wantState: Existed, wantContent: Same},
		"existed, and scaled to none":     {resource: "deployments.apps", did: results.Failed, object: older, backup: deployment(3, web), live: deployment(0, web), autoscaler: true, wantState: Differs, wantFields: "spec.replicas"},
		"a namespace, and a modifier":     {resource: "namespaces", unread: "mods", backup: "{apiVersion: v1, kind: Namespace, metadata: {labels: {a: b}}}", live: "{apiVersion: v1, kind: Namespace}", wantContent: Changed, wantFields: "metadata.labels.a"},
		"another image":                   {resource: "deployments.apps", backup: deployment(3, web), live: deployment(3, "{name: web, image: 'web:2', args: [a, b]}"), wantContent: Changed, wantFields: "spec.template.spec.containers[web].image"},
		"another image and scaled":        {resource: "deployments.apps", backup: deployment(3, web), live: deployment(5, "{name: web, image: 'web:2', args: [a, b]}"), autoscaler: true, wantContent: Changed, wantFields: "spec.template.spec.containers[web].image"},
		"one container more":              {resource: "deployments.apps", backup: deployment(3, web), live: deployment(3, web+", {name: side}"), wantContent: Changed, wantFields: "spec.template.spec.containers"},
		"one container less":              {resource: "deployments.apps", backup: deployment(3, web+", {name: side}"), live: deployment(3, web), wantContent: Changed, wantFields: "spec.template.spec.containers[side].name"},
		"other arguments":                 {resource: "deployments.apps", backup: deployment(3, web), live: deployment(3, "{name: web, image: 'web:1', args: [a]}"), wantContent: Changed, wantFields: "spec.template.spec.containers[web].args"},
		"defaults of a newer Kubernetes":  {resource: "deployments.apps", backup: deployment(3, web), live: deployment(3, "{name: web, image: 'web:1', args: [a, b], terminationMessagePath: /dev/x, resources: {}}"), wantContent: Same},
		"nothing tells who wrote it":      {resource: "deployments.apps", stripped: true, backup: deployment(3, web), live: deployment(3, "{name: web, image: 'web:1', args: [a, b], tty: true}"), wantContent: NotCompared, wantFields: "spec.template.spec.containers[web].tty"},
		"a sidecar that a webhook added":  {resource: "pods", backup: "{apiVersion: v1, kind: Pod, spec: {containers: [{name: web}]}}", live: "{apiVersion: v1, kind: Pod, spec: {nodeName: n1, containers: [{name: proxy}, {name: web}]}}", wantContent: Same},
		"its controller's":                {resource: "pods", object: live.Object{OwnerKind: "ReplicaSet"}, backup: "{apiVersion: v1, kind: Pod, spec: {x: 1}}", live: "{apiVersion: v1, kind: Pod, spec: {x: 2}}"},
		"a lease":                         {resource: "leases.coordination.k8s.io", backup: "{apiVersion: v1, kind: Lease, spec: {x: 1}}", live: "{apiVersion: v1, kind: Lease, spec: {x: 2}}"},
		"subjects mapped":                 {resource: "rolebindings.rbac.authorization.k8s.io", backup: "{apiVersion: v1, kind: RoleBinding, subjects: [{kind: ServiceAccount, name: a, namespace: old}]}", live: "{apiVersion: v1, kind: RoleBinding, subjects: [{kind: ServiceAccount, name: a, namespace: shop}]}", wantContent: Same},
		"subjects gone":                   {resource: "rolebindings.rbac.authorization.k8s.io", backup: "{apiVersion: v1, kind: RoleBinding, roleRef: {name: x}, subjects: [{kind: ServiceAccount, name: a, namespace: old}]}", live: "{apiVersion: v1, kind: RoleBinding, roleRef: {name: x}}", wantContent: Emptied, wantFields: "subjects[a].kind subjects[a].name subjects[a].namespace"},
		"one subject more":                {resource: "rolebindings.rbac.authorization.k8s.io", backup: "{apiVersion: v1, kind: RoleBinding, subjects: [{kind: User, name: a}]}", live: "{apiVersion: v1, kind: RoleBinding, subjects: [{kind: User, name: a}, {kind: User, name: b}]}", wantContent: Changed, wantFields: "subjects"},
		"a token":                         {resource: "secrets", backup: fmt.Sprintf(token, "b2xk"), live: fmt.Sprintf(token, "bmV3"), wantContent: Same},
		"rules that are aggregated":       {resource: "clusterroles.rbac.authorization.k8s.io", backup: "{apiVersion: v1, kind: ClusterRole, aggregationRule: {x: [1]}, rules: [{verbs: [get]}]}", live: "{apiVersion: v1, kind: ClusterRole, aggregationRule: {x: [1]}}", wantContent: Same},
		"an injected caBundle":            {resource: live.ValidatingWebhooks, backup: "{apiVersion: admissionregistration.k8s.io/v1, kind: X, webhooks: [{name: a.b.c, sideEffects: None, clientConfig: {caBundle: YQ==}}]}", live: "{apiVersion: admissionregistration.k8s.io/v1, kind: X, webhooks: [{name: a.b.c, sideEffects: None, clientConfig: {caBundle: Yg==}}]}", wantContent: Same},
		"a custom resource":               {resource: "widgets.example.com", backup: "{apiVersion: example.com/v1, kind: Widget, spec: {size: 1, deep: {er: {x: 1}}}}", live: "{apiVersion: example.com/v1, kind: Widget, spec: {size: 1, deep: {er: {x: 2}}}, status: {ready: true}}", wantContent: Changed, wantFields: "spec.deep.er.x"},
		"its status, which is a field":    {resource: "widgets.example.com", noStatus: true, backup: "{kind: Widget, apiVersion: v1, spec: {a: b}, status: {phase: ok}}", live: "{kind: Widget, apiVersion: v1, spec: {a: b}}", wantContent: Changed, wantFields: "status"},
		"its status, written again":       {resource: "widgets.example.com", noStatus: true, backup: "{kind: Widget, apiVersion: v1, spec: {a: b}, status: {phase: ok}}", live: "{kind: Widget, apiVersion: v1, spec: {a: b}, status: {phase: new}}", wantContent: Same},
		"its status, kept apart":          {resource: "widgets.example.com", backup: "{kind: Widget, apiVersion: v1, spec: {a: b}, status: {phase: ok}}", live: "{kind: Widget, apiVersion: v1, spec: {a: b}}", wantContent: Same},
		"existed with more, by nobody":    {resource: "configmaps", stripped: true, did: results.Failed, object: older, backup: config, live: "{apiVersion: v1, kind: ConfigMap, data: {a: '1', b: '2'}, immutable: true}", wantState: Differs, wantFields: "immutable"},
		"endpoints of a controller":       {resource: "endpoints", backup: "{kind: Endpoints, apiVersion: v1, subsets: [{addresses: [{ip: 10.0.0.1}]}]}", live: "{kind: Endpoints, apiVersion: v1, subsets: [{addresses: [{ip: 10.0.0.9}]}]}", wantContent: Same},
		"several versions":                {resource: "widgets.example.com", versions: 2, backup: "{apiVersion: example.com/v1, kind: Widget}", live: "{apiVersion: example.com/v1, kind: Widget}", wantContent: NotCompared},
		"a modifier, and it differs":      {resource: "configmaps", unread: "mods", backup: config, live: "{apiVersion: v1, kind: ConfigMap}", wantContent: NotCompared, wantFields: "data.a data.b"},
		"a modifier, and it is the same":  {resource: "configmaps", unread: "mods", backup: config, live: config, wantContent: Same},
	} {
		t.Run(name, func(t *testing.T) {
			i, r := c.compare(t)
			if c.wantState == "" {
				c.wantState = Restored
			}
			if differ := strings.Join(
				i.Fields,
				" ",
			); i.State != c.wantState || i.Content != c.wantContent ||
				differ != c.wantFields {
				t.Errorf(
					"%s %s %q (%s), expected %s %s %q",
					i.State,
					i.Content,
					differ,
					i.Why,
					c.wantState,
					c.wantContent,
					c.wantFields,
				)
			}
			if r.CountByState[i.State] != 1 || r.Kinds[0].CountByState[i.State] != 1 ||
				r.CountByState[Differs] > 0 != (c.wantState == Differs) {
				t.Errorf("counted: %v", r.CountByState)
			}
			lost := map[bool]int{true: 1}[c.wantState == Differs || c.wantContent == Emptied || c.wantContent == Recreated]
			if r.CountLost() != lost || (r.CountChanged() > 0) != (c.wantContent == Changed || c.wantContent == Scaled) ||
				r.IsSettled() == (c.wantContent == NotCompared) {
				t.Errorf("%d lost, %d changed, settled %t", r.CountLost(), r.CountChanged(), r.IsSettled())
			}
		})
	}
}

// annotatedBy is an object with what the usual distributions write into annotations by themselves.
func annotatedBy(value string) string {
	var all []string
	for _, name := range []string{"field.cattle.io/publicEndpoints", "cattle.io/status", "lifecycle.cattle.io/create.namespace-auth", "objectset.rio.cattle.io/hash",
		"autopilot.gke.io/resource-adjustment", "cloud.google.com/neg-status", "ingress.kubernetes.io/backends", "ingress.kubernetes.io/https-target-proxy", "service.kubernetes.io/firewall-rule-for-hc",
		"vpc.amazonaws.com/pod-eni", "openshift.io/sa.scc.mcs", "service.beta.openshift.io/serving-cert-signed-by", "service.alpha.openshift.io/serving-cert-generation-error-num",
		"k8s.v1.cni.cncf.io/network-status", "metallb.io/ip-allocated-from-pool", "kube-vip.io/vipHost", "olm.operatorgroup.uid/x", "backup.velero.io/skipped-no-csi-pv"} {
		all = append(all, name+": "+value)
	}
	return "{apiVersion: v1, kind: X, metadata: {annotations: {" + strings.Join(all, ", ") + "}}}"
}

// TestContentsThatAreNotCompared: of two items that come to one name, Velero takes the first, and nobody knows which.
func TestContentsThatAreNotCompared(t *testing.T) {
	items := results.Items{Kinds: []results.Kind{{Name: "configmaps", Items: []results.Item{
		{
			Namespace:       "shop",
			Name:            "x",
			BackupNamespace: "a",
			Status:          results.Created,
		},
		{Namespace: "shop", Name: "x", BackupNamespace: "b", Status: results.LeftOut, Why: results.DuplicateReason},
		{
			Namespace: "shop",
			Name:      "y",
			Status:    results.Created,
		},
		{Namespace: "shop", Name: "z", BackupNamespace: "a", Status: results.Created},
		{Namespace: "shop", Name: "z", Status: results.LeftOut, Why: "excluded"},
	}}}}
	in := Input{
		RestoreName: "r1",
		Started:     began,
		Ended:       ended,
		Items:       items,
		Target: live.NewState(BuildQuery(items), func(string, string, string) *live.Object {
			return &live.Object{Created: began.Add(time.Minute)}
		}),
	}
	r := Judge(in)
	c := NewComparison(in, &r, prepare.Rules{}, func(string) []string { return nil })
	c.AddBackupItem("configmaps", "a", "x", []byte(`{"apiVersion": "v1", "kind": "ConfigMap"}`))
	const empty = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "z", "namespace": "shop"}}`
	c.AddBackupItem("configmaps", "a", "z", []byte(empty))
	var live unstructured.Unstructured
	if err := live.UnmarshalJSON([]byte(empty)); err != nil {
		t.Fatal(err)
	}
	c.CompareLive("configmaps", &live)
	c.FinishResult(nil, fmt.Errorf("cut off"))
	if r.CountByContent[NotCompared] != 2 || r.CountByContent[Same] != 1 || !strings.Contains(r.Summary(), "2 are not compared") ||
		r.IsSettled() {
		t.Errorf("%v %s", r.CountByContent, r.Summary())
	}
	var whys []string
	for _, i := range r.Kinds[0].Items {
		whys = append(whys, i.Why)
	}
	if all := strings.Join(
		whys,
		"|",
	); !strings.Contains(all, "gives several items its name") ||
		!strings.Contains(all, "could not read the backup: cut off") {
		t.Error(all)
	}
}

// TestWhyItIsGone: the body of what Velero created and is gone tells what may have taken it.
func TestWhyItIsGone(t *testing.T) {
	rules, err := modifier.Parse(map[string]string{"rules": `version: v1
resourceModifierRules:
- conditions: {groupResource: configmaps}
  mergePatches:
  - patchData: '{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "x"}]}}'
`})
	if err != nil {
		t.Fatal(err)
	}
	const owned = "{kind: ConfigMap, apiVersion: v1, metadata: {ownerReferences: [{kind: Pod, name: q}]}}"
	for name, c := range map[string]struct {
		contentCase
		why string
	}{
		"the owner of a modifier": {
			contentCase{resource: "configmaps", backup: owned, modifier: rules}, "the restore gives the owner Pod p",
		},
		"the owner that Velero drops": {contentCase{resource: "configmaps", backup: owned}, "it is not there now"},
	} {
		item, _ := c.compare(t)
		if item.State != Gone || !strings.Contains(item.Why, c.why) || item.Content != "" {
			t.Errorf("%s: %+v", name, item)
		}
	}
}
