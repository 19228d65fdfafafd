package restorespec

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// values are texts of each flag that Velero reads.
var values = map[string][]string{
	"from-backup":                 {"b", "nightly-20261121"},
	"from-schedule":               {"nightly"},
	"allow-partially-failed":      {"true", "false"},
	"include-namespaces":          {"shop", "shop,billing", "*", "team-*", ""},
	"exclude-namespaces":          {"kube-system,velero"},
	"namespace-mappings":          {"a:b", "a:b,c:d", `"a:b,c",d:e`},
	"include-resources":           {"pods,deployments.apps", "*"},
	"exclude-resources":           {"events"},
	"selector":                    {"app=web", "app=web,tier notin (db)", "a in (b,c),d", "!gone", "a==b"},
	"or-selector":                 {"a=b or c=d", "or=x or y", "a in (b, c) or !d"},
	"include-cluster-resources":   {"true", "false"},
	"restore-volumes":             {"true", "false"},
	"resource-policies-configmap": {"policies"},
	"existing-resource-policy":    {"none", "update"},
	"preserve-nodeports":          {"true", "false"},
	"status-include-resources":    {"*", "workflows"},
	"status-exclude-resources":    {"pods"},
	"resource-modifier-configmap": {"modifiers"},
	"item-operation-timeout":      {"4h", "90m", "1h30m0s"},
	"parallel-files-download":     {"7"},
	"write-sparse-files":          {"true", "false"},
	"labels":                      {"a=b", "team=red,x=y=z"},
	"annotations":                 {`"a=x, y",b=c`, `"note=it's 100% ""fine"""`},
}

// TestFieldsAreVeleros holds the list of flags against Velero's own.
func TestFieldsAreVeleros(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/vmware-tanzu/velero").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "pkg/cmd/cli/restore/create.go"))
	if err != nil {
		t.Fatal(err)
	}
	var theirs, ours []string
	for _, found := range regexp.MustCompile(`flags\.\w+\(&o\.\w+, "([a-z-]+)"`).FindAllStringSubmatch(string(source), -1) {
		if found[1] != "wait" {
			theirs = append(theirs, found[1])
		}
	}
	for _, f := range FlagSpecs() {
		ours = append(ours, f.Flag)
		if f.Title == "" || f.Help == "" || f.Hint == "" || len(values[f.Flag]) == 0 {
			t.Errorf("--%s says not all, or is not tested: %+v", f.Flag, f)
		}
	}
	slices.Sort(theirs)
	slices.Sort(ours)
	if len(theirs) < 20 || !slices.Equal(theirs, ours) {
		t.Errorf("Velero has %q\nwe have %q", theirs, ours)
	}
}

// roundTrip makes a command of a draft, reads it back, and compares.
func roundTrip(t *testing.T, d *Draft) {
	t.Helper()
	words, unsaid := d.CommandWords()
	read, err := Parse(words[2:])
	if err != nil || !same(&read, d) {
		t.Errorf("%q: %v\n%+v\nread as\n%+v", words, err, d, read)
	}
	if _, status := d.Restore.Spec.RestoreStatus, slices.Contains(
		unsaid,
		"spec.restoreStatus",
	); len(unsaid) > 0 &&
		!status {
		t.Errorf("%q: not said: %q", words, unsaid)
	}
	data, err := d.YAML("velero")
	if err != nil {
		t.Fatal(err)
	}
	var r veleroapi.Restore
	if err := yaml.UnmarshalStrict(data, &r); err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	if got := (&Draft{Restore: r, AllowPartiallyFailed: d.AllowPartiallyFailed}); !same(got, d) ||
		r.Namespace != "velero" ||
		r.Kind != "Restore" {
		t.Errorf("the YAML says\n%s\nwant\n%+v", data, d)
	}
	for _, never := range []string{"status:", "creationTimestamp", "{}", ": null"} {
		if strings.Contains(string(data), never) {
			t.Errorf("%q in\n%s", never, data)
		}
	}
}

func same(a, b *Draft) bool {
	return reflect.DeepEqual(draftFields(a), draftFields(b)) &&
		reflect.DeepEqual(a.AllowPartiallyFailed, b.AllowPartiallyFailed)
}

