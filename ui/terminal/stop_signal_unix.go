//go:build unix && !linux

package terminal

import "syscall"

// stopSignal returns a signal that stops this process. The Go runtime has a handler for SIGTSTP that cannot be
// removed; SIGTTOU has none, and the system treats both alike.
func stopSignal() (number syscall.Signal, restore func()) { return syscall.SIGTTOU, func() {} }
