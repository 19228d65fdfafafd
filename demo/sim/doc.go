// Package sim is a simulated Velero 1.18 server with its node agents. It acts
// on a real API server as the real one does: the same objects, phases, patches
// and order, at believable speeds, without moving a byte of anybody's data.
//
// The door is [New]; [Sim.Run] then drives it on the wall clock, or a test
// calls [Sim.Step] with instants of its own. One Step does all that the
// server's controllers would have done since the last one, in one goroutine,
// so a simulated hour is as deterministic as the API server beneath it.
//
// What a job meets follows from its spec and from the [Cluster] that is backed
// up (an item with Trouble cannot be backed up, a namespace with a quota takes
// only so many objects), never from its name. The rules and their sources are
// those of Velero 1.18.3; a comment at each says which file they come from.
//
// Not simulated: plugins other than the CSI ones, native volume snapshots,
// exec hooks that fail, and the objects that a restore would create.
package sim
