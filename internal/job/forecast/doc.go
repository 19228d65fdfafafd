// Package forecast estimates how long a running restore will take, from the items left of each resource and
// the cost of one.
//
// Velero's client may make a number of requests a second and save some up (--client-qps and --client-burst,
// 100 by default), and every item needs two: create it, and patch its managed fields. That makes 50 items a
// second, and more for a moment after slower items. Some resources take longer: Velero's own plugins list
// ConfigMaps for every workload and every claim.
//
// A [Course] follows one restore with two models: one starts from what is known of Velero, the other also
// from the [Rates] of earlier restores of the cluster. The one that fits this restore better answers.
// [Restore] feeds a Course with the jobs of package job. The package is pure.
package forecast
