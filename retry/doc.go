// Package retry repeats a request to the API server until it lands or its deadline is over.
//
// The names are those of Velero's design for retrying status patches (vmware-tanzu/velero pull
// request 8068), and here they mean what they say: the cap bounds the step and not the number of
// steps, a deadline bounds the whole, attempts go on at the cap until the deadline with a last
// one at it, and only errors that time can mend are tried again. An outage that is shorter than
// the deadline is therefore always survived, and the request lands within one step of the API
// server's return.
//
// Velero's own helper stops at its cap: with the default of "10 minutes" its last attempt is
// made 39 seconds after the first (velero issue 7207, kubernetes issue 131122).
//
// [RetryOnRetriableMaxBackOff] repeats any request. [Excludes] and [Unsent] tell
// what an error proves about a write: only they rule out that it was carried out.
package retry
