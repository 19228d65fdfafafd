// Package collector reads a backup tarball once and answers what a restore of it will restore.
//
// Read streams gzip and tar from any io.Reader into an Index: names, kinds, labels and the few facts that
// Velero's rules ask for, never an object's body. It extracts nothing and writes nothing. (*Index).Estimate
// then applies to it what Velero 1.18.3 applies, and may be asked as often as wanted.
//
// The rules are Velero's own (pkg/restore, pkg/archive, pkg/util/collections, pkg/discovery and the built-in
// restore item actions); the yardstick is status.progress.totalItems of a finished Restore.
package collector
