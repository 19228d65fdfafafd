package main

import (
	"context"
	"fmt"
	"image/color"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// patience is how long a step may take.
const patience = 90 * time.Second

// terminal is a program on a pseudo-terminal, and the emulator that shows it.
type terminal struct {
	cmd *exec.Cmd
	tty *os.File

	mu       sync.Mutex
	emulator *vt.Emulator
}

func start(cmd *exec.Cmd) (*terminal, error) {
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: rows, Cols: columns})
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	t := &terminal{cmd: cmd, tty: tty, emulator: vt.NewEmulator(columns, rows)}
	go func() { _, _ = io.Copy(tty, t.emulator) }() // its answers
	go func() {
		buffer := make([]byte, 64<<10)
		for {
			n, err := tty.Read(buffer)
			if err != nil {
				return
			}
			t.mu.Lock()
			_, _ = t.emulator.Write(buffer[:n])
			t.mu.Unlock()
		}
	}()
	return t, nil
}

// stop quits the program and waits for its end.
func (t *terminal) stop() {
	_ = t.press("\x03")
	_ = t.cmd.Wait()
	_ = t.tty.Close()
}

func (t *terminal) press(key string) error {
	if _, err := t.tty.WriteString(key); err != nil {
		return fmt.Errorf("pressing a key: %w", err)
	}
	return nil
}

// keysOf are the keys of a text, one by one.
func keysOf(text string) []string { return strings.Split(text, "") }

// wait returns once the screen shows all of some texts, which | divides.
func (t *terminal) wait(ctx context.Context, until string) error {
	end := time.Now().Add(patience)
	for {
		shown := strings.Join(t.frame("").texts(), "\n")
		missing := ""
		for text := range strings.SplitSeq(until, "|") {
			if !strings.Contains(shown, text) {
				missing = text
			}
		}
		switch {
		case missing == "":
			return nil
		case time.Now().After(end) || ctx.Err() != nil:
			return fmt.Errorf("the screen does not show %q:\n%s", missing, shown)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// film is what the screen shows for a while, ten times a second; frames that do not
// differ are one.
func (t *terminal) film(ctx context.Context, look time.Duration, says string) (film []frame) {
	const each = 100 * time.Millisecond
	for range look / each {
		f := t.frame(says)
		if n := len(film); n > 0 && film[n-1].same(f) {
			film[n-1].lasts += each
		} else {
			f.lasts = each
			film = append(film, f)
		}
		if ctx.Err() != nil {
			break
		}
		time.Sleep(each)
	}
	return film
}

// frame is what the screen shows now.
func (t *terminal) frame(says string) frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := frame{says: says}
	for y := range rows {
		var row []span
		for x := 0; x < columns; {
			text, style, width := " ", look{}, 1
			if cell := t.emulator.CellAt(x, y); cell != nil {
				style, width = styleOf(cell), max(cell.Width, 1)
				if cell.Content != "" {
					text = cell.Content
				}
			}
			if n := len(row); n > 0 && row[n-1].look == style {
				row[n-1].text += text
				row[n-1].cells += width
			} else {
				row = append(row, span{at: x, cells: width, text: text, look: style})
			}
			x += width
		}
		f.rows = append(f.rows, row)
	}
	return f
}

func styleOf(cell *uv.Cell) look {
	s := cell.Style
	l := look{fg: class(s.Fg), bg: class(s.Bg), bold: s.Attrs&uv.AttrBold != 0, faint: s.Attrs&uv.AttrFaint != 0, underlined: s.Underline != 0}
	if s.Attrs&uv.AttrReverse != 0 {
		l.fg, l.bg = l.bg, l.fg
		if l.fg == "" {
			l.fg = "paper"
		}
		if l.bg == "" {
			l.bg = "ink"
		}
	}
	return l
}

// class names a colour: one of the sixteen, or the terminal's own.
func class(c color.Color) string {
	switch c := c.(type) {
	case nil:
		return ""
	case ansi.BasicColor:
		return fmt.Sprintf("c%d", c)
	case ansi.IndexedColor:
		return fmt.Sprintf("c%d", c)
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}
