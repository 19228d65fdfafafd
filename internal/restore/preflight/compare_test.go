package preflight

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/restore/modifier"
	"github.com/veltui/veltui/internal/restore/prepare"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// comparedWith compares one object of the backup with that of the cluster.
func comparedWith(t *testing.T, resource, inBackup, live string, rules prepare.Rules) ExistingObject {
	t.Helper()
	namespace, name := "", "x"
	if !slices.Contains(clusterWide, resource) {
		namespace = "shop"
	}
	c := newComparison(rules, func(string) (all []string) {
		if rules.RestoreName == "several versions" {
			all = []string{"v1", "v2"}
		}
		return all
	})
	to := namespace
	if mapped, ok := rules.Restore.NamespaceMapping[namespace]; ok {
		to = mapped
	}
	c.items[itemKey{resource, to, name}] = &comparedItem{backupNamespace: namespace, sourceCount: 1}
	if !c.WantsBody(resource, namespace, name) {
		t.Fatal("the body is not wanted")
	}
	c.AddBackupItem(resource, namespace, name, []byte(whole(inBackup, namespace, "b")))
	var object unstructured.Unstructured
	if err := object.UnmarshalJSON([]byte(whole(live, to, "c"))); err != nil {
		t.Fatal(err)
	}
	c.CompareLive(resource, &object)
	all := c.ExistingObjects(nil, nil)
	if len(all) != 1 {
		t.Fatalf("%v", all)
	}
	return all[0]
}

var clusterWide = []string{
	volumes,
	clusterRoleBindings,
	"customresourcedefinitions.apiextensions.k8s.io",
	"apiservices.apiregistration.k8s.io",
	live.StorageClasses,
	live.ValidatingWebhooks,
	snapshotContents,
}

// whole gives a body what differs between any two objects.
func whole(body, namespace, from string) string {
	meta := fmt.Sprintf(
		`"metadata":{"name":"x","namespace":%q,"uid":%q,"resourceVersion":%q,"generation":3,"creationTimestamp":"2026-01-01T00:00:00Z",`,
		namespace,
		from,
		from,
	)
	if from == "c" {
		body = strings.Replace(body, `"labels":{`, `"labels":{"velero.io/restore-name":"r0",`, 1)
	}
	return strings.Replace(
		`{"apiVersion":"v1","kind":"X","status":{"seen":"`+from+`"},`+body+`}`,
		`"metadata":{`,
		meta,
		1,
	)
}

