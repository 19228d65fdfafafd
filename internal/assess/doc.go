// Package assess turns a snapshot into what a person is shown: it enriches the jobs with what veltui knows beyond the
// cluster, and only then judges them.
//
// Enriching gives a restore an estimated total while Velero has none, and the time left by its mix of kinds
// ([Estimates]). Judging gives every job its verdict, rate, time left and place in the queue ([JudgedJob]). The
// dashboard and the commands use the same path, so that one job has one ETA everywhere.
package assess
