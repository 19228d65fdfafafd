package logs

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
)

// Level is how serious a line is. The levels are ordered.
type Level uint8

// The levels. A line with NoLevel continues another, such as a stack trace. Mark is a sentence of veltui's own.
const (
	NoLevel Level = iota
	Trace
	Debug
	Info
	Warning
	Error // and fatal, and panic
	Notice
)

var levelNames = [...]string{"", "trace", "debug", "info", "warning", "error", "mark"}

// String returns the level as Velero writes it.
func (l Level) String() string { return levelNames[l] }

// ParseLevel returns the level of a name that logrus knows, NoLevel for other words.
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

// Entry is a line as it is read. Its text is as it was written, and not sanitized.
type Entry struct {
	// Raw is the line without its end, valid only until the function that takes the Entry returns.
	Raw   []byte
	Level Level
	// At is when it was written, by its machine's clock. It is zero for lines of a stored log: [Parse] reads the time.
	At     time.Time
	Source string // the pod, if it is not a server's
	// IsContinuation is true for a further part of a line that is too long, Open if the line continues in the next Entry.
	IsContinuation, HasContinuation bool
}

// Line is a line to draw. All its text is sanitized.
type Line struct {
	At    time.Time
	Level Level
	// Source is the pod that wrote it, empty for the server and for a stored log.
	Source string
	// Text is the message, or the whole line if it does not have Velero's format.
	Text string
	// Error is what went wrong, empty if the line does not say.
	Error string
	// Fields are the other fields, by name.
	Fields []LineField
	// IsContinuation is true for a further part of a line that is too long for one.
	IsContinuation bool
}

// LineField is a field of a line besides its text.
type LineField struct{ Name, Value string }

// Mentions reports whether the line contains the name of a resource, anywhere.
func (l Line) Mentions(name string) bool {
	return strings.Contains(l.Text, name) || strings.Contains(l.Error, name) ||
		slices.ContainsFunc(l.Fields, func(f LineField) bool { return strings.Contains(f.Value, name) })
}

// fieldValue returns the value of a field, empty if the line does not have the field.
func (l Line) fieldValue(name string) string {
	for _, f := range l.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// Parse parses a line. A line that it cannot parse becomes the Text.
func Parse(raw string) Line {
	source, raw := cutSource(raw)
	e, ok := velero.ParseLogLine(raw)
	if !ok {
		l := Line{Source: source, Level: ParseLevel(velero.LogLevel(raw)), Text: sanitize.String(raw)}
		// The line may have been cut; its beginning can still be read.
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
			l.Fields = append(l.Fields, LineField{sanitize.String(name), sanitize.String(value)})
		}
	}
	slices.SortFunc(
		l.Fields,
		func(a, b LineField) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value)) },
	)
	return l
}

// cutSource cuts off the prefix that [Entry.Source] became in a Store.
func cutSource(raw string) (source, rest string) {
	if !strings.HasPrefix(raw, "[") {
		return "", raw
	}
	if source, rest, found := strings.Cut(raw[1:], "] "); found && !strings.ContainsAny(source, " \t\"{") {
		return sanitize.String(source), rest
	}
	return "", raw
}

// prefixedRaw returns the text as kubectl logs --prefix would print it.
func (e Entry) prefixedRaw() []byte {
	if e.Source == "" || e.IsContinuation {
		return e.Raw
	}
	return append([]byte("["+e.Source+"] "), e.Raw...)
}

// PrefixedText returns the line as kubectl logs --prefix prints it, not sanitized.
func (e Entry) PrefixedText() string { return string(e.prefixedRaw()) }

// ParseLine parses the entry into its fields.
func (e Entry) ParseLine() Line {
	l := Parse(string(e.Raw))
	if l.Source = sanitize.String(e.Source); l.At.IsZero() {
		l.At = e.At
	}
	l.Level, l.IsContinuation = e.Level, e.IsContinuation
	return l
}
