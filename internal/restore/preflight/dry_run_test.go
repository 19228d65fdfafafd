package preflight

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/veltui/veltui/internal/restore/live"
)

// TestDryRunGroups: the same said of several objects is one finding, whatever their names and amounts.
func TestDryRunGroups(t *testing.T) {
	d := &DryRun{
		User:            "bob",
		NotVeleroReason: "you may not impersonate it",
		Answered:        func(string, string, string) bool { return true },
	}
	for i := range 9 {
		name := fmt.Sprintf("web-%d", i)
		d.Rejected = append(
			d.Rejected,
			Rejection{
				Resource:  "configmaps",
				Namespace: "shop",
				Name:      name,
				Message:   name + " wants 1" + fmt.Sprint(i),
				Pattern:   "* wants 1" + fmt.Sprint(i),
			},
		)
	}
	d.Rejected = append(
		d.Rejected,
		Rejection{Resource: pods, Namespace: "ops", Name: "p", Message: "other", Pattern: "other"},
		Rejection{Resource: pods, Namespace: "ops", Name: "q", Message: "other", Pattern: "other", Warned: true},
	)
	d.CannotTell = GroupItems(func(add func(why, pattern, resource, namespace, name string)) {
		add("small", "small", pods, "shop", "p")
		add("a is large", "* is large", "configmaps", "shop", "a")
		add("b is large", "* is large", "configmaps", "shop", "b")
	})
	r := checked(t, given{items: []item{{"configmaps", "shop", "web-0", ""}}, dry: d})
	if got := kindsOf(r); got != "obstacle Rejected, obstacle Rejected, doubt Rejected" {
		t.Errorf("found %s: %+v", got, r.Findings)
	}
	if f := r.Findings[1]; f.Count+r.Findings[0].Count != 10 {
		t.Errorf("%+v", r.Findings)
	}
	said := fmt.Sprint(r.Unchecked)
	for _, want := range []string{"what Velero's service account may do", "the dry run of 2 objects of configmaps, such as configmaps/shop/a", "large"} {
		if !strings.Contains(said, want) {
			t.Errorf("nothing says %q: %s", want, said)
		}
	}
}

// TestDryRunTakesTheRulesPlace: where the API server answered, no rule says it again or says otherwise.
func TestDryRunTakesTheRulesPlace(t *testing.T) {
	small := limitRange(
		corev1.LimitRangeItem{
			Type: corev1.LimitTypeContainer,
			Max:  corev1.ResourceList{"cpu": resource.MustParse("100m")},
		},
	)
	g := given{
		items: []item{{pods, "shop", "p", oneCPU}, {"gadgets.x.io", "shop", "g", ""}},
		around: live.Environment{
			Namespaces:  map[string]live.Namespace{"shop": {}},
			LimitRanges: []corev1.LimitRange{small},
		},
	}
	if got := kindsOf(checked(t, g)); got != "obstacle KindNotServed, obstacle LimitRangeViolated" {
		t.Fatalf("without a dry run: %s", got)
	}
	g.dry = &DryRun{AsVelero: true, Answered: func(resource, _, _ string) bool { return resource == pods }}
	if got := kindsOf(checked(t, g)); got != "obstacle KindNotServed" {
		t.Errorf("of the pod alone: %s", got)
	}
	g.dry.Answered = func(string, string, string) bool { return true }
	if got := kindsOf(checked(t, g)); got != "" {
		t.Errorf("of both: %s", got)
	}
	patched := given{
		items: []item{{"configmaps", "shop", "a", ""}},
		there: always,
		compared: []ExistingObject{
			{Resource: "configmaps", Namespace: "shop", Name: "a", Outcome: OutcomePatchRefused, Fields: []string{"data.a"}},
		},
	}
	if got := kindsOf(checked(t, patched)); got != "doubt PatchesRefused" {
		t.Fatalf("a patch, without a dry run: %s", got)
	}
	patched.dry = g.dry
	if r := checked(t, patched); kindsOf(r) != "doubt ObjectsPatched" || r.Existing[0].Outcome != OutcomePatched {
		t.Errorf("a patch that the API server accepts: %s, %v", kindsOf(r), r.Existing)
	}
	g.dry.Rejected = []Rejection{{Resource: "configmaps", Namespace: "shop", Name: "a", Message: "no", Warned: true}}
	for _, outcome := range []ExistingOutcome{OutcomePatched, OutcomePatchRefused, OutcomeUnknown, OutcomeEqual} {
		patched.compared[0].Outcome = outcome
		r := checked(t, patched)
		if kindsOf(r) != "doubt Rejected" || r.Existing[0].Outcome != OutcomePatchRefused || r.Existing[0].Why != "no" {
			t.Errorf("a patch that the API server rejects, %s: %s, %v", outcome, kindsOf(r), r.Existing)
		}
	}
}

// TestAnswersThatSayNothingOfAPatch: fields that the API server keeps, and objects for which Velero sends no patch.
func TestAnswersThatSayNothingOfAPatch(t *testing.T) {
	request := "certificatesigningrequests.certificates.k8s.io"
	existing := []ExistingObject{
		{Resource: request, Name: "r", Outcome: OutcomeUnknown},
		{Resource: "configmaps", Namespace: "shop", Name: "a", Outcome: OutcomeUnknown},
	}
	dry := &DryRun{
		Answered: func(string, string, string) bool { return true },
		Rejected: []Rejection{{Resource: "configmaps", Namespace: "shop", Name: "a", Message: "no", ByVelero: true}},
	}
	for _, e := range correctExisting(existing, dry) {
		if e.Outcome != OutcomeUnknown {
			t.Errorf("%s is %s", e.Resource, e.Outcome)
		}
	}
}

// TestSummary: where nothing was sent, it says why.
func TestSummary(t *testing.T) {
	there := ItemGroup{
		Why:      "it exists, and the policy is none",
		Resource: "secrets",
		Names:    []string{"secrets/shop/a"},
		Count:    40,
	}
	d := &DryRun{
		User:      "ann",
		ItemCount: 41,
		NotSent:   []ItemGroup{there},
		CannotTell: []ItemGroup{
			{Why: "its body is too large", Resource: "secrets", Names: []string{"secrets/shop/b"}, Count: 1},
		},
	}
	if got, want := d.Summary(), "Dry run as ann: 0 of 41 objects sent, 0 accepted, 0 rejected, nothing stored; not sent: 40 objects of secrets, such as secrets/shop/a: it exists, and the policy is none"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if d.SentCount, d.AcceptedCount = 1, 1; d.Summary() != "Dry run as ann: 1 of 41 objects sent, 1 accepted, 0 rejected, nothing stored" {
		t.Error(d.Summary())
	}
}
