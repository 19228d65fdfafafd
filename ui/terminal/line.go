package terminal

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	// chunk is how many bytes are written at once, slowChunk to a slow terminal.
	chunk, slowChunk = 4 << 10, 256
	// maxQueued is how many bytes may wait; no frame is drawn while any do.
	maxQueued = 1 << 20
	// writeGrace is how long a write waits for the terminal to take it.
	writeGrace = 20 * time.Millisecond
	// leaveGrace is how long giving the terminal back, and its last answer, are waited for.
	leaveGrace = time.Second
	// askEvery is after how many bytes the terminal is asked whether it has got them.
	askEvery = 512
	// maxUnasked is how many bytes may follow a question that has no answer yet.
	maxUnasked = 1 << 10
	// lateBy is how much later than the fastest one an answer may come.
	lateBy = 50 * time.Millisecond
	// An answer is given up after answerGrace and the time for what is before it at slowest bytes a second.
	answerGrace = 5 * time.Second
	slowest     = 500
)

// askStatus is DSR 5, which every terminal since the VT100 answers with okStatus.
const askStatus, okStatus = "\x1b[5n", "\x1b[0n"

// line is the way to the terminal, which may be slow: a serial console takes 1 kB a second. While bytes
// are on their way no frame is made. The terminal is asked now and then, and answers when it has read
// all before. One that does not is only waited for where the system takes no more bytes.
type line struct {
	Screen
	kind Kind
	lost context.CancelCauseFunc
	send func(tea.Msg) // brings a message into the program

	work  chan struct{} // capacity 1: there is something to write
	ended chan struct{}

	mu     sync.Mutex
	queue  []byte
	empty  chan struct{} // closed when the queue is empty, nil while it is
	closed bool          // nothing more is written
	err    error         // of writing

	begun   bool
	unasked int       // bytes since the last question
	asked   time.Time // of the question that has no answer yet, else zero
	expires *time.Timer
	answers bool          // the terminal answers
	fastest time.Duration // answer

	frame tea.View // the last one that was drawn
	drawn bool
	held  held
}

// held is what waits for the line.
type held struct {
	frame  bool // one was not drawn
	resize tea.Msg
	clear  tea.Msg
	copied tea.Msg // the last one
	ending tea.Msg // the program's end or stop, until the terminal's last answer
}

// lineFree tells that what waited may go on.
type lineFree struct{}

func newLine(screen Screen, kind Kind, lost context.CancelCauseFunc) *line {
	l := &line{
		Screen: screen,
		kind:   kind,
		lost:   lost,
		send:   func(tea.Msg) {},
		work:   make(chan struct{}, 1),
		ended:  make(chan struct{}),
	}
	l.expires = time.AfterFunc(time.Hour, l.expire)
	l.expires.Stop()
	return l
}

// Write queues what is drawn, and waits a moment for it to be written.
func (l *line) Write(p []byte) (int, error) {
	l.mu.Lock()
	for len(l.queue) > maxQueued {
		empty := l.empty
		l.mu.Unlock()
		<-empty
		l.mu.Lock()
	}
	if l.closed || l.err != nil {
		defer l.mu.Unlock()
		return 0, l.err
	}
	if !l.begun {
		l.begun = true
		l.ask() // how fast it answers while nothing else is on its way
	}
	l.put(l.kind.Translate(p))
	if l.unasked += len(p); l.unasked >= askEvery && l.asked.IsZero() && l.held.ending == nil {
		l.ask()
	}
	empty := l.empty
	l.mu.Unlock()
	grace := writeGrace
	if bytes.Contains(p, []byte(ansi.ResetModeBracketedPaste)) {
		grace = leaveGrace // the shell goes on behind it
	}
	select {
	case <-empty:
	case <-time.After(grace):
	}
	return len(p), nil
}

func (l *line) put(p []byte) {
	l.queue = append(l.queue, p...)
	if l.empty == nil {
		l.empty = make(chan struct{})
	}
	select {
	case l.work <- struct{}{}:
	default:
	}
}

// ask asks the terminal whether it has got all before.
func (l *line) ask() {
	l.put([]byte(askStatus))
	l.asked = time.Now()
	l.expires.Reset(answerGrace + time.Duration(l.unasked)*time.Second/slowest)
	l.unasked = 0
}

func (l *line) run() {
	for {
		select {
		case <-l.ended:
			return
		case <-l.work:
			if !l.writeAll() {
				return
			}
		}
	}
}

