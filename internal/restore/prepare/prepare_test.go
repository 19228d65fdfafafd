package prepare

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/modifier"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// TestRestoreItem holds what Velero's restoreItem does around its actions (pkg/restore/restore.go of 1.18.3), and what
// its actions for CSI do (pkg/restore/actions/csi).
func TestRestoreItem(t *testing.T) {
	on, off := true, false
	mapped := veleroapi.RestoreSpec{NamespaceMapping: map[string]string{"shop": "prod"}, BackupName: "b"}
	moved := `"metadata":{"name":"x","namespace":"shop","annotations":{"velero.io/data-upload-name":"d","velero.io/volume-snapshot-name":"s"}}`
	snapped := `"metadata":{"name":"x","namespace":"shop","annotations":{"velero.io/volume-snapshot-name":"s","mine":"1"}}`
	claim := `,"spec":{"volumeName":"v","dataSource":{"name":"old"},"dataSourceRef":{"name":"old"}}`
	there := func(namespace, name string) bool { return namespace == "prod" && name == "x" }
	for name, c := range map[string]struct {
		resource, body string
		rules          Rules
		want           string // the object without its Velero labels, or what the change says
	}{
		"what every restore resets": {live.ConfigMaps, `"metadata":{"name":"x","namespace":"shop","generateName":"a","selfLink":"a","uid":"a","resourceVersion":"1","generation":1,
			"creationTimestamp":"a","deletionTimestamp":"a","deletionGracePeriodSeconds":1,"ownerReferences":[],"finalizers":["a"],"managedFields":[{"manager":"m"}]},"status":{"a":"b"}`,
			Rules{}, `"metadata":{"name":"x","namespace":"shop","finalizers":["a"],"managedFields":[{"manager":"m"}]}`},
		"a mapped namespace":          {live.ConfigMaps, `"metadata":{"name":"x","namespace":"shop"}`, Rules{Restore: mapped}, `"metadata":{"name":"x","namespace":"prod"}`},
		"a namespace that stays":      {live.ConfigMaps, `"metadata":{"name":"x","namespace":"else"}`, Rules{Restore: mapped}, `"metadata":{"name":"x","namespace":"else"}`},
		"no namespace":                {"storageclasses.storage.k8s.io", `"metadata":{"name":"x"}`, Rules{Restore: mapped}, `"metadata":{"name":"x"}`},
		"a volume that is made anew":  {volumes, `"metadata":{"name":"x"},"spec":{"persistentVolumeReclaimPolicy":"Delete"}`, Rules{}, "skip: make a new one"},
		"a volume with native backup": {volumes, `"metadata":{"name":"x"},"spec":{"persistentVolumeReclaimPolicy":"Delete"}`, Rules{NativeSnapshots: true}, "unsure: native snapshots"},
		"a volume that is kept": {volumes, `"metadata":{"name":"x","annotations":{"pv.kubernetes.io/bound-by-controller":"yes","pv.kubernetes.io/provisioned-by":"p"}},
			"spec":{"persistentVolumeReclaimPolicy":"Retain","claimRef":{"name":"c","namespace":"shop","uid":"u","resourceVersion":"1"}}`, Rules{Restore: mapped},
			`"metadata":{"name":"x","annotations":{"pv.kubernetes.io/provisioned-by":"p"}},"spec":{"persistentVolumeReclaimPolicy":"Retain","claimRef":{"name":"c","namespace":"prod"}}`},
		"a volume whose data may be elsewhere": {volumes, `"metadata":{"name":"x"},"spec":{"persistentVolumeReclaimPolicy":"Retain"}`, Rules{VolumeMethods: map[string]string{"y": ""}}, "perhaps: file system backup"},
		"a volume whose data is nowhere else":  {volumes, `"metadata":{"name":"x"},"spec":{"persistentVolumeReclaimPolicy":"Retain"}`, Rules{VolumeMethods: map[string]string{"x": ""}, NativeSnapshots: true}, `"metadata":{"name":"x"},"spec":{"persistentVolumeReclaimPolicy":"Retain"}`},
		"a volume in a native snapshot":        {volumes, `"metadata":{"name":"x"},"spec":{"persistentVolumeReclaimPolicy":"Retain"}`, Rules{VolumeMethods: map[string]string{"x": "NativeSnapshot"}, NativeSnapshots: true}, "unsure: native snapshots"},
		"a volume in a file-system backup":     {volumes, `"metadata":{"name":"x"},"spec":{"persistentVolumeReclaimPolicy":"Retain"}`, Rules{VolumeMethods: map[string]string{"x": "PodVolumeBackup"}}, "skip: make a new one"},
		"a claim with moved data": {claims, moved + claim, Rules{CSIEnabled: &on, Restore: mapped},
			`"metadata":{"name":"x","namespace":"prod","annotations":{}},"spec":{"selector":{"matchLabels":{"velero.io/dynamic-pv-restore":"prod.x"}},"dataSource":{"name":"old"},"dataSourceRef":{"name":"old"}}`},
		"a claim with a snapshot": {claims, snapped + claim, Rules{CSIEnabled: &on},
			`"metadata":{"name":"x","namespace":"shop","annotations":{"mine":"1"}},"spec":{"dataSource":{"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"s"}}`},
		"a claim without volumes":                 {claims, snapped + claim, Rules{CSIEnabled: &on, Restore: veleroapi.RestoreSpec{RestorePVs: &off}}, `"metadata":{"name":"x","namespace":"shop","annotations":{"mine":"1"}},"spec":{}`},
		"a claim with a snapshot that exists":     {claims, snapped + claim, Rules{CSIEnabled: &on, Restore: mapped, ClaimExists: there}, `"metadata":{"name":"x","namespace":"prod","annotations":{"mine":"1"}}` + claim},
		"a claim with a snapshot, without CSI":    {claims, snapped + claim, Rules{CSIEnabled: &off}, `"metadata":{"name":"x","namespace":"shop","annotations":{"mine":"1"}}` + claim},
		"a claim with a snapshot, CSI unknown":    {claims, snapped + claim, Rules{}, "unsure: EnableCSI"},
		"a claim without a snapshot, CSI unknown": {claims, `"metadata":{"name":"x","namespace":"shop"}` + claim, Rules{}, `"metadata":{"name":"x","namespace":"shop"}` + claim},
		"a snapshot":                            {snapshots, `"metadata":{"name":"x","namespace":"shop"}`, Rules{CSIEnabled: &on}, "unsure: new name"},
		"a snapshot, without volumes":           {snapshotContents, `"metadata":{"name":"x"}`, Rules{CSIEnabled: &on, Restore: veleroapi.RestoreSpec{RestorePVs: &off}}, "skip: leaves volumes out"},
		"a snapshot, without CSI":               {snapshots, `"metadata":{"name":"x","namespace":"shop"}`, Rules{CSIEnabled: &off}, `"metadata":{"name":"x","namespace":"shop"}`},
		"a class of snapshots":                  {live.SnapshotClasses, `"metadata":{"name":"x"}`, Rules{}, `"metadata":{"name":"x"}`},
		"a moved volume":                        {dataUploads, `"metadata":{"name":"x","namespace":"velero"}`, Rules{}, "skip: where the data is"},
		"an API service of Kubernetes":          {apiServices, `"metadata":{"name":"x","labels":{"kube-aggregator.kubernetes.io/automanaged":"true"}}`, Rules{}, "skip: Kubernetes"},
		"an API service":                        {apiServices, `"metadata":{"name":"x"}`, Rules{}, `"metadata":{"name":"x"}`},
		"a token that Kubernetes may have made": {secrets, `"metadata":{"name":"a-token-b","namespace":"shop"},"type":"kubernetes.io/service-account-token"`, Rules{}, "perhaps: token of a ServiceAccount"},
		"images that may change":                {"deployments.apps", `"metadata":{"name":"x"}`, Rules{Plugins: map[string][]string{ChangeImageNameLabel: {"a"}}}, "unsure: images"},
		"two maps of images":                    {pods, `"metadata":{"name":"x"}`, Rules{Plugins: map[string][]string{ChangeImageNameLabel: {"a", "b"}}}, "fails: more than one ConfigMap"},
		"two maps of classes":                   {claims, `"metadata":{"name":"x"}`, Rules{Plugins: map[string][]string{live.ChangeStorageClassLabel: {"a", "b"}}}, "fails: more than one ConfigMap"},
		"a map of classes that was not read":    {claims, `"metadata":{"name":"x"}`, Rules{Plugins: map[string][]string{live.ChangeStorageClassLabel: {"a"}}}, "unsure: class"},
		"a hook of the restore":                 {pods, `"metadata":{"name":"x"},"spec":{}`, Rules{Restore: hooked()}, "unsure: hook"},
		"a modifier that was not read":          {live.ConfigMaps, `"metadata":{"name":"x"}`, Rules{UnreadModifier: "m"}, "unsure: modifier m"},
		"a modifier of the restore, not given":  {live.ConfigMaps, `"metadata":{"name":"x"}`, Rules{Restore: veleroapi.RestoreSpec{ResourceModifier: &corev1.TypedLocalObjectReference{Name: "m"}}}, "unsure: modifier m"},
		"a modifier, by the namespace of the backup": {live.ConfigMaps, `"metadata":{"name":"x","namespace":"shop"}`, Rules{Restore: mapped, Modifier: modifying(t, "{conditions: {groupResource: configmaps, namespaces: [shop]}, mergePatches: [{patchData: 'data: {a: b}'}]}")},
			`"metadata":{"name":"x","namespace":"prod"},"data":{"a":"b"}`},
		"a modifier after the actions": {live.Services, `"metadata":{"name":"x","namespace":"shop"},"spec":{"clusterIP":"10.0.0.1"}`, Rules{Modifier: modifying(t, "{conditions: {groupResource: services}, patches: [{operation: add, path: /spec/clusterIP, value: 10.0.0.9}]}")},
			`"metadata":{"name":"x","namespace":"shop"},"spec":{"clusterIP":"10.0.0.9"}`},
		"a modifier that fails": {live.ConfigMaps, `"metadata":{"name":"x","namespace":"shop"}`, Rules{Modifier: modifying(t, "{conditions: {groupResource: configmaps}, patches: [{operation: remove, path: /a}]}")}, "error: nonexistent key"},
	} {
		t.Run(name, func(t *testing.T) {
			o := read(t, []byte(`{"apiVersion":"v1","kind":"X",`+c.body+`}`))
			c.rules.RestoreName = "r"
			change := c.rules.PrepareItem(c.resource, o)
			if said, part, ok := strings.Cut(c.want, ": "); ok && !strings.HasPrefix(c.want, `"`) {
				says := map[string]string{
					"skip":    change.SkipReason,
					"unsure":  change.UnsureReason,
					"perhaps": change.MaybeSkippedReason,
					"fails":   change.Failure,
					"error":   strings.Join(change.Errors, ""),
				}
				if !strings.Contains(says[said], part) {
					t.Errorf("%+v, want %s", change, c.want)
				}
				return
			}
			if change.SkipReason != "" || change.UnsureReason != "" || change.Failure != "" || change.Errors != nil ||
				change.MaybeSkippedReason != "" && c.rules.VolumeMethods != nil {
				t.Errorf("%+v", change)
			}
			labels := o.GetLabels()
			if labels["velero.io/restore-name"] != "r" ||
				labels["velero.io/backup-name"] != c.rules.Restore.BackupName ||
				len(labels) != 2 {
				t.Errorf("labels %v", labels)
			}
			unstructured.RemoveNestedField(o.Object, "metadata", "labels")
			if want := read(t, []byte(`{"apiVersion":"v1","kind":"X",`+c.want+`}`)); !reflect.DeepEqual(o, want) {
				got, _ := json.Marshal(o)
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

func hooked() veleroapi.RestoreSpec {
	init := veleroapi.RestoreResourceHook{
		Init: &veleroapi.InitRestoreHook{InitContainers: []runtime.RawExtension{{Raw: []byte(`{}`)}}},
	}
	return veleroapi.RestoreSpec{Hooks: veleroapi.RestoreHooks{Resources: []veleroapi.RestoreResourceHookSpec{
		{LabelSelector: &metav1.LabelSelector{}, PostHooks: []veleroapi.RestoreResourceHook{init}},
	}}}
}

func modifying(t *testing.T, rule string) *modifier.Rules {
	t.Helper()
	r, err := modifier.Parse(map[string]string{"a": "version: v1\nresourceModifierRules:\n- " + rule})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestNoBodyIsTooOdd: what a backup holds was written by others.
func TestNoBodyIsTooOdd(t *testing.T) {
	on := true
	resources := []string{
		live.ConfigMaps,
		live.Services,
		live.ValidatingWebhooks,
		live.SnapshotClasses,
		pods,
		jobs,
		claims,
		volumes,
		secrets,
		serviceAccounts,
		statefulSets,
		roleBindings,
		clusterRoleBindings,
		crds,
		apiServices,
		dataUploads,
		snapshots,
		snapshotContents,
	}
	odd := []any{
		nil,
		int64(1),
		1.5,
		"x",
		true,
		[]any{nil, int64(1), []any{}, map[string]any{}},
		map[string]any{},
		map[string]any{"matchLabels": nil},
	}
	fields := []string{"spec", "metadata", "subjects", "secrets", "webhooks", "data", "type"}
	inner := []string{
		"ports",
		"claimRef",
		"versions",
		"containers",
		"initContainers",
		"volumes",
		"volumeClaimTemplates",
		"selector",
		"template",
		"clusterIP",
		"storageClassName",
		"preserveUnknownFields",
		"annotations",
		"labels",
		"managedFields",
		"namespace",
		"name",
	}
	for _, resource := range resources {
		for _, value := range odd {
			for _, field := range append(slices.Clone(fields), inner...) {
				o := &unstructured.Unstructured{
					Object: map[string]any{
						"apiVersion": "admissionregistration.k8s.io/v1",
						"kind":       "X",
						"metadata":   map[string]any{"name": "x"},
					},
				}
				if slices.Contains(fields, field) {
					o.Object[field] = runtime.DeepCopyJSONValue(value)
				} else {
					o.Object["spec"] = map[string]any{field: runtime.DeepCopyJSONValue(value)}
					o.Object["metadata"] = map[string]any{field: runtime.DeepCopyJSONValue(value), "name": "x"}
				}
				r := &Rules{
					CSIEnabled:      &on,
					Restore:         veleroapi.RestoreSpec{NamespaceMapping: map[string]string{"a": "b"}},
					StorageClassMap: map[string]string{"a": "b"},
					Plugins:         map[string][]string{live.ChangeStorageClassLabel: {"x"}},
				}
				r.PrepareItem(resource, o)
			}
		}
	}
}
