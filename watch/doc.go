// Package watch follows Velero's custom resources and pods in one namespace and offers what it knows as one immutable
// [Snapshot] at a time: [New] makes a [Watcher], and [Watcher.Next] waits for a snapshot newer than the last one. The
// watches write into a [Store] and set a signal of capacity one; a slow reader sees fewer snapshots, never old ones.
//
// A kind that cannot be watched (its CRD is missing, RBAC forbids it) is named in the snapshot's
// sources; it never stops the others. While the API server is away the last data stays.
//
// # How it is put together
//
// A connection is one set of credentials. Over it, a heartbeat makes a small quorum read, and
// one source for each kind lists and watches. Their requests pass a gate in the transport, which
// is shut while the heartbeat gets no answer: none backs off on its own then, and all list again
// at once when the server is back. Renewed credentials make a new connection; the store stays.
//
// A source reads the API server's JSON object by object: one that Velero's types cannot hold is kept as far as they
// can, named in [Snapshot.Malformed], and takes nothing from the others. It is client-go's Reflector with the store
// as its target; a shared informer would add another store and unbounded queues. So a source is live exactly when all
// that the server has listed is in the store, and a missing CRD replaces a kind as a whole, deletions included.
//
// # Lists
//
// A list is taken apart as it comes: neither it nor a page of it is ever in memory. The first 500 objects are asked
// for alone and tell how many there are. Up to 20,000 come in one answer, which the API server takes from its cache;
// more are streamed as a watch that begins with all there is, or come in pages where that is not possible. Backups
// and restores are read before volumes, what runs before what has ended. Of the volumes of an ended job only their
// sum is kept (Options.SumVolumes); what many jobs have in common is kept once (copies.go).
//
// # Liveness
//
// The heartbeat lists storage locations by a name that none has, every five seconds and without a resource version: the
// smallest read for which the API server must ask etcd. "Live" means that such a read was answered within ten seconds.
//
// # One look
//
// [Read] lists what a command asks for, and of other jobs only what a verdict needs (diagnosis.NeedsOthers). It fills
// the same Store, so that every command and the dashboard judge the same.
package watch
