package testbed

import (
	"io"
	"strings"
	"sync"
)

// outputTail passes a server's output on and keeps the end of it, for the error that
// says why the server did not start.
type outputTail struct {
	next io.Writer

	mu   sync.Mutex
	kept []byte
}

const tailBytes = 4 << 10

func (t *outputTail) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - tailBytes; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	t.mu.Unlock()
	if t.next == nil {
		return len(p), nil
	}
	return t.next.Write(p)
}

func (t *outputTail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.kept))
}
