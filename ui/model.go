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
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/view/narrate"
	"github.com/veltui/veltui/ui/command"
	"github.com/veltui/veltui/ui/dialog"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/jobview"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/watch"
)

// idleTickPace is the slow clock's pace while nothing runs.
const idleTickPace = time.Minute

// Model is the root tea.Model: it routes messages to the screens and draws the frame.
type Model struct {
	options            Options
	programBindings    []keys.Binding  // the keys of the program itself
	changeBindings     []keys.Binding  // the keys that open an action
	ctx                context.Context // ends with the program
	lastClusterID      int             // the number of clusters shown so far
	lastSwitch         *clusterSwitch  // the last switch that did not fail
	previousSwitch     *clusterSwitch  // the clusters shown before it
	requestedNamespace string          // the last namespace asked for
	theme              *draw.Theme
	darkBackground     bool // the terminal's background
	fewColors          bool // at most sixteen
	glyphs             *draw.Glyphs

	width, height     int
	clusters          []*clusterState // the shown clusters
	currentCluster    *clusterState   // the cluster of the open screen
	screens           []screenOnStack // the open screens, the dashboard at the bottom
	dashboard         *dashboard
	backgroundDialogs []*dialogScreen  // dialogs that were left while their result is awaited
	awaitedResource   *changedResource // what a change has made and is to be opened; nil for nothing
	startWork         fetch.StartFunc  // starts work that ends with the program
	notice            string           // the answer to a key that could do nothing; the next key clears it
	inputCount        int              // counts keys and pastes
	lastKey           string           // the last key, pressed at lastKeyAt
	lastKeyAt         time.Time
	notifications     narrate.Notifications // to a person, due or waiting
	notifyArmed       bool                  // true while a timer runs for notifications
	guideHidden       bool                  // true once the hints of the guide are hidden
	exitLines         []string              // lines for the user's own terminal when the program has ended
	commandLine       *command.InputLine    // where a command is typed
	savePrompt        keys.PathPrompt       // where the path of a file is confirmed
	tickPace          time.Duration         // the pace of the armed slow clock
	tickNumber        int                   // only the slow clock's tick with this number counts

	frame         tea.View // the last frame, drawn again only when stale
	isFrameStale  bool
	wasFrameStale bool  // stale, before the present message
	exitErr       error // why the program ends, if the user did not ask for it
}

// snapshotAssessedMsg brings a new snapshot, enriched and judged.
type snapshotAssessedMsg struct {
	clusterState *clusterState
	*assess.Assessment
}

// reassessedMsg brings the last snapshot, judged again for the current time.
type reassessedMsg snapshotAssessedMsg

type watchEndedMsg struct {
	clusterState *clusterState
	err          error
}

// tickMsg is the slow clock, which runs only while the screen depends on the time.
type tickMsg struct{ tickNumber int }

type panicMsg struct {
	value any
	stack []byte
}

func newModel(ctx context.Context, o Options) (*Model, error) {
	m := &Model{options: o, ctx: ctx, startWork: newStartFunc(ctx), glyphs: &draw.UnicodeGlyphs, isFrameStale: true}
	if len(o.Clusters) == 0 {
		return nil, errors.New("there is no cluster to show")
	}
	m.setClusters(o.Clusters)
	m.dashboard = newDashboard(m)
	m.dashboard.chooseTabs(o.Tabs, o.Columns)
	m.screens = []screenOnStack{m.dashboard}
	m.programBindings, m.changeBindings = m.newProgramBindings(), m.newChangeBindings()
	m.commandLine = command.New(m.newCommands())
	if o.ASCII {
		m.glyphs = &draw.ASCIIGlyphs
	}
	return m, m.useTheme(true)
}

func newStartFunc(ctx context.Context) fetch.StartFunc {
	return func(work func(context.Context) tea.Msg) (tea.Cmd, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		return recoverPanic(func() tea.Msg { return work(ctx) }), cancel
	}
}

func recoverPanic(cmd tea.Cmd) tea.Cmd {
	return func() (msg tea.Msg) {
		defer func() {
			if value := recover(); value != nil {
				msg = panicMsg{value, debug.Stack()}
			}
		}()
		return cmd()
	}
}

