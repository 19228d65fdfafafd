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
	"github.com/veltui/veltui/restore/target"
)

const (
	countsDelay = 2 * time.Second
	meterDelay  = time.Second            // what is done before shows no meter
	meterPace   = 250 * time.Millisecond // between two drawings
	meterBar    = 24                     // cells
)

// meter shows on a terminal how far a reading is that takes its time. It draws
// one line and takes it away at the end.
type meter struct {
	what string
	// text draws the line in another way, if it is not nil.
	text  func() string
	total atomic.Int64 // bytes; 0 while not known
	done  atomic.Int64
	quit  chan struct{}
	over  chan struct{}
}

// startMeter starts a meter on standard error; it stays silent where that is
// no terminal. stop must be called.
func (c *stdio) startMeter(what string) *meter {
	m := &meter{what: sanitize.String(what), quit: make(chan struct{}), over: make(chan struct{})}
	c.draw(m, meterDelay)
	return m
}

// draw starts to draw a meter after a delay.
func (c *stdio) draw(m *meter, delay time.Duration) {
	t := c.terminal()
	if !isTerminal(c.stderr) || t.name == "dumb" || t.name == "" {
		close(m.over)
		return
	}
	go m.run(c.stderr, t.utf8, columnsOf(c.stderr), delay)
}

// counts shows how many objects of each kind a reading has read so far.
type counts struct {
	*meter
	mu   sync.Mutex
	read map[string]int
	// last is the kind that was read last.
	last string
}

// startCounts starts to count; stop must be called.
func (c *stdio) startCounts() *counts {
	n := &counts{read: map[string]int{}}
	n.meter = &meter{text: n.line, quit: make(chan struct{}), over: make(chan struct{})}
	c.draw(n.meter, countsDelay)
	return n
}

// add counts objects of a kind; with 0 they are counted anew.
func (n *counts) add(resource string, more int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if more == 0 {
		n.read[resource] = 0
	}
	n.read[resource] += more
	n.last = resource
}

func (n *counts) line() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last == "" {
		return "waiting for the API server"
	}
	kind, _, _ := strings.Cut(n.last, ".")
	return fmt.Sprintf("reading %s: %s so far", kind, human.Number(n.read[n.last]))
}

// startSteps shows on a terminal what a command does at the moment, until done is called.
func (c *stdio) startSteps(first string) (say func(string), done func()) {
	var at atomic.Pointer[string]
	say = func(text string) { at.Store(&text) }
	say(first)
	m := &meter{quit: make(chan struct{}), over: make(chan struct{}), text: func() string { return *at.Load() }}
	c.draw(m, meterDelay)
	return say, m.stop
}

// lookedFor says how far the search through a cluster is.
func lookedFor(p target.Progress) string {
	return fmt.Sprintf("looking for %s: %d of %d lists", p.Resource, p.Done, p.Total)
}

// reader counts what is read through it.
func (m *meter) reader(r io.Reader) io.Reader { return meteredReader{r, m} }

// show is a progress function for what counts itself.
func (m *meter) show(done, total int64) {
	m.done.Store(done)
	m.total.Store(total)
}

type meteredReader struct {
	io.Reader
	meter *meter
}

func (r meteredReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.meter.done.Add(int64(n))
	return n, err
}

// stop ends the meter and clears its line.
func (m *meter) stop() {
	close(m.quit)
	<-m.over
}

func (m *meter) run(out io.Writer, utf8 bool, columns func() int, delay time.Duration) {
	defer close(m.over)
	live := liveLines{columns: columns}
	next := time.NewTimer(delay)
	defer next.Stop()
	for {
		select {
		case <-m.quit:
			if live.widths != nil {
				fmt.Fprint(out, live.erased())
			}
			return
		case <-next.C:
			fmt.Fprint(out, live.replaced([]string{m.line(utf8, columns()-1)}))
			next.Reset(meterPace)
		}
	}
}

// line is the meter in at most width cells; what is narrower than its bar does
// without.
func (m *meter) line(utf8 bool, width int) string {
	if m.text != nil {
		return cutRunes(m.text(), width)
	}
	done, total := m.done.Load(), m.total.Load()
	amount := human.BytesOf(done, max(total, 0))
	if total > 0 {
		fraction := min(float64(done)/float64(total), 1)
		amount = fmt.Sprintf("%4s  %s", human.Percent(fraction), amount)
		if bar := drawBar(fraction, utf8); len(m.what)+len(amount)+meterBar+4 <= width {
			amount = bar + " " + amount
		}
	}
	return cutRunes(m.what+"  "+amount, width)
}

func cutRunes(text string, most int) string {
	runes := []rune(text)
	return string(runes[:max(0, min(len(runes), most))])
}

func drawBar(fraction float64, utf8 bool) string {
	full, empty := "#", "-"
	if utf8 {
		full, empty = "█", "─"
	}
	filled := int(fraction * meterBar)
	return strings.Repeat(full, filled) + strings.Repeat(empty, meterBar-filled)
}

// liveLines are lines on a terminal that the next ones replace. The cursor stays at the
// end of the last one.
type liveLines struct {
	columns func() int
	// widths are those of the lines that stand there, in cells.
	widths []int
}

// terminalSize is that of a terminal, and a usual one where it is unknown.
func terminalSize(f *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || columns < 2 {
		return 80, 24
	}
	return columns, rows
}

// columnsOf returns what asks for a terminal's width.
func columnsOf(f *os.File) func() int {
	return func() int {
		columns, _ := terminalSize(f)
		return columns
	}
}

// replaced returns what draws lines in place of those that stand there.
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

// erased returns what takes away the lines that stand there. A terminal that has become
// narrower has wrapped them.
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
