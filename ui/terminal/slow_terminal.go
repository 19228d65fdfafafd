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
	// chunkSize is the number of bytes written at once, slowChunkSize that for a slow terminal.
	chunkSize, slowChunkSize = 4 << 10, 256
	// maxQueuedBytes is the number of bytes that may wait; no frame is drawn while any bytes wait.
	maxQueuedBytes = 1 << 20
	// writeGrace is how long Write waits for the terminal to take the bytes.
	writeGrace = 20 * time.Millisecond
	// leaveGrace limits the wait for giving the terminal back, and for its last answer.
	leaveGrace = time.Second
	// statusEveryBytes is the number of bytes after which the terminal is asked whether it has received them.
	statusEveryBytes = 512
	// maxUnconfirmedBytes is the number of bytes that may follow an unanswered request.
	maxUnconfirmedBytes = 1 << 10
	// lateMargin is how much slower than the fastest answer an answer may be.
	lateMargin = 50 * time.Millisecond
	// A request expires after answerGrace plus the time that the bytes before it take at minBytesPerSecond.
	answerGrace       = 5 * time.Second
	minBytesPerSecond = 500
)

// statusRequest is DSR 5, which every terminal since the VT100 answers with statusReply.
const statusRequest, statusReply = "\x1b[5n", "\x1b[0n"

// slowTerminal writes to a terminal that may be slow: a serial console takes 1 kB per second. While bytes are on
// their way, no frame is drawn. From time to time the terminal is sent a status request, which it answers once it has
// read everything before. A terminal that does not answer is waited for only while the system takes no more bytes.
type slowTerminal struct {
	OutputFile
	kind   Kind
	onLost context.CancelCauseFunc
	send   func(tea.Msg) // sends a message to the program

	workReady  chan struct{} // capacity 1: there are bytes to write
	writerDone chan struct{}

	mu      sync.Mutex
	queue   []byte
	drained chan struct{} // closed when the queue is empty; nil while it is empty
	closed  bool          // no more bytes are written
	err     error         // the error of the last write

	hasWritten       bool
	unconfirmedBytes int       // bytes since the last request
	requestedAt      time.Time // the time of the unanswered request, zero if there is none
	replyTimer       *time.Timer
	answersRequests  bool          // true if the terminal answers requests
	fastestReply     time.Duration // the shortest time from request to answer

	lastFrame    tea.View // the last frame drawn
	hasFrame     bool
	heldMessages heldMessages
}

// heldMessages are the messages that wait until the terminal is ready.
type heldMessages struct {
	frameSkipped bool // true if a frame was not drawn
	resize       tea.Msg
	clearScreen  tea.Msg
	clipboard    tea.Msg // the last copy to the clipboard
	ending       tea.Msg // the program's end or stop, held until the terminal's last answer
}

// terminalReadyMsg says that held messages may continue.
type terminalReadyMsg struct{}

func newSlowTerminal(screen OutputFile, kind Kind, lost context.CancelCauseFunc) *slowTerminal {
	l := &slowTerminal{
		OutputFile: screen,
		kind:       kind,
		onLost:     lost,
		send:       func(tea.Msg) {},
		workReady:  make(chan struct{}, 1),
		writerDone: make(chan struct{}),
	}
	l.replyTimer = time.AfterFunc(time.Hour, l.expireReply)
	l.replyTimer.Stop()
	return l
}

// Write queues the bytes of a frame, and waits a moment for them to be written.
func (l *slowTerminal) Write(p []byte) (int, error) {
	l.mu.Lock()
	for len(l.queue) > maxQueuedBytes {
		empty := l.drained
		l.mu.Unlock()
		<-empty
		l.mu.Lock()
	}
	if l.closed || l.err != nil {
		defer l.mu.Unlock()
		return 0, l.err
	}
	if !l.hasWritten {
		l.hasWritten = true
		l.requestStatus() // measures how fast it answers while nothing else is on its way
	}
	l.queueBytes(l.kind.FilterSequences(p))
	if l.unconfirmedBytes += len(
		p,
	); l.unconfirmedBytes >= statusEveryBytes && l.requestedAt.IsZero() &&
		l.heldMessages.ending == nil {
		l.requestStatus()
	}
	empty := l.drained
	l.mu.Unlock()
	grace := writeGrace
	if bytes.Contains(p, []byte(ansi.ResetModeBracketedPaste)) {
		grace = leaveGrace // the shell's output follows
	}
	select {
	case <-empty:
	case <-time.After(grace):
	}
	return len(p), nil
}

func (l *slowTerminal) queueBytes(p []byte) {
	l.queue = append(l.queue, p...)
	if l.drained == nil {
		l.drained = make(chan struct{})
	}
	select {
	case l.workReady <- struct{}{}:
	default:
	}
}

// requestStatus asks the terminal whether it has received everything before.
func (l *slowTerminal) requestStatus() {
	l.queueBytes([]byte(statusRequest))
	l.requestedAt = time.Now()
	l.replyTimer.Reset(answerGrace + time.Duration(l.unconfirmedBytes)*time.Second/minBytesPerSecond)
	l.unconfirmedBytes = 0
}

func (l *slowTerminal) writeLoop() {
	for {
		select {
		case <-l.writerDone:
			return
		case <-l.workReady:
			if !l.writeQueue() {
				return
			}
		}
	}
}

