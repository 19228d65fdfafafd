// Package lab runs a real Velero on loopback with no container: etcd and
// kube-apiserver (package testbed), kube-controller-manager, an S3 server and
// `velero server` with its S3 plugin, all from the binaries that `make
// lab-programs` builds, all on random ports, all files in one temporary folder.
//
// The door is [Start]; [Lab.Stop] ends every process by its id. The test bed's
// watchdog does the same if the process that started the lab dies first.
//
// What no lab of this kind has: kubelets, CSI drivers, node-agents. Pods stay
// Pending; a Pod object stands for the server, and the lab keeps what it says
// about the container true.
package lab
