// Package cluster is what commands and pages ask of one cluster beyond the watch: what
// Velero has stored and logged, what a backup holds, what became of items, closer looks
// at jobs, what a restore would do and meet, and the actions of package action.
//
// All of it starts from a [Cluster], which knows how to get there with the credentials of now. Screens
// know it as an [Inspector], whose answers are safe to draw.
//
// [Follow] is the loop over a watch for commands that go on: it judges each snapshot, judges
// again as time passes, and has jobs that do not move looked at closer.
package cluster
