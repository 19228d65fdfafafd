package ui

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/ui/detail"
	"github.com/veltui/veltui/ui/dialog"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/jobview"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/pager"
	"github.com/veltui/veltui/watch"
)

// idleTick is the slow clock's pace while nothing runs.
const idleTick = time.Minute

// Model is the root: it routes messages to the screens and draws the frame
// around them. The pointer is the tea.Model.
type Model struct {
	options Options
	// keys are the program's own, and changes those that lead to an action.
	keys, changes []keys.Binding
	// next is the command that waits for the next snapshot, and assessAgain
	// makes one that judges a snapshot for the present moment.
	next        tea.Cmd
	assessAgain func(*watch.Snapshot) tea.Cmd
	// readLog has the log of an etcd backup's pod read, nil if none may be.
	readLog func(pod string) tea.Cmd
	theme   *draw.Theme
	// dark is what the background is, as far as that is known, and fewColors is
	// true where the terminal has sixteen colours at most.
	dark, fewColors bool
	glyphs          *draw.Glyphs

	width, height int
	// assessed is what is shown, nil before the first snapshot.
	assessed  *assess.Assessment
	dashboard *dashboard
	// other is the open screen of what is no job, nil on the dashboard.
	other *detail.Screen
	// job is the open job's screen, over the others, nil while there is none.
	job       *jobview.Screen
	sources   jobview.Sources
	questions questions
	looks     looks
	// dialog is over the screen, nil while there is none.
	dialog  *dialog.Dialog
	actions actions
	// notice answers a key that could do nothing; it goes with the next key.
	notice string
	// parting are lines for the user's own terminal when the program has ended.
	parting []string
	// helping is true while help is open, which helpView scrolls.
	helping  bool
	helpView viewport.Model
	helpKeys []keys.Binding
	// ticking is true while the slow clock is armed, at pace.
	ticking bool
	pace    time.Duration

	// frame is the last drawn view; it is drawn again only when stale.
	frame tea.View
	stale bool

	// err is why the program ends, if the user did not want it.
	err error
}

// snapshotAssessed brings a new snapshot, enriched and judged.
type snapshotAssessed struct{ *assess.Assessment }

// assessedAgain brings the last snapshot, judged for a later moment.
type assessedAgain struct{ *assess.Assessment }

// watchEnded tells that there will be no more snapshots.
type watchEnded struct{ err error }

// ticked is the slow clock that runs only while something on the screen
// depends on the time.
type ticked struct{}

// panicked brings a panic out of a command, so that the program can leave
// in order.
type panicked struct {
	value any
	stack []byte
}

func newModel(ctx context.Context, o Options) (*Model, error) {
	estimates := &assess.Estimates{}
	m := &Model{
		options: o, questions: newQuestions(ctx, o, estimates), looks: newLooks(ctx, o, estimates), actions: newActions(ctx, o),
		dashboard: newDashboard(), helpView: viewport.New(), glyphs: &draw.Unicode, stale: true,
	}
	m.next, m.assessAgain = assessments(ctx, o, estimates)
	if o.EtcdLogs != nil {
		m.readLog = func(pod string) tea.Cmd {
			return guarded(func() tea.Msg { o.EtcdLogs.ReadEtcdLog(ctx, pod); return nil })
		}
	}
	m.sources = o.Sources
	m.sources.Clock, m.sources.Start = o.Clock, starter(ctx)
	m.keys, m.changes, m.helpKeys = m.programKeys(), m.changeKeys(), m.keysOfHelp()
	m.dashboard.open, m.dashboard.look = m.openJob, m.openOther
	if o.ASCII {
		m.glyphs = &draw.ASCII
	}
	return m, m.useTheme(true)
}

// assessments makes the commands that judge: one waits for the next snapshot,
// of which never more than one is outstanding, the other judges a snapshot
// again, because verdicts, rates and ages change while nothing happens.
func assessments(ctx context.Context, o Options, estimates *assess.Estimates) (next tea.Cmd, again func(*watch.Snapshot) tea.Cmd) {
	next = guarded(func() tea.Msg {
		snap, err := o.Source.Next(ctx)
		if err != nil {
			return watchEnded{err}
		}
		return snapshotAssessed{estimates.Assess(snap, o.Clock())}
	})
	return next, func(snap *watch.Snapshot) tea.Cmd {
		return guarded(func() tea.Msg { return assessedAgain{estimates.Assess(snap, o.Clock())} })
	}
}

// starter makes commands of work that ends with the program.
func starter(ctx context.Context) pager.Start {
	return func(work func(context.Context) tea.Msg) (tea.Cmd, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		return guarded(func() tea.Msg { return work(ctx) }), cancel
	}
}

