package view

import (
	"slices"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/diagnosis"
)

func TestVerdictTellsEachFactOnce(t *testing.T) {
	proof := diagnosis.Fact{Text: "no server runs", Supports: true, Source: diagnosis.SourcePod}
	other := diagnosis.Fact{Text: "phase InProgress", Supports: true, Source: diagnosis.SourceWatch}
	doubt := diagnosis.Fact{Text: "logs not read", Source: diagnosis.SourceLog}
	v := diagnosis.Verdict{
		Reason: diagnosis.ServerDown, Subject: "shop", Text: "stuck", Advice: "Start it.",
		Facts: []diagnosis.Fact{doubt, proof, other},
	}
	v.Proof = diagnosis.ProveRefused(proof)
	got := NewVerdict(v, nil)
	if got.Summary != "shop: stuck" || got.Proof.Sentence() != "refused: no server runs" || got.State.Text != "ServerDown" {
		t.Errorf("%+v", got)
	}
	want := []FactList{
		{Title: "facts", Facts: []diagnosis.Fact{other}},
		{Title: "unknown or contradicting", Doubt: true, Facts: []diagnosis.Fact{doubt}},
	}
	same := func(a, b FactList) bool {
		return a.Title == b.Title && a.Doubt == b.Doubt && slices.Equal(a.Facts, b.Facts)
	}
	if !slices.EqualFunc(got.FactLists, want, same) {
		t.Errorf("the evidence is %+v, want %+v", got.FactLists, want)
	}
	if lists := NewFactLists(nil); lists != nil {
		t.Errorf("without facts: %+v", lists)
	}
}

func TestVerdictState(t *testing.T) {
	if got := VerdictState("stuck", "VeleroServerDown").Text; got != "stuck (VeleroServerDown)" {
		t.Error(got)
	}
	if got := VerdictState("", "Completed").Text; got != "Completed" {
		t.Error(got)
	}
}

func TestFactSentence(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		at             time.Time
		long, narrowed string
	}{
		{time.Time{}, "it moves (watch)", "watch"},
		{now.Add(-500 * time.Millisecond), "it moves (watch, now)", "watch, now"},
		{now.Add(-3 * time.Minute), "it moves (watch, 3m ago)", "watch, 3m"},
	} {
		f := diagnosis.Fact{Text: "it moves", Source: diagnosis.SourceWatch, At: c.at, Supports: true}
		if got := FactSentence(f, now); got != c.long {
			t.Errorf("%q, want %q", got, c.long)
		}
		if got := FactOrigin(f, now).FitWidth(0); got != c.narrowed {
			t.Errorf("%q, want %q", got, c.narrowed)
		}
	}
}

// TestOrderOfVerdict holds the one order of the page of a job, of explain and of the report.
func TestOrderOfVerdict(t *testing.T) {
	v := Verdict{
		Cause:   PageSection{Title: "why", Items: PlainTexts([]string{"an error"})},
		Next:    []Step{{Title: NextTitle, Text: "first"}},
		Options: []Step{{Title: "option", Text: "second"}},
		NoSteps: "nothing to do",
		FactLists: NewFactLists([]diagnosis.Fact{
			{Text: "logs not read"}, {Text: "phase InProgress", Supports: true},
		}),
		Volumes: PlainTexts([]string{"a volume"}),
	}
	var titles []string
	for _, s := range v.Sections() {
		titles = append(titles, s.Title)
		if len(s.Steps) > 0 && (s.Steps[0].Text != "first" || s.Steps[1].Text != "second" || s.Lines != nil) {
			t.Errorf("%+v", s)
		}
	}
	if want := []string{"why", StepsTitle, FactsTitle, DoubtsTitle, VolumesTitle}; !slices.Equal(titles, want) {
		t.Errorf("%q, want %q", titles, want)
	}
	if sections := (Verdict{}).Sections(); len(sections) > 0 {
		t.Errorf("an empty verdict has %+v", sections)
	}
	empty := Verdict{NoSteps: "nothing to do"}
	if sections := empty.Sections(); len(sections) != 1 || sections[0].Lines[0].Text != "nothing to do" {
		t.Errorf("without steps: %+v", sections)
	}
}
