package markdown

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/view"
)

// MaxRunes is the largest length of a text; longer texts are cut.
const MaxRunes = 2000

// Span is Markdown within a line.
type Span string

// specialCharacters have a meaning in Markdown anywhere in a line; lineOpeners only at its beginning.
var specialCharacters = regexp.MustCompile("[\\\\`*_{}\\[\\]<>#|~&!$@=^]")

var lineOpeners = regexp.MustCompile(`^(\s*)([-+]|\d+[.)](?:\s|$))`)

// Text escapes a text, so that Markdown sees no markup in it.
func Text(s string) Span {
	s = specialCharacters.ReplaceAllString(strings.TrimSpace(sanitize.Truncate(s, MaxRunes)), `\$0`)
	s = lineOpeners.ReplaceAllStringFunc(s, func(found string) string {
		return strings.NewReplacer("-", `\-`, "+", `\+`, ".", `\.`, ")", `\)`).Replace(found)
	})
	return Span(strings.NewReplacer("://", `:\//`, "www.", `www\.`, "WWW.", `WWW\.`, "Www.", `Www\.`).Replace(s))
}

// Code formats a text as code, in a fence longer than its runs of backticks; empty for an empty text.
func Code(s string) Span {
	s = strings.TrimSpace(sanitize.Truncate(s, MaxRunes))
	longest, run := 0, 0
	for _, r := range s {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	switch {
	case s == "":
		return ""
	case longest > 0:
		return Span(fence + " " + s + " " + fence)
	}
	return Span(fence + s + fence)
}

// Phrase formats a text by its parts: quotes are code, and only veltui's own words may be markup.
func Phrase(t view.Text) Span {
	var s Span
	for _, part := range t.TextParts() {
		switch part.Kind {
		case view.Own:
			s += Span(part.Text)
		case view.Quoted:
			s += Code(part.Text)
		default:
			s += Text(part.Text)
		}
	}
	return s
}

// Format formats like fmt.Sprintf; strings among the arguments become [Text].
func Format(format string, args ...any) Span {
	spans := make([]any, len(args))
	for i, arg := range args {
		spans[i] = arg
		if s, isText := arg.(string); isText {
			spans[i] = Text(s)
		}
	}
	return Span(fmt.Sprintf(format, spans...))
}

// Prefixed returns a span behind a prefix, or nothing if the span is empty.
func Prefixed(prefix string, s Span) Span {
	if s == "" {
		return ""
	}
	return Span(prefix) + s
}

// Join joins the spans that are not empty.
func Join(spans []Span, separator string) Span {
	var joined Span
	for _, s := range spans {
		if joined != "" {
			s = Prefixed(separator, s)
		}
		joined += s
	}
	return joined
}
