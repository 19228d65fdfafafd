// Package demo is veltui's cluster for looking around in: nothing is installed,
// nothing is downloaded, and nothing outside this process runs. It listens on
// loopback only.
//
// [Start] serves a cluster in memory (package cluster) with an object store
// (package store), in which Velero is what was recorded (package replay) or
// written down (package scene); package responder makes what a user does lead
// somewhere. It stands alone: it knows nothing else of veltui's.
package demo
