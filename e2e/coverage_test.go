//go:build e2e

package e2e

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/e2e/lab"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// coverageWorkloads are the kinds of workloads in Velero's lists, by what veltui calls them.
var coverageWorkloads = map[string]string{
	"v1/Pod":              "Pod",
	"apps/v1/Deployment":  "Deployment",
	"apps/v1/StatefulSet": "StatefulSet",
	"apps/v1/DaemonSet":   "DaemonSet",
	"batch/v1/CronJob":    "CronJob",
	"batch/v1/Job":        "Job",
}

type predicted struct {
	Namespaces, Claims, Data, Unknown, MissingNamespaces []string
	Workloads                                            map[string][]string
}

type coverageItem struct{ Namespace, Name, State, Reason, Sentence, Backup, Schedule string }

// plantCoverage plants claims in namespace cov-a, each with another reason, and what schedules can tell apart in others.
func plantCoverage(t *testing.T) (reasons map[string]string) {
	t.Helper()
	ctx := patient(t)
	create := func(o client.Object) { must(t, theLab.Client.Create(ctx, o)) }
	meta := func(namespace, name string, labels ...string) metav1.ObjectMeta {
		m := metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{}}
		for i := 0; i+1 < len(labels); i += 2 {
			m.Labels[labels[i]] = labels[i+1]
		}
		return m
	}
	const exclude = veleroapi.ExcludeFromBackupLabel
	create(&corev1.Namespace{ObjectMeta: meta("", "cov-a", "tier", "gold")})
	create(&corev1.Namespace{ObjectMeta: meta("", "cov-b1")})
	create(&corev1.Namespace{ObjectMeta: meta("", "cov-b2")})
	create(&corev1.Namespace{ObjectMeta: meta("", "cov-x", exclude, "true")})
	create(&corev1.Namespace{ObjectMeta: meta("", "cov-gone")})
	held := &corev1.ConfigMap{ObjectMeta: meta("cov-gone", "held", "app", "web")}
	held.Finalizers = []string{"veltui.io/held"}
	create(held)
	template := func(name string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"run": name}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web"}}},
		}
	}
	selector := func(name string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"run": name}}
	}
	zero, suspended := int32(0), true
	for _, n := range []string{"cov-a", "cov-b1", "cov-b2", "cov-x", "cov-gone"} {
		once := template("once")
		once.Spec.RestartPolicy = corev1.RestartPolicyNever
		create(
			&appsv1.Deployment{
				ObjectMeta: meta(n, "web", "app", "web"),
				Spec: appsv1.DeploymentSpec{
					Replicas: &zero,
					Selector: selector("web"),
					Template: template("web"),
				},
			},
		)
		create(
			&appsv1.StatefulSet{
				ObjectMeta: meta(n, "db", "app", "db"),
				Spec:       appsv1.StatefulSetSpec{Replicas: &zero, Selector: selector("db"), Template: template("db")},
			},
		)
		create(
			&appsv1.Deployment{
				ObjectMeta: meta(n, "secret", exclude, "true"),
				Spec: appsv1.DeploymentSpec{
					Replicas: &zero,
					Selector: selector("secret"),
					Template: template("secret"),
				},
			},
		)
		nowhere := template("agent")
		nowhere.Spec.NodeSelector = map[string]string{"no": "where"}
		create(
			&appsv1.DaemonSet{
				ObjectMeta: meta(n, "agent"),
				Spec:       appsv1.DaemonSetSpec{Selector: selector("agent"), Template: nowhere},
			},
		)
		create(
			&batchv1.CronJob{
				ObjectMeta: meta(n, "tidy"),
				Spec: batchv1.CronJobSpec{
					Schedule:    "0 0 1 1 *",
					JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: once}},
				},
			},
		)
		create(
			&batchv1.Job{
				ObjectMeta: meta(n, "once", "app", "web"),
				Spec:       batchv1.JobSpec{Suspend: &suspended, Template: once},
			},
		)
	}
	must(t, theLab.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "cov-gone"}}))
	must(t, wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &appsv1.DaemonSetList{}, &batchv1.CronJobList{}, &batchv1.JobList{}} {
			if err := theLab.Client.List(
				ctx,
				list,
				client.InNamespace("cov-gone"),
			); err != nil ||
				apimeta.LenList(list) > 0 {
				return false, err
			}
		}
		return true, nil
	}))
	t.Cleanup(func() {
		before := held.DeepCopy()
		held.Finalizers = nil
		_ = theLab.Client.Patch(ctx, held, client.MergeFrom(before))
	})

	reasons = map[string]string{}
	claim := func(namespace, name, reason string, class *string, source *corev1.PersistentVolumeSource, labels ...string) {
		c := &corev1.PersistentVolumeClaim{
			ObjectMeta: meta(namespace, name, labels...),
			Spec: corev1.PersistentVolumeClaimSpec{
				StorageClassName: class,
				AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
				},
			},
		}
		if source != nil {
			v := &corev1.PersistentVolume{
				ObjectMeta: meta("", namespace+"-"+name),
				Spec: corev1.PersistentVolumeSpec{
					Capacity:               c.Spec.Resources.Requests,
					AccessModes:            c.Spec.AccessModes,
					PersistentVolumeSource: *source,
					ClaimRef:               &corev1.ObjectReference{Namespace: namespace, Name: name},
				},
			}
			if class != nil {
				v.Spec.StorageClassName = *class
			}
			create(v)
			c.Spec.VolumeName = v.Name
		}
		create(c)
		if reason != "NotBound" {
			must(t, theLab.AwaitClaim(ctx, c))
		}
		if namespace == "cov-a" {
			reasons[name] = reason
		}
	}
	none, snapped, missing := "", lab.SnapshotClass, "cov-missing"
	nfs := &corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "127.0.0.1", Path: "/x"}}
	path := &corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}}
	foreign := &corev1.PersistentVolumeSource{
		CSI: &corev1.CSIPersistentVolumeSource{Driver: "other.example.com", VolumeHandle: "x"},
	}
	claim("cov-a", "snapped", "", &snapped, nil, "app", "db")
	claim("cov-b1", "data", "", &snapped, nil, "app", "web")
	claim("cov-b2", "data", "", &snapped, nil)
	claim("cov-a", "labelled", "LabelExcluded", &snapped, nil, exclude, "true")
	claim("cov-a", "pending", "NotBound", &missing, nil)
	claim("cov-a", "host", "HostPath", &none, path)
	claim("cov-a", "unmounted", "NotMounted", &none, nfs)
	claim("cov-a", "mounted", "NotOptedIn", &none, nfs)
	claim("cov-a", "opted-in", "NoNodeAgent", &none, nfs)
	claim("cov-a", "resting", "PodNotRunning", &none, nfs)
	claim("cov-a", "left-pod", "PodNotTaken", &none, nfs)
	claim("cov-a", "no-class", "NoStorageClass", &missing, foreign)
	create(
		&corev1.ConfigMap{
			ObjectMeta: meta(lab.Namespace, "cov-plain"),
			Data: map[string]string{
				"policy": "version: v1\nvolumePolicies:\n- conditions:\n    pvcLabels: {app: skipped}\n  action: {type: skip}\n",
			},
		},
	)
	claim("cov-a", "by-policy", "PolicySkips", &snapped, nil, "app", "skipped")

	pod := func(name, claim, optedIn string, run bool, labels ...string) {
		p := &corev1.Pod{ObjectMeta: meta("cov-a", name, labels...), Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{
				{
					Name: "vol",
					VolumeSource: corev1.VolumeSource{
						PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
					},
				},
			},
			Containers: []corev1.Container{
				{Name: "main", Image: "web", VolumeMounts: []corev1.VolumeMount{{Name: "vol", MountPath: "/x"}}},
			},
		}}
		if optedIn != "" {
			p.Annotations = map[string]string{veleroapi.VolumesToBackupAnnotation: optedIn}
		}
		must(t, theLab.CreatePod(ctx, p))
		if run {
			must(t, theLab.RunPod(ctx, "cov-a", name))
		}
	}
	pod("mounts", "mounted", "", true, "app", "web")
	pod("opts-in", "opted-in", "vol", true)
	pod("rests", "resting", "vol", false)
	pod("left", "left-pod", "vol", true, exclude, "true")
	pod("reads", "snapped", "", true)
	return reasons
}

