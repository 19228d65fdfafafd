package cmd

import (
	"io"
	"log"
	"os"
	"time"

	"github.com/veltui/veltui/internal/sanitize"
)

// stderrTimeout is how long the end waits for what was written last.
const stderrTimeout = 300 * time.Millisecond

// filterStderr lets what others write to standard error, credential plugins
// and libraries, pass through the same cleaning as our own messages. Both take
// it from [os.Stderr]. A plugin still asks its questions there; only standard
// input is the terminal for it. The function that it returns undoes that.
func (c *stdio) filterStderr() (undo func()) {
	r, w, err := os.Pipe()
	if err != nil {
		return func() {}
	}
	before := os.Stderr
	os.Stderr = w
	log.SetOutput(w)
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(sanitize.NewWriter(c.stderr), r)
	}()
	return func() {
		os.Stderr = before
		_ = w.Close()
		select {
		case <-copied:
		case <-time.After(stderrTimeout): // a child of a child may live on
		}
	}
}
