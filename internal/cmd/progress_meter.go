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
	"github.com/veltui/veltui/internal/restore/live"
	"github.com/veltui/veltui/internal/sanitize"
)

const (
	countsDelay = 2 * time.Second
	meterDelay  = time.Second            // what is done before shows no meter
	meterPace   = 250 * time.Millisecond // between two drawings
	meterBar    = 24                     // cells
)

func (c *stdio) startMeter(delay time.Duration, text func(width int) string) (stop func()) {
	if t := c.terminal(); !isTerminal(c.stderr) || t.name == "dumb" || t.name == "" {
		return func() {}
	}
	quit, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		runMeter(c.stderr, columnsOf(c.stderr), delay, text, quit)
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
				fmt.Fprint(out, live.erased())
			}
			return
		case <-next.C:
			width := columns() - 1
			fmt.Fprint(out, live.replaced([]string{cutRunes(text(width), width)}))
			next.Reset(meterPace)
		}
	}
}

// startCounts shows how many objects of each kind were read. more is 0 for a new count.
func (c *stdio) startCounts() (add func(resource string, more int), stop func()) {
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
	return add, c.startMeter(countsDelay, func(int) string {
		mu.Lock()
		defer mu.Unlock()
		if last == "" {
			return "waiting for the API server"
		}
		kind, _, _ := strings.Cut(last, ".")
		return fmt.Sprintf("reading %s: %s so far", kind, human.Number(read[last]))
	})
}

func (c *stdio) startSteps(first string) (say func(string), stop func()) {
	var step atomic.Pointer[string]
	say = func(text string) { step.Store(&text) }
	say(first)
	return say, c.startMeter(meterDelay, func(int) string { return *step.Load() })
}

func lookedFor(p live.Progress) string {
	return fmt.Sprintf("looking for %s: %d of %d lists", p.Resource, p.Done, p.Total)
}

// bytesMeter shows how many bytes were read. Those that are written to it count.
type bytesMeter struct {
	what        string
	utf8        bool
	done, total atomic.Int64 // a total of 0 is unknown
}

func (c *stdio) startBytes(what string) (m *bytesMeter, stop func()) {
	m = &bytesMeter{what: sanitize.String(what), utf8: c.terminal().utf8}
	return m, c.startMeter(meterDelay, m.line)
}

func (m *bytesMeter) show(done, total int64) {
	m.done.Store(done)
	m.total.Store(total)
}

func (m *bytesMeter) Write(p []byte) (int, error) {
	m.done.Add(int64(len(p)))
	return len(p), nil
}

func (m *bytesMeter) line(width int) string {
	done, total := m.done.Load(), m.total.Load()
	amount := human.BytesOf(done, max(total, 0))
	if total > 0 {
		fraction := min(float64(done)/float64(total), 1)
		amount = fmt.Sprintf("%4s  %s", human.Percent(fraction), amount)
		if len(m.what)+len(amount)+meterBar+4 <= width {
			full, empty := "#", "-"
			if m.utf8 {
				full, empty = "█", "─"
			}
			filled := int(fraction * meterBar)
			amount = strings.Repeat(full, filled) + strings.Repeat(empty, meterBar-filled) + " " + amount
		}
	}
	return m.what + "  " + amount
}

func cutRunes(text string, most int) string {
	runes := []rune(text)
	return string(runes[:max(0, min(len(runes), most))])
}

// liveLines are replaced by the next ones. The cursor stays at the end of the last one.
type liveLines struct {
	columns func() int
	widths  []int // of the lines that are drawn, in cells
}

func terminalSize(f *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || columns < 2 {
		return 80, 24
	}
	return columns, rows
}

func columnsOf(f *os.File) func() int {
	return func() int {
		columns, _ := terminalSize(f)
		return columns
	}
}

func (l *liveLines) replaced(lines []string) string {
	var b strings.Builder
	b.WriteString(l.erased())
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(sanitize.Frame(line))
		l.widths = append(l.widths, ansi.StringWidth(line))
	}
	return b.String()
}

// erased clears the lines. A terminal that became narrower has wrapped them.
func (l *liveLines) erased() string {
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
