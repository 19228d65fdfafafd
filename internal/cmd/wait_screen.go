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
	waitFrameInterval, remoteFrameInterval = 250 * time.Millisecond, time.Second // between two drawings, here and over ssh
	maxWaitBarWidth                        = 30
)

// waitScreen shows the progress on standard error: bars on a terminal, or else one line for each change.
type waitScreen struct {
	stdio           *stdio
	drawsBars       bool // bars are drawn
	theme           *draw.Theme
	glyphs          *draw.Glyphs
	windowSequences uiterminal.WindowSequences
	notification    uiterminal.NotificationMethod
	frameInterval   time.Duration
	live            liveLines
	lastFrame       string // the last text drawn, at lastDrawnAt
	lastTitle       string // the last title and progress indicator sent
	lastDrawnAt     time.Time
	titleSet        atomic.Bool
	resumed         atomic.Bool // true after a stop: the drawn lines now belong to the shell's output
}

func (c *stdio) newWaitScreen(f waitFlags) *waitScreen {
	t := c.detectTerminal()
	on := isTerminal(c.stderr)
	s := &waitScreen{
		stdio:         c,
		drawsBars:     on && !t.dumb && t.name != "",
		theme:         &draw.Theme{},
		glyphs:        &draw.ASCIIGlyphs,
		frameInterval: waitFrameInterval,
		live:          liveLines{columns: terminalColumns(c.stderr)},
	}
	if t.utf8 {
		s.glyphs = &draw.UnicodeGlyphs
	}
	if t.color {
		// The sixteen colours are the terminal's own, and so fit its background.
		if theme, err := draw.LoadTheme("dark"); err == nil {
			s.theme = theme.ForSixteenColors()
		}
	}
	if t.remote {
		s.frameInterval = remoteFrameInterval
	}
	if on {
		kind := uiterminal.DetectKind(t.name)
		s.notification, s.windowSequences = uiterminal.NotificationMethod(
			f.notify,
		), uiterminal.WindowSequences{
			Kind:        kind,
			Multiplexer: uiterminal.DetectMultiplexer(c.process.getenv),
		}
	}
	return s
}

func (s *waitScreen) printLine(line string) {
	line = sanitize.String(line)
	if s.drawsBars {
		s.writeRaw(s.eraseSequence() + line + "\r\n")
		s.lastFrame = ""
		return
	}
	if !isTerminal(s.stdio.stderr) {
		now := s.stdio.process.clock()
		line = human.Moment(now, now) + " " + line
	}
	fmt.Fprintln(s.stdio.streams.ErrOut, line)
}

func (s *waitScreen) reportHealth(h watch.Health) {
	if h.State == watch.Live {
		s.printLine(view.ConnectionRestored + ".")
		return
	}
	s.printLine(view.ConnectionLost(h) + ". veltui keeps trying, and goes on to wait.")
}

func (s *waitScreen) notifyUser(text string) {
	s.writeRaw(s.notification.EscapeSequence(text, s.windowSequences.Kind, s.windowSequences.Multiplexer))
}

func (s *waitScreen) renderTargets(targets []*waitTarget, a *assess.Assessment) {
	if !s.drawsBars {
		for _, t := range targets {
			s.reportTarget(t, a)
		}
		return
	}
	if now := time.Now(); now.Sub(s.lastDrawnAt) < s.frameInterval {
		return
	}
	columns, rows := terminalSize(s.stdio.stderr)
	c := draw.Canvas{Width: columns - 1, Theme: s.theme, Glyphs: s.glyphs, Now: a.World.Now}
	longest := 0
	for _, t := range targets {
		longest = max(longest, len(t.name))
	}
	longest = min(longest, max(c.Width/3, 12))
	var drawn []string
	for i, t := range targets {
		if len(drawn)+2 >= rows && i < len(targets)-1 {
			drawn = append(drawn, c.Truncate(human.AndMore(len(targets)-i), c.Width))
			break
		}
		drawn = append(drawn, waitLines(c, t, a, longest)...)
	}
	s.renderBars(drawn, columns)
	s.updateTitle(targets)
}

func (s *waitScreen) renderBars(drawn []string, columns int) {
	text := strings.Join(drawn, "\n") + fmt.Sprint(columns)
	if text == s.lastFrame && !s.resumed.Load() {
		return
	}
	s.forgetAfterStop()
	s.writeRaw(s.live.replaceSequence(drawn))
	s.lastFrame, s.lastDrawnAt = text, time.Now()
}

// forgetAfterStop gives up the lines drawn before a stop.
func (s *waitScreen) forgetAfterStop() {
	if s.resumed.Swap(false) {
		s.live.widths, s.lastFrame, s.lastTitle = nil, "", ""
	}
}

