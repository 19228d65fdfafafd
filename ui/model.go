package ui

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/view/narrate"
	"github.com/veltui/veltui/ui/command"
	"github.com/veltui/veltui/ui/dialog"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/jobview"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/watch"
)

// idleTick is the slow clock's pace while nothing runs.
const idleTick = time.Minute

// Model is the root tea.Model: it routes messages to the screens and draws the frame.
type Model struct {
	options   Options
	keys      []keys.Binding  // the program's own
	changes   []keys.Binding  // those that lead to an action
	ctx       context.Context // ends with the program
	made      int             // counts the clusters that were shown
	switching *switching      // the last switch that did not fail
	left      *switching      // what was shown before it
	namespace string          // the last one asked for
	theme     *draw.Theme
	dark      bool // the terminal's background
	fewColors bool // at most sixteen
	glyphs    *draw.Glyphs

	width, height int
	clusters      []*clusterState // those that are shown
	at            *clusterState   // the one of the open screen
	screens       []openScreen    // the open ones, the dashboard at the bottom
	dashboard     *dashboard
	watching      []*dialogScreen // those that were left while the result is watched
	starts        fetch.Start     // makes commands of work that ends with the program
	notice        string          // answers a key that could do nothing; it goes with the next key
	presses       int             // counts keys and pastes
	lastKey       string          // and when it came
	lastKeyAt     time.Time
	calls         narrate.Calls // to a person, that are due or wait
	calling       bool          // while a clock runs for calls
	unguided      bool          // true once the hints of the guide are hidden
	parting       []string      // lines for the user's own terminal when the program has ended
	command       *command.Line // where a command is typed
	saveAs        keys.PathLine // where a file's path is confirmed
	pace          time.Duration // of the armed slow clock
	ticks         int           // only the slow clock's tick of this number counts

	frame   tea.View // the last one, drawn again only when stale
	stale   bool
	undrawn bool  // whether it was stale before the present message
	err     error // why the program ends, if the user did not want it
}

// snapshotAssessed brings a new snapshot, enriched and judged.
type snapshotAssessed struct {
	of *clusterState
	*assess.Assessment
}

// assessedAgain brings the last one, judged for the present.
type assessedAgain snapshotAssessed

type watchEnded struct {
	of  *clusterState
	err error
}

// ticked is the slow clock, which runs only while the screen depends on the time.
type ticked struct{ n int }

type panicked struct {
	value any
	stack []byte
}

func newModel(ctx context.Context, o Options) (*Model, error) {
	m := &Model{options: o, ctx: ctx, starts: starter(ctx), glyphs: &draw.Unicode, stale: true}
	if len(o.Clusters) == 0 {
		return nil, errors.New("there is no cluster to show")
	}
	m.setClusters(o.Clusters)
	m.dashboard = newDashboard(m)
	m.dashboard.choose(o.Tabs, o.Columns)
	m.screens = []openScreen{m.dashboard}
	m.keys, m.changes = m.programKeys(), m.changeKeys()
	m.command = command.New(m.newCommands())
	if o.ASCII {
		m.glyphs = &draw.ASCII
	}
	return m, m.useTheme(true)
}

func starter(ctx context.Context) fetch.Start {
	return func(work func(context.Context) tea.Msg) (tea.Cmd, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		return guarded(func() tea.Msg { return work(ctx) }), cancel
	}
}

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

func (m *Model) Init() tea.Cmd {
	var cmds []tea.Cmd
	for _, c := range m.clusters {
		cmds = append(cmds, c.next(), m.loadAcknowledged(c))
	}
	if _, byBackground := m.themeName(true); byBackground {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	if m.options.QuerySync {
		cmds = append(cmds, tea.Raw(ansi.RequestModeSynchronizedOutput))
	}
	if m.options.Unfinished != nil {
		look, _ := m.starts(func(ctx context.Context) tea.Msg { return attemptsUnfinished(m.options.Unfinished(ctx)) })
		cmds = append(cmds, look)
	}
	return tea.Batch(cmds...)
}

// attemptsUnfinished are sentences about earlier attempts that were not completed.
type attemptsUnfinished []string

// reportUnfinished shows the first, and leaves all of them on the user's terminal.
func (m *Model) reportUnfinished(sentences attemptsUnfinished) {
	if len(sentences) == 0 {
		m.unchanged()
		return
	}
	m.parting = append(m.parting, sentences...)
	m.notice = sentences[0]
	if more := len(sentences) - 1; more > 0 {
		m.notice += fmt.Sprintf(" veltui prints this and %d more when you quit.", more)
	}
}

func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.undrawn, m.stale = m.stale, true
	switch msg.(type) {
	case tea.KeyPressMsg, tea.PasteMsg, tea.MouseClickMsg, tea.MouseWheelMsg:
		m.dashboard.attend()
	}
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
	case tea.MouseClickMsg:
		return m, m.clicked(msg)
	case tea.MouseWheelMsg:
		m.wheeled(msg)
		return m, nil
	case tea.ResumeMsg:
		return m, tea.ClearScreen
	case snapshotAssessed:
		if !m.shows(msg.of) {
			return m, nil
		}
		over := m.show(msg.of, msg.Assessment)
		return m, tea.Batch(over, msg.of.next(), m.tick(), m.ask(), m.look(), m.checkAccess(msg.of), m.call())
	case assessedAgain:
		var over tea.Cmd
		if m.shows(msg.of) && msg.Source == msg.of.assessed.Source {
			over = m.show(msg.of, msg.Assessment)
		}
		return m, tea.Batch(over, m.tick(), m.ask(), m.look(), m.call())
	case unboundKey:
		if m.unchanged(); msg.n == m.presses {
			m.notice, m.stale = msg.key+" does nothing here; "+m.options.Keys.Key("help")+" lists the keys", true
		}
	case callDue:
		m.unchanged()
		m.calling = false
		return m, m.call()
	case clustersConnected:
		return m, m.handleClusters(msg)
	case ticked:
		if msg.n != m.ticks {
			m.unchanged()
			return m, nil // a faster one has taken its place
		}
		pace := m.pace
		m.pace = 0
		return m, m.judgeAgain(pace)
	case fetch.Message:
		next, changed := msg.Deliver()
		if !changed {
			m.unchanged()
		}
		return m, tea.Batch(next, m.ask())
	case attemptsUnfinished:
		m.reportUnfinished(msg)
	case dialog.Watched:
		m.handleWatched(msg.Of)
	case keys.SaveAs:
		m.notice = ""
		return m, m.saveAs.Open(filepath.Join(m.options.Folder, filepath.Base(msg.Name)), msg.Do)
	case jobview.Noticed:
		m.notice = msg.Text
	case watchEnded:
		return m, m.endWatch(msg.of, msg.err)
	case panicked:
		return m, m.end(fmt.Errorf("%v\n%s", msg.value, msg.stack), "veltui has a defect, please report it: %w")
	default:
		return m, m.passOn(msg)
	}
	return m, nil
}

