package view

// Mark is the sign of a state, in front of its row.
type Mark int

// The marks.
const (
	MarkAhead Mark = iota // has not begun
	MarkNow               // is under way
	MarkDone
	MarkFailed
	MarkSkipped
	MarkUnknown
	MarkAttention // does not get on
)

// MarkedState is the word for a state, with its mark.
type MarkedState struct {
	Text
	Mark Mark
}

func markState(mark Mark, tone Tone, word string) MarkedState {
	return MarkedState{Text: Toned(tone, word), Mark: mark}
}
