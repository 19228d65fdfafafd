// Package testbed runs a real control plane on loopback: etcd and
// kube-apiserver, started by envtest from the binaries that `make testbed`
// builds, with Velero's CRDs installed. The demo and the integration tests
// stand on it; the product itself never imports it.
//
// The door is [Start], or [StartForTest] in a test. Whatever happens to the process
// that started a control plane, a watchdog ends its servers by process id.
package testbed
