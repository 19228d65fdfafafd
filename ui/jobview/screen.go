package jobview

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// Page is one tab of the screen.
type Page int

// The pages, in their order.
const (
	Overview Page = iota
	Results
	Logs
	Resources
	Volumes
	Operations
	Timeline
	YAML
	pageCount
)

var (
	pageNames  = [pageCount]string{"Overview", "Results", "Logs", "Resources", "Volumes", "Operations", "Timeline", "YAML"}
	shortNames = [pageCount]string{"Overview", "Results", "Logs", "Items", "Vols", "Ops", "Time", "YAML"}
)

// Opener is a key that opens a page, here and from a row of the dashboard.
type Opener struct {
	Key, What string
	Page      Page
	Short     bool
}

// Openers are the keys that open pages.
var Openers = []Opener{
	{"e", "errors", Results, true},
	{"l", "logs", Logs, true},
	{"v", "volumes", Volumes, false},
}

// newPages makes the pages of one screen.
func newPages() [pageCount]page {
	return [pageCount]page{
		Overview:   textPage{text: overviewPage},
		Results:    &resultsPage{},
		Logs:       &logsPage{},
		Resources:  &resourceModel{},
		Volumes:    newVolumesPage(),
		Operations: newOperationsPage(),
		Timeline:   &timelinePage{},
		YAML:       newYAMLPage(),
	}
}

// Screen is the screen of one job.
type Screen struct {
	uid types.UID
	// job is as it was known last; it stays on the screen, marked, when the
	// resource is deleted.
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
	moved  answer[[]job.Volume]
	report reporting
	page   Page
	pages  [pageCount]page
	view   *pager.Pager
	// tabs are where the pages' names were drawn last, in the line tabsAt, and
	// linesAt is where the lines that scroll begin.
	tabs            []draw.Span
	tabsAt, linesAt int
	// answers counts what pages have read or changed.
	answers int
	// filled is what the pager was filled for.
	filled filled
	keys   []keys.Binding
}

// filled says what a filled pager depends on, so that it is filled again
// only when that changed.
type filled struct {
	page     Page
	job      *job.Job
	contents *Contents
	width    int
	seconds  int64
	seq      uint64
	answers  int
	// searching is whether something is searched for: pages that fold open then.
	searching bool
}

// New is the screen of the job with a uid, open at a page. back is what leaves
// it.
func New(uid types.UID, at Page, a *assess.Assessment, sources Sources, back func() tea.Cmd) *Screen {
	s := &Screen{uid: uid, page: at, sources: sources, pages: newPages(), view: pager.New(sources.Start)}
	turn := func(to func() Page) func(string) tea.Cmd {
		return func(string) tea.Cmd { return s.turn(to()) }
	}
	leave := func(key string) tea.Cmd {
		if s.view.Searching() && key == "esc" {
			s.view.EndSearch()
			return nil
		}
		return back()
	}
	s.keys = []keys.Binding{
		{Name: "back", Keys: []string{"esc", "left", "h", "backspace"}, Label: "esc", What: "back", Group: keys.Look, Short: true, Do: leave},
		{Keys: []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, Label: fmt.Sprintf("1..%d", pageCount), What: "go to a page", Group: keys.Move,
			Do: func(key string) tea.Cmd { return s.turn(Page(key[0] - '1')) }},
		{Keys: []string{"0"}, Label: "0", What: "go to the last page", Group: keys.Move, Do: turn(func() Page { return pageCount - 1 })},
		{Name: "next-tab", Keys: []string{"tab"}, Label: "tab", What: "next page", Group: keys.Move, Do: turn(func() Page { return (s.page + 1) % pageCount })},
		{Name: "previous-tab", Keys: []string{"shift+tab"}, Label: "shift+tab", What: "previous page", Group: keys.Move, Do: turn(func() Page { return (s.page + pageCount - 1) % pageCount })},
	}
	for _, k := range Openers {
		s.keys = append(s.keys, keys.Binding{Name: k.What, Keys: []string{k.Key}, Label: k.Key, What: k.What, Group: keys.Look, Short: k.Short,
			Do: turn(func() Page { return k.Page })})
	}
	s.keys = append(append(s.keys, s.verifyKey()), s.reportKeys()...)
	for p := range pageCount {
		s.keys = append(s.keys, whileOpen(s, p, s.pages[p].keys(s))...)
	}
	s.keys = append(s.keys, s.view.Keys()...)
	s.Load(a)
	return s
}

