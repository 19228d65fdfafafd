//go:build e2e

package e2e

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// obstacle is something in the way of a restore, or something that only looks so.
type obstacle struct {
	name   string
	from   string // the backup and its namespace, obMain if empty
	groups string // what is restored of obGroups besides base
	labels string // of the target's namespace, as YAML
	isNew  bool   // the restore makes the target's namespace
	// standIn has another namespace stand in for a new one.
	standIn bool
	to      string // the target's namespace, if it is not the row's own
	plant   string // objects, a line each, as YAML; $NS is the target's namespace
	// also plants what is not easily written; what it makes with make goes away after the row.
	also func(*plot)
	spec func(*veleroapi.RestoreSpec)

	// What the real Velero is to make of it: the objects with errors, of which it refuses some if that is not zero;
	// those with warnings, where they are what matters; and claims that stay Pending.
	errors, warnings, pending string
	some                      int
	whole                     bool   // each item has an error, or the restore none
	ends                      string // the phase, if it does not follow
	// cause is the reason with which a finding names something else than the objects.
	cause string
	// unknowable is why no API server can know it.
	unknowable string
	// decider is what veltui is to name as what nobody can ask before.
	decider string
}

const (
	inTarget = `namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $NS}}`
	hookText = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: $NS}, webhooks: [{name: check.ob.example.com, sideEffects: None, admissionReviewVersions: [v1], timeoutSeconds: 1, %s,
		rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]}]}`
	policyText = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: $NS}, spec: {failurePolicy: Fail, matchConstraints: {` + inTarget + `,
		resourceRules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps, secrets]}]}, validations: [{expression: %q}]}}
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: $NS}, spec: {policyName: $NS, validationActions: [Deny]}}`
	mutatingText = `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {name: $NS}, spec: {failurePolicy: Fail, reinvocationPolicy: Never, matchConstraints: {` + inTarget + `,
		resourceRules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]}, mutations: [{patchType: JSONPatch, jsonPatch: {expression: %q}}]}}
{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: $NS}, spec: {policyName: $NS}}`
	refuses  = `clientConfig: {url: "https://127.0.0.1:1/"}`
	fails    = `failurePolicy: Fail`
	nobody   = `clientConfig: {service: {namespace: $NS, name: nobody}}`
	allMaps  = "cm-a cm-b cm-c"
	allFixed = "sec-frozen cm-frozen sec-type bind-ref dep-select set-name"
	// changedFixed differ from the group fixed in what nobody may change.
	changedFixed = `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: other}, rules: []}
{apiVersion: v1, kind: Secret, metadata: {name: sec-frozen}, stringData: {from: cluster}, immutable: true}
{apiVersion: v1, kind: ConfigMap, metadata: {name: cm-frozen}, data: {from: cluster}, immutable: true}
{apiVersion: v1, kind: Secret, metadata: {name: sec-type}, type: example.com/other}
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: bind-ref}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: other}}
{apiVersion: apps/v1, kind: Deployment, metadata: {name: dep-select}, spec: {replicas: 0, selector: {matchLabels: {a: c}}, template: {metadata: {labels: {a: c}}, spec: {containers: [{name: a, image: a}]}}}}
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: set-name}, spec: {replicas: 0, serviceName: other, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}`
)

func hook(parts ...string) string { return oneLine(hookText, strings.Join(parts, ", ")) }

// oneLine fills a text in, and has each object in a line.
func oneLine(text string, args ...any) string {
	return strings.ReplaceAll(fmt.Sprintf(text, args...), "\n\t\t", " ")
}

// policy denies ConfigMaps and Secrets for which expression is false; changes replace parts of it.
func policy(expression string, changes ...string) string {
	return strings.NewReplacer(changes...).Replace(oneLine(policyText, expression))
}

func limits(item string) string {
	return `{apiVersion: v1, kind: LimitRange, metadata: {name: limits}, spec: {limits: [` + item + `]}}`
}

