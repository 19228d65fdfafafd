// Package diagnosis says why a job does not move: it turns a job and the evidence around it into a [Verdict]
// with a state, a machine-readable reason, facts and advice.
//
// The package is pure: no I/O, no clock, no client. [Judge] and [Queue] take the job and its [Environment],
// which names what could not be seen. State and Reason are API and documented in docs/reasons.md; sentences
// are for display.
//
// Plans of package action ask the same rules about what they gathered: [OwnershipOf], [GaveUp], [HungHook], [Handled]
// and [NewVolumeContext].
//
// [Environment] holds the server, the node-agents, the locations, the other jobs and, of jobs that were
// looked at closer, [Evidence]. waits.go takes the rows of velero.Waits for the job's kind, step and version;
// sights.go says what the evidence shows of each; what remains is what the job may wait for. Where a row has
// no limit, silence proves nothing. A verdict is stuck or orphaned only with a [Proof]. With stale data it is
// unknown; ended jobs have no state, and their verdict says how they ended.
package diagnosis