// whileOpen makes a page's keys be there only while the page is open, and has
// the page drawn anew after each.
func whileOpen(s *Screen, p Page, bindings []keys.Binding) []keys.Binding {
	for i := range bindings {
		on, do := bindings[i].On, bindings[i].Do
		bindings[i].On = func() bool { return s.page == p && (on == nil || on()) }
		bindings[i].Do = func(key string) tea.Cmd {
			s.answers++
			return do(key)
		}
	}
	return bindings
}

// Load takes the job's newest state. Ask says what the open page wants to read
// then.
func (s *Screen) Load(a *assess.Assessment) {
	if a == nil {
		return
	}
	s.seq = a.Snapshot.Seq
	if j := a.Find(s.uid); j != nil {
		s.job, s.deleted, s.assessed = a.Of(j), false, a
		s.complete()
	} else if s.job.Job != nil {
		// It stays as it was, but nothing is judged of it any more.
		s.deleted = true
		what := "It was deleted from the cluster"
		if s.aged = s.job.Terminal() && a.Snapshot.LeftBackups+a.Snapshot.LeftRestores > 0; s.aged {
			what = "It ended too long ago to be read any more (--ended-within), or was deleted"
		}
		s.job = assess.Judged{Job: s.job.Job, Verdict: diagnosis.Verdict{Summary: what + "; this is how it was last seen."}}
	}
}

// complete puts in the volumes that the job leaves out, once they were read.
func (s *Screen) complete() {
	if s.moved.known {
		s.job.Job = s.job.WithVolumes(s.moved.value)
	}
}

// askVolumes reads the volumes that the job leaves out, nil if there is nothing to
// read.
func (s *Screen) askVolumes() tea.Cmd {
	if s.sources.Volumes == nil || s.job.LeftOut() == 0 {
		return nil
	}
	j := s.job.Job
	return s.moved.ask(s.sources, 0, func(ctx context.Context) ([]job.Volume, error) { return s.sources.Volumes.ReadVolumes(ctx, j) })
}

// UID is that of the job.
func (s *Screen) UID() types.UID { return s.uid }

// Job is the job as it was known last, nil if it never was.
func (s *Screen) Job() *job.Job { return s.job.Job }

// Deleted is true once the resource is gone from the cluster.
func (s *Screen) Deleted() bool { return s.deleted }

// WantsContents reports whether the open page shows what is in the backup.
func (s *Screen) WantsContents() bool {
	return s.page == Resources && s.job.Job != nil && !s.deleted && s.pages[Resources].(*resourceModel).wantsContents(s)
}

// Read takes what was read from the backup, nil if nothing was asked for.
func (s *Screen) Read(contents *Contents) { s.contents = contents }

// Ask makes the command that reads what the open page lacks, nil for nothing.
func (s *Screen) Ask() tea.Cmd {
	if s.job.Job == nil || s.deleted {
		return nil
	}
	return tea.Batch(s.askVolumes(), s.pages[s.page].load(s))
}

// AskAgain makes what could not be read be asked for anew.
func (s *Screen) AskAgain() {
	s.moved.forget()
	for _, p := range s.pages {
		p.forget()
	}
}

// Close withdraws what was asked for.
func (s *Screen) Close() {
	s.view.EndSearch()
	s.moved.close()
	s.report.close()
	for _, p := range s.pages {
		p.close()
	}
}

