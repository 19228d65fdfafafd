// Package forecast says how long a running restore will take, from the items
// that are left of each resource and from what an item of each costs.
//
// An item's cost has two parts. Velero's client may make so many requests a
// second and save up some for later (its flags --client-qps and --client-burst,
// both 100), and every item takes two: create it, and patch its managed fields.
// That makes 50 items a second, and more than that for a moment after items
// which take longer. And some resources take longer: Velero's own plugins list
// ConfigMaps for every workload and every claim (see [Listed]).
//
// A [Course] follows one restore. It begins with what is known of Velero and
// with the [Rates] learned from earlier restores of the cluster, holds both
// against what it sees, and says nothing while it would be a guess. [Restore]
// is a Course with package job's eyes. The package is pure: no clock, no I/O.
package forecast
