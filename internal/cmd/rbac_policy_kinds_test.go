package cmd

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// deniedByPolicy reports whether the policy itself refused a request: not the API server's validation, not RBAC, and
// not an expression that cannot be evaluated.
func deniedByPolicy(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy") &&
		!strings.Contains(err.Error(), "resulted in error")
}

func download(name string, change ...func(*metav1.ObjectMeta)) *veleroapi.DownloadRequest {
	r := &veleroapi.DownloadRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: "velero", Name: name},
		Spec: veleroapi.DownloadRequestSpec{
			Target: veleroapi.DownloadTarget{Kind: veleroapi.DownloadTargetKindBackupLog, Name: "b"},
		},
	}
	for _, c := range change {
		c(&r.ObjectMeta)
	}
	return r
}

// writeOperations are the operations of admission that verbs of RBAC allow.
var writeOperations = map[string]admissionregistrationv1.OperationType{
	"create":           admissionregistrationv1.Create,
	"update":           admissionregistrationv1.Update,
	"patch":            admissionregistrationv1.Update,
	"delete":           admissionregistrationv1.Delete,
	"deletecollection": admissionregistrationv1.Delete,
}

// writableByRoles returns which resources a role may write in Velero's namespace, with the verbs.
func writableByRoles(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	verbs := map[[2]string][]string{}
	for _, r := range loadRights() {
		for _, rule := range slices.Concat(r.Rules, r.ClusterRules) {
			for _, verb := range rule.Verbs {
				if _, write := writeOperations[verb]; !write &&
					!slices.Contains([]string{"get", "list", "watch"}, verb) {
					t.Errorf("%s: verb %s is unknown here", r.Name, verb)
				}
				for _, resource := range rule.Resources {
					if _, write := writeOperations[verb]; write && r.Namespace == "" {
						key := [2]string{rule.APIGroups[0], resource}
						verbs[key] = appendUnique(verbs[key], verb)
					}
				}
			}
		}
	}
	var rules []rbacv1.PolicyRule
	for _, key := range slices.SortedFunc(maps.Keys(verbs), func(a, b [2]string) int { return strings.Compare(a[0]+a[1], b[0]+b[1]) }) {
		rules = append(rules, rbacv1.PolicyRule{APIGroups: key[:1], Resources: key[1:], Verbs: verbs[key]})
	}
	return rules
}

// unlimitedDeletes are the resources that the named people may delete at will: Velero deletes its DownloadRequests itself.
var unlimitedDeletes = []string{"downloadrequests"}

