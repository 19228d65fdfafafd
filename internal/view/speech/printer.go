package speech

import (
	"fmt"
	"strings"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/view"
)

// Sentence formats a sentence, which ends with a full stop.
func Sentence(format string, args ...any) string {
	return human.EndSentence(strings.TrimSpace(fmt.Sprintf(format, args...)))
}

// Printer collects sentences.
type Printer struct {
	// Max is the largest number of sentences from sections, 0 for no limit; the others are counted.
	Max int

	lines   []string
	printed int
	omitted int
}

// Lines returns the sentences, and how many others there are.
func (p *Printer) Lines() []string {
	if p.omitted == 0 {
		return p.lines
	}
	return append(p.lines, Sentence("And %s", human.More(p.omitted)))
}

// Section prints each fact and item of a part of a page as a sentence behind the title of the part.
func (p *Printer) Section(s view.PageSection) {
	lead := human.Capitalize(strings.TrimSuffix(s.Title, "s")) // each sentence is about one of them
	for _, f := range s.Facts {
		p.addItem(lead, f.Text)
	}
	for _, item := range s.Items {
		p.addItem(lead, item.Text)
	}
}

func (p *Printer) addItem(lead, text string) {
	if p.Max > 0 && p.printed == p.Max {
		p.omitted++
		return
	}
	p.printed++
	p.lines = append(p.lines, Sentence("%s: %s", lead, text))
}
