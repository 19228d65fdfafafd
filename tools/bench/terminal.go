package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/x/vt"

	"github.com/veltui/veltui/internal/testbed"
)

// screenLimit is how long something on a screen is waited for.
const screenLimit = 3 * time.Minute

// terminal is a program on a terminal.
type terminal struct{ *testbed.Console }

func openTerminal(cmd *exec.Cmd, width, height int) (*terminal, error) {
	c, err := testbed.StartConsole(cmd, testbed.ConsoleOptions{Width: width, Height: height, DropReplies: true})
	if err != nil {
		return nil, err
	}
	return &terminal{c}, nil
}

// writtenBytes is how many bytes went to the terminal so far.
func (t *terminal) writtenBytes() int64 {
	n, _ := t.OutputSize()
	return int64(n)
}

// selectionRow is the row of the selection's sign, -1 if there is none.
func (t *terminal) selectionRow() int {
	row := -1
	t.WithEmulator(func(e *vt.Emulator) {
		for y := range e.Height() {
			for x := range 2 {
				if c := e.CellAt(x, y); row < 0 && c != nil && (c.Content == "▸" || c.Content == ">") {
					row = y
				}
			}
		}
	})
	return row
}

// waitUntil until something holds after some bytes were drawn, and returns when those
// bytes came.
func (t *terminal) waitUntil(
	ctx context.Context,
	what string,
	limit time.Duration,
	holds func() bool,
) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last time.Time
	err := t.WaitUntil(ctx, what, func() bool {
		_, last = t.OutputSize()
		return holds()
	})
	return last, err
}

// waitForWords waits until all words are on the screen.
func (t *terminal) waitForWords(ctx context.Context, words ...string) (time.Time, error) {
	return t.waitUntil(ctx, fmt.Sprintf("%q", words), screenLimit, func() bool {
		screen := t.ScreenText()
		for _, word := range words {
			if !strings.Contains(screen, word) {
				return false
			}
		}
		return true
	})
}

// stopProgram ends the program and all that it has started: its session's processes have
// its process id as their group.
func (t *terminal) stopProgram() {
	group := -t.Cmd.Process.Pid
	ended := make(chan struct{})
	go func() { _ = t.Cmd.Wait(); close(ended) }()
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
	t.Close()
	<-ended
}
