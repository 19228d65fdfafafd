package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/veltui/veltui/job/forecast"
)

const (
	formatVersion = 1
	// maxResources bounds a book, and maxBytes what is read of a file: names of
	// resources have at most 253 bytes.
	maxResources = 500
	maxBytes     = 256 << 10
)

// errNotBook is of a file that is no book that can be used.
var errNotBook = errors.New("what is known of earlier restores cannot be used and is begun anew")

// resourceName is the form of "configmaps" and "widgets.lab.example.com".
var resourceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

type document struct {
	Version   int             `json:"version"`
	Throttle  *cost           `json:"throttle,omitempty"`
	Resources map[string]cost `json:"resources"`
}

// cost is how long an item takes, and over how many seconds that was seen.
type cost struct {
	Seconds float64 `json:"secondsPerItem"`
	Seen    float64 `json:"seenSeconds"`
}

// encode writes a book. Of too many resources those seen least are left out.
func encode(r forecast.Rates) ([]byte, error) {
	d := document{Version: formatVersion, Resources: map[string]cost{}}
	if r.Throttle.Valid() {
		d.Throttle = &cost{r.Throttle.Seconds, r.Throttle.Seen}
	}
	names := slices.SortedFunc(maps.Keys(r.Resources), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Resources[b].Seen, r.Resources[a].Seen), cmp.Compare(a, b))
	})
	for _, name := range names {
		if c := r.Resources[name]; c.Valid() && resourceName.MatchString(name) && len(d.Resources) < maxResources {
			d.Resources[name] = cost{c.Seconds, c.Seen}
		}
	}
	data, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	return append(data, '\n'), nil
}

// decode reads a book. It is all or nothing: a file with one number that cannot
// be meant was not written by us.
func decode(data []byte) (forecast.Rates, error) {
	var d document
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		return forecast.Rates{}, err
	}
	if decoder.More() {
		return forecast.Rates{}, errors.New("it continues after its end")
	}
	if d.Version != formatVersion {
		return forecast.Rates{}, fmt.Errorf("its version is %d, not %d", d.Version, formatVersion)
	}
	if len(d.Resources) > maxResources {
		return forecast.Rates{}, fmt.Errorf("it has %d resources", len(d.Resources))
	}
	r := forecast.Rates{Resources: make(map[string]forecast.Cost, len(d.Resources))}
	if d.Throttle != nil {
		if r.Throttle = forecast.Cost(*d.Throttle); !r.Throttle.Valid() {
			return forecast.Rates{}, errors.New("the throttle's cost cannot be meant")
		}
	}
	for name, c := range d.Resources {
		known := forecast.Cost(c)
		if !known.Valid() || !resourceName.MatchString(name) {
			return forecast.Rates{}, fmt.Errorf("the cost of %.80q cannot be meant", name)
		}
		r.Resources[name] = known
	}
	return r, nil
}
