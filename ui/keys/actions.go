package keys

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// ScreenSet is a set of screens on which keys work.
type ScreenSet int

// The screens. The bindings of one screen are active together.
const (
	Dashboard ScreenSet = 1 << iota
	JobPages            // of a job, except its Logs and Volumes pages
	LogsPage
	VolumesPage
	OtherPages // the pages of resources other than jobs, and the log
	HelpScreen
	Dialog
	RestoreForm // for a restore
)

const (
	allJobPages = JobPages | LogsPage | VolumesPage
	mainScreens = Dashboard | allJobPages | OtherPages
	allScreens  = mainScreens | HelpScreen | Dialog
)

// Action is an action whose keys can be chosen. The bindings with its name perform it.
type Action struct {
	Name        string
	Keys        []string // the default keys
	Description string
	Screens     ScreenSet
	WhileTyping bool // true if the key works while a name is typed: the key must not be part of a name
}

// Actions are the actions whose keys can be chosen. The keys of FixedActions and ctrl+c never change.
var Actions = []Action{
	{Name: "up", Keys: []string{"up", "k"}, Description: "a line up", Screens: allScreens},
	{Name: "down", Keys: []string{"down", "j"}, Description: "a line down", Screens: allScreens},
	{Name: "page-up", Keys: []string{"pgup", "ctrl+b"}, Description: "a page up", Screens: allScreens},
	{Name: "page-down", Keys: []string{"pgdown", "ctrl+f", "space"}, Description: "a page down", Screens: allScreens},
	{Name: "half-page-up", Keys: []string{"ctrl+u"}, Description: "half a page up", Screens: allScreens},
	{Name: "half-page-down", Keys: []string{"ctrl+d"}, Description: "half a page down", Screens: allScreens},
	{Name: "top", Keys: []string{"home", "g"}, Description: "to the top", Screens: allScreens},
	{Name: "bottom", Keys: []string{"end", "G"}, Description: "to the end", Screens: allScreens},
	{Name: "next-tab", Keys: []string{"tab"}, Description: "next tab or page", Screens: Dashboard | allJobPages},
	{
		Name:        "previous-tab",
		Keys:        []string{"shift+tab"},
		Description: "previous tab or page",
		Screens:     Dashboard | allJobPages,
	},
	{Name: "open", Keys: []string{"enter", "right"}, Description: "open what is selected", Screens: mainScreens},
	{Name: "describe", Keys: []string{"d"}, Description: "describe what is selected", Screens: Dashboard},
	{Name: "yaml", Keys: []string{"y"}, Description: "a job's YAML", Screens: Dashboard},
	{
		Name:        "back",
		Keys:        []string{"esc", "left", "h", "backspace"},
		Description: "back",
		Screens:     allJobPages | OtherPages,
	},
	{Name: "clear", Keys: []string{"esc"}, Description: "clear the filter, then the marks", Screens: Dashboard},
	{Name: "filter", Keys: []string{"/"}, Description: "filter the list", Screens: Dashboard},
	{Name: "sort", Keys: []string{"s"}, Description: "sort the list", Screens: Dashboard},
	{
		Name:        "acknowledge",
		Keys:        []string{"a"},
		Description: "acknowledge what needs attention, until it changes",
		Screens:     Dashboard,
	},
	{Name: "reverse", Keys: []string{"S"}, Description: "reverse the order of the list", Screens: Dashboard},
	{Name: "errors", Keys: []string{"e"}, Description: "a job's errors and warnings", Screens: Dashboard | allJobPages},
	{Name: "logs", Keys: []string{"l"}, Description: "a job's log", Screens: Dashboard | allJobPages},
	{Name: "volumes", Keys: []string{"v"}, Description: "a job's volumes", Screens: Dashboard | allJobPages},
	{
		Name:        "verify",
		Keys:        []string{"V"},
		Description: "verify what a restore brought back",
		Screens:     Dashboard | allJobPages,
	},
	{
		Name:        "compare",
		Keys:        []string{"c"},
		Description: "compare the contents of what a restore brought back with its backup",
		Screens:     allJobPages,
	},
	{
		Name:        "report",
		Keys:        []string{"p"},
		Description: "save a report to hand over, or stop making one",
		Screens:     allJobPages,
	},
	{Name: "copy-report", Keys: []string{"P"}, Description: "copy the report that was saved", Screens: allJobPages},
	{Name: "search", Keys: []string{"/"}, Description: "search the page", Screens: allJobPages | OtherPages | HelpScreen},
	{Name: "next-hit", Keys: []string{"n"}, Description: "next hit", Screens: allJobPages | OtherPages | HelpScreen},
	{
		Name:        "previous-hit",
		Keys:        []string{"N"},
		Description: "previous hit",
		Screens:     allJobPages | OtherPages | HelpScreen,
	},
	{Name: "wrap", Keys: []string{"w"}, Description: "toggle wrapping", Screens: allJobPages | OtherPages | HelpScreen},
	{
		Name:        "copy",
		Keys:        []string{"y"},
		Description: "copy the selected line, or the command of the log",
		Screens:     allJobPages | OtherPages,
	},
	{Name: "copy-all", Keys: []string{"Y"}, Description: "copy all of a page", Screens: allJobPages},
	{Name: "level", Keys: []string{"L"}, Description: "the level of log lines that are shown", Screens: LogsPage},
	{Name: "follow", Keys: []string{"F"}, Description: "follow the end of a log", Screens: LogsPage},
	{Name: "next-error", Keys: []string{"E"}, Description: "next error of a log", Screens: LogsPage},
	{Name: "volume-logs", Keys: []string{"o"}, Description: "logs of volumes too, or not", Screens: LogsPage},
	{Name: "save", Keys: []string{"s"}, Description: "save a log", Screens: LogsPage},
	{
		Name:        "preview",
		Keys:        []string{"R"},
		Description: "put a restore together and preview it",
		Screens:     Dashboard | allJobPages,
	},
	{
		Name:        "zoom-preview",
		Keys:        []string{"ctrl+p"},
		Description: "the whole preview of a restore, or its form",
		Screens:     RestoreForm,
		WhileTyping: true,
	},
	{
		Name:        "compare-restore",
		Keys:        []string{"ctrl+t"},
		Description: "compare what exists with the backup of a restore",
		Screens:     RestoreForm,
		WhileTyping: true,
	},
	{
		Name:        "dry-run-restore",
		Keys:        []string{"ctrl+r"},
		Description: "ask the API server about each object of a restore, storing nothing",
		Screens:     RestoreForm,
		WhileTyping: true,
	},
	{
		Name:        "dry-run-secrets",
		Keys:        []string{"ctrl+g"},
		Description: "the same with Secrets",
		Screens:     RestoreForm,
		WhileTyping: true,
	},
	{
		Name:        "start-restore",
		Keys:        []string{"ctrl+o"},
		Description: "start a restore",
		Screens:     RestoreForm,
		WhileTyping: true,
	},
	{
		Name:        "save-restore",
		Keys:        []string{"ctrl+s"},
		Description: "save a restore's YAML",
		Screens:     RestoreForm,
		WhileTyping: true,
	},
	{
		Name:        "copy-restore",
		Keys:        []string{"ctrl+y"},
		Description: "copy a restore's command",
		Screens:     RestoreForm,
		WhileTyping: true,
	},
	{
		Name:        "form-help",
		Keys:        []string{"f1"},
		Description: "help while you type into the form of a restore",
		Screens:     RestoreForm,
		WhileTyping: true,
	},
	{Name: "finalize", Keys: []string{"f"}, Description: "open the finalize dialog", Screens: mainScreens},
	{Name: "cancel-volume", Keys: []string{"X"}, Description: "cancel the selected volume alone", Screens: VolumesPage},
	{
		Name:        "backup-now",
		Keys:        []string{"b"},
		Description: "make a backup now, as the schedule would",
		Screens:     Dashboard | OtherPages,
	},
	{
		Name:        "pause",
		Keys:        []string{"p"},
		Description: "pause or unpause the schedule",
		Screens:     Dashboard | OtherPages,
	},
	{
		Name:        "delete",
		Keys:        []string{"X"},
		Description: "delete the backup or restore, or the marked",
		Screens:     Dashboard | JobPages | LogsPage,
	},
	{
		Name:        "mark",
		Keys:        []string{"m"},
		Description: "mark a job, or an object to restore alone",
		Screens:     Dashboard | JobPages,
	},
	{Name: "mark-failed", Keys: []string{"*"}, Description: "mark all that a restore lost", Screens: JobPages},
	{Name: "dry-run", Keys: []string{"d"}, Description: "dry run", Screens: Dialog},
	{Name: "next-option", Keys: []string{"w"}, Description: "next option", Screens: Dialog},
	{Name: "next-job", Keys: []string{"n"}, Description: "next job", Screens: Dialog},
	{Name: "copy-command", Keys: []string{"y"}, Description: "copy the command", Screens: Dialog},
	{Name: "look-again", Keys: []string{"r"}, Description: "look again at the evidence", Screens: Dialog},
	{Name: "reconnect", Keys: []string{"r"}, Description: "reconnect now", Screens: mainScreens | HelpScreen},
	{
		Name:        "redraw",
		Keys:        []string{"ctrl+l"},
		Description: "redraw the screen",
		Screens:     allScreens | RestoreForm,
		WhileTyping: true,
	},
	{
		Name:        "suspend",
		Keys:        []string{"ctrl+z"},
		Description: "suspend",
		Screens:     allScreens | RestoreForm,
		WhileTyping: true,
	},
	{Name: "command", Keys: []string{":"}, Description: "type a command", Screens: mainScreens | HelpScreen | RestoreForm},
	{Name: "help", Keys: []string{"?"}, Description: "help", Screens: allScreens | RestoreForm},
	// In help, the usual key of this action closes the help.
	{Name: "quit", Keys: []string{"q"}, Description: "quit", Screens: mainScreens | Dialog},
}

