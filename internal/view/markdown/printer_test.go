package markdown

import (
	"testing"
	"time"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/view"
)

func TestSpans(t *testing.T) {
	for _, c := range []struct{ got, want Span }{
		{Text("# a *b* www.example.org"), `\# a \*b\* www\.example.org`},
		{Text("1. one"), `1\. one`},
		{Code("a"), "`a`"},
		{Code("a ` b"), "`` a ` b ``"},
		{Code(" "), ""},
		{Format("%s and %s: %d", "<b>", Code("<b>"), 3), "\\<b\\> and `<b>`: 3"},
		{Prefixed(" by ", ""), ""},
		{Join([]Span{"", "a", "", "b"}, ", "), "a, b"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

func TestSection(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	p := Printer{Now: now}
	p.Section(view.PageSection{
		Title:  "what is left",
		Steps:  []view.Step{{Text: "Wait.", Command: "veltui wait restore/a", Alternatives: []string{"sleep 9"}}},
		Facts:  []diagnosis.Fact{{Text: "it moves", Source: "watch", At: now.Add(-time.Minute)}},
		Fields: []view.PageField{{Label: "resource-timeout", Text: view.Toned(view.Plain, "10m")}},
		Items:  append(view.PlainTexts([]string{"- an item"}), view.Phrase("%s [%s]", "*sent*", view.Quote("*"))),
		Lines:  view.PlainTexts([]string{"a line", "a second"}),
		Lists:  []view.List{{Title: "None:"}, {Title: "The first:", Items: view.PlainTexts([]string{"1. x"})}},
	})
	want := "\n## What is left\n\n" +
		"1. Wait.\n   - `veltui wait restore/a`\n   - `sleep 9`\n" +
		"- it moves [`watch`, 2026-11-20 11:59:00 (1m ago)]\n" +
		"- `resource-timeout`: 10m\n" +
		"- \\- an item\n" +
		"- \\*sent\\* [`*`]\n" +
		"\na line\n\na second\n" +
		"\nThe first:\n\n- 1\\. x\n"
	if got := p.String(); got != want {
		t.Errorf("%s\nwant%s", got, want)
	}
}

func TestMessages(t *testing.T) {
	p := Printer{}
	p.Section(view.PageSection{
		Title: "errors",
		Lines: view.PlainTexts([]string{"not all"}),
		Messages: []results.Message{
			{Severity: results.Error, Namespace: "crm", Text: "no `x`", Count: 2, Variants: []string{"a", "b"}, OmittedResources: 3},
			{Severity: results.Error, Namespace: "crm", Count: 1},
		},
		Footer: []view.Text{view.Phrase("1 group more; %s prints all.", view.Quote("veltui results"))},
	})
	want := "\n## Errors\n\nnot all\n\n" +
		"- 2 errors, namespace crm: `` no `x` ``\n  - of `a`, `b` and 3 more\n" +
		"- 1 error, namespace crm: `(no message)`\n" +
		"\n1 group more; `veltui results` prints all.\n"
	if got := p.String(); got != want {
		t.Errorf("%s\nwant%s", got, want)
	}
}

func TestVerdictHead(t *testing.T) {
	for name, c := range map[string]struct {
		verdict view.Verdict
		want    string
	}{
		"a verdict": {
			view.Verdict{Summary: "it moves", Phase: "InProgress", State: view.VerdictState("stuck", "LostPatch")},
			"**it moves.** Phase `InProgress`, verdict `stuck` (`LostPatch`).\n",
		},
		"an end": {
			view.Verdict{Summary: "it ended", Phase: "Failed", FirstErrors: view.PlainTexts([]string{"no *"})},
			"**it ended.** Phase `Failed`.\n\n- no \\*\n",
		},
	} {
		p := Printer{}
		if p.VerdictHead(c.verdict); p.String() != c.want {
			t.Errorf("%s: %q, want %q", name, p.String(), c.want)
		}
	}
}
