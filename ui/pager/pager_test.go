package pager

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
)

func canvas(t *testing.T, width, height int) draw.Canvas {
	t.Helper()
	theme, err := draw.LoadTheme("mono")
	if err != nil {
		t.Fatal(err)
	}
	return draw.Canvas{Width: width, Height: height, Theme: theme, Glyphs: &draw.ASCIIGlyphs}
}

// numbered are lines of which every third can be selected.
func numbered(n int, selectable bool) Lines {
	lines := make(Lines, n)
	for i := range lines {
		lines[i].Text = fmt.Sprintf("line %d", i)
		if selectable && i%3 == 0 {
			lines[i].Key = fmt.Sprint(i)
		}
	}
	return lines
}

func texts(p *Pager, c draw.Canvas) []string {
	lines := p.View(c)
	for i := range lines {
		lines[i] = strings.TrimRight(ansi.Strip(lines[i]), " ")
	}
	return lines
}

func check(t *testing.T, p *Pager, c draw.Canvas, want ...string) {
	t.Helper()
	if got := texts(p, c); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestScroll(t *testing.T) {
	c := canvas(t, 20, 3)
	p := New(nil)
	check(t, p, c, "", "", "")
	p.SetSource(numbered(10, false))
	check(t, p, c, "line 0", "line 1", "line 2")
	p.ApplyMotion(keys.Down)
	check(t, p, c, "line 1", "line 2", "line 3")
	p.ApplyMotion(keys.Bottom)
	check(t, p, c, "line 7", "line 8", "line 9")
	p.ApplyMotion(keys.Down)
	p.ApplyMotion(keys.PageUp)
	check(t, p, c, "line 5", "line 6", "line 7")
	if p.LinesBelow() != 2 {
		t.Errorf("%d more", p.LinesBelow())
	}
	p.SetSource(numbered(4, false)) // fewer lines now: the end stays in sight
	check(t, p, c, "line 1", "line 2", "line 3")
	p.ApplyMotion(keys.Top)
	check(t, p, c, "line 0", "line 1", "line 2")
}

func TestSelection(t *testing.T) {
	c := canvas(t, 20, 4)
	p := New(nil)
	p.SetSource(numbered(20, true))
	p.View(c)
	for _, step := range []struct {
		move keys.Motion
		want string
	}{{keys.Down, "3"}, {keys.Down, "6"}, {keys.Up, "3"}, {keys.Bottom, "18"}, {keys.Up, "15"}, {keys.Top, "0"}, {keys.PageDown, "3"}, {keys.Up, "0"}} {
		p.ApplyMotion(step.move)
		p.View(c)
		if got := p.SelectedKey(); got != step.want {
			t.Errorf("after %d: %q selected, want %q", step.move, got, step.want)
		}
		if from, to := p.VisibleRange(); p.cursor < from || p.cursor >= to {
			t.Errorf("the selected line %d is not in [%d,%d)", p.cursor, from, to)
		}
	}
	p.ApplyMotion(keys.Down)
	p.SetSource(append(Lines{{Text: "new", Key: "new"}}, numbered(20, true)...))
	if got := p.SelectedKey(); got != "3" {
		t.Errorf("with a new line above, %q is selected", got)
	}
	p.SetSource(numbered(1, true))
	p.View(c)
	if got := p.SelectedKey(); got != "0" {
		t.Errorf("with the selected line gone, %q is selected", got)
	}
}

// The rows of a line that is wrapped are scrolled one by one.
func TestWrap(t *testing.T) {
	c := canvas(t, 4, 3)
	p := New(nil)
	p.wrapAll = true
	p.SetSource(PlainLines([]string{"abcdefghijklmnop", "x"}))
	check(t, p, c, "abcd", "efgh", "ijkl")
	p.ApplyMotion(keys.Down)
	check(t, p, c, "efgh", "ijkl", "mnop")
	p.ApplyMotion(keys.Down)
	p.ApplyMotion(keys.Down)
	check(t, p, c, "ijkl", "mnop", "x")
	p.ApplyMotion(keys.Up)
	p.ApplyMotion(keys.Up)
	check(t, p, c, "abcd", "efgh", "ijkl")
}

func TestFollow(t *testing.T) {
	c := canvas(t, 20, 2)
	p := New(nil)
	p.CanFollow, p.FollowEnd = true, true
	p.SetSource(numbered(3, false))
	check(t, p, c, "line 1", "line 2")
	p.SetSource(numbered(6, false))
	check(t, p, c, "line 4", "line 5")
	p.ApplyMotion(keys.Up)
	p.SetSource(numbered(9, false))
	check(t, p, c, "line 3", "line 4")
	p.ApplyMotion(keys.Bottom)
	p.SetSource(numbered(10, false))
	check(t, p, c, "line 8", "line 9")
}

// key acts as the pager's binding of a key does, or types it.
func key(p *Pager, name string) tea.Cmd {
	msg := tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
	if name == "enter" {
		msg = tea.KeyPressMsg{Code: tea.KeyEnter}
	}
	if p.IsTyping() {
		cmd, _ := p.Update(msg)
		return cmd
	}
	if b := keys.FindByKey(p.Bindings(), name); b != nil {
		return b.Do(name)
	}
	return nil
}

func TestSearch(t *testing.T) {
	c := canvas(t, 20, 3)
	p := New(nil)
	p.SetSource(numbered(25, false))
	p.View(c)
	for _, k := range []string{"/", "E", " ", "2", "enter"} {
		key(p, k)
	}
	if got := p.SearchStatus(); got != "/e 2 1 of 6" {
		t.Error(got)
	}
	for _, want := range []string{"/e 2 2 of 6", "/e 2 3 of 6"} {
		key(p, "n")
		if got := p.SearchStatus(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if from, to := p.VisibleRange(); from > 21 || to <= 21 {
		t.Errorf("the hit at 21 is not in [%d,%d)", from, to)
	}
	key(p, "N")
	key(p, "N")
	key(p, "N")
	if got := p.SearchStatus(); got != "/e 2 6 of 6" {
		t.Errorf("round the beginning: %s", got)
	}
	for _, k := range []string{"/", "x", "y", "enter"} {
		key(p, k)
	}
	if got := p.SearchStatus(); got != "xy is not here" {
		t.Error(got)
	}
}

// endless is a Finder.
type endless struct{ Lines }

func (e endless) FindLine(ctx context.Context, text string, from int, _ bool) (int, error) {
	if text == "bad" {
		return 0, errors.New("the disk is gone")
	}
	return from + 7, ctx.Err()
}

// asking is a pager that searches in commands.
func asking(t *testing.T) *Pager {
	return New(
		&fetch.Requester{Clock: time.Now, Start: func(work func(context.Context) tea.Msg) (tea.Cmd, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			return func() tea.Msg { return work(ctx) }, cancel
		}},
	)
}

func deliver(msg tea.Msg) { msg.(fetch.Message).Deliver() }

// Hits among many lines are counted as among few, also after lines have come.
func TestManyLines(t *testing.T) {
	for name, p := range map[string]*Pager{"in a command": asking(t), "on the spot": New(nil)} {
		c := canvas(t, 40, 5)
		press := func(k string) {
			if cmd := key(p, k); cmd != nil && !p.IsTyping() {
				deliver(cmd())
			}
			p.View(c)
		}
		expect := func(want string) {
			t.Helper()
			if got := p.SearchStatus(); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		p.SetSource(numbered(30, false))
		p.View(c)
		for _, k := range []string{"/", "e", " ", "2", "enter", "n"} {
			press(k)
		}
		expect("/e 2 2 of 11")
		p.SetSource(numbered(3000, false))
		p.View(c)
		expect("/e 2")
		press("n")
		expect("/e 2 3 of 1111")
		press("N")
		press("N")
		press("N")
		expect("/e 2 1111 of 1111")
		p.SetSource(numbered(2, false))
		press("n")
		expect("e 2 is not here")
		p.SetSource(numbered(3000, false))
		p.View(c)
		press("n")
		expect("/e 2 1 of 1111")
	}
}

func TestFinder(t *testing.T) {
	c := canvas(t, 40, 3)
	p := asking(t)
	p.SetSource(endless{numbered(100, false)})
	p.View(c)
	search := func(text string) tea.Cmd {
		key(p, "/")
		for _, r := range text {
			key(p, string(r))
		}
		return key(p, "enter")
	}
	old := search("old")
	cmd := search("seven")
	if got := p.SearchStatus(); got != "searching for seven" {
		t.Error(got)
	}
	deliver(old()) // too late: it changes nothing
	if from, _ := p.VisibleRange(); from != 0 {
		t.Error("an old search moved the window")
	}
	deliver(cmd())
	if from, to := p.VisibleRange(); p.SearchStatus() != "/seven" || from > 7 || to <= 7 {
		t.Errorf("%s at [%d,%d)", p.SearchStatus(), from, to)
	}
	deliver(search("bad")())
	if got := p.SearchStatus(); got != "the search failed: the disk is gone" {
		t.Error(got)
	}
}

// Whatever is done with it, a pager fills its window and no more, and what is
// selected can be selected.
func TestAnyOrderOfEvents(t *testing.T) {
	theme := canvas(t, 1, 1).Theme
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		p := New(nil)
		for range 60 {
			switch rnd.IntN(8) {
			case 0:
				lines := numbered(rnd.IntN(40), rnd.IntN(2) == 0)
				for i := range lines {
					lines[i].Text = strings.Repeat("wide 漢字 ", rnd.IntN(6)) + lines[i].Text
				}
				p.SetSource(lines)
			case 1:
				p.wrapAll = !p.wrapAll
			case 2:
				p.FollowEnd, p.CanFollow = rnd.IntN(2) == 0, true
			case 3:
				p.GoToLine(rnd.IntN(50) - 5)
			case 4:
				for _, k := range []string{"/", "w", "i", "enter", "n", "N"} {
					key(p, k)
				}
			case 5:
				p.Reset()
			default:
				p.ApplyMotion(keys.Motion(rnd.IntN(8)))
			}
			c := draw.Canvas{Width: 2 * rnd.IntN(15), Height: rnd.IntN(12), Theme: theme, Glyphs: &draw.ASCIIGlyphs}
			lines := p.View(c)
			if len(lines) != c.Height {
				t.Fatalf("seed %d: %d lines in a window of %d", seed, len(lines), c.Height)
			}
			for _, line := range lines {
				if ansi.StringWidth(line) > c.Width {
					t.Fatalf(
						"seed %d: a line of %d cells in a window of %d: %q",
						seed,
						ansi.StringWidth(line),
						c.Width,
						line,
					)
				}
			}
			if p.cursor >= 0 && p.SelectedKey() == "" {
				t.Fatalf("seed %d: line %d is selected, and cannot be", seed, p.cursor)
			}
		}
	}
}

// What was found, and what is selected, stays in sight when the window shrinks by
// the line that says so.
func TestSmallerWindow(t *testing.T) {
	c := canvas(t, 20, 5)
	for name, selectable := range map[string]bool{"plain": false, "selectable": true} {
		p := New(nil)
		p.SetSource(numbered(10, selectable))
		p.View(c)
		for _, k := range []string{"/", "e", " ", "9", "enter"} {
			key(p, k)
		}
		p.View(c)
		if got := strings.Join(texts(p, c.WithSize(20, 4)), "|"); !strings.Contains(got, "line 9") {
			t.Errorf("%s: the hit is hidden: %s", name, got)
		}
	}
}
