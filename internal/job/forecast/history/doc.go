// Package history remembers how fast the restores of a cluster went, from one run of veltui to the next: one
// small file a kubeconfig context. Nothing is in it but which cluster it is of, names of resources, and
// numbers. Several programs may use a file at a time, and one that cannot be used, or is another cluster's,
// is as good as none.
package history