// FixedActions have keys that cannot be changed.
var FixedActions = []Action{
	{
		Keys:        []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
		Description: "go to a tab or page",
		Screens:     Dashboard | allJobPages,
	},
	{Keys: []string{"enter", "tab", "esc"}, Description: "answer the dialog", Screens: Dialog},
	{
		Keys:        []string{"tab", "shift+tab", "up", "down", "enter", "pgup", "pgdown", "esc", "q"},
		Description: "move in the form of a restore",
		Screens:     RestoreForm,
	},
	{
		Keys:        []string{"ctrl+a", "ctrl+e", "ctrl+k", "ctrl+u", "ctrl+w", "ctrl+left", "ctrl+right"},
		Description: "edit a field",
		Screens:     RestoreForm,
	},
	{Keys: []string{"esc", "left", "h", "backspace", "q"}, Description: "close help", Screens: HelpScreen},
}

type Overrides map[string][]string

func (m Overrides) keysFor(a *Action) []string {
	if chosen, ok := m[a.Name]; ok {
		return chosen
	}
	return a.Keys
}

// RebindAll sets the chosen keys of bindings, in place.
func (m Overrides) RebindAll(bindings []Binding) []Binding {
	for i := range bindings {
		b := &bindings[i]
		chosen, ok := m[b.Name]
		if !ok || b.Name == "" {
			continue
		}
		usual, do := b.Keys[0], b.Do
		b.Keys, b.Label = chosen, m.LabelFor(b.Name, "")
		b.Do = func(string) tea.Cmd { return do(usual) }
	}
	return bindings
}

