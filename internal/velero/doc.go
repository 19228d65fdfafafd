// Package velero holds what veltui knows about Velero: its phases and kinds, what each version can do, a server's
// flags and the limits they set, which pods are its server and its node-agents, and which namespaces a job selects.
//
// Each fact is stated once, with the file and function of Velero's source that it comes from and the versions it
// holds for; docs/dev/velero.md explains the facts. The package is pure and imports nothing of ours and no client.
package velero
