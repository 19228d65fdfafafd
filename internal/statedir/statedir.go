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

// LeftoverAge is the age at which a half-written file counts as left by a killed program.
const LeftoverAge = time.Hour

type Dir struct {
	Path, Suffix string // of the files' names
	// MaxFiles and Bytes limit the files kept; the oldest are removed first. Zero Bytes means no limit.
	MaxFiles int
	MaxBytes int64
	Clock    func() time.Time
}

var ErrTooLarge = errors.New("it is too large")

// Read reads a file that nobody but the user can have written. The error is fs.ErrNotExist, ErrTooLarge beyond
// most bytes, or a [safefile.Error] that says what to do about a file or folder that is not private.
func (d Dir) Read(name string, most int64) ([]byte, error) {
	f, size, err := d.openFile(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if size > most {
		return nil, fmt.Errorf("%s: %w", f.Name(), ErrTooLarge)
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// openFile opens a file that nobody but the user can have written for reading.
func (d Dir) openFile(name string) (f *os.File, size int64, err error) {
	if f, err = safefile.OpenPrivate(filepath.Join(d.Path, name), os.O_RDONLY); err != nil {
		return nil, 0, adviseMoveAway(err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// adviseMoveAway sets the fix of an error to moving away the file or folder that is not private. Taking it over, as
// for files that must be kept, would make the user own what others may have written.
func adviseMoveAway(err error) error {
	if unsafe := (*safefile.Error)(nil); errors.As(err, &unsafe) {
		unsafe.FixCommand = safefile.MoveAwayCommand(unsafe.Path)
	}
	return err
}

// MakeDir creates the folder (0700) if it is missing, and checks that only the user can write to it.
func (d Dir) MakeDir() error { return adviseMoveAway(safefile.MakeDir(d.Path)) }

// Write replaces a file (0600), touches it and removes the oldest files beyond the limits. It creates the folder like
// MakeDir.
func (d Dir) Write(name string, data []byte) error { return d.writeParts(name, data) }

// writeParts is Write for content in several consecutive parts.
func (d Dir) writeParts(name string, parts ...[]byte) error {
	if err := d.MakeDir(); err != nil {
		return err
	}
	if err := d.replaceFile(name, parts); err != nil {
		return err
	}
	if err := d.pruneFiles(name); err != nil {
		return fmt.Errorf("making room: %w", err)
	}
	return nil
}

func (d Dir) replaceFile(name string, parts [][]byte) (err error) {
	f, err := os.CreateTemp(d.Path, name+".*.tmp") // created with mode 0600
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

// Touch records that a file was used.
func (d Dir) Touch(name string) error {
	now := d.Clock()
	return os.Chtimes(filepath.Join(d.Path, name), now, now)
}

// pruneFiles removes the oldest files beyond the limits, except keep, and files that killed programs left.
func (d Dir) pruneFiles(keep string) error {
	entries, err := os.ReadDir(d.Path)
	if err != nil {
		return err
	}
	var all []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // deleted in the meantime, or not ours
		}
		switch {
		case strings.HasSuffix(e.Name(), d.Suffix):
			all = append(all, info)
		case strings.HasSuffix(e.Name(), ".tmp") && d.Clock().Sub(info.ModTime()) > LeftoverAge:
			_ = os.Remove(filepath.Join(d.Path, e.Name()))
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var files int
	var bytes int64
	for _, info := range all {
		if files++; files <= d.MaxFiles {
			bytes += info.Size()
		}
		if info.Name() == keep || files <= d.MaxFiles && (d.MaxBytes == 0 || bytes <= d.MaxBytes) {
			continue
		}
		if err := os.Remove(filepath.Join(d.Path, info.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
