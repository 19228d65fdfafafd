package terminal

import (
	"syscall"
	"unsafe"
)

// signalSetSize is the kernel's sizeof(sigset_t).
const signalSetSize = 8

// stopSignal returns the signal that stops this process. It restores the default action of SIGTSTP until restore is
// called: signal.Reset does not, because the Go runtime keeps its handler once it has installed one (sigdisable in
// runtime/signal_unix.go).
func stopSignal() (number syscall.Signal, restore func()) {
	// A struct sigaction of zeros is SIG_DFL on every architecture.
	var standard, handler [32]uint64
	_, _, err := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGTSTP),
		uintptr(unsafe.Pointer(&standard)), uintptr(unsafe.Pointer(&handler)), signalSetSize, 0, 0)
	if err != 0 {
		return syscall.SIGTTOU, func() {}
	}
	return syscall.SIGTSTP, func() {
		_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGTSTP),
			uintptr(unsafe.Pointer(&handler)), 0, signalSetSize, 0, 0)
	}
}
