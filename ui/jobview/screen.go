package jobview

import (
	"context"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/restore/restorespec"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
)

// Screen is the screen of one job.
type Screen struct {
	uid types.UID
	// job is the last known state; once the resource is deleted, it stays on the screen, marked as such.
	job       assess.JudgedJob
	isDeleted bool
	// mayBeAgedOut is true if the job may not be deleted, but only have ended too long ago.
	mayBeAgedOut bool
	snapshotSeq  uint64 // of the last snapshot
	// assessment is the assessment that job was last taken from.
	assessment *assess.Assessment

	contents     *view.Contents
	dependencies Dependencies
	// movedVolumesAnswer are all volumes of a job that only sums some of them up.
	movedVolumesAnswer fetch.Answer[[]job.Volume]
	reportAnswer       fetch.Answer[jobReport]
	// endAnswer is what was read about the bad end of the job.
	endAnswer    fetch.Answer[diagnosis.EndEvidence]
	tabs         []PageTab
	pages        []jobPage // of the tabs
	openTabIndex int       // index of the open tab
	// verifyPage replaces the Resources page while showsVerify is true.
	verifyPage     verifyPage
	showsVerify    bool
	endedWhileOpen bool // true if the job ended while the screen was open
	*pager.Pager
	lastCanvas draw.Canvas // the canvas of the last drawing
	// tabSpans are the tabs in the last drawing, in the line tabsRow; the scrolling lines begin at firstLineRow.
	tabSpans              []draw.Span
	tabsRow, firstLineRow int
	// revision counts the answers to pages and the changes by keys.
	revision int
	// lastFillState is the state for which the pager was filled.
	lastFillState fillState
	keyBindings   []keys.Binding
	markedItems   map[restorespec.Item]bool // to be restored alone
}

// fillState is the state that the pager's lines depend on: the pager is filled again when it changes.
type fillState struct {
	page     jobPage
	job      *job.Job
	contents *view.Contents
	width    int
	seconds  int64
	seq      uint64
	revision int
	// searching is true during a search, for which pages open their groups.
	searching bool
}

// New returns the screen of the job with a uid, open at a page. back leaves the screen.
func New(uid types.UID, at PageName, a *assess.Assessment, sources Dependencies, back func() tea.Cmd) *Screen {
	s := &Screen{
		uid:          uid,
		dependencies: sources,
		tabs:         pageTabs(),
		Pager:        pager.New(&fetch.Requester{Start: sources.Start, Clock: sources.Clock}),
	}
	for _, t := range s.tabs {
		s.pages = append(s.pages, t.newPage())
	}
	if s.openTabIndex = s.tabIndex(at); at == Verify {
		s.openTabIndex, s.showsVerify = s.tabIndex(Resources), true
	}
	last := len(s.tabs) - 1
	turn := func(to func() int) func(string) tea.Cmd {
		return func(string) tea.Cmd { return s.openTab(to()) }
	}
	s.keyBindings = []keys.Binding{
		{
			Name:               "back",
			Keys:               []string{"esc", "left", "h", "backspace"},
			Label:              "esc",
			Description:        "back",
			DynamicDescription: keys.ChooseText(func() bool { return s.verifyPage.isComparing(s) }, "stop comparing", "back"),
			Group:              keys.GroupLook,
			InFooter:           true,
			Do:                 s.verifyPage.backOrCancelAction(s, s.BackAction(back)),
		},
		{
			Keys:        []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"},
			Label:       fmt.Sprintf("1..%d", last+1),
			Description: "go to a page",
			Group:       keys.GroupMove,
			Do:          func(key string) tea.Cmd { return s.openTab(int(key[0] - '1')) },
		},
		{
			Keys:        []string{"0"},
			Label:       "0",
			Description: "go to the last page",
			Group:       keys.GroupMove,
			Do:          turn(func() int { return last }),
		},
		{
			Name:        "next-tab",
			Keys:        []string{"tab"},
			Label:       "tab",
			Description: "next page",
			Group:       keys.GroupMove,
			Do:          turn(func() int { return (s.openTabIndex + 1) % len(s.tabs) }),
		},
		{
			Name:        "previous-tab",
			Keys:        []string{"shift+tab"},
			Label:       "shift+tab",
			Description: "previous page",
			Group:       keys.GroupMove,
			Do:          turn(func() int { return (s.openTabIndex + last) % len(s.tabs) }),
		},
	}
	for _, t := range TabsWithKeys() {
		open := func(string) tea.Cmd {
			if t.Page == Logs {
				return s.openLogs()
			}
			return s.openTab(s.tabIndex(t.Page))
		}
		what := func() string {
			if results, ok := s.currentPage().(*resultsPage); ok && t.Page == Logs && results.selectedMessage(s) != nil {
				return "log line"
			}
			return t.Description
		}
		elsewhere := func() bool { return s.tabs[s.openTabIndex].Page != t.Page }
		s.keyBindings = append(
			s.keyBindings,
			keys.Binding{
				Name:               t.Description,
				Keys:               []string{t.Key},
				Label:              t.Key,
				Description:        t.Description,
				DynamicDescription: what,
				Group:              keys.GroupLook,
				InFooter:           t.InFooter,
				ShowInFooter:       elsewhere,
				Do:                 open,
			},
		)
	}
	s.keyBindings = append(append(s.keyBindings, s.newVerifyBinding()), s.newReportBindings()...)
	for _, p := range s.allPages() {
		s.keyBindings = append(s.keyBindings, restrictToPage(s, p, p.newBindings(s))...)
	}
	s.keyBindings = append(s.keyBindings, s.Pager.Bindings()...)
	s.SetAssessment(a)
	return s
}

