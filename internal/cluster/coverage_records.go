package cluster

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess/coverage"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/internal/statedir"
)

// Records keeps what was read of backups, by their uids: names and states. Without a path it keeps nothing.
type Records struct {
	statedir.Dir
	Failed  func(error) // called if the disk cannot be used
	cluster statedir.Cluster
}

// RecordSuffix is that of the files' names.
const RecordSuffix = ".coverage"

const (
	mostRecord   = 64 << 20 // bytes, also when unpacked
	recordFormat = 4
)

// of returns the records of a cluster. Where it does not say which one it is, nothing is kept.
func (r Records) of(ctx context.Context, conn Connection) Records {
	if r.Path == "" {
		return r
	}
	id, err := conn.Session.Identify(ctx)
	if err != nil {
		r.Failed(fmt.Errorf("identifying the cluster: %w", err))
		r.Path = ""
	}
	r.cluster = statedir.Cluster{Address: session.CacheKey(conn.Config), UID: string(id.UID), Identified: true}
	return r
}

func (r Records) header(uid types.UID) statedir.Header {
	return statedir.Header{Kind: "coverage", Format: recordFormat, Cluster: r.cluster, Backup: string(uid)}
}

func (r Records) file(uid types.UID) string {
	sum := sha256.Sum256([]byte(r.cluster.Address + "\x00" + string(uid)))
	return hex.EncodeToString(sum[:16]) + RecordSuffix
}

// load returns nil if there is none that can be used.
func (r Records) load(uid types.UID) *coverage.Record {
	if r.Path == "" || uid == "" {
		return nil
	}
	_, data, err := r.ReadSealed(r.file(uid), mostRecord, r.header(uid))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.Failed(fmt.Errorf("reading what is known of a backup: %w", err))
		}
		return nil
	}
	record := &coverage.Record{}
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(unpacked, mostRecord)).Decode(record)
	}
	if err != nil {
		r.Failed(fmt.Errorf("reading what is known of a backup: %w", err)) // store replaces it
		return nil
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
		err = r.WriteSealed(r.file(uid), r.header(uid), packed.Bytes())
	}
	if err != nil {
		r.Failed(fmt.Errorf("keeping what is known of a backup: %w", err))
	}
}
