package main

import (
	"context"
	"fmt"
	"image/color"
	"os/exec"
	"strings"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"

	"github.com/veltui/veltui/internal/testbed"
)

// patience is how long a step may take.
const patience = 90 * time.Second

// terminal is a program on a terminal.
type terminal struct{ *testbed.Console }

func start(cmd *exec.Cmd) (*terminal, error) {
	c, err := testbed.StartConsole(cmd, testbed.ConsoleOptions{Width: columns, Height: rows})
	if err != nil {
		return nil, err
	}
	return &terminal{c}, nil
}

// stop quits the program and waits for its end.
func (t *terminal) stop() {
	_ = t.press("\x03")
	_ = t.Cmd.Wait()
	t.Close()
}

func (t *terminal) press(key string) error { return t.SendKeys(key) }

// keysOf are the keys of a text, one by one.
func keysOf(text string) []string { return strings.Split(text, "") }

// wait returns once the screen shows all of some texts, which | divides.
func (t *terminal) wait(ctx context.Context, until string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return t.WaitForText(ctx, strings.Split(until, "|")...)
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
	f := frame{says: says}
	t.WithEmulator(func(e *vt.Emulator) { f.rows = rowsOf(e) })
	return f
}

// rowsOf returns what an emulator shows, in runs of equal looks.
func rowsOf(e *vt.Emulator) (all [][]span) {
	for y := range rows {
		var row []span
		for x := 0; x < columns; {
			text, style, width := " ", look{}, 1
			if cell := e.CellAt(x, y); cell != nil {
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
		all = append(all, row)
	}
	return all
}

func styleOf(cell *uv.Cell) look {
	s := cell.Style
	l := look{
		fg:         class(s.Fg),
		bg:         class(s.Bg),
		bold:       s.Attrs&uv.AttrBold != 0,
		faint:      s.Attrs&uv.AttrFaint != 0,
		underlined: s.Underline != 0,
	}
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
