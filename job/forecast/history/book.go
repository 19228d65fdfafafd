package history

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/veltui/veltui/internal/statedir"
	"github.com/veltui/veltui/job/forecast"
)

// Options say where a book is and whose it is.
type Options struct {
	// Dir is the folder of the books, made when it is needed. Empty keeps the book in memory.
	Dir string
	// Context and Server are the cluster's kubeconfig context and what distinguishes its API server from others.
	Context, Server string
	// Clock is our own clock; default time.Now.
	Clock func() time.Time
	// Failed is called if the file cannot be used.
	Failed func(error)
}

// Book is what was learned about one cluster, for use by several goroutines.
type Book struct {
	path   string // empty if it is not on disk
	clock  func() time.Time
	failed func(error)
	// patience is how long another program's turn is waited for.
	patience time.Duration

	mu sync.Mutex
	// unsaved is what was learned and is not in the file.
	unsaved forecast.Rates
}

// Open opens a book. It touches nothing yet.
func Open(o Options) *Book {
	b := &Book{clock: o.Clock, failed: o.Failed, patience: statedir.Patience}
	if o.Dir != "" {
		name := sha256.Sum256([]byte(o.Context + "\x00" + o.Server))
		b.path = filepath.Join(o.Dir, fmt.Sprintf("%x-v%d.json", name[:12], formatVersion))
	}
	if b.clock == nil {
		b.clock = time.Now
	}
	if b.failed == nil {
		b.failed = func(error) {}
	}
	return b
}

// Known is what the book holds; nothing if it cannot be read.
func (b *Book) Known() forecast.Rates {
	b.mu.Lock()
	defer b.mu.Unlock()
	rates, err := b.read()
	if err != nil {
		b.failed(err)
	}
	return rates.With(b.unsaved)
}

// Learn adds the rates of a restore. It reads the file again first: another program may have learned meanwhile.
func (b *Book) Learn(rates forecast.Rates) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unsaved = b.unsaved.With(rates)
	if b.path == "" {
		return
	}
	if err := b.save(); err != nil {
		b.failed(fmt.Errorf("keeping how fast a restore went: %w", err))
		return
	}
	b.unsaved = forecast.Rates{}
}

// save adds what is not saved to the file.
func (b *Book) save() error {
	unlock, err := b.dir().Lock(filepath.Base(b.path), b.patience)
	if err != nil {
		return err
	}
	defer unlock()
	rates, err := b.read()
	if errors.Is(err, errNotBook) {
		b.failed(err)
	} else if err != nil {
		return err
	}
	data, err := encode(rates.With(b.unsaved))
	if err != nil {
		return err
	}
	return b.dir().Write(filepath.Base(b.path), data)
}

// maxBooks is how many clusters are remembered.
const maxBooks = 100

func (b *Book) dir() statedir.Dir {
	return statedir.Dir{Path: filepath.Dir(b.path), Suffix: ".json", Files: maxBooks, Clock: b.clock}
}

// read reads the file. One that is not there holds nothing; one that is no book gives errNotBook.
func (b *Book) read() (forecast.Rates, error) {
	if b.path == "" {
		return forecast.Rates{}, nil
	}
	data, err := b.dir().Read(filepath.Base(b.path), maxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return forecast.Rates{}, nil
	case errors.Is(err, statedir.ErrTooLarge):
		return forecast.Rates{}, fmt.Errorf("%w: %w", errNotBook, err)
	case err != nil:
		return forecast.Rates{}, fmt.Errorf("reading how fast restores went: %w", err)
	}
	rates, err := decode(data)
	if err != nil {
		return forecast.Rates{}, fmt.Errorf("%w: %s: %w", errNotBook, b.path, err)
	}
	return rates, nil
}

const (
	formatVersion = 1
	// maxResources bounds a book, and maxBytes what is read of a file: names of resources have at most 253 bytes.
	maxResources = 500
	maxBytes     = 256 << 10
)

// errNotBook is of a file that is no book that can be used.
var errNotBook = errors.New("what is known of earlier restores cannot be used and is begun anew")

// resourceName is the form of "configmaps" and "widgets.lab.example.com".
var resourceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

type document struct {
	Version int `json:"version"`
	forecast.Rates
}

// encode writes a book. Of too many resources those seen least are left out.
func encode(r forecast.Rates) ([]byte, error) {
	d := document{formatVersion, forecast.Rates{Resources: map[string]forecast.Cost{}}}
	if r.Throttle.Valid() {
		d.Throttle = r.Throttle
	}
	names := slices.SortedFunc(maps.Keys(r.Resources), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Resources[b].Seen, r.Resources[a].Seen), cmp.Compare(a, b))
	})
	for _, name := range names {
		if c := r.Resources[name]; c.Valid() && resourceName.MatchString(name) && len(d.Resources) < maxResources {
			d.Resources[name] = c
		}
	}
	data, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	return append(data, '\n'), nil
}

// decode reads a book. It is all or nothing: a file with one number that cannot be meant was not written by us.
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
	if d.Throttle != (forecast.Cost{}) && !d.Throttle.Valid() {
		return forecast.Rates{}, errors.New("the throttle's cost cannot be meant")
	}
	for name, c := range d.Resources {
		if !c.Valid() || !resourceName.MatchString(name) {
			return forecast.Rates{}, fmt.Errorf("the cost of %.80q cannot be meant", name)
		}
	}
	return d.Rates, nil
}
