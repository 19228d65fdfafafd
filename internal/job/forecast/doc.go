// Package forecast estimates how long a running restore will take, from the remaining items of each resource and the
// cost of an item.
//
// Velero's client may send a number of requests a second and save some up (--client-qps and --client-burst, 100 by
// default), and every item needs two: create it, and patch its managed fields. That makes 50 items a second, and more
// for a moment after slower items. Some resources take longer: Velero's own plugins list ConfigMaps for every
// workload and every claim.
//
// A [Forecaster] follows one restore with several models: one starts from what is known about Velero, one also from
// the [Rates] of earlier restores of the cluster, one assumes that the items exist. The model that fits this restore
// best gives the estimates.
// [JobForecaster] feeds a Course with the jobs of package job. The package is pure.
package forecast
