// Package restorespec knows a Restore as the flags of `velero restore create` write it: every flag as data,
// text into a Restore and back, and the Restore as a command's words and as YAML. It does no I/O.
//
// Flags and how their values are read are those of Velero 1.18.3
// (pkg/cmd/cli/restore/create.go, pkg/cmd/util/flag).
package restorespec