// guarded turns a panic in a command into a message.
func guarded(cmd tea.Cmd) tea.Cmd {
	return func() (msg tea.Msg) {
		defer func() {
			if value := recover(); value != nil {
				msg = panicked{value, debug.Stack()}
			}
		}()
		return cmd()
	}
}

// Init asks for the first snapshot and for the terminal's background.
func (m *Model) Init() tea.Cmd {
	cmds := []tea.Cmd{m.next}
	if _, byBackground := m.themeName(true); byBackground {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	if m.options.QuerySync {
		cmds = append(cmds, tea.Raw(ansi.RequestModeSynchronizedOutput))
	}
	return tea.Batch(cmds...)
}

// Update routes one message.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.stale = true
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.BackgroundColorMsg:
		_ = m.useTheme(msg.IsDark()) // on an error, the theme stays
	case tea.ColorProfileMsg:
		m.fewColors = msg.Profile <= colorprofile.ANSI
		_ = m.useTheme(m.dark)
	case tea.KeyPressMsg:
		return m, m.pressed(msg)
	case tea.PasteMsg:
		return m, m.pasted(msg)
	case tea.ResumeMsg:
		return m, tea.ClearScreen
	case snapshotAssessed:
		m.show(msg.Assessment)
		return m, tea.Batch(m.next, m.tick(), m.ask(), m.look(), m.askRights())
	case assessedAgain:
		if m.assessed != nil && msg.Source == m.assessed.Source {
			m.show(msg.Assessment)
		}
		return m, tea.Batch(m.tick(), m.ask(), m.look())
	case ticked:
		m.ticking = false
		return m, m.judgeAgain()
	case contentsRead:
		return m, m.takeContents(msg)
	case downloadMoved:
		m.stale = m.job != nil && m.job.UID() == msg.uid
		return m, m.questions.advance(msg)
	case lookTaken:
		return m, m.takeLook(msg)
	case rightsAnswered:
		m.actions.takeRights(msg)
	case jobview.Noticed:
		m.notice = msg.Text
	case watchEnded:
		return m, m.end(msg.err, "watching the cluster: %w")
	case panicked:
		return m, m.end(fmt.Errorf("%v\n%s", msg.value, msg.stack), "veltui has a defect, please report it: %w")
	default:
		return m, m.passOn(msg)
	}
	return m, nil
}

// passOn gives a message to the screen that it is for.
func (m *Model) passOn(msg tea.Msg) tea.Cmd {
	switch {
	case dialog.Handles(msg):
		if m.dialog == nil {
			return nil
		}
		return m.dialog.Update(msg)
	case m.dashboard.typing:
		return m.dashboard.typed(msg)
	}
	for _, screen := range m.paged() {
		if cmd, handled := screen.Update(msg); handled {
			return cmd
		}
	}
	m.stale = false
	return nil
}

// show makes a new assessment the one that is shown.
func (m *Model) show(a *assess.Assessment) {
	m.assessed = a
	m.dropQuestions()
	m.dashboard.load(a)
	if m.other != nil {
		m.other.Load(a)
	}
	if m.job != nil {
		m.job.Load(a)
	}
}

// judgeAgain judges the last snapshot for the present moment.
func (m *Model) judgeAgain() tea.Cmd {
	if m.assessed == nil {
		return nil
	}
	return m.assessAgain(m.assessed.Source)
}

// tick arms the slow clock: while jobs move for their ages and verdicts, else
// only for what ages by the minute.
func (m *Model) tick() tea.Cmd {
	if m.ticking || m.assessed == nil {
		return nil
	}
	m.ticking, m.pace = true, m.options.Tick
	if snap := m.assessed.Snapshot; len(snap.Active) == 0 && snap.Health.State == watch.Live {
		m.pace = idleTick
	}
	return tea.Tick(m.pace, func(time.Time) tea.Msg { return ticked{} })
}

// end ends the program. That it was cancelled is no reason of its own.
func (m *Model) end(err error, format string) tea.Cmd {
	if !errors.Is(err, context.Canceled) {
		m.err = fmt.Errorf(format, err)
	}
	return tea.Quit
}

// themeName is the theme on a background, and whether the background decides.
func (m *Model) themeName(dark bool) (name string, byBackground bool) {
	if m.options.NoColor {
		return "mono", false
	}
	return draw.ThemeFor(m.options.Theme, dark)
}

// useTheme takes the theme for a background, and for the terminal's colours.
func (m *Model) useTheme(dark bool) error {
	m.dark = dark
	name, _ := m.themeName(dark)
	theme, err := draw.LoadTheme(name)
	if err != nil {
		return err
	}
	if m.theme = theme; m.fewColors {
		m.theme = theme.Basic()
	}
	return nil
}

// clusterNow is the present in the cluster's clock.
func (m *Model) clusterNow() time.Time {
	now := m.options.Clock()
	if m.assessed != nil {
		now = now.Add(m.assessed.Snapshot.ClockOffset)
	}
	return now
}
