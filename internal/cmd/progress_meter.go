package cmd

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
)

const (
	countMeterDelay = 2 * time.Second
	meterDelay      = time.Second            // faster work shows no meter
	meterInterval   = 250 * time.Millisecond // between two drawings
	meterBarWidth   = 24                     // cells
)

func (c *stdio) startMeter(delay time.Duration, text func(width int) string) (stop func()) {
	if t := c.detectTerminal(); !isTerminal(c.stderr) || t.name == "dumb" || t.name == "" {
		return func() {}
	}
	quit, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		runMeter(c.stderr, terminalColumns(c.stderr), delay, text, quit)
	}()
	return func() {
		close(quit)
		<-over
	}
}

func runMeter(
	out io.Writer,
	columns func() int,
	delay time.Duration,
	text func(width int) string,
	quit <-chan struct{},
) {
	live := liveLines{columns: columns}
	next := time.NewTimer(delay)
	defer next.Stop()
	for {
		select {
		case <-quit:
			if live.widths != nil {
				fmt.Fprint(out, live.eraseSequence())
			}
			return
		case <-next.C:
			width := columns() - 1
			fmt.Fprint(out, live.replaceSequence([]string{cutRunes(text(width), width)}))
			next.Reset(meterInterval)
		}
	}
}

// startCountMeter shows how many objects of each kind were read. more is 0 to start a new count.
func (c *stdio) startCountMeter() (add func(resource string, more int), stop func()) {
	var mu sync.Mutex
	read, last := map[string]int{}, ""
	add = func(resource string, more int) {
		mu.Lock()
		defer mu.Unlock()
		if more == 0 {
			read[resource] = 0
		}
		read[resource] += more
		last = resource
	}
	return add, c.startMeter(countMeterDelay, func(int) string {
		mu.Lock()
		defer mu.Unlock()
		if last == "" {
			return "waiting for the API server"
		}
		kind, _, _ := strings.Cut(last, ".")
		return fmt.Sprintf("reading %s: %s so far", kind, human.Number(read[last]))
	})
}

func (c *stdio) startStepMeter(first string) (say func(string), stop func()) {
	var step atomic.Pointer[string]
	say = func(text string) { step.Store(&text) }
	say(first)
	return say, c.startMeter(meterDelay, func(int) string { return *step.Load() })
}

// bytesMeter shows how many bytes were read. It counts the bytes that are written to it.
type bytesMeter struct {
	label       string
	utf8        bool
	done, total atomic.Int64 // a total of 0 is unknown
}

func (c *stdio) startByteMeter(what string) (m *bytesMeter, stop func()) {
	m = &bytesMeter{label: sanitize.String(what), utf8: c.detectTerminal().utf8}
	return m, c.startMeter(meterDelay, m.renderLine)
}

func (m *bytesMeter) setProgress(done, total int64) {
	m.done.Store(done)
	m.total.Store(total)
}

func (m *bytesMeter) Write(p []byte) (int, error) {
	m.done.Add(int64(len(p)))
	return len(p), nil
}

func (m *bytesMeter) renderLine(width int) string {
	done, total := m.done.Load(), m.total.Load()
	amount := human.BytesProgress(done, max(total, 0))
	if total > 0 {
		fraction := min(float64(done)/float64(total), 1)
		amount = fmt.Sprintf("%4s  %s", human.Percent(fraction), amount)
		if len(m.label)+len(amount)+meterBarWidth+4 <= width {
			full, empty := "#", "-"
			if m.utf8 {
				full, empty = "█", "─"
			}
			filled := int(fraction * meterBarWidth)
			amount = strings.Repeat(full, filled) + strings.Repeat(empty, meterBarWidth-filled) + " " + amount
		}
	}
	return m.label + "  " + amount
}

func cutRunes(text string, most int) string {
	runes := []rune(text)
	return string(runes[:max(0, min(len(runes), most))])
}

// liveLines are lines that the next ones replace. The cursor stays at the end of the last line.
type liveLines struct {
	columns func() int
	widths  []int // of the drawn lines, in cells
}

func terminalSize(f *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || columns < 2 {
		return 80, 24
	}
	return columns, rows
}

func terminalColumns(f *os.File) func() int {
	return func() int {
		columns, _ := terminalSize(f)
		return columns
	}
}

func (l *liveLines) replaceSequence(lines []string) string {
	var b strings.Builder
	b.WriteString(l.eraseSequence())
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(sanitize.Frame(line))
		l.widths = append(l.widths, ansi.StringWidth(line))
	}
	return b.String()
}

// eraseSequence returns the sequence that clears the lines. It allows for lines that a narrower terminal has wrapped.
func (l *liveLines) eraseSequence() string {
	columns, rows := l.columns(), 0
	for _, width := range l.widths {
		rows += max(1, (width+columns-1)/columns)
	}
	l.widths = nil
	if rows < 2 {
		return "\r" + ansi.EraseScreenBelow
	}
	return "\r" + ansi.CursorUp(rows-1) + ansi.EraseScreenBelow
}