// TestPolicyCoversWhatRolesWrite: every kind that a role lets somebody write is under the policy, with every operation.
func TestPolicyCoversWhatRolesWrite(t *testing.T) {
	out, err := runRBAC(t, "policy", "--user", "u", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Items []admissionregistrationv1.ValidatingAdmissionPolicy
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	covered := func(group, resource string, operation admissionregistrationv1.OperationType) bool {
		return slices.ContainsFunc(list.Items, func(p admissionregistrationv1.ValidatingAdmissionPolicy) bool {
			return p.Spec.MatchConstraints != nil &&
				slices.ContainsFunc(
					p.Spec.MatchConstraints.ResourceRules,
					func(r admissionregistrationv1.NamedRuleWithOperations) bool {
						return slices.Contains(r.APIGroups, group) && slices.Contains(r.Resources, resource) &&
							slices.Contains(r.Operations, operation)
					},
				)
		})
	}
	checked := 0
	for _, rule := range writableByRoles(t) {
		for _, verb := range rule.Verbs {
			operation, resource := writeOperations[verb], rule.Resources[0]
			checked++
			if limited := covered(
				rule.APIGroups[0],
				resource,
				operation,
			); limited == (verb == "delete" && slices.Contains(unlimitedDeletes, resource)) {
				t.Errorf("a role may %s %s; under the policy: %v", verb, resource, limited)
			}
		}
	}
	if checked < 15 {
		t.Errorf("only %d rights to write", checked)
	}
}

// limitedWriter is somebody who has all rights to write that a role has, under the policy, in a namespace of their own.
type limitedWriter struct {
	*bed
	client.Client
	user, namespace string
	writes          []rbacv1.PolicyRule
}

func (b *bed) limitedWriter(t *testing.T, user string) *limitedWriter {
	t.Helper()
	w := &limitedWriter{bed: b, user: user, namespace: user, writes: writableByRoles(t)}
	if err := b.EnsureNamespace(t.Context(), w.namespace); err != nil {
		t.Fatal(err)
	}
	b.apply(t, user, "policy", "-n", w.namespace, "--user", user, "-o", "json")
	config, err := b.AddUserWithRules(t.Context(), user, w.namespace, w.writes...)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	if w.Client, err = client.New(config, client.Options{Scheme: testbed.Scheme()}); err != nil {
		t.Fatal(err)
	}
	policies := []*unstructured.Unstructured{
		w.base("downloadrequests", "p"),
		w.base("configmaps", "veltui-p"),
		w.base("events", "p"),
		w.base("schedules", "p"),
	}
	w.bed.create(t, policies[3])
	policies[0].SetLabels(map[string]string{"a": "b"})
	policies[1].SetLabels(nil)
	policies[2].SetLabels(map[string]string{"a": "b"})
	eventually(t, "the policy is in force", func() bool {
		for _, o := range policies[:3] {
			if !deniedByPolicy(w.Create(t.Context(), o.DeepCopy(), client.DryRunAll)) {
				return false
			}
		}
		return deniedByPolicy(
			w.Patch(
				t.Context(),
				policies[3].DeepCopy(),
				client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`)),
				client.DryRunAll,
			),
		)
	})
	return w
}

// base is an object as veltui or Velero writes it, which the policy lets somebody create.
func (w *limitedWriter) base(resource, name string) *unstructured.Unstructured {
	created := marked("created", w.user)
	metadata := merge{"name": name, "namespace": w.namespace}
	velero := func(kind string, rest merge) *unstructured.Unstructured {
		return &unstructured.Unstructured{
			Object: joined(merge{"apiVersion": "velero.io/v1", "kind": kind, "metadata": metadata}, rest),
		}
	}
	volume := merge{
		"spec": merge{
			"snapshotType":          "CSI",
			"sourceNamespace":       "a",
			"backupStorageLocation": "default",
			"operationTimeout":      "10m",
		},
	}
	podVolume := merge{
		"spec": merge{
			"node":                  "n",
			"pod":                   merge{},
			"volume":                "v",
			"backupStorageLocation": "default",
			"repoIdentifier":        "r",
		},
	}
	marks := func(notes merge) merge { return merge{"metadata": merge{"annotations": notes}} }
	switch resource {
	case "backups":
		return velero("Backup", joined(marks(created), merge{"spec": merge{"ttl": "1h0m0s"}}))
	case "restores":
		return velero("Restore", joined(marks(created), merge{"spec": merge{"backupName": "b"}}))
	case "schedules":
		return velero("Schedule", merge{"spec": merge{"schedule": "@daily", "template": merge{}}})
	case "deletebackuprequests":
		return velero(
			"DeleteBackupRequest",
			merge{
				"metadata": merge{
					"annotations": marked("deleted", w.user),
					"labels":      merge{veleroapi.BackupNameLabel: name, veleroapi.BackupUIDLabel: "u"},
				},
				"spec": merge{"backupName": name},
			},
		)
	case "downloadrequests":
		return velero("DownloadRequest", merge{"spec": merge{"target": merge{"kind": "BackupLog", "name": "b"}}})
	case "datauploads", "datadownloads":
		u := velero(
			map[string]string{"datauploads": "DataUpload", "datadownloads": "DataDownload"}[resource],
			joined(
				volume,
				merge{"spec": merge{"snapshotID": "s", "targetVolume": merge{"pvc": "p", "pv": "v", "namespace": "a"}}},
			),
		)
		if resource == "datauploads" {
			unstructured.RemoveNestedField(u.Object, "spec", "snapshotID")
			unstructured.RemoveNestedField(u.Object, "spec", "targetVolume")
			_ = unstructured.SetNestedField(u.Object, "pg", "spec", "sourcePVC")
		}
		u.SetAPIVersion("velero.io/v2alpha1")
		return u
	case "podvolumebackups":
		return velero("PodVolumeBackup", podVolume)
	case "podvolumerestores":
		return velero(
			"PodVolumeRestore",
			joined(podVolume, merge{"spec": merge{"snapshotID": "s", "sourceNamespace": "a"}}),
		)
	case "configmaps":
		return &unstructured.Unstructured{
			Object: joined(
				merge{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": merge{"policy": "{}"}},
				merge{"metadata": merge{"annotations": created, "labels": merge{"veltui.io/selection": "true"}}},
			),
		}
	case "events":
		return &unstructured.Unstructured{
			Object: merge{
				"apiVersion": "v1",
				"kind":       "Event",
				"metadata":   metadata,
				"reason":     "Woken",
				"type":       "Warning",
				"message":    w.user + " woke it",
				"source": merge{
					"component": "veltui",
				},
				"involvedObject": merge{"kind": "Restore", "namespace": w.namespace, "name": "r"},
			},
		}
	}
	panic("no object of " + resource + " is known here")
}

// mayWrite lists the resources with a verb.
func (w *limitedWriter) mayWrite(verb string) (resources []string) {
	for _, rule := range w.writes {
		if slices.Contains(rule.Verbs, verb) {
			resources = append(resources, rule.Resources[0])
		}
	}
	return resources
}

func forgedWriter(manager string, more merge) []any {
	return []any{
		joined(
			merge{
				"manager":    manager,
				"operation":  "Update",
				"apiVersion": "velero.io/v1",
				"time":       "2020-01-01T00:00:00Z",
				"fieldsType": "FieldsV1",
				"fieldsV1":   merge{"f:metadata": merge{"f:labels": merge{"f:forged": merge{}}}},
			},
			more,
		),
	}
}

// metadataTricks are changes of metadata that make an object more than what it says.
var metadataTricks = map[string]merge{
	"a finalizer":               {"finalizers": []any{"example.org/stay"}},
	"a finalizer of Kubernetes": {"finalizers": []any{"foregroundDeletion"}},
	"a generated name":          {"name": nil, "generateName": "veltui-"},
	"a pod as owner": {
		"ownerReferences": []any{merge{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}},
	},
	"a schedule as owner": {
		"ownerReferences": []any{
			merge{"apiVersion": "velero.io/v1", "kind": "Schedule", "name": "s", "uid": "u", "controller": true},
		},
	},
	"an owner that blocks": {
		"labels": merge{veleroapi.ScheduleNameLabel: "s"},
		"ownerReferences": []any{
			merge{
				"apiVersion":         "velero.io/v1",
				"kind":               "Schedule",
				"name":               "s",
				"uid":                "u",
				"controller":         true,
				"blockOwnerDeletion": true,
			},
		},
	},
	"two owners": {
		"labels": merge{veleroapi.ScheduleNameLabel: "s"},
		"ownerReferences": []any{
			merge{"apiVersion": "velero.io/v1", "kind": "Schedule", "name": "s", "uid": "u", "controller": true},
			merge{"apiVersion": "velero.io/v1", "kind": "Schedule", "name": "s", "uid": "v"},
		},
	},
	"a mark of another kind":      {"annotations": merge{"veltui.io/finalized-by": "jane"}},
	"an unknown mark":             {"annotations": merge{"veltui.io/created-foo": "x"}},
	"an escape":                   {"annotations": merge{"example.org/note": "\x1b]52;c;eA==\x07"}},
	"a C1 control":                {"annotations": merge{"example.org/note": "\u009d52;c;eA==\u009c"}},
	"a bidi control":              {"annotations": merge{"example.org/note": "a\u202eb"}},
	"a long note":                 {"annotations": merge{"example.org/note": strings.Repeat("x", 33000)}},
	"many notes":                  {"annotations": manyNotes()},
	"an escape as selected items": {"annotations": merge{"selection.veltui.io/items": "\x1b[2J"}},
	"a writer of old": {
		"managedFields": forgedWriter("velero-server", merge{"fieldsV1": merge{"f:status": merge{"f:phase": merge{}}}}),
	},
	"a person of old":        {"managedFields": forgedWriter("kubectl-edit", nil)},
	"another operation":      {"managedFields": forgedWriter("veltui", merge{"operation": "Apply"})},
	"a writer of the status": {"managedFields": forgedWriter("veltui", merge{"subresource": "status"})},
	"the status of the request": {
		"managedFields": forgedWriter("veltui", merge{"fieldsV1": merge{"f:status": merge{"f:phase": merge{}}}}),
	},
}

// withMetadata is an object with more metadata. Writers are noted in the object's own version: the API server drops others.
func withMetadata(o *unstructured.Unstructured, trick merge) *unstructured.Unstructured {
	changed := &unstructured.Unstructured{Object: joined(o.Object, merge{"metadata": trick})}
	if forged, there := trick["managedFields"].([]any); there {
		own := joined(forged[0].(merge), merge{"apiVersion": o.GetAPIVersion()})
		changed.Object["metadata"].(merge)["managedFields"] = []any{own}
	}
	return changed.DeepCopy()
}

func manyNotes() merge {
	notes := merge{}
	for i := range 70 {
		notes[fmt.Sprintf("example.org/note-%d", i)] = strings.Repeat("x", 500)
	}
	return notes
}

// TestPolicyOnCreatedMetadata: of each kind that a role may create, what veltui writes passes, and no metadata beside it
// that Kubernetes, Velero or veltui itself would act on.
func TestPolicyOnCreatedMetadata(t *testing.T) {
	t.Parallel()
	w := control(t).limitedWriter(t, "limited-metadata")
	try := func(c client.Client, o *unstructured.Unstructured, manager string) error {
		return c.Create(t.Context(), o.DeepCopy(), client.DryRunAll, client.FieldOwner(manager))
	}
	for _, resource := range w.mayWrite("create") {
		base := w.base(resource, "veltui-new")
		for _, manager := range []string{"veltui", "kubectl-create", "kubectl-client-side-apply", "velero"} {
			if err := try(w, base, manager); err != nil {
				t.Errorf("%s by %s: %v", resource, manager, err)
			}
		}
		for _, manager := range []string{"velero-server", "node-agent-server", "oadp-server", "velerox"} {
			if err := try(w, base, manager); !deniedByPolicy(err) {
				t.Errorf("%s by %s: %v", resource, manager, err)
			}
		}
		for name, trick := range metadataTricks {
			o := withMetadata(base, trick)
			if trick["generateName"] != nil {
				unstructured.RemoveNestedField(o.Object, "metadata", "name")
			}
			if err := try(w, o, "veltui"); !deniedByPolicy(err) {
				t.Errorf("%s with %s: %v", resource, name, err)
			}
			if err := try(w.client, o, "veltui"); deniedByPolicy(err) {
				t.Errorf("%s with %s, by somebody else: %v", resource, name, err)
			}
		}
	}
	schedule := merge{
		"labels": merge{veleroapi.ScheduleNameLabel: "s"},
		"ownerReferences": []any{
			merge{"apiVersion": "velero.io/v1", "kind": "Schedule", "name": "s", "uid": "u", "controller": true},
		},
		"annotations": merge{
			"team": "shop\nmail",
			"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("{}\n", 5000),
			"emoji": "\U0001f468\u200d\U0001f469",
		},
	}
	selected := merge{"annotations": merge{"selection.veltui.io/items": strings.Repeat("x", 131072)}}
	for what, honest := range map[string]*unstructured.Unstructured{
		"a backup of its schedule":      {Object: joined(w.base("backups", "of-s").Object, merge{"metadata": schedule})},
		"a restore of selected objects": {Object: joined(w.base("restores", "only").Object, merge{"metadata": selected})},
		"a large selection":             {Object: joined(w.base("configmaps", "veltui-large").Object, merge{"data": merge{"policy": strings.Repeat("x", 524288)}})},
		"an applied download":           {Object: joined(w.base("downloadrequests", "applied").Object, merge{"metadata": merge{"annotations": merge{"kubectl.kubernetes.io/last-applied-configuration": "{}\n"}}})},
	} {
		if err := try(w, honest, "veltui"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, o := range map[string]*unstructured.Unstructured{
		"plugin configuration": {Object: joined(w.base("configmaps", "veltui-a").Object, merge{"metadata": merge{"labels": merge{"velero.io/plugin-config": "", "velero.io/change-image-name": "RestoreItemAction"}}})},
		"results of volumes":   {Object: joined(w.base("configmaps", "veltui-a").Object, merge{"metadata": merge{"labels": merge{veleroapi.ResourceUsageLabel: "DataUpload"}}})},
		"a second key":         {Object: joined(w.base("configmaps", "veltui-a").Object, merge{"data": merge{"image": "evil"}})},
		"another key":          {Object: joined(w.base("configmaps", "veltui-a").Object, merge{"data": nil, "binaryData": merge{"policy": "eA=="}})},
		"too much":             {Object: joined(w.base("configmaps", "veltui-a").Object, merge{"data": merge{"policy": strings.Repeat("x", 524289)}})},
		"what nobody changes":  {Object: joined(w.base("configmaps", "veltui-a").Object, merge{"immutable": true})},
		"a processed download": {Object: joined(w.base("downloadrequests", "a").Object, merge{"status": merge{"phase": "Processed", "downloadURL": "http://x/"}})},
		"a path":               {Object: joined(w.base("downloadrequests", "a").Object, merge{"spec": merge{"target": merge{"name": "../x"}}})},
		"a long target":        {Object: joined(w.base("downloadrequests", "a").Object, merge{"spec": merge{"target": merge{"name": strings.Repeat("x", 254)}}})},
		"a labelled download":  {Object: joined(w.base("downloadrequests", "a").Object, merge{"metadata": merge{"labels": merge{"a": "b"}}})},
		"the items of a backup": {Object: joined(w.base("backups", "a").Object,
			merge{"metadata": merge{"annotations": merge{"selection.veltui.io/items": strings.Repeat("x", 33000)}}})},
	} {
		if err := try(w, o, "veltui"); !deniedByPolicy(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	foreign := w.base("configmaps", "veltui-configures")
	foreign.SetLabels(map[string]string{"veltui.io/selection": "true", "velero.io/plugin-config": ""})
	w.bed.create(t, foreign)
	if err := w.Delete(t.Context(), foreign, client.DryRunAll); !deniedByPolicy(err) {
		t.Errorf("deleting what is no selection: %v", err)
	}
}

// valueAt is a merge patch that sets one value at a path as kubectl explain writes it.
func valueAt(path string, value any) merge {
	steps := regexp.MustCompile(`[^.\[\]]+|\[0\]`).FindAllString(path, -1)
	for _, step := range slices.Backward(steps) {
		if step == "[0]" {
			value = []any{value}
		} else {
			value = merge{step: value}
		}
	}
	return value.(merge)
}

// TestPolicyKeepsVeleroReadable: whatever the policy lets pass, of any kind that a role may write, typed lists are still
// decoded, and nothing of it configures Velero for others.
func TestPolicyKeepsVeleroReadable(t *testing.T) {
	t.Parallel()
	w := control(t).limitedWriter(t, "limited-kinds")
	const seed = 20261128
	g := &generator{
		t:          t,
		w:          w,
		random:     rand.New(rand.NewPCG(seed, 11)),
		fields:     map[string][]testbed.MalformedField{},
		refused:    map[string]int{},
		allowed:    map[string]int{},
		unreadable: map[string]int{},
	}
	fields, err := testbed.MalformedFields()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fields {
		g.fields[f.Plural] = append(g.fields[f.Plural], f)
	}
	g.limit = 200
	if testing.Short() || !testbed.WantsMore() {
		g.limit = 25
	}
	for _, resource := range w.mayWrite("create") {
		g.creations(resource)
	}
	for _, resource := range w.mayWrite("patch") {
		g.patches(resource)
	}
	for _, resource := range slices.Sorted(maps.Keys(g.refused)) {
		t.Logf(
			"%s: %d allowed, %d refused by the policy, of which Velero could not read %d",
			resource,
			g.allowed[resource],
			g.refused[resource],
			g.unreadable[resource],
		)
	}
	t.Logf("seed %d: %d generated writes, %d not valid for the API server", seed, g.tries, g.invalid)
	for _, resource := range []string{"backups", "restores", "downloadrequests"} {
		if g.unreadable[resource] == 0 || g.allowed[resource] == 0 {
			t.Errorf(
				"%s: %d allowed, %d unreadable: nothing is shown",
				resource,
				g.allowed[resource],
				g.unreadable[resource],
			)
		}
	}
}

// generator writes generated objects as somebody who is limited, and looks at what passed.
type generator struct {
	t              *testing.T
	w              *limitedWriter
	random         *rand.Rand
	limit          int                                 // of writes of a kind, each for creating and changing
	fields         map[string][]testbed.MalformedField // by plural
	tries, invalid int
	// By resource, and how many of those that were refused could not be read by Velero.
	refused, allowed, unreadable map[string]int
}

var junkTexts = []any{
	"2026-01-01t00:00:00z",
	"2026-01-01T00:00:00+99:99",
	"0001-01-01T00:00:00Z",
	"1h",
	"99999999h",
	"1d",
	"-1h",
	"\x1b[2J",
	"1e30",
	"1Ti",
	"x",
}

// creations tries each field that Velero's type may not hold, with each value, and random changes beside it.
func (g *generator) creations(resource string) {
	values := g.values(resource)
	for n, v := range values {
		o := g.w.base(resource, fmt.Sprintf("veltui-%d", n))
		bad := v.field.NewObject(g.w.namespace, "x", v.value)
		for _, part := range []string{"spec", "status"} {
			if content, there := bad.Object[part]; there &&
				(part == "status" || strings.HasPrefix(v.field.Path, "spec")) {
				o.Object[part] = content
			}
		}
		if resource == "deletebackuprequests" {
			o.SetName(fmt.Sprintf("%s-%d", orDefault(o, "veltui"), n))
		}
		g.create(resource, g.tricked(o))
	}
	for n := range g.limit / 5 {
		g.create(resource, g.tricked(g.w.base(resource, fmt.Sprintf("veltui-%d", len(values)+n))))
	}
}

// malformedValue is a value for a field that Velero's type may not hold.
type malformedValue struct {
	field testbed.MalformedField
	value any
}

// values draws from the fields of a kind and their values, each field once before any twice.
func (g *generator) values(resource string) (all []malformedValue) {
	fields := slices.Clone(g.fields[resource])
	g.random.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	for len(fields) > 0 && len(all) < g.limit {
		for _, f := range fields[:min(len(fields), g.limit-len(all))] {
			values := f.Values
			takesText := slices.ContainsFunc(values, func(v any) bool { _, text := v.(string); return text })
			if takesText && g.random.IntN(4) > 0 {
				values = junkTexts
			}
			all = append(all, malformedValue{f, values[g.random.IntN(len(values))]})
		}
	}
	return all
}

func orDefault(o *unstructured.Unstructured, name string) string {
	if backup, _, _ := unstructured.NestedString(
		o.Object,
		"spec",
		"backupName",
	); regexp.MustCompile(`^[a-z0-9]+$`).
		MatchString(backup) {
		return backup
	}
	return name
}

// tricked changes metadata of some objects.
func (g *generator) tricked(o *unstructured.Unstructured) *unstructured.Unstructured {
	if g.random.IntN(5) > 0 {
		return o
	}
	names := slices.Sorted(maps.Keys(metadataTricks))
	return withMetadata(o, metadataTricks[names[g.random.IntN(len(names))]])
}

func (g *generator) create(resource string, o *unstructured.Unstructured) {
	made := o.DeepCopy()
	err := g.w.Create(g.t.Context(), made, client.FieldOwner("veltui"))
	if !g.count(resource, err, o.Object) {
		if deniedByPolicy(err) {
			stored := o.DeepCopy()
			if g.w.client.Create(g.t.Context(), stored, client.DryRunAll) == nil && !g.decodes(stored) {
				g.unreadable[resource]++
			}
		}
		return
	}
	if !g.decodes(made) || len(made.GetFinalizers()) > 0 || made.GetGenerateName() != "" ||
		len(made.GetManagedFields()) > 1 ||
		hasStatus(made) {
		g.t.Errorf("%s passed", jsonOf(made.Object))
	}
	g.look(made)
	_ = g.w.client.Delete(g.t.Context(), made)
}

// patches tries each field with each value beside a change that is allowed.
func (g *generator) patches(resource string) {
	base := g.w.base(resource, "veltui-patched")
	honest := map[string]merge{"schedules": joined(merge{"spec": merge{"paused": true}}, merge{"metadata": merge{"annotations": marked("paused", g.w.user, "to", "pause")}})}[resource]
	switch resource {
	case "schedules":
	case "backups", "restores":
		base.Object["status"] = merge{"phase": "InProgress"}
		honest = joined(
			merge{"status": merge{"phase": "Failed"}},
			merge{
				"metadata": merge{"annotations": marked("finalized", g.w.user, "from", "InProgress", "to", "Failed")},
			},
		)
		base.SetAnnotations(nil)
	default:
		honest = joined(
			merge{"spec": merge{"cancel": true}},
			merge{"metadata": merge{"annotations": marked("cancelled", g.w.user)}},
		)
	}
	var o *unstructured.Unstructured
	for _, v := range g.values(resource) {
		if o == nil {
			o = base.DeepCopy()
			if err := g.w.client.Create(g.t.Context(), o, client.FieldOwner("velero-server")); err != nil {
				g.t.Fatal(resource, err)
			}
		}
		change := joined(honest, valueAt(v.field.Path, v.value))
		switch g.random.IntN(6) {
		case 0:
			names := slices.Sorted(maps.Keys(metadataTricks))
			change = joined(change, merge{"metadata": metadataTricks[names[g.random.IntN(len(names))]]})
		case 1:
			change = honest
		}
		patched := o.DeepCopy()
		patch := client.RawPatch(types.MergePatchType, []byte(jsonOf(change)))
		if !g.count(resource, g.w.Patch(g.t.Context(), patched, patch, client.FieldOwner("veltui")), change) {
			continue
		}
		if !g.decodes(patched) {
			g.t.Errorf("%s passed", jsonOf(change))
		}
		g.look(patched)
		_ = g.w.client.Delete(g.t.Context(), o)
		o = nil
	}
	if o != nil {
		_ = g.w.client.Delete(g.t.Context(), o)
	}
}

// count notes what became of a write, and reports whether it passed.
func (g *generator) count(resource string, err error, what merge) bool {
	g.tries++
	switch {
	case err == nil:
		g.allowed[resource]++
		return true
	case deniedByPolicy(err):
		g.refused[resource]++
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		g.invalid++
	default:
		g.t.Errorf("%s: %v", jsonOf(what), err)
	}
	return false
}

// decodes reports whether Velero's type holds an object as the API server has it.
func (g *generator) decodes(o *unstructured.Unstructured) bool {
	typed, err := testbed.Scheme().New(o.GroupVersionKind())
	if err != nil {
		g.t.Fatal(err)
	}
	return json.Unmarshal([]byte(jsonOf(o.Object)), typed) == nil
}

// look lists what there is as Velero's informers and its plugins do.
func (g *generator) look(o *unstructured.Unstructured) {
	kind := o.GroupVersionKind()
	kind.Kind += "List"
	list, err := testbed.Scheme().New(kind)
	if err != nil {
		g.t.Fatal(err)
	}
	if err := g.w.client.List(g.t.Context(), list.(client.ObjectList), client.InNamespace(g.w.namespace)); err != nil {
		g.t.Fatalf("after %s Velero reads no %s: %v", jsonOf(o.Object), kind.Kind, err)
	}
	var configures corev1.ConfigMapList
	for _, label := range []string{"velero.io/plugin-config", veleroapi.ResourceUsageLabel} {
		if err := g.w.client.List(
			g.t.Context(),
			&configures,
			client.InNamespace(g.w.namespace),
			client.HasLabels{label},
		); err != nil ||
			len(configures.Items) > 0 {
			g.t.Fatalf("after %s: %v, %d configure Velero", jsonOf(o.Object), err, len(configures.Items))
		}
	}
	for _, m := range o.GetManagedFields() {
		if m.Time == nil || time.Since(m.Time.Time) > time.Hour {
			g.t.Errorf("%s is said to have written at %v", m.Manager, m.Time)
		}
	}
	for key, value := range o.GetAnnotations() {
		if len(value) > 32768 || strings.ContainsAny(value, "\x1b\a\u009b\u009d\u202e") {
			g.t.Errorf("annotation %s has %d bytes: %.40q", key, len(value), value)
		}
	}
}

func jsonOf(o merge) string {
	data, err := json.Marshal(o)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func hasStatus(o *unstructured.Unstructured) bool {
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	return len(status) > 0
}
