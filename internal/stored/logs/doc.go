// Package logs reads what Velero logged about a job: the stored log of an ended job, else the job's lines in the logs
// of the server's pods, the node-agents and the pods that move its volumes.
//
// [Reader.Read] returns lines in the order in which they were written. A [Store] keeps a log of hundreds of megabytes
// so that it can be scrolled, filtered and searched; a [View] shows a Store from one level on. The results of
// [Parse], and what a Store returns to draw or to save, are sanitized.
package logs
