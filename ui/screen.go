package ui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

// openScreen is shown between the header and the keys.
type openScreen interface {
	cluster() *clusterState // the one that it is about, nil for none in particular
	allows() allowed
	Keys() []keys.Binding                           // the screen's own
	Update(msg tea.Msg) (cmd tea.Cmd, handled bool) // handled is false if a message is for others
	Load(a *assess.Assessment)                      // takes the newest state of the cluster
	Ask() tea.Cmd                                   // asks for what is missing
	View(c draw.Canvas) string
	Wheel(lines int)
	Close() // once it is left
}

// allowed are the keys of the program that depend on the screen.
type allowed struct {
	main                         bool // those for actions and to reconnect
	jobs                         bool // actions are about jobs
	command, help, quit, suspend bool
}

// A screen may do more than each of them does.
type (
	// prompter takes all keys while something is typed into the last line.
	prompter interface {
		Typing() bool
		Prompt(width int) string
		Update(tea.Msg) (cmd tea.Cmd, handled bool)
	}
	// writer has text fields, which take keys before bindings do. bound is true of a bound key.
	writer interface {
		Takes(msg tea.KeyPressMsg, bound bool) bool
		Type(msg tea.Msg) tea.Cmd
		Paste(msg tea.PasteMsg) tea.Cmd
	}
	// clicker takes clicks; again is true for what was selected before.
	clicker interface {
		Click(x, y int) (again bool, cmd tea.Cmd)
	}
)

// still is what screens need not have, for them to embed.
type still struct{}

func (still) cluster() *clusterState         { return nil }
func (still) Update(tea.Msg) (tea.Cmd, bool) { return nil, false }
func (still) Load(*assess.Assessment)        {}
func (still) Ask() tea.Cmd                   { return nil }
func (still) Close()                         {}

// base is a screen that is about a cluster, for screens to embed.
type base struct {
	still
	m  *Model
	of *clusterState
}

func (b base) cluster() *clusterState { return b.of }

func (m *Model) push(s openScreen) {
	m.screens = append(m.screens, s)
	if c := s.cluster(); c != nil {
		m.at = c
	}
}

func (m *Model) pop() tea.Cmd {
	top := m.top()
	m.screens = m.screens[:len(m.screens)-1]
	top.Close()
	return nil
}

func (m *Model) showDashboard() {
	for len(m.screens) > 1 {
		m.pop()
	}
}

func (m *Model) top() openScreen { return m.screens[len(m.screens)-1] }

// shown is the screen on top, or that below help.
func (m *Model) shown() openScreen {
	if m.helping() {
		return m.screens[len(m.screens)-2]
	}
	return m.top()
}

// find is the open screen of a type, the zero value if there is none.
func find[S openScreen](m *Model) (found S) {
	for _, s := range m.screens {
		if s, ok := s.(S); ok {
			found = s
		}
	}
	return found
}

// prompting is what takes all keys for its last line, or nil.
func (m *Model) prompting() prompter {
	if p, ok := m.top().(prompter); ok && p.Typing() {
		return p
	}
	return nil
}
