package cmd

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A program that cannot leave in order ends exitTimeout after a signal, or at once with
// another signal, which does not count until minSignalGap has passed.
func TestForcedExit(t *testing.T) {
	for name, c := range map[string]struct {
		more []time.Duration // when other signals come, from the first on
		want time.Duration
	}{
		"one signal":            {nil, exitTimeout},
		"two at once":           {[]time.Duration{0, minSignalGap - 1}, exitTimeout},
		"a second signal":       {[]time.Duration{minSignalGap}, minSignalGap},
		"two, and then a third": {[]time.Duration{time.Millisecond, 2 * minSignalGap}, 2 * minSignalGap},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				codes := make(chan int, 1)
				n := &signalWatcher{screen: &terminalScreen{}, stderr: io.Discard, cancel: cancel,
					received: make(chan os.Signal, 8), exit: func(code int) { codes <- code }}
				go n.awaitSignals()
				began := time.Now()
				n.received <- syscall.SIGTERM
				for _, after := range c.more {
					time.AfterFunc(after, func() { n.received <- syscall.SIGHUP })
				}
				if code := <-codes; code != 143 {
					t.Errorf("exit code %d", code)
				}
				if at := time.Since(began); at != c.want {
					t.Errorf("it ends after %s, want %s", at, c.want)
				}
				if err := context.Cause(ctx); !errors.Is(err, signalError{syscall.SIGTERM}) {
					t.Errorf("its context ended with %v", err)
				}
			})
		})
	}
}
