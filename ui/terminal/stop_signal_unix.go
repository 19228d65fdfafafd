//go:build unix && !linux

package terminal

import "syscall"

// stopSignal returns a signal that stops a process of ours. SIGTSTP has a handler of the Go
// runtime's, which cannot be removed; SIGTTOU has none, and the system treats both alike.
func stopSignal() (number syscall.Signal, restore func()) { return syscall.SIGTTOU, func() {} }