func (m *Model) Init() tea.Cmd {
	var cmds []tea.Cmd
	for _, c := range m.clusters {
		cmds = append(cmds, c.awaitSnapshot(), m.loadAcknowledgements(c))
	}
	if _, byBackground := m.themeName(true); byBackground {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	if m.options.QuerySynchronizedOutput {
		cmds = append(cmds, tea.Raw(ansi.RequestModeSynchronizedOutput))
	}
	if m.options.UnfinishedAttempts != nil {
		look, _ := m.startWork(
			func(ctx context.Context) tea.Msg { return unfinishedAttemptsMsg(m.options.UnfinishedAttempts(ctx)) },
		)
		cmds = append(cmds, look)
	}
	return tea.Batch(cmds...)
}

// unfinishedAttemptsMsg holds sentences about earlier attempts that were not completed.
type unfinishedAttemptsMsg []string

// reportUnfinished shows the first sentence, and leaves all of them on the user's terminal at the end.
func (m *Model) reportUnfinished(sentences unfinishedAttemptsMsg) {
	if len(sentences) == 0 {
		m.keepFrame()
		return
	}
	m.exitLines = append(m.exitLines, sentences...)
	m.notice = sentences[0]
	if more := len(sentences) - 1; more > 0 {
		m.notice += " veltui prints this" + human.AndMore(more) + " when you quit."
	}
}

func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.wasFrameStale, m.isFrameStale = m.isFrameStale, true
	switch msg.(type) {
	case tea.KeyPressMsg, tea.PasteMsg, tea.MouseClickMsg, tea.MouseWheelMsg:
		m.dashboard.noteActivity()
	}
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.BackgroundColorMsg:
		_ = m.useTheme(msg.IsDark()) // on an error, the theme stays
	case tea.ColorProfileMsg:
		m.fewColors = msg.Profile <= colorprofile.ANSI
		_ = m.useTheme(m.darkBackground)
	case tea.KeyPressMsg:
		return m, m.handleKey(msg)
	case tea.PasteMsg:
		return m, m.handlePaste(msg)
	case tea.MouseClickMsg:
		return m, m.handleClick(msg)
	case tea.MouseWheelMsg:
		m.handleWheel(msg)
		return m, nil
	case tea.ResumeMsg:
		return m, tea.ClearScreen
	case snapshotAssessedMsg:
		if !m.isShown(msg.clusterState) {
			return m, nil
		}
		over := m.applyAssessment(msg.clusterState, msg.Assessment)
		return m, tea.Batch(
			over,
			msg.clusterState.awaitSnapshot(),
			m.armClock(),
			m.fetchMissing(),
			m.lookCloser(),
			m.checkAccess(msg.clusterState),
			m.sendNotification(),
		)
	case reassessedMsg:
		var over tea.Cmd
		if m.isShown(msg.clusterState) && msg.Source == msg.clusterState.assessment.Source {
			over = m.applyAssessment(msg.clusterState, msg.Assessment)
		}
		return m, tea.Batch(over, m.armClock(), m.fetchMissing(), m.lookCloser(), m.sendNotification())
	case unboundKeyMsg:
		if m.keepFrame(); msg.inputCount == m.inputCount {
			m.notice, m.isFrameStale = msg.key+" does nothing here; "+m.options.Keys.FirstKey("help")+" lists the keys", true
		}
	case notifyDueMsg:
		m.keepFrame()
		m.notifyArmed = false
		return m, m.sendNotification()
	case clustersConnectedMsg:
		return m, m.handleConnected(msg)
	case tickMsg:
		if msg.tickNumber != m.tickNumber {
			m.keepFrame()
			return m, nil // replaced by a faster tick
		}
		pace := m.tickPace
		m.tickPace = 0
		return m, m.reassessOutdated(pace)
	case fetch.Message:
		next, changed := msg.Deliver()
		if !changed {
			m.keepFrame()
		}
		return m, tea.Batch(next, m.fetchMissing())
	case unfinishedAttemptsMsg:
		m.reportUnfinished(msg)
	case dialog.ObservationDoneMsg:
		m.handleObservationDone(msg.Dialog)
	case keys.SaveAsMsg:
		m.notice = ""
		path := filepath.Join(m.options.SaveFolder, filepath.Base(msg.ProposedPath))
		return m, m.savePrompt.OpenWithPath(path, msg.WriteFile)
	case jobview.NoticeMsg:
		m.notice = msg.Text
	case watchEndedMsg:
		return m, m.handleWatchEnded(msg.clusterState, msg.err)
	case panicMsg:
		return m, m.endProgram(fmt.Errorf("%v\n%s", msg.value, msg.stack), "veltui has a defect, please report it: %w")
	default:
		return m, m.forwardMessage(msg)
	}
	return m, nil
}