func (l *line) writeAll() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := chunk
	for len(l.queue) > 0 && !l.closed {
		next := l.queue[:min(len(l.queue), size)]
		// Sequences and characters stay whole.
		if end := bytes.LastIndexByte(next, '\x1b'); len(next) < len(l.queue) && end > 0 {
			next = next[:end]
		}
		l.mu.Unlock()
		began := time.Now()
		n, err := l.Screen.Write(next)
		if size = chunk; time.Since(began) > writeGrace {
			size = slowChunk
		}
		l.mu.Lock()
		if err != nil {
			l.closed, l.err = true, err
			l.lost(fmt.Errorf("writing to the terminal: %w", err))
			break
		}
		l.queue = l.queue[n:]
	}
	l.queue = nil
	if l.empty != nil {
		close(l.empty)
		l.empty = nil
	}
	l.tell()
	return !l.closed
}

// busy reports whether so much is on its way that a frame would come late.
func (l *line) busy() bool {
	late := time.Since(l.asked) > l.fastest+lateBy || l.unasked > maxUnasked
	return len(l.queue) > 0 || l.answers && !l.asked.IsZero() && late
}

// view is the model's frame or, while the line is busy, the last one again.
func (l *line) view(model tea.Model) tea.View {
	l.mu.Lock()
	if l.drawn && l.busy() {
		defer l.mu.Unlock()
		l.held.frame = true
		return l.frame
	}
	l.mu.Unlock()
	frame := clean(model.View())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frame, l.drawn = frame, true
	return frame
}

// tell has what waited go on, if it may.
func (l *line) tell() {
	if waits := l.held.frame || l.held.resize != nil || l.held.clear != nil ||
		l.held.copied != nil; waits &&
		!l.busy() {
		l.held.frame = false
		go l.send(lineFree{})
	}
	if l.held.ending != nil && !l.awaited() {
		go l.send(l.held.ending)
		l.held.ending = nil
	}
}

// awaited reports whether an answer is to come, which the next reader of the keyboard would get.
func (l *line) awaited() bool {
	return !l.asked.IsZero() && (l.answers || time.Since(l.asked) < leaveGrace)
}

func (l *line) answered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked.IsZero() {
		return
	}
	if took := time.Since(l.asked); !l.answers || took < l.fastest {
		l.fastest = took
	}
	l.answers = true
	l.forget()
	if l.unasked >= askEvery && l.held.ending == nil {
		l.ask()
	}
	l.tell()
}

func (l *line) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers = false
	l.forget()
	l.tell()
}

func (l *line) forget() {
	l.asked = time.Time{}
	l.expires.Stop()
}

var (
	clearScreen  = reflect.TypeOf(tea.ClearScreen())
	setClipboard = reflect.TypeOf(tea.SetClipboard("")())
)

// filter takes the terminal's answers, and holds back large writes while the line is busy.
func (l *line) filter(msg tea.Msg) tea.Msg {
	if v := reflect.ValueOf(msg); v.Kind() == reflect.String && v.String() == okStatus {
		l.answered()
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch msg.(type) {
	case lineFree:
		return l.release()
	case tea.QuitMsg, tea.SuspendMsg:
		if l.held.ending == nil && l.awaited() {
			l.held.ending = msg
			time.AfterFunc(leaveGrace, l.giveUp)
			return nil
		}
		return msg
	case tea.ResumeMsg:
		l.forget() // another program had the terminal meanwhile, and got it
		l.tell()
		return msg
	}
	if !l.drawn || !l.busy() {
		return msg
	}
	switch reflect.TypeOf(msg) {
	case reflect.TypeFor[tea.WindowSizeMsg]():
		l.held.resize = msg
	case clearScreen:
		l.held.clear = msg
	case setClipboard:
		l.held.copied = msg
	default:
		return msg
	}
	return nil
}

// giveUp ends the program without the terminal's last answer.
func (l *line) giveUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held.ending != nil {
		l.forget()
		l.tell()
	}
}

// release is the next message that waited, or lineFree. A new size clears the screen too.
func (l *line) release() tea.Msg {
	h := &l.held
	for _, next := range []*tea.Msg{&h.resize, &h.clear, &h.copied} {
		if *next == nil {
			continue
		}
		msg := *next
		if *next = nil; next == &h.resize {
			h.clear = nil
		}
		l.tell()
		return msg
	}
	return lineFree{}
}

// finish waits for the last bytes, and reports whether all were written.
func (l *line) finish() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if empty := l.empty; empty != nil {
		l.mu.Unlock()
		select {
		case <-empty:
		case <-time.After(leaveGrace):
		}
		l.mu.Lock()
	}
	l.expires.Stop()
	done := l.empty == nil && l.err == nil
	l.closed = true
	close(l.ended)
	return done
}
