// Package preflight says before a restore what will go wrong with it: what the backup holds and needs (package
// collector), against what the cluster holds and serves (package live) and the state of Velero. It does no I/O.
package preflight
