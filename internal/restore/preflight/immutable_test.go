package preflight

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/testbed"
)

var shared testbed.SharedControlPlane

func TestMain(m *testing.M) { os.Exit(shared.RunTests(m)) }

// kindSample is an object of a kind; refused are patches of its immutable fields, by field, and accepted is a patch of
// what may change.
type kindSample struct {
	object   string
	refused  map[string]string
	accepted string
}

const (
	podTemplate = `{metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}`
	workload    = `spec: {selector: {matchLabels: {a: b}}, template: ` + podTemplate
	jobTemplate = `{metadata: {labels: {a: b}}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}`
	newImage    = `{spec: {template: {metadata: {annotations: {x: "y"}}, spec: {containers: [{name: c, image: j}]}}`
	selectorXY  = `{spec: {selector: {matchLabels: {x: "y"}}}}`
)

// immutableSamples has a sample of each kind of a cluster that a restore may bring.
var immutableSamples = map[string]kindSample{
	"bindings": {}, "componentstatuses": {}, "namespaces": {}, // none of them is an object that a patch changes
	"configmaps":      {object: `{apiVersion: v1, data: {a: b}}`, accepted: `{data: {a: c}, immutable: true}`},
	"endpoints":       {object: `{apiVersion: v1}`, accepted: `{subsets: [{addresses: [{ip: 1.2.3.4}], ports: [{port: 1}]}]}`},
	"limitranges":     {object: `{apiVersion: v1, spec: {limits: [{type: Pod, max: {cpu: 1}}]}}`, accepted: `{spec: {limits: [{type: Pod, max: {cpu: 2}}]}}`},
	"podtemplates":    {object: `{apiVersion: v1, template: ` + podTemplate + `}`, accepted: `{template: {spec: {containers: [{name: c, image: j}]}}}`},
	"serviceaccounts": {object: `{apiVersion: v1}`, accepted: `{imagePullSecrets: [{name: a}], automountServiceAccountToken: false}`},
	"replicationcontrollers": {object: `{apiVersion: v1, spec: {replicas: 0, selector: {a: b}, template: ` + podTemplate + `}}`,
		accepted: `{spec: {replicas: 1, selector: {x: "y"}, template: {metadata: {labels: {x: "y"}}}}}`},
	"resourcequotas": {object: `{apiVersion: v1, spec: {hard: {pods: 1}, scopes: [BestEffort]}}`,
		refused: map[string]string{"spec.scopes": `{spec: {scopes: [NotBestEffort]}}`}, accepted: `{spec: {hard: {pods: 2}}}`},
	"secrets": {object: `{apiVersion: v1, type: a/b, data: {a: Yg==}}`,
		refused: map[string]string{"type": `{type: a/c}`}, accepted: `{data: {a: Yw==}, immutable: true}`},
	"services": {object: `{apiVersion: v1, spec: {type: LoadBalancer, loadBalancerClass: a/b, ports: [{port: 80}]}}`,
		refused:  map[string]string{"spec.loadBalancerClass": `{spec: {loadBalancerClass: a/c}}`},
		accepted: `{spec: {ports: [{port: 81}], selector: {a: b}, sessionAffinity: ClientIP, externalTrafficPolicy: Local, publishNotReadyAddresses: true}}`},
	pods: {object: `{apiVersion: v1, spec: {automountServiceAccountToken: false, containers: [{name: c, image: i}]}}`,
		accepted: `{spec: {activeDeadlineSeconds: 100, containers: [{name: c, image: j}]}}`},
	claims: {object: `{apiVersion: v1, spec: {accessModes: [ReadWriteOnce], storageClassName: a, selector: {matchLabels: {a: b}}, volumeMode: Filesystem, resources: {requests: {storage: 1Gi}}}}`,
		refused: map[string]string{
			"spec.accessModes": `{spec: {accessModes: [ReadOnlyMany]}}`, "spec.storageClassName": `{spec: {storageClassName: b}}`,
			"spec.selector": selectorXY, "spec.volumeMode": `{spec: {volumeMode: Block}}`,
			"spec.dataSource":    `{spec: {dataSource: {kind: PersistentVolumeClaim, name: a}}}`,
			"spec.dataSourceRef": `{spec: {dataSourceRef: {kind: PersistentVolumeClaim, name: a}}}`,
		}, accepted: `{spec: {volumeName: v}}`},
	volumes: {object: `{apiVersion: v1, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], volumeMode: Filesystem, hostPath: {path: /a}}}`,
		refused: map[string]string{"spec.hostPath": `{spec: {hostPath: {path: /b}}}`, "spec.volumeMode": `{spec: {volumeMode: Block}}`,
			"spec.nfs": `{spec: {hostPath: null, nfs: {server: a, path: /b}}}`},
		accepted: `{spec: {capacity: {storage: 2Gi}, accessModes: [ReadOnlyMany], persistentVolumeReclaimPolicy: Retain, storageClassName: b}}`},
	"controllerrevisions.apps": {object: `{apiVersion: apps/v1, revision: 1, data: {a: b}}`,
		refused: map[string]string{"data": `{data: {a: c}}`}, accepted: `{revision: 2}`},
	"daemonsets.apps": {object: `{apiVersion: apps/v1, ` + workload + `}}`, refused: map[string]string{"spec.selector": selectorXY},
		accepted: newImage + `, minReadySeconds: 1, revisionHistoryLimit: 2, updateStrategy: {type: OnDelete, rollingUpdate: null}}}`},
	"deployments.apps": {object: `{apiVersion: apps/v1, ` + workload + `}}`, refused: map[string]string{"spec.selector": selectorXY},
		accepted: newImage + `, replicas: 2, paused: true, minReadySeconds: 1, progressDeadlineSeconds: 5, strategy: {type: Recreate, rollingUpdate: null}}}`},
	"replicasets.apps": {object: `{apiVersion: apps/v1, ` + workload + `}}`, refused: map[string]string{"spec.selector": selectorXY},
		accepted: newImage + `, replicas: 2, minReadySeconds: 1}}`},
	statefulSets: {object: `{apiVersion: apps/v1, ` + workload + `, serviceName: s, volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}`,
		refused: map[string]string{
			"spec.selector": selectorXY, "spec.serviceName": `{spec: {serviceName: t}}`,
			"spec.podManagementPolicy":  `{spec: {podManagementPolicy: Parallel}}`,
			"spec.volumeClaimTemplates": `{spec: {volumeClaimTemplates: null}}`,
		}, accepted: newImage + `, replicas: 2, minReadySeconds: 1, ordinals: {start: 1}, revisionHistoryLimit: 3, updateStrategy: {type: OnDelete, rollingUpdate: null}, persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}}}`},
	"horizontalpodautoscalers.autoscaling": {object: `{apiVersion: autoscaling/v2, spec: {maxReplicas: 2, scaleTargetRef: {kind: Deployment, name: a, apiVersion: apps/v1}}}`,
		accepted: `{spec: {maxReplicas: 3, minReplicas: 2, scaleTargetRef: {name: b}}}`},
	"cronjobs.batch": {object: `{apiVersion: batch/v1, spec: {schedule: "* * * * *", jobTemplate: {spec: {template: ` + jobTemplate + `}}}}`,
		accepted: `{spec: {schedule: "1 * * * *", suspend: true, concurrencyPolicy: Forbid, jobTemplate: {spec: {completions: 2}}}}`},
	jobs: {object: `{apiVersion: batch/v1, spec: {completions: 2, manualSelector: true, selector: {matchLabels: {a: b}}, template: ` + jobTemplate + `}}`,
		refused: map[string]string{
			"spec.selector":       `{spec: {selector: {matchLabels: {x: "y"}}, template: {metadata: {labels: {x: "y"}}}}}`,
			"spec.template":       `{spec: {template: {spec: {containers: [{name: c, image: j}]}}}}`,
			"spec.completionMode": `{spec: {completionMode: Indexed}}`, "spec.completions": `{spec: {completions: 3}}`,
			"spec.backoffLimitPerIndex": `{spec: {completionMode: Indexed, backoffLimitPerIndex: 1}}`,
			"spec.managedBy":            `{spec: {managedBy: a/b}}`,
			"spec.podFailurePolicy":     `{spec: {podFailurePolicy: {rules: [{action: FailJob, onExitCodes: {operator: In, values: [3]}}]}}}`,
			"spec.successPolicy":        `{spec: {completionMode: Indexed, successPolicy: {rules: [{succeededCount: 1}]}}}`,
		}, accepted: `{spec: {parallelism: 2, backoffLimit: 3, suspend: true, activeDeadlineSeconds: 100, ttlSecondsAfterFinished: 5}}`},
	"poddisruptionbudgets.policy": {object: `{apiVersion: policy/v1, spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}}`,
		accepted: `{spec: {minAvailable: 2, selector: {matchLabels: {a: c}}}}`},
	"roles.rbac.authorization.k8s.io": {object: `{apiVersion: rbac.authorization.k8s.io/v1, rules: []}`,
		accepted: `{rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`},
	"clusterroles.rbac.authorization.k8s.io": {object: `{apiVersion: rbac.authorization.k8s.io/v1, rules: []}`,
		accepted: `{rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`},
	roleBindings: {object: `{apiVersion: rbac.authorization.k8s.io/v1, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}}`,
		refused:  map[string]string{"roleRef": `{roleRef: {name: b}}`},
		accepted: `{subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: u}]}`},
	clusterRoleBindings: {object: `{apiVersion: rbac.authorization.k8s.io/v1, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: a}}`,
		refused:  map[string]string{"roleRef": `{roleRef: {name: b}}`},
		accepted: `{subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: u}]}`},
	"storageclasses.storage.k8s.io": {object: `{apiVersion: storage.k8s.io/v1, provisioner: a/b, parameters: {a: b}}`,
		refused: map[string]string{"provisioner": `{provisioner: a/c}`, "parameters": `{parameters: {a: c}}`,
			"reclaimPolicy": `{reclaimPolicy: Retain}`, "volumeBindingMode": `{volumeBindingMode: WaitForFirstConsumer}`},
		accepted: `{allowVolumeExpansion: true, mountOptions: [a], allowedTopologies: [{matchLabelExpressions: [{key: a, values: [b]}]}]}`},
	"csidrivers.storage.k8s.io": {object: `{apiVersion: storage.k8s.io/v1, spec: {attachRequired: true}}`,
		refused: map[string]string{"spec.attachRequired": `{spec: {attachRequired: false}}`,
			"spec.volumeLifecycleModes": `{spec: {volumeLifecycleModes: [Ephemeral]}}`},
		accepted: `{spec: {podInfoOnMount: true, fsGroupPolicy: File, storageCapacity: true, requiresRepublish: true, seLinuxMount: true, tokenRequests: [{audience: a}]}}`},
	"csistoragecapacities.storage.k8s.io": {object: `{apiVersion: storage.k8s.io/v1, storageClassName: a, nodeTopology: {matchLabels: {a: b}}}`,
		refused:  map[string]string{"storageClassName": `{storageClassName: b}`, "nodeTopology": `{nodeTopology: {matchLabels: {a: c}}}`},
		accepted: `{capacity: 1Gi, maximumVolumeSize: 1Gi}`},
	"volumeattributesclasses.storage.k8s.io": {object: `{apiVersion: storage.k8s.io/v1, driverName: a.b, parameters: {a: b}}`,
		refused: map[string]string{"driverName": `{driverName: a.c}`, "parameters": `{parameters: {a: c}}`}},
	"priorityclasses.scheduling.k8s.io": {object: `{apiVersion: scheduling.k8s.io/v1, value: 5}`,
		refused:  map[string]string{"value": `{value: 6}`, "preemptionPolicy": `{preemptionPolicy: Never}`},
		accepted: `{description: d, globalDefault: false}`},
	"runtimeclasses.node.k8s.io": {object: `{apiVersion: node.k8s.io/v1, handler: a}`, refused: map[string]string{"handler": `{handler: b}`},
		accepted: `{overhead: {podFixed: {cpu: 1}}, scheduling: {nodeSelector: {a: b}}}`},
	"ingressclasses.networking.k8s.io": {object: `{apiVersion: networking.k8s.io/v1, spec: {controller: a/b}}`,
		refused: map[string]string{"spec.controller": `{spec: {controller: a/c}}`}, accepted: `{spec: {parameters: {kind: K, name: p, scope: Cluster}}}`},
	"ingresses.networking.k8s.io": {object: `{apiVersion: networking.k8s.io/v1, spec: {defaultBackend: {service: {name: a, port: {number: 1}}}}}`,
		accepted: `{spec: {ingressClassName: a, defaultBackend: {service: {name: b}}, rules: [{host: h.x}], tls: [{hosts: [h.x]}]}}`},
	"networkpolicies.networking.k8s.io": {object: `{apiVersion: networking.k8s.io/v1, spec: {podSelector: {}}}`,
		accepted: `{spec: {podSelector: {matchLabels: {a: b}}, ingress: [{}], policyTypes: [Ingress, Egress]}}`},
	"ipaddresses.networking.k8s.io": {object: `{apiVersion: networking.k8s.io/v1, metadata: {name: 10.9.9.9}, spec: {parentRef: {resource: services, namespace: a, name: b}}}`,
		refused: map[string]string{"spec.parentRef": `{spec: {parentRef: {name: c}}}`}},
	"servicecidrs.networking.k8s.io": {object: `{apiVersion: networking.k8s.io/v1, spec: {cidrs: [10.77.0.0/24]}}`,
		refused: map[string]string{"spec.cidrs": `{spec: {cidrs: [10.78.0.0/24]}}`}},
	"endpointslices.discovery.k8s.io": {object: `{apiVersion: discovery.k8s.io/v1, addressType: IPv4, endpoints: []}`,
		refused:  map[string]string{"addressType": `{addressType: IPv6}`},
		accepted: `{endpoints: [{addresses: [1.2.3.4]}], ports: [{port: 1}]}`},
	"leases.coordination.k8s.io": {object: `{apiVersion: coordination.k8s.io/v1, spec: {holderIdentity: a, leaseTransitions: 5}}`,
		accepted: `{spec: {holderIdentity: b, leaseTransitions: 1, leaseDurationSeconds: 3}}`},
	"certificatesigningrequests.certificates.k8s.io": {},
	"resourceclaims.resource.k8s.io": {object: `{apiVersion: resource.k8s.io/v1, spec: {devices: {requests: [{name: a, exactly: {deviceClassName: c.x}}]}}}`,
		refused: map[string]string{"spec": `{spec: {devices: {requests: [{name: b, exactly: {deviceClassName: c.x}}]}}}`}},
	"resourceclaimtemplates.resource.k8s.io": {object: `{apiVersion: resource.k8s.io/v1, spec: {spec: {devices: {requests: [{name: a, exactly: {deviceClassName: c.x}}]}}}}`,
		refused: map[string]string{"spec": `{spec: {spec: {devices: {requests: [{name: b, exactly: {deviceClassName: c.x}}]}}}}`}},
	"resourceslices.resource.k8s.io": {object: `{apiVersion: resource.k8s.io/v1, spec: {driver: d.x, nodeName: node-a, pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: [{name: a}]}}`,
		refused:  map[string]string{"spec.driver": `{spec: {driver: e.x}}`, "spec.nodeName": `{spec: {nodeName: node-b}}`, "spec.pool.name": `{spec: {pool: {name: q}}}`},
		accepted: `{spec: {devices: [{name: b}], pool: {generation: 2}}}`},
	"deviceclasses.resource.k8s.io": {object: `{apiVersion: resource.k8s.io/v1, spec: {}}`,
		accepted: `{spec: {selectors: [{cel: {expression: "true"}}]}}`},
	"flowschemas.flowcontrol.apiserver.k8s.io": {object: `{apiVersion: flowcontrol.apiserver.k8s.io/v1, spec: {priorityLevelConfiguration: {name: a}}}`,
		accepted: `{spec: {matchingPrecedence: 5, priorityLevelConfiguration: {name: b}}}`},
	"prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": {object: `{apiVersion: flowcontrol.apiserver.k8s.io/v1, spec: {type: Limited, limited: {limitResponse: {type: Reject}}}}`,
		accepted: `{spec: {limited: {nominalConcurrencyShares: 3, lendablePercent: 5}}}`},
	"validatingwebhookconfigurations.admissionregistration.k8s.io": {object: `{apiVersion: admissionregistration.k8s.io/v1}`,
		accepted: `{webhooks: [{name: a.b.c, clientConfig: {url: "https://a/"}, sideEffects: None, admissionReviewVersions: [v1], failurePolicy: Ignore}]}`},
	"mutatingwebhookconfigurations.admissionregistration.k8s.io": {object: `{apiVersion: admissionregistration.k8s.io/v1}`,
		accepted: `{webhooks: [{name: a.b.c, clientConfig: {url: "https://a/"}, sideEffects: None, admissionReviewVersions: [v1], failurePolicy: Ignore}]}`},
	"validatingadmissionpolicies.admissionregistration.k8s.io": {object: `{apiVersion: admissionregistration.k8s.io/v1, spec: {failurePolicy: Ignore, matchConstraints: {resourceRules: [{apiGroups: [x.y], apiVersions: [v1], operations: [CREATE], resources: [zs]}]}, validations: [{expression: "true"}]}}`,
		accepted: `{spec: {failurePolicy: Fail, validations: [{expression: "false"}]}}`},
	"validatingadmissionpolicybindings.admissionregistration.k8s.io": {object: `{apiVersion: admissionregistration.k8s.io/v1, spec: {policyName: nobody, validationActions: [Warn]}}`,
		accepted: `{spec: {policyName: nobody-else, validationActions: [Deny]}}`},
	"mutatingadmissionpolicies.admissionregistration.k8s.io": {object: `{apiVersion: admissionregistration.k8s.io/v1, spec: {failurePolicy: Ignore, reinvocationPolicy: Never, matchConstraints: {resourceRules: [{apiGroups: [x.y], apiVersions: [v1], operations: [CREATE], resources: [zs]}]}, mutations: [{patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: \"add\", path: \"/a\", value: \"b\"}]"}}]}}`,
		accepted: `{spec: {failurePolicy: Fail}}`},
	"mutatingadmissionpolicybindings.admissionregistration.k8s.io": {object: `{apiVersion: admissionregistration.k8s.io/v1, spec: {policyName: nobody}}`,
		accepted: `{spec: {policyName: nobody-else}}`},
	crds: {object: `{apiVersion: apiextensions.k8s.io/v1, metadata: {name: things.im.example.com}, spec: {group: im.example.com, scope: Namespaced, names: {plural: things, kind: Thing}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`,
		refused: map[string]string{"spec.scope": `{spec: {scope: Cluster}}`, "spec.names.kind": `{spec: {names: {kind: Other, listKind: OtherList}}}`,
			"spec.group": `{spec: {group: other.example.com}}`, "spec.names.plural": `{spec: {names: {plural: others}}}`},
		accepted: `{spec: {names: {shortNames: [th]}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, description: d}}}]}}`},
	"apiservices.apiregistration.k8s.io": {object: `{apiVersion: apiregistration.k8s.io/v1, metadata: {name: v1.im2.example.com}, spec: {group: im2.example.com, version: v1, groupPriorityMinimum: 100, versionPriority: 5, insecureSkipTLSVerify: true, service: {namespace: a, name: b}}}`,
		accepted: `{spec: {groupPriorityMinimum: 101, service: {name: c}}}`},
}

