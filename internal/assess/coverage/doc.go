// Package coverage says what backups protect: for each namespace, claim and workload the newest backup that holds it
// with its data, what includes it next, how long the last copy lasts, and if it is not covered, the rule or failure.
// The package is pure.
//
// [Cluster] is the contents of the cluster. A plan is what the next backup of one schedule includes, by Velero's
// rules. A [Judge] receives what is stored of backups, newest first, and asks only for the backups that still matter.
package coverage
