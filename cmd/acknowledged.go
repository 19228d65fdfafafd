package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/veltui/veltui/internal/statedir"
)

// acknowledged remembers on this machine which findings a person has seen.
type acknowledged struct {
	dir statedir.Dir
	err error // there is no such folder
	mu  sync.Mutex
}

// acknowledgments are when findings were acknowledged, by context and key.
type acknowledgments map[string]map[string]time.Time

const (
	acknowledgedFile = "findings.json"
	mostAcknowledged = 1 << 20 // bytes that are read
)

func (c *cli) acknowledged() *acknowledged {
	dir, err := c.stateDir()
	return &acknowledged{dir: statedir.Dir{Path: filepath.Join(dir, "acknowledged"), Suffix: ".json", Files: 1, Clock: c.clock}, err: err}
}

func (a *acknowledged) read() (all acknowledgments, err error) {
	all = acknowledgments{}
	if a.err != nil {
		return all, a.err
	}
	text, err := a.dir.Read(acknowledgedFile, mostAcknowledged)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return all, nil
	case err == nil:
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return acknowledgments{}, fmt.Errorf("reading what was acknowledged: %w", err)
	}
	return all, nil
}

// Keys returns the keys of the findings of a context that were acknowledged.
func (a *acknowledged) Keys(context string) (map[string]bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all, err := a.read()
	keys := map[string]bool{}
	for key := range all[context] {
		keys[key] = true
	}
	return keys, err
}

// Set adds and removes keys of a context.
func (a *acknowledged) Set(context string, keys map[string]bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	all, err := a.read()
	if err != nil {
		return err
	}
	if all[context] == nil {
		all[context] = map[string]time.Time{}
	}
	for key, on := range keys {
		if delete(all[context], key); on {
			all[context][key] = a.dir.Clock().UTC().Truncate(time.Second)
		}
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return a.dir.Write(acknowledgedFile, text)
}