func (l *slowTerminal) writeQueue() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := chunkSize
	for len(l.queue) > 0 && !l.closed {
		next := l.queue[:min(len(l.queue), size)]
		// Do not split sequences and characters.
		if end := bytes.LastIndexByte(next, '\x1b'); len(next) < len(l.queue) && end > 0 {
			next = next[:end]
		}
		l.mu.Unlock()
		began := time.Now()
		n, err := l.OutputFile.Write(next)
		if size = chunkSize; time.Since(began) > writeGrace {
			size = slowChunkSize
		}
		l.mu.Lock()
		if err != nil {
			l.closed, l.err = true, err
			l.onLost(fmt.Errorf("writing to the terminal: %w", err))
			break
		}
		l.queue = l.queue[n:]
	}
	l.queue = nil
	if l.drained != nil {
		close(l.drained)
		l.drained = nil
	}
	l.resumeHeld()
	return !l.closed
}

// isBusy reports whether so many bytes are on their way that a frame would be late.
func (l *slowTerminal) isBusy() bool {
	late := time.Since(l.requestedAt) > l.fastestReply+lateMargin || l.unconfirmedBytes > maxUnconfirmedBytes
	return len(l.queue) > 0 || l.answersRequests && !l.requestedAt.IsZero() && late
}

// renderFrame returns the model's frame or, while the terminal is busy, the last frame again.
func (l *slowTerminal) renderFrame(model tea.Model) tea.View {
	l.mu.Lock()
	if l.hasFrame && l.isBusy() {
		defer l.mu.Unlock()
		l.heldMessages.frameSkipped = true
		return l.lastFrame
	}
	l.mu.Unlock()
	frame := cleanView(model.View())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastFrame, l.hasFrame = frame, true
	return frame
}

// resumeHeld lets held messages continue if the terminal is ready.
func (l *slowTerminal) resumeHeld() {
	if waits := l.heldMessages.frameSkipped || l.heldMessages.resize != nil || l.heldMessages.clearScreen != nil ||
		l.heldMessages.clipboard != nil; waits &&
		!l.isBusy() {
		l.heldMessages.frameSkipped = false
		go l.send(terminalReadyMsg{})
	}
	if l.heldMessages.ending != nil && !l.awaitsReply() {
		go l.send(l.heldMessages.ending)
		l.heldMessages.ending = nil
	}
}

// awaitsReply reports whether an answer is still expected, which would otherwise go to the next reader of the
// keyboard.
func (l *slowTerminal) awaitsReply() bool {
	return !l.requestedAt.IsZero() && (l.answersRequests || time.Since(l.requestedAt) < leaveGrace)
}

func (l *slowTerminal) handleReply() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.requestedAt.IsZero() {
		return
	}
	if took := time.Since(l.requestedAt); !l.answersRequests || took < l.fastestReply {
		l.fastestReply = took
	}
	l.answersRequests = true
	l.clearRequest()
	if l.unconfirmedBytes >= statusEveryBytes && l.heldMessages.ending == nil {
		l.requestStatus()
	}
	l.resumeHeld()
}

func (l *slowTerminal) expireReply() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answersRequests = false
	l.clearRequest()
	l.resumeHeld()
}

func (l *slowTerminal) clearRequest() {
	l.requestedAt = time.Time{}
	l.replyTimer.Stop()
}

var (
	clearScreenType  = reflect.TypeOf(tea.ClearScreen())
	setClipboardType = reflect.TypeOf(tea.SetClipboard("")())
)

// filterMessage handles the terminal's answers, and holds back large writes while the terminal is busy.
func (l *slowTerminal) filterMessage(msg tea.Msg) tea.Msg {
	if v := reflect.ValueOf(msg); v.Kind() == reflect.String && v.String() == statusReply {
		l.handleReply()
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch msg.(type) {
	case terminalReadyMsg:
		return l.nextHeldMessage()
	case tea.QuitMsg, tea.SuspendMsg:
		if _, stops := msg.(tea.SuspendMsg); stops && l.heldMessages.ending != nil {
			return nil // else the held message would stop the program again when it continues
		}
		if l.heldMessages.ending == nil && l.awaitsReply() {
			l.heldMessages.ending = msg
			time.AfterFunc(leaveGrace, l.endWithoutReply)
			return nil
		}
		return msg
	case tea.ResumeMsg:
		l.clearRequest() // another program had the terminal meanwhile, and read the answer
		l.resumeHeld()
		return msg
	}
	if !l.hasFrame || !l.isBusy() {
		return msg
	}
	switch reflect.TypeOf(msg) {
	case reflect.TypeFor[tea.WindowSizeMsg]():
		l.heldMessages.resize = msg
	case clearScreenType:
		l.heldMessages.clearScreen = msg
	case setClipboardType:
		l.heldMessages.clipboard = msg
	default:
		return msg
	}
	return nil
}

// endWithoutReply ends the program without the terminal's last answer.
func (l *slowTerminal) endWithoutReply() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.heldMessages.ending != nil {
		l.clearRequest()
		l.resumeHeld()
	}
}

// nextHeldMessage returns the next held message, or terminalReadyMsg if there is none. A new size clears the screen
// too.
func (l *slowTerminal) nextHeldMessage() tea.Msg {
	h := &l.heldMessages
	for _, next := range []*tea.Msg{&h.resize, &h.clearScreen, &h.clipboard} {
		if *next == nil {
			continue
		}
		msg := *next
		if *next = nil; next == &h.resize {
			h.clearScreen = nil
		}
		l.resumeHeld()
		return msg
	}
	return terminalReadyMsg{}
}

// drainAndClose waits for the last bytes, and reports whether all bytes were written.
func (l *slowTerminal) drainAndClose() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if empty := l.drained; empty != nil {
		l.mu.Unlock()
		select {
		case <-empty:
		case <-time.After(leaveGrace):
		}
		l.mu.Lock()
	}
	l.replyTimer.Stop()
	done := l.drained == nil && l.err == nil
	l.closed = true
	close(l.writerDone)
	return done
}
