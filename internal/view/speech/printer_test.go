package speech

import (
	"slices"
	"testing"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/view"
)

func TestPrinter(t *testing.T) {
	p := Printer{Max: 2}
	p.Section(view.FactList{Title: view.FactsTitle, Facts: []diagnosis.Fact{{Text: "it moves"}}}.Section())
	p.Section(view.PageSection{Title: view.DoubtsTitle, Items: view.PlainTexts([]string{"logs not read.", "b", "c"})})
	want := []string{"Fact: it moves.", "Unknown or contradicting: logs not read.", "And 2 more."}
	if got := p.Lines(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
