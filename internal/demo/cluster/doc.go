// Package cluster is a Kubernetes cluster in memory: as much of the API as
// veltui asks for, served over HTTP on loopback, and the pods' logs.
//
// It is made for looking at veltui, not for proving anything about an API
// server: it checks no schema, no rights and no quotas. Tests that ask how an
// API server behaves use package testbed, which starts a real one.
//
// The objects lie in client-go's object tracker, as they were written, with
// their times and managedFields. The tracker knows no resource versions to
// resume a watch from, and panics where a watcher is slow, so the cluster keeps
// a log of changes of its own for those who watch.
package cluster
