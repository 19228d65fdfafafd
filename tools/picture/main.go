// Command picture makes the README's pictures from a real run: it starts `veltui
// demo` on a pseudo-terminal, presses the keys that the hints ask for, and writes what
// an emulator of the terminal shows as SVG, moving and still.
//
//	picture VELTUI FOLDER
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"
)

// The size of the terminal. The hints need 60x24.
const columns, rows = 96, 26

// step is what somebody does, and what comes of it.
type step struct {
	// keys are what is typed, and says is how the picture names them.
	keys, says string
	// until is what the screen shows then.
	until string
	// look is how long somebody looks at that.
	look time.Duration
	// still is the name of a picture of its own; empty for none.
	still string
}

// tour is the way that the demo's hints lead.
var tour = []step{
	{until: "Demo 1/4|crm-rollback", look: 7 * time.Second},
	{keys: "\r", says: "enter", until: "could not save", look: 6 * time.Second, still: "job"},
	{keys: "f", says: "f", until: "enter type the name", look: 6 * time.Second, still: "finalize"},
	{keys: "\r", says: "enter", until: "and press enter:", look: 2 * time.Second},
	{keys: "demo/crm-rollback", says: "the name", until: "▸ demo/crm-rollback", look: time.Second},
	{keys: "\r", says: "enter", until: "Velero has completed", look: 6 * time.Second},
	{keys: "\x1b", says: "esc", until: "[1 Overview]", look: 3 * time.Second},
	{keys: "\x1b", says: "esc", until: "STAGE", look: 3 * time.Second},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: picture VELTUI FOLDER")
	}
	cmd := exec.CommandContext(ctx, args[0], "demo", "--theme", "dark")
	// Sixteen colours: the picture gives them values that suit the page around it.
	cmd.Env = []string{"TERM=xterm", "LANG=C.UTF-8", "HOME=" + os.TempDir()}
	t, err := start(cmd)
	if err != nil {
		return err
	}
	defer t.stop()
	var film []frame
	for i, s := range tour {
		for _, key := range keysOf(s.keys) {
			if err := t.press(key); err != nil {
				return err
			}
			if len(s.keys) > 1 && key[0] >= ' ' { // typing
				film = append(film, t.film(ctx, 120*time.Millisecond, s.says)...)
			}
		}
		if err := t.wait(ctx, s.until); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		seen := t.film(ctx, s.look, s.says)
		film = append(film, seen...)
		if s.still != "" {
			if err := write(args[1], s.still, seen[len(seen)-1:]); err != nil {
				return err
			}
		}
	}
	return write(args[1], "tour", film)
}

func write(folder, name string, film []frame) error {
	path := filepath.Join(folder, name+".svg")
	text := draw(film, columns, rows)
	fmt.Printf("%s: %d frames, %d kB\n", path, len(film), len(text)/1000)
	return os.WriteFile(path, []byte(text), 0o644)
}
