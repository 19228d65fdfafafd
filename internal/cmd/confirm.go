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

// checkCanAsk returns an error if no user could read or answer a question.
func (c *stdio) checkCanAsk() error {
	switch {
	case !isTerminal(c.stdin):
		return usageErrorf("there is no terminal to ask on: use --yes or --dry-run=server")
	case !isTerminal(c.stderr):
		return usageErrorf(
			"standard error is not a terminal, so you would not see the question: use --yes or --dry-run=server",
		)
	}
	return nil
}

var errPasted = errors.New("the answer arrived at once, as from a paste: nothing was done; type it, or use --yes")

// askConfirmation names the cluster and asks the user to type a text in full, after the plan was shown. It discards
// input typed before, and rejects pastes.
func (c *stdio) askConfirmation(ctx context.Context, text string, cluster session.Identity) error {
	want := sanitize.FullLine(text)
	if err := discardTypedAhead(ctx, c.stdin); err != nil {
		return err
	}
	q := confirmPrompt{terminal: c.stdin, screen: c.stderr, printQuestion: func() {
		fmt.Fprintf(c.streams.ErrOut, "\nThe cluster is %s.\nType %s to confirm: ", cluster, want)
	}}
	kind := uiterminal.DetectKind(c.process.getenv("TERM"))
	q.bracketedPasteOn = string(kind.FilterSequences([]byte(ansi.SetModeBracketedPaste)))
	q.bracketedPasteOff = string(kind.FilterSequences([]byte(ansi.ResetModeBracketedPaste)))
	answer, err := q.readAnswer(ctx)
	fmt.Fprintln(c.streams.ErrOut)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errPasted):
		discardTrailingInput(c.stdin) // keep the rest of the paste from the shell
		return err
	case err != nil:
		return errors.New("no answer: nothing was done")
	case discardTrailingInput(c.stdin):
		return errors.New("more than one line arrived at once, as from a paste: nothing was done")
	case strings.TrimSpace(answer) != want:
		return fmt.Errorf("that is not %s: nothing was done", want)
	}
	return nil
}

type confirmPrompt struct {
	terminal                            *os.File
	screen                              io.Writer // for the echo and the modes
	printQuestion                       func()
	bracketedPasteOn, bracketedPasteOff string // make the terminal mark pastes; empty if it cannot
}

const (
	enterPause = 10 * time.Millisecond // between typing the last character and enter, at least
	// maxTypedAtOnce is the largest number of characters in one read of a slow line; for a longer answer the limit is
	// half of it.
	maxTypedAtOnce  = 3
	maxSequenceSize = 32
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

// typedLine is a line that the user types, with an echo. It detects a paste in three ways: the terminal marks it,
// enter arrives together with the preceding text, or most of the text arrives in one read.
type typedLine struct {
	echo io.Writer

	text                     []rune
	incomplete               []byte // part of a rune or a sequence
	lastTyped                time.Time
	largestRead              int
	ended, pasted, endOfFile bool // by enter, the end of file or the mark of a paste
	suspended                bool
}

func (l *typedLine) acceptInput(input []byte, at time.Time) {
	input = append(l.incomplete, input...)
	l.incomplete = nil
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
			typed := characters == 0 && at.Sub(l.lastTyped) >= enterPause && l.largestRead <= max(maxTypedAtOnce, len(l.text)/2)
			l.ended, l.pasted = true, len(l.text) > 1 && !typed
		case keyEndOfFile:
			l.ended, l.endOfFile = true, true
		case keySuspend:
			l.suspended = true
		case keyBackspace, keyDelete:
			l.eraseLast(1)
		case keyEraseLine, keyEraseWord:
			l.eraseLast(len(l.text))
		default:
			if unicode.IsPrint(r) {
				l.text = append(l.text, r)
				_, _ = io.WriteString(l.echo, string(r))
				characters++
			}
		}
	}
	if !l.ended && !l.suspended {
		l.incomplete = bytes.Clone(input)
	}
	if characters > 0 {
		l.lastTyped, l.largestRead = at, max(l.largestRead, characters)
	}
}

// eraseLast deletes the last n characters. If none is left, it also forgets how they arrived.
func (l *typedLine) eraseLast(n int) {
	n = min(n, len(l.text))
	erased := string(l.text[len(l.text)-n:])
	l.text = l.text[:len(l.text)-n]
	if len(l.text) == 0 {
		l.largestRead = 0
	}
	_, _ = io.WriteString(l.echo, strings.Repeat("\b \b", ansi.StringWidth(erased)))
}

// sequenceSize returns the length of the escape sequence at the start of input, 0 if it is incomplete.
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
		if input[i] >= 0x40 && input[i] <= 0x7e || i == maxSequenceSize {
			return i + 1
		}
	}
	return 0
}
