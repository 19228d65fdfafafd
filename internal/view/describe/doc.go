// Package describe turns a resource into titled fields: for a job, all that Velero's own describe command prints of
// the object itself, and more. The Overview page and `veltui describe` draw the same fields;
// testdata/velero-describe.md lists all of them, and where veltui shows the rest of Velero's output.
//
// The package is pure.
package describe
