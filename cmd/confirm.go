package cmd

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/veltui/veltui/sanitize"
)

// confirm asks for the context and the name, typed in full.
func (c *cli) confirm(ctx context.Context, contextName, name string) error {
	want := contextName + "/" + name
	fmt.Fprintf(c.streams.ErrOut, "\nType %s to go on: ", sanitize.String(want))
	type answer struct {
		text string
		err  error
	}
	// A read cannot be interrupted; the goroutine ends with the program.
	answers := make(chan answer, 1)
	go func() {
		text, err := bufio.NewReader(c.stdin).ReadString('\n')
		answers <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(c.streams.ErrOut)
		return context.Cause(ctx)
	case a := <-answers:
		if strings.TrimSpace(a.text) != want {
			return fmt.Errorf("that is not %s: nothing was done", want)
		}
	}
	return nil
}
