package collector

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// estimate is Estimate where nobody cancels it.
func estimate(t testing.TB, x *Index, spec RestoreInput, d Discovery) Estimate {
	t.Helper()
	e, err := x.Estimate(t.Context(), spec, d)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// hostilePattern keeps the matcher that Velero uses busy for years.
var hostilePattern = strings.Repeat("*a", 24) + "*b*" + strings.Repeat("a*", 24)

// crowd is an index of that many config maps in so many namespaces, each with
// labels of its own.
func crowd(t testing.TB, items, namespaces int) *Index {
	t.Helper()
	b := newIndexBuilder()
	o := &parsedObject{}
	for i := range items {
		at := itemPath{
			resource:  []byte("configmaps"),
			namespace: fmt.Appendf(nil, "%s-%05d", strings.Repeat("a", 50), i%namespaces),
			name:      fmt.Appendf(nil, "item-%06d", i),
		}
		o.resetFields()
		o.labels = append(
			o.labels,
			[2][]byte{[]byte("app"), fmt.Appendf(nil, "app-%d", i)},
			[2][]byte{[]byte("tier"), []byte("web")},
		)
		b.addItem(at, o, 0)
	}
	return b.buildIndex()
}

// bound is the most steps that an Estimate may take: all that filters may take,
// and some for each item and word.
func bound(filters int, x *Index, spec veleroapi.RestoreSpec, d Discovery) int {
	words := len(
		spec.IncludedNamespaces,
	) + len(
		spec.ExcludedNamespaces,
	) + len(
		spec.IncludedResources,
	) + len(
		spec.ExcludedResources,
	) +
		len(
			spec.OrLabelSelectors,
		) + len(
		spec.NamespaceMapping,
	)
	all := x.ItemCount() + len(x.Buckets) + len(x.Refs) + len(x.Kinds) + x.Strings.countStrings() + words + len(d.Resources) + 1000
	return filters + 1<<20 + 10*all
}

// stepsOf estimates and checks that it came to an end in time.
func stepsOf(t testing.TB, x *Index, spec RestoreInput, d Discovery) (Estimate, int) {
	t.Helper()
	return stepsWithin(t, maxFilterSteps, x, spec, d)
}

// stepsWithin is stepsOf with so many steps for filters.
func stepsWithin(t testing.TB, filters int, x *Index, spec RestoreInput, d Discovery) (Estimate, int) {
	t.Helper()
	w := newWorkBudget(t.Context())
	w.filters.StepsLeft = filters
	e := x.estimateRestore(w, spec, d)
	if most := bound(filters, x, spec.Restore, d); w.steps > most {
		t.Fatalf("%d steps, more than %d", w.steps, most)
	}
	return e, w.steps
}

func TestHostileSpecsComeToAnEnd(t *testing.T) {
	wholeWithoutRace(t)
	x := crowd(t, 20_000, 4_000)
	many := func(n int, format string) (words []string) {
		for i := range n {
			words = append(words, fmt.Sprintf(format, i))
		}
		return words
	}
	values := &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: many(50_000, "none-%d")},
		},
	}
	keys := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for _, key := range many(50_000, "key-%d") {
		keys.MatchLabels[key] = "x"
	}
	var or []*metav1.LabelSelector
	for _, word := range many(50_000, "none-%d") {
		or = append(or, &metav1.LabelSelector{MatchLabels: map[string]string{"app": word}})
	}
	mapping := map[string]string{}
	for i, namespace := range x.Namespaces() {
		mapping[namespace] = x.Namespaces()[0]
		if i > 500 {
			break
		}
	}
	for name, c := range map[string]struct {
		spec veleroapi.RestoreSpec
		says string
	}{
		"a pattern of 99 bytes":      {veleroapi.RestoreSpec{IncludedNamespaces: []string{hostilePattern}}, "Velero itself may hang"},
		"excluded":                   {veleroapi.RestoreSpec{ExcludedNamespaces: []string{hostilePattern}}, "Velero itself may hang"},
		"for resources":              {veleroapi.RestoreSpec{IncludedResources: []string{hostilePattern}}, ""},
		"ten thousand patterns":      {veleroapi.RestoreSpec{IncludedNamespaces: many(10_000, "*a*%d*b*")}, "Velero itself may hang"},
		"a pattern without end":      {veleroapi.RestoreSpec{ExcludedNamespaces: []string{strings.Repeat("*?", 5000)}}, "Velero itself may hang"},
		"names only":                 {veleroapi.RestoreSpec{IncludedNamespaces: many(200_000, "n-%d"), ExcludedNamespaces: many(200_000, "m-%d")}, ""},
		"resources that nobody has":  {veleroapi.RestoreSpec{IncludedResources: many(200_000, "r-%d.example.com"), ExcludedResources: many(200_000, "x-%d.example.com")}, ""},
		"a selector of many values":  {veleroapi.RestoreSpec{LabelSelector: values}, "counted as if they were selected"},
		"a selector of many keys":    {veleroapi.RestoreSpec{LabelSelector: keys}, ""},
		"many selectors":             {veleroapi.RestoreSpec{OrLabelSelectors: or}, "counted as if they were selected"},
		"all namespaces become one":  {veleroapi.RestoreSpec{NamespaceMapping: mapping}, ""},
		"a namespace mapped in ring": {veleroapi.RestoreSpec{NamespaceMapping: map[string]string{x.Namespaces()[0]: x.Namespaces()[1], x.Namespaces()[1]: x.Namespaces()[0]}}, ""},
	} {
		for _, version := range [][3]int{{1, 18, 3}, {1, 18, 0}} {
			t.Run(fmt.Sprint(name, version), func(t *testing.T) {
				spec := RestoreInput{
					Restore:            c.spec,
					Server:             VeleroServer{Version: version},
					ExistingNamespaces: TargetNamespaces{IsComplete: true, Names: many(50_000, "there-%d")},
				}
				e, steps := stepsOf(t, x, spec, Discovery{})
				t.Logf("%d steps, %d items", steps, e.Total)
				said := strings.Join(e.Assumptions, "\n")
				if !strings.Contains(said, c.says) || e.Partial != (c.says != "") || len(said) > 4000 {
					t.Errorf("partial %v, %.4000s", e.Partial, said)
				}
			})
		}
	}
}

