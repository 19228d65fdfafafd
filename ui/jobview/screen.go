package jobview

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

// page is one tab of the screen.
type page int

const (
	pageOverview page = iota
	pageResources
	pageVolumes
	pageOperations
	pageYAML
	pageCount
)

// pages are the pages in their order. count is what stands behind a page's name.
var pages = [pageCount]struct {
	name  string
	draw  func(draw.Canvas, *Screen) []string
	count func(*job.Job) int
}{
	{"Overview", overviewPage, nil},
	{"Resources", resourcesPage, nil},
	{"Volumes", volumesPage, func(j *job.Job) int { return len(j.Volumes) }},
	{"Operations", operationsPage, func(j *job.Job) int { return j.Operations.Attempted }},
	{"YAML", yamlPage, nil},
}

// Screen is the screen of one job.
type Screen struct {
	uid types.UID
	// job is as it was known last; it stays on the screen, marked, when the
	// resource is deleted.
	job     assess.Judged
	deleted bool
	seq     uint64 // of the snapshot
	// assessed is what the job was last known from.
	assessed *assess.Assessment

	contents *Contents
	page     page
	view     viewport.Model
	// filled is what the viewport was filled for.
	filled filled
	keys   []keys.Binding
}

// filled says what a filled viewport depends on, so that it is filled again
// only when that changed.
type filled struct {
	page     page
	job      *job.Job
	contents *Contents
	width    int
	seconds  int64
	seq      uint64
}

// New is the screen of the job with a uid. back is what leaves it.
func New(uid types.UID, a *assess.Assessment, back func() tea.Cmd) *Screen {
	s := &Screen{uid: uid, view: viewport.New()}
	turn := func(to func() page) func(string) tea.Cmd { return keys.Run(func() { s.turn(to()) }) }
	s.keys = append([]keys.Binding{
		{Keys: []string{"esc", "left", "h", "backspace"}, Label: "esc", What: "back", Group: keys.Look, Short: true, Do: func(string) tea.Cmd { return back() }},
		{Keys: []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, Label: "1..5", What: "go to a page", Group: keys.Move,
			Do: func(key string) tea.Cmd { s.turn(page(key[0] - '1')); return nil }},
		{Keys: []string{"tab"}, Label: "tab", What: "next page", Group: keys.Move, Short: true, Do: turn(func() page { return (s.page + 1) % pageCount })},
		{Keys: []string{"shift+tab"}, Label: "shift+tab", What: "previous page", Group: keys.Move, Do: turn(func() page { return (s.page + pageCount - 1) % pageCount })},
	}, keys.Moving(func(m keys.Motion) { keys.Scroll(&s.view, m) })...)
	s.Load(a)
	return s
}

// Load takes the job's newest state.
func (s *Screen) Load(a *assess.Assessment) {
	if a == nil {
		return
	}
	s.seq = a.Snapshot.Seq
	if j := a.Find(s.uid); j != nil {
		s.job, s.deleted, s.assessed = a.Of(j), false, a
	} else if s.job.Job != nil {
		// It stays as it was, but nothing is judged of it any more.
		s.deleted = true
		s.job = assess.Judged{Job: s.job.Job, Verdict: diagnosis.Verdict{Summary: "It was deleted from the cluster; this is how it was last seen."}}
	}
}

// UID is that of the job.
func (s *Screen) UID() types.UID { return s.uid }

// Job is the job as it was known last, nil if it never was.
func (s *Screen) Job() *job.Job { return s.job.Job }

// Deleted is true once the resource is gone from the cluster.
func (s *Screen) Deleted() bool { return s.deleted }

// WantsContents reports whether the open page shows what is in the backup.
func (s *Screen) WantsContents() bool {
	return s.page == pageResources && s.job.Job != nil && !s.deleted
}

// Read takes what was read from the backup, nil if nothing was asked for.
func (s *Screen) Read(contents *Contents) { s.contents = contents }

// Keys are the screen's own keys.
func (s *Screen) Keys() []keys.Binding { return s.keys }

func (s *Screen) turn(p page) {
	if p < pageCount {
		s.page = p
		s.view.GotoTop()
	}
}

// View draws the screen between the header and the footer.
func (s *Screen) View(c draw.Canvas) string {
	if s.job.Job == nil {
		return c.Page([]string{"", "  This job no longer exists."})
	}
	var lines []string
	if c.Height >= 8 {
		lines = append(lines, s.title(c), stageLine(c, s.job.Job))
	}
	lines = append(lines, progressLine(c, s.job), s.pagesLine(c))
	s.fill(c.Sized(c.Width, max(c.Height-len(lines), 0)))
	return c.Page(append(lines, strings.Split(s.view.View(), "\n")...))
}

func (s *Screen) pagesLine(c draw.Canvas) string {
	label := func(p page, full bool) string {
		text := fmt.Sprint(int(p) + 1)
		if full || p == s.page {
			text += " " + pages[p].name
		}
		if count := pages[p].count; count != nil && count(s.job.Job) > 0 {
			text += fmt.Sprintf(" %d", count(s.job.Job))
		}
		style := c.Theme.Dim
		if p == s.page {
			style = c.Theme.Accent
		}
		return style.Render("[" + text + "]")
	}
	for _, full := range []bool{true, false} {
		var labels []string
		for p := range pageCount {
			labels = append(labels, label(p, full))
		}
		line := " " + strings.Join(labels, " ")
		if lipgloss.Width(line) <= c.Width || !full {
			return c.Cut(line, c.Width)
		}
	}
	return ""
}

// fill puts the page's text into the viewport if anything that it shows changed.
func (s *Screen) fill(c draw.Canvas) {
	s.view.SetWidth(c.Width)
	s.view.SetHeight(c.Height)
	want := filled{page: s.page, job: s.job.Job, contents: s.contents, width: c.Width}
	if s.page != pageYAML {
		want.seconds, want.seq = c.Now.Unix(), s.seq
	}
	if want == s.filled {
		return
	}
	s.filled = want
	lines := pages[s.page].draw(c, s)
	for i := range lines {
		lines[i] = c.Cut(lines[i], c.Width)
	}
	s.view.SetContentLines(lines)
}
