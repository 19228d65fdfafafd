package view

import (
	"fmt"
	"strings"
)

// Quote is a name or a message that others wrote: in Markdown, it is code.
type Quote string

// PartKind says who wrote a part of a text.
type PartKind int

// The kinds of parts.
const (
	Own    PartKind = iota // veltui's own words, which may be markup
	Mixed                  // words that may contain those of others
	Quoted                 // the words of others
)

// Part is a piece of a text.
type Part struct {
	Text string
	Kind PartKind
}

// Phrase returns a text in parts: the format is veltui's own, and each argument for one of its %s is a [Quote], another
// [Text], or a value whose words are [Mixed].
func Phrase(format string, args ...any) Text {
	var t Text
	own := strings.Split(format, "%s")
	for i, words := range own {
		t.addPart(Part{words, Own})
		if i == len(own)-1 {
			break
		}
		switch arg := args[i].(type) {
		case Quote:
			t.addPart(Part{string(arg), Quoted})
		case Text:
			for _, part := range arg.TextParts() {
				t.addPart(part)
			}
		default:
			t.addPart(Part{fmt.Sprint(arg), Mixed})
		}
	}
	return t
}

func (t *Text) addPart(p Part) {
	if p.Text != "" {
		t.Parts, t.Text = append(t.Parts, p), t.Text+p.Text
	}
}

// PrefixedPhrase returns a text behind a prefix, or nothing if the text is empty.
func PrefixedPhrase(prefix string, t Text) Text {
	if t.Text == "" {
		return Text{}
	}
	return Phrase(prefix+"%s", t)
}

// TextParts returns the parts of the text; all of it is one if it has none.
func (t Text) TextParts() []Part {
	if len(t.Parts) > 0 || t.Text == "" {
		return t.Parts
	}
	return []Part{{t.Text, Mixed}}
}
