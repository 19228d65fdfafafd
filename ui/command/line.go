package command

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/ui/draw"
)

// InputLine is the line in which commands are typed. Its zero value is not usable: see [New].
type InputLine struct {
	commands []Command
	input    textinput.Model
	isOpen   bool
	// history holds earlier lines, the newest last. historyIndex is the index of the line shown, len(history) for draft.
	history      []string
	historyIndex int
	draft        string
}

const maxHistory = 100

// New returns a closed line for the commands.
func New(commands []Command) *InputLine {
	input := textinput.New()
	input.Prompt = ":"
	input.CharLimit = 300
	input.ShowSuggestions = true
	input.KeyMap.NextSuggestion = key.NewBinding(key.WithKeys("ctrl+n"))
	input.KeyMap.PrevSuggestion = key.NewBinding(key.WithKeys("ctrl+p", "shift+tab"))
	return &InputLine{commands: commands, input: input}
}

// Commands returns all commands.
func (l *InputLine) Commands() []Command { return l.commands }

// OpenEmpty opens an empty line.
func (l *InputLine) OpenEmpty() tea.Cmd {
	l.isOpen, l.historyIndex, l.draft = true, len(l.history), ""
	l.setText("")
	return l.input.Focus()
}

// IsTyping reports whether the line is open; it then takes all keys.
func (l *InputLine) IsTyping() bool { return l.isOpen }

// Close closes the line.
func (l *InputLine) Close() {
	l.isOpen = false
	l.input.Blur()
}

// Update handles a message. Enter closes the line and runs the command; the error is for the user.
func (l *InputLine) Update(msg tea.Msg) (tea.Cmd, error) {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		switch name := k.String(); {
		case name == "enter":
			return l.runTyped()
		case name == "esc", name == "ctrl+c", name == "backspace" && l.input.Value() == "":
			l.Close()
			return nil, nil
		case name == "up":
			l.recallHistory(-1)
			return nil, nil
		case name == "down":
			l.recallHistory(1)
			return nil, nil
		case name == "tab", name == "right" && l.input.Position() == len([]rune(l.input.Value())):
			l.acceptCompletion()
			return nil, nil
		}
	}
	before := l.input.Value()
	var cmd tea.Cmd
	if l.input, cmd = l.input.Update(msg); l.input.Value() != before {
		l.updateSuggestions()
	}
	return cmd, nil
}

func (l *InputLine) runTyped() (tea.Cmd, error) {
	line := strings.TrimSpace(l.input.Value())
	l.Close()
	if line == "" {
		return nil, nil
	}
	l.history = slices.DeleteFunc(l.history, func(s string) bool { return s == line })
	l.history = append(l.history, line)
	l.history = l.history[max(len(l.history)-maxHistory, 0):]
	return Run(l.commands, line)
}

// recallHistory shows the line typed before or after the present one.
func (l *InputLine) recallHistory(by int) {
	if l.historyIndex == len(l.history) {
		l.draft = l.input.Value()
	}
	l.historyIndex = min(max(l.historyIndex+by, 0), len(l.history))
	if l.historyIndex == len(l.history) {
		l.setText(l.draft)
	} else {
		l.setText(l.history[l.historyIndex])
	}
}

// acceptCompletion takes the offered completion, or the next one if the text is already that completion.
func (l *InputLine) acceptCompletion() {
	if l.input.CurrentSuggestion() == l.input.Value() {
		l.input, _ = l.input.Update(tea.KeyPressMsg{Code: 'n', Mod: tea.ModCtrl})
	}
	if text := l.input.CurrentSuggestion(); text != "" {
		l.setText(text)
	}
}

func (l *InputLine) setText(text string) {
	l.input.SetValue(text)
	l.input.CursorEnd()
	l.updateSuggestions()
}

func (l *InputLine) updateSuggestions() {
	l.input.SetSuggestions(findCompletions(l.commands, l.input.Value()))
}

// View draws the line, with the completions above it if there is room for two lines.
func (l *InputLine) View(c draw.Canvas) []string {
	l.input.SetWidth(max(c.Width-4, 1))
	line := ansi.Truncate(" "+l.input.View(), c.Width, "") // a suggestion pads it with spaces
	if c.Height < 2 {
		return []string{line}
	}
	return []string{l.renderCompletions(c), line}
}

// renderCompletions draws the completions side by side, or the usage of the command.
func (l *InputLine) renderCompletions(c draw.Canvas) string {
	all := l.input.MatchedSuggestions()
	value := l.input.Value()
	if value == "" {
		all = findCompletions(l.commands, "")
	}
	name, _, second := strings.Cut(value, " ")
	cmd, err := findCommand(l.commands, strings.ToLower(name))
	switch {
	case len(all) > 0 && (len(all) > 1 || all[0] != value):
	case name == "":
	case err != nil:
		return c.Truncate(" "+c.Theme.Waiting.Render(err.Error()), c.Width)
	default:
		return c.Truncate(" "+c.Theme.Dim.Render(cmd.Usage()+"  "+cmd.Description), c.Width)
	}
	chosen := l.input.CurrentSuggestionIndex()
	if value == "" {
		chosen = -1
	}
	words := make([]string, len(all))
	for i, text := range all {
		if second { // only the argument: the command is in the line
			_, text, _ = strings.Cut(text, " ")
		}
		text = strings.TrimSpace(text)
		if i == chosen {
			words[i] = c.Theme.Selected.Render(text)
		} else {
			words[i] = c.Theme.Dim.Render(text)
		}
	}
	// Keep the chosen completion in view.
	for first := 0; ; first++ {
		line := " " + strings.Join(words[first:], "  ")
		upTo := " " + strings.Join(words[first:max(chosen+1, first)], "  ")
		if first >= chosen || lipgloss.Width(upTo)+2 <= c.Width {
			return c.Truncate(line, c.Width)
		}
	}
}
