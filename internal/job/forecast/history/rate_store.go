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

// Options say where a book is, and which cluster it is about.
type Options struct {
	// Dir is the directory of the books, created when needed. If it is empty, the book is kept in memory.
	Dir string
	// Context and Server are the cluster's kubeconfig context and what distinguishes its API server from others.
	Context, Server string
	// ClusterUID returns the uid of the cluster's namespace kube-system as far as it is known by now. It makes no request:
	// asked is false before the cluster has been asked. ClusterUID is nil for a cluster without one.
	ClusterUID func() (uid string, asked bool)
	// Clock is our own clock; default time.Now.
	Clock func() time.Time
	// OnError is called if the file cannot be used.
	OnError func(error)
}

// RateStore holds what was learned about one cluster, for use by several goroutines.
type RateStore struct {
	path        string // empty if it is not on disk
	server      string
	uid         func() (string, bool)
	clock       func() time.Time
	reportError func(error)
	// lockTimeout is how long to wait for another program's lock.
	lockTimeout time.Duration

	mu sync.Mutex
	// unsavedRates is what was learned and is not in the file yet.
	unsavedRates forecast.Rates
}

// Open opens a book. It does not touch the file yet.
func Open(o Options) *RateStore {
	b := &RateStore{
		server: o.Context + "\x00" + o.Server, uid: o.ClusterUID,
		clock: o.Clock, reportError: o.OnError, lockTimeout: statedir.LockTimeout,
	}
	if o.Dir != "" {
		name := sha256.Sum256([]byte(b.server))
		b.path = filepath.Join(o.Dir, fmt.Sprintf("%x%s", name[:12], fileSuffix))
	}
	if b.uid == nil {
		b.uid = func() (string, bool) { return "", true }
	}
	if b.clock == nil {
		b.clock = time.Now
	}
	if b.reportError == nil {
		b.reportError = func(error) {}
	}
	return b
}

// LoadRates returns the rates in the book; none if it cannot be read.
func (b *RateStore) LoadRates() forecast.Rates {
	b.mu.Lock()
	defer b.mu.Unlock()
	rates, _, err := b.loadFile()
	if err != nil {
		b.reportError(err)
	}
	return rates.MergeNewer(b.unsavedRates)
}

// AddRates adds the rates of a restore. It first reads the file again: another program may have added rates
// meanwhile.
func (b *RateStore) AddRates(rates forecast.Rates) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unsavedRates = b.unsavedRates.MergeNewer(rates)
	if b.path == "" {
		return
	}
	if err := b.saveRates(); err != nil {
		b.reportError(fmt.Errorf("keeping how fast a restore went: %w", err))
		return
	}
	b.unsavedRates = forecast.Rates{}
}

// saveRates adds the unsaved rates to the file.
func (b *RateStore) saveRates() error {
	unlock, err := b.stateDir().Lock(filepath.Base(b.path), b.lockTimeout)
	if err != nil {
		return err
	}
	defer unlock()
	rates, cluster, err := b.loadFile()
	if errors.Is(err, errUnusableFile) {
		b.reportError(err)
	} else if err != nil {
		return err
	}
	data, err := encodeRates(rates.MergeNewer(b.unsavedRates))
	if err != nil {
		return err
	}
	return b.stateDir().WriteSealed(filepath.Base(b.path), newHeader(cluster), data)
}

// maxFiles is how many clusters are remembered.
const maxFiles = 100

func (b *RateStore) stateDir() statedir.Dir {
	return statedir.Dir{Path: filepath.Dir(b.path), Suffix: fileSuffix, MaxFiles: maxFiles, Clock: b.clock}
}

func newHeader(of statedir.ClusterID) statedir.Header {
	return statedir.Header{Kind: "rates", Format: formatVersion, Cluster: of}
}

// loadFile reads the file, and returns the cluster that the file is about, as far as it is known. A missing file
// holds nothing; a file that is not a book of this cluster gives errUnusableFile.
func (b *RateStore) loadFile() (forecast.Rates, statedir.ClusterID, error) {
	uid, asked := b.uid()
	cluster := statedir.ClusterID{Address: b.server, UID: uid, Identified: asked}
	if b.path == "" {
		return forecast.Rates{}, cluster, nil
	}
	found, data, err := b.stateDir().ReadSealed(filepath.Base(b.path), maxFileBytes, newHeader(cluster))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return forecast.Rates{}, cluster, nil
	case errors.Is(err, statedir.ErrTooLarge), errors.Is(err, statedir.ErrUnusable):
		return forecast.Rates{}, cluster, fmt.Errorf("%w: %w", errUnusableFile, err)
	case err != nil:
		return forecast.Rates{}, cluster, fmt.Errorf("reading how fast restores went: %w", err)
	}
	rates, err := decodeRates(data)
	if err != nil {
		return forecast.Rates{}, cluster, fmt.Errorf("%w: %s: %w", errUnusableFile, b.path, err)
	}
	return rates, found.Cluster, nil
}

const (
	fileSuffix    = ".rates"
	formatVersion = 2
	// maxResources limits a book, and maxFileBytes how much is read of a file: names of resources have at most 253 bytes.
	maxResources = 500
	maxFileBytes = 256 << 10
)

// errUnusableFile is the error for a file that is not a usable book.
var errUnusableFile = errors.New("what is known of earlier restores cannot be used and is begun anew")

// resourceNamePattern matches names such as "configmaps" and "widgets.lab.example.com".
var resourceNamePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

// encodeRates writes a book. If there are too many resources, it leaves out those with the least evidence.
func encodeRates(r forecast.Rates) ([]byte, error) {
	d := forecast.Rates{Resources: map[string]forecast.Cost{}}
	if r.Throttle.IsValid() {
		d.Throttle = r.Throttle
	}
	names := slices.SortedFunc(maps.Keys(r.Resources), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Resources[b].SeenSeconds, r.Resources[a].SeenSeconds), cmp.Compare(a, b))
	})
	for _, name := range names {
		if c := r.Resources[name]; c.IsValid() && resourceNamePattern.MatchString(name) && len(d.Resources) < maxResources {
			d.Resources[name] = c
		}
	}
	data, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	return append(data, '\n'), nil
}

// decodeRates reads a book. It is all or nothing: a file with one implausible number was not written by us.
func decodeRates(data []byte) (forecast.Rates, error) {
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
	if d.Throttle != (forecast.Cost{}) && !d.Throttle.IsValid() {
		return forecast.Rates{}, errors.New("the throttle's cost cannot be meant")
	}
	for name, c := range d.Resources {
		if !c.IsValid() || !resourceNamePattern.MatchString(name) {
			return forecast.Rates{}, fmt.Errorf("the cost of %.80q cannot be meant", name)
		}
	}
	return d, nil
}
