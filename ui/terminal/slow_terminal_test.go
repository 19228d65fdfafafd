package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
)

// patience bounds every wait of these tests.
const patience = 2 * time.Minute

// modem is a terminal behind a line that holds a few bytes and carries as many as
// the test lets it.
type modem struct {
	mu     sync.Mutex
	room   *sync.Cond
	inside []byte       // written, and not yet at the terminal
	shown  bytes.Buffer // what came to the terminal
	hung   bool

	deaf      bool     // it never answers
	keys, in  *os.File // what is typed, and where it comes out
	abandoned atomic.Bool
}

// capacity is what a pseudo-terminal holds.
const capacity = 8 << 10

func newModem(t *testing.T) *modem {
	m := &modem{}
	m.room = sync.NewCond(&m.mu)
	var err error
	if m.in, m.keys, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.hangUp()
		_ = m.keys.Close()
		_ = m.in.Close()
	})
	return m
}

func (m *modem) Write(p []byte) (n int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n < len(p) && !m.hung {
		for len(m.inside) == capacity && !m.hung {
			m.room.Wait()
		}
		part := p[n:min(len(p), n+capacity-len(m.inside))]
		m.inside = append(m.inside, part...)
		n += len(part)
	}
	if m.hung {
		return n, io.ErrClosedPipe
	}
	return n, nil
}

// hangUp drops the line.
func (m *modem) hangUp() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hung = true
	m.room.Broadcast()
}

// carry brings at most n bytes to the terminal, which answers questions, and
// reports how many it was.
func (m *modem) carry(n int) int {
	m.mu.Lock()
	n = min(n, len(m.inside))
	before := bytes.Count(m.shown.Bytes(), []byte(statusRequest))
	m.shown.Write(m.inside[:n])
	m.inside = m.inside[n:]
	questions := bytes.Count(m.shown.Bytes(), []byte(statusRequest)) - before
	m.room.Broadcast()
	m.mu.Unlock()
	if !m.deaf {
		_, _ = io.WriteString(m.keys, strings.Repeat(statusReply, questions))
	}
	return n
}

func (m *modem) screen() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shown.String()
}

func (m *modem) Read(p []byte) (int, error) { return m.in.Read(p) }
func (m *modem) Close() error               { return nil }
func (m *modem) Fd() uintptr                { return ^uintptr(0) }
func (m *modem) Abandoned()                 { m.abandoned.Store(true) }

// counter has a frame of a few thousand bytes for every number that it is told.
type counter struct {
	number int
	heard  *atomic.Int64 // keys
}

type counted int

func (counter) Init() tea.Cmd { return nil }

func (c counter) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg: // what is no file has none
		if msg.Width == 0 {
			return c, func() tea.Msg { return tea.WindowSizeMsg{Width: 80, Height: 24} }
		}
	case counted:
		c.number = int(msg)
	case tea.KeyPressMsg:
		c.heard.Add(1)
		if msg.String() == "q" {
			return c, tea.Quit
		}
	}
	return c, nil
}

func (c counter) View() tea.View {
	lines := make([]string, 24)
	for i := range lines {
		lines[i] = strings.Repeat(fmt.Sprintf("%09d ", c.number+i), 8)
	}
	view := tea.NewView(strings.Join(lines, "\n"))
	view.AltScreen = true
	return view
}

// dial runs a counter behind a modem.
func dial(t *testing.T, m *modem) (send func(tea.Msg), c counter, ended chan error) {
	t.Helper()
	c, ended = counter{heard: &atomic.Int64{}}, make(chan error, 1)
	sends := make(chan func(tea.Msg), 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(errors.New("the test is over")) })
	go func() {
		ended <- Run(ctx, cancel, c, Options{Input: m, Output: m, FPS: 60, onStart: func(send func(tea.Msg)) { sends <- send }})
	}()
	send = <-sends
	return send, c, ended
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// Behind a line that carries nothing, keys are heard, frames are neither drawn nor
// kept, and the last one comes when the line carries again.
func TestSlowLineDropsFramesOnly(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		t.Run(fmt.Sprint("deaf=", deaf), func(t *testing.T) {
			m := newModem(t)
			m.deaf = deaf
			send, c, ended := dial(t, m)
			eventually(
				t,
				"the first frame",
				func() bool { m.carry(capacity); return strings.Contains(m.screen(), "000000023") },
			)
			if !deaf {
				eventually(
					t,
					"the terminal's answer",
					func() bool { m.carry(capacity); return strings.Count(m.screen(), statusRequest) >= 2 },
				)
			}
			before := len(m.screen())
			for i := range 3000 {
				send(counted(1000 * i))
			}
			if _, err := io.WriteString(m.keys, strings.Repeat("j", 500)); err != nil {
				t.Fatal(err)
			}
			eventually(t, "every key", func() bool { return c.heard.Load() == 500 })
			eventually(
				t,
				"the last frame",
				func() bool { m.carry(capacity); return strings.Contains(m.screen(), "2999023") },
			)
			if n := len(m.screen()) - before; n > 2*capacity {
				t.Errorf("%d bytes of old frames came before it", n)
			}
			// One of the keys is the last.
			if _, err := io.WriteString(m.keys, "q"); err != nil {
				t.Fatal(err)
			}
			carrying(t, m, ended)
			if m.abandoned.Load() || !strings.Contains(m.screen(), "\x1b[?1049l") {
				t.Errorf("the terminal is not given back: %q", m.screen()[max(0, len(m.screen())-300):])
			}
		})
	}
}

