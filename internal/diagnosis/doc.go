// Package diagnosis says why a job does not progress: it turns a job and the evidence around it into a [Verdict] with
// a state, a machine-readable reason, facts and advice.
//
// The package is pure: no I/O, no clock, no client. [Judge] and [QueuePosition] take the job and its [World], which
// names what could not be checked. State and Reason are API and documented in docs/reasons.md; sentences are for
// display.
//
// Plans of package action apply the same rules to what they gathered: [OwnershipOf], [HasServerGivenUp],
// [FindHungHook], [IsHandled] and [NewVolumeContext].
//
// [World] holds the server, the node-agents, the locations, the other jobs and, for jobs that got a closer look,
// [JobEvidence]. waits.go takes the rows of velero.WaitTable for the job's kind, step and version; wait_probes.go says
// what the evidence shows of each row; the rest is what the job may wait for. If a row has no limit, silence proves
// nothing. A verdict is stuck or orphaned only with a [Proof]. With stale data it is unknown; ended jobs have no
// state, and their verdict says how they ended.
package diagnosis