// currentPage returns the open page.
func (s *Screen) currentPage() jobPage {
	if s.showsVerify && s.tabs[s.openTabIndex].Page == Resources {
		return &s.verifyPage
	}
	return s.pages[s.openTabIndex]
}

func (s *Screen) allPages() []jobPage { return append(slices.Clone(s.pages), &s.verifyPage) }

// restrictToPage restricts a page's keys to the open page, and redraws it after each.
func restrictToPage(s *Screen, p jobPage, bindings []keys.Binding) []keys.Binding {
	for i := range bindings {
		on, do := bindings[i].Active, bindings[i].Do
		bindings[i].Active = func() bool { return s.currentPage() == p && (on == nil || on()) }
		bindings[i].Do = func(key string) tea.Cmd {
			s.revision++
			return do(key)
		}
	}
	return bindings
}

// SetAssessment sets the job's newest state.
func (s *Screen) SetAssessment(a *assess.Assessment) {
	if a == nil {
		return
	}
	s.snapshotSeq = a.Snapshot.Seq
	if j := a.FindJob(s.uid); j != nil {
		s.endedWhileOpen = s.endedWhileOpen || s.job.Job != nil && !s.job.IsTerminal() && j.IsTerminal()
		s.job, s.isDeleted, s.assessment = a.AssessJob(j), false, a
		s.addMovedVolumes()
		s.addEndEvidence()
	} else if s.job.Job != nil {
		// The job keeps its last state, but has no verdict any more.
		s.isDeleted = true
		what := "It was deleted from the cluster"
		if s.mayBeAgedOut = s.job.IsTerminal() && a.Snapshot.AgedOutBackups+a.Snapshot.AgedOutRestores > 0; s.mayBeAgedOut {
			what = "It ended too long ago to be read (--ended-within), or was deleted"
		}
		s.job = assess.JudgedJob{
			Job:     s.job.Job,
			Verdict: diagnosis.Verdict{Text: what + "; this is how it was last seen."},
		}
	}
}

// addMovedVolumes adds the volumes that the job only sums up, once they were read.
func (s *Screen) addMovedVolumes() {
	if s.movedVolumesAnswer.HasValue {
		s.job.Job = s.job.WithVolumes(s.movedVolumesAnswer.Value)
	}
}

