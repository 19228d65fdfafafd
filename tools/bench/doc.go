// Bench measures veltui beside what people use instead of it, or with it: an
// older veltui, kubectl, the velero CLI, the same in watch(1), and k9s where it is
// installed. It starts a cluster of its own on loopback, fills it, runs everything
// there, and prints one table in Markdown (docs/dev/performance.md).
//
// It reads /proc, and so runs on Linux only.
package main
