package cmd

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/internal/view/narrate"
	"github.com/veltui/veltui/ui/draw"
	uiterminal "github.com/veltui/veltui/ui/terminal"
	"github.com/veltui/veltui/watch"
)

const (
	waitFrame, waitFrameRemote = 250 * time.Millisecond, time.Second // between two drawings, here and over ssh
	waitBar                    = 30
)

// waitScreen shows the progress on standard error: bars on a terminal, else a line a change.
type waitScreen struct {
	cli       *cli
	drawn     bool // bars are drawn
	theme     *draw.Theme
	glyphs    *draw.Glyphs
	beside    uiterminal.Beside
	notify    uiterminal.Notification
	pace      time.Duration
	live      liveLines
	last      string // drawn, at a time
	told      string // what was sent beside the screen
	at        time.Time
	began     atomic.Bool
	continued atomic.Bool // a stop happened: what is drawn belongs to the shell
}

func (c *cli) newWaitScreen(f waitFlags) *waitScreen {
	t := c.terminal()
	on := isTerminal(c.stderr)
	s := &waitScreen{
		cli:    c,
		drawn:  on && !t.dumb && t.name != "",
		theme:  &draw.Theme{},
		glyphs: &draw.ASCII,
		pace:   waitFrame,
		live:   liveLines{columns: columnsOf(c.stderr)},
	}
	if t.utf8 {
		s.glyphs = &draw.Unicode
	}
	if t.color {
		// Sixteen colours are the terminal's own, and so fit its background.
		if theme, err := draw.LoadTheme("dark"); err == nil {
			s.theme = theme.Basic()
		}
	}
	if t.remote {
		s.pace = waitFrameRemote
	}
	if on {
		kind := uiterminal.KindOf(t.name)
		s.notify, s.beside = uiterminal.Notification(
			f.notify,
		), uiterminal.Beside{
			Kind:    kind,
			Through: uiterminal.MultiplexerOf(c.env),
		}
	}
	return s
}

func (s *waitScreen) say(line string) {
	line = sanitize.String(line)
	if s.drawn {
		s.write(s.erased() + line + "\r\n")
		s.last = ""
		return
	}
	if !isTerminal(s.cli.stderr) {
		line = s.cli.clock().Format(time.DateTime) + " " + line
	}
	fmt.Fprintln(s.cli.streams.ErrOut, line)
}

func (s *waitScreen) health(h watch.Health) {
	if h.State == watch.Live {
		s.say("Connected again.")
		return
	}
	s.say("Connection lost: " + strings.TrimRight(h.Err, ".") + ". veltui keeps trying, and goes on to wait.")
}

func (s *waitScreen) call(text string) {
	s.write(s.notify.Sequence(text, s.beside.Kind, s.beside.Through))
}

func (s *waitScreen) show(targets []*awaited, a *assess.Assessment) {
	if !s.drawn {
		for _, t := range targets {
			s.tell(t, a)
		}
		return
	}
	if now := time.Now(); now.Sub(s.at) < s.pace {
		return
	}
	columns, rows := terminalSize(s.cli.stderr)
	c := draw.Canvas{Width: columns - 1, Theme: s.theme, Glyphs: s.glyphs, Now: a.Environment.Now}
	longest := 0
	for _, t := range targets {
		longest = max(longest, len(t.name))
	}
	longest = min(longest, max(c.Width/3, 12))
	var drawn []string
	for i, t := range targets {
		if len(drawn)+2 >= rows && i < len(targets)-1 {
			drawn = append(drawn, c.Cut(fmt.Sprintf(" and %d more", len(targets)-i), c.Width))
			break
		}
		drawn = append(drawn, waitLines(c, t, a, longest)...)
	}
	s.draw(drawn, columns)
	s.showBeside(targets)
}

func (s *waitScreen) draw(drawn []string, columns int) {
	text := strings.Join(drawn, "\n") + fmt.Sprint(columns)
	if text == s.last && !s.continued.Load() {
		return
	}
	s.forgetAfterStop()
	s.write(s.live.replaced(drawn))
	s.last, s.at = text, time.Now()
}

// forgetAfterStop leaves to the shell what stood there before a stop.
func (s *waitScreen) forgetAfterStop() {
	if s.continued.Swap(false) {
		s.live.widths, s.last, s.told = nil, "", ""
	}
}

func (s *waitScreen) erased() string {
	s.forgetAfterStop()
	return s.live.erased()
}

