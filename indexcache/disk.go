package indexcache

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/veltui/veltui/collector"
)

const (
	suffix = ".index"
	// leftover is how old a half-written file must be before it is taken for
	// one that a killed program left behind.
	leftover = time.Hour
)

// plainUID is what Kubernetes makes of uids, and safe as a file's name.
var plainUID = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z-]{0,63}$`)

// disk is the part of the cache that outlives the program.
type disk struct {
	dir   string
	files int
	bytes int64
	clock func() time.Time
}

func (d disk) keeps(uid string) bool { return d.dir != "" && plainUID.MatchString(uid) }

// load reads an index; nil without an error means that there is none that can
// be used.
func (d disk) load(uid string) (*collector.Index, error) {
	if !d.keeps(uid) {
		return nil, nil
	}
	path := filepath.Join(d.dir, uid+suffix)
	data, err := readRegular(path, d.bytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading a cached index: %w", err)
	}
	x := &collector.Index{}
	if err := x.UnmarshalBinary(data); err != nil {
		return nil, nil // store replaces it
	}
	now := d.clock()
	_ = os.Chtimes(path, now, now) // only says that it was used
	return x, nil
}

// readRegular reads a file that is one, and not larger than most.
func readRegular(path string, most int64) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if info.Size() > most {
		return nil, nil // no index: the decoder says so
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, most))
}

// store writes an index, whole or not at all, and makes room.
func (d disk) store(uid string, x *collector.Index) error {
	if !d.keeps(uid) {
		return nil
	}
	data, err := x.MarshalBinary()
	if err != nil {
		return fmt.Errorf("encoding an index: %w", err)
	}
	if int64(len(data)) > d.bytes {
		return nil
	}
	if err := d.write(uid, data); err != nil {
		return fmt.Errorf("caching an index: %w", err)
	}
	if err := d.prune(uid + suffix); err != nil {
		return fmt.Errorf("making room in the index cache: %w", err)
	}
	return nil
}

func (d disk) write(uid string, data []byte) (err error) {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(d.dir, uid+".*.tmp") // made with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	now := d.clock()
	if err := os.Chtimes(f.Name(), now, now); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(d.dir, uid+suffix))
}

// prune removes what was not used for longest until the rest is within the
// bounds, and what killed programs left. keep stays.
func (d disk) prune(keep string) error {
	entries, err := os.ReadDir(d.dir)
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
		case strings.HasSuffix(e.Name(), suffix):
			all = append(all, info)
		case strings.HasSuffix(e.Name(), ".tmp") && d.clock().Sub(info.ModTime()) > leftover:
			_ = os.Remove(filepath.Join(d.dir, e.Name()))
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var files int
	var bytes int64
	for _, info := range all {
		if files++; files <= d.files {
			bytes += info.Size()
		}
		if info.Name() == keep || files <= d.files && bytes <= d.bytes {
			continue
		}
		if err := os.Remove(filepath.Join(d.dir, info.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
