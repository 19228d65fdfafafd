// Package e2e holds veltui against a real Velero server and a real S3 server
// (package lab). Each scenario makes Velero do something, a raw watch records
// what Velero wrote, and the test compares with it what veltui told.
//
// The tests have the build tag e2e; `make e2e` runs them in shards beside each
// other. Those of a shard share one lab, one after the other, because a Velero
// server has one worker for restores.
//
// `make e2e VELERO=1.16` runs them with an older Velero: what a version lacks is
// skipped, and says so.
package e2e
