package assess

// Note is a sentence about a thing that is no job, and how much it matters.
type Note struct {
	Text string
	Mood Mood
}

// Mood is how much a note matters.
type Mood int

// The moods.
const (
	Fine Mood = iota
	// Unusual is worth knowing and wants nobody.
	Unusual
	// Alarming wants a person's attention.
	Alarming
)

// Alarmed reports whether a person's attention is wanted.
func Alarmed(notes []Note) bool {
	for _, n := range notes {
		if n.Mood == Alarming {
			return true
		}
	}
	return false
}
