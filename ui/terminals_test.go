package ui

import (
	"context"
	"errors"
	"fmt"
	"image/color"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/testbed"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// patience is how long a busy machine may take to draw a frame.
const patience = 2 * time.Minute

// emulator is a terminal with the dashboard on it.
type emulator struct{ *testbed.Console }

// newEmulator runs the dashboard on an emulator until the test ends.
func newEmulator(t *testing.T, o Options, background color.Color, size [2]int) (e *emulator, ended chan error) {
	t.Helper()
	c, tty, err := testbed.OpenConsole(testbed.ConsoleOptions{Width: size[0], Height: size[1], Background: background})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); _ = tty.Close(); c.Close() })
	ended = make(chan error, 1)
	o.Input, o.Output, o.FPS = tty, tty, 60
	go func() { _, err := Run(ctx, o); ended <- err }()
	return &emulator{c}, ended
}

// resize tells the program of a new size.
func (e *emulator) resize(t *testing.T, size [2]int) {
	t.Helper()
	if err := e.Resize(size[0], size[1]); err != nil {
		t.Fatal(err)
	}
	// The system tells only the process whose terminal it is.
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}
}

func (e *emulator) types(t *testing.T, keys string) {
	t.Helper()
	if err := e.SendKeys(keys); err != nil {
		t.Fatal(err)
	}
}

// waits waits until something holds.
func (e *emulator) waits(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := e.WaitUntil(ctx, what, holds); err != nil {
		t.Fatal(err)
	}
}

// cells are what each cell of an emulator holds, a row a line: its text, with
// styles also its colours and attributes.
func cells(v *vt.Emulator, styles bool) string {
	var b strings.Builder
	for y := range v.Height() {
		for x := range v.Width() {
			switch cell := v.CellAt(x, y); {
			case cell == nil || cell.Width == 0 && cell.Content == "": // the second half of a wide one
			case cell.Content == " " && cell.Style.Bg == nil && cell.Style.Attrs&(uv.AttrReverse) == 0: // whose colour nobody sees
				b.WriteByte(' ')
			case cell.Content == " " && cell.Style.Attrs&uv.AttrReverse == 0:
				fmt.Fprintf(&b, " <%v>", cell.Style.Bg)
			case styles && !cell.Style.IsZero():
				fmt.Fprintf(&b, "%s<%s>", cell.Content, cell.Style.String())
			default:
				b.WriteString(cell.Content)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// meant is a model's frame as an emulator draws it that was given nothing else.
func meant(m *Model, styles bool) string {
	v := vt.NewEmulator(m.width, m.height)
	defer func() { _ = v.Close() }()
	_, _ = v.WriteString(strings.ReplaceAll(sanitize.Frame(m.View().Content), "\n", "\r\n"))
	return cells(v, styles)
}

// shows waits until the terminal shows what the model means, cell by cell.
func (e *emulator) shows(t *testing.T, after string, m *Model, styles bool) {
	t.Helper()
	want := meant(m, styles)
	var got string
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := e.WaitUntil(ctx, "the frame of "+after, func() bool {
		e.WithEmulator(func(v *vt.Emulator) { got = cells(v, styles) })
		return got == want
	})
	if err == nil {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("after %s at %dx%d row %d shows\n%q, meant is\n%q", after, m.width, m.height, i+1, g[i], w[i])
		}
	}
	t.Fatalf("after %s: %d rows, meant are %d", after, len(g), len(w))
}

// scripts is a snapshot with names of which terminals know least: wide characters,
// combining marks, emoji of several runes, and writing from right to left.
func scripts() *watch.Snapshot {
	snap := stageful()
	for i, name := range []string{"復元-データ-本番", "cafe\u0301-te\u0302te", "family-👩\u200d👩\u200d👧-🚀", "שלום-עולם-גיבוי", "नमस्ते-क्षत्रिय", "한국어-백업", "flags-🇩🇪🇯🇵", "مرحبا"} {
		name = sanitize.FullLine(name)
		j := restoreJob(
			name,
			name,
			time.Hour,
			veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress, StartTimestamp: ptr(ago(time.Hour)),
				Progress: &veleroapi.RestoreProgress{ItemsRestored: i, TotalItems: 140}},
			42*time.Minute,
		)
		snap.Jobs = append(snap.Jobs, j)
		snap.Active = append(snap.Active, j)
	}
	return snap
}

// journey is what is done on each size of a terminal, by key.
var journey = []string{"?", "?", "2", "j", "enter", "8", "esc", "4", "5", "1"}

// sizes of a terminal, one after the other.
var matrixSizes = [][2]int{{80, 24}, {20, 5}, {40, 12}, {120, 40}, {200, 60}, {300, 100}, {80, 24}}

// foreign are sequences that a terminal does not know. Of all the others they are
// those that Bubble Tea's renderer sends.
var (
	anyColor   = regexp.MustCompile(`\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;\d+)*m`)
	manyColors = regexp.MustCompile(`\x1b\[(?:\d+;)*[34]8[;:][\d;:]*m`)
	window     = regexp.MustCompile(`\x1b\]`)
	modern     = regexp.MustCompile(`\x1b\[[<>=]|\x1b\[\?(?:1049|20\d\d|100\d)|\x1b\[\?u|\$p|\?5W`)
)

// What the terminal's cells hold is what the program meant, on every kind of
// terminal, with each size, after each key; and only what the terminal knows is
// sent to it.
func TestTerminals(t *testing.T) {
	dark, light := color.RGBA{0, 0, 0, 255}, color.RGBA{255, 255, 255, 255}
	solarizedDark, solarizedLight := color.RGBA{0, 0x2b, 0x36, 255}, color.RGBA{0xfd, 0xf6, 0xe3, 255}
	for _, test := range []struct {
		name, term     string
		background     color.Color
		theme          string // that is meant
		ascii, noColor bool
		colors         colorprofile.Profile
		foreign        []*regexp.Regexp
	}{
		{"xterm-256color", "xterm-256color", dark, "dark", false, false, colorprofile.ANSI256, nil},
		{"xterm on white", "xterm", light, "light", false, false, colorprofile.ANSI, []*regexp.Regexp{manyColors}},
		{"screen on Solarized dark", "screen", solarizedDark, "dark", false, false, colorprofile.ANSI256, nil},
		{"tmux-256color on Solarized light", "tmux-256color", solarizedLight, "light", false, false, colorprofile.ANSI256, nil},
		{"linux", "linux", dark, "dark", true, false, colorprofile.ANSI, []*regexp.Regexp{manyColors, window, modern}},
		{"vt100", "vt100", dark, "mono", true, true, colorprofile.ASCII, []*regexp.Regexp{anyColor, window, modern}},
		{"vt220", "vt220", dark, "mono", true, true, colorprofile.ASCII, []*regexp.Regexp{anyColor, window, modern}},
		{"NO_COLOR", "xterm-256color", dark, "mono", false, true, colorprofile.ASCII, []*regexp.Regexp{anyColor}},
		{"LANG=C", "xterm-256color", dark, "dark", true, false, colorprofile.ANSI256, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			source := &scripted{snapshots: make(chan *watch.Snapshot, 1), retries: make(chan struct{}, 1)}
			var o Options
			m := screen(t, scripts(), matrixSizes[0][0], matrixSizes[0][1], func(p *Options) {
				p.ASCII, p.NoColor, p.Theme = test.ascii, test.noColor, test.theme
				o = *p
			})
			fake(&o).source, o.Theme, o.Term, o.TickInterval = source, "auto", test.term, time.Hour
			source.snapshots <- scripts()
			m.Update(tea.ColorProfileMsg{Profile: test.colors})
			e, ended := newEmulator(t, o, test.background, matrixSizes[0])
			// The emulator has no insert mode, which a VT has: what that shows is
			// right only where it is drawn whole.
			vt := strings.HasPrefix(test.term, "vt")
			styles := !vt
			e.shows(t, "the start", m, styles)
			sizes := matrixSizes[1:]
			if !testbed.WantsMore() {
				sizes = sizes[:2]
			}
			for _, size := range sizes {
				e.ReplaceScreen(size[0], size[1])
				e.resize(t, size)
				m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
				e.shows(t, "resizing", m, styles)
				for _, key := range journey {
					if vt {
						break
					}
					press(t, m, key)
					e.types(
						t,
						map[string]string{"enter": "\r", "esc": "\x1b"}[key]+strings.TrimPrefix(
							strings.TrimPrefix(key, "enter"),
							"esc",
						),
					)
					e.shows(t, "key "+key, m, styles)
				}
			}
			e.types(t, "q")
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(patience):
				t.Fatal("it does not end")
			}
			shown := func(raw string) bool {
				return strings.LastIndex(raw, "\x1b[?25h") > strings.LastIndex(raw, "\x1b[?25l")
			}
			e.waits(t, "the cursor", func() bool { return shown(e.OutputText()) })
			raw := e.OutputText()
			for _, foreign := range test.foreign {
				if at := foreign.FindStringIndex(raw); at != nil {
					t.Errorf("%s is sent %q", test.term, raw[at[0]:at[1]])
				}
			}
		})
	}
}

