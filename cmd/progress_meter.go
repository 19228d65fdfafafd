package cmd

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

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
	columns := func() int {
		columns, _ := terminalSize(c.stderr)
		return columns
	}
	go m.run(c.stderr, t.utf8, columns, delay)
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
		line := []rune(m.text())
		return string(line[:max(0, min(len(line), width))])
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
	line := []rune(m.what + "  " + amount)
	return string(line[:max(0, min(len(line), width))])
}

func drawBar(fraction float64, utf8 bool) string {
	full, empty := "#", "-"
	if utf8 {
		full, empty = "█", "─"
	}
	filled := int(fraction * meterBar)
	return strings.Repeat(full, filled) + strings.Repeat(empty, meterBar-filled)
}
