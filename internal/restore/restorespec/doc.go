// Package restorespec converts a Restore to and from the flags of `velero restore create`: it has every flag as data,
// reads text into a Restore and back, and writes the Restore as a command's words and as YAML. It does no I/O.
//
// Flags and the reading of their values are those of Velero 1.18.3 (pkg/cmd/cli/restore/create.go,
// pkg/cmd/util/flag).
package restorespec
