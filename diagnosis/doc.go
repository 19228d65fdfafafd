// Package diagnosis says why a job does not move: it turns a job and the
// evidence around it into a [Verdict] with a state, a machine-readable reason,
// facts and advice.
//
// The package is pure: no I/O, no clock, no client. [Judge] and [Queue] take the
// job and its [Environment], which names what could not be seen. State and
// Reason are API and documented in docs/reasons.md; sentences are for display.
package diagnosis