// TestImmutableFields changes each field of the table in an object of a kube-apiserver, which must refuse it, and
// other fields, which the API server must accept. Each kind that it serves has its sample.
func TestImmutableFields(t *testing.T) {
	plane := shared.ControlPlane(t)
	c, err := client.New(plane.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	space := &unstructured.Unstructured{}
	space.SetAPIVersion("v1")
	space.SetKind("Namespace")
	space.SetName(shared.Name("immutable"))
	if err := c.Create(t.Context(), space); err != nil {
		t.Fatal(err)
	}
	served := servedKinds(t, discovery.NewDiscoveryClientForConfigOrDie(plane.RESTConfig()))
	for _, resource := range slices.Sorted(maps.Keys(immutableFields)) {
		for _, path := range immutableFields[resource] {
			sample, known := immutableSamples[resource]
			isSource := resource == volumes && path != "spec.volumeMode" // of which two stand for all
			if _, tried := sample.refused[path]; !tried && !isSource && (known || served[resource] != "") {
				t.Errorf("no sample changes %s of %s", path, resource)
			}
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(served)) {
		sample, known := immutableSamples[resource]
		if !known {
			t.Errorf("there is no sample of %s", resource)
		}
		if sample.object != "" {
			t.Run(resource, func(t *testing.T) { sample.test(t, c, resource, served[resource], space.GetName()) })
		}
	}
}

// servedKinds returns the kinds of Kubernetes that the API server serves and a restore may bring, by resource.
func servedKinds(t *testing.T, c discovery.DiscoveryInterface) map[string]string {
	t.Helper()
	lists, err := c.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, list := range lists {
		group, _, grouped := strings.Cut(list.GroupVersion, "/")
		if !grouped {
			group = ""
		}
		for _, r := range list.APIResources {
			resource := strings.TrimSuffix(r.Name+"."+group, ".")
			if collector.IsBuiltIn(group) && slices.Contains(r.Verbs, "patch") && slices.Contains(r.Verbs, "create") &&
				!slices.Contains(collector.NonRestorable(), resource) {
				kinds[resource] = r.Kind
			}
		}
	}
	return kinds
}

func (s kindSample) test(t *testing.T, c client.Client, resource, kind, namespace string) {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(s.object), &o.Object); err != nil {
		t.Fatal(err)
	}
	if o.SetKind(kind); o.GetName() == "" {
		o.SetName("im-sample")
	}
	if m, err := c.RESTMapper().RESTMapping(o.GroupVersionKind().GroupKind()); err != nil {
		t.Fatal(err)
	} else if m.Scope.Name() == meta.RESTScopeNameNamespace {
		o.SetNamespace(namespace)
	}
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Delete(context.Background(), o, client.GracePeriodSeconds(0), client.PropagationPolicy(metav1.DeletePropagationBackground))
	})
	patch := func(text string) error {
		body, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return c.Patch(t.Context(), o.DeepCopy(), client.RawPatch(types.MergePatchType, body), client.DryRunAll)
	}
	for path, text := range s.refused {
		if !slices.Contains(immutableFields[resource], path) {
			t.Errorf("%s is not in the table", path)
		}
		err := patch(text)
		for try := 0; err == nil && try < 100 && resource == crds; try++ { // until the CRD is established
			err = patch(text)
		}
		if !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if s.accepted != "" {
		if err := patch(s.accepted); err != nil {
			t.Errorf("what is not in the table: %v", err)
		}
	}
}
