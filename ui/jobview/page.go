package jobview

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/say/describe"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// page is one tab of the screen: what it has read and what the user has opened in it.
type page interface {
	// count is what stands behind the page's name, empty for nothing.
	count(*job.Job) string
	// load reads what is missing, when the page is opened and whenever the job or an answer changes.
	load(*Screen) tea.Cmd
	// update takes a message of the page's own; handled is false if it is for others.
	update(s *Screen, msg tea.Msg) (cmd tea.Cmd, handled bool)
	// head are lines above those that scroll.
	head(draw.Canvas, *Screen) []string
	// lines are what scrolls: made again after a change of the job, an answer, the width, or each second if ages.
	lines(draw.Canvas, *Screen) pager.Source
	ages() bool
	// wantsContents reports whether the page shows what is in the backup.
	wantsContents(*Screen) bool
	// keys are the page's own. They are made once.
	keys(*Screen) []keys.Binding
	// leave is called when another page is opened.
	leave()
	// forget makes what could not be read be asked for anew, and close withdraws
	// what is still to come.
	forget()
	close()
}

// still is a page that reads nothing, for pages to embed.
type still struct{}

func (still) count(*job.Job) string                   { return "" }
func (still) load(*Screen) tea.Cmd                    { return nil }
func (still) update(*Screen, tea.Msg) (tea.Cmd, bool) { return nil, false }
func (still) head(draw.Canvas, *Screen) []string      { return nil }
func (still) ages() bool                              { return true }
func (still) wantsContents(*Screen) bool              { return false }
func (still) keys(*Screen) []keys.Binding             { return nil }
func (still) leave()                                  {}
func (still) forget()                                 {}
func (still) close()                                  {}

// note wraps a text into at most most lines that begin with a space.
func note(c draw.Canvas, style lipgloss.Style, text string, most int) []string {
	return indented(c.Sized(c.Width-2, 0).Para(style, text, most))
}

// waiting says what is read, and for how long: since is zero if it was not asked for.
func waiting(c draw.Canvas, s *Screen, what string, since time.Time) string {
	if !since.IsZero() {
		what += " for " + human.Duration(s.sources.Clock().Sub(since))
	}
	return what + c.Glyphs.Ellipsis
}

// counted returns a count to stand behind a page's name; nothing is not said.
func counted(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// aboutLines is how many lines a page may say about its list, above it.
func aboutLines(c draw.Canvas) int {
	if c.Height < 16 {
		return 1
	}
	return 3
}

// moment is a time stamp with its age; empty if it is not known.
func moment(c draw.Canvas, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return describe.Moment(t, c.Now) + "  " + human.Ago(t, c.Now)
}
