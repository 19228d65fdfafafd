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

// maxPatch is the longest patch, in bytes, that a person is asked to copy.
const maxPatch = 500

// placeholderDuration replaces a duration that must not be left out.
const placeholderDuration = "1h0m0s"

// BuildPatch returns a JSON patch (RFC 6902) that repairs the fields of one object, empty if it cannot repair all of
// them. The patch replaces a value whose meaning is clear, such as 30d, and removes other values. It tests that each
// value is still as it was read, and starts with the last.
func BuildPatch(fields []MalformedField) string {
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

// patchFor returns a patch that repairs one field after a test that its value is unchanged. It returns none for the
// object as a whole, for a long patch, or for text that a terminal must not print.
func patchFor(at path, value any, t fieldType) string {
	if len(at) == 0 {
		return ""
	}
	where := at.jsonPointer()
	mend := map[string]any{"op": "remove", "path": where}
	if text, _ := value.(string); t.pointee().Type == durationType && (t.required || parseDayDuration(text) != "") {
		mend = map[string]any{"op": "replace", "path": where, "value": cmp.Or(parseDayDuration(text), placeholderDuration)}
	}
	data, err := json.Marshal([]any{map[string]any{"op": "test", "path": where, "value": value}, mend})
	if err != nil || len(data) > maxPatch || sanitize.String(string(data)) != string(data) {
		return ""
	}
	return string(data)
}

var dayOrWeek = regexp.MustCompile(`^([0-9]{1,5})([dw])$`)

// parseDayDuration returns days and weeks in the form that Velero reads, empty for other texts.
func parseDayDuration(text string) string {
	found := dayOrWeek.FindStringSubmatch(text)
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

// plainName matches names that need no quotes in a path for people.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// String returns the path as kubectl explain writes it.
func (p path) String() string {
	var b strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(step) + "]")
		case string:
			switch {
			case !plainName.MatchString(step):
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

// jsonPointer returns the path as a JSON pointer (RFC 6901).
func (p path) jsonPointer() string {
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
