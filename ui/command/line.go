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

// Line is where commands are typed. Its zero value is not usable: see [New].
type Line struct {
	commands []Command
	input    textinput.Model
	open     bool
	// typed are earlier lines, the newest last; at is the one shown, len(typed) for draft.
	typed []string
	at    int
	draft string
}

const mostTyped = 100

// New is a closed line for some commands.
func New(commands []Command) *Line {
	input := textinput.New()
	input.Prompt = ":"
	input.CharLimit = 300
	input.ShowSuggestions = true
	input.KeyMap.NextSuggestion = key.NewBinding(key.WithKeys("ctrl+n"))
	input.KeyMap.PrevSuggestion = key.NewBinding(key.WithKeys("ctrl+p", "shift+tab"))
	return &Line{commands: commands, input: input}
}

// Commands are all commands.
func (l *Line) Commands() []Command { return l.commands }

// Open begins a new line.
func (l *Line) Open() tea.Cmd {
	l.open, l.at, l.draft = true, len(l.typed), ""
	l.set("")
	return l.input.Focus()
}

// Typing reports whether the line is open: it takes all keys then.
func (l *Line) Typing() bool { return l.open }

// Close leaves the line.
func (l *Line) Close() {
	l.open = false
	l.input.Blur()
}

// Update takes a message. Enter closes the line and runs the command; the error is for the user.
func (l *Line) Update(msg tea.Msg) (tea.Cmd, error) {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		switch name := k.String(); {
		case name == "enter":
			return l.run()
		case name == "esc", name == "ctrl+c", name == "backspace" && l.input.Value() == "":
			l.Close()
			return nil, nil
		case name == "up":
			l.recall(-1)
			return nil, nil
		case name == "down":
			l.recall(1)
			return nil, nil
		case name == "tab", name == "right" && l.input.Position() == len([]rune(l.input.Value())):
			l.complete()
			return nil, nil
		}
	}
	before := l.input.Value()
	var cmd tea.Cmd
	if l.input, cmd = l.input.Update(msg); l.input.Value() != before {
		l.suggest()
	}
	return cmd, nil
}

func (l *Line) run() (tea.Cmd, error) {
	line := strings.TrimSpace(l.input.Value())
	l.Close()
	if line == "" {
		return nil, nil
	}
	l.typed = slices.DeleteFunc(l.typed, func(s string) bool { return s == line })
	l.typed = append(l.typed, line)
	l.typed = l.typed[max(len(l.typed)-mostTyped, 0):]
	return Run(l.commands, line)
}

// recall shows the line typed before, or after, the present one.
func (l *Line) recall(by int) {
	if l.at == len(l.typed) {
		l.draft = l.input.Value()
	}
	l.at = min(max(l.at+by, 0), len(l.typed))
	if l.at == len(l.typed) {
		l.set(l.draft)
	} else {
		l.set(l.typed[l.at])
	}
}

// complete takes the offered completion; where that is typed already, the next one.
func (l *Line) complete() {
	if l.input.CurrentSuggestion() == l.input.Value() {
		l.input, _ = l.input.Update(tea.KeyPressMsg{Code: 'n', Mod: tea.ModCtrl})
	}
	if text := l.input.CurrentSuggestion(); text != "" {
		l.set(text)
	}
}

func (l *Line) set(text string) {
	l.input.SetValue(text)
	l.input.CursorEnd()
	l.suggest()
}

func (l *Line) suggest() { l.input.SetSuggestions(completions(l.commands, l.input.Value())) }

// View is the line, with what it can become above it if there is room for two.
func (l *Line) View(c draw.Canvas) []string {
	l.input.SetWidth(max(c.Width-4, 1))
	line := ansi.Truncate(" "+l.input.View(), c.Width, "") // a suggestion makes it wider, by spaces
	if c.Height < 2 {
		return []string{line}
	}
	return []string{l.offers(c), line}
}

// offers are the completions side by side, or what the command needs.
func (l *Line) offers(c draw.Canvas) string {
	all := l.input.MatchedSuggestions()
	value := l.input.Value()
	if value == "" {
		all = completions(l.commands, "")
	}
	name, _, second := strings.Cut(value, " ")
	cmd, err := named(l.commands, strings.ToLower(name))
	switch {
	case len(all) > 0 && (len(all) > 1 || all[0] != value):
	case name == "":
	case err != nil:
		return c.Cut(" "+c.Theme.Waiting.Render(err.Error()), c.Width)
	default:
		return c.Cut(" "+c.Theme.Dim.Render(cmd.Usage()+"  "+cmd.What), c.Width)
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
	// The chosen one stays in sight.
	for first := 0; ; first++ {
		line := " " + strings.Join(words[first:], "  ")
		upTo := " " + strings.Join(words[first:max(chosen+1, first)], "  ")
		if first >= chosen || lipgloss.Width(upTo)+2 <= c.Width {
			return c.Cut(line, c.Width)
		}
	}
}
