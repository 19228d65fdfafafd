// Package cluster is a Kubernetes cluster in memory: the part of the API that veltui uses, served over HTTP on
// loopback, and the pods' logs.
//
// It is made for demonstrating veltui, not for proving anything about an API server: it checks no schema, no
// access rights and no quotas. Tests that depend on the behaviour of an API server use package testbed, which
// starts a real one.
//
// The objects are stored in client-go's object tracker as written, with their times and managedFields. The tracker
// cannot resume a watch from a resource version, and panics if a watcher is slow, so the cluster keeps its own log of
// changes for watches.
package cluster