func TestEachFieldThereAndBack(t *testing.T) {
	for _, f := range FlagSpecs() {
		for _, text := range values[f.Flag] {
			var d Draft
			if err := f.Set(&d, text); err != nil {
				t.Errorf("--%s %q: %v", f.Flag, text, err)
				continue
			}
			if _, given := f.ValueText(&d); !given {
				t.Errorf("--%s %q: not given", f.Flag, text)
			}
			roundTrip(t, &d)
			f.Clear(&d)
			if !reflect.DeepEqual(d, Draft{}) {
				t.Errorf("--%s %q is not cleared: %+v", f.Flag, text, d)
			}
		}
	}
}

func TestCombinationsThereAndBack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		d := Draft{Restore: veleroapi.Restore{ObjectMeta: metav1.ObjectMeta{Name: []string{"", "r1"}[random.IntN(2)]}}}
		for _, f := range FlagSpecs() {
			if text := values[f.Flag]; random.IntN(3) == 0 {
				if err := f.Set(&d, text[random.IntN(len(text))]); err != nil {
					t.Fatal(err)
				}
			}
		}
		roundTrip(t, &d)
	}
}

func TestWhatIsNoValue(t *testing.T) {
	for flag, texts := range map[string][]string{
		"namespace-mappings":       {"a", "a:b,c", `"a`},
		"selector":                 {"a in", "=", "a==b==c", "a!=b", "n>1"},
		"or-selector":              {"a=b or a in", "a b"},
		"restore-volumes":          {"yes", "2"},
		"write-sparse-files":       {"maybe"},
		"existing-resource-policy": {"recreate", "None"},
		"item-operation-timeout":   {"4", "4 hours"},
		"parallel-files-download":  {"-1", "many", "1.5"},
		"labels":                   {"a"},
	} {
		f, _ := FindFlag(flag)
		for _, text := range texts {
			if err := f.Set(&Draft{}, text); err == nil {
				t.Errorf("--%s takes %q", flag, text)
			}
		}
	}
}

// TestCheck: what Velero's flags take, and what fails later all the same.
func TestCheck(t *testing.T) {
	for flag, texts := range map[string][]string{
		"namespace-mappings":     {"shop:", ":shop", "a:b,shop:", "shop:Shop", "shop:a.b", "shop:a:b"},
		"labels":                 {"=a", "a b=c", "a/b/c=d", "a=b c", "a=-", "a=" + strings.Repeat("x", 64)},
		"annotations":            {"=a", "a b=c"},
		"item-operation-timeout": {"-1h"},
	} {
		f, _ := FindFlag(flag)
		for _, text := range texts {
			var d Draft
			if err := f.Set(&d, text); err != nil {
				t.Errorf("--%s %q: %v", flag, text, err)
			}
			if f.Check(&d) == nil {
				t.Errorf("--%s: %q passes", flag, text)
			}
		}
	}
	for flag, text := range map[string]string{"namespace-mappings": "shop:shop-2", "labels": "example.com/a=b,c=", "annotations": "Example.com/a=x y", "item-operation-timeout": "1h", "from-backup": "b"} {
		var d Draft
		f, _ := FindFlag(flag)
		if err := f.Set(&d, text); err != nil || f.Check(&d) != nil {
			t.Errorf("--%s %q: %v, %v", flag, text, err, f.Check(&d))
		}
	}
}