func quota(hard string, more ...string) string {
	return `{apiVersion: v1, kind: ResourceQuota, metadata: {name: few}, spec: {hard: {` + strings.Join(
		append([]string{hard + "}"}, more...),
		", ",
	) + `}}`
}

func updates(s *veleroapi.RestoreSpec) { s.ExistingResourcePolicy = veleroapi.PolicyTypeUpdate }

func namespaceOnly(s *veleroapi.RestoreSpec) { s.IncludeClusterResources = new(bool) }

// modifies has a restore use a resource modifier of these rules, none if they are empty.
func modifies(rules string) (func(*plot), func(*veleroapi.RestoreSpec)) {
	return func(p *plot) {
			if rules != "" {
				p.config(p.namespace, nil, map[string]string{"rules": "version: v1\nresourceModifierRules:\n" + rules})
			}
		}, func(s *veleroapi.RestoreSpec) {
			name := ""
			for _, to := range s.NamespaceMapping {
				name = to
			}
			s.ResourceModifier = &corev1.TypedLocalObjectReference{Kind: "ConfigMap", Name: name}
		}
}

func modified(o obstacle, rules string) obstacle {
	o.also, o.spec = modifies(rules)
	return o
}

// classes has Velero change storage class ob-class, as often as there are names.
func classes(names ...string) func(*plot) {
	return func(p *plot) {
		for _, name := range names {
			p.config(
				p.namespace+name,
				map[string]string{"velero.io/plugin-config": "", "velero.io/change-storage-class": "RestoreItemAction"},
				map[string]string{"ob-class": "ob-nosuch"},
			)
		}
	}
}