// coverageList is what Velero stored of a backup: namespaces, claims and workloads without an owner, and the claims with data.
func coverageList(t *testing.T, backup string) (found predicted) {
	t.Helper()
	read := func(what string, into any) {
		file, err := os.Open(theLab.ObjectPath("backups/" + backup + "/" + backup + "-" + what + ".json.gz"))
		must(t, err)
		defer func() { _ = file.Close() }()
		unzipped, err := gzip.NewReader(file)
		must(t, err)
		must(t, json.NewDecoder(unzipped).Decode(into))
	}
	list, volumes := map[string][]string{}, []struct{ PVCName, PVCNamespace, Result string }{}
	read("resource-list", &list)
	read("volumeinfo", &volumes)
	owned := map[string]bool{}
	for kind, objects := range map[string]client.ObjectList{"Job": &batchv1.JobList{}, "Pod": &corev1.PodList{}} {
		must(t, theLab.Client.List(patient(t), objects))
		switch l := objects.(type) {
		case *batchv1.JobList:
			for i := range l.Items {
				owned[kind+" "+l.Items[i].Namespace+"/"+l.Items[i].Name] = metav1.GetControllerOf(&l.Items[i]) != nil
			}
		case *corev1.PodList:
			for i := range l.Items {
				owned[kind+" "+l.Items[i].Namespace+"/"+l.Items[i].Name] = metav1.GetControllerOf(&l.Items[i]) != nil
			}
		}
	}
	found.Namespaces, found.Claims, found.Workloads = list["v1/Namespace"], list["v1/PersistentVolumeClaim"], map[string][]string{}
	for listed, kind := range coverageWorkloads {
		names := slices.DeleteFunc(list[listed], func(name string) bool { return owned[kind+" "+name] })
		if len(names) > 0 {
			found.Workloads[kind] = names
		}
	}
	for _, v := range volumes {
		if v.Result == "succeeded" {
			found.Data = append(found.Data, v.PVCNamespace+"/"+v.PVCName)
		}
	}
	for _, names := range append(slices.Collect(maps.Values(found.Workloads)), found.Namespaces, found.Claims, found.Data) {
		slices.Sort(names)
	}
	return found
}

