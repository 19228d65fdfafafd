// Package dryrun asks the API server what it would say to a restore.
//
// [Run] reads the bodies of a backup, prepares each as Velero would create it (package prepare), and sends it
// with dryRun=All, as Velero's service account where the user may impersonate it. [classify] sorts the
// answers: accepted, rejected, or nothing that could be concluded, with the reason. A [Sender] is the only
// client; it sends no other writes.
//
// That a request was a dry run is never assumed: a gate lets the objects of an API server through once one answer has
// proven it and the object was read back, and [proveCreate] and [provePatch] judge each answer after that. A few reads
// check the answers: see corroborate.go.
package dryrun
