// Package collector reads a backup tarball once and estimates what a restore of it will restore.
//
// Read streams gzip and tar from any io.Reader into an Index: names, kinds, labels and the few facts that Velero's
// rules depend on, never an object's body. It extracts nothing and writes nothing. (*Index).Estimate then applies the
// rules of Velero 1.18.3 to the Index, and may be called any number of times.
//
// The rules are Velero's own (pkg/restore, pkg/archive, pkg/util/collections, pkg/discovery and the built-in restore
// item actions); the reference is status.progress.totalItems of a finished Restore.
package collector
