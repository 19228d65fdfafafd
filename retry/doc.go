// Package retry repeats a request to the API server until it lands or its deadline is over.
//
// The names are those of Velero's design for retrying status patches (vmware-tanzu/velero pull request 8068).
// The cap bounds the step, a deadline the whole; attempts go on at the cap until a last one at the deadline,
// and only errors that time can mend are tried again. So an outage that is shorter than the deadline is
// always survived, and the request lands within one step of the API server's return. Velero's own helper
// stops at its cap: with "10 minutes" its last attempt is made 39 seconds after the first (velero issue 7207,
// kubernetes issue 131122).
//
// [CapBackoff] is the schedule. [RetryOnRetriableMaxBackOff] and [RetryOnErrorMaxBackOff] repeat any request: the first
// what its caller calls retriable, the second what [Classify] does. [PatchResourceWithRetries] repeats a guarded write,
// and reads back what became of a request before it sends the next: only [Excludes] and [Unsent] rule out that a write
// was carried out. Velero's functions of these names take the longest time and the objects; here [Options] has the
// schedule and the deadline, and a [GuardedPatch] the request, its guards and what reads it back.
package retry
