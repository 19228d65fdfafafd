package preflight

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// item is one of a backup; its body begins after the metadata.
type item struct{ resource, namespace, name, rest string }

// indexOf is what a backup of these items holds.
func indexOf(t testing.TB, items ...item) *collector.Index {
	t.Helper()
	x, err := collector.Read(t.Context(), bytes.NewReader(archiveOf(t, items...)), collector.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// archiveOf is a backup's tarball with these items.
func archiveOf(t testing.TB, items ...item) []byte {
	t.Helper()
	var archive bytes.Buffer
	zip := gzip.NewWriter(&archive)
	w := tar.NewWriter(zip)
	put := func(name, body string) {
		if err := w.WriteHeader(
			&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(body)), Mode: 0o600},
		); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(body))
	}
	put("metadata/version", "1.1.0\n")
	for _, i := range items {
		scope := "cluster/"
		if i.namespace != "" {
			scope = "namespaces/" + i.namespace + "/"
		}
		body := i.rest
		if !strings.HasPrefix(body, "{") {
			body = fmt.Sprintf(
				`{"apiVersion":"v1","kind":"X","metadata":{"name":%q,"namespace":%q}%s}`,
				i.name,
				i.namespace,
				i.rest,
			)
		}
		put("resources/"+i.resource+"/v1-preferredversion/"+scope+i.name+".json", body)
		put("resources/"+i.resource+"/"+scope+i.name+".json", body)
	}
	if w.Close() != nil || zip.Close() != nil {
		t.Fatal("cannot write the archive")
	}
	return archive.Bytes()
}

// served is what the target serves, in version v1 unless the name says another.
func served(names ...string) *live.ServedKinds {
	var lists []*metav1.APIResourceList
	for _, name := range append([]string{"pods", "configmaps", "secrets", "services", "serviceaccounts", "namespaces", claims, volumes, jobs,
		snapshots, snapshotContents, live.StorageClasses, live.SnapshotClasses, live.ValidatingWebhooks, "resourcequotas"}, names...) {
		name, version, _ := strings.Cut(name, "@")
		plural, group, _ := strings.Cut(name, ".")
		in := strings.TrimPrefix(group+"/"+strings.TrimPrefix(version+"/v1", "/"), "/")
		if version != "" {
			in = group + "/" + version
		}
		lists = append(
			lists,
			&metav1.APIResourceList{
				GroupVersion: in,
				APIResources: []metav1.APIResource{{Name: plural, Namespaced: true, Kind: plural,
					Verbs: metav1.Verbs{"list", "create", "get", "delete"}}},
			},
		)
	}
	return live.NewServedKinds(lists...)
}

// fine is Velero with nothing in the way.
func fine() VeleroState {
	v := VeleroState{
		Backup: &veleroapi.Backup{
			ObjectMeta: metav1.ObjectMeta{Name: "b"},
			Spec:       veleroapi.BackupSpec{StorageLocation: "default"},
			Status: veleroapi.BackupStatus{
				Phase:      veleroapi.BackupPhaseCompleted,
				Expiration: &metav1.Time{Time: now.Add(24 * time.Hour)},
			},
		},
		Location: &veleroapi.BackupStorageLocation{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "velero"},
			Status: veleroapi.BackupStorageLocationStatus{Phase: veleroapi.BackupStorageLocationPhaseAvailable}},
		Server: velero.Server{Visible: true},
	}
	v.Server.Name, v.Server.Running = "velero-0", true
	return v
}

// given is one question; its zero value asks about an empty cluster.
type given struct {
	items    []item
	spec     veleroapi.RestoreSpec
	served   []string
	versions map[string][]string
	there    func(resource, namespace, name string) *live.Object
	unseen   []live.Unchecked
	around   live.Environment
	velero   func(*VeleroState)
	dry      *DryRun
	// none is true where no namespace is there, and kubernetes the cluster's version.
	none       bool
	kubernetes [2]string
	compared   []ExistingObject
	failing    map[string]string
	changed    map[string]time.Time
	// silent is an API group that does not tell its kinds.
	silent string
	// noSubresources is true where no kind has subresources.
	noSubresources bool
}

func checked(t *testing.T, g given) *Result {
	t.Helper()
	in := Input{
		Restore:     g.spec,
		Velero:      fine(),
		Served:      served(g.served...),
		Versions:    g.versions,
		Environment: &g.around,
		Now:         now,
		Index:       indexOf(t, g.items...),
		DryRun:      g.dry,
	}
	if in.DryRun == nil { // one that answers nothing
		in.DryRun = &DryRun{AsVelero: true, Answered: func(string, string, string) bool { return false }}
	}
	in.Restore.BackupName = "b"
	if g.noSubresources {
		in.Served.SetSubresources()
	}
	in.Unlistable, in.CRDChanges = g.failing, g.changed
	if g.kubernetes[0] != "" {
		in.Served.SetVersion(g.kubernetes[0], g.kubernetes[1])
	}
	if g.velero != nil {
		g.velero(&in.Velero)
	}
	if g.silent != "" {
		in.Served.SilentReasons[g.silent] = "timed out"
	}
	var err error
	spec := collector.RestoreInput{Restore: in.Restore, ExistingNamespaces: collector.TargetNamespaces{AllExist: !g.none, IsComplete: true}}
	if in.Fates, err = in.Index.DetermineFates(t.Context(), spec, collector.LiveDiscovery(in.Served.ResourceLists)); err != nil {
		t.Fatal(err)
	}
	q, _, err := BuildQuery(in.Fates, in.Restore, "velero")
	if err != nil {
		t.Fatal(err)
	}
	in.State = live.NewState(q, g.there, g.unseen...)
	in.Compared, in.Existing = g.compared != nil, g.compared
	r, err := Check(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Sentence == "" || f.Severity != Note && f.Remedy == "" || len(f.Names) > maxNames ||
			strings.Contains(f.Sentence+f.Remedy, "%!") {
			t.Errorf("not fit to be read: %+v", f)
		}
	}
	return r
}

func kindsOf(r *Result) string {
	var all []string
	for _, f := range r.Findings {
		all = append(all, string(f.Severity)+" "+string(f.Reason))
	}
	return strings.Join(all, ", ")
}