// Two hundred sizes while keys come: the last size is drawn right, and no key is
// lost.
func TestResizeStorm(t *testing.T) {
	testbed.RequireMore(t)
	if testing.Short() {
		t.Skip("under the race detector the emulator, which draws 200 frames of up to 300x100, is too slow")
	}
	t.Parallel()
	source := &scripted{snapshots: make(chan *watch.Snapshot, 1), retries: make(chan struct{}, 1)}
	var o Options
	m := screen(t, manyJobs(400), 120, 40, func(p *Options) { p.Theme = "dark"; o = *p })
	fake(&o).source, o.Term, o.TickInterval = source, "xterm-256color", time.Hour
	source.snapshots <- manyJobs(400)
	m.Update(tea.ColorProfileMsg{Profile: colorprofile.ANSI256})
	e, ended := newEmulator(t, o, color.Black, [2]int{120, 40})
	e.shows(t, "the start", m, true)
	e.ReplaceScreen(300, 100) // the last and largest size: the emulator cannot shrink
	e.types(t, "3")
	press(t, m, "3")
	var size [2]int
	for i := range 200 {
		size = [2]int{20 + i*37%281, 5 + i*29%96}
		e.resize(t, size)
		e.types(t, "j")
	}
	size = [2]int{300, 100}
	e.resize(t, size)
	for range 200 {
		press(t, m, "j")
	}
	m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
	// The title names the selected row, which all keys have moved to; where the list
	// is scrolled to is a matter of the sizes it had then.
	title := "\x1b]2;" + m.View().WindowTitle + "\x07"
	e.waits(t, "the title "+title, func() bool { return strings.Contains(e.OutputText(), title) })
	// A terminal that shrinks moves its cursor into what is left, and the emulator,
	// which cannot shrink, does not: it is drawn anew.
	e.types(t, "g\x0c")
	press(t, m, "g")
	e.shows(t, "the storm", m, true)
	e.types(t, "\x03")
	select {
	case err := <-ended:
		if !errors.Is(err, ErrInterrupted) {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
}