// Update takes a message of the screen's own; handled is false if it is for
// others.
func (s *Screen) Update(msg tea.Msg) (cmd tea.Cmd, handled bool) {
	if m, ok := msg.(delivery); ok {
		m.deliver()
		s.complete()
		s.answers++
		return s.Ask(), true
	}
	if m, ok := msg.(reportMade); ok {
		return s.report.take(s, m), true
	}
	if cmd, handled := s.view.Update(msg); handled {
		return cmd, true
	}
	for _, p := range s.pages {
		if cmd, handled := p.update(s, msg); handled {
			s.answers++
			return tea.Batch(cmd, s.Ask()), true
		}
	}
	return nil, false
}

// Typing reports whether what is searched for is being typed, and Prompt is the
// line for that.
func (s *Screen) Typing() bool { return s.view.Typing() }

// Prompt is the line in which what is searched for is typed.
func (s *Screen) Prompt(width int) string { return s.view.Prompt(width) }

// Keys are the screen's own keys.
func (s *Screen) Keys() []keys.Binding { return s.keys }

// turn opens a page.
func (s *Screen) turn(p Page) tea.Cmd {
	if p >= pageCount || p == s.page {
		return nil
	}
	s.pages[s.page].leave()
	s.page = p
	s.view.Reset()
	s.filled = filled{}
	return s.Ask()
}

// Click opens the page whose name is there, or selects the line; again is true for
// the line that was selected.
func (s *Screen) Click(x, y int) (again bool, cmd tea.Cmd) {
	if p := draw.SpanAt(s.tabs, x); y == s.tabsAt && p >= 0 {
		return false, s.turn(Page(p))
	}
	return s.view.Click(y - s.linesAt), nil
}

// Wheel scrolls some lines.
func (s *Screen) Wheel(lines int) { s.view.Wheel(lines) }

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
	s.tabsAt = len(lines) - 1
	head := s.pages[s.page].head(c, s)
	lines = append(lines, head[:min(len(head), max(c.Height-len(lines)-1, 0))]...)
	s.linesAt = len(lines)
	below := c.Sized(c.Width, max(c.Height-len(lines), 0))
	s.fill(below)
	return c.Page(append(lines, s.view.Page(below)...))
}

// pagesLine names the pages. On narrow screens first the names get shorter, then
// the counts go, then all names but the open page's.
func (s *Screen) pagesLine(c draw.Canvas) string {
	label := func(p Page, name string, counted bool) string {
		text := fmt.Sprint(int(p) + 1)
		if name != "" {
			text += " " + name
		}
		if count := s.pages[p].count(s.job.Job); counted && count != "" {
			text += " " + count
		}
		if p == s.page {
			return c.Theme.Accent.Render("[" + text + "]")
		}
		return c.Theme.Dim.Render(" " + text + " ")
	}
	var only [pageCount]string
	only[s.page] = shortNames[s.page]
	line := ""
	s.tabs = nil
	for _, level := range []struct {
		names   [pageCount]string
		counted bool
	}{{pageNames, true}, {shortNames, true}, {shortNames, false}, {only, true}, {only, false}} {
		labels := make([]string, pageCount)
		for p := range pageCount {
			labels[p] = label(p, level.names[p], level.counted)
		}
		if line, s.tabs = draw.Labels(labels); lipgloss.Width(line) <= c.Width {
			break
		}
	}
	return c.Cut(line, c.Width)
}

// fill gives the pager the page's lines if anything that they show changed.
func (s *Screen) fill(c draw.Canvas) {
	p := s.pages[s.page]
	want := filled{page: s.page, job: s.job.Job, contents: s.contents, width: c.Width, answers: s.answers, searching: s.view.Typing() || s.view.Searching()}
	if p.ages() {
		want.seconds, want.seq = c.Now.Unix(), s.seq
	}
	if want == s.filled {
		return
	}
	s.filled = want
	s.view.Show(p.lines(c, s))
}

// number is a count behind a page's name; nothing is not said.
func number(of func(*job.Job) int, j *job.Job) string {
	if of == nil || of(j) == 0 {
		return ""
	}
	return fmt.Sprint(of(j))
}
