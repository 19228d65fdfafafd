package view

import (
	"fmt"
	"slices"
	"testing"

	"github.com/veltui/veltui/internal/restore/preflight"
)

func TestPreflight(t *testing.T) {
	number := func(n int) *int { return &n }
	findings := []preflight.Finding{
		{Severity: preflight.Note, Reason: "ObjectsEqual", Sentence: "Equal."},
		{
			Severity: preflight.Obstacle, Reason: "StorageClassMissing", Namespace: "shop",
			Names: []string{"data-0", "data-1"}, Count: 7, Sentence: "No class.", Remedy: "Create it.",
		},
		{
			Severity: preflight.Doubt, Reason: "NamespaceTerminating", Namespace: "shop", Names: []string{"shop"},
			Count: 1, Sentence: "It goes.",
		},
	}
	p := NewPreflight(&preflight.Result{
		Items:     number(12),
		Findings:  findings,
		Unchecked: []preflight.Unchecked{{What: "events", Why: "you may not list them"}},
		DryRun: &preflight.DryRun{
			NotSent: []preflight.ItemGroup{
				{Why: "it is a Secret", Resource: "secrets", Names: []string{"secrets/shop/a"}, Count: 2},
			},
			AlwaysUnchecked: []string{"the future"},
		},
	})
	var got []string
	for _, f := range p.Findings {
		got = append(got, fmt.Sprintf("%s|%d|%s|%s|%s", f.Severity.Text, f.Severity.Tone, f.Reason, f.Subject, f.Paragraph()))
	}
	want := []string{
		fmt.Sprintf("obstacle|%d|StorageClassMissing|in shop: data-0, data-1 and 5 more|No class. Create it.", Bad),
		fmt.Sprintf("doubt|%d|NamespaceTerminating|shop|It goes.", Waiting),
		fmt.Sprintf("note|%d|ObjectsEqual||Equal.", Dim),
	}
	if !slices.Equal(got, want) || p.Items != "12 items" || p.Counts != "1 obstacle, 1 doubt" {
		t.Errorf("%q, %q, %q", got, p.Items, p.Counts)
	}
	if !slices.Equal(p.Unchecked, []string{"events: you may not list them"}) || p.DryRun == "" ||
		!slices.Equal(p.NotSent, []string{"2 objects of secrets, such as secrets/shop/a: it is a Secret"}) ||
		!slices.Equal(p.Unknowable, []string{"the future"}) {
		t.Errorf("%+v", p)
	}
	for want, items := range map[string]*int{
		"veltui cannot tell what it would restore": nil,
		NothingMatches: number(0),
		"1 item":       number(1),
	} {
		if p := NewPreflight(&preflight.Result{Items: items}); p.Items != want || p.DryRun != "" {
			t.Errorf("%q, %q, want %q", p.Items, p.DryRun, want)
		}
	}
}

func TestPreflightConsequences(t *testing.T) {
	var findings []preflight.Finding
	for n := range 7 {
		findings = append(findings, preflight.Finding{Severity: preflight.Obstacle, Sentence: fmt.Sprintf("No %d.", n)})
	}
	n := 3
	for _, c := range []struct {
		items            *int
		findings         []preflight.Finding
		dryRun, complete bool
		want             []string
	}{
		{&n, nil, true, true, []string{"try to restore 3 items: preflight found 0 obstacles and 0 doubts"}},
		{nil, nil, false, false, []string{
			"try to restore an unknown number of items: preflight found 0 obstacles and 0 doubts, without a dry run, " +
				"and could not look at everything",
		}},
		{&n, findings, true, true, []string{
			"try to restore 3 items: preflight found 7 obstacles and 0 doubts", "meet an obstacle: No 0",
			"meet an obstacle: No 1", "meet an obstacle: No 2", "meet an obstacle: No 3", "meet an obstacle: No 4",
		}},
	} {
		if got := PreflightConsequences(c.items, c.findings, c.dryRun, c.complete); !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
