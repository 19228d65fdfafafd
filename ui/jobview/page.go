package jobview

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/say/describe"
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
func (still) keys(*Screen) []keys.Binding             { return nil }
func (still) leave()                                  {}
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

// storedAnswer is an answer about what is complete only once the job has ended, such
// as what Velero stores: it is asked for anew once then.
type storedAnswer[T any] struct {
	answer[T]
	// early is true if it was asked for while the job had not ended.
	early bool
}

// ask is that of an answer. A job that has ended is asked about once.
func (a *storedAnswer[T]) ask(s *Screen, age time.Duration, read func(context.Context) (T, error)) tea.Cmd {
	ended := s.job.Terminal()
	if ended && a.early && !a.pending() {
		a.early, a.at, a.err = false, time.Time{}, nil
	}
	if ended {
		age = 0
	}
	cmd := a.answer.ask(s.sources, age, read)
	if cmd != nil {
		a.early = !ended
	}
	return cmd
}

// drawnLine is a line that is drawn when it is visible.
type drawnLine struct {
	key  string
	draw func(draw.Canvas) string
}

// drawnLines are a Source of many lines.
type drawnLines []drawnLine

// Len is how many lines there are.
func (l drawnLines) Len() int { return len(l) }

// Line draws the line at i.
func (l drawnLines) Line(c draw.Canvas, i int) pager.Line {
	return pager.Line{Text: l[i].draw(c), Key: l[i].key}
}

// openKey is enter, which shows the details of the selected line below it, or no
// longer.
func openKey(s *Screen, on func() bool, open map[string]bool) keys.Binding {
	return keys.Binding{Name: "open", Keys: []string{"enter"}, Label: "enter", What: "details", Group: keys.Look, Short: true,
		On: on, Do: func(string) tea.Cmd {
			key := s.view.Selected()
			if key == "" {
				return nil
			}
			if open[key] = !open[key]; !open[key] {
				delete(open, key)
			}
			return s.Ask()
		}}
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
