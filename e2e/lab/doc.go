// Package lab runs a real Velero on loopback with no container: etcd and
// kube-apiserver (package testbed), kube-controller-manager, an S3 server and
// `velero server` with its S3 plugin, all from the binaries that `make
// lab-programs` builds, all on random ports, all files in one temporary folder.
//
// The door is [Start]; [Lab.Stop] ends every process by its id. The test bed's
// watchdog does the same if the process that started the lab dies first.
//
// What no lab of this kind has: kubelets, schedulers, CSI drivers. Pods stay
// Pending until a test says that they run ([Lab.RunPod]) on the lab's one node,
// which answers for their logs and for commands in them. A Pod object stands for
// the server, and the lab keeps what it says about the container true. CSI
// snapshots and a real node-agent can be had ([Lab.StartSnapshots],
// [Lab.StartNodeAgent]); the bytes that a data mover moves cannot.
package lab
