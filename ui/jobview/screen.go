package jobview

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// Screen is the screen of one job.
type Screen struct {
	uid types.UID
	// job is the last known state; it stays on the screen, marked, when the resource is deleted.
	job     assess.Judged
	deleted bool
	// aged is true if it may have ended too long ago, and not be deleted.
	aged bool
	seq  uint64 // of the snapshot
	// assessed is what the job was last known from.
	assessed *assess.Assessment

	contents *Contents
	sources  Sources
	// moved are the volumes of a job that leaves some out.
	moved  fetch.Answer[[]job.Volume]
	report fetch.Answer[report]
	tabs   []Tab
	pages  []page // of the tabs
	at     int    // of the open tab
	// verify stands in the place of the Resources page while verifying is true.
	verify    verifyPage
	verifying bool
	ended     bool // true if the job ended while the screen was open
	*pager.Pager
	canvas draw.Canvas // of the lines that were drawn last
	// labels are the tabs as drawn last, in the line labelsAt; what scrolls begins at linesAt.
	labels            []draw.Span
	labelsAt, linesAt int
	// answers counts what pages have read or changed.
	answers int
	// filled is what the pager was filled for.
	filled filled
	keys   []keys.Binding
	marked map[restorespec.Item]bool // to be restored alone
}

// filled is what a filled pager depends on: it is filled again when that changed.
type filled struct {
	page     page
	job      *job.Job
	contents *Contents
	width    int
	seconds  int64
	seq      uint64
	answers  int
	// searching is whether something is searched for: pages that fold open then.
	searching bool
}

// New returns the screen of the job with a uid, open at a page. back leaves it.
func New(uid types.UID, at Page, a *assess.Assessment, sources Sources, back func() tea.Cmd) *Screen {
	s := &Screen{
		uid:     uid,
		sources: sources,
		tabs:    tabs(),
		Pager:   pager.New(&fetch.Asker{Start: sources.Start, Clock: sources.Clock}),
	}
	for _, t := range s.tabs {
		s.pages = append(s.pages, t.make())
	}
	if s.at = s.indexOf(at); at == Verify {
		s.at, s.verifying = s.indexOf(Resources), true
	}
	last := len(s.tabs) - 1
	turn := func(to func() int) func(string) tea.Cmd {
		return func(string) tea.Cmd { return s.turn(to()) }
	}
	s.keys = []keys.Binding{
		{
			Name:    "back",
			Keys:    []string{"esc", "left", "h", "backspace"},
			Label:   "esc",
			What:    "back",
			WhatNow: keys.Either(func() bool { return s.verify.comparing(s) }, "stop comparing", "back"),
			Group:   keys.Look,
			Short:   true,
			Do:      s.verify.back(s, s.Leave(back)),
		},
		{
			Keys:  []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"},
			Label: fmt.Sprintf("1..%d", last+1),
			What:  "go to a page",
			Group: keys.Move,
			Do:    func(key string) tea.Cmd { return s.turn(int(key[0] - '1')) },
		},
		{
			Keys:  []string{"0"},
			Label: "0",
			What:  "go to the last page",
			Group: keys.Move,
			Do:    turn(func() int { return last }),
		},
		{
			Name:  "next-tab",
			Keys:  []string{"tab"},
			Label: "tab",
			What:  "next page",
			Group: keys.Move,
			Do:    turn(func() int { return (s.at + 1) % len(s.tabs) }),
		},
		{
			Name:  "previous-tab",
			Keys:  []string{"shift+tab"},
			Label: "shift+tab",
			What:  "previous page",
			Group: keys.Move,
			Do:    turn(func() int { return (s.at + last) % len(s.tabs) }),
		},
	}
	for _, t := range Openers() {
		open := func(string) tea.Cmd {
			if t.Page == Logs {
				return s.openLogs()
			}
			return s.turn(s.indexOf(t.Page))
		}
		what := func() string {
			if results, ok := s.open().(*resultsPage); ok && t.Page == Logs && results.target(s) != nil {
				return "log line"
			}
			return t.What
		}
		elsewhere := func() bool { return s.tabs[s.at].Page != t.Page }
		s.keys = append(
			s.keys,
			keys.Binding{
				Name:    t.What,
				Keys:    []string{t.Key},
				Label:   t.Key,
				What:    t.What,
				WhatNow: what,
				Group:   keys.Look,
				Short:   t.Footer,
				Fits:    elsewhere,
				Do:      open,
			},
		)
	}
	s.keys = append(append(s.keys, s.verifyKey()), s.reportKeys()...)
	for _, p := range s.allPages() {
		s.keys = append(s.keys, whileOpen(s, p, p.keys(s))...)
	}
	s.keys = append(s.keys, s.Pager.Keys()...)
	s.Load(a)
	return s
}

// open returns the page that is shown.
func (s *Screen) open() page {
	if s.verifying && s.tabs[s.at].Page == Resources {
		return &s.verify
	}
	return s.pages[s.at]
}

func (s *Screen) allPages() []page { return append(slices.Clone(s.pages), &s.verify) }

// whileOpen restricts a page's keys to the open page, and redraws it after each.
func whileOpen(s *Screen, p page, bindings []keys.Binding) []keys.Binding {
	for i := range bindings {
		on, do := bindings[i].On, bindings[i].Do
		bindings[i].On = func() bool { return s.open() == p && (on == nil || on()) }
		bindings[i].Do = func(key string) tea.Cmd {
			s.answers++
			return do(key)
		}
	}
	return bindings
}

