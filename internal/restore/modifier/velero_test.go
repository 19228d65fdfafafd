package modifier

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// sample is one of testdata/cases.json, or what GetResourceModifiersFromConfig, Validate and ApplyResourceModifierRules
// of Velero 1.18.3 made of it (internal/resourcemodifiers, copied to where it can be imported).
type sample struct {
	Name, Text, Resource string
	Body, Made           map[string]any
	Errors               []string
	Refused              string
}

func readCases(t *testing.T, path string) (cases []sample) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// TestVeleroMakesTheSame compares with what Velero 1.18.3's internal/resourcemodifiers makes of the cases. No other module
// can import that package: 1.18.json comes from a program inside a copy of Velero's.
func TestVeleroMakesTheSame(t *testing.T) {
	made := readCases(t, "testdata/1.18.json")
	for n, c := range readCases(t, "testdata/cases.json") {
		t.Run(c.Name, func(t *testing.T) { c.compare(t, made[n]) })
	}
}

func (c sample) compare(t *testing.T, velero sample) {
	rules, err := Parse(map[string]string{"any": c.Text})
	if refused := velero.Refused != ""; refused != (err != nil) {
		t.Fatalf("%v; Velero: %q", err, velero.Refused)
	} else if refused {
		return
	}
	text, err := json.Marshal(c.Body)
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	errs, unsure := rules.Apply(c.Resource, o)
	if unsure != "" {
		t.Fatal(unsure)
	}
	if len(errs) != len(velero.Errors) { // the words are veltui's own
		t.Errorf("errors %q; Velero: %q", errs, velero.Errors)
	}
	if text, err = json.Marshal(o.Object); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, velero.Made) {
		want, _ := json.Marshal(velero.Made)
		t.Errorf("got\n%s\nVelero makes\n%s", text, want)
	}
}

func TestWhatCannotBeTold(t *testing.T) {
	for name, c := range map[string]struct{ text, kind string }{
		"a kind without a schema": {`strategicPatches: [{patchData: "spec: {a: 1}"}]`, "snapshot.storage.k8s.io/v1 VolumeSnapshot"},
		"a copy that grows":       {`patches: [{operation: add, path: /spec/l, value: "[1]"}, ` + strings.Repeat(`{operation: copy, from: /spec/l, path: /spec/l/-}, `, 40) + `]`, "apps/v1 Deployment"},
	} {
		t.Run(name, func(t *testing.T) {
			rules, err := Parse(
				map[string]string{
					"a": "version: v1\nresourceModifierRules:\n- conditions: {groupResource: '*'}\n  " + c.text,
				},
			)
			if err != nil {
				t.Fatal(err)
			}
			version, kind, _ := strings.Cut(c.kind, " ")
			o := &unstructured.Unstructured{
				Object: map[string]any{
					"apiVersion": version,
					"kind":       kind,
					"spec":       map[string]any{"x": strings.Repeat("x", 100)},
				},
			}
			if errs, unsure := rules.Apply("things", o); unsure == "" || errs != nil {
				t.Errorf("%v, %q", errs, unsure)
			}
		})
	}
	wild, err := Parse(
		map[string]string{
			"a": "version: v1\nresourceModifierRules:\n- {conditions: {groupResource: '*a*a*a*a*a*b'}, mergePatches: [{patchData: '{}'}]}",
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	if _, unsure := wild.Apply(
		strings.Repeat("a", 200),
		&unstructured.Unstructured{Object: map[string]any{"kind": "A"}},
	); unsure == "" {
		t.Error("it matched a pattern that takes years")
	}
	if _, err := Parse(map[string]string{"a": "", "b": ""}); err == nil {
		t.Error("Velero refuses two keys")
	}
	if ConfigMapName(veleroapi.RestoreSpec{}, "d") != "d" ||
		ConfigMapName(veleroapi.RestoreSpec{ResourceModifier: &corev1.TypedLocalObjectReference{Name: "own"}}, "d") != "own" {
		t.Error("the restore's own comes before the server's")
	}
}

// TestStrategicPatchesNeedAKnownKind has the kinds that Velero's server registers, and those that it does not.
func TestStrategicPatchesNeedAKnownKind(t *testing.T) {
	rules, err := Parse(map[string]string{"a": "version: v1\nresourceModifierRules:\n" +
		"- {conditions: {groupResource: '*'}, strategicPatches: [{patchData: 'metadata: {labels: {a: b}}'}]}\n" +
		"- {conditions: {groupResource: '*.**'}, strategicPatches: [{patchData: 'metadata: {labels: {a: b}}'}]}"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		resource, version, kind string
		fails                   bool
	}{
		{"configmaps", "v1", "ConfigMap", false},
		{"resourcequotas", "v1", "ResourceQuota", false},
		{"limitranges", "v1", "LimitRange", false},
		{"cronjobs.batch", "batch/v1", "CronJob", false},
		{"deployments.apps", "apps/v1beta1", "Deployment", true},
		{"ingresses.networking.k8s.io", "networking.k8s.io/v1", "Ingress", true},
		{"roles.rbac.authorization.k8s.io", "rbac.authorization.k8s.io/v1", "Role", true},
		{"poddisruptionbudgets.policy", "policy/v1", "PodDisruptionBudget", true},
		{"horizontalpodautoscalers.autoscaling", "autoscaling/v2", "HorizontalPodAutoscaler", true},
		{"widgets.example.com", "example.com/v1", "Widget", true},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": c.version, "kind": c.kind}}
		errs, unsure := rules.Apply(c.resource, o)
		if len(errs) > 0 != c.fails || unsure != "" || o.GetLabels()["a"] == "b" == c.fails {
			t.Errorf("%s: %v, %q, %v", c.resource, errs, unsure, o.GetLabels())
		}
		coverage := rules.NewCoverage()
		coverage.AddItem(c.resource, "", "a", true, func() (map[string]string, bool) { return nil, true })
		failed := 0
		for _, r := range coverage.Rules {
			failed += r.Failed
		}
		if c.version != "apps/v1beta1" && failed > 0 != c.fails {
			t.Errorf("%s: %d failed", c.resource, failed)
		}
	}
}

// TestSeveralMayApply is for the race detector: the dry run has several senders.
func TestSeveralMayApply(t *testing.T) {
	rules, err := Parse(
		map[string]string{
			"a": "version: v1\nresourceModifierRules:\n- {conditions: {groupResource: '*', namespaces: ['a*']}, mergePatches: [{patchData: 'data: {a: b}'}]}",
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			o := &unstructured.Unstructured{
				Object: map[string]any{"kind": "A", "metadata": map[string]any{"namespace": fmt.Sprint("a", n)}},
			}
			if errs, _ := rules.Apply("as", o); errs != nil || o.Object["data"] == nil {
				t.Error(errs, o)
			}
		})
	}
	all.Wait()
}
