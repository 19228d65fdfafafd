// Package describe turns one job into titled fields: all that Velero's own describe command prints of the
// object itself, and what it leaves out. The Overview page and `veltui describe` draw the same fields;
// testdata/velero-describe.md names each of them, and where the rest of Velero's output is shown.
//
// The package is pure.
package describe
