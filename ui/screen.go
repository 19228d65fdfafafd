package ui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

// screenOnStack is a screen, drawn between the header and the keys.
type screenOnStack interface {
	shownCluster() *clusterState // the cluster that the screen is about, nil for none in particular
	globalKeys() globalKeySet
	Bindings() []keys.Binding                       // the keys of the screen itself
	Update(msg tea.Msg) (cmd tea.Cmd, handled bool) // handled is false if the message is for another screen
	SetAssessment(a *assess.Assessment)             // sets the newest state of the cluster
	FetchMissing() tea.Cmd                          // requests the data that the screen lacks
	View(c draw.Canvas) string
	HandleWheel(lines int)
	Close() // called once the screen is left
}

// globalKeySet says which of the program's keys a screen allows.
type globalKeySet struct {
	actions                      bool // the keys for actions and for reconnecting
	jobActions                   bool // the actions are about jobs
	command, help, quit, suspend bool
}

// Screens may implement these interfaces too.
type (
	// prompter takes all keys while something is typed into the last line.
	prompter interface {
		IsTyping() bool
		RenderPrompt(width int) string
		Update(tea.Msg) (cmd tea.Cmd, handled bool)
	}
	// textEditor has text fields, which take keys before bindings do. bound is true if the key has a binding.
	textEditor interface {
		AcceptsKey(msg tea.KeyPressMsg, bound bool) bool
		HandleTyping(msg tea.Msg) tea.Cmd
		HandlePaste(msg tea.PasteMsg) tea.Cmd
	}
	// clickHandler handles clicks; again is true if the clicked thing was already selected.
	clickHandler interface {
		HandleClick(x, y int) (again bool, cmd tea.Cmd)
	}
)

// noopScreen implements the optional methods of a screen, for embedding.
type noopScreen struct{}

func (noopScreen) shownCluster() *clusterState      { return nil }
func (noopScreen) Update(tea.Msg) (tea.Cmd, bool)   { return nil, false }
func (noopScreen) SetAssessment(*assess.Assessment) {}
func (noopScreen) FetchMissing() tea.Cmd            { return nil }
func (noopScreen) Close()                           {}

// clusterScreen is a screen about a cluster, for embedding.
type clusterScreen struct {
	noopScreen
	model        *Model
	clusterState *clusterState
}

func (b clusterScreen) shownCluster() *clusterState { return b.clusterState }

func (m *Model) pushScreen(s screenOnStack) {
	m.screens = append(m.screens, s)
	if c := s.shownCluster(); c != nil {
		m.currentCluster = c
	}
}

func (m *Model) popScreen() tea.Cmd {
	top := m.topScreen()
	m.screens = m.screens[:len(m.screens)-1]
	top.Close()
	return nil
}

func (m *Model) showDashboard() {
	for len(m.screens) > 1 {
		m.popScreen()
	}
}

func (m *Model) topScreen() screenOnStack { return m.screens[len(m.screens)-1] }

// screenBelowHelp returns the screen on top, or the one below help.
func (m *Model) screenBelowHelp() screenOnStack {
	if m.isHelpOpen() {
		return m.screens[len(m.screens)-2]
	}
	return m.topScreen()
}

// findScreen returns the open screen of a type, the zero value if there is none.
func findScreen[S screenOnStack](m *Model) (found S) {
	for _, s := range m.screens {
		if s, ok := s.(S); ok {
			found = s
		}
	}
	return found
}

// activePrompt returns the prompt that takes all keys, or nil.
func (m *Model) activePrompt() prompter {
	if p, ok := m.topScreen().(prompter); ok && p.IsTyping() {
		return p
	}
	return nil
}
