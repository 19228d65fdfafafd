package collector

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

// needsIn returns the needs of all that a restore of everything restores.
func needsIn(t testing.TB, x *Index) map[string][]Need {
	t.Helper()
	fates, err := x.DetermineFates(t.Context(), RestoreInput{}, Discovery{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]Need{}
	if err := fates.EachItemNeeds(func(i Item, needs []Need) {
		all[i.Resource+"/"+i.Namespace+"/"+i.Name] = append([]Need(nil), needs...)
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func serviceJSON(metadata, spec string) string {
	return `{"apiVersion":"v1","kind":"Service","metadata":{` + metadata + `},"spec":{` + spec + `}}`
}

const twoPorts = `"type":"NodePort","ports":[{"name":"web","port":80,"protocol":"TCP","nodePort":30080},{"name":"tls","port":443,"protocol":"TCP","nodePort":30443}]`

// needsOfBodies are bodies, and what they need.
var needsOfBodies = []struct {
	what, resource, body string
	want                 []Need
}{
	{"ports that Kubernetes chose", "services", serviceJSON("", twoPorts),
		[]Need{{NeedServiceType, "NodePort", 0}, {NeedNodePort, "", 30080}, {NeedNodePort, "", 30443}}},
	{
		"a port of a last-applied configuration",
		"services",
		serviceJSON(
			`"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{\"ports\":[{\"name\":\"tls\",\"nodePort\":30443}]}}"}`,
			twoPorts,
		),
		[]Need{{NeedServiceType, "NodePort", 0}, {NeedNodePort, "", 30080}, {NeedKeptNodePort, "", 30443}},
	},
	{
		"a port without a name is known by its number",
		"services",
		serviceJSON(
			`"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{\"ports\":[{\"nodePort\":30080},{\"nodePort\":\"30443\"}]}}"}`,
			`"type":"NodePort","ports":[{"port":80,"nodePort":30080},{"port":81,"nodePort":30081},{"port":82,"nodePort":30443}]`,
		),
		[]Need{
			{NeedServiceType, "NodePort", 0},
			{NeedKeptNodePort, "", 30080},
			{NeedNodePort, "", 30081},
			{NeedKeptNodePort, "", 30443},
		},
	},
	{
		"a port of a server-side apply",
		"services",
		serviceJSON(
			`"managedFields":[{"fieldsV1":{"f:spec":{"f:ports":{".":{},"k:{\"port\":443,\"protocol\":\"TCP\"}":{"f:nodePort":{},"f:port":{}}}}}}]`,
			twoPorts,
		),
		[]Need{{NeedServiceType, "NodePort", 0}, {NeedNodePort, "", 30080}, {NeedKeptNodePort, "", 30443}},
	},
	{
		"managed fields do not count beside a last-applied configuration",
		"services",
		serviceJSON(
			`"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"},"managedFields":[{"fieldsV1":{"f:spec":{"f:ports":{"k:{\"port\":443,\"protocol\":\"TCP\"}":{"f:nodePort":{}}}}}}]`,
			twoPorts,
		),
		[]Need{{NeedServiceType, "NodePort", 0}, {NeedNodePort, "", 30080}, {NeedNodePort, "", 30443}},
	},
	{
		"a health check's port",
		"services",
		serviceJSON("", `"type":"LoadBalancer","externalTrafficPolicy":"Local","healthCheckNodePort":31000`),
		[]Need{{NeedServiceType, "LoadBalancer", 0}, {NeedNodePort, "", 31000}},
	},
	{
		"a health check's port that was asked for",
		"services",
		serviceJSON(
			`"managedFields":[{"fieldsV1":{"f:spec":{"f:healthCheckNodePort":{}}}}]`,
			`"type":"LoadBalancer","externalTrafficPolicy":"Local","healthCheckNodePort":31000`,
		),
		[]Need{{NeedServiceType, "LoadBalancer", 0}, {NeedKeptNodePort, "", 31000}},
	},
	{
		"no type, no port",
		"services",
		serviceJSON("", `"ports":[{"port":80}]`),
		[]Need{{NeedServiceType, "ClusterIP", 0}},
	},
	{
		"a claim",
		dirClaims,
		`{"kind":"PersistentVolumeClaim","metadata":{},"spec":{"resources":{"requests":{"storage":"10Gi"}},"storageClassName":"fast","volumeName":"v"}}`,
		[]Need{{NeedStorageClass, "fast", 0}, {NeedVolume, "v", 0}, {NeedStorage, "", 10 << 30}},
	},
	{
		"a claim's class of old",
		dirClaims,
		`{"kind":"PersistentVolumeClaim","metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":"old"}},"spec":{"storageClassName":"fast"}}`,
		[]Need{{NeedStorageClass, "old", 1}},
	},
	{
		"a pod of a priority class that ends",
		dirPods,
		`{"kind":"Pod","metadata":{},"spec":{"priorityClassName":"high","activeDeadlineSeconds":60}}`,
		[]Need{{NeedPriorityClass, "high", 0}, {NeedActiveDeadline, "", 0}, {NeedPodSecurity, `{"spec":{}}`, 0}},
	},
	{
		"a claim of a block volume",
		dirClaims,
		`{"kind":"PersistentVolumeClaim","metadata":{},"spec":{"storageClassName":"fast","volumeMode":"Block","accessModes":["ReadWriteOnce","ReadOnlyMany"]}}`,
		[]Need{{NeedBlockVolume, "", 0}, {NeedAccessMode, "ReadWriteOnce", 0}, {NeedAccessMode, "ReadOnlyMany", 0}, {NeedStorageClass, "fast", 0}},
	},
	{
		"what a pod names",
		dirPods,
		`{"kind":"Pod","metadata":{},"spec":{"serviceAccountName":"a","runtimeClassName":"r","imagePullSecrets":[{"name":"pull"}],"volumes":[
			{"configMap":{"name":"c"}},{"configMap":{"name":"later","optional":true}},{"secret":{"secretName":"s"}},{"persistentVolumeClaim":{"claimName":"d"}},
			{"projected":{"sources":[{"configMap":{"name":"kube-root-ca.crt"}},{"secret":{"name":"p"}}]}},{"ephemeral":{"volumeClaimTemplate":{"spec":{"storageClassName":"fast"}}}}]}}`,
		[]Need{{NeedPodSecurity, `{"spec":{}}`, 0}, {NeedServiceAccount, "a", 0}, {NeedRuntimeClass, "r", 0}, {NeedPullSecret, "pull", 0},
			{NeedConfigMap, "c", 0}, {NeedSecret, "s", 0}, {NeedClaim, "d", 0}, {NeedSecret, "p", 0}, {NeedMadeClass, "fast", 0}},
	},
	{
		"what the pods of a StatefulSet name",
		"statefulsets.apps",
		`{"kind":"StatefulSet","metadata":{},"spec":{"volumeClaimTemplates":[{"spec":{"storageClassName":"fast"}},{"spec":{}},{"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":"old"}}}],
			"template":{"spec":{"serviceAccountName":"default","priorityClassName":"high","containers":[{"envFrom":[{"configMapRef":{"name":"c"}}],"env":[{"valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}]}]}}}}`,
		[]Need{{NeedPriorityClass, "high", 0}, {NeedConfigMap, "c", 0}, {NeedSecret, "s", 0}, {NeedMadeClass, "fast", 0},
			{NeedMadeDefaultClass, "", 0}, {NeedMadeClass, "old", 1}},
	},
	{
		"what the pods of a CronJob name",
		"cronjobs.batch",
		`{"kind":"CronJob","metadata":{},"spec":{"jobTemplate":{"spec":{"template":{"spec":{"initContainers":[{"envFrom":[{"secretRef":{"name":"s"}}]}]}}}}}}`,
		[]Need{{NeedSecret, "s", 0}},
	},
	{
		"the status of a custom resource",
		"gadgets.example.com",
		`{"kind":"Gadget","metadata":{},"status":{"a":"b"}}`,
		[]Need{{NeedStatus, "", 0}},
	},
	{
		"a claim without a class",
		dirClaims,
		`{"kind":"PersistentVolumeClaim","metadata":{},"spec":{}}`,
		[]Need{{NeedDefaultClass, "", 0}},
	},
	{
		"a claim that wants no class",
		dirClaims,
		`{"kind":"PersistentVolumeClaim","metadata":{},"spec":{"storageClassName":"","volumeName":"v"}}`,
		[]Need{{NeedVolume, "v", 0}},
	},
	{
		"a volume",
		dirVolumes,
		`{"kind":"PersistentVolume","metadata":{},"spec":{"csi":{"driver":"ebs.csi.aws.com"},"persistentVolumeReclaimPolicy":"Retain"}}`,
		[]Need{{NeedCSIDriver, "ebs.csi.aws.com", 0}, {NeedRetainedVolume, "", 0}},
	},
	{
		"a volume that goes with its claim",
		dirVolumes,
		`{"kind":"PersistentVolume","metadata":{},"spec":{"persistentVolumeReclaimPolicy":"Delete"}}`,
		nil,
	},
	{
		"a snapshot",
		dirSnapshots,
		`{"kind":"VolumeSnapshot","metadata":{},"spec":{"volumeSnapshotClassName":"snap"}}`,
		[]Need{{NeedSnapshotClass, "snap", 0}},
	},
	{
		"a snapshot's content",
		dirContents,
		`{"kind":"VolumeSnapshotContent","metadata":{},"spec":{"driver":"d.csi","volumeSnapshotClassName":"snap"}}`,
		[]Need{{NeedSnapshotClass, "snap", 0}, {NeedCSIDriver, "d.csi", 0}},
	},
	{
		"a snapshot class",
		dirSnapshotClasses,
		`{"kind":"VolumeSnapshotClass","metadata":{},"driver":"d.csi"}`,
		[]Need{{NeedCSIDriver, "d.csi", 0}},
	},
	{
		"a storage class",
		dirStorageClasses,
		`{"kind":"StorageClass","metadata":{},"provisioner":"d.csi"}`,
		[]Need{{NeedCSIDriver, "d.csi", 0}},
	},
	{
		"webhooks",
		dirValidating,
		`{"kind":"X","metadata":{},"webhooks":[{"clientConfig":{"service":{"name":"s","namespace":"n"}}},{"clientConfig":{"url":"https://x"}},{"clientConfig":{"service":{"name":"t","namespace":"n"}},"failurePolicy":"Ignore"}]}`,
		[]Need{
			{NeedWebhookService, "n/s", 1},
			{NeedWebhookService, "n/t", 0},
			{NeedRules, `{"webhooks":[{"clientConfig":{"service":{"name":"s","namespace":"n"}}},` +
				`{"clientConfig":{"url":"https://x"}},` +
				`{"clientConfig":{"service":{"name":"t","namespace":"n"}},"failurePolicy":"Ignore"}]}`, 0},
		},
	},
	{
		"a pod",
		dirPods,
		`{"kind":"Pod","metadata":{},"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"250m","memory":"512Mi"}}},{"resources":{"requests":{"cpu":1}}}],` +
			`"initContainers":[{"name":"restore-wait","resources":{"requests":{"cpu":"9"}}},{"resources":{"requests":{"cpu":"2"}}},{"restartPolicy":"Always","resources":{"limits":{"cpu":"0"}}}],"overhead":{"cpu":"10m"},"resources":{"requests":{"memory":"2Gi"}}}}`,
		[]Need{
			{NeedContainer, "", 0},
			{NeedCPURequest, "", 250},
			{NeedMemoryRequest, "", 512 << 20},
			{NeedCPULimit, "", 1000},
			{NeedMemoryLimit, "", 1 << 30},
			{
				NeedContainer,
				"",
				0,
			},
			{NeedCPURequest, "", 1000},
			{NeedInitContainer, "", 0},
			{NeedCPURequest, "", 2000},
			{NeedSidecar, "", 0},
			{NeedCPULimit, "", 0},
			{
				NeedPodResources,
				"",
				0,
			},
			{NeedMemoryRequest, "", 2 << 30},
			{NeedOverhead, "", 0},
			{NeedCPURequest, "", 10},
			{NeedPodSecurity, `{"spec":{"containers":[{"name":"a"},{}],"initContainers":[{},{}]}}`, 0},
		},
	},
	{
		"what Pod Security looks at",
		dirPods,
		`{"kind":"Pod","metadata":{"annotations":{"container.apparmor.security.beta.kubernetes.io/a":"unconfined","other":"x"}},"spec":{"hostNetwork":true,"nodeName":"n","securityContext":{"runAsNonRoot":true},` +
			`"containers":[{"name":"a","image":"i","securityContext":{"privileged":true},"ports":[{"hostPort":80}],"livenessProbe":{"httpGet":{"host":"h"}},"readinessProbe":{"exec":{}}},{"name":"b","ports":[{"containerPort":80}]}],` +
			`"volumes":[{"name":"kube-api-access-x2x","projected":{}},{"name":"c","persistentVolumeClaim":{"claimName":"c"}},{"hostPath":{"path":"/"},"name":"root"}]}}`,
		[]Need{
			{NeedContainer, "", 0},
			{NeedContainer, "", 0},
			{
				NeedPodSecurity,
				`{"metadata":{"annotations":{"container.apparmor.security.beta.kubernetes.io/a":"unconfined"}},"spec":{"hostNetwork":true,"securityContext":{"runAsNonRoot":true},"volumes":[{"hostPath":{"path":"/"},"name":"root"}],` +
					`"containers":[{"name":"a","securityContext":{"privileged":true},"ports":[{"hostPort":80}],"livenessProbe":{"httpGet":{"host":"h"}}},{"name":"b"}]}}`,
				0,
			},
			{NeedClaim, "c", 0},
		},
	},
	{
		"a pod with resources for huge pages",
		dirPods,
		`{"kind":"Pod","metadata":{},"spec":{"resources":{"limits":{"hugepages-2Mi":"4Mi"}}}}`,
		[]Need{{NeedPodResources, "", 0}, {NeedPodSecurity, `{"spec":{}}`, 0}},
	},
	{
		"a class that is the default",
		dirStorageClasses,
		`{"kind":"StorageClass","metadata":{"annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"d"}`,
		[]Need{{NeedIsDefault, "", 0}, {NeedCSIDriver, "d", 0}},
	},
	{
		"a quota",
		dirQuotas,
		`{"kind":"ResourceQuota","metadata":{},"spec":{"hard":{"pods":"1"}},"status":{"used":{"pods":"1"}}}`,
		[]Need{{NeedRules, `{"kind":"ResourceQuota","metadata":{},"spec":{"hard":{"pods":"1"}}}`, 0}},
	},
	{
		"a limit range of a size that nobody needs",
		dirLimitRanges,
		`{"kind":"LimitRange","metadata":{},"spec":{"limits":[{"type":"` + strings.Repeat("x", maxRulesBytes) + `"}]}}`,
		[]Need{{NeedRules, "", 0}},
	},
	{
		"a CRD with a conversion webhook",
		dirCRDs,
		`{"kind":"CustomResourceDefinition","metadata":{},"spec":{"group":"g.io","names":{"plural":"things","kind":"Thing"},` +
			`"conversion":{"strategy":"Webhook","webhook":{"clientConfig":{"caBundle":"AAAA","url":"https://c"}}},` +
			`"versions":[{"name":"v1","storage":true,"schema":{}}]}}`,
		[]Need{{
			NeedRules,
			`{"spec":{"group":"g.io","names":{"plural":"things"},"conversion":{"strategy":"Webhook",` +
				`"webhook":{"clientConfig":{"url":"https://c"}}},"versions":[{"name":"v1","storage":true}]}}`,
			0,
		}},
	},
	{
		"a CRD with the Service of a conversion webhook",
		dirCRDs,
		`{"kind":"CustomResourceDefinition","metadata":{},"spec":{"group":"g.io","conversion":{"strategy":"Webhook",` +
			`"webhook":{"clientConfig":{"service":{"namespace":"n","name":"s"}}}}}}`,
		[]Need{{
			NeedRules,
			`{"spec":{"group":"g.io","conversion":{"strategy":"Webhook",` +
				`"webhook":{"clientConfig":{"service":{"namespace":"n","name":"s"}}}}}}`,
			0,
		}, {NeedWebhookService, "n/s", 0}},
	},
	{
		"a CRD without",
		dirCRDs,
		`{"kind":"CustomResourceDefinition","metadata":{},"spec":{"group":"g.io","conversion":{"strategy":"None"}}}`,
		nil,
	},
	{
		"nonsense",
		"services",
		serviceJSON(
			`"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{{"},"managedFields":{"a":1}`,
			`"type":7,"ports":{"a":[1]},"healthCheckNodePort":-1e9`,
		),
		[]Need{{NeedServiceType, "ClusterIP", 0}},
	},
	{
		"nonsense in a pod",
		dirPods,
		`{"kind":"Pod","metadata":{},"spec":{"containers":[{"resources":{"limits":{"cpu":{"a":1},"memory":"1e999999999"},"requests":7}}],"overhead":[]}}`,
		[]Need{{NeedContainer, "", 0}, {NeedPodSecurity, `{"spec":{"containers":[{}]}}`, 0}},
	},
}

// TestNeeds reads what items need, in one archive with all of them.
func TestNeeds(t *testing.T) {
	files := []file{{"metadata/version", "1.1.0\n"}}
	path := func(i int) (string, string) {
		name := fmt.Sprintf("item-%02d", i)
		resource := needsOfBodies[i].resource
		switch resource {
		case "services", dirClaims, dirSnapshots, dirPods:
			return "resources/" + resource + "/namespaces/a/" + name + ".json", resource + "/a/" + name
		}
		return "resources/" + resource + "/cluster/" + name + ".json", resource + "//" + name
	}
	for i := len(needsOfBodies) - 1; i >= 0; i-- { // not in the order of the index
		at, _ := path(i)
		files = append(files, file{at, "{}"}, file{at, needsOfBodies[i].body}) // the later one counts
	}
	archive := buildArchive(t, files...)
	got := needsIn(t, mustRead(t, archive))
	for i, c := range needsOfBodies {
		_, key := path(i)
		if !reflect.DeepEqual(got[key], c.want) {
			t.Errorf("%s: %v, want %v", c.what, got[key], c.want)
		}
	}
	names, err := read(archive, Limits{NamesOnly: true})
	if err != nil || !names.NamesOnly || len(needsIn(t, names)) > 0 {
		t.Errorf("names only: %v, needs %v", err, !names.NamesOnly)
	}
}

// TestCompletedNeedsNothing: a restore leaves it out, so an index keeps nothing of it.
func TestCompletedNeedsNothing(t *testing.T) {
	x := mustRead(
		t,
		buildArchive(
			t,
			file{"metadata/version", "1.1.0\n"},
			file{podA + "p.json", podJSON("Succeeded")},
			file{podA + "q.json", podJSON("Running")},
		),
	)
	if len(x.Needs) != 1 || x.Names.string(x.Needs[0].Item) != "q" {
		t.Errorf("needs: %v", x.Needs)
	}
}

// TestNeedsOfPodsAreSharedByThem holds what an index of many like pods takes.
func TestNeedsOfPodsAreSharedByThem(t *testing.T) {
	b := newIndexBuilder()
	o := parsedObject{withNeeds: true}
	var s jsonScanner
	pod := needsOfBodies[slices.IndexFunc(needsOfBodies[:], func(c struct {
		what, resource, body string
		want                 []Need
	}) bool {
		return c.what == "a pod"
	})]
	for i := range 50_000 {
		if err := o.parseBody(&s, []byte(pod.body), wantPod); err != nil {
			t.Fatal(err)
		}
		b.addItem(itemPath{resource: []byte(dirPods), namespace: []byte("a"), name: fmt.Appendf(nil, "p-%d", i)}, &o, 0)
	}
	if len(b.needs) != 50_000 || b.facts.countStrings() != 1 {
		t.Errorf("%s: %d needs in %d sets", pod.what, len(b.needs), b.facts.countStrings())
	}
}

func TestStoredVersions(t *testing.T) {
	pod := podJSON("Running")
	x := mustRead(t, buildArchive(t, file{"metadata/version", "1.1.0\n"},
		file{"resources/pods/v1-preferredversion/namespaces/a/p.json", pod},
		file{"resources/pods/v1-preferredversion/namespaces/a/q.json", pod},
		file{"resources/pods/namespaces/a/p.json", pod},
		file{"resources/widgets.example.com/v2-preferredversion/cluster/w.json", pod},
		file{"resources/widgets.example.com/v1/cluster/w.json", pod},
		file{"resources/widgets.example.com/v2-preferredversion/cluster/x.json", pod},
		file{"resources/odd", pod}, file{"resources//x/y.json", pod}))
	for resource, want := range map[string][2]string{"pods": {"v1", "v1"}, "widgets.example.com": {"v2", "v1 v2"}, "secrets": {}} {
		if got := [2]string{x.PreferredVersion(resource), strings.Join(x.APIVersions(resource), " ")}; got != want {
			t.Errorf("%s: %q, want %q", resource, got, want)
		}
	}
	if x.ItemCount() != 1 {
		t.Errorf("%d items", x.ItemCount())
	}
}

// TestHostileNeeds: facts are bounded like all else of an index.
func TestHostileNeeds(t *testing.T) {
	wholeWithoutRace(t)
	var ports, hooks, containers strings.Builder
	for i := range 15_000 {
		fmt.Fprintf(&ports, `{"port":%d,"nodePort":%d},`, i%65536, i)
		fmt.Fprintf(&hooks, `{"clientConfig":{"service":{"name":"s%d","namespace":"n"}}},`, i)
		containers.WriteString(`{"resources":{"limits":{"memory":"9223372036854775807","cpu":"9E"}}},`)
	}
	list := func(b *strings.Builder) string { return "[" + strings.TrimSuffix(b.String(), ",") + "]" }
	x := mustRead(t, buildArchive(
		t,
		file{"metadata/version", "1.1.0\n"},
		file{"resources/services/namespaces/a/s.json", serviceJSON("", `"ports":`+list(&ports))},
		file{"resources/" + dirMutating + "/cluster/m.json", `{"kind":"X","webhooks":` + list(&hooks) + `}`},
		file{podA + "p.json", `{"kind":"Pod","spec":{"containers":` + list(&containers) + `}}`},
		file{
			podA + "long.json",
			`{"kind":"Pod","spec":{"containers":[{"name":"` + strings.Repeat("x", maxNeedsBody) + `"}]}}`,
		},
	))
	needs := needsIn(t, x)
	if n := len(needs["services/a/s"]); n > maxNeeds+1 || n < maxNeeds/2 || x.Incomplete {
		t.Errorf("%d ports, partial %v", n, x.Incomplete)
	}
	if n := len(needs[dirMutating+"//m"]); n != maxNeeds+1 {
		t.Errorf("%d webhooks", n)
	}
	for _, need := range needs["pods/a/p"] {
		if need.Amount < 0 || need.Amount > maxAmount {
			t.Errorf("%+v", need)
		}
	}
	if got := needs["pods/a/long"]; !reflect.DeepEqual(got, []Need{{Kind: NeedPodSecurity}}) {
		t.Errorf("of a pod that is too long: %v", got)
	}
	// Names that are all different fill the index, and no more than that.
	files := []file{{"metadata/version", "1.1.0\n"}}
	for i := range 2000 {
		files = append(files, file{
			fmt.Sprintf("resources/%s/cluster/m%d.json", dirValidating, i),
			fmt.Sprintf(
				`{"kind":"X","webhooks":[{"clientConfig":{"service":{"name":"%d-%s"}}}]}`,
				i,
				strings.Repeat("x", 2000),
			),
		})
	}
	wantPartial(t, buildArchive(t, files...), Limits{IndexBytes: 1 << 20}, 100, ErrLimitExceeded, "index would take")
	// So do versions.
	files = files[:1]
	for i := range 20_000 {
		files = append(
			files,
			file{fmt.Sprintf("resources/w%d.%s/v1/cluster/m.json", i, strings.Repeat("x", 100)), "{}"},
		)
	}
	wantPartial(t, buildArchive(t, files...), Limits{IndexBytes: 1 << 20}, 0, ErrLimitExceeded, "index would take")
}

// FuzzQuantity gives amounts of any kind: none takes long or comes out below zero.
func FuzzQuantity(f *testing.F) {
	for _, text := range []string{"1", "100m", "1.5Gi", "1e3", "1E", "1e999", "-1", "", "9E", "0.0000000000000000000000001", "1e-99", "250m", "512Mi", "2", "16Ki", "7Gi", "0007", "m", "Gi", "2m", "536870911Gi", "536870912Gi",
		"0100000000000000000000000000000", "123456789012345678901234567890n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, thousandths := range []bool{true, false} {
			n, ok := parseQuantity(text, thousandths)
			if n < 0 || n > maxAmount || !ok && n != 0 {
				t.Errorf("%q: %d, %v", text, n, ok)
			}
			if !ok || n == maxAmount {
				continue
			}
			q, err := resource.ParseQuantity(string(bytes.Trim(text, `"`)))
			want := q.Value()
			if thousandths {
				want = q.MilliValue()
			}
			if err != nil || n != want {
				t.Errorf("%q: %d, Kubernetes says %d (%v)", text, n, want, err)
			}
		}
	})
}

// TestOldIndexIsReadAgain: the version before was encoded otherwise.
func TestOldIndexIsReadAgain(t *testing.T) {
	data, err := readCapture(t, Limits{}).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	old := bytes.Replace(data, []byte(indexMagic), []byte("veltui-index\x03"), 1)
	var x Index
	if err := x.UnmarshalBinary(old); err == nil {
		t.Error("an index of another version was taken")
	}
}
