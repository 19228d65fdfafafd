// Package watch follows Velero's custom resources and pods in one namespace and publishes the state as one immutable
// [Snapshot] at a time: [New] makes a [Watcher], and [Watcher.Next] waits for a snapshot newer than the last one. The
// watches write into a [Store] and set a signal of capacity one; a slow reader gets fewer snapshots, never outdated
// ones.
//
// A kind that cannot be watched (its CRD is missing, RBAC forbids it) is named in the snapshot's sources; it never
// stops the others. While the API server is away, the last data stays.
//
// # Structure
//
// A connection is one set of credentials. Over it, a heartbeat makes a small quorum read, and one source for each
// kind lists and watches. Their requests pass a gate in the transport, which is closed while the heartbeat gets no
// answer: meanwhile no source backs off on its own, and all sources list again at once when the server is back.
// Renewed credentials make a new connection; the store stays.
//
// A source reads the API server's JSON object by object: an object that Velero's types cannot hold is kept as far as
// possible, is named in [Snapshot.Malformed], and does not affect the other objects. It is client-go's Reflector with
// the store as its target; a shared informer would add another store and unbounded queues. So a source is live
// exactly when everything that the server has listed is in the store, and a missing CRD empties its kind, deletions
// included.
//
// # Lists
//
// A list is decoded as it arrives: neither the list nor a page of it is ever in memory. The first 500 objects are
// requested alone and tell how many there are. Up to 20,000 objects come in one answer, which the API server takes
// from its cache; more are streamed as a watch that begins with all existing objects, or come in pages where
// streaming is not possible. Backups and restores are read before volumes, and running jobs before ended ones. The
// volumes of an ended job are kept only as a sum (Options.SumVolumes); values that many jobs share are kept once
// (shared_values.go).
//
// # Liveness
//
// The heartbeat lists storage locations by a name that no location has, every five seconds and without a resource
// version: the smallest read for which the API server must ask etcd. "Live" means that the read was answered within
// ten seconds.
//
// # One-shot reads
//
// [Read] lists what a command asks for, and of other jobs only what a verdict needs (diagnosis.NeedsOtherEvidence).
// It fills the same Store, so that every command and the dashboard reach the same verdict.
package watch
