// Package coverage says what backups protect: for each namespace, claim and workload the newest backup that
// holds it with its data, what takes it next, until when the last copy lasts, and if it is not covered, the
// rule or failure. Pure.
//
// [Cluster] is what the cluster holds. A plan is what the next backup of one schedule takes of it, by Velero's
// rules. A [Judge] takes what is stored of backups, newest first, and asks only for those that still matter.
package coverage
