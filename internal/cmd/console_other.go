//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package cmd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

func discardTypedAhead(ctx context.Context, _ *os.File) error { return context.Cause(ctx) }

func hasTypedAhead(*os.File) bool { return false }

// ask prints the question and reads one line; errPasted if the terminal marks it as pasted. A
// read cannot be interrupted: after the end of ctx it goes on until the program ends.
func (q question) ask(ctx context.Context) (string, error) {
	fmt.Fprint(q.screen, q.marksPaste)
	q.print()
	defer func() { fmt.Fprint(q.screen, q.endsMarks) }()
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	go func() {
		text, err := bufio.NewReader(q.terminal).ReadString('\n')
		lines <- line{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case l := <-lines:
		if strings.Contains(l.text, ansi.BracketedPasteStart) {
			return "", errPasted
		}
		return l.text, l.err
	}
}

func discardOutput(*os.File) {}

func redirectStderr(io.Writer) (restore func(), err error) { return func() {}, nil }
