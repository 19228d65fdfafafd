package logs

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
)

// Level is how serious a line is. The levels are in their order.
type Level uint8

// The levels. A line without one continues another, such as a stack trace. Mark is a sentence of veltui's own.
const (
	NoLevel Level = iota
	Trace
	Debug
	Info
	Warning
	Error // and fatal, and panic
	Mark
)

var levelNames = [...]string{"", "trace", "debug", "info", "warning", "error", "mark"}

// String is the level as Velero writes it.
func (l Level) String() string { return levelNames[l] }

// ParseLevel reads a level's name, as logrus knows it; NoLevel for other words.
func ParseLevel(name string) Level {
	switch name = strings.ToLower(name); name {
	case "warn":
		return Warning
	case "fatal", "panic":
		return Error
	case "mark", "":
		return NoLevel
	}
	return Level(max(0, slices.Index(levelNames[:], name)))
}

// Entry is a line on its way. Its text is as it was written, and not harmless.
type Entry struct {
	// Raw is the line without its end, valid only until the function that takes the Entry returns.
	Raw   []byte
	Level Level
	// At is when it was written, by its machine's clock. A stored log's lines leave it zero: [Parse] reads it.
	At     time.Time
	Source string // the pod, where that is not a server's
	// More is true for the next part of a line that is too long, and Open if it goes on in the next Entry.
	More, Open bool
}

// Line is a line to draw. All its text is harmless.
type Line struct {
	At    time.Time
	Level Level
	// Source is the pod that wrote it, empty for the server and a stored log.
	Source string
	// Text is what it says, or all of it if it is not as Velero writes lines.
	Text string
	// Error is what went wrong, empty if the line does not say.
	Error string
	// Fields are the others, by name.
	Fields []Field
	// More is true for the next part of a line that is too long for one.
	More bool
}

// Field is one thing that a line says beside its text.
type Field struct{ Name, Value string }

// Names reports whether the line names a resource, anywhere.
func (l Line) Names(name string) bool {
	return strings.Contains(l.Text, name) || strings.Contains(l.Error, name) ||
		slices.ContainsFunc(l.Fields, func(f Field) bool { return strings.Contains(f.Value, name) })
}

// field is the value of a field, empty if the line does not have it.
func (l Line) field(name string) string {
	for _, f := range l.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// Parse reads a line. What it cannot read becomes the Text.
func Parse(raw string) Line {
	source, raw := cutSource(raw)
	e, ok := velero.ParseLogLine(raw)
	if !ok {
		l := Line{Source: source, Level: ParseLevel(velero.LogLevel(raw)), Text: sanitize.String(raw)}
		// The line may have been cut; its beginning can be read all the same.
		if head, found := velero.CutLogLine(raw); found {
			l.At, l.Text = head.At, sanitize.String(head.Text)
		}
		return l
	}
	l := Line{
		At:     e.At,
		Level:  ParseLevel(e.Level),
		Source: source,
		Text:   sanitize.String(e.Text),
		Error:  sanitize.String(e.Error),
	}
	for name, value := range e.Fields {
		switch name {
		case "time", "level", "msg", "error", "error.message":
		default:
			l.Fields = append(l.Fields, Field{sanitize.String(name), sanitize.String(value)})
		}
	}
	slices.SortFunc(
		l.Fields,
		func(a, b Field) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value)) },
	)
	return l
}

// cutSource takes off what [Entry.Source] became in a Store.
func cutSource(raw string) (source, rest string) {
	if !strings.HasPrefix(raw, "[") {
		return "", raw
	}
	if source, rest, found := strings.Cut(raw[1:], "] "); found && !strings.ContainsAny(source, " \t\"{") {
		return sanitize.String(source), rest
	}
	return "", raw
}

// withSource is the text as kubectl logs --prefix would print it.
func (e Entry) withSource() []byte {
	if e.Source == "" || e.More {
		return e.Raw
	}
	return append([]byte("["+e.Source+"] "), e.Raw...)
}

// Text is the line as kubectl logs --prefix prints it, unsanitized.
func (e Entry) Text() string { return string(e.withSource()) }

// Parse reads the entry, for those who want its fields.
func (e Entry) Parse() Line {
	l := Parse(string(e.Raw))
	if l.Source = sanitize.String(e.Source); l.At.IsZero() {
		l.At = e.At
	}
	l.Level, l.More = e.Level, e.More
	return l
}
