package view

import (
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/velero"
)

// Tone is what a text means for whoever reads it. A theme gives it a style; it is never the only sign.
type Tone int

// The tones.
const (
	Plain Tone = iota
	Strong
	Dim
	OK
	Busy
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
	return Busy
}

// EndTone returns the tone of the phase in which a job ended.
func EndTone(phase string) Tone {
	switch phase {
	case velero.PhaseCompleted:
		return OK
	case velero.PhasePartiallyFailed:
		return Waiting
	}
	return Bad
}

// Text is a text with its tone.
type Text struct {
	Text string
	Tone Tone
	// Narrow are texts for where there is less room, each shorter than the one before.
	Narrow []string
	// Estimated is true for a figure that is veltui's own estimate.
	Estimated bool
	// Phases stand in place of the text: a sign each, the newest at the right, the oldest cut first.
	Phases []string
}

// Fit returns the longest of the texts that fits in width cells, or the shortest.
func (t Text) Fit(width int) string {
	text := t.Text
	for _, narrow := range t.Narrow {
		if len(text) <= width {
			break
		}
		text = narrow
	}
	return text
}

// Toned returns a text with a tone.
func Toned(tone Tone, text string) Text { return Text{Text: text, Tone: tone} }