// showBeside sets the title and the progress indicator, of the job that is least far.
func (s *waitScreen) showBeside(targets []*awaited) {
	title, percent, failing, running := "", -1, false, 0
	for _, t := range targets {
		if t.last.Job == nil || t.last.Terminal() {
			continue
		}
		running++
		if p := int(t.last.Fraction * 100); t.last.FractionKnown && (percent < 0 || p < percent) {
			percent = min(p, 99)
		}
		failing = failing || t.last.Troubled()
		if title == "" {
			title = "veltui: " + t.String()
		}
	}
	if running > 1 {
		title = fmt.Sprintf("veltui: %d jobs", running)
	}
	if percent >= 0 {
		title += fmt.Sprintf(" %d%%", percent)
	}
	text := s.beside.Show(title, percent, failing)
	if text == s.told || title == "" {
		return
	}
	if s.told = text; s.began.CompareAndSwap(false, true) {
		text = s.beside.Begin() + text
	}
	s.write(text)
}

func (s *waitScreen) close() {
	if !s.drawn {
		return
	}
	s.write(s.erased() + s.endBeside())
}

func (s *waitScreen) endBeside() string {
	if !s.began.Swap(false) {
		return ""
	}
	return s.beside.End()
}

// watchStops gives the title back while the program is stopped.
func (s *waitScreen) watchStops(ctx context.Context) {
	if s.drawn {
		uiterminal.WatchStops(ctx, func() { s.write(s.endBeside() + "\r\n") }, func() { s.continued.Store(true) })
	}
}

func (s *waitScreen) write(text string) {
	if text != "" {
		_, _ = s.cli.stderr.WriteString(text)
	}
}

func (s *waitScreen) tell(t *awaited, a *assess.Assessment) {
	j := t.last
	if j.Job == nil {
		if t.said == "" && t.result == resultPending {
			t.said = "missing"
			s.say(fmt.Sprintf("Waiting: %s %s does not exist.", t.kind.Word(), t.name))
		}
		return
	}
	tenth := 0
	if j.FractionKnown {
		tenth = int(j.Fraction*10 + 1e-9)
	}
	state, reason := j.State, j.Verdict.Reason
	if state == "" || state == diagnosis.Progressing {
		state, reason = "", ""
	}
	said := fmt.Sprint(j.UID, j.Phase, j.Stage, state, reason, tenth)
	if said == t.said {
		return
	}
	t.said = said
	s.say(narrate.Job(j, a.Environment.Now, ""))
}

func waitLines(c draw.Canvas, t *awaited, a *assess.Assessment, room int) []string {
	name := " " + c.Theme.Dim.Render(view.KindLetter(t.kind)) + " "
	named := c.Fit(c.Theme.Strong.Render(c.CutMiddle(t.name, room)), room)
	j := t.last
	switch {
	case j.Job == nil:
		return []string{c.Cut(name+named+"  "+c.Theme.Waiting.Render("does not exist"), c.Width)}
	case j.Terminal():
		sign, style := c.Ending(j.Phase)
		return []string{c.Cut(name+named+"  "+style.Render(sign+" "+t.state(a.Environment.Now)), c.Width)}
	}
	words := []string{c.Theme.Running.Render(string(j.Stage))}
	if stage := view.StageAge(j.Job, c.Now); stage != "" {
		words[0] += " " + stage
	}
	words = append(words, c.ProgressWords(j)...)
	text := strings.Join(words, "  ")
	bar := ""
	if width := min(waitBar, c.Width-ansi.StringWidth(name+named+text)-10); width >= 6 {
		bar = c.NoBar(width) + "      "
		if j.FractionKnown {
			bar = c.Bar(j.Fraction, width) + " " + c.FitRight(human.Percent(j.Fraction), 4) + " "
		}
	}
	drawn := []string{c.Cut(name+named+"  "+bar+" "+text, c.Width)}
	switch {
	case a.Stale():
		drawn = append(
			drawn,
			c.Cut("   "+c.Theme.Waiting.Render("the API server does not answer; this is how it was"), c.Width),
		)
	case j.State != "" && j.State != diagnosis.Progressing:
		style := c.Theme.Tone(view.StateTone(j.State))
		drawn = append(drawn, c.Cut("   "+style.Render(string(j.State)+": "+j.Verdict.Text), c.Width))
	}
	return drawn
}