func always(string, string, string) *live.Object { return &live.Object{} }

const (
	oneCPU        = `,"spec":{"containers":[{"resources":{"requests":{"cpu":"1","memory":"1Gi"}}}]}`
	claimOfFast   = `,"spec":{"storageClassName":"fast","resources":{"requests":{"storage":"10Gi"}}}`
	chosenPort    = `,"spec":{"externalTrafficPolicy":"Cluster","type":"LoadBalancer","healthCheckNodePort":30080}`
	someonePort   = `,"spec":{"type":"NodePort","ports":[{"port":80,"nodePort":30080}]}`
	enforcedSpace = `,"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}`
	hostPod       = `,"spec":{"hostNetwork":true,"volumes":[{"name":"root","hostPath":{"path":"/"}}],"containers":[{"name":"a"}]}`
	strictPod     = `,"spec":{"securityContext":{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}},"containers":[{"name":"a","securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}]}`
	hooked        = `,"webhooks":[{"clientConfig":{"service":{"namespace":"ops","name":"hook"}}}]`
)

func quota(name, hard, used string, scopes ...corev1.ResourceQuotaScope) live.Environment {
	q := corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "q"},
		Spec:       corev1.ResourceQuotaSpec{Scopes: scopes},
	}
	q.Spec.Hard = corev1.ResourceList{corev1.ResourceName(name): resource.MustParse(hard)}
	q.Status = corev1.ResourceQuotaStatus{
		Hard: q.Spec.Hard,
		Used: corev1.ResourceList{corev1.ResourceName(name): resource.MustParse(used)},
	}
	return live.Environment{Quotas: []corev1.ResourceQuota{q}}
}

func withShop(s live.Environment) live.Environment {
	s.Namespaces = map[string]live.Namespace{"shop": {}}
	return s
}

// annotated gives a body an annotation.
func annotated(key, rest string) string {
	return fmt.Sprintf(`,"metadata":{"annotations":{%q:"x"}}%s`, key, rest)
}

func limitRange(item corev1.LimitRangeItem) corev1.LimitRange {
	return corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "l"},
		Spec:       corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}},
	}
}

func list(name, amount string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceName(name): resource.MustParse(amount)}
}

func webhook(change func(*live.Webhook), services map[string]bool) live.Environment {
	w := live.Webhook{
		Configuration: live.ValidatingWebhooks + "/c",
		Name:          "w",
		Service:       "ops/hook",
		FailsClosed:   true,
		Rules: []admissionv1.RuleWithOperations{
			{
				Operations: []admissionv1.OperationType{"CREATE"},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, Resources: []string{"configmaps"}},
			},
		},
	}
	if change != nil {
		change(&w)
	}
	return live.Environment{
		Webhooks:   []live.Webhook{w},
		Services:   services,
		Namespaces: map[string]live.Namespace{"shop": {Labels: map[string]string{"a": "b"}}},
	}
}

