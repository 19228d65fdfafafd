package collector

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

var appWeb = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}

func ptr[T any](v T) *T { return &v }

// twice puts every item in again as preferred version, as Velero does.
func twice(files []file) []file {
	all := []file{{"metadata/version", "1.1.0\n"}}
	for _, f := range files {
		parts := strings.SplitN(f.name, "/", 3)
		all = append(all, f, file{parts[0] + "/" + parts[1] + "/v1-preferredversion/" + parts[2], f.body})
	}
	return all
}

func namespaced(resource, namespace, name, body string) file {
	return file{"resources/" + resource + "/namespaces/" + namespace + "/" + name + ".json", body}
}

func clusterScoped(resource, name, body string) file {
	return file{"resources/" + resource + "/cluster/" + name + ".json", body}
}

// cluster is a small backup with a bit of everything.
func cluster() []file {
	return twice([]file{
		namespaced(dirPods, "a", "web-1", podJSON("Running", "data")),
		namespaced(dirPods, "a", "web-2", podJSON("Running", "data", "gone")),
		namespaced(dirPods, "a", "finished", podJSON("Succeeded", "data")),
		namespaced(
			dirPods,
			"a",
			"static",
			`{"kind":"Pod","metadata":{"annotations":{"kubernetes.io/config.mirror":"x"}},"spec":{"priorityClassName":"low"}}`,
		),
		namespaced(
			dirPods,
			"b",
			"urgent",
			`{"kind":"Pod","metadata":{"labels":{"app":"db"}},"spec":{"priorityClassName":"high"}}`,
		),
		namespaced(
			dirJobs,
			"b",
			"done",
			`{"kind":"Job","metadata":{},"status":{"completionTime":"2026-11-21T01:41:57Z"}}`,
		),
		namespaced(dirJobs, "b", "running", `{"kind":"Job","metadata":{},"status":{}}`),
		namespaced(dirClaims, "a", "data", claimJSON("pv-1")),
		namespaced(
			dirClaims,
			"b",
			"pending",
			`{"kind":"PersistentVolumeClaim","metadata":{},"spec":{"volumeName":"pv-2"},"status":{"phase":"Pending"}}`,
		),
		clusterScoped(dirVolumes, "pv-1", labelled("PersistentVolume", "")),
		clusterScoped(dirVolumes, "pv-2", labelled("PersistentVolume", "app=web")),
		clusterScoped(dirPriorityClasses, "high", labelled("PriorityClass", "")),
		clusterScoped(dirPriorityClasses, "low", labelled("PriorityClass", "")),
		clusterScoped(dirNamespaces, "a", labelled("Namespace", "app=web")),
		clusterScoped(dirNamespaces, "b", labelled("Namespace", "")),
		clusterScoped(dirCRDs, "widgets.example.com", crdJSON("widgets", "example.com", "wg")),
		namespaced("widgets.example.com", "b", "w", labelled("Widget", "app=db")),
		namespaced("deployments.apps", "a", "web", labelled("Deployment", "app=web,tier=front")),
		namespaced("deployments.apps", "b", "db", labelled("Deployment", "app=db")),
		namespaced("events", "a", "e", labelled("Event", "")),
		namespaced("backups.velero.io", "velero", "old", labelled("Backup", "")),
		namespaced(dirDataUploads, "velero", "du", labelled("DataUpload", "")),
		namespaced("configmaps", "team-1", "c", labelled("ConfigMap", "env=test")),
		namespaced("configmaps", "team-2", "c", labelled("ConfigMap", "env=prod")),
	})
}

// In all: pods 4+1-1 completed, jobs 1, claims 2, volumes 2, priority classes
// 2, CRD 1, widget 1, deployments 2, data upload 1, config maps 2.
const everything = 4 + 1 + 2 + 2 + 2 + 1 + 1 + 2 + 1 + 2

