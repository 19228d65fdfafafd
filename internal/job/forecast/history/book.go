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

	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/internal/statedir"
)

// Options say where a book is and whose it is.
type Options struct {
	// Dir is the folder of the books, made when it is needed. Empty keeps the book in memory.
	Dir string
	// Context and Server are the cluster's kubeconfig context and what distinguishes its API server from others.
	Context, Server string
	// UID returns the uid of the cluster's namespace kube-system as far as it is known by now. It asks nobody: asked is
	// false before the cluster was. nil for a cluster that has none.
	UID func() (uid string, asked bool)
	// Clock is our own clock; default time.Now.
	Clock func() time.Time
	// Failed is called if the file cannot be used.
	Failed func(error)
}

// Book is what was learned about one cluster, for use by several goroutines.
type Book struct {
	path   string // empty if it is not on disk
	server string
	uid    func() (string, bool)
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
	b := &Book{
		server: o.Context + "\x00" + o.Server, uid: o.UID,
		clock: o.Clock, failed: o.Failed, patience: statedir.Patience,
	}
	if o.Dir != "" {
		name := sha256.Sum256([]byte(b.server))
		b.path = filepath.Join(o.Dir, fmt.Sprintf("%x%s", name[:12], suffix))
	}
	if b.uid == nil {
		b.uid = func() (string, bool) { return "", true }
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
	rates, _, err := b.read()
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
	rates, cluster, err := b.read()
	if errors.Is(err, errNotBook) {
		b.failed(err)
	} else if err != nil {
		return err
	}
	data, err := encode(rates.With(b.unsaved))
	if err != nil {
		return err
	}
	return b.dir().WriteSealed(filepath.Base(b.path), header(cluster), data)
}

// maxBooks is how many clusters are remembered.
const maxBooks = 100

func (b *Book) dir() statedir.Dir {
	return statedir.Dir{Path: filepath.Dir(b.path), Suffix: suffix, Files: maxBooks, Clock: b.clock}
}

func header(of statedir.Cluster) statedir.Header {
	return statedir.Header{Kind: "rates", Format: formatVersion, Cluster: of}
}

// read reads the file, and returns which cluster that is of as far as it is known. One that is not there holds nothing;
// one that is no book of this cluster gives errNotBook.
func (b *Book) read() (forecast.Rates, statedir.Cluster, error) {
	uid, asked := b.uid()
	cluster := statedir.Cluster{Address: b.server, UID: uid, Identified: asked}
	if b.path == "" {
		return forecast.Rates{}, cluster, nil
	}
	found, data, err := b.dir().ReadSealed(filepath.Base(b.path), maxBytes, header(cluster))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return forecast.Rates{}, cluster, nil
	case errors.Is(err, statedir.ErrTooLarge), errors.Is(err, statedir.ErrUnusable):
		return forecast.Rates{}, cluster, fmt.Errorf("%w: %w", errNotBook, err)
	case err != nil:
		return forecast.Rates{}, cluster, fmt.Errorf("reading how fast restores went: %w", err)
	}
	rates, err := decode(data)
	if err != nil {
		return forecast.Rates{}, cluster, fmt.Errorf("%w: %s: %w", errNotBook, b.path, err)
	}
	return rates, found.Cluster, nil
}

const (
	suffix        = ".rates"
	formatVersion = 2
	// maxResources bounds a book, and maxBytes what is read of a file: names of resources have at most 253 bytes.
	maxResources = 500
	maxBytes     = 256 << 10
)

// errNotBook is of a file that is no book that can be used.
var errNotBook = errors.New("what is known of earlier restores cannot be used and is begun anew")

// resourceName is the form of "configmaps" and "widgets.lab.example.com".
var resourceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

// encode writes a book. Of too many resources those seen least are left out.
func encode(r forecast.Rates) ([]byte, error) {
	d := forecast.Rates{Resources: map[string]forecast.Cost{}}
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
	var d forecast.Rates
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		return forecast.Rates{}, err
	}
	if decoder.More() {
		return forecast.Rates{}, errors.New("it continues after its end")
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
	return d, nil
}
