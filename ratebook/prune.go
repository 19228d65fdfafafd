package ratebook

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// maxBooks is how many clusters are remembered; what was not written for
	// longest goes first.
	maxBooks = 100
	// leftover is how old a half-written file must be before it is taken for
	// one that a killed program left behind.
	leftover = time.Hour
)

// prune makes room in the folder. keep stays.
func prune(dir, keep string, now time.Time) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var books []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // gone meanwhile, or not ours
		}
		switch filepath.Ext(e.Name()) {
		case ".json":
			if e.Name() != keep {
				books = append(books, info)
			}
		case ".tmp":
			if strings.Contains(e.Name(), ".json.") && now.Sub(info.ModTime()) > leftover {
				_ = os.Remove(filepath.Join(dir, e.Name()))
			}
		}
	}
	slices.SortFunc(books, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, old := range books[min(len(books), maxBooks-1):] {
		if err := os.Remove(filepath.Join(dir, old.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
