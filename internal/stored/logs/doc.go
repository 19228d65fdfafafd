// Package logs reads what Velero logged of a job: the stored log of one that has ended, else its lines in
// the logs of the server's pods, the node-agents and the pods that move its volumes.
//
// [Reader.Read] brings lines in the order in which they were written. A [Store] keeps a log of hundreds of
// megabytes so that it can be scrolled, filtered and searched; a [View] is a Store from one level on.
// [Parse], and what a Store gives to draw or to save, is harmless.
package logs