// carrying waits for the end over a line that carries.
func carrying(t *testing.T, m *modem, ended chan error) {
	t.Helper()
	eventually(t, "the end", func() bool {
		m.carry(capacity)
		select {
		case err := <-ended:
			m.carry(capacity)
			if err != nil {
				t.Error(err)
			}
			return true
		default:
			return false
		}
	})
}

// A line that carries nothing any more keeps nobody from leaving.
func TestLeavingBehindABlockedLine(t *testing.T) {
	m := newModem(t)
	m.deaf = true // so that it is filled
	send, _, ended := dial(t, m)
	eventually(
		t,
		"the first frame",
		func() bool { m.carry(capacity); return strings.Contains(m.screen(), "000000023") },
	)
	eventually(t, "a full line", func() bool {
		send(tea.ClearScreen())
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.inside) == capacity
	})
	if _, err := io.WriteString(m.keys, "q"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	if !m.abandoned.Load() {
		t.Error("the terminal is taken to be given back")
	}
}

// Sizes and clearings that come while the line is busy are one at the end.
func TestSlowLineTakesTheLastSize(t *testing.T) {
	m := newModem(t)
	send, _, ended := dial(t, m)
	eventually(
		t,
		"the first frame",
		func() bool { m.carry(capacity); return strings.Contains(m.screen(), "000000023") },
	)
	eventually(
		t,
		"the terminal's answer",
		func() bool { m.carry(capacity); return strings.Count(m.screen(), statusRequest) >= 2 },
	)
	before := len(m.screen())
	for i := range 200 {
		send(tea.ClearScreen())
		send(tea.WindowSizeMsg{Width: 40 + i%50, Height: 10 + i%20})
	}
	send(tea.WindowSizeMsg{Width: 30, Height: 5})
	send(counted(7000))
	eventually(t, "the last frame", func() bool { m.carry(capacity); return strings.Contains(m.screen(), "000007004") })
	if n := len(m.screen()) - before; n > 2*capacity {
		t.Errorf("%d bytes came before it", n)
	}
	if _, err := io.WriteString(m.keys, "q"); err != nil {
		t.Fatal(err)
	}
	carrying(t, m, ended)
}

func TestDroppedLineEndsTheProgram(t *testing.T) {
	m := newModem(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	m.hangUp()
	err := Run(ctx, cancel, counter{heard: &atomic.Int64{}}, Options{Input: m, Output: m})
	if cause := context.Cause(ctx); err == nil || !errors.Is(cause, io.ErrClosedPipe) {
		t.Errorf("it ends with %v, because of %v", err, cause)
	}
}

// A second ctrl+z, before the terminal's last answer to the first, is no second stop.
func TestAStopIsHeldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no time passes while it runs
		l := newSlowTerminal(&screen{}, DetectKind("xterm"), func(err error) { t.Error(err) })
		sent := make(chan tea.Msg, 1)
		l.send = func(msg tea.Msg) { sent <- msg }
		go l.writeLoop()
		defer l.drainAndClose()
		if _, err := l.Write([]byte("frame")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if passed := l.filterMessage(tea.SuspendMsg{}); passed != nil {
				t.Errorf("%T passed while an answer was to come", passed)
			}
		}
		l.handleReply()
		if msg := <-sent; msg != (tea.SuspendMsg{}) {
			t.Errorf("sent was %T", msg)
		}
		l.mu.Lock()
		held := l.heldMessages.ending
		l.mu.Unlock()
		if held != nil {
			t.Errorf("%T is still held", held)
		}
	})
}
