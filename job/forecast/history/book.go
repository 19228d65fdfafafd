package history

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/veltui/veltui/internal/statedir"
	"github.com/veltui/veltui/job/forecast"
)

// Options say where a book is and whose it is.
type Options struct {
	// Dir is the folder of the books, made when it is needed. Empty keeps the book in memory.
	Dir string
	// Context and Server are the cluster's kubeconfig context and what distinguishes its API
	// server from others.
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
	b := &Book{clock: o.Clock, failed: o.Failed, patience: patience}
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

// Learn adds the rates of a restore. It reads the file again first: another program may have
// learned meanwhile.
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
	if err := os.MkdirAll(filepath.Dir(b.path), 0o700); err != nil {
		return err
	}
	unlock, err := b.lock()
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
	// patience is how long another program's turn is waited for, and abandoned
	// how old a lock is that a killed program left behind: a turn takes
	// milliseconds.
	patience  = 2 * time.Second
	abandoned = 30 * time.Second
	retry     = 10 * time.Millisecond
)

// lock keeps other programs from changing the book until unlock is called. A
// file is the lock, which works on every system and on network folders.
func (b *Book) lock() (unlock func(), err error) {
	path := b.path + ".lock"
	for tries := 0; ; tries++ {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			_ = f.Close()
			return func() { _ = os.Remove(path) }, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if info, err := os.Lstat(path); err == nil && b.clock().Sub(info.ModTime()) > abandoned {
			_ = os.Remove(path)
			continue
		}
		if tries >= int(b.patience/retry) {
			return nil, errors.New("another program is busy with it")
		}
		time.Sleep(retry)
	}
}
