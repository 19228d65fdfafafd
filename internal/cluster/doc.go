// Package cluster holds what commands and pages ask of one cluster beyond the watch: what Velero has stored and
// logged, what a backup contains, what became of items, closer looks at jobs, what a restore would do and run into,
// and the actions of package action.
//
// All of it starts from a [Cluster], which knows how to get there with the credentials of now. Screens
// declare what they ask of it as interfaces of their own; answers are safe to draw.
//
// [Follow] is the loop over a watch for commands that keep running: it judges each snapshot, judges again as time
// passes, and takes closer looks at jobs that do not progress.
package cluster
