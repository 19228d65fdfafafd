// Package watch follows Velero's custom resources and pods in one namespace
// and offers what it knows as one immutable [Snapshot] at a time.
//
// Its door is [New], which makes a [Watcher], and [Watcher.Next], which waits
// for a snapshot newer than the last one. Informers write into a store and set
// a signal of capacity one; they never wait for a reader, and however many
// events come, a reader that is slow sees fewer snapshots, never old ones.
//
// A kind that cannot be watched (its CRD is missing, RBAC forbids it) is left
// out and named in the snapshot's sources; it never stops the others. While
// the API server is away the last data stays, with its age.
package watch
