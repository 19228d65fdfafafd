// Package job turns what the cluster says about one Velero Backup or Restore into what a person wants to know about
// it: its stage, its progress, its speed and when it may end. Package diagnosis says what delays it.
//
// The package is pure: no I/O, no clock, no goroutine, no client. [Fold] folds the newest custom resources of a job
// into the [Job] that was known before. What depends on the current time (elapsed time, rate, ETA) is a method that
// takes the time, so a Job is immutable and can be shared by any number of readers. Times inside a Job are the
// cluster's own or those at which this process saw a change; the fields say which.
package job
