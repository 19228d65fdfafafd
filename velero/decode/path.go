package decode

import (
	"regexp"
	"strconv"
	"strings"
)

// path leads to a value in a JSON document: names of members (string) and
// indexes of lists (int). Its backing array is shared on the way down; what is
// kept of it must be a text.
type path []any

// plain is a name that needs no quotes in a path that people read.
var plain = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// String is the path as kubectl explain writes it.
func (p path) String() string {
	var b strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		case string:
			switch {
			case !plain.MatchString(step):
				b.WriteString("[" + strconv.Quote(step) + "]")
			case b.Len() > 0:
				b.WriteString("." + step)
			default:
				b.WriteString(step)
			}
		}
	}
	return b.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// pointer is the path as a JSON pointer (RFC 6901).
func (p path) pointer() string {
	var b strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			b.WriteString("/" + strconv.Itoa(step))
		case string:
			b.WriteString("/" + pointerEscapes.Replace(step))
		}
	}
	return b.String()
}