func (m *Model) forwardMessage(msg tea.Msg) tea.Cmd {
	for _, s := range slices.Backward(m.screens) {
		if cmd, handled := s.Update(msg); handled {
			return cmd
		}
	}
	switch {
	case m.savePrompt.IsTyping():
		return m.savePrompt.Update(msg)
	case m.commandLine.IsTyping():
		return m.handleCommandInput(msg)
	}
	m.keepFrame()
	return nil
}

// keepFrame notes that a message changed nothing. Changes of earlier messages may still have to be drawn.
func (m *Model) keepFrame() { m.isFrameStale = m.wasFrameStale }

func (m *Model) applyAssessment(c *clusterState, a *assess.Assessment) tea.Cmd {
	c.assessment = a
	a.Coverage, a.NextRunPrediction = &c.coverageReading, &c.nextRunReading
	over := m.updateFindings(c)
	m.collectNotifications(c)
	m.dropUnneededContents(c)
	if len(m.screens) > 1 {
		m.dashboard.noteActivity()
	}
	m.refreshScreens(c)
	return tea.Batch(over, m.openAwaitedResource())
}

// refreshScreens applies a cluster's present state to the screens.
func (m *Model) refreshScreens(c *clusterState) {
	m.dashboard.rebuildRows()
	for _, s := range m.screens {
		if s.shownCluster() == c {
			s.SetAssessment(c.assessment)
		}
	}
}

// reassessOutdated judges again all snapshots whose assessment is at least one pace old.
func (m *Model) reassessOutdated(pace time.Duration) tea.Cmd {
	var cmds []tea.Cmd
	for _, c := range knownClusters(m.clusters) {
		if c.clusterTime(m.options.Clock).Sub(c.assessment.World.Now) >= pace {
			cmds = append(cmds, c.reassess())
		}
	}
	if len(cmds) == 0 {
		m.keepFrame()
		return m.armClock()
	}
	return tea.Batch(cmds...)
}

// armClock arms the slow clock: at the tick interval while jobs are active or a cluster is not live, otherwise once a
// minute.
func (m *Model) armClock() tea.Cmd {
	shown, pace := knownClusters(m.clusters), idleTickPace
	for _, c := range shown {
		if len(c.assessment.Snapshot.Active) > 0 || c.currentHealth().State != watch.Live {
			pace = m.options.TickInterval
		}
	}
	if len(shown) == 0 || m.tickPace > 0 && m.tickPace <= pace {
		return nil
	}
	m.tickPace = pace
	m.tickNumber++
	n := m.tickNumber
	return tea.Tick(pace, func(time.Time) tea.Msg { return tickMsg{n} })
}

// handleWatchEnded handles the end of a cluster's watch. The other clusters are still followed.
func (m *Model) handleWatchEnded(c *clusterState, err error) tea.Cmd {
	if m.isShown(c) && (len(m.clusters) == 1 || errors.Is(err, context.Canceled)) {
		return m.endProgram(err, "watching the cluster: %w")
	}
	c.watchErr = err
	return nil
}

// endProgram ends the program. Cancellation is not reported as an error.
func (m *Model) endProgram(err error, format string) tea.Cmd {
	if !errors.Is(err, context.Canceled) {
		m.exitErr = fmt.Errorf(format, err)
	}
	return tea.Quit
}

// themeName returns the name of the theme for a background, empty for the user's own theme.
func (m *Model) themeName(dark bool) (name string, byBackground bool) {
	switch {
	case m.options.NoColor:
		return "mono", false
	case m.options.UserTheme != nil:
		return "", false
	}
	return draw.ResolveTheme(m.options.Theme, dark)
}

// useTheme sets the theme for a background and for the terminal's number of colours.
func (m *Model) useTheme(dark bool) error {
	m.darkBackground = dark
	name, _ := m.themeName(dark)
	theme := m.options.UserTheme
	if name != "" {
		var err error
		if theme, err = draw.LoadTheme(name); err != nil {
			return err
		}
	}
	if m.theme = theme; m.fewColors {
		m.theme = theme.ForSixteenColors()
	}
	return nil
}