// Load takes the job's newest state.
func (s *Screen) Load(a *assess.Assessment) {
	if a == nil {
		return
	}
	s.seq = a.Snapshot.Seq
	if j := a.Find(s.uid); j != nil {
		s.ended = s.ended || s.job.Job != nil && !s.job.Terminal() && j.Terminal()
		s.job, s.deleted, s.assessed = a.Of(j), false, a
		s.complete()
	} else if s.job.Job != nil {
		// It stays as it was, but nothing is judged of it any more.
		s.deleted = true
		what := "It was deleted from the cluster"
		if s.aged = s.job.Terminal() && a.Snapshot.LeftBackups+a.Snapshot.LeftRestores > 0; s.aged {
			what = "It ended too long ago to be read any more (--ended-within), or was deleted"
		}
		s.job = assess.Judged{
			Job:     s.job.Job,
			Verdict: diagnosis.Verdict{Text: what + "; this is how it was last seen."},
		}
	}
}

// complete puts in the volumes that the job leaves out, once they were read.
func (s *Screen) complete() {
	if s.moved.Known {
		s.job.Job = s.job.WithVolumes(s.moved.Value)
	}
}

// asker asks for the pages.
func (s *Screen) asker() fetch.Asker { return s.askerFor(func() {}) }

// askerFor asks for a page that handles the answer.
func (s *Screen) askerFor(handle func()) fetch.Asker {
	return fetch.Asker{Start: s.sources.Start, Clock: s.sources.Clock, Answered: func() tea.Cmd {
		handle()
		s.complete()
		s.answers++
		return s.Ask()
	}}
}

// SelectedVolume is the one of the selected row of the Volumes page, nil if no resource moves it.
func (s *Screen) SelectedVolume() *job.Volume {
	if p, ok := s.open().(*volumesPage); ok {
		if r := p.records[s.Selected()]; r != nil && r.Moved != nil {
			return r.Moved.Volume
		}
	}
	return nil
}

func (s *Screen) UID() types.UID { return s.uid }

// Job is the job as it was known last, nil if it never was.
func (s *Screen) Job() *job.Job { return s.job.Job }

// Deleted is true once the resource is gone from the cluster.
func (s *Screen) Deleted() bool { return s.deleted }

// WantsContents reports whether the open page shows what is in the backup.
func (s *Screen) WantsContents() bool {
	return s.job.Job != nil && !s.deleted && s.open().wantsContents(s)
}

// Read takes what was read from the backup, nil if nothing was asked for.
func (s *Screen) Read(contents *Contents) { s.contents = contents }

// Ask makes the command that reads what the open page lacks, nil for nothing.
func (s *Screen) Ask() tea.Cmd {
	if s.job.Job == nil || s.deleted {
		return nil
	}
	var moved tea.Cmd
	if j := s.job.Job; j.LeftOut() > 0 {
		moved = s.moved.Ask(
			s.asker(),
			0,
			func(ctx context.Context) ([]job.Volume, error) { return s.sources.ReadVolumes(ctx, j) },
		)
	}
	return tea.Batch(moved, s.open().load(s), s.verify.ended(s))
}

// answered are all that the screen has asked for.
func (s *Screen) answered() []answer {
	all := []answer{&s.moved, &s.report}
	for _, p := range s.allPages() {
		all = append(all, p.answers()...)
	}
	return all
}

// AskAgain makes what could not be read be asked for anew.
func (s *Screen) AskAgain() {
	for _, a := range s.answered() {
		a.Forget()
	}
}

// Close withdraws what was asked for.
func (s *Screen) Close() {
	s.EndSearch()
	for _, a := range s.answered() {
		a.Close()
	}
}

// Update takes what is typed; handled is false if a message is for others.
func (s *Screen) Update(msg tea.Msg) (cmd tea.Cmd, handled bool) { return s.Pager.Update(msg) }

func (s *Screen) Keys() []keys.Binding { return s.keys }

func (s *Screen) turn(to int) tea.Cmd {
	if to >= len(s.tabs) || to == s.at {
		return nil
	}
	s.open().leave()
	s.at = to
	return s.opened()
}

// opened shows the page that is open now from its top.
func (s *Screen) opened() tea.Cmd {
	s.Reset()
	s.filled = filled{}
	return s.Ask()
}

// Click opens the tab there, or selects the line; again is true for the selected line.
func (s *Screen) Click(x, y int) (again bool, cmd tea.Cmd) {
	if tab := draw.SpanAt(s.labels, x); y == s.labelsAt && tab >= 0 {
		return false, s.turn(tab)
	}
	return s.Pager.Click(y - s.linesAt), nil
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
	lines = append(lines, progressLine(c, s.job), s.tabsLine(c))
	s.labelsAt = len(lines) - 1
	head := s.open().head(c, s)
	lines = append(lines, head[:min(len(head), max(c.Height-len(lines)-1, 0))]...)
	s.linesAt = len(lines)
	below := c.Sized(c.Width, max(c.Height-len(lines), 0))
	s.fill(below)
	return c.Page(append(lines, s.Page(below)...))
}

// fill gives the pager the page's lines if anything that they show changed.
func (s *Screen) fill(c draw.Canvas) {
	p := s.open()
	s.canvas = c
	want := filled{
		page:      p,
		job:       s.job.Job,
		contents:  s.contents,
		width:     c.Width,
		answers:   s.answers,
		searching: s.Typing() || s.Searching(),
	}
	if p.ages() {
		want.seconds, want.seq = c.Now.Unix(), s.seq
	}
	if want == s.filled {
		return
	}
	s.filled = want
	s.Show(p.lines(c, s))
}

// wide is a canvas for text that is copied.
func (s *Screen) wide() draw.Canvas { return s.canvas.Sized(widest, 0) }
