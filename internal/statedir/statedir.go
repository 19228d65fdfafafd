package statedir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/internal/safefile"
)

// Leftover is the age of a half-written file after which its program was killed.
const Leftover = time.Hour

type Dir struct {
	Path, Suffix string // of its files' names
	// Files and Bytes bound what is kept, the newest first. Zero Bytes is no bound.
	Files int
	Bytes int64
	Clock func() time.Time
}

var ErrTooLarge = errors.New("it is too large")

// Read reads a file that nobody but the user can have written. The error is fs.ErrNotExist, ErrTooLarge beyond
// most bytes, or a [safefile.Error] that says what to do about a file or folder that is not private.
func (d Dir) Read(name string, most int64) ([]byte, error) {
	f, size, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if size > most {
		return nil, fmt.Errorf("%s: %w", f.Name(), ErrTooLarge)
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// open opens a file for reading that nobody but the user can have written.
func (d Dir) open(name string) (f *os.File, size int64, err error) {
	if f, err = safefile.OpenPrivate(filepath.Join(d.Path, name), os.O_RDONLY); err != nil {
		return nil, 0, discardable(err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// discardable advises to move away what is not private. To take it over, as for what must be kept, would make what
// others may have written the user's own.
func discardable(err error) error {
	if unsafe := (*safefile.Error)(nil); errors.As(err, &unsafe) {
		unsafe.Mend = safefile.MoveAway(unsafe.Path)
	}
	return err
}

// Make makes the folder (0700) if it is missing, and checks that only the user can write to it.
func (d Dir) Make() error { return discardable(safefile.MakeDir(d.Path)) }

// Write replaces a file (0600), touches it and makes room. It makes the folder as Make does.
func (d Dir) Write(name string, data []byte) error { return d.write(name, data) }

// write is Write of parts that follow one another.
func (d Dir) write(name string, parts ...[]byte) error {
	if err := d.Make(); err != nil {
		return err
	}
	if err := d.replace(name, parts); err != nil {
		return err
	}
	if err := d.prune(name); err != nil {
		return fmt.Errorf("making room: %w", err)
	}
	return nil
}

func (d Dir) replace(name string, parts [][]byte) (err error) {
	f, err := os.CreateTemp(d.Path, name+".*.tmp") // made with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	for _, part := range parts {
		if err == nil {
			_, err = f.Write(part)
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	now := d.Clock()
	if err := os.Chtimes(f.Name(), now, now); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(d.Path, name))
}

// Touch notes that a file was used.
func (d Dir) Touch(name string) error {
	now := d.Clock()
	return os.Chtimes(filepath.Join(d.Path, name), now, now)
}

// prune removes the oldest files beyond the bounds, and what killed programs left. keep stays.
func (d Dir) prune(keep string) error {
	entries, err := os.ReadDir(d.Path)
	if err != nil {
		return err
	}
	var all []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // gone meanwhile, or not ours
		}
		switch {
		case strings.HasSuffix(e.Name(), d.Suffix):
			all = append(all, info)
		case strings.HasSuffix(e.Name(), ".tmp") && d.Clock().Sub(info.ModTime()) > Leftover:
			_ = os.Remove(filepath.Join(d.Path, e.Name()))
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var files int
	var bytes int64
	for _, info := range all {
		if files++; files <= d.Files {
			bytes += info.Size()
		}
		if info.Name() == keep || files <= d.Files && (d.Bytes == 0 || bytes <= d.Bytes) {
			continue
		}
		if err := os.Remove(filepath.Join(d.Path, info.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
