package text

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/view"
)

func TestPrinter(t *testing.T) {
	for name, c := range map[string]struct {
		print func(*Printer)
		want  string
	}{
		"a gap before a line": {
			func(p *Printer) { p.Line("a"); p.Line("\n%s", "b") },
			"a\n\nb\n",
		},
		"text from outside makes no line of its own": {
			func(p *Printer) { p.Line("%s", "a\nb\x1b[2J") },
			"a b\\x1b[2J\n",
		},
		"a clause without a text": {
			func(p *Printer) { p.PrefixedLine("next: ", ""); p.PrefixedLine("next: ", "wait") },
			"next: wait\n",
		},
		"a list": {
			func(p *Printer) { p.List("none", nil); p.List("some", []string{"a", "b"}) },
			"\nsome\n  - a\n  - b\n",
		},
		"a section": {
			func(p *Printer) {
				p.Section(view.PageSection{
					Title:  "facts",
					Facts:  []diagnosis.Fact{{Text: "it moves", Source: "watch"}},
					Fields: []view.PageField{{Label: "resource-timeout", Text: view.Toned(view.Plain, "10m")}},
					Items:  view.PlainTexts([]string{"an item"}),
				}, time.Time{})
			},
			"\nfacts:\n  - it moves (watch)\n  - resource-timeout 10m\n  - an item\n",
		},
		"steps have titles of their own": {
			func(p *Printer) {
				p.Section(view.PageSection{Title: view.StepsTitle, Steps: []view.Step{
					{Title: "next", Text: "Wait."},
					{
						Title: "option", Text: "wake it", Reason: "it sleeps", Consequences: []string{"then: it goes on"},
						Command: "veltui finalize", Alternatives: []string{"kubectl patch"},
					},
					{Text: "finalize would refuse", Objection: "Wait.", Alternatives: []string{"kubectl get"}},
				}}, time.Time{})
			},
			"\nnext: Wait.\n" +
				"\noption: wake it\n  it sleeps\n  - then: it goes on\n  veltui finalize\n  or:\n  kubectl patch\n" +
				"\nfinalize would refuse\n  Wait.\n  kubectl get\n",
		},
		"the first of each state": {
			func(p *Printer) {
				p.ListByState("none", nil, 1, "")
				p.ListByState("secrets", []TextWithState{{"failed", "a"}, {"gone", "b"}, {"failed", "c"}, {"failed", "d"}}, 1, " (--all)")
			},
			"\nsecrets\n  failed           a\n  gone             b\n  failed           and 2 more (--all)\n",
		},
		"messages": {
			func(p *Printer) {
				p.Section(view.PageSection{Title: "errors (3)", MaxNames: 1, Messages: []results.Message{
					{Text: "no *", Count: 2, Variants: []string{"a", "b"}}, {Text: "lost", Count: 1},
				}}, time.Time{})
			},
			"\nerrors (3)\n  2x no *\n      a and 1 more\n  lost\n",
		},
		"all of each state": {
			func(p *Printer) { p.ListByState("secrets", []TextWithState{{"failed", "a"}, {"failed", "b"}}, -1, "") },
			"\nsecrets\n  failed           a\n  failed           b\n",
		},
		"a table with numbers at the right": {
			func(p *Printer) {
				columns := []view.Column{
					{Name: "name"}, {Name: "items", Right: true}, {Name: "bar", ScreenOnly: true}, {Name: "why"},
				}
				row := func(name, items, why string) []view.Cell {
					return []view.Cell{{PrintedText: name}, {PrintedText: items}, {PrintedText: "x"}, {PrintedText: why}}
				}
				p.Table(columns, nil)
				p.Line("resources")
				p.Table(columns, [][]view.Cell{row("secrets", "7", ""), row("a\nb", "1,000", "x")})
			},
			"resources\n\nNAME      ITEMS   WHY\nsecrets       7   -\na b       1,000   x\n",
		},
		"a table at the beginning, with a column of long texts": {
			func(p *Printer) {
				long := strings.Repeat("x", sanitize.MaxLineRunes+1)
				columns := []view.Column{{Name: "names", Uncut: true}, {Name: "why"}}
				p.Table(columns, [][]view.Cell{{{PrintedText: long}, {PrintedText: long}}})
			},
			"NAMES" + strings.Repeat(" ", sanitize.MaxLineRunes-1) + "WHY\n" + strings.Repeat("x", sanitize.MaxLineRunes+1) + "   " +
				sanitize.String(strings.Repeat("x", sanitize.MaxLineRunes+1)) + "\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			p := Printer{Writer: &out}
			c.print(&p)
			if out.String() != c.want || p.Err() != nil {
				t.Errorf("%v\ngot:\n%s\nwant:\n%s", p.Err(), out.String(), c.want)
			}
		})
	}
}

var errFull = errors.New("the disk is full")

// fullDisk takes one write.
type fullDisk struct{ strings.Builder }

func (d *fullDisk) Write(data []byte) (int, error) {
	if d.Len() > 0 {
		return 0, errFull
	}
	return d.Builder.Write(data)
}

func TestPrinterStopsAtAnError(t *testing.T) {
	var out fullDisk
	p := Printer{Writer: &out}
	p.Line("a")
	p.Line("b")
	p.RecordError(errors.New("later"))
	p.Table([]view.Column{{Name: "name"}}, [][]view.Cell{{{PrintedText: "c"}}})
	if out.String() != "a\n" || !errors.Is(p.Err(), errFull) {
		t.Errorf("%q, %v", out.String(), p.Err())
	}
}
