package jobview

import (
	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// page is one tab of the screen: a small model. It keeps what it has read and
// what the user has opened in it.
type page interface {
	// count is what stands behind the page's name, empty for nothing.
	count(*job.Job) string
	// load is called when the page is opened, and while it is open whenever the
	// job or an answer changed. Its command reads what is missing.
	load(*Screen) tea.Cmd
	// update takes a message of the page's own; handled is false if it is for
	// others.
	update(s *Screen, msg tea.Msg) (cmd tea.Cmd, handled bool)
	// head are lines above those that scroll.
	head(draw.Canvas, *Screen) []string
	// lines are what scrolls. They are asked for when what they show may have
	// changed: the job, an answer, the width, or the second where ages is true.
	lines(draw.Canvas, *Screen) pager.Source
	ages() bool
	// keys are the page's own. They are made once.
	keys(*Screen) []keys.Binding
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
func (still) keys(*Screen) []keys.Binding             { return nil }
func (still) forget()                                 {}
func (still) close()                                  {}

// textPage is a page of text that is drawn from the job alone.
type textPage struct {
	still
	text   func(draw.Canvas, *Screen) []string
	number func(*job.Job) int
	// timeless text shows no age.
	timeless bool
}

func (p textPage) ages() bool { return !p.timeless }

func (p textPage) count(j *job.Job) string { return number(p.number, j) }

func (p textPage) lines(c draw.Canvas, s *Screen) pager.Source {
	return pager.Plain(p.text(c, s))
}