func (s *waitScreen) eraseSequence() string {
	s.forgetAfterStop()
	return s.live.eraseSequence()
}

// updateTitle sets the title, and the progress indicator to the job with the least progress.
func (s *waitScreen) updateTitle(targets []*waitTarget) {
	title, percent, failing, running := "", -1, false, 0
	for _, t := range targets {
		if t.lastJudged.Job == nil || t.lastJudged.IsTerminal() {
			continue
		}
		running++
		if p := int(t.lastJudged.Fraction * 100); t.lastJudged.FractionKnown && (percent < 0 || p < percent) {
			percent = min(p, 99)
		}
		failing = failing || t.lastJudged.IsTroubled()
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
	text := s.windowSequences.ShowProgress(title, percent, failing)
	if text == s.lastTitle || title == "" {
		return
	}
	if s.lastTitle = text; s.titleSet.CompareAndSwap(false, true) {
		text = s.windowSequences.SaveTitle() + text
	}
	s.writeRaw(text)
}

func (s *waitScreen) closeScreen() {
	if !s.drawsBars {
		return
	}
	s.writeRaw(s.eraseSequence() + s.endTitle())
}

func (s *waitScreen) endTitle() string {
	if !s.titleSet.Swap(false) {
		return ""
	}
	return s.windowSequences.RestoreTitle()
}

// watchStops restores the title while the program is stopped.
func (s *waitScreen) watchStops(ctx context.Context) {
	if s.drawsBars {
		uiterminal.WatchStops(ctx, func() { s.writeRaw(s.endTitle() + "\r\n") }, func() { s.resumed.Store(true) })
	}
}

func (s *waitScreen) writeRaw(text string) {
	if text != "" {
		_, _ = s.stdio.stderr.WriteString(text)
	}
}

func (s *waitScreen) reportTarget(t *waitTarget, a *assess.Assessment) {
	j := t.lastJudged
	if j.Job == nil {
		if t.lastLine == "" && t.result == resultPending {
			t.lastLine = "missing"
			s.printLine(fmt.Sprintf("Waiting: %s %s does not exist.", t.kind.Noun(), t.name))
		}
		return
	}
	tenth := 0
	if j.FractionKnown {
		tenth = int(j.Fraction*10 + 1e-9)
	}
	state, reason := j.State, j.Verdict.Reason
	if state == "" || state == diagnosis.Progressing {
		state, reason = "", diagnosis.Reason{}
	}
	said := fmt.Sprint(j.UID, j.Phase, j.Stage, state, reason, tenth)
	if said == t.lastLine {
		return
	}
	t.lastLine = said
	s.printLine(narrate.Job(j, a.World.Now, ""))
}

func waitLines(c draw.Canvas, t *waitTarget, a *assess.Assessment, room int) []string {
	name := " " + c.Theme.Dim.Render(view.KindLetter(t.kind)) + " "
	named := c.FitLeft(c.Theme.Strong.Render(c.TruncateMiddle(t.name, room)), room)
	j := t.lastJudged
	switch {
	case j.Job == nil:
		return []string{c.Truncate(name+named+"  "+c.Theme.Waiting.Render("does not exist"), c.Width)}
	case j.IsTerminal():
		sign, style := c.EndPhaseGlyph(j.Phase)
		return []string{c.Truncate(name+named+"  "+style.Render(sign+" "+t.stateText(a.World.Now)), c.Width)}
	}
	words := []string{c.Theme.Running.Render(string(j.Stage))}
	if stage := view.StageAge(j.Job, c.Now); stage != "" {
		words[0] += " " + stage
	}
	words = append(words, c.ProgressTexts(j)...)
	text := strings.Join(words, "  ")
	bar := ""
	if width := min(maxWaitBarWidth, c.Width-ansi.StringWidth(name+named+text)-10); width >= 6 {
		bar = c.RenderEmptyBar(width) + "      "
		if j.FractionKnown {
			bar = c.RenderBar(j.Fraction, width) + " " + c.FitRight(view.JobPercent(j).Text, 4) + " "
		}
	}
	drawn := []string{c.Truncate(name+named+"  "+bar+" "+text, c.Width)}
	switch {
	case a.IsStale():
		drawn = append(
			drawn,
			c.Truncate("   "+c.Theme.Waiting.Render("the API server does not answer; this is how it was"), c.Width),
		)
	default:
		if trouble := view.JobTrouble(j); trouble.Text != "" {
			drawn = append(drawn, c.Truncate("   "+c.Theme.ToneStyle(trouble.Tone).Render(trouble.Text), c.Width))
		}
	}
	return drawn
}
