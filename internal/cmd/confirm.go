package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/session"
	uiterminal "github.com/veltui/veltui/ui/terminal"
)

// mayAsk is an error where no user could read a question or answer it.
func (c *stdio) mayAsk() error {
	switch {
	case !isTerminal(c.stdin):
		return usagef("there is no terminal to ask on: use --yes or --dry-run=server")
	case !isTerminal(c.stderr):
		return usagef(
			"standard error is not a terminal, so you would not see the question: use --yes or --dry-run=server",
		)
	}
	return nil
}

var errPasted = errors.New("the answer arrived at once, as from a paste: nothing was done; type it, or use --yes")

// confirm names the cluster and asks for context and name, typed in full, after the plan was
// shown. It discards what was typed before, and accepts no paste.
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

type question struct {
	terminal              *os.File
	screen                io.Writer // for the echo and the modes
	print                 func()
	marksPaste, endsMarks string // have the terminal mark pastes; empty where it cannot
}

const (
	enterPause = 10 * time.Millisecond // between typing the last character and enter, at least
	// typedAtOnce is how many characters of a slow line one read may have; of a longer answer, half of it.
	typedAtOnce     = 3
	longestSequence = 32
)

const (
	keyEndOfFile = 'd' & 0x1f
	keyBackspace = 'h' & 0x1f
	keyEraseLine = 'u' & 0x1f
	keyEraseWord = 'w' & 0x1f
	keySuspend   = 'z' & 0x1f
	keyEscape    = 0x1b
	keyDelete    = 0x7f
)

// typedLine is a line that the user types, with an echo. It detects pastes: the terminal marks
// them, enter arrives with what stands before it, or most of the text arrives in one read.
type typedLine struct {
	echo io.Writer

	text                     []rune
	rest                     []byte // of a rune or a sequence that was read in part
	last                     time.Time
	most                     int
	ended, pasted, endOfFile bool // after enter, the end of file or a mark of a paste
	suspended                bool
}

func (l *typedLine) read(input []byte, at time.Time) {
	input = append(l.rest, input...)
	l.rest = nil
	characters := 0
	for len(input) > 0 && !l.ended && !l.suspended {
		if input[0] == keyEscape {
			size := sequenceSize(input)
			if size == 0 {
				break
			}
			l.pasted = string(input[:size]) == ansi.BracketedPasteStart
			l.ended = l.pasted
			input = input[size:]
			continue
		}
		if !utf8.FullRune(input) {
			break
		}
		r, size := utf8.DecodeRune(input)
		input = input[size:]
		switch r {
		case '\r', '\n':
			typed := characters == 0 && at.Sub(l.last) >= enterPause && l.most <= max(typedAtOnce, len(l.text)/2)
			l.ended, l.pasted = true, len(l.text) > 1 && !typed
		case keyEndOfFile:
			l.ended, l.endOfFile = true, true
		case keySuspend:
			l.suspended = true
		case keyBackspace, keyDelete:
			l.erase(1)
		case keyEraseLine, keyEraseWord:
			l.erase(len(l.text))
		default:
			if unicode.IsPrint(r) {
				l.text = append(l.text, r)
				_, _ = io.WriteString(l.echo, string(r))
				characters++
			}
		}
	}
	if !l.ended && !l.suspended {
		l.rest = bytes.Clone(input)
	}
	if characters > 0 {
		l.last, l.most = at, max(l.most, characters)
	}
}

// erase deletes the last n characters. Without characters left it forgets how they came.
func (l *typedLine) erase(n int) {
	n = min(n, len(l.text))
	erased := string(l.text[len(l.text)-n:])
	l.text = l.text[:len(l.text)-n]
	if len(l.text) == 0 {
		l.most = 0
	}
	_, _ = io.WriteString(l.echo, strings.Repeat("\b \b", ansi.StringWidth(erased)))
}

// sequenceSize is the length of the escape sequence at the start of input, 0 if it is incomplete.
func sequenceSize(input []byte) int {
	switch {
	case len(input) < 2:
		return 0
	case input[1] == 'O':
		return min(len(input), 3) / 3 * 3
	case input[1] != '[':
		return 2
	}
	for i := 2; i < len(input); i++ {
		if input[i] >= 0x40 && input[i] <= 0x7e || i == longestSequence {
			return i + 1
		}
	}
	return 0
}
