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

func discardTrailingInput(*os.File) bool { return false }

// readAnswer prints the question and reads one line; it returns errPasted if the terminal marks the line as pasted. A
// read cannot be interrupted: after the end of ctx it continues until the program ends.
func (q confirmPrompt) readAnswer(ctx context.Context) (string, error) {
	fmt.Fprint(q.screen, q.bracketedPasteOn)
	q.printQuestion()
	defer func() { fmt.Fprint(q.screen, q.bracketedPasteOff) }()
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

func discardTerminalOutput(*os.File) {}

func redirectStderr(io.Writer) (restore func(), err error) { return func() {}, nil }
