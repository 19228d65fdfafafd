package document

import (
	"bytes"
	"encoding/json"
	"math"
	"time"

	"github.com/veltui/veltui/internal/config"
	"github.com/veltui/veltui/internal/sanitize"
)

// Header begins every document.
type Header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// NewHeader returns the header of a kind of document.
func NewHeader(kind string) Header { return Header{apiVersion, kind} }

const apiVersion = "veltui/v1"

// Number is null where JSON cannot express it.
type Number float64

// MarshalJSON never fails.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Moment is written in RFC 3339, in UTC where that has a year of four digits, and as null if it is zero.
type Moment struct{ time.Time }

// The outermost time zones of RFC 3339. A time that could be read from one has
// a year of four digits in one of them.
var (
	farWest = time.FixedZone("", -(23*60+59)*60)
	farEast = time.FixedZone("", (23*60+59)*60)
)

// MarshalJSON never fails: what lies outside all years of RFC 3339 becomes its first or last second.
func (m Moment) MarshalJSON() ([]byte, error) {
	t := m.UTC()
	switch {
	case t.IsZero():
		return []byte("null"), nil
	case t.Year() > 9999:
		if t = t.In(farWest); t.Year() > 9999 {
			t = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
		}
	case t.Year() < 0:
		if t = t.In(farEast); t.Year() < 0 {
			t = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
		}
	}
	return t.MarshalJSON()
}

// Encode writes a document as JSON in which no string, ours or anybody's, holds what
// could steer a terminal. It is the only way to write one.
func Encode(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return sanitize.JSON(b.Bytes()), nil
}

// convertAll returns what a function makes of each element, never nil.
func convertAll[T, U any](in []T, to func(T) U) []U {
	out := make([]U, 0, len(in))
	for _, element := range in {
		out = append(out, to(element))
	}
	return out
}

// Version is what `version -o json` prints. What a build does not know is absent.
type Version struct {
	Header
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"`
	Date      string `json:"date,omitempty"`
	Modified  bool   `json:"modified,omitempty"`
	VeleroAPI string `json:"veleroAPI"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

// Config is what `config -o json` prints: the settings in force.
type Config struct {
	Header
	File     string    `json:"file,omitempty"`
	Exists   bool      `json:"exists"`
	Settings []Setting `json:"settings"`
}

// Setting is one setting. Without a value, the default holds.
type Setting struct {
	Name    string        `json:"name"`
	Value   any           `json:"value,omitempty"`
	Source  config.Source `json:"source"`
	From    string        `json:"from"`
	Default string        `json:"default"`
}
