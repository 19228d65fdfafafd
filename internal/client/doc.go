// Package client asks an API server for objects of any kind, as JSON, and for the kinds that it serves.
//
// The clients of client-go and controller-runtime link every kind of Kubernetes
// (k8s.io/client-go/kubernetes/scheme): a fifth of the program.
package client