// TestFindings has each finding, and what is nearly one.
func TestFindings(t *testing.T) {
	yes := true
	settings := []item{{"configmaps", "shop", "settings", ""}}
	gadget := []item{{"gadgets.example.com", "shop", "g", ""}}
	claim := []item{{claims, "shop", "data", claimOfFast}}
	pod := []item{{pods, "shop", "p-0", oneCPU}, {pods, "shop", "p-1", oneCPU}}
	service := []item{{"services", "shop", "web", chosenPort}}
	noHook := map[string]bool{"ops/hook": false}
	secrets := []item{{"secrets", "shop", "a", ""}, {"secrets", "shop", "b", ""}}
	unseen := func(resource string) []live.Unchecked {
		return []live.Unchecked{{Resource: resource, Namespace: "shop", Why: "you may not list it"}}
	}
	threePorts := []item{
		{
			"services",
			"shop",
			"web",
			`,"spec":{"type":"NodePort","ports":[{"port":80,"nodePort":30080},{"port":443,"nodePort":30443},{"port":22,"nodePort":30022}]}`,
		},
	}
	failing, gone := map[string]string{
		"gadgets.example.com": "no endpoints",
	}, map[string][]string{
		"gadgets.example.com": {"v2"},
	}
	justNow := map[string]time.Time{"gadgets.example.com": now.Add(-time.Minute)}
	update := veleroapi.RestoreSpec{ExistingResourcePolicy: veleroapi.PolicyTypeUpdate}
	versions := map[string][]string{"gadgets.example.com": {"v1", "v2"}}
	inVersion := func(version string, exact bool) func(*live.Webhook) {
		return func(w *live.Webhook) {
			w.MatchesExactly = exact
			w.Rules[0].Rule = admissionv1.Rule{
				APIGroups: []string{"example.com"}, APIVersions: []string{version}, Resources: []string{"gadgets"},
			}
		}
	}
	withFast := live.Environment{StorageClasses: map[string]bool{"fast": false}}
	data := []item{{claims, "shop", "data", annotated("velero.io/volume-snapshot-name", claimOfFast)}}
	moved := []item{{claims, "shop", "data", annotated("velero.io/data-upload-name", claimOfFast)}}
	content := []item{{snapshotContents, "", "c", `,"spec":{"driver":"d","volumeSnapshotClassName":"snap"}`}}
	csi := func(version string) func(*VeleroState) {
		return func(v *VeleroState) { v.Server.Version, v.Server.Flags.Features = version, []string{"EnableCSI"} }
	}
	snapshotClass := func(driver string) live.Environment {
		return live.Environment{
			SnapshotClasses: map[string]string{"mine": driver},
			Drivers:         map[string]bool{"d": true},
		}
	}
	configs := func(action string, s live.Environment) live.Environment {
		s.PluginConfigs = map[string][]string{action: {"a", "b"}}
		return s
	}
	enforcing := func(level, version string) live.Environment {
		labels := map[string]string{"pod-security.kubernetes.io/enforce": level}
		if version != "" {
			labels["pod-security.kubernetes.io/enforce-version"] = version
		}
		return live.Environment{Namespaces: map[string]live.Namespace{"shop": {Labels: labels}}}
	}
	ranged := func(s live.Environment, of corev1.LimitRangeItem) live.Environment {
		s.LimitRanges = []corev1.LimitRange{limitRange(of)}
		return s
	}
	started := func(policy string) []item {
		return []item{
			{
				pods,
				"shop",
				"p",
				`,"spec":{"containers":[{"resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1"}}}],"initContainers":[{"resources":{"requests":{"cpu":"2"},"limits":{"cpu":"2"}}` + policy + `}]}`,
			},
		}
	}
	levelPod := []item{
		{
			pods,
			"shop",
			"p",
			`,"spec":{"resources":{"requests":{"memory":"1Gi"},"limits":{"memory":"2Gi"}},"containers":[{}]}`,
		},
	}
	answered := &DryRun{AsVelero: true, Answered: func(string, string, string) bool { return true }}
	onUpdates := func(w *live.Webhook) { w.Rules[0].Operations = []admissionv1.OperationType{"UPDATE"} }
	selects := func(value string) func(*live.Webhook) {
		return func(w *live.Webhook) {
			w.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": value}}
		}
	}
	yes, policy := true, veleroapi.RestoreSpec{
		ResourcePolicy: &corev1.TypedLocalObjectReference{Kind: "ConfigMap", Name: "p"},
	}
	for name, c := range map[string]struct {
		given
		want string
		says string
	}{
		"nothing in the way": {given{items: settings}, "", ""},

		"secrets that may exist, and a full quota":    {given{items: secrets, unseen: unseen("secrets"), around: withShop(quota("secrets", "2", "2"))}, "", ""},
		"secrets of a namespace that does not exist":  {given{items: secrets, unseen: unseen("secrets"), around: quota("secrets", "2", "2")}, "obstacle QuotaExceeded", ""},
		"configmaps that may exist, and a webhook":    {given{items: settings, unseen: unseen("configmaps"), around: webhook(nil, noHook)}, "", ""},
		"claims that may exist":                       {given{items: claim, unseen: unseen(claims), around: withShop(live.Environment{})}, "", ""},
		"a Service that may hold its own node port":   {given{items: service, unseen: unseen("services"), around: withShop(live.Environment{NodePorts: map[int64]string{30080: "ops/x"}})}, "", ""},
		"Velero changes the class":                    {given{items: claim, around: live.Environment{StorageClassMap: map[string]string{"fast": "slow"}, StorageClasses: map[string]bool{"slow": false}}}, "", ""},
		"Velero may change the class":                 {given{items: claim, around: live.Environment{Unchecked: []live.Unchecked{{Resource: live.ConfigMaps, Why: "you may not list it"}}}}, "doubt StorageClassMissing", "could not be read"},
		"a resource modifier":                         {given{items: claim, spec: veleroapi.RestoreSpec{ResourceModifier: &corev1.TypedLocalObjectReference{Kind: "ConfigMap", Name: "m"}}}, "doubt StorageClassMissing", "resource modifier m"},
		"more ports than the quota has":               {given{items: threePorts, around: quota("services.nodeports", "2", "0")}, "obstacle QuotaExceeded", "3 more wanted"},
		"ports that fit":                              {given{items: threePorts, around: quota("services.nodeports", "3", "0")}, "", ""},
		"a health check's port is none for the quota": {given{items: service, around: quota("services.nodeports", "0", "0")}, "doubt QuotaExceeded", ""},
		"a version of a group that does not answer":   {given{items: gadget, served: []string{"gadgets.example.com@v2"}, versions: map[string][]string{}}, "", ""},
		"snapshots keep their names":                  {given{items: []item{{snapshots, "shop", "s", ""}}, there: always, velero: func(v *VeleroState) { v.Server.Version = "v1.15.2" }}, "note ObjectsExist", "v1.15.2 leaves what exists"},
		"snapshots get new names":                     {given{items: []item{{snapshots, "shop", "s", ""}}, there: always}, "note ObjectsExist", "new names"},

		"it exists":                 {given{items: settings, there: always}, "doubt ObjectsExist", "1 object of configmaps exists already"},
		"it exists, policy none":    {given{items: settings, there: always, spec: veleroapi.RestoreSpec{ExistingResourcePolicy: veleroapi.PolicyTypeNone}}, "doubt ObjectsExist", "leaves"},
		"it exists, policy update":  {given{items: settings, there: always, spec: update}, "doubt ObjectsPatched", "patches what differs"},
		"pods exist, policy update": {given{items: pod, there: always, spec: update}, "doubt ObjectsPatched", "few fields"},
		"a ServiceAccount exists":   {given{items: []item{{serviceAccounts, "shop", "robot", ""}}, there: always, spec: update}, "note ServiceAccountsMerged", "takes nothing away"},
		"a claim exists":            {given{items: claim, there: always, spec: update}, "doubt ClaimsExist", "writes the data of file-system backups"},
		"a volume exists":           {given{items: []item{{volumes, "", "v", ""}}, there: always}, "note VolumesExist", ""},
		"it is being deleted":       {given{items: settings, there: func(string, string, string) *live.Object { return &live.Object{DeletingSince: now} }}, "doubt ObjectsTerminating", ""},
		"what each namespace has":   {given{items: []item{{"configmaps", "shop", "kube-root-ca.crt", ""}}, there: always}, "", ""},
		"it exists where it is mapped": {given{items: settings, spec: veleroapi.RestoreSpec{NamespaceMapping: map[string]string{"shop": "new"}}, there: func(_, namespace, _ string) *live.Object {
			if namespace == "new" {
				return &live.Object{}
			}
			return nil
		}}, "doubt ObjectsExist", ""},

		"a kind that is not served":                     {given{items: gadget}, "obstacle KindNotServed", "gadgets.example.com"},
		"a kind whose CRD is restored":                  {given{items: append([]item{{"customresourcedefinitions.apiextensions.k8s.io", "", "gadgets.example.com", `,"spec":{"group":"example.com","names":{"plural":"gadgets","kind":"Gadget"},"scope":"Namespaced"}`}}, gadget...), served: []string{"customresourcedefinitions.apiextensions.k8s.io"}}, "", ""},
		"a kind that the server fails to list":          {given{items: gadget, served: []string{"gadgets.example.com"}, failing: failing}, "obstacle KindNotListable", "waits without a limit"},
		"a kind in a version that Velero does not list": {given{items: gadget, served: []string{"gadgets.example.com@v2"}, failing: failing}, "obstacle KindNotListable", "an error for each"},
		"the same without an informer cache":            {given{items: gadget, served: []string{"gadgets.example.com"}, failing: failing, velero: func(v *VeleroState) { v.Server.Flags.DisableInformerCache = true }}, "obstacle KindNotListable", "an error for each"},
		"a version that went after Velero's discovery":  {given{items: gadget, served: []string{"gadgets.example.com@v2"}, versions: gone, changed: justNow}, "obstacle KindNotListable", "changed 1m"},
		"a version that went before Velero's discovery": {given{items: gadget, served: []string{"gadgets.example.com@v2"}, versions: gone, changed: justNow, velero: func(v *VeleroState) { v.Server.StartedAt = now.Add(-time.Minute) }}, "obstacle VersionNotServed", ""},
		"a version that went long ago":                  {given{items: gadget, served: []string{"gadgets.example.com@v2"}, versions: gone, changed: map[string]time.Time{"gadgets.example.com": now.Add(-6 * time.Minute)}}, "obstacle VersionNotServed", ""},
		"a version that went, and nobody lists":         {given{items: gadget, served: []string{"gadgets.example.com@v2"}, versions: gone, changed: justNow, velero: func(v *VeleroState) { v.Server.Flags.DisableInformerCache = true }}, "obstacle VersionNotServed", ""},
		"a version that is not served":                  {given{items: gadget, served: []string{"gadgets.example.com@v2"}, versions: map[string][]string{"gadgets.example.com": {"v2"}}}, "obstacle VersionNotServed", "version v1"},
		"a version that is served, too":                 {given{items: gadget, served: []string{"gadgets.example.com@v2"}, versions: map[string][]string{"gadgets.example.com": {"v2", "v1"}}}, "", ""},
		"a namespace that is being deleted":             {given{items: settings, around: live.Environment{Namespaces: map[string]live.Namespace{"shop": {Terminating: true}}}}, "obstacle NamespaceTerminating", "With each of 1 item, Velero waits up to 10m"},
		"another one is":                                {given{items: settings, around: live.Environment{Namespaces: map[string]live.Namespace{"other": {Terminating: true}}}}, "", ""},

		"no storage class":               {given{items: claim}, "obstacle StorageClassMissing", "fast"},
		"the storage class is there":     {given{items: claim, around: live.Environment{StorageClasses: map[string]bool{"fast": false}}}, "", ""},
		"the storage class is brought":   {given{items: append([]item{{live.StorageClasses, "", "fast", ""}}, claim...)}, "", ""},
		"classes may not be listed":      {given{items: claim, around: live.Environment{Unchecked: []live.Unchecked{{Resource: live.StorageClasses, Why: "you may not list it"}}}}, "", ""},
		"the claim exists already":       {given{items: claim, there: always}, "doubt ClaimsExist", ""},
		"no default class":               {given{items: []item{{claims, "shop", "data", `,"spec":{}`}}}, "obstacle DefaultClassMissing", "1 claim names no storage class"},
		"a default class":                {given{items: []item{{claims, "shop", "data", `,"spec":{}`}}, around: live.Environment{StorageClasses: map[string]bool{"x": true}}}, "", ""},
		"no snapshot class":              {given{items: []item{{"volumesnapshots.snapshot.storage.k8s.io", "shop", "s", `,"spec":{"volumeSnapshotClassName":"snap"}`}}}, "doubt SnapshotClassMissing", "keeps the name"},
		"a snapshot class":               {given{items: []item{{"volumesnapshots.snapshot.storage.k8s.io", "shop", "s", `,"spec":{"volumeSnapshotClassName":"snap"}`}}, around: live.Environment{SnapshotClasses: map[string]string{"snap": "d"}}}, "", ""},
		"snapshots without EnableCSI":    {given{items: data, around: withFast}, "obstacle VolumesEmpty", "1 claim"},
		"data that nobody wants":         {given{items: data, around: withFast, spec: veleroapi.RestoreSpec{RestorePVs: new(bool)}}, "", ""},
		"snapshots with EnableCSI":       {given{items: data, around: withFast, velero: csi("v1.18.3")}, "", ""},
		"data that was moved":            {given{items: moved, around: withFast}, "obstacle VolumesEmpty", "EnableCSI"},
		"a class of the same driver":     {given{items: content, around: snapshotClass("d"), velero: csi("v1.18.3")}, "", ""},
		"a class of another driver":      {given{items: content, around: snapshotClass("e"), velero: csi("v1.18.3")}, "note SnapshotClassMissing", "driver d"},
		"a class that is restored":       {given{items: append([]item{{live.SnapshotClasses, "", "new", `,"driver":"d"`}}, content...), around: snapshotClass("e"), velero: csi("v1.18.3")}, "", ""},
		"Velero that keeps its name":     {given{items: content, around: snapshotClass("d"), velero: csi("v1.17.1")}, "doubt SnapshotClassMissing", "Volume snapshot class snap"},
		"two maps of classes":            {given{items: claim, around: configs(live.ChangeStorageClassLabel, withFast)}, "obstacle PluginConfigAmbiguous", "2 ConfigMaps have the label velero.io/change-storage-class"},
		"two maps that nobody needs":     {given{items: settings, around: configs(live.ChangeStorageClassLabel, withFast)}, "", ""},
		"two maps of the restore helper": {given{items: pod, around: configs(prepare.PodVolumeRestoreLabel, withFast)}, "doubt PluginConfigAmbiguous", "file-system backups"},
		"two maps of nodes":              {given{items: claim, around: configs("velero.io/change-pvc-node-selector", withFast), velero: csi("v1.16.2")}, "obstacle PluginConfigAmbiguous", ""},
		"two maps that Velero ignores":   {given{items: claim, around: configs("velero.io/change-pvc-node-selector", withFast), velero: csi("v1.18.3")}, "", ""},
		"Velero changes it to no class":  {given{items: claim, around: live.Environment{StorageClassMap: map[string]string{"fast": "slow"}, StorageClasses: map[string]bool{"fast": false}}}, "obstacle StorageClassMissing", "fast to slow"},

		"a namespace that refuses pods":      {given{items: pod, around: enforcing("restricted", "")}, "obstacle PodSecurityViolated", "allowPrivilegeEscalation != false"},
		"a namespace that lets them in":      {given{items: pod, around: enforcing("baseline", "")}, "", ""},
		"a label that says nothing":          {given{items: pod, around: enforcing("strict", "")}, "obstacle PodSecurityViolated", "restricted"},
		"a version of old":                   {given{items: pod, around: enforcing("restricted", "v1.7")}, "obstacle PodSecurityViolated", "runAsNonRoot"},
		"a pod that keeps to it":             {given{items: []item{{pods, "shop", "p", strictPod}}, around: enforcing("restricted", "")}, "", ""},
		"a pod with the node's network":      {given{items: []item{{pods, "shop", "p", hostPod}}, around: enforcing("baseline", "")}, "obstacle PodSecurityViolated", "host namespaces; hostPath volumes"},
		"the restore makes such a namespace": {given{items: append([]item{{"namespaces", "", "shop", enforcedSpace}}, pod...), none: true}, "obstacle PodSecurityViolated", "as in the backup"},
		"the namespace is there without it":  {given{items: append([]item{{"namespaces", "", "shop", enforcedSpace}}, pod...), around: withShop(live.Environment{})}, "", ""},
		"namespaces may not be listed":       {given{items: pod, around: live.Environment{Unchecked: []live.Unchecked{{Resource: live.Namespaces, Why: "no"}}}}, "", ""},

		"no driver":                     {given{items: []item{{volumes, "", "v", `,"spec":{"csi":{"driver":"d.csi"}}`}}}, "doubt DriverMissing", "d.csi"},
		"a driver":                      {given{items: []item{{volumes, "", "v", `,"spec":{"csi":{"driver":"d.csi"}}`}}, around: live.Environment{Drivers: map[string]bool{"d.csi": true}}}, "", ""},
		"a driver of what is made anew": {given{items: []item{{volumes, "", "v", `,"spec":{"csi":{"driver":"d.csi"},"persistentVolumeReclaimPolicy":"Delete"}`}}}, "", ""},

		"too few pods":                {given{items: pod, around: quota("pods", "5", "4")}, "obstacle QuotaExceeded", "pods: 4 of 5 used, 2 more wanted"},
		"enough pods":                 {given{items: pod, around: quota("pods", "5", "3")}, "", ""},
		"the pods exist":              {given{items: pod, there: always, around: quota("pods", "2", "2")}, "doubt ObjectsExist", ""},
		"too little CPU":              {given{items: pod, around: quota("requests.cpu", "1500m", "0")}, "obstacle QuotaExceeded", "2 more wanted"},
		"enough CPU":                  {given{items: pod, around: quota("cpu", "2", "0")}, "", ""},
		"too little memory":           {given{items: pod, around: quota("requests.memory", "3Gi", "1536Mi")}, "obstacle QuotaExceeded", "2Gi more wanted"},
		"limits that nobody gave":     {given{items: pod, around: quota("limits.memory", "10Gi", "0")}, "obstacle QuotaNeedsResources", "2 pods"},
		"a quota with scopes":         {given{items: pod, around: quota("pods", "1", "0", corev1.ResourceQuotaScopeCrossNamespacePodAffinity)}, "doubt QuotaExceeded", "scopes"},
		"an API group that is silent": {given{items: settings, silent: "down.example.com"}, "note GroupsSilent", "down.example.com"},
		"too few of a kind":           {given{items: settings, around: quota("count/configmaps", "1", "1")}, "obstacle QuotaExceeded", ""},
		"a kind that is not there":    {given{items: settings, around: quota("count/gadgets.example.com", "0", "0")}, "", ""},
		"too little storage": {given{items: claim, around: func() live.Environment {
			s := quota("fast.storageclass.storage.k8s.io/requests.storage", "9Gi", "0")
			s.StorageClasses = map[string]bool{"fast": false}
			return s
		}()}, "obstacle QuotaExceeded", "10Gi more wanted"},
		"storage of another class": {given{items: claim, around: func() live.Environment {
			s := quota("slow.storageclass.storage.k8s.io/requests.storage", "0", "0")
			s.StorageClasses = map[string]bool{"fast": false}
			return s
		}()}, "", ""},
		"an init container counts if it asks for more": {given{items: started(""), around: quota("requests.cpu", "1500m", "0")}, "obstacle QuotaExceeded", "2 more wanted"},
		"a sidecar goes on":                            {given{items: started(`,"restartPolicy":"Always"`), around: quota("requests.cpu", "2500m", "0")}, "obstacle QuotaExceeded", "3 more wanted"},
		"an init container must say it, too":           {given{items: started(""), around: quota("requests.memory", "9Gi", "0")}, "obstacle QuotaNeedsResources", "1 pod"},
		"what all of a pod asks for is enough":         {given{items: levelPod, around: quota("limits.memory", "4Gi", "0")}, "", ""},
		"what all of a pod asks for counts":            {given{items: levelPod, around: quota("limits.memory", "1Gi", "0")}, "obstacle QuotaExceeded", "2Gi more wanted"},
		"what an older cluster does not know":          {given{items: levelPod, around: quota("limits.memory", "4Gi", "0"), kubernetes: [2]string{"1", "33+"}}, "obstacle QuotaNeedsResources", ""},
		"what a limit range gives counts":              {given{items: pod, around: ranged(quota("limits.memory", "3Gi", "0"), corev1.LimitRangeItem{Type: "Container", Default: list("memory", "2Gi")})}, "obstacle QuotaExceeded", "4Gi more wanted"},
		"a maximum of an init container":               {given{items: started(""), around: ranged(live.Environment{}, corev1.LimitRangeItem{Type: "Container", Max: list("cpu", "1500m")})}, "obstacle LimitRangeViolated", "at most 1500m cpu for a container"},
		"a maximum of pods wants a limit":              {given{items: pod, around: ranged(live.Environment{}, corev1.LimitRangeItem{Type: "Pod", Max: list("cpu", "8")})}, "obstacle LimitRangeViolated", "no limit says how much"},
		"a maximum of pods, and spec.resources":        {given{items: levelPod, around: ranged(live.Environment{}, corev1.LimitRangeItem{Type: "Pod", Max: list("memory", "1Gi")})}, "obstacle LimitRangeViolated", "at most 1Gi memory for a pod"},
		"a ratio":                                      {given{items: levelPod, around: ranged(live.Environment{}, corev1.LimitRangeItem{Type: "Pod", MaxLimitRequestRatio: list("memory", "1500m")})}, "obstacle LimitRangeViolated", "1500m times the request"},
		"a ratio that is kept":                         {given{items: levelPod, around: ranged(live.Environment{}, corev1.LimitRangeItem{Type: "Pod", MaxLimitRequestRatio: list("memory", "2")})}, "", ""},
		"too few load balancers":                       {given{items: service, around: quota("services.loadbalancers", "0", "0")}, "obstacle QuotaExceeded", ""},
		"a limit range with a default": {given{items: pod, around: func() live.Environment {
			s := quota("limits.memory", "10Gi", "0")
			s.LimitRanges = []corev1.LimitRange{limitRange(corev1.LimitRangeItem{Type: "Container", Default: list("memory", "1Gi")})}
			return s
		}()}, "", ""},
		"containers too large":      {given{items: pod, around: live.Environment{LimitRanges: []corev1.LimitRange{limitRange(corev1.LimitRangeItem{Type: "Container", Max: list("cpu", "500m")})}}}, "obstacle LimitRangeViolated", "at most 500m cpu"},
		"containers too small":      {given{items: pod, around: live.Environment{LimitRanges: []corev1.LimitRange{limitRange(corev1.LimitRangeItem{Type: "Container", Min: list("memory", "2Gi")})}}}, "obstacle LimitRangeViolated", "at least 2Gi memory"},
		"containers that fit":       {given{items: pod, around: live.Environment{LimitRanges: []corev1.LimitRange{limitRange(corev1.LimitRangeItem{Type: "Container", Max: list("cpu", "1"), Min: list("memory", "1Gi")})}}}, "", ""},
		"a claim that is too large": {given{items: claim, around: live.Environment{StorageClasses: map[string]bool{"fast": false}, LimitRanges: []corev1.LimitRange{limitRange(corev1.LimitRangeItem{Type: "PersistentVolumeClaim", Max: list("storage", "5Gi")})}}}, "obstacle LimitRangeViolated", "at most 5Gi"},

		"a node port is taken":               {given{items: service, around: live.Environment{NodePorts: map[int64]string{30080: "ops/x"}}}, "obstacle NodePortTaken", "30080 by ops/x"},
		"another node port is":               {given{items: service, around: live.Environment{NodePorts: map[int64]string{30081: "ops/x"}}}, "", ""},
		"the Service itself holds it":        {given{items: service, there: always, around: live.Environment{NodePorts: map[int64]string{30080: "shop/web"}}}, "doubt ObjectsExist", ""},
		"a node port that Velero drops":      {given{items: []item{{"services", "shop", "web", someonePort}}, around: live.Environment{NodePorts: map[int64]string{30080: "ops/x"}}}, "", ""},
		"a node port that the restore keeps": {given{items: []item{{"services", "shop", "web", someonePort}}, spec: veleroapi.RestoreSpec{PreserveNodePorts: &yes}, around: live.Environment{NodePorts: map[int64]string{30080: "ops/x"}}}, "obstacle NodePortTaken", "preserve-nodeports"},

		"nobody answers a webhook":    {given{items: settings, around: webhook(nil, noHook)}, "obstacle WebhookServiceMissing", "1 item"},
		"it is about another version": {given{items: gadget, served: []string{"gadgets.example.com"}, versions: versions, around: webhook(inVersion("v2", false), noHook)}, "obstacle WebhookServiceMissing", ""},
		"only about another version":  {given{items: gadget, served: []string{"gadgets.example.com"}, versions: versions, around: webhook(inVersion("v2", true), noHook)}, "", ""},
		"only about this version":     {given{items: gadget, served: []string{"gadgets.example.com"}, versions: versions, around: webhook(inVersion("v1", true), noHook)}, "obstacle WebhookServiceMissing", ""},
		"about a version of the past": {given{items: gadget, served: []string{"gadgets.example.com"}, versions: versions, around: webhook(inVersion("v0", false), noHook)}, "", ""},
		"somebody answers it":         {given{items: settings, around: webhook(nil, map[string]bool{"ops/hook": true})}, "", ""},
		"it may fail":                 {given{items: settings, around: webhook(func(w *live.Webhook) { w.FailsClosed = false }, noHook)}, "", ""},
		"it is about something else":  {given{items: pod, around: webhook(nil, noHook)}, "", ""},
		"it is about updates, which Velero's patches are": {given{items: settings, around: webhook(onUpdates, noHook), dry: answered},
			"obstacle WebhookServiceMissing", "1 item"},
		"it accepts, as a dry run tells": {given{items: settings, around: webhook(nil, noHook), dry: answered}, "", ""},
		"it is about other namespaces":   {given{items: settings, around: webhook(selects("c"), noHook)}, "", ""},
		"it is about this namespace":     {given{items: settings, around: webhook(selects("b"), noHook)}, "obstacle WebhookServiceMissing", ""},
		"it selects objects":             {given{items: settings, around: webhook(func(w *live.Webhook) { w.SelectsObjects = true }, noHook)}, "doubt WebhookServiceMissing", "selectors"},
		"the restore brings its Service": {given{items: append([]item{{"services", "ops", "hook", ""}}, settings...), around: webhook(nil, noHook)}, "doubt WebhookServiceMissing", "until pods answer"},
		"a webhook of the backup":        {given{items: []item{{live.ValidatingWebhooks, "", "c", hooked}}, around: live.Environment{Services: noHook}}, "doubt WebhookRestoredWithoutService", "ops/hook"},
		"a webhook with its Service":     {given{items: []item{{live.ValidatingWebhooks, "", "c", hooked}, {"services", "ops", "hook", ""}}, around: live.Environment{Services: noHook}}, "", ""},
		"a webhook whose Service is mapped away": {given{items: []item{{live.ValidatingWebhooks, "", "c", hooked}, {"services", "ops", "hook", ""}}, around: live.Environment{Services: noHook},
			spec: veleroapi.RestoreSpec{NamespaceMapping: map[string]string{"ops": "new"}, IncludeClusterResources: &yes}}, "doubt WebhookRestoredWithoutService", "maps ops to new"},

		"no backup":                                  {given{velero: func(v *VeleroState) { v.Backup = nil }}, "obstacle BackupMissing", "no backup b"},
		"a backup that runs":                         {given{velero: func(v *VeleroState) { v.Backup.Status.Phase = "InProgress" }}, "obstacle BackupNotReady", "still InProgress"},
		"a backup that is new":                       {given{velero: func(v *VeleroState) { v.Backup.Status.Phase = "" }}, "obstacle BackupNotReady", "not started"},
		"a backup that failed":                       {given{velero: func(v *VeleroState) { v.Backup.Status.Phase = "Failed" }}, "obstacle BackupNotReady", "Failed"},
		"operations that are not in what was stored": {given{velero: func(v *VeleroState) { v.NotFinalized = true }}, "doubt BackupNotFinalized", "cannot be restored"},
		"moved data that are not in what was stored": {given{velero: func(v *VeleroState) { v.NotFinalized, v.Backup.Spec.SnapshotMoveData = true, new(true) }}, "obstacle BackupNotFinalized", "cannot be restored"},
		"a backup with errors":                       {given{velero: func(v *VeleroState) { v.Backup.Status.Phase, v.Backup.Status.Errors = "PartiallyFailed", 3 }}, "doubt BackupPartiallyFailed", "3 errors"},
		"an expired backup":                          {given{velero: func(v *VeleroState) { v.Backup.Status.Expiration.Time = now.Add(-time.Hour) }}, "obstacle BackupExpired", "expired"},
		"a backup that expires soon":                 {given{velero: func(v *VeleroState) { v.Backup.Status.Expiration.Time = now.Add(time.Hour) }}, "doubt BackupExpiresSoon", ""},
		"a backup without an end":                    {given{velero: func(v *VeleroState) { v.Backup.Status.Expiration = nil }}, "", ""},
		"a backup that goes":                         {given{velero: func(v *VeleroState) { v.Backup.Status.Phase = "Deleting" }}, "obstacle BackupDeleting", ""},
		"a backup that is to go":                     {given{velero: func(v *VeleroState) { v.Deletion = &veleroapi.DeleteBackupRequest{} }}, "obstacle BackupDeleting", ""},
		"no location":                                {given{velero: func(v *VeleroState) { v.Location = nil }}, "obstacle LocationMissing", "default"},
		"locations not seen":                         {given{velero: func(v *VeleroState) { v.Location, v.LocationsUnchecked = nil, "you may not" }}, "", ""},
		"an unavailable location":                    {given{velero: func(v *VeleroState) { v.Location.Status.Phase, v.Location.Status.Message = "Unavailable", "403" }}, "obstacle LocationUnavailable", "403"},
		"a location without a phase":                 {given{velero: func(v *VeleroState) { v.Location.Status.Phase = "" }}, "obstacle LocationUnavailable", ""},
		"unavailable, older server":                  {given{velero: func(v *VeleroState) { v.Location.Status.Phase, v.Server.Version = "Unavailable", "v1.16.1" }}, "obstacle LocationUnavailable", "v1.16.1 starts the restore all the same"},
		"not validated, older":                       {given{velero: func(v *VeleroState) { v.Location.Status.Phase, v.Server.Version = "", "v1.16.1" }}, "doubt LocationUnavailable", "starts the restore all the same"},
		"unavailable, newer server":                  {given{velero: func(v *VeleroState) { v.Location.Status.Phase, v.Server.Version = "", "v1.16.2" }}, "obstacle LocationUnavailable", "Velero refuses the restore"},
		"no server":                                  {given{velero: func(v *VeleroState) { v.Server.Name, v.Server.Running = "", false }}, "obstacle ServerNotRunning", ""},
		"a server that does not run":                 {given{velero: func(v *VeleroState) { v.Server.Running, v.Server.WaitingReason = false, "CrashLoopBackOff" }}, "obstacle ServerNotRunning", "CrashLoopBackOff"},
		"pods not seen":                              {given{velero: func(v *VeleroState) { v.Server = velero.Server{} }}, "", ""},
		"a policy, server too old":                   {given{spec: policy, velero: func(v *VeleroState) { v.Server.Version = "v1.18.2" }}, "obstacle FieldIgnored", "v1.18.2 ignores --resource-policies-configmap"},
		"a policy, server reads it":                  {given{spec: policy, velero: func(v *VeleroState) { v.Server.Version = "v1.18.3" }}, "", ""},
		"a policy, server unknown":                   {given{spec: policy}, "", ""},
		"sparse files, too old":                      {given{spec: veleroapi.RestoreSpec{UploaderConfig: &veleroapi.UploaderConfigForRestore{WriteSparseFiles: &yes}}, velero: func(v *VeleroState) { v.Server.Version = "v1.12.3" }}, "doubt FieldIgnored", "since v1.13.0"},
		"restores ahead":                             {given{velero: func(v *VeleroState) { v.Running, v.Waiting = []string{"x"}, []string{"y"} }}, "note RestoresAhead", ": 2 others come before"},
		"one restore ahead":                          {given{velero: func(v *VeleroState) { v.Running = []string{"x"} }}, "note RestoresAhead", ": 1 other comes before"},
	} {
		t.Run(name, func(t *testing.T) {
			r := checked(t, c.given)
			text := ""
			for _, f := range r.Findings {
				text += f.Sentence + f.Remedy
			}
			if got := kindsOf(r); got != c.want || !strings.Contains(text, c.says) {
				t.Errorf("%s, want %s saying %q: %+v", got, c.want, c.says, r.Findings)
			}
		})
	}
}

