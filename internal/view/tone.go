package view

import (
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/velero"
)

// Tone is the meaning of a text for its reader. A theme gives it a style; it is never the only sign of the meaning.
type Tone int

// The tones.
const (
	Plain Tone = iota
	Strong
	Dim
	Good
	Running
	Waiting
	Bad
)

// StateTone returns the tone of a job's state.
func StateTone(s diagnosis.State) Tone {
	switch s {
	case diagnosis.Stuck, diagnosis.Orphaned:
		return Bad
	case diagnosis.Waiting, diagnosis.Quiet, diagnosis.Unknown:
		return Waiting
	}
	return Running
}

// EndPhaseTone returns the tone of the phase in which a job ended.
func EndPhaseTone(phase string) Tone {
	switch phase {
	case velero.PhaseCompleted:
		return Good
	case velero.PhasePartiallyFailed:
		return Waiting
	}
	return Bad
}

// Text is a text with its tone.
type Text struct {
	Text string
	Tone Tone
	// Narrow are shorter texts for less room, each shorter than the one before.
	Narrow []string
	// Estimated is true for a figure that veltui estimated itself.
	Estimated bool
	// Parts are the text in pieces, if not all of it was written by the same; see [Phrase].
	Parts []Part
	// Phases replace the text: a sign for each phase, the newest at the right, the oldest cut first.
	Phases []string
}

// TextsOf returns the texts without their tones.
func TextsOf(texts []Text) []string {
	plain := make([]string, len(texts))
	for i, t := range texts {
		plain[i] = t.Text
	}
	return plain
}

// FitWidth returns the longest of the texts that fits in width terminal cells, or the shortest.
func (t Text) FitWidth(width int) string {
	text := t.Text
	for _, narrow := range t.Narrow {
		if ansi.StringWidth(text) <= width {
			break
		}
		text = narrow
	}
	return text
}

// Toned returns a text with a tone.
func Toned(tone Tone, text string) Text { return Text{Text: text, Tone: tone} }

// PlainTexts returns texts without a particular tone.
func PlainTexts(texts []string) []Text {
	plain := make([]Text, len(texts))
	for i, text := range texts {
		plain[i] = Toned(Plain, text)
	}
	return plain
}
