package decode

import (
	"cmp"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/sanitize"
)

// maxPatch is how long a patch may be, in bytes, that a person is to copy.
const maxPatch = 500

// someDuration is put into a duration that must not be left out.
const someDuration = "1h0m0s"

// Patch is a JSON patch (RFC 6902) that mends the fields of one object, empty if it cannot mend them
// all. It replaces a value whose meaning is plain, such as 30d, and takes others away, while each is as
// it was read; the last first.
func Patch(fields []Malformed) string {
	var steps []string
	for _, m := range slices.Backward(fields) {
		if m.patch == "" {
			return ""
		}
		steps = append(steps, strings.TrimSuffix(strings.TrimPrefix(m.patch, "["), "]"))
	}
	if steps == nil {
		return ""
	}
	return "[" + strings.Join(steps, ",") + "]"
}

// patchFor mends one field after a test that its value is the same. There is none for the object
// as a whole, nor one that is long or holds what a terminal must not print.
func patchFor(at path, value any, t target) string {
	if len(at) == 0 {
		return ""
	}
	where := at.pointer()
	mend := map[string]any{"op": "remove", "path": where}
	if text, _ := value.(string); t.elem().Type == duration && (t.required || durationFrom(text) != "") {
		mend = map[string]any{"op": "replace", "path": where, "value": cmp.Or(durationFrom(text), someDuration)}
	}
	data, err := json.Marshal([]any{map[string]any{"op": "test", "path": where, "value": value}, mend})
	if err != nil || len(data) > maxPatch || sanitize.String(string(data)) != string(data) {
		return ""
	}
	return string(data)
}

var days = regexp.MustCompile(`^([0-9]{1,5})([dw])$`)

// durationFrom writes days and weeks as Velero reads them, empty for other texts.
func durationFrom(text string) string {
	found := days.FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	hours, _ := strconv.Atoi(found[1]) // at most five digits
	if hours *= 24; found[2] == "w" {
		hours *= 7
	}
	if hours > int(math.MaxInt64/time.Hour) {
		return ""
	}
	return (time.Duration(hours) * time.Hour).String()
}

// path leads to a value in a JSON document: names (string) and indexes (int). Its backing array is shared.
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