// obstacles begin with those that a review planted against the first version, which found 17 of the 32 that bite.
var obstacles = []obstacle{
	{name: "nothing in the way"},
	{
		name:   "limit range: largest claim",
		groups: "claim",
		plant:  limits(`{type: PersistentVolumeClaim, max: {storage: 5Gi}}`),
		errors: "claim-data",
	},
	{
		name:   "limit range: least CPU",
		groups: "small",
		plant:  limits(`{type: Container, min: {cpu: 50m}}`),
		errors: "po-small",
	},
	{
		name:   "limit range: ratio",
		groups: "ratio",
		plant:  limits(`{type: Container, maxLimitRequestRatio: {cpu: "5"}}`),
		errors: "po-ratio",
	},
	{
		name:   "node port taken",
		groups: "port",
		plant:  `{apiVersion: v1, kind: Service, metadata: {name: holder}, spec: {type: NodePort, ports: [{port: 80, nodePort: 30005}]}}`,
		errors: "svc-port",
	},
	{
		name:   "Pod Security restricted",
		groups: "host",
		labels: `{pod-security.kubernetes.io/enforce: restricted}`,
		errors: "po-plain po-host",
	},
	{
		name:   "quota: number of ConfigMaps",
		plant:  quota(`count/configmaps: "2"`),
		errors: allMaps,
		some:   2,
		cause:  "QuotaExceeded",
	},
	{
		name:   "quota of a priority class",
		groups: "prio",
		plant: quota(
			`pods: "0"`,
			`scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [ob-prio]}]}`,
		),
		errors: "po-prio",
		cause:  "QuotaExceeded",
	},
	{name: "runtime class missing", groups: "runtime", errors: "po-runtime"},
	{name: "policy denies by label", plant: policy("!('owner' in object.metadata.labels)"), errors: "cm-b sec-a"},
	{
		name: "policy without its parameters",
		plant: policy(
			"true",
			"failurePolicy: Fail,",
			"failurePolicy: Fail, paramKind: {apiVersion: v1, kind: ConfigMap},",
			"policyName: $NS,",
			"policyName: $NS, paramRef: {name: missing, namespace: velero, parameterNotFoundAction: Deny},",
		),
		errors: allMaps + " sec-a",
	},
	{
		name: "webhook: no endpoints",
		plant: hook(
			fails,
			inTarget,
			nobody,
		) + "\n" + `{apiVersion: v1, kind: Service, metadata: {name: nobody}, spec: {selector: {a: none}, ports: [{port: 443}]}}`,
		errors: allMaps,
	},
	{name: "webhook: URL refuses", plant: hook(fails, inTarget, refuses), errors: allMaps},
	{name: "webhook ignored, no Service", plant: hook(`failurePolicy: Ignore`, inTarget, nobody)},
	{
		name:  "webhook of another namespace",
		plant: strings.ReplaceAll(hook(fails, inTarget, nobody), "metadata.name: $NS", "metadata.name: elsewhere"),
	},
	{
		name:  "webhook: match conditions false",
		plant: hook(fails, inTarget, nobody, `matchConditions: [{name: never, expression: "false"}]`),
	},
	{name: "volume Released", groups: "released", pending: "claim-released"},
	{name: "volume of another claim", groups: "foreign", pending: "claim-foreign"},
	{name: "mapped claim, volume stays", groups: "kept", pending: "claim-kept"},
	{name: "invalid namespace name", to: "Ops_2", whole: true},
	{name: "CRD without the version", groups: "obolds", errors: "x-obolds"},
	{name: "CRD missing", groups: "obgones", errors: "x-obgones"},
	{name: "conversion webhook down", groups: "obconvs", errors: "x-obconvs"},
	{name: "CRD with a stricter schema", groups: "obstricts", errors: "x-obstricts"},
	{name: "too large for etcd", groups: "big", errors: "big", unknowable: "a dry run does not reach etcd"},
	{name: "CRD being deleted", groups: "obgoings", errors: "x-obgoings"},
	{
		name:  "namespace being deleted",
		also:  func(p *plot) { p.holdNamespace() },
		whole: true,
		cause: "NamespaceTerminating",
	},
	{name: "update: immutable fields", groups: "fixed", plant: changedFixed, spec: updates, warnings: allFixed},
	{name: "none: what exists differs", groups: "fixed", plant: changedFixed, warnings: allFixed},
	{name: "priority class of another value", groups: "other", warnings: "ob-other"},
	modified(
		obstacle{name: "modifier removes what is missing", errors: allMaps},
		"- conditions: {groupResource: configmaps}\n  patches: [{operation: remove, path: /data/none}]\n",
	),
	{
		name:   "Ingress host, account token",
		groups: "token",
		plant:  `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: other}, spec: {rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}}]}}`,
	},
	{name: "restored twice", groups: "token claim", also: func(p *plot) { p.restoreBefore() }, warnings: "*"},

	{
		name:   "quota needs memory requests",
		groups: "nomem",
		plant:  quota(`requests.memory: 1Gi`),
		errors: "po-nomem",
		cause:  "QuotaNeedsResources",
	},
	{
		name:   "quota: sum of CPU",
		groups: "ratio",
		plant:  quota(`requests.cpu: 150m`),
		errors: "po-plain po-ratio",
		some:   1,
		cause:  "QuotaExceeded",
	},
	{
		name:   "quota: node ports",
		groups: "port",
		plant:  quota(`services.nodeports: "0"`),
		errors: "svc-port",
		cause:  "QuotaExceeded",
	},
	{
		name:   "quota: claims of a class",
		groups: "claim",
		plant:  quota(`ob-class.storageclass.storage.k8s.io/persistentvolumeclaims: "0"`),
		errors: "claim-data",
		cause:  "QuotaExceeded",
	},
	{
		name:   "quota: custom resources",
		groups: "obplains",
		plant:  quota(`count/obplains.pf.example.com: "0"`),
		errors: "x-obplains",
		cause:  "QuotaExceeded",
	},
	{
		name:   "quota: defaults of a limit range",
		groups: "nomem",
		plant:  quota(`requests.cpu: 450m`) + "\n" + limits(`{type: Container, defaultRequest: {cpu: 400m}}`),
		errors: "po-plain po-nomem",
		some:   1,
		cause:  "QuotaExceeded",
	},
	{
		name:   "quota of best effort",
		groups: "nomem",
		plant:  quota(`pods: "0"`, `scopes: [BestEffort]`),
		errors: "po-nomem",
		cause:  "QuotaExceeded",
	},
	{
		name:   "quota: load balancers",
		groups: "health",
		plant:  quota(`services.loadbalancers: "0"`),
		errors: "svc-health",
		cause:  "QuotaExceeded",
	},
	{name: "quota: Deployments", plant: quota(`count/deployments.apps: "0"`), errors: "dep-a", cause: "QuotaExceeded"},
	{
		name:   "quota large enough",
		groups: "claim ratio",
		plant:  quota(`requests.cpu: "4", pods: "4", count/configmaps: "4", requests.storage: 10Gi`),
	},
	{name: "limit range: pod's memory", plant: limits(`{type: Pod, max: {memory: 32Mi}}`), errors: "po-plain"},
	{name: "policy that cannot be evaluated", plant: policy("object.nosuch == 1"), errors: allMaps + " sec-a"},
	{
		name:  "the same, failures ignored",
		plant: policy("object.nosuch == 1", "failurePolicy: Fail", "failurePolicy: Ignore"),
	},
	{name: "policy that only warns", plant: policy("false", "[Deny]", "[Warn, Audit]")},
	{name: "policy against administrators", plant: policy("!('system:masters' in request.userInfo.groups)")},
	{
		name:   "policy against Velero's account",
		plant:  policy("!request.userInfo.username.startsWith('system:serviceaccount:velero:')"),
		errors: allMaps + " sec-a",
	},
	{
		name:       "policy on updates",
		plant:      policy("false", "[CREATE]", "[UPDATE]"),
		errors:     allMaps + " sec-a",
		unknowable: "Velero patches what it created",
	},
	{
		name: "the same, of what exists",
		spec: updates,
		plant: policy(
			"object.metadata.name != 'cm-a'",
			"[CREATE]",
			"[UPDATE]",
		) + "\n" + `{apiVersion: v1, kind: ConfigMap, metadata: {name: cm-a}, data: {from: cluster}}`,
		errors: "cm-a",
	},
	{
		name:   "mutating policy fails",
		plant:  oneLine(mutatingText, `[JSONPatch{op: "add", path: "/data/more", value: object.nosuch}]`),
		errors: allMaps,
	},
	{name: "mutating policy", plant: oneLine(mutatingText, `[JSONPatch{op: "add", path: "/data/more", value: "x"}]`)},
	{
		name:   "webhook: Service missing",
		plant:  hook(fails, inTarget, nobody),
		errors: allMaps,
		cause:  "WebhookServiceMissing",
	},
	{name: "webhook denies one", also: func(p *plot) { p.answers("cm-b", inTarget) }, errors: "cm-b"},
	{name: "webhook never answers", also: func(p *plot) { p.answers("", inTarget) }, errors: allMaps},
	{name: "webhook allows all", also: func(p *plot) { p.answers("none", inTarget) }},
	{
		name: "mutating webhook down",
		plant: strings.NewReplacer("Validating", "Mutating", "configmaps", "pods").
			Replace(hook(fails, inTarget, refuses)),
		errors: "po-plain",
	},
	{
		name:  "webhook on the new namespace",
		isNew: true,
		plant: strings.Replace(
			hook(fails, refuses, `matchConditions: [{name: one, expression: "request.name == '$NS'"}]`),
			"configmaps",
			"namespaces",
			1,
		),
		whole: true,
	},
	{name: "namespace name too long", to: strings.Repeat("long", 16), whole: true},
	{name: "new namespace, schema", groups: "obstricts", isNew: true, standIn: true, errors: "x-obstricts"},
	{
		name:       "new namespace, policy",
		isNew:      true,
		standIn:    true,
		errors:     "cm-b",
		unknowable: "the namespace is not there to ask",
		plant:      policy("object.metadata.name != 'cm-b'", inTarget+",", ""),
	},
	{name: "Pod Security of the backup", from: obSecured, isNew: true, errors: "po-secured"},
	{name: "CRD with another scope", groups: "obscopes", errors: "x-obscopes"},
	{name: "CRD with a CEL rule", groups: "obcels", errors: "x-obcels"},
	{name: "CRD whose names are taken", groups: "obnames", errors: "x-obnames"},
	{name: "priority class missing", groups: "lost", spec: namespaceOnly, errors: "po-lost"},
	{name: "priority class that comes along", groups: "lost"},
	{name: "priority class preempts otherwise", groups: "preempt", errors: "po-preempt"},
	{name: "runtime class with another overhead", groups: "overhead", errors: "po-overhead"},
	{name: "update: storage class", groups: "class", spec: updates, warnings: "ob-frozen"},
	{
		name:     "update: job's template",
		spec:     updates,
		warnings: "job-a",
		plant:    `{apiVersion: batch/v1, kind: Job, metadata: {name: job-a}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: b, image: b}]}}}}`,
	},
	{
		name:     "update: pod, claim, Service",
		groups:   "claim",
		spec:     updates,
		warnings: "po-plain claim-data",
		plant: `{apiVersion: v1, kind: Pod, metadata: {name: po-plain}, spec: {schedulingGates: [{name: example.com/never}], containers: [{name: b, image: a}]}}
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: claim-data}, spec: {storageClassName: other, accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}}
{apiVersion: v1, kind: Service, metadata: {name: front}, spec: {ports: [{port: 81}]}}`,
	},
	modified(
		obstacle{name: "modifier makes it invalid", errors: "dep-a"},
		"- conditions: {groupResource: deployments.apps}\n  mergePatches: [{patchData: '{\"spec\":{\"replicas\":-1}}'}]\n",
	),
	modified(obstacle{name: "modifier missing", whole: true, ends: "FailedValidation", cause: "Refused"}, ""),
	{name: "storage class missing", groups: "fast", pending: "claim-fast"},
	{name: "no default class", groups: "default", pending: "claim-default"},
	{name: "class changed to a missing one", groups: "claim", also: classes(""), errors: "claim-data"},
	{
		name:   "two ConfigMaps change classes",
		groups: "claim",
		also:   classes("-a", "-b"),
		errors: "claim-data",
		cause:  "PluginConfigAmbiguous",
	},
	{name: "volume missing, not restored", groups: "lone", spec: namespaceOnly, pending: "claim-lone"},
	{name: "volume too small", groups: "smaller", pending: "claim-smaller"},
	{name: "volume of another class", groups: "classed", pending: "claim-classed"},
	{
		name:   "policy against volumes",
		groups: "denied",
		errors: "pv-denied",
		plant: policy(
			"object.metadata.name != 'pv-denied'",
			inTarget+",",
			"",
			"[configmaps, secrets]",
			"[persistentvolumes]",
		),
	},
	{name: "Role beyond Velero's rights", groups: "role", errors: "role-special"},
	{name: "binding of a missing Role", groups: "binding", errors: "bind-missing"},
	{
		name:   "health check port taken",
		groups: "health",
		plant:  `{apiVersion: v1, kind: Service, metadata: {name: holder}, spec: {type: NodePort, ports: [{port: 80, nodePort: 30006}]}}`,
		errors: "svc-health",
	},
	{name: "hook without its command", groups: "panic", errors: "po-panics"},
	{
		name:   "file-system backup, no node-agent",
		from:   obCarried,
		errors: "db",
		cause:  "NodeAgentMissing",
		spec:   func(s *veleroapi.RestoreSpec) { s.IncludedResources = []string{"pods"} },
	},
	{
		name:    "native snapshot, no location",
		from:    obCarried,
		errors:  "disk",
		pending: "disk",
		spec:    func(s *veleroapi.RestoreSpec) { s.ExcludedResources = []string{"pods"} },
	},
	{name: "API service down, elsewhere", also: func(p *plot) { p.breakService() }},
	{
		name:       "API service of the kind down",
		groups:     "obdowns",
		also:       func(p *plot) { p.breakService() },
		errors:     "x-obdowns",
		unknowable: "it may be back by then",
	},
}