// TestUnsaid: what no flag can say is named.
func TestUnsaid(t *testing.T) {
	for name, c := range map[string]struct {
		spec veleroapi.RestoreSpec
		want string
	}{
		"hooks":          {veleroapi.RestoreSpec{Hooks: veleroapi.RestoreHooks{Resources: []veleroapi.RestoreResourceHookSpec{{Name: "h"}}}}, "spec.hooks"},
		"another kind":   {veleroapi.RestoreSpec{ResourceModifier: &corev1.TypedLocalObjectReference{Kind: "Secret", Name: "s"}}, "spec.resourceModifier"},
		"only excluded":  {veleroapi.RestoreSpec{RestoreStatus: &veleroapi.RestoreStatusSpec{ExcludedResources: []string{"pods"}}}, "spec.restoreStatus"},
		"comma":          {veleroapi.RestoreSpec{IncludedNamespaces: []string{"a,b"}}, "spec.includedNamespaces"},
		"unknown policy": {veleroapi.RestoreSpec{ExistingResourcePolicy: "recreate"}, `what a flag would refuse (invalid argument "recreate" for "--existing-resource-policy" flag: "recreate": expected none or update)`},
		"all of it said": {veleroapi.RestoreSpec{IncludedNamespaces: []string{"a"}, LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpIn, Values: []string{"b"}}}}}, ""},
	} {
		d := Draft{Restore: veleroapi.Restore{Spec: c.spec}}
		if _, unsaid := d.CommandWords(); strings.Join(unsaid, " ") != c.want {
			t.Errorf("%s: not said: %q, want %q", name, unsaid, c.want)
		}
	}
}

// TestFlagsOfOlderVersions: which flags the command lacks, and which fields the server
// ignores, as the source of these versions says.
func TestFlagsOfOlderVersions(t *testing.T) {
	for _, c := range []struct {
		version       velero.Version
		lacks, unread string
	}{
		{velero.Version{1, 10, 3}, "or-selector resource-policies-configmap resource-modifier-configmap item-operation-timeout parallel-files-download write-sparse-files annotations",
			"resource-policies-configmap resource-modifier-configmap item-operation-timeout parallel-files-download write-sparse-files"},
		{velero.Version{1, 12, 0}, "or-selector resource-policies-configmap parallel-files-download write-sparse-files annotations", "resource-policies-configmap parallel-files-download write-sparse-files"},
		{velero.Version{1, 13, 2}, "resource-policies-configmap parallel-files-download annotations", "resource-policies-configmap parallel-files-download"},
		{velero.Version{1, 15, 2}, "resource-policies-configmap annotations", "resource-policies-configmap"},
		{velero.Version{1, 18, 2}, "resource-policies-configmap", "resource-policies-configmap"},
		{velero.Version{1, 18, 3}, "", ""},
	} {
		var lacks, unread []string
		for _, f := range FlagSpecs() {
			if !f.HasFlag(c.version) {
				lacks = append(lacks, f.Flag)
			}
			if !f.IsReadBy(c.version) {
				unread = append(unread, f.Flag)
			}
		}
		if strings.Join(lacks, " ") != c.lacks || strings.Join(unread, " ") != c.unread {
			t.Errorf("%s lacks %q and ignores %q, want %q and %q", c.version, lacks, unread, c.lacks, c.unread)
		}
	}
}

