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

// CoverageRecords keeps what was read of backups, by their uids: names and states. Without a path it keeps nothing.
type CoverageRecords struct {
	statedir.Dir
	OnError func(error) // called if the disk cannot be used
	cluster statedir.ClusterID
}

// CoverageRecordSuffix is the suffix of the files' names.
const CoverageRecordSuffix = ".coverage"

const (
	maxCoverageRecordBytes = 64 << 20 // bytes, also after unpacking
	coverageRecordFormat   = 4
)

// forCluster returns the records of a cluster. If the cluster does not say which one it is, nothing is kept.
func (r CoverageRecords) forCluster(ctx context.Context, conn Connection) CoverageRecords {
	if r.Path == "" {
		return r
	}
	id, err := conn.Session.Identify(ctx)
	if err != nil {
		r.OnError(fmt.Errorf("identifying the cluster: %w", err))
		r.Path = ""
	}
	r.cluster = statedir.ClusterID{Address: session.CacheKey(conn.Config), UID: string(id.UID), Identified: true}
	return r
}

func (r CoverageRecords) fileHeader(uid types.UID) statedir.Header {
	return statedir.Header{Kind: "coverage", Format: coverageRecordFormat, Cluster: r.cluster, Backup: string(uid)}
}

func (r CoverageRecords) fileName(uid types.UID) string {
	sum := sha256.Sum256([]byte(r.cluster.Address + "\x00" + string(uid)))
	return hex.EncodeToString(sum[:16]) + CoverageRecordSuffix
}

// loadRecord returns the record of a backup, nil if there is no usable record.
func (r CoverageRecords) loadRecord(uid types.UID) *coverage.Record {
	if r.Path == "" || uid == "" {
		return nil
	}
	_, data, err := r.ReadSealed(r.fileName(uid), maxCoverageRecordBytes, r.fileHeader(uid))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.OnError(fmt.Errorf("reading what is known of a backup: %w", err))
		}
		return nil
	}
	record := &coverage.Record{}
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(unpacked, maxCoverageRecordBytes)).Decode(record)
	}
	if err != nil {
		r.OnError(fmt.Errorf("reading what is known of a backup: %w", err)) // the next write replaces the file
		return nil
	}
	_ = r.Touch(r.fileName(uid)) // Touch only records that the file was used
	return record
}

func (r CoverageRecords) saveRecord(uid types.UID, record *coverage.Record) {
	if r.Path == "" || uid == "" {
		return
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	err := errors.Join(json.NewEncoder(w).Encode(record), w.Close())
	if err == nil {
		err = r.WriteSealed(r.fileName(uid), r.fileHeader(uid), packed.Bytes())
	}
	if err != nil {
		r.OnError(fmt.Errorf("keeping what is known of a backup: %w", err))
	}
}
