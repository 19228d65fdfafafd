package cmd

import (
	"bytes"
	"encoding/json"
	"math"
	"time"

	"github.com/veltui/veltui/internal/sanitize"
)

// The documents for machines are made of strings, booleans, whole numbers, and
// the two types below, all of which can be written whatever they hold.
// TestDocumentsCanAlwaysBeWritten keeps it so.

// number is written as null where JSON has no word for it.
type number float64

// MarshalJSON never fails.
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// moment is written in RFC 3339, in UTC where that has a year of four digits.
type moment struct{ time.Time }

// The outermost time zones of RFC 3339. A time that could be read from one has
// a year of four digits in one of them.
var (
	farWest = time.FixedZone("", -(23*60+59)*60)
	farEast = time.FixedZone("", (23*60+59)*60)
)

// MarshalJSON never fails: what lies outside all years of RFC 3339 becomes its
// first or last second.
func (m moment) MarshalJSON() ([]byte, error) {
	t := m.UTC()
	switch {
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

// stamp is a time for a document, nil for none.
func stamp(t time.Time) *moment {
	if t.IsZero() {
		return nil
	}
	return &moment{t}
}

// documentJSON is the only way to write a document: valid JSON in which no
// string, ours or anybody's, holds what could steer a terminal.
func documentJSON(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return sanitize.JSON(b.Bytes()), nil
}