func TestTidy(t *testing.T) {
	for _, c := range [][3]string{
		{"include-namespaces", " shop, billing,", "shop,billing"}, {"namespace-mappings", "a : b ,c:d", "a:b,c:d"}, {"selector", " a in (b, c), d ", "a in (b, c), d"},
		{"annotations", `"a=x, y",b=c`, `"a=x, y",b=c`}, {"from-backup", " b ", "b"}, {"include-resources", ",", ""},
	} {
		f, _ := FindFlag(c[0])
		if got := f.TidyText(c[1]); got != c[2] {
			t.Errorf("--%s %q: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// TestFlagsOverAFile: a flag replaces what a file says, and only that.
func TestFlagsOverAFile(t *testing.T) {
	r := veleroapi.Restore{
		Spec: veleroapi.RestoreSpec{
			BackupName:         "b",
			IncludedNamespaces: []string{"x"},
			NamespaceMapping:   map[string]string{"x": "y"},
		},
	}
	var f Flags
	for _, said := range [][2]string{{"namespace-mappings", "a:b"}, {"namespace-mappings", "c:d"}, {"exclude-resources", "pods"}, {"exclude-resources", "secrets"}} {
		field, _ := FindFlag(said[0])
		if err := (&flagValue{&f, field}).Set(said[1]); err != nil {
			t.Fatal(err)
		}
	}
	want := veleroapi.RestoreSpec{
		BackupName:         "b",
		IncludedNamespaces: []string{"x"},
		NamespaceMapping:   map[string]string{"a": "b", "c": "d"},
		ExcludedResources:  []string{"secrets"},
	}
	if err := f.ApplyTo(&r); err != nil || !reflect.DeepEqual(r.Spec, want) {
		t.Errorf("%v, %+v", err, r.Spec)
	}
}

// TestFlagsLeaveOutLoneExcludes: without includes, Velero's command makes no restoreStatus of its excludes.
func TestFlagsLeaveOutLoneExcludes(t *testing.T) {
	includes, excludes := &veleroapi.RestoreStatusSpec{
		IncludedResources: []string{"a"},
	}, &veleroapi.RestoreStatusSpec{
		ExcludedResources: []string{"a"},
	}
	for name, c := range map[string]struct {
		file  *veleroapi.RestoreStatusSpec
		flags []string
		want  *veleroapi.RestoreStatusSpec
	}{
		"excludes alone":         {nil, []string{"status-exclude-resources"}, nil},
		"both, excludes first":   {nil, []string{"status-exclude-resources", "status-include-resources"}, &veleroapi.RestoreStatusSpec{IncludedResources: []string{"pods"}, ExcludedResources: []string{"pods"}}},
		"over includes":          {includes, []string{"status-exclude-resources"}, &veleroapi.RestoreStatusSpec{IncludedResources: []string{"a"}, ExcludedResources: []string{"pods"}}},
		"excludes of a file":     {excludes, nil, excludes},
		"over excludes":          {excludes, []string{"status-exclude-resources"}, &veleroapi.RestoreStatusSpec{ExcludedResources: []string{"pods"}}},
		"includes over excludes": {excludes, []string{"status-include-resources"}, &veleroapi.RestoreStatusSpec{IncludedResources: []string{"pods"}, ExcludedResources: []string{"a"}}},
	} {
		r, f := veleroapi.Restore{Spec: veleroapi.RestoreSpec{RestoreStatus: c.file.DeepCopy()}}, Flags{}
		for _, flag := range c.flags {
			field, _ := FindFlag(flag)
			if err := (&flagValue{&f, field}).Set("pods"); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.ApplyTo(&r); err != nil || !reflect.DeepEqual(r.Spec.RestoreStatus, c.want) {
			t.Errorf("%s: %v, %+v", name, err, r.Spec.RestoreStatus)
		}
	}
}

// TestFlagsBesideASelector: Velero takes one kind of selector, wherever it comes from.
func TestFlagsBesideASelector(t *testing.T) {
	for flag, spec := range map[string]veleroapi.RestoreSpec{
		"or-selector": {LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}},
		"selector":    {OrLabelSelectors: []*metav1.LabelSelector{{MatchLabels: map[string]string{"a": "b"}}}},
	} {
		r, f := veleroapi.Restore{Spec: spec}, Flags{}
		field, _ := FindFlag(flag)
		if err := (&flagValue{&f, field}).Set("x=y"); err != nil {
			t.Fatal(err)
		}
		if err := f.ApplyTo(&r); !errors.Is(err, ErrSelectors) || !reflect.DeepEqual(r.Spec, spec) {
			t.Errorf("--%s: %v, %+v", flag, err, r.Spec)
		}
	}
}

// TestAgain takes out what Velero put in.
func TestAgain(t *testing.T) {
	r := &veleroapi.Restore{
		ObjectMeta: metav1.ObjectMeta{Name: "old", Labels: map[string]string{"a": "b"}},
		Spec: veleroapi.RestoreSpec{
			BackupName:           "b",
			ScheduleName:         "s",
			ExcludedResources:    []string{"pods", "nodes", "events", "csinodes.storage.k8s.io"},
			UploaderConfig:       &veleroapi.UploaderConfigForRestore{},
			ItemOperationTimeout: metav1.Duration{Duration: 4 * time.Hour},
		},
	}
	d := NewDraftFrom(r)
	if words, unsaid := d.CommandWords(); strings.Join(
		words,
		" ",
	) != "restore create --from-backup=b --exclude-resources=pods --item-operation-timeout=4h0m0s" ||
		unsaid != nil {
		t.Errorf("%q, %q", words, unsaid)
	}
	if len(r.Spec.ExcludedResources) != 4 {
		t.Error("the restore that was there has changed")
	}
}
