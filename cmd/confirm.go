package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/veltui/veltui/sanitize"
	"github.com/veltui/veltui/session"
)

// mayAsk is an error where nobody could answer a question or read it.
func (c *cli) mayAsk() error {
	switch {
	case !isTerminal(c.stdin):
		return usagef("there is no terminal to ask on: use --yes or --dry-run=server")
	case !isTerminal(c.stderr):
		return usagef("standard error is not a terminal, so you would not see the question: use --yes or --dry-run=server")
	}
	return nil
}

// confirm names the cluster, and asks for the context and the name, typed in full, when
// all that they are about has been shown. What was typed before the question is thrown
// away, and the question waits until nobody types.
func (c *cli) confirm(ctx context.Context, contextName, name string, cluster session.Identity) error {
	want := sanitize.Whole(contextName + "/" + name)
	if err := discardTypedAhead(ctx, c.stdin); err != nil {
		return err
	}
	fmt.Fprintf(c.streams.ErrOut, "\nThe cluster is %s.\nType %s to confirm: ", cluster, want)
	answer, err := c.readLine(ctx)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(c.streams.ErrOut)
		return context.Cause(ctx)
	case err != nil:
		fmt.Fprintln(c.streams.ErrOut)
		return errors.New("no answer: nothing was done")
	case strings.TrimSpace(answer) != want:
		return fmt.Errorf("that is not %s: nothing was done", want)
	case hasTypedAhead(c.stdin):
		return errors.New("more than one line arrived at once, as from a paste: nothing was done")
	}
	return nil
}

// readLine reads one whole line. A read cannot be interrupted: after the end of
// ctx it goes on until the program ends.
func (c *cli) readLine(ctx context.Context) (string, error) {
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	go func() {
		text, err := bufio.NewReader(c.stdin).ReadString('\n')
		lines <- line{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case l := <-lines:
		return l.text, l.err
	}
}