func TestWhatVeleroDoesWithWhatExists(t *testing.T) {
	update := veleroapi.RestoreSpec{ExistingResourcePolicy: veleroapi.PolicyTypeUpdate}
	mapped := veleroapi.RestoreSpec{NamespaceMapping: map[string]string{"shop": "shop-2"}}
	modified := veleroapi.RestoreSpec{ResourceModifier: &corev1.TypedLocalObjectReference{Name: "m"}}
	yes, no := true, false
	level := func(level, more string) string {
		return `"metadata":{"labels":{"app":"web"}},"data":{"level":"` + level + `"}` + more
	}
	plain := func(more string) string { return `"metadata":{"labels":{"app":"web"}}` + more }
	claim := func(spec string) string {
		return plain(`,"spec":{"resources":{"requests":{"storage":"1Gi"}}` + spec + `}`)
	}
	volume := func(reclaim, more string) string {
		return plain(
			`,"spec":{"persistentVolumeReclaimPolicy":"` + reclaim + `","claimRef":{"namespace":"shop","uid":"` + more + `"}}`,
		)
	}
	subject := func(namespace string) string {
		return plain(`,"subjects":[{"kind":"ServiceAccount","name":"a","namespace":"` + namespace + `"}]`)
	}
	rules := func(text string) *modifier.Rules {
		r, err := modifier.Parse(map[string]string{"a": "version: v1\nresourceModifierRules:\n- " + text})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	debug := prepare.Rules{
		Restore: modified,
		Modifier: rules(
			"{conditions: {groupResource: configmaps}, mergePatches: [{patchData: 'data: {level: debug}'}]}",
		),
	}
	odd := prepare.Rules{
		Restore:  modified,
		Modifier: rules("{conditions: {groupResource: '*'}, strategicPatches: [{patchData: '{}'}]}"),
	}
	account := func(more string) string { return `"metadata":{"labels":{"app":"web"}}` + more }
	for name, c := range map[string]struct {
		resource, backup, live string
		rules                  prepare.Rules
		want                   string // outcome and fields
	}{
		"equal":                              {live.ConfigMaps, level("info", ""), level("info", ""), prepare.Rules{}, "Equal"},
		"equal, update":                      {live.ConfigMaps, level("info", ""), level("info", ""), prepare.Rules{Restore: update}, "Equal"},
		"equal in another namespace":         {live.ConfigMaps, level("info", ""), level("info", ""), prepare.Rules{Restore: mapped}, "Equal"},
		"different":                          {live.ConfigMaps, level("info", ""), level("debug", ""), prepare.Rules{}, "Left data.level"},
		"different, update":                  {live.ConfigMaps, level("info", ""), level("debug", ""), prepare.Rules{Restore: update}, "Patched data.level"},
		"a field more":                       {live.ConfigMaps, level("info", ""), level("info", `,"binaryData":{"a":"b"}`), prepare.Rules{}, "Left binaryData.a"},
		"an empty field more":                {live.ConfigMaps, level("info", ""), level("info", `,"binaryData":{}`), prepare.Rules{}, "Left binaryData"},
		"a label":                            {live.ConfigMaps, plain(""), `"metadata":{"labels":{"app":"db"}}`, prepare.Rules{}, "Left metadata.labels.app"},
		"managed fields":                     {live.ConfigMaps, plain(""), `"metadata":{"labels":{"app":"web"},"managedFields":[{"time":"x"}]}`, prepare.Rules{}, "Left metadata.managedFields"},
		"finalizers":                         {live.ConfigMaps, plain(""), `"metadata":{"labels":{"app":"web"},"finalizers":["a"]}`, prepare.Rules{}, "Left metadata.finalizers"},
		"an immutable one, update":           {live.ConfigMaps, level("info", ""), level("debug", `,"immutable":true`), prepare.Rules{Restore: update}, "PatchRefused data.level immutable"},
		"a resource modifier":                {live.ConfigMaps, level("info", ""), level("info", ""), prepare.Rules{Restore: modified}, "CannotTell"},
		"a modifier that makes a difference": {live.ConfigMaps, level("info", ""), level("info", ""), debug, "Left data.level"},
		"a modifier that makes it equal":     {live.ConfigMaps, level("info", ""), level("debug", ""), debug, "Equal"},
		"a modifier of others":               {secrets, level("info", ""), level("info", ""), debug, "Equal"},
		"a modifier and a Service":           {live.Services, plain(`,"spec":{"clusterIP":"10.0.0.1"}`), plain(`,"spec":{"clusterIP":"10.0.0.1"}`), debug, "Left"},
		"a modifier that the kind refuses":   {live.ConfigMaps, level("info", ""), level("info", ""), odd, "Equal"},
		"a modifier of the server":           {live.ConfigMaps, level("info", ""), level("info", ""), prepare.Rules{UnreadModifier: "m"}, "CannotTell"},
		"a claim, of the next Velero":        {claims, claim(""), claim(""), prepare.Rules{Server: "v1.19.0"}, "CannotTell"},
		"several versions":                   {live.ConfigMaps, plain(""), plain(""), prepare.Rules{RestoreName: "several versions"}, "CannotTell"},
		"another type of Secret, update":     {secrets, plain(`,"type":"a"`), plain(`,"type":"b"`), prepare.Rules{Restore: update}, "PatchRefused type"},
		"a token":                            {secrets, plain(`,"type":"kubernetes.io/service-account-token"`), plain(`,"type":"kubernetes.io/service-account-token"`), prepare.Rules{}, "Left"},
		"a Service":                          {live.Services, plain(`,"spec":{"clusterIP":"10.0.0.1"}`), plain(`,"spec":{"clusterIP":"10.0.0.1"}`), prepare.Rules{}, "Left"},
		"a Service, update":                  {live.Services, plain(`,"spec":{"clusterIP":"10.0.0.1"}`), plain(`,"spec":{"clusterIP":"10.0.0.2"}`), prepare.Rules{Restore: update}, "Patched spec.clusterIP"},
		"a headless Service, update":         {live.Services, plain(`,"spec":{"clusterIP":"None"}`), plain(`,"spec":{"clusterIP":"10.0.0.2"}`), prepare.Rules{Restore: update}, "PatchRefused spec.clusterIP"},
		"a pod":                              {pods, plain(`,"spec":{"nodeName":"n"}`), plain(`,"spec":{"nodeName":"n"}`), prepare.Rules{}, "Left"},
		"a pod on a node, update":            {pods, plain(`,"spec":{"nodeName":"n"}`), plain(`,"spec":{"nodeName":"n"}`), prepare.Rules{Restore: update}, "PatchRefused"},
		"a pod that waits, update":           {pods, plain(`,"spec":{"priority":0}`), plain(`,"spec":{"priority":0}`), prepare.Rules{Restore: update}, "Patched"},
		"a pod with images, update":          {pods, plain(`,"spec":{"containers":[{"image":"a"}]}`), plain(`,"spec":{"containers":[{"image":"b"}]}`), prepare.Rules{Restore: update}, "CannotTell spec.containers"},
		"a pod behind a modifier":            {pods, plain(""), plain(""), prepare.Rules{Restore: modified}, "Left"},
		"a Job":                              {jobs, plain(""), plain(""), prepare.Rules{}, "Left"},
		"a Job, update": {jobs, plain(`,"spec":{"selector":{"matchLabels":{"controller-uid":"1"}}}`), plain(`,"spec":{"selector":{"matchLabels":{"controller-uid":"1"}}}`),
			prepare.Rules{Restore: update}, "PatchRefused"},
		"a Job with a selector of its own, update": {jobs, plain(`,"spec":{"selector":{"matchLabels":{"a":"1"}}}`), plain(`,"spec":{"selector":{"matchLabels":{"a":"1"}}}`), prepare.Rules{Restore: update}, "Patched"},
		"a claim":                                          {claims, claim(""), claim(""), prepare.Rules{}, "Left"},
		"a claim, older server":                            {claims, claim(""), claim(""), prepare.Rules{Server: "v1.15.2"}, "CannotTell"},
		"a claim, known server":                            {claims, claim(""), claim(""), prepare.Rules{Server: "v1.16.0"}, "Left"},
		"a claim, update":                                  {claims, claim(""), claim(""), prepare.Rules{Restore: update}, "Patched"},
		"a bound claim, update":                            {claims, claim(`,"volumeName":"v"`), claim(`,"volumeName":"v"`), prepare.Rules{Restore: update}, "CannotTell"},
		"a claim bound elsewhere, update":                  {claims, claim(`,"volumeName":"v"`), claim(`,"volumeName":"w"`), prepare.Rules{Restore: update}, "PatchRefused spec.volumeName"},
		"a claim of another class, update":                 {claims, claim(`,"storageClassName":"a"`), claim(`,"storageClassName":"b"`), prepare.Rules{Restore: update}, "PatchRefused spec.storageClassName"},
		"a claim of another size, update":                  {claims, claim(""), plain(`,"spec":{"resources":{"requests":{"storage":"2Gi"}}}`), prepare.Rules{Restore: update}, "CannotTell spec.resources"},
		"a volume that is made anew":                       {volumes, volume("Delete", "1"), volume("Delete", "2"), prepare.Rules{}, "Skipped"},
		"a volume with native snapshots":                   {volumes, volume("Delete", "1"), volume("Delete", "1"), prepare.Rules{NativeSnapshots: true}, "CannotTell"},
		"a kept volume that differs":                       {volumes, volume("Retain", "1"), volume("Retain", "2"), prepare.Rules{}, "CannotTell spec.claimRef"},
		"a kept volume that nobody claims":                 {volumes, plain(`,"spec":{"a":"b"}`), plain(`,"spec":{"a":"b"}`), prepare.Rules{}, "Equal"},
		"a role binding":                                   {roleBindings, plain(`,"roleRef":{"name":"a"}`), plain(`,"roleRef":{"name":"a"}`), prepare.Rules{}, "Equal"},
		"a role binding in a new namespace":                {roleBindings, plain(`,"roleRef":{"name":"a"}`), plain(`,"roleRef":{"name":"a"}`), prepare.Rules{Restore: mapped}, "Left"},
		"a cluster role binding for an account that moves": {clusterRoleBindings, subject("shop"), subject("shop"), prepare.Rules{Restore: mapped}, "Left subjects"},
		"a cluster role binding for one that has moved":    {clusterRoleBindings, subject("shop"), subject("shop-2"), prepare.Rules{Restore: mapped}, "Left"},
		"a role binding for one that has moved":            {roleBindings, subject("shop"), subject("shop-2"), prepare.Rules{Restore: mapped}, "Left"},
		"a cluster role binding that moves, update": {clusterRoleBindings, subject("shop"), subject("shop"),
			prepare.Rules{Restore: veleroapi.RestoreSpec{NamespaceMapping: mapped.NamespaceMapping, ExistingResourcePolicy: veleroapi.PolicyTypeUpdate}}, "Patched subjects"},
		"odd subjects":                       {clusterRoleBindings, plain(`,"subjects":[null,1,{"namespace":2}]`), plain(`,"subjects":{}`), prepare.Rules{Restore: mapped}, "Left subjects"},
		"a role binding of another, update":  {roleBindings, plain(`,"roleRef":{"name":"a"}`), plain(`,"roleRef":{"name":"b"}`), prepare.Rules{Restore: update}, "PatchRefused roleRef.name"},
		"an account":                         {serviceAccounts, account(`,"secrets":[{"name":"x-token-1"},{"name":"s"}]`), account(`,"secrets":[{"name":"s"},{"name":"t"}]`), prepare.Rules{}, "Skipped"},
		"an account that lacks something":    {serviceAccounts, account(`,"imagePullSecrets":[{"name":"pull"}],"automountServiceAccountToken":true`), `"metadata":{"labels":{"z":"z"}}`, prepare.Rules{}, "Merged imagePullSecrets.pull metadata.labels.app"},
		"an account, update":                 {serviceAccounts, account(`,"imagePullSecrets":[{"name":"pull"}]`), account(""), prepare.Rules{Restore: update}, "Merged imagePullSecrets.pull"},
		"an account with another annotation": {serviceAccounts, `"metadata":{"annotations":{"a":"b"}}`, `"metadata":{"annotations":{"a":"c"}}`, prepare.Rules{}, "Skipped"},
		"the same account":                   {serviceAccounts, account(""), `"metadata":{"labels":{"app":"web"},"managedFields":[1]}`, prepare.Rules{}, "Equal"},
		"the same account, update":           {serviceAccounts, account(""), account(""), prepare.Rules{Restore: update}, "Skipped"},
		"classes are ambiguous":              {claims, claim(""), claim(""), prepare.Rules{Plugins: map[string][]string{live.ChangeStorageClassLabel: {"x", "y"}}}, "CannotTell"},
		"a mapped class, update":             {claims, claim(`,"storageClassName":"a"`), claim(`,"storageClassName":"b"`), prepare.Rules{Restore: update, Plugins: map[string][]string{live.ChangeStorageClassLabel: {"x"}}, StorageClassMap: map[string]string{"a": "b"}}, "Patched"},
		"images may change":                  {"deployments.apps", plain(""), plain(""), prepare.Rules{Plugins: map[string][]string{prepare.ChangeImageNameLabel: {"x"}}}, "CannotTell"},
		"another selector, update":           {"deployments.apps", plain(`,"spec":{"selector":{"a":"b"}}`), plain(`,"spec":{"selector":{"a":"c"}}`), prepare.Rules{Restore: update}, "PatchRefused spec.selector"},
		"classes may change":                 {statefulSets, plain(`,"spec":{"volumeClaimTemplates":[{}]}`), plain(`,"spec":{"volumeClaimTemplates":[{}]}`), prepare.Rules{Plugins: map[string][]string{live.ChangeStorageClassLabel: {"x"}}}, "CannotTell"},
		"a snapshot with EnableCSI":          {snapshots, plain(""), plain(""), prepare.Rules{CSIEnabled: &yes}, "Skipped"},
		"a snapshot without EnableCSI":       {snapshots, plain(""), plain(""), prepare.Rules{CSIEnabled: &no}, "Equal"},
		"a snapshot, server not seen":        {snapshots, plain(""), plain(""), prepare.Rules{}, "CannotTell"},
		"a snapshot class, no volumes":       {live.SnapshotClasses, plain(""), plain(""), prepare.Rules{CSIEnabled: &yes, Restore: veleroapi.RestoreSpec{RestorePVs: &no}}, "Skipped"},
		"an API service of Kubernetes":       {"apiservices.apiregistration.k8s.io", `"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":"true"}}`, plain(""), prepare.Rules{}, "Skipped"},
		"a webhook": {live.ValidatingWebhooks, `"apiVersion":"admissionregistration.k8s.io/v1","metadata":{"labels":{"z":"z"}},"webhooks":[{"sideEffects":"Some"}]`,
			`"apiVersion":"admissionregistration.k8s.io/v1","metadata":{"labels":{"z":"z"}},"webhooks":[{"sideEffects":"None"}]`, prepare.Rules{}, "Equal"},
	} {
		t.Run(name, func(t *testing.T) {
			e := comparedWith(t, c.resource, c.backup, c.live, c.rules)
			got := strings.Join(append([]string{string(e.Outcome)}, e.Fields...), " ")
			if got != c.want || (e.Why != "") != (e.Outcome == OutcomeUnknown) {
				t.Errorf("%s, want %s: %+v", got, c.want, e)
			}
		})
	}
}

// TestTheRestoredNamespaceIsCompared: the backup may also hold the namespace that
// another is mapped to. The restore leaves it out, so nothing of it is compared.
func TestTheRestoredNamespaceIsCompared(t *testing.T) {
	c := newComparison(
		prepare.Rules{Restore: veleroapi.RestoreSpec{NamespaceMapping: map[string]string{"shop": "prod"}}},
		func(string) []string { return nil },
	)
	c.items[itemKey{live.ConfigMaps, "prod", "x"}] = &comparedItem{backupNamespace: "shop", sourceCount: 1}
	if c.WantsBody(live.ConfigMaps, "prod", "x") {
		t.Error("the body of the namespace that is left out is wanted")
	}
	body := func(namespace, level string) string {
		return whole(`"metadata":{"labels":{}},"data":{"level":"`+level+`"}`, namespace, "b")
	}
	c.AddBackupItem(live.ConfigMaps, "prod", "x", []byte(body("prod", "info")))
	c.AddBackupItem(live.ConfigMaps, "shop", "x", []byte(body("shop", "debug")))
	var current unstructured.Unstructured
	if err := current.UnmarshalJSON([]byte(body("prod", "info"))); err != nil {
		t.Fatal(err)
	}
	c.CompareLive(live.ConfigMaps, &current)
	if e := c.ExistingObjects(nil, nil)[0]; e.Outcome != OutcomeUnchanged || !slices.Equal(e.Fields, []string{"data.level"}) {
		t.Errorf("%+v", e)
	}
}

// TestWhatIsComparedIsFound: what Velero does is found once for each kind and
// outcome, and what has the same content is no doubt.
func TestWhatIsComparedIsFound(t *testing.T) {
	var items []item
	var all []ExistingObject
	add := func(resource, name string, outcome ExistingOutcome, why string, fields ...string) {
		items = append(items, item{resource, "shop", name, ""})
		all = append(
			all,
			ExistingObject{Resource: resource, Namespace: "shop", Name: name, Outcome: outcome, Why: why, Fields: fields},
		)
	}
	add(live.ConfigMaps, "same", OutcomeEqual, "")
	add(secrets, "same", OutcomeEqual, "")
	add(live.ConfigMaps, "a", OutcomeUnchanged, "", "data.level", managedFieldsPath)
	add(live.ConfigMaps, "b", OutcomeUnchanged, "", "data.level")
	add(live.ConfigMaps, "anew", OutcomeUnchanged, "", managedFieldsPath)
	add(live.Services, "web", OutcomeUnchanged, "")
	add(serviceAccounts, "robot", OutcomeMerged, "", "imagePullSecrets.pull")
	add("deployments.apps", "web", OutcomeUnknown, "its images may change")
	add("apiservices.apiregistration.k8s.io", "v1", OutcomeSkipped, "")
	add(claims, "data", OutcomeUnchanged, "")
	g := given{
		items:    items,
		there:    always,
		compared: all,
		served:   []string{"deployments.apps", "apiservices.apiregistration.k8s.io"},
	}
	r := checked(t, g)
	want := "doubt ClaimsExist, doubt ObjectsExist, doubt ObjectsExist, note ObjectsEqual, note ObjectsExist, note ObjectsExist, note ObjectsSkipped, note ServiceAccountsMerged"
	text := ""
	for _, f := range r.Findings {
		text += f.Sentence + "\n"
	}
	if got := kindsOf(r); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, says := range []string{
		"2 objects exist already and are as the backup holds them. Velero leaves them and does not warn.",
		"2 objects of configmaps exist already and differ from the backup. Velero leaves them with a warning. Different: data.level (2), metadata.managedFields (1).",
		"1 object of configmaps exists already with the same content. Velero leaves it, but warns that it differs: it also compares metadata.managedFields",
		"1 object of services exists already with the same content. Velero leaves it, but warns that it differs: what it changes in services",
		"Velero adds what it lacks: imagePullSecrets.pull.", "veltui cannot tell more: its images may change.",
	} {
		if !strings.Contains(text, says) {
			t.Errorf("nothing says %q:\n%s", says, text)
		}
	}
	g.spec = veleroapi.RestoreSpec{ExistingResourcePolicy: veleroapi.PolicyTypeUpdate}
	g.compared = []ExistingObject{
		{Resource: live.ConfigMaps, Name: "a", Outcome: OutcomePatched, Fields: []string{"data.level"}},
		{Resource: jobs, Name: "j", Outcome: OutcomePatchRefused, Fields: []string{"spec.template"}},
		{Resource: live.Services, Name: "s", Outcome: OutcomePatched},
	}
	if got, want := kindsOf(
		checked(t, g),
	), "doubt ClaimsExist, doubt ObjectsPatched, doubt PatchesRefused, note ObjectsPatched"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	g.spec.NamespaceMapping = map[string]string{"shop": "shop-2"}
	g.compared = []ExistingObject{{Resource: clusterRoleBindings, Name: "admin", Outcome: OutcomePatched, Fields: []string{"subjects"}}}
	if f := checked(
		t,
		g,
	).Findings; !slices.ContainsFunc(
		f,
		func(f Finding) bool { return strings.Contains(f.Sentence, "accounts of the old namespace may lose") },
	) {
		t.Errorf("nothing says who loses what: %+v", f)
	}
}

// TestTransitionRules: a CRD that compares an object with what was there may refuse the patch.
func TestTransitionRules(t *testing.T) {
	const resource = "gadgets.example.com"
	rules := prepare.Rules{Restore: veleroapi.RestoreSpec{ExistingResourcePolicy: veleroapi.PolicyTypeUpdate}}
	schema := func(rule string) string {
		return `{"metadata":{"name":"` + resource + `"},"spec":{"x-kubernetes-validations":[{"rule":"` + rule + `"}]}}`
	}
	for body, want := range map[string]ExistingOutcome{
		schema("self == oldSelf"): OutcomeUnknown, schema("self > 0"): OutcomePatched, "": OutcomePatched,
	} {
		c := newComparison(rules, func(string) []string { return nil })
		c.items[itemKey{resource, "shop", "x"}] = &comparedItem{backupNamespace: "shop", sourceCount: 1}
		c.resources[resource] = true
		if !c.WantsBody(crds, "", resource) {
			t.Fatal("the CRD is not wanted")
		}
		c.AddBackupItem(resource, "shop", "x", []byte(whole(`"metadata":{"labels":{"app":"web"}},"spec":{"a":"b"}`, "shop", "b")))
		if body != "" {
			c.AddBackupItem(crds, "", resource, []byte(body))
		}
		var object unstructured.Unstructured
		if err := object.UnmarshalJSON([]byte(whole(`"metadata":{"labels":{"app":"web"}},"spec":{"a":"c"}`, "shop", "c"))); err != nil {
			t.Fatal(err)
		}
		c.CompareLive(resource, &object)
		if all := c.ExistingObjects(nil, nil); len(all) != 1 || all[0].Outcome != want {
			t.Errorf("%s: %v", body, all)
		}
	}
}