// LabelFor returns the label of the keys chosen for an action, or the usual label.
func (m Overrides) LabelFor(action, usual string) string {
	chosen, ok := m[action]
	if !ok {
		return usual
	}
	return strings.ReplaceAll(strings.Join(chosen, " "), "pgdown", "pgdn")
}

// FirstKey returns the first key of an action, for sentences; empty for an unknown action.
func (m Overrides) FirstKey(action string) string {
	at := slices.IndexFunc(Actions, func(a Action) bool { return a.Name == action })
	if at < 0 {
		return ""
	}
	return strings.ReplaceAll(m.keysFor(&Actions[at])[0], "pgdown", "pgdn")
}

// Conflict is a chosen key that another action uses on the same screen.
type Conflict struct {
	Action, Key                   string // the action and the key that were chosen for it
	OtherAction, OtherDescription string // the other action, empty for a fixed one, and its description
}

func (m Overrides) FindConflicts() []Conflict {
	var found []Conflict
	all := append(slices.Clone(FixedActions), Actions...)
	for i := range all {
		for j := i + 1; j < len(all); j++ {
			other, a := &all[i], &all[j]
			if _, chosen := m[a.Name]; !chosen {
				other, a = a, other
			}
			if _, chosen := m[a.Name]; !chosen || a.Screens&other.Screens == 0 {
				continue
			}
			for _, key := range m.keysFor(a) {
				if slices.Contains(m.keysFor(other), key) {
					found = append(
						found,
						Conflict{Action: a.Name, Key: key, OtherAction: other.Name, OtherDescription: other.Description},
					)
				}
			}
		}
	}
	return found
}

