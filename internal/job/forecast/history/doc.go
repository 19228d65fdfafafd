// Package history remembers how fast the restores of a cluster went, from one run of veltui to the next: one small
// file for each kubeconfig context. The file contains only the identity of its cluster, names of resources, and
// numbers. Several programs may use a file at the same time. A file that cannot be used, or that belongs to another
// cluster, counts as missing.
package history
