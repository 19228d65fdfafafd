// Package dryrun asks the API server how it would answer a restore.
//
// [Run] reads the bodies of a backup, prepares each as Velero would create it (package prepare), and sends it with
// dryRun=All, as Velero's service account where the user may impersonate it. [classifyAnswer] sorts the answers:
// accepted, rejected, or inconclusive, with the reason. A [Sender] is the only client; it sends no other writes.
//
// veltui never assumes that a request was a dry run: a gate lets the objects of an API server through once one answer
// has proven it and the object was read back, and [proveCreate] and [provePatch] judge each answer after that. A few
// reads check the answers: see corroborate.go.
package dryrun
