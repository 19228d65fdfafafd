package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/session"
	uiterminal "github.com/veltui/veltui/ui/terminal"
)

// mayAsk is an error where nobody could answer a question or read it.
func (c *stdio) mayAsk() error {
	switch {
	case !isTerminal(c.stdin):
		return usagef("there is no terminal to ask on: use --yes or --dry-run=server")
	case !isTerminal(c.stderr):
		return usagef("standard error is not a terminal, so you would not see the question: use --yes or --dry-run=server")
	}
	return nil
}

// errPasted is that an answer was not typed.
var errPasted = errors.New("the answer arrived at once, as from a paste: nothing was done; type it, or use --yes")

// confirm names the cluster, and asks for the context and the name, typed in full, when
// all that they are about has been shown. What was typed before the question is thrown
// away, and the question waits until nobody types. A paste confirms nothing.
func (c *stdio) confirm(ctx context.Context, contextName, name string, cluster session.Identity) error {
	want := sanitize.Whole(contextName + "/" + name)
	if err := discardTypedAhead(ctx, c.stdin); err != nil {
		return err
	}
	q := question{terminal: c.stdin, screen: c.stderr, print: func() {
		fmt.Fprintf(c.streams.ErrOut, "\nThe cluster is %s.\nType %s to confirm: ", cluster, want)
	}}
	kind := uiterminal.KindOf(c.env("TERM"))
	q.marksPaste = string(kind.Translate([]byte(ansi.SetModeBracketedPaste)))
	q.endsMarks = string(kind.Translate([]byte(ansi.ResetModeBracketedPaste)))
	answer, err := q.ask(ctx)
	fmt.Fprintln(c.streams.ErrOut)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errPasted):
		hasTypedAhead(c.stdin) // the rest of the paste is not for the shell
		return err
	case err != nil:
		return errors.New("no answer: nothing was done")
	case hasTypedAhead(c.stdin):
		return errors.New("more than one line arrived at once, as from a paste: nothing was done")
	case strings.TrimSpace(answer) != want:
		return fmt.Errorf("that is not %s: nothing was done", want)
	}
	return nil
}

// question is asked on a terminal.
type question struct {
	terminal *os.File
	// screen gets the echo and the modes; print prints the question.
	screen io.Writer
	print  func()
	// marksPaste has the terminal mark what is pasted, endsMarks ends that; both are
	// empty where it cannot.
	marksPaste, endsMarks string
}
