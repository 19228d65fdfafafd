// Package logs reads what Velero logged of one job: the stored log of a job that
// has ended, and of one that has not the lines that belong to it in the logs of
// the server's pods, and of the node-agents and mover pods for its volumes.
//
// Its door is [New], which makes a [Reader]; [Reader.Read] brings lines in the
// order in which they were written, as they arrive. A [Store] keeps them: the text
// in a private file that has no name, and in memory about four bytes a line, so
// that a log of hundreds of megabytes can be scrolled, filtered and searched. A
// [View] is a Store from one level on.
//
// Which line belongs to a job, and what its fields say, package velero decides.
// Lines come as they were written; [Parse], and what a Store gives to draw or to
// save, is harmless.
package logs