// TestCoverage holds the reasons that coverage names, and what it predicts of the next runs of
// schedules, to the backups that Velero then makes.
func TestCoverage(t *testing.T) {
	ctx := patient(t)
	must(t, theLab.StartSnapshots(ctx))
	must(t, theLab.EnsureVelero(ctx, append([]string{"--features=EnableCSI"}, unthrottled...)...))
	reasons := plantCoverage(t)
	policy := func(name, text string) *corev1.TypedLocalObjectReference {
		if text != "" {
			must(
				t,
				theLab.Client.Create(
					ctx,
					&corev1.ConfigMap{
						ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: name},
						Data:       map[string]string{"policy": text},
					},
				),
			)
		}
		return &corev1.TypedLocalObjectReference{Kind: "configmap", Name: name}
	}
	web, db := &metav1.LabelSelector{
		MatchLabels: map[string]string{"app": "web"},
	}, &metav1.LabelSelector{
		MatchLabels: map[string]string{"app": "db"},
	}
	yes, no := true, false
	schedules := map[string]veleroapi.BackupSpec{
		"cov-all": {ResourcePolicy: policy("cov-plain", "")},
		"cov-globs": {
			IncludedNamespaces: []string{"cov-a", "cov-b*", "*-x"},
			ExcludedNamespaces: []string{"cov-b2"},
		},
		"cov-excluded": {ExcludedNamespaces: []string{"cov-b?", "kube-*"}},
		"cov-selector": {LabelSelector: web},
		"cov-selected": {
			IncludedNamespaces: []string{"cov-*"},
			OrLabelSelectors: []*metav1.LabelSelector{
				db,
				{
					MatchExpressions: []metav1.LabelSelectorRequirement{
						{Key: "tier", Operator: metav1.LabelSelectorOpExists},
					},
				},
			},
		},
		"cov-kinds": {IncludedNamespaces: []string{"cov-*"}, IncludedResources: []string{"deploy", "pvc", "jobs"}},
		"cov-no-kinds": {
			IncludedNamespaces:      []string{"cov-*"},
			ExcludedResources:       []string{"po", "statefulsets.apps"},
			IncludeClusterResources: &no,
		},
		"cov-scoped": {
			IncludedNamespaces:               []string{"cov-*"},
			ExcludedNamespaceScopedResources: []string{"persistentvolumeclaims", "cronjobs.batch"},
		},
		"cov-cluster": {
			IncludedNamespaces:               []string{"cov-*"},
			ExcludedClusterScopedResources:   []string{"*"},
			IncludedNamespaceScopedResources: []string{"pods", "persistentvolumeclaims"},
		},
		"cov-missing":         {IncludedNamespaces: []string{"cov-b1", "cov-no-such", "no-match-*"}},
		"cov-missing-by-glob": {IncludedNamespaces: []string{"cov-b1", "cov-no-such-*"}},
		"cov-no-snaps":        {IncludedNamespaces: []string{"cov-*"}, SnapshotVolumes: &no},
		"cov-everything": {
			IncludedNamespaces:      []string{"*"},
			IncludedResources:       []string{"*"},
			IncludeClusterResources: &yes,
		},
		"cov-policies": {IncludedNamespaces: []string{"cov-*"}, ResourcePolicy: policy("cov-policies", `version: v1
volumePolicies:
- conditions: {capacity: "1Gi,1Gi", csi: {}}
  action: {type: snapshot}
- conditions: {}
  action: {type: skip}
includeExcludePolicy:
  excludedNamespaceScopedResources: [daemonsets]
namespacedFilterPolicies:
- namespaces: [cov-b1]
  resourceFilters:
  - kinds: [deployments.apps]
    names: ["w*"]
  - kinds: [persistentvolumeclaims]
    labelSelector: {matchLabels: {app: web}}
- namespaces: ["cov-b*"]
  resourceFilters:
  - kinds: [jobs]
`)},
	}
	for _, name := range slices.Sorted(maps.Keys(schedules)) {
		spec := schedules[name]
		spec.StorageLocation, spec.TTL.Duration = lab.LocationName, 9000*time.Hour // until the next run, in a year
		must(
			t,
			theLab.Client.Create(
				ctx,
				&veleroapi.Schedule{
					ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: name},
					Spec:       veleroapi.ScheduleSpec{Schedule: "0 0 1 1 *", Template: spec},
				},
			),
		)
		var want predicted
		_, printed := runVeltui(t, "coverage", "--next", name, "-o", "json")
		must(t, json.Unmarshal(document(printed), &want))
		must(
			t,
			theLab.Client.Create(
				ctx,
				&veleroapi.Backup{
					ObjectMeta: metav1.ObjectMeta{
						Namespace: lab.Namespace,
						Name:      name,
						Labels:    map[string]string{veleroapi.ScheduleNameLabel: name},
					},
					Spec: spec,
				},
			),
		)
		h := ended(t, "Backup", name)
		if fails := h.LastState().Phase == "PartiallyFailed"; strings.HasPrefix(name, "cov-missing") &&
			fails != slices.Equal(want.MissingNamespaces, []string{"cov-no-such"}) {
			t.Errorf("schedule %s is %s, missing namespaces predicted: %q", name, h.LastState().Phase, want.MissingNamespaces)
		}
		got := coverageList(t, name)
		same := func(what string, want, got []string) {
			if !slices.Equal(slices.Compact(want), slices.Compact(got)) {
				t.Errorf("schedule %s (%s), %s: predicted %q, Velero took %q", name, h.LastState().Phase, what, want, got)
			}
		}
		same("namespaces", want.Namespaces, got.Namespaces)
		same("claims", want.Claims, got.Claims)
		for _, kind := range coverageWorkloads {
			same(kind, want.Workloads[kind], got.Workloads[kind])
		}
		if slices.Contains(got.Claims, "cov-b1/data") &&
			!slices.Contains(
				[]string{"cov-kinds", "cov-no-kinds", "cov-cluster"},
				name,
			) { // without PersistentVolumes Velero records no volumes
			same("data", want.Data, got.Data)
		}
		if len(want.Unknown) > 0 {
			t.Errorf("schedule %s: not known: %q", name, want.Unknown)
		}
		if name != "cov-all" {
			continue
		}
		_, printed = runVeltui(t, "coverage", "-o", "json", "cov-a", "cov-b1", "cov-x", "cov-gone")
		var covered struct {
			Items []struct {
				coverageItem
				Claims []coverageItem
			}
		}
		must(t, json.Unmarshal(document(printed), &covered))
		for _, n := range covered.Items {
			for _, c := range n.Claims {
				if reason, planted := reasons[c.Name]; n.Name == "cov-a" &&
					(!planted || c.Reason != reason || (c.State == "covered") != (reason == "")) {
					t.Errorf("claim %s: %+v, want %q", c.Name, c, reason)
				}
			}
			want := map[string]string{"cov-x": "NamespaceLabelled", "cov-gone": "NamespaceTerminating"}[n.Name]
			if want != "" && n.Reason != want &&
				!(n.Name == "cov-gone" && strings.HasPrefix(n.Reason, "BeingDeleted")) {
				t.Errorf("namespace %s: %+v, want %s", n.Name, n.coverageItem, want)
			}
		}
	}
}
