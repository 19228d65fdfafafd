package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hinshun/vt10x"

	"github.com/veltui/veltui/testbed"
)

// patience is how long something on a screen is waited for.
const patience = 3 * time.Minute

// terminal is a program on a pseudo-terminal, with an emulator that reads what it
// draws and notes when.
type terminal struct {
	cmd           *exec.Cmd
	tty           *os.File
	width, height int

	mu       sync.Mutex
	emulator vt10x.Terminal
	bytes    int64
	heard    time.Time // when the last bytes came
	// more has a value when something was drawn since it was last taken.
	more  chan struct{}
	ended chan struct{}
}

func open(cmd *exec.Cmd, width, height int) (*terminal, error) {
	tty, err := testbed.OnTerminal(cmd, uint16(width), uint16(height))
	if err != nil {
		return nil, err
	}
	t := &terminal{cmd: cmd, tty: tty, width: width, height: height, emulator: vt10x.New(vt10x.WithSize(width, height)),
		more: make(chan struct{}, 1), ended: make(chan struct{})}
	go t.read()
	return t, nil
}

func (t *terminal) read() {
	defer close(t.ended)
	buffer := make([]byte, 64<<10)
	for {
		n, err := t.tty.Read(buffer)
		at := time.Now()
		t.mu.Lock()
		t.bytes += int64(n)
		if n > 0 {
			t.heard = at
			_, _ = t.emulator.Write(buffer[:n])
		}
		t.mu.Unlock()
		select {
		case t.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// written is how many bytes went to the terminal so far.
func (t *terminal) written() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bytes
}

// screen is what a person sees.
func (t *terminal) screen() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.emulator.String()
}

// pointer is the row of the selection's sign, -1 if there is none.
func (t *terminal) pointer() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for y := range t.height {
		for x := range 2 {
			if c := t.emulator.Cell(x, y).Char; c == '▸' || c == '>' {
				return y
			}
		}
	}
	return -1
}

// waits until something holds after some bytes were drawn, and returns when those
// bytes came.
func (t *terminal) waits(ctx context.Context, what string, limit time.Duration, holds func() bool) (time.Time, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		t.mu.Lock()
		at := t.heard
		t.mu.Unlock()
		if holds() {
			return at, nil
		}
		select {
		case <-t.more:
		case <-t.ended:
			return at, fmt.Errorf("%s ended while we waited for %s; its screen:\n%s", t.cmd.Path, what, t.screen())
		case <-timer.C:
			return at, fmt.Errorf("waited %s in vain for %s; the screen of %s:\n%s", limit, what, t.cmd.Path, t.screen())
		case <-ctx.Done():
			return at, ctx.Err()
		}
	}
}

// sees waits until all words are on the screen.
func (t *terminal) sees(ctx context.Context, words ...string) (time.Time, error) {
	return t.waits(ctx, fmt.Sprintf("%q", words), patience, func() bool {
		screen := t.screen()
		for _, word := range words {
			if !strings.Contains(screen, word) {
				return false
			}
		}
		return true
	})
}

// stop ends the program and all that it has started: its session's processes have
// its process id as their group.
func (t *terminal) stop() {
	group := -t.cmd.Process.Pid
	ended := make(chan struct{})
	go func() { _ = t.cmd.Wait(); close(ended) }()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(group, sig); errors.Is(err, syscall.ESRCH) {
			break
		}
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			continue
		}
		break
	}
	_ = t.tty.Close()
	<-t.ended
	<-ended
}
