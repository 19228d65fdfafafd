package view

import (
	"slices"
	"testing"
)

func TestPhrase(t *testing.T) {
	by := PrefixedPhrase(" by ", Phrase("%s", Quote("ops@example.org")))
	got := Phrase("%s%s: %s [%s]", "2h ago", by, "woke *it*", Quote("cluster"))
	want := []Part{
		{"2h ago", Mixed}, {" by ", Own}, {"ops@example.org", Quoted}, {": ", Own}, {"woke *it*", Mixed},
		{" [", Own}, {"cluster", Quoted}, {"]", Own},
	}
	if got.Text != "2h ago by ops@example.org: woke *it* [cluster]" || !slices.Equal(got.Parts, want) {
		t.Errorf("%q in %+v", got.Text, got.Parts)
	}
	if got := PrefixedPhrase(" by ", Phrase("%s", Quote(""))); got.Text != "" || len(got.TextParts()) != 0 {
		t.Errorf("of nobody: %+v", got)
	}
	if got := Toned(Bad, "a*b").TextParts(); !slices.Equal(got, []Part{{"a*b", Mixed}}) {
		t.Errorf("%+v", got)
	}
}
