//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ownHook is a webhook of the backup on StatefulSets, in namespaces with a label of its name.
const ownHook = `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: own-%[1]s}, webhooks: [{name: %[1]s.ob.example.com, failurePolicy: %[2]s, timeoutSeconds: 1,
		sideEffects: None, admissionReviewVersions: [v1], clientConfig: {%[3]s}, namespaceSelector: {matchLabels: {own-%[1]s: "yes"}}, rules: [{operations: [CREATE], apiGroups: [apps], apiVersions: [v1], resources: [statefulsets]}]}]}`

const ownService = `service: {namespace: ob-nowhere, name: hook}`

// obBrought are groups as in [obGroups] that decide about others: they come last, and are there only in the backup.
// The quotas after the first give Kubernetes time to count.
var obBrought = map[string]string{
	"ownquota": `{apiVersion: v1, kind: ResourceQuota, metadata: {name: own-few}, spec: {hard: {count/statefulsets.apps: "0"}}}` +
		strings.Repeat("\n"+`{apiVersion: v1, kind: ResourceQuota, metadata: {generateName: zz-}, spec: {hard: {pods: "1000"}}}`, 8),
	"ownroom":     `{apiVersion: v1, kind: ResourceQuota, metadata: {name: own-room}, spec: {hard: {count/statefulsets.apps: "5"}}}`,
	"ownlimits":   `{apiVersion: v1, kind: LimitRange, metadata: {name: own-limits}, spec: {limits: [{type: Pod, max: {memory: 32Mi}}]}}`,
	"ownclaims":   `{apiVersion: v1, kind: LimitRange, metadata: {name: own-claims}, spec: {limits: [{type: PersistentVolumeClaim, max: {storage: 5Gi}}]}}`,
	"owndefaults": `{apiVersion: v1, kind: LimitRange, metadata: {name: own-defaults}, spec: {limits: [{type: Container, defaultRequest: {cpu: "2"}, default: {cpu: "2"}}]}}`,
	"ownhook":     oneLine(ownHook, "hook", "Fail", ownService),
	"ownignored":  oneLine(ownHook, "ignored", "Ignore", ownService),
	"ownurl":      oneLine(ownHook, "url", "Fail", `url: "https://127.0.0.1:1/"`),
}

// plantBrought makes what decides about others, and returns what removes it.
func plantBrought(t *testing.T) (remove func()) {
	t.Helper()
	var all []client.Object
	for group, text := range obBrought {
		for _, o := range objectsOf(t, text, obMain) {
			labels := o.GetLabels()
			labels["ob"] = group
			o.SetLabels(labels)
			must(t, theLab.Client.Create(patient(t), o))
			all = append(all, o)
		}
	}
	return func() {
		for _, o := range all {
			must(t, theLab.DeleteAndWait(patient(t), o))
		}
	}
}

const (
	strategicOf = "- conditions: {groupResource: %s}\n  strategicPatches: [{patchData: '{\"metadata\":{\"labels\":{\"a\":\"b\"}}}'}]\n"
	raisesQuota = "- conditions: {groupResource: resourcequotas}\n  mergePatches: [{patchData: '{\"spec\":{\"hard\":{\"count/statefulsets.apps\":\"5\"}}}'}]\n"
	raisesCPU   = "- conditions: {groupResource: pods}\n  patches: [{operation: replace, path: /spec/containers/0/resources/requests/cpu, value: '\"600m\"'}, " +
		"{operation: replace, path: /spec/containers/0/resources/limits/cpu, value: '\"600m\"'}]\n"
)

func strategic(resource string) string { return strings.Replace(strategicOf, "%s", resource, 1) }

// broughtObstacles are of what the restore itself brings, and of what a modifier makes.
var broughtObstacles = []obstacle{
	{name: "own quota", groups: "ownquota sets", errors: "set-b", cause: "QuotaExceeded"},
	{name: "own quota, new namespace", groups: "ownquota sets", isNew: true, errors: "set-b", cause: "QuotaExceeded"},
	{name: "own quota large enough", groups: "ownroom sets"},
	{name: "own quota of what comes before it", groups: "ownquota"},
	modified(obstacle{name: "own quota that a modifier raises", groups: "ownquota sets"}, raisesQuota),
	{name: "own limit range", groups: "ownlimits", errors: "po-plain"},
	{name: "own limit range, new namespace", groups: "ownlimits", isNew: true, errors: "po-plain"},
	{name: "own limit range of claims, too late", groups: "ownclaims claim"},
	{
		name:   "own defaults fill a quota of the target",
		groups: "owndefaults nomem",
		plant:  quota(`requests.cpu: "1"`),
		errors: "po-nomem",
		cause:  "QuotaExceeded",
	},
	{
		name:   "own webhook: Service missing",
		groups: "ownhook sets",
		labels: `{own-hook: "yes"}`,
		errors: "set-b",
		cause:  "WebhookServiceMissing",
	},
	{name: "own webhook of other namespaces", groups: "ownhook sets"},
	{name: "own webhook, failures ignored", groups: "ownignored sets", labels: `{own-ignored: "yes"}`},
	{
		name:    "own webhook: URL refuses",
		groups:  "ownurl sets",
		labels:  `{own-url: "yes"}`,
		errors:  "set-b",
		decider: "webhook url.ob.example.com of own-url",
	},
	{
		name:   "webhook of the labels of the new namespace",
		from:   obSecured,
		isNew:  true,
		plant:  strings.Replace(hook(fails, nobody, `namespaceSelector: {matchLabels: {pod-security.kubernetes.io/enforce: restricted}}`), "configmaps", "pods", 1),
		errors: "po-secured",
		cause:  "WebhookServiceMissing",
	},
	modified(
		obstacle{name: "strategic patch of a custom resource", groups: "obplains", errors: "x-obplains", cause: "RuleInvalid"},
		strategic("obplains.pf.example.com"),
	),
	modified(obstacle{name: "strategic patch of an Ingress", errors: "in-a", cause: "RuleInvalid"}, strategic("ingresses.networking.k8s.io")),
	modified(obstacle{name: "strategic patch of a Role", errors: "reader", cause: "RuleInvalid"}, strategic("roles.rbac.authorization.k8s.io")),
	modified(obstacle{name: "strategic patch of a Deployment"}, strategic("deployments.apps")),
	sumOfModified(),
}

// sumOfModified has two pods that fit into a quota as they are in the backup, and one of which does once both are
// modified.
func sumOfModified() obstacle {
	o := modified(obstacle{
		name:   "quota: sum of modified pods",
		groups: "ratio",
		plant:  quota(`requests.cpu: "1"`),
		errors: "po-plain po-ratio",
		some:   1,
		cause:  "QuotaExceeded",
	}, raisesCPU)
	return o
}
