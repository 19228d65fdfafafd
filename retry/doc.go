// Package retry repeats a request to the API server until it lands or its deadline has passed.
//
// The names are those of Velero's design for retrying status patches (vmware-tanzu/velero pull request 8068). The cap
// limits one delay, the deadline all of them; attempts continue at the cap until a last one at the deadline, and only
// after errors that a later attempt may not meet. So a request always survives an outage that is shorter than the
// deadline, and lands within one delay of the API server's return. Velero's own helper stops at its cap: with "10
// minutes" its last attempt is made 39 seconds after the first (velero issue 7207, kubernetes issue 131122).
//
// [CapBackoff] is the schedule. [RetryOnRetriableMaxBackOff] and [RetryOnErrorMaxBackOff] repeat any request: the
// first after errors that its caller calls retriable, the second after those that [Classify] does.
// [PatchResourceWithRetries] repeats a guarded write, and reads back the outcome of a request before it sends the
// next: only [ProvesRejected] and [IsUnsent] rule out that a write was carried out. Velero's functions of the same
// names take the longest time and the objects; here [Options] has the schedule and the deadline, and a [GuardedPatch]
// the request, its guards and the way to read it back.
package retry
