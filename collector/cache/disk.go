package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/statedir"
)

const suffix = ".index"

// plainUID is what Kubernetes makes of uids, and safe as a file's name.
var plainUID = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z-]{0,63}$`)

// disk is the part of the cache that outlives the program.
type disk struct {
	statedir.Dir
	cluster string
}

// fingerprint is a file name's part for any words.
func fingerprint(words string) string {
	sum := sha256.Sum256([]byte(words))
	return hex.EncodeToString(sum[:8])
}

// file is the name of a backup's index.
func (d disk) file(uid string) string { return d.cluster + "-" + uid + suffix }

func (d disk) keeps(uid string) bool { return d.Path != "" && plainUID.MatchString(uid) }

// load reads an index; nil without an error means that there is none that can
// be used.
func (d disk) load(uid string) (*collector.Index, error) {
	if !d.keeps(uid) {
		return nil, nil
	}
	data, err := d.Read(d.file(uid), d.Bytes)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, statedir.ErrTooLarge):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading a cached index: %w", err)
	}
	x := &collector.Index{}
	if err := x.UnmarshalBinary(data); err != nil {
		return nil, nil // store replaces it
	}
	_ = d.Touch(d.file(uid)) // only says that it was used
	return x, nil
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
	if int64(len(data)) > d.Bytes {
		return nil
	}
	if err := d.Write(d.file(uid), data); err != nil {
		return fmt.Errorf("caching an index: %w", err)
	}
	return nil
}
