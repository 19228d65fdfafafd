package inspect

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/assess/coverage"
	"github.com/veltui/veltui/internal/statedir"
)

// Records keeps what was read of backups, by their uids: names and states. Without a path it keeps nothing.
type Records struct {
	statedir.Dir
	Failed  func(error) // called if the disk cannot be used
	cluster string
}

// RecordSuffix is that of the files' names.
const RecordSuffix = ".coverage"

const mostRecord = 64 << 20 // bytes, also when unpacked

func (r Records) file(uid types.UID) string {
	sum := sha256.Sum256([]byte("3\x00" + r.cluster + "\x00" + string(uid))) // 3 is the form of the records
	return hex.EncodeToString(sum[:16]) + RecordSuffix
}

// load returns nil if there is none that can be used.
func (r Records) load(uid types.UID) *coverage.Record {
	if r.Path == "" || uid == "" {
		return nil
	}
	data, err := r.Read(r.file(uid), mostRecord)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.Failed(fmt.Errorf("reading what is known of a backup: %w", err))
		}
		return nil
	}
	record := &coverage.Record{}
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil || json.NewDecoder(io.LimitReader(unpacked, mostRecord)).Decode(record) != nil {
		return nil // store replaces it
	}
	_ = r.Touch(r.file(uid)) // only says that it was used
	return record
}

func (r Records) store(uid types.UID, record *coverage.Record) {
	if r.Path == "" || uid == "" {
		return
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	err := errors.Join(json.NewEncoder(w).Encode(record), w.Close())
	if err == nil {
		err = r.Write(r.file(uid), packed.Bytes())
	}
	if err != nil {
		r.Failed(fmt.Errorf("keeping what is known of a backup: %w", err))
	}
}
