// Package kubectl makes commands that a person copies into a POSIX shell: one line each,
// whatever is in names, and leading to the cluster that veltui looked at.
package kubectl