// TestUnjudgedCountsAsRestored: what the steps do not suffice for is not left
// out in silence.
func TestUnjudgedCountsAsRestored(t *testing.T) {
	x := crowd(t, 2000, 1000)
	for _, spec := range []veleroapi.RestoreSpec{
		{IncludedNamespaces: []string{strings.Repeat("*?", 5000)}}, {ExcludedNamespaces: []string{strings.Repeat("*?", 5000)}},
	} {
		if e := estimate(
			t,
			x,
			RestoreInput{Restore: spec, ExistingNamespaces: TargetNamespaces{AllExist: true}},
			Discovery{},
		); e.Total != 2000 ||
			!e.Partial {
			t.Errorf("%d items, partial %v", e.Total, e.Partial)
		}
	}
}

// countdown is a context that ends after it was asked some times.
type countdown struct {
	context.Context
	asked, most int
}

func (c *countdown) Err() error {
	if c.asked++; c.asked > c.most {
		return context.Canceled
	}
	return nil
}

// TestEstimateObeysItsContext at any point: it takes only few steps more. The
// context is asked by its Err alone, and a step is some nanoseconds.
func TestEstimateObeysItsContext(t *testing.T) {
	wholeWithoutRace(t)
	x := crowd(t, 60_000, 3_000)
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}}
	for name, spec := range map[string]veleroapi.RestoreSpec{
		"plain": {}, "selector": {LabelSelector: selector}, "patterns": {ExcludedNamespaces: []string{hostilePattern, "b*"}},
	} {
		_, all := stepsOf(t, x, RestoreInput{Restore: spec}, Discovery{})
		if all < 60_000 {
			t.Fatalf("%s: %d steps are too few to be all", name, all)
		}
		for most := range 12 {
			c := &countdown{t.Context(), 0, most}
			w := newWorkBudget(c)
			w.cause = c.Err
			_ = x.estimateRestore(w, RestoreInput{Restore: spec}, Discovery{})
			// One match may be under way, and what is done once for an index.
			const slack = 1<<20 + 20_000
			if !errors.Is(w.err, context.Canceled) || w.steps > (most+1)*(1<<20+checkEvery)+slack || c.asked > most+1 {
				t.Errorf("%s: %v, %d steps, asked %d times of %d", name, w.err, w.steps, c.asked, most)
			}
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("nobody waits")
	cancel(gone)
	if e, err := x.Estimate(ctx, RestoreInput{}, Discovery{}); !errors.Is(err, gone) || e.Total != 0 {
		t.Errorf("%d items, %v", e.Total, err)
	}
}

// TestManyReferences: what brings others along finds them fast.
func TestManyReferences(t *testing.T) {
	wholeWithoutRace(t)
	b := newIndexBuilder()
	const namespaces = 30_000
	for i := range namespaces {
		name := fmt.Appendf(nil, "n-%05d", i)
		pod := &parsedObject{claims: [][]byte{[]byte("data")}}
		b.addItem(itemPath{resource: []byte(dirPods), namespace: name, name: []byte("p")}, pod, 0)
		b.addItem(itemPath{resource: []byte(dirClaims), namespace: name, name: []byte("data")}, &parsedObject{}, 0)
	}
	x := b.buildIndex()
	compared := 0
	for i := range namespaces {
		namespace := fmt.Sprintf("n-%05d", i)
		if _, found := x.findItem(dirClaims, namespace, "data"); !found {
			t.Fatalf("%s/data is not found", namespace)
		}
		if _, found := x.findItem(dirClaims, namespace, "p"); found {
			t.Fatalf("%s/p is found", namespace)
		}
		compared++
	}
	spec := RestoreInput{
		Restore:            veleroapi.RestoreSpec{IncludedResources: []string{"pods", "pvc"}},
		ExistingNamespaces: TargetNamespaces{AllExist: true},
	}
	if e, _ := stepsOf(t, x, spec, Discovery{}); e.Total != 2*namespaces {
		t.Errorf("%d items", e.Total)
	}
}

// FuzzSteps gives Estimate whole specs of any words, often repeated: it ends
// within the bound.
func FuzzSteps(f *testing.F) {
	x := crowd(f, 300, 100)
	f.Add("a*,*b", hostilePattern, "deploy,po*", "app", "x,y", uint8(20), uint8(0))
	f.Add("*", "{a,b}*", "*.apps", "tier", "web", uint8(3), uint8(3))
	f.Fuzz(func(t *testing.T, in, out, resources, key, values string, times, patch uint8) {
		repeat := func(list string) (words []string) {
			for i := range times {
				for word := range strings.SplitSeq(list, ",") {
					words = append(words, word, fmt.Sprintf("%s%d", word, i))
				}
			}
			return words
		}
		spec := veleroapi.RestoreSpec{
			IncludedNamespaces: repeat(in), ExcludedNamespaces: repeat(out), IncludedResources: repeat(resources),
			NamespaceMapping: map[string]string{in: out, out: in},
		}
		for _, value := range repeat(values) {
			spec.OrLabelSelectors = append(
				spec.OrLabelSelectors,
				&metav1.LabelSelector{MatchLabels: map[string]string{key: value}},
			)
		}
		stepsWithin(
			t,
			1<<16,
			x,
			RestoreInput{Restore: spec, Server: VeleroServer{Version: [3]int{1, 18, int(patch)}}},
			Discovery{},
		)
	})
}

// wholeWithoutRace skips a test of code without goroutines in short mode: it runs
// whole without the race detector.
func wholeWithoutRace(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("one goroutine")
	}
}