func (m *Model) passOn(msg tea.Msg) tea.Cmd {
	for _, s := range slices.Backward(m.screens) {
		if cmd, handled := s.Update(msg); handled {
			return cmd
		}
	}
	switch {
	case m.saveAs.Typing():
		return m.saveAs.Update(msg)
	case m.command.Typing():
		return m.typedCommand(msg)
	}
	m.unchanged()
	return nil
}

// unchanged notes that a message changed nothing. What came before may still be undrawn.
func (m *Model) unchanged() { m.stale = m.undrawn }

func (m *Model) show(c *clusterState, a *assess.Assessment) tea.Cmd {
	c.assessed = a
	a.Coverage, a.NextRun = &c.coverage, &c.nextRun
	over := m.findAttention(c)
	m.hear(c)
	m.dropQuestions(c)
	if len(m.screens) > 1 {
		m.dashboard.attend()
	}
	m.reload(c)
	return over
}

// reload has the screens take what is known of a cluster.
func (m *Model) reload(c *clusterState) {
	m.dashboard.load()
	for _, s := range m.screens {
		if s.cluster() == c {
			s.Load(c.assessed)
		}
	}
}

// judgeAgain judges snapshots again that are older than the slow clock's last tick.
func (m *Model) judgeAgain(pace time.Duration) tea.Cmd {
	var cmds []tea.Cmd
	for _, c := range known(m.clusters) {
		if c.now(m.options.Clock).Sub(c.assessed.Environment.Now) >= pace {
			cmds = append(cmds, c.judgeAgain())
		}
	}
	if len(cmds) == 0 {
		m.unchanged()
		return m.tick()
	}
	return tea.Batch(cmds...)
}

// tick arms the slow clock: for ages and verdicts while jobs move, else by the minute.
func (m *Model) tick() tea.Cmd {
	shown, pace := known(m.clusters), idleTick
	for _, c := range shown {
		if len(c.assessed.Snapshot.Active) > 0 || c.health().State != watch.Live {
			pace = m.options.Tick
		}
	}
	if len(shown) == 0 || m.pace > 0 && m.pace <= pace {
		return nil
	}
	m.pace = pace
	m.ticks++
	n := m.ticks
	return tea.Tick(pace, func(time.Time) tea.Msg { return ticked{n} })
}

// endWatch takes that a cluster is no longer followed. The others are.
func (m *Model) endWatch(c *clusterState, err error) tea.Cmd {
	if m.shows(c) && (len(m.clusters) == 1 || errors.Is(err, context.Canceled)) {
		return m.end(err, "watching the cluster: %w")
	}
	c.ended = err
	return nil
}

// end ends the program. That it was cancelled is no reason of its own.
func (m *Model) end(err error, format string) tea.Cmd {
	if !errors.Is(err, context.Canceled) {
		m.err = fmt.Errorf(format, err)
	}
	return tea.Quit
}

// themeName is the theme on a background, empty for the user's own.
func (m *Model) themeName(dark bool) (name string, byBackground bool) {
	switch {
	case m.options.NoColor:
		return "mono", false
	case m.options.UserTheme != nil:
		return "", false
	}
	return draw.ThemeFor(m.options.Theme, dark)
}

// useTheme takes the theme for a background, and for the terminal's colours.
func (m *Model) useTheme(dark bool) error {
	m.dark = dark
	name, _ := m.themeName(dark)
	theme := m.options.UserTheme
	if name != "" {
		var err error
		if theme, err = draw.LoadTheme(name); err != nil {
			return err
		}
	}
	if m.theme = theme; m.fewColors {
		m.theme = theme.Basic()
	}
	return nil
}