// namedKeys are the keys with names, as Bubble Tea names them.
var namedKeys = []string{
	"up",
	"down",
	"left",
	"right",
	"home",
	"end",
	"pgup",
	"pgdown",
	"enter",
	"tab",
	"esc",
	"space",
	"backspace",
	"delete",
	"insert",
	"f1",
	"f2",
	"f3",
	"f4",
	"f5",
	"f6",
	"f7",
	"f8",
	"f9",
	"f10",
	"f11",
	"f12",
}

// terminalAliases maps keys to the keys as which terminals send them.
var terminalAliases = map[string]string{
	"ctrl+i": "tab",
	"ctrl+m": "enter",
	"ctrl+[": "esc",
	"ctrl+h": "backspace",
	"ctrl+j": "enter",
}

// KeyProblem returns why a key cannot be chosen for an action, empty if it can.
func (a *Action) KeyProblem(key string) string {
	plain := strings.TrimPrefix(key, "shift+")
	r, size := utf8.DecodeRuneInString(key)
	single := size == len(key) && size > 0 && unicode.IsGraphic(r) && !unicode.IsSpace(r)
	function := len(key) > 1 && key[0] == 'f' && slices.Contains(namedKeys, key)
	letter, control := strings.CutPrefix(key, "ctrl+")
	control = control && (len(letter) == 1 && letter >= "a" && letter <= "z" || slices.Contains(namedKeys, letter))
	switch {
	case key == "ctrl+c":
		return "ctrl+c always quits"
	case terminalAliases[key] != "":
		return fmt.Sprintf("a terminal sends %s as %s", key, terminalAliases[key])
	case strings.HasPrefix(key, "alt+"):
		return "alt cannot be used: on a slow line it cannot be told from esc and the key"
	case a.WhileTyping && !control && !function:
		return fmt.Sprintf(
			"%q must be ctrl and a letter, or f1 to f12, because it also works while you type a name",
			key,
		)
	case single, control, slices.Contains(namedKeys, plain):
		return ""
	case len(plain) == 1 && plain != key:
		return fmt.Sprintf("%q: write %q instead", key, strings.ToUpper(plain))
	}
	return fmt.Sprintf(
		"%q is no key: use a character, ctrl+ and a letter, or one of %s",
		key,
		strings.Join(namedKeys[:15], ", ")+", f1 to f12",
	)
}