// fetchEndEvidence reads why the job ended badly, once, after its results.
func (s *Screen) fetchEndEvidence() tea.Cmd {
	j := s.job.Job
	if s.assessment == nil || !j.IsTerminal() || j.Phase == velero.PhaseCompleted && j.Errors == 0 {
		return nil
	}
	results, known := s.resultEvidence()
	if !known {
		return nil
	}
	a, _ := s.assessment.WithEndEvidence(j, results)
	return s.endAnswer.FetchIfDue(s.newRequester(), 0, func(ctx context.Context) (diagnosis.EndEvidence, error) {
		return s.dependencies.GatherEndEvidence(ctx, a, j), nil
	})
}

// resultEvidence returns what the results say about the end of the job; known is false until they were requested.
func (s *Screen) resultEvidence() (found diagnosis.EndEvidence, known bool) {
	if s.job.Errors == 0 {
		return found, true
	}
	messages, known, err := s.findResultsPage().knownMessages(s)
	return cluster.ResultEvidence(messages, err), known
}

// addEndEvidence judges a job that has ended with what was read about its end.
func (s *Screen) addEndEvidence() {
	if s.assessment == nil || s.isDeleted || !s.job.IsTerminal() {
		return
	}
	found := s.endAnswer.Value
	if now, known := s.resultEvidence(); known && len(now.ResultErrors) > 0 { // they may have come later
		found.ResultErrors = now.ResultErrors
	}
	found.ResultsUnread = "" // the Overview says so beside the verdict
	if p, ok := s.pages[s.tabIndex(Volumes)].(*volumesPage); ok {
		found.SkippedVolumes = cluster.SkippedVolumes(p.infoAnswer.Value)
	}
	_, s.job = s.assessment.WithEndEvidence(s.job.Job, found)
}

// newRequester returns the requester of a page.
func (s *Screen) newRequester() fetch.Requester { return s.newRequesterFor(func() {}) }

// newRequesterFor returns the requester of a page that handles the answer.
func (s *Screen) newRequesterFor(handle func()) fetch.Requester {
	return fetch.Requester{Start: s.dependencies.Start, Clock: s.dependencies.Clock, OnAnswer: func() tea.Cmd {
		handle()
		s.addMovedVolumes()
		s.addEndEvidence()
		s.revision++
		return s.FetchMissing()
	}}
}

// IsOnVolumes reports whether the Volumes page is open.
func (s *Screen) IsOnVolumes() bool {
	_, ok := s.currentPage().(*volumesPage)
	return ok
}

// SelectedVolume returns the volume of the selected row on the Volumes page, nil if no resource moves it.
func (s *Screen) SelectedVolume() *job.Volume {
	if p, ok := s.currentPage().(*volumesPage); ok {
		if r := p.recordByRow[s.SelectedKey()]; r != nil && r.Volume != nil {
			return r.Volume.Volume
		}
	}
	return nil
}

func (s *Screen) UID() types.UID { return s.uid }

// Job returns the last known state of the job, nil if there is none.
func (s *Screen) Job() *job.Job { return s.job.Job }

// IsDeleted reports whether the resource is no longer in the cluster.
func (s *Screen) IsDeleted() bool { return s.isDeleted }

// WantsContents reports whether the open page shows the contents of the backup.
func (s *Screen) WantsContents() bool {
	return s.job.Job != nil && !s.isDeleted && s.currentPage().wantsContents(s)
}

// SetContents sets the contents of the backup, nil if they were not requested.
func (s *Screen) SetContents(contents *view.Contents) { s.contents = contents }