func TestRules(t *testing.T) {
	x := mustRead(t, buildArchive(t, cluster()...))
	type spec = veleroapi.RestoreSpec
	expression := func(key string, op metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: op, Values: values}},
		}
	}
	for name, c := range map[string]struct {
		spec     spec
		existing string // default: all
		server   VeleroServer
		want     int
	}{
		"everything":                      {spec{}, "*", VeleroServer{}, everything},
		"star":                            {spec{IncludedNamespaces: []string{"*"}, IncludedResources: []string{"*"}}, "*", VeleroServer{}, everything},
		"namespaces are made":             {spec{}, "b", VeleroServer{}, everything + 4}, // a, velero, team-1, team-2
		"some are there":                  {spec{}, "a,velero", VeleroServer{}, everything + 3},
		"one namespace":                   {spec{IncludedNamespaces: []string{"a"}}, "*", VeleroServer{}, 3 + 1 + 1 + 1 + 1}, // pods, claim, its volume, deployment, data upload
		"one namespace, made":             {spec{IncludedNamespaces: []string{"a"}}, "velero", VeleroServer{}, 3 + 1 + 1 + 1 + 1 + 1},
		"mapped into one that exists":     {spec{IncludedNamespaces: []string{"a"}, NamespaceMapping: map[string]string{"a": "b"}}, "b,velero", VeleroServer{}, 7},
		"cluster scope refused":           {spec{IncludedNamespaces: []string{"a"}, IncludeClusterResources: ptr(false)}, "*", VeleroServer{}, 3 + 1 + 1 + 1},
		"cluster scope wanted":            {spec{IncludedNamespaces: []string{"a"}, IncludeClusterResources: ptr(true)}, "*", VeleroServer{}, 3 + 1 + 2 + 2 + 1 + 1 + 1},
		"cluster scope makes namespaces":  {spec{IncludedNamespaces: []string{"a"}, IncludeClusterResources: ptr(true)}, "velero", VeleroServer{}, 3 + 1 + 2 + 2 + 1 + 1 + 1 + 2},
		"namespaces 1.12":                 {spec{IncludedNamespaces: []string{"a"}, IncludeClusterResources: ptr(true)}, "velero", VeleroServer{Version: [3]int{1, 12, 4}}, 3 + 1 + 2 + 2 + 1 + 1 + 1 + 1},
		"no cluster scope at all":         {spec{IncludeClusterResources: ptr(false)}, "*", VeleroServer{}, everything - 2 - 2 - 1},
		"excluding a namespace":           {spec{ExcludedNamespaces: []string{"b", "velero"}}, "*", VeleroServer{}, 3 + 1 + 1 + 1 + 1 + 2}, // no cluster scope but the claim's volume
		"no data uploads before 1.12":     {spec{IncludedNamespaces: []string{"a"}}, "*", VeleroServer{Version: [3]int{1, 11, 1}}, 6},
		"must-have passes labels":         {spec{LabelSelector: expression("nosuch", "Exists")}, "*", VeleroServer{}, 1},
		"must-have passes resources":      {spec{IncludedResources: []string{"secrets"}}, "*", VeleroServer{}, 1},
		"must-have makes its namespace":   {spec{IncludedResources: []string{"secrets"}}, "", VeleroServer{}, 2},
		"plural":                          {spec{IncludedResources: []string{"deployments"}}, "*", VeleroServer{}, 2 + 1},
		"singular":                        {spec{IncludedResources: []string{"deployment"}}, "*", VeleroServer{}, 2 + 1},
		"short":                           {spec{IncludedResources: []string{"deploy"}}, "*", VeleroServer{}, 2 + 1},
		"upper case":                      {spec{IncludedResources: []string{"Deployments"}}, "*", VeleroServer{}, 2 + 1},
		"with group":                      {spec{IncludedResources: []string{"deployments.apps"}}, "*", VeleroServer{}, 2 + 1},
		"short with group":                {spec{IncludedResources: []string{"deploy.apps"}}, "*", VeleroServer{}, 2 + 1},
		"start of a group":                {spec{IncludedResources: []string{"deploy.ap"}}, "*", VeleroServer{}, 2 + 1},
		"wrong group":                     {spec{IncludedResources: []string{"deployments.batch"}}, "*", VeleroServer{}, 1},
		"glob on the group":               {spec{IncludedResources: []string{"*.apps"}}, "*", VeleroServer{}, 2 + 1},
		"glob on the name":                {spec{IncludedResources: []string{"deploy*"}}, "*", VeleroServer{}, 2 + 1},
		"glob alternatives":               {spec{IncludedResources: []string{"{deployments.apps,jobs.batch}"}}, "*", VeleroServer{}, 2 + 1 + 1},
		"CRD's short name":                {spec{IncludedResources: []string{"wg"}}, "*", VeleroServer{}, 1 + 1},
		"CRD's singular":                  {spec{IncludedResources: []string{"widget"}}, "*", VeleroServer{}, 1 + 1},
		"exclude wins":                    {spec{IncludedResources: []string{"*.apps", "widgets"}, ExcludedResources: []string{"deploy"}}, "*", VeleroServer{}, 1 + 1},
		"exclude only":                    {spec{ExcludedResources: []string{"po", "pvc", "pv"}}, "*", VeleroServer{}, everything - 4 - 2 - 2},
		"excluded volume is not followed": {spec{IncludedNamespaces: []string{"a"}, ExcludedResources: []string{"persistentvolumes"}}, "*", VeleroServer{}, 6},
		"pods bring what they use":        {spec{IncludedResources: []string{"pods", "pvc", "pv"}, LabelSelector: appWeb, IncludedNamespaces: []string{"a"}}, "*", VeleroServer{}, 2 + 1 + 1 + 1},
		"pods bring nothing excluded":     {spec{IncludedResources: []string{"pods"}, IncludedNamespaces: []string{"a"}}, "*", VeleroServer{}, 3 + 1},
		"priority class comes along":      {spec{IncludedNamespaces: []string{"b"}, IncludedResources: []string{"pods", "priorityclasses"}}, "*", VeleroServer{}, 1 + 1 + 1},
		"mirror pod brings nothing":       {spec{IncludedNamespaces: []string{"a"}, IncludedResources: []string{"pods", "priorityclasses"}}, "*", VeleroServer{}, 3 + 1},
		"match labels":                    {spec{LabelSelector: appWeb}, "*", VeleroServer{}, 2 + 1 + 2 + 1 + 1}, // pods, claim, volumes (one by label), deployment, data upload
		"completed pod makes namespace":   {spec{IncludedNamespaces: []string{"a"}, IncludedResources: []string{"pods"}, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}, "velero", VeleroServer{}, 2 + 1 + 1},
		"In":                              {spec{LabelSelector: expression("env", "In", "test", "prod")}, "*", VeleroServer{}, 2 + 1},
		"NotIn":                           {spec{LabelSelector: expression("env", "NotIn", "prod"), IncludedResources: []string{"cm"}}, "*", VeleroServer{}, 1 + 1},
		"Exists":                          {spec{LabelSelector: expression("tier", "Exists")}, "*", VeleroServer{}, 1 + 1},
		"DoesNotExist":                    {spec{LabelSelector: expression("env", "DoesNotExist"), IncludedResources: []string{"cm", "deploy"}}, "*", VeleroServer{}, 2 + 1},
		"or selectors":                    {spec{OrLabelSelectors: []*metav1.LabelSelector{{MatchLabels: map[string]string{"env": "test"}}, {MatchLabels: map[string]string{"tier": "front"}}}}, "*", VeleroServer{}, 2 + 1},
		"empty selector":                  {spec{LabelSelector: &metav1.LabelSelector{}}, "*", VeleroServer{}, everything},
		"namespace glob":                  {spec{IncludedNamespaces: []string{"team-*"}}, "*", VeleroServer{}, 2 + 1},
		"namespace class":                 {spec{IncludedNamespaces: []string{"team-[1]"}}, "*", VeleroServer{}, 1 + 1},
		"namespace question mark":         {spec{IncludedNamespaces: []string{"team-?"}, ExcludedNamespaces: []string{"*-2"}}, "*", VeleroServer{}, 1 + 1},
		"glob matches nothing":            {spec{IncludedNamespaces: []string{"x*"}}, "*", VeleroServer{}, 1},
		"glob matches nothing in 1.18.0":  {spec{IncludedNamespaces: []string{"x*"}}, "*", VeleroServer{Version: [3]int{1, 18, 0}}, everything},
		"glob in 1.18.0":                  {spec{IncludedNamespaces: []string{"team-*"}}, "*", VeleroServer{Version: [3]int{1, 18, 0}}, 2 + 1},
		"no such namespace":               {spec{IncludedNamespaces: []string{"x"}, ExcludedResources: []string{"datauploads"}}, "*", VeleroServer{}, 1},
		"two namespaces into one":         {spec{IncludedResources: []string{"cm"}, NamespaceMapping: map[string]string{"team-1": "t", "team-2": "t"}}, "velero", VeleroServer{}, 1 + 1 + 1},
		"custom priorities":               {spec{}, "*", VeleroServer{Priorities: &Priorities{High: []string{"po", "deploy"}, Low: []string{"configmaps"}}}, everything},
	} {
		t.Run(name, func(t *testing.T) {
			e := estimate(
				t,
				x,
				RestoreInput{Restore: c.spec, ExistingNamespaces: ParseNamespaces(c.existing), Server: c.server},
				Discovery{},
			)
			if len(e.Refusals) > 0 || e.Partial {
				t.Fatalf("refused %q, partial %v", e.Refusals, e.Partial)
			}
			checkSums(t, e)
			if e.Total != c.want {
				t.Errorf("total %d, want %d: %+v", e.Total, c.want, e.Resources)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	x := mustRead(t, buildArchive(t, cluster()...))
	for name, spec := range map[string]veleroapi.RestoreSpec{
		"non-restorable":      {IncludedResources: []string{"nodes"}},
		"star and more":       {IncludedNamespaces: []string{"*", "a"}},
		"star excluded":       {ExcludedNamespaces: []string{"*"}},
		"in and out":          {IncludedNamespaces: []string{"a"}, ExcludedNamespaces: []string{"a"}},
		"resource in and out": {IncludedResources: []string{"pods"}, ExcludedResources: []string{"pods"}},
		"both selectors":      {LabelSelector: appWeb, OrLabelSelectors: []*metav1.LabelSelector{appWeb}},
		"bad operator":        {LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}},
		"bad label":           {OrLabelSelectors: []*metav1.LabelSelector{{MatchLabels: map[string]string{"a b": "c"}}}},
	} {
		if e := estimate(t, x, RestoreInput{Restore: spec}, Discovery{}); len(e.Refusals) == 0 || e.Total != 0 {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestOrder(t *testing.T) {
	x := mustRead(t, buildArchive(t, cluster()...))
	resources := func(server VeleroServer) (names []string) {
		for _, r := range estimate(t, x, RestoreInput{ExistingNamespaces: ParseNamespaces("b"), Server: server}, Discovery{}).Resources {
			names = append(names, r.Resource)
		}
		return names
	}
	want := []string{
		dirCRDs,
		dirNamespaces,
		dirDataUploads,
		dirVolumes,
		dirClaims,
		"configmaps",
		dirPriorityClasses,
		dirPods,
		"deployments.apps",
		dirJobs,
		"widgets.example.com",
	}
	if got := resources(VeleroServer{}); !slices.Equal(got, want) {
		t.Errorf("default order %q", got)
	}
	older := []string{dirCRDs, dirNamespaces, dirDataUploads, dirVolumes, dirClaims, "configmaps", dirPods,
		"deployments.apps", dirJobs, dirPriorityClasses, "widgets.example.com"}
	if got := resources(VeleroServer{Version: [3]int{1, 16, 2}}); !slices.Equal(got, older) {
		t.Errorf("before 1.17 got %q, want %q", got, older)
	}
	p, err := ParsePriorities("po,deploy,-,configmaps")
	if err != nil {
		t.Fatal(err)
	}
	got := resources(VeleroServer{Priorities: &p})
	if !slices.Equal(got[:3], []string{dirCRDs, dirPods, "deployments.apps"}) || got[len(got)-1] != "configmaps" {
		t.Errorf("custom order %q", got)
	}
	if _, err := ParsePriorities("a,-,b,-,c"); err == nil {
		t.Error("two separators pass")
	}
	if p, err := ParsePriorities("-,x"); err != nil || len(p.High) < 20 || !slices.Equal(p.Low, []string{"x"}) {
		t.Errorf("separator first: %+v, %v", p, err)
	}
}

func TestCSI(t *testing.T) {
	const group = "snapshot.storage.k8s.io"
	x := mustRead(t, buildArchive(t, twice([]file{
		namespaced(
			dirClaims,
			"a",
			"c",
			`{"kind":"PersistentVolumeClaim","metadata":{"annotations":{"velero.io/volume-snapshot-name":"s"}}}`,
		),
		namespaced(
			dirSnapshots,
			"a",
			"s",
			`{"kind":"VolumeSnapshot","metadata":{},"status":{"boundVolumeSnapshotContentName":"content"}}`,
		),
		clusterScoped(
			dirContents,
			"content",
			`{"kind":"VolumeSnapshotContent","metadata":{"annotations":{"csi.storage.k8s.io/snapshotter-secret-name":"k","csi.storage.k8s.io/snapshotter-secret-namespace":"a"}}}`,
		),
		namespaced(dirSecrets, "a", "k", labelled("Secret", "")),
		clusterScoped(dirCRDs, "volumesnapshots."+group, crdJSON("volumesnapshots", group, "vs")),
	})...))
	type spec = veleroapi.RestoreSpec
	claims := []string{"persistentvolumeclaims"}
	for name, c := range map[string]struct {
		spec   spec
		server VeleroServer
		want   int
	}{
		"all":                       {spec{}, VeleroServer{}, 5},
		"forced past the filters":   {spec{IncludedResources: claims}, VeleroServer{}, 3},
		"forced past cluster scope": {spec{IncludedResources: claims, IncludeClusterResources: ptr(false)}, VeleroServer{}, 3},
		"secret is not forced":      {spec{IncludedResources: []string{"pvc", "secrets"}, LabelSelector: appWeb}, VeleroServer{}, 0},
		"secret comes along":        {spec{IncludedResources: []string{"pvc", "secrets"}}, VeleroServer{}, 4},
		"without the feature":       {spec{IncludedResources: claims}, VeleroServer{CSIEnabled: ptr(false)}, 1},
		"volumes not wanted":        {spec{IncludedResources: claims, RestorePVs: ptr(false)}, VeleroServer{}, 1},
		"1.17 filters snapshots":    {spec{IncludedResources: claims}, VeleroServer{Version: [3]int{1, 17, 1}}, 2 /* contents are must-have */},
		"1.17 keeps cluster scope":  {spec{IncludedResources: claims, IncludedNamespaces: []string{"a"}}, VeleroServer{Version: [3]int{1, 17, 1}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if e := estimate(
				t,
				x,
				RestoreInput{Restore: c.spec, Server: c.server, ExistingNamespaces: ParseNamespaces("*")},
				Discovery{},
			); e.Total != c.want {
				t.Errorf("total %d, want %d: %+v", e.Total, c.want, e.Resources)
			}
		})
	}
	// A claim that exists brings no snapshot, and which do is not known here.
	for existing, want := range map[string]bool{"*": true, "a": true, "b": false} {
		e := estimate(
			t,
			x,
			RestoreInput{Restore: spec{IncludedResources: claims}, ExistingNamespaces: ParseNamespaces(existing)},
			Discovery{},
		)
		if said := strings.Contains(
			strings.Join(e.Assumptions, "\n"),
			"A claim that exists brings none",
		); said != want {
			t.Errorf("namespaces %s: %q", existing, e.Assumptions)
		}
	}
}

// The same objects without version directories, as format version 1 had them.
func TestOldFormat(t *testing.T) {
	var old []file
	for _, f := range cluster() {
		if !strings.Contains(f.name, "preferredversion") && f.name != "metadata/version" {
			old = append(old, f)
		}
	}
	x := mustRead(t, buildArchive(t, append(old, file{"metadata/version", "1"})...))
	if e := estimate(t, x, RestoreInput{ExistingNamespaces: ParseNamespaces("*")}, Discovery{}); e.Total != everything {
		t.Errorf("total %d", e.Total)
	}
}

func TestEmptyBackup(t *testing.T) {
	x := mustRead(t, buildArchive(t, file{"metadata/version", "1.1.0"}))
	if e := estimate(
		t,
		x,
		RestoreInput{},
		Discovery{},
	); e.Total != 0 || len(e.Resources) != 0 ||
		e.PositionAfter(0).Resource != "" {
		t.Errorf("%+v", e)
	}
}

func TestAssumptions(t *testing.T) {
	x := mustRead(t, buildArchive(t, cluster()...))
	has := func(e Estimate, want string) bool { return strings.Contains(strings.Join(e.Assumptions, "\n"), want) }
	e := estimate(t, x, RestoreInput{}, Discovery{})
	if !has(e, "5 more are counted as made by the restore: a, b, team-1, team-2, velero") ||
		!has(e, "Kubernetes 1.36") {
		t.Errorf("nothing known: %q", e.Assumptions)
	}
	only := RestoreInput{Restore: veleroapi.RestoreSpec{IncludedNamespaces: []string{"velero"}}}
	if e := estimate(t, x, only, Discovery{}); !has(e, "1 more is counted as made by the restore: velero.") {
		t.Errorf("one new namespace: %q", e.Assumptions)
	}
	for _, c := range []struct {
		server VeleroServer
		want   string
	}{
		{VeleroServer{}, "version of the Velero server is not known; it is taken for 1.18.3"},
		{VeleroServer{Tag: "1.5.0"}, `"1.5.0" of the Velero server is none of Velero's own; it is taken for 1.18.3`},
		{VeleroServer{Version: [3]int{1, 16, 0}, Tag: "v1.16"}, ""},
	} {
		e := estimate(t, x, RestoreInput{Server: c.server}, Discovery{})
		if has(e, "taken for 1.18.3") != (c.want != "") || !has(e, c.want) {
			t.Errorf("%+v: %q", c.server, e.Assumptions)
		}
	}
	live := Discovery{Resources: kubernetesResources, IsLive: true}
	wg := RestoreInput{
		Restore:            veleroapi.RestoreSpec{IncludedResources: []string{"wg"}},
		ExistingNamespaces: TargetNamespaces{IsComplete: true},
	}
	if e := estimate(t, x, wg, live); e.Total != 2 || !has(e, "does not know wg") {
		t.Errorf("unknown to a live target: %d, %q", e.Total, e.Assumptions)
	}
	policy := RestoreInput{Restore: veleroapi.RestoreSpec{}}
	if e := estimate(t, x, policy, live); has(e, "Kubernetes 1.36") {
		t.Errorf("live: %q", e.Assumptions)
	}
	names, err := Read(t.Context(), strings.NewReader(string(buildArchive(t, cluster()...))), Limits{NamesOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if !names.NamesOnly || x.NamesOnly {
		t.Error("HasLabels is wrong")
	}
	if e := estimate(
		t,
		names,
		RestoreInput{ExistingNamespaces: ParseNamespaces("*")},
		Discovery{},
	); e.Total != everything ||
		e.Partial {
		t.Errorf("names only: %d, partial %v", e.Total, e.Partial)
	}
	if e := estimate(
		t,
		names,
		RestoreInput{Restore: veleroapi.RestoreSpec{LabelSelector: appWeb}},
		Discovery{},
	); !e.Partial ||
		!has(e, "labels were not read") {
		t.Errorf("names only with a selector: partial %v, %q", e.Partial, e.Assumptions)
	}
}

func TestPosition(t *testing.T) {
	e := Estimate{
		Total: 6,
		Steps: []Step{{Resource: "a", Items: 1}, {Resource: "b", Items: 3}, {Resource: "c", Items: 2}},
	}
	for done, want := range map[int]Position{
		-1: {0, "a", 0, 1}, 0: {0, "a", 0, 1}, 1: {1, "b", 0, 3}, 3: {1, "b", 2, 3}, 4: {2, "c", 0, 2}, 5: {2, "c", 1, 2},
		6: {Step: 3}, 99: {Step: 3},
	} {
		if got := e.PositionAfter(done); got != want {
			t.Errorf("Position(%d) = %+v, want %+v", done, got, want)
		}
	}
}