// TestNotLookedAt: what was not looked at is named, and never counts as fine or as
// an obstacle.
func TestNotLookedAt(t *testing.T) {
	settings := []item{{"configmaps", "shop", "settings", ""}}
	says := func(r *Result, words ...string) {
		t.Helper()
		text := fmt.Sprint(r.Unchecked)
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Errorf("nothing says %q: %s", w, text)
			}
		}
		if r.CountSeverity(Obstacle) > 0 {
			t.Errorf("%+v", r.Findings)
		}
	}
	says(
		checked(
			t,
			given{
				items:  settings,
				unseen: []live.Unchecked{{Resource: "configmaps", Namespace: "shop", Why: "you may not list it"}},
			},
		),
		"whether configmaps exist already in namespace shop",
		"you may not list it",
	)
	says(
		checked(
			t,
			given{
				items: settings,
				around: live.Environment{
					Unchecked: []live.Unchecked{
						{Resource: live.Quotas, Namespace: "shop", Why: "no"},
						{Resource: live.Namespaces, Why: "no"},
					},
				},
			},
		),
		"quotas in namespace shop",
		"namespaces are being deleted, or refuse pods",
	)
	says(
		checked(
			t,
			given{velero: func(v *VeleroState) { v.Server, v.QueueUnchecked, v.LocationsUnchecked = velero.Server{}, "no", "no" }},
		),
		"whether the Velero server runs, its version and its flags",
		"restores ahead",
		"storage location",
	)
	says(
		checked(
			t,
			given{
				items: settings,
				spec: veleroapi.RestoreSpec{
					ResourceModifier: &corev1.TypedLocalObjectReference{Kind: "ConfigMap", Name: "m"},
					ResourcePolicy:   &corev1.TypedLocalObjectReference{Kind: "configmap", Name: "p"},
				},
			},
		),
		"resource modifier m",
		"resource policy p",
	)
	says(
		checked(t, given{items: settings, velero: func(v *VeleroState) { v.Server.Flags.DefaultResourceModifier = "m" }}),
		"resource modifier m",
	)
	says(
		checked(t, given{items: settings, velero: func(v *VeleroState) { v.Server.Version = "v1.19.0" }}),
		"what Velero v1.19.0 does otherwise than v1.18.3",
		"in place",
		"restic",
	)
	says(
		checked(
			t,
			given{items: []item{{pods, "shop", "p", oneCPU}}, around: quota("requests.ephemeral-storage", "1", "0")},
		),
		"quota q in namespace shop: requests.ephemeral-storage",
	)
	scratch := limitRange(
		corev1.LimitRangeItem{
			Type: corev1.LimitTypeContainer,
			Max:  corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse("1Gi")},
		},
	)
	says(
		checked(
			t,
			given{
				items:  []item{{pods, "shop", "p", oneCPU}},
				around: live.Environment{LimitRanges: []corev1.LimitRange{scratch}},
			},
		),
		"limit range l in namespace shop: ephemeral-storage",
	)
	withoutRecord := func(v *VeleroState) { v.VolumesUnchecked = "read-only" }
	says(
		checked(t, given{items: []item{{pods, "shop", "p", oneCPU}}, velero: withoutRecord}),
		"how the data of volumes comes back",
		"read-only",
	)
	if r := checked(t, given{items: settings, velero: withoutRecord}); len(r.Unchecked) > 0 {
		t.Errorf("%+v", r.Unchecked)
	}
	says(checked(t, given{items: []item{{pods, "shop", "p", oneCPU}}, velero: func(v *VeleroState) {
		v.AgentsUnchecked, v.Volumes = "you may not list them", []artifact.VolumeInfo{
			{Method: artifact.MethodPodVolumeBackup, PodNamespace: "shop", Pod: "p", Result: "succeeded"},
		}
	}}), "whether node-agents run, which bring the data of 1 pod or claim")
	unseenHook := live.Environment{Unchecked: []live.Unchecked{{Resource: live.Services, Namespace: "ops", Why: "no"}}}
	says(
		checked(t, given{items: []item{{live.ValidatingWebhooks, "", "c", hooked}}, around: unseenHook}),
		"the Service ops/hook of webhooks that the restore brings",
	)
	r := checked(
		t,
		given{
			items:  []item{{"a.example.com", "shop", "a", ""}, {"b.example.com", "shop", "b", ""}},
			silent: "example.com",
			unseen: []live.Unchecked{{Resource: "a.example.com", Namespace: "shop", Why: "silent"}},
		},
	)
	if says(
		r,
		"whether the cluster serves a.example.com and b.example.com, and what is there of them",
	); len(
		r.Unchecked,
	) != 1 {
		t.Errorf("%+v", r.Unchecked)
	}
	routes := given{
		items:  settings,
		silent: "route.openshift.io",
		spec:   veleroapi.RestoreSpec{IncludedResources: []string{"routes", "configmaps", "things.route.openshift.io"}},
	}
	r = checked(t, routes)
	if says(r, "what routes stands for", "route.openshift.io"); len(r.Unchecked) != 1 {
		t.Errorf("%+v", r.Unchecked)
	}
	// Nothing of the cluster answers.
	in := Input{Velero: fine(), Now: now, Index: indexOf(t, settings...)}
	fates, err := in.Index.DetermineFates(t.Context(), collector.RestoreInput{}, collector.Discovery{})
	if err != nil {
		t.Fatal(err)
	}
	in.Fates = fates
	if r, err = Check(in); err != nil {
		t.Fatal(err)
	}
	says(r, "which objects exist already", "quotas", "admission: ", "only a dry run asks")
	// Nothing is known of the backup.
	if r, err = Check(
		Input{Velero: fine(), Now: now, RefusalReason: "Velero refuses this restore: x."},
	); err != nil || kindsOf(r) != "obstacle Refused" ||
		r.Items != nil {
		t.Errorf("%s, %v", kindsOf(r), err)
	}
}

// TestNamesAreBounded: a finding about many items names a few.
func TestNamesAreBounded(t *testing.T) {
	var many []item
	for i := range 500 {
		many = append(many, item{"configmaps", []string{"shop", "ops"}[i%2], fmt.Sprintf("c-%03d", i), ""})
	}
	r := checked(t, given{items: many, there: always})
	if len(r.Findings) != 1 || r.Findings[0].Count != 500 || r.Findings[0].Namespace != "" ||
		!slices.Equal(r.Findings[0].Names[:1], []string{"ops/c-001"}) {
		t.Errorf("%+v", r.Findings)
	}
}