// FetchMissing returns the command that reads what the open page lacks, nil for none.
func (s *Screen) FetchMissing() tea.Cmd {
	if s.job.Job == nil || s.isDeleted {
		return nil
	}
	var moved tea.Cmd
	if j := s.job.Job; j.SummedVolumeCount() > 0 {
		moved = s.movedVolumesAnswer.FetchIfDue(
			s.newRequester(),
			0,
			func(ctx context.Context) ([]job.Volume, error) { return s.dependencies.ReadVolumes(ctx, j) },
		)
	}
	return tea.Batch(moved, s.currentPage().fetchMissing(s), s.verifyPage.verifyEndedRestore(s))
}

// allAnswers returns all requests of the screen.
func (s *Screen) allAnswers() []answerHandle {
	all := []answerHandle{&s.movedVolumesAnswer, &s.reportAnswer, &s.endAnswer}
	for _, p := range s.allPages() {
		all = append(all, p.pageAnswers()...)
	}
	return all
}

// ClearErrors lets failed requests be repeated at once.
func (s *Screen) ClearErrors() {
	for _, a := range s.allAnswers() {
		a.ClearError()
	}
	if s.endAnswer.Value.IsPartial() {
		s.endAnswer.Invalidate()
	}
}

// Close cancels all requests.
func (s *Screen) Close() {
	s.EndSearch()
	for _, a := range s.allAnswers() {
		a.Close()
	}
}

// Update handles typed input; handled is false if the message is for another screen.
func (s *Screen) Update(msg tea.Msg) (cmd tea.Cmd, handled bool) { return s.Pager.Update(msg) }

func (s *Screen) Bindings() []keys.Binding { return s.keyBindings }

func (s *Screen) openTab(to int) tea.Cmd {
	if to >= len(s.tabs) || to == s.openTabIndex {
		return nil
	}
	s.currentPage().onLeave()
	s.openTabIndex = to
	return s.showFromTop()
}

// showFromTop shows the open page from its top.
func (s *Screen) showFromTop() tea.Cmd {
	s.Reset()
	s.lastFillState = fillState{}
	return s.FetchMissing()
}

// HandleClick opens the clicked tab, or selects the clicked line; again is true if the line was already selected.
func (s *Screen) HandleClick(x, y int) (again bool, cmd tea.Cmd) {
	if tab := draw.SpanAt(s.tabSpans, x); y == s.tabsRow && tab >= 0 {
		return false, s.openTab(tab)
	}
	return s.Pager.SelectRow(y - s.firstLineRow), nil
}

// View draws the screen between the header and the footer.
func (s *Screen) View(c draw.Canvas) string {
	if s.job.Job == nil {
		return c.RenderPage([]string{"", "  This job no longer exists."})
	}
	var lines []string
	if c.Height >= 8 {
		lines = append(lines, s.renderTitle(c), renderStageLine(c, s.job.Job))
	}
	lines = append(lines, renderProgressLine(c, s.job), s.renderTabsLine(c))
	s.tabsRow = len(lines) - 1
	head := s.currentPage().renderHead(c, s)
	lines = append(lines, head[:min(len(head), max(c.Height-len(lines)-1, 0))]...)
	s.firstLineRow = len(lines)
	below := c.WithSize(c.Width, max(c.Height-len(lines), 0))
	s.fillPager(below)
	return c.RenderPage(append(lines, s.RenderPage(below)...))
}

// fillPager gives the pager the page's lines if anything that they depend on has changed.
func (s *Screen) fillPager(c draw.Canvas) {
	p := s.currentPage()
	s.lastCanvas = c
	want := fillState{
		page:      p,
		job:       s.job.Job,
		contents:  s.contents,
		width:     c.Width,
		revision:  s.revision,
		searching: s.IsTyping() || s.IsSearching(),
	}
	if p.showsAges() {
		want.seconds, want.seq = c.Now.Unix(), s.snapshotSeq
	}
	if want == s.lastFillState {
		return
	}
	s.lastFillState = want
	s.SetSource(p.renderLines(c, s))
}

// copyCanvas returns a canvas for text to copy.
func (s *Screen) copyCanvas() draw.Canvas { return s.lastCanvas.WithSize(maxTextWidth, 0) }
