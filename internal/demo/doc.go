// Package demo provides a cluster to try veltui with: nothing is installed or downloaded, and nothing runs outside
// this process. It listens on loopback only.
//
// [Start] serves a cluster in memory (package cluster) with an object store (package store). Its Velero comes from
// recordings (package replay) or from scene files (package scene); package responder reacts to the user's actions.
// The package is independent of the rest of veltui.
package demo
