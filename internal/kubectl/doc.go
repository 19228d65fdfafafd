// Package kubectl builds commands that a person copies into a POSIX shell: one line each, whatever the names contain,
// for the cluster that veltui shows.
package kubectl
