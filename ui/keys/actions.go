package keys

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// Place is where keys are: a set of screens.
type Place int

// The screens. Bindings of one screen are there together.
const (
	Dashboard Place = 1 << iota
	Page            // of a job, but for its Logs page
	LogsPage
	Other // the page of what is no job, and the log
	HelpScreen
	Dialog
	Form // of a restore
)

const (
	job        = Page | LogsPage
	screens    = Dashboard | job | Other
	everywhere = screens | HelpScreen | Dialog
)

// Action is what keys may be chosen for. Bindings with its name do it.
type Action struct {
	Name  string
	Keys  []string // the usual ones
	What  string
	At    Place
	Typed bool // true where the key works while a name is typed: it must not be part of one
}

// Actions are those whose keys can be chosen. Those of Fixed and ctrl+c never change.
var Actions = []Action{
	{Name: "up", Keys: []string{"up", "k"}, What: "a line up", At: everywhere},
	{Name: "down", Keys: []string{"down", "j"}, What: "a line down", At: everywhere},
	{Name: "page-up", Keys: []string{"pgup", "ctrl+b"}, What: "a page up", At: everywhere},
	{Name: "page-down", Keys: []string{"pgdown", "ctrl+f", "space"}, What: "a page down", At: everywhere},
	{Name: "half-page-up", Keys: []string{"ctrl+u"}, What: "half a page up", At: everywhere},
	{Name: "half-page-down", Keys: []string{"ctrl+d"}, What: "half a page down", At: everywhere},
	{Name: "top", Keys: []string{"home", "g"}, What: "to the top", At: everywhere},
	{Name: "bottom", Keys: []string{"end", "G"}, What: "to the end", At: everywhere},
	{Name: "next-tab", Keys: []string{"tab"}, What: "next tab or page", At: Dashboard | job},
	{Name: "previous-tab", Keys: []string{"shift+tab"}, What: "previous tab or page", At: Dashboard | job},
	{Name: "open", Keys: []string{"enter", "right"}, What: "open what is selected", At: screens},
	{Name: "describe", Keys: []string{"d"}, What: "describe what is selected", At: Dashboard},
	{Name: "yaml", Keys: []string{"y"}, What: "a job's YAML", At: Dashboard},
	{Name: "back", Keys: []string{"esc", "left", "h", "backspace"}, What: "back", At: job | Other},
	{Name: "clear", Keys: []string{"esc"}, What: "clear the filter, then the marks", At: Dashboard},
	{Name: "filter", Keys: []string{"/"}, What: "filter the list", At: Dashboard},
	{Name: "sort", Keys: []string{"s"}, What: "sort the list", At: Dashboard},
	{
		Name: "acknowledge",
		Keys: []string{"a"},
		What: "acknowledge what needs attention, until it changes",
		At:   Dashboard,
	},
	{Name: "reverse", Keys: []string{"S"}, What: "reverse the order of the list", At: Dashboard},
	{Name: "errors", Keys: []string{"e"}, What: "a job's errors and warnings", At: Dashboard | job},
	{Name: "logs", Keys: []string{"l"}, What: "a job's log", At: Dashboard | job},
	{Name: "volumes", Keys: []string{"v"}, What: "a job's volumes", At: Dashboard | job},
	{Name: "verify", Keys: []string{"V"}, What: "verify what a restore brought back", At: Dashboard | job},
	{
		Name: "compare",
		Keys: []string{"c"},
		What: "compare the contents of what a restore brought back with its backup",
		At:   job,
	},
	{Name: "report", Keys: []string{"p"}, What: "save a report to hand over, or stop making one", At: job},
	{Name: "copy-report", Keys: []string{"P"}, What: "copy the report that was saved", At: job},
	{Name: "search", Keys: []string{"/"}, What: "search the page", At: job | Other | HelpScreen},
	{Name: "next-hit", Keys: []string{"n"}, What: "next hit", At: job | Other | HelpScreen},
	{Name: "previous-hit", Keys: []string{"N"}, What: "previous hit", At: job | Other | HelpScreen},
	{Name: "wrap", Keys: []string{"w"}, What: "toggle wrapping", At: job | Other | HelpScreen},
	{Name: "copy", Keys: []string{"y"}, What: "copy the selected line, or the command of the log", At: job | Other},
	{Name: "copy-all", Keys: []string{"Y"}, What: "copy all of a page", At: job},
	{Name: "level", Keys: []string{"L"}, What: "the level of log lines that are shown", At: LogsPage},
	{Name: "follow", Keys: []string{"F"}, What: "follow the end of a log", At: LogsPage},
	{Name: "next-error", Keys: []string{"E"}, What: "next error of a log", At: LogsPage},
	{Name: "volume-logs", Keys: []string{"o"}, What: "logs of volumes too, or not", At: LogsPage},
	{Name: "save", Keys: []string{"s"}, What: "save a log", At: LogsPage},
	{Name: "preview", Keys: []string{"R"}, What: "put a restore together and preview it", At: Dashboard | job},
	{
		Name:  "zoom-preview",
		Keys:  []string{"ctrl+p"},
		What:  "the whole preview of a restore, or its form",
		At:    Form,
		Typed: true,
	},
	{
		Name:  "compare-restore",
		Keys:  []string{"ctrl+t"},
		What:  "compare what exists with the backup of a restore",
		At:    Form,
		Typed: true,
	},
	{
		Name:  "dry-run-restore",
		Keys:  []string{"ctrl+r"},
		What:  "ask the API server about each object of a restore, storing nothing",
		At:    Form,
		Typed: true,
	},
	{Name: "dry-run-secrets", Keys: []string{"ctrl+g"}, What: "the same with Secrets", At: Form, Typed: true},
	{Name: "start-restore", Keys: []string{"ctrl+o"}, What: "start a restore", At: Form, Typed: true},
	{Name: "save-restore", Keys: []string{"ctrl+s"}, What: "save a restore's YAML", At: Form, Typed: true},
	{Name: "copy-restore", Keys: []string{"ctrl+y"}, What: "copy a restore's command", At: Form, Typed: true},
	{
		Name:  "form-help",
		Keys:  []string{"f1"},
		What:  "help while you type into the form of a restore",
		At:    Form,
		Typed: true,
	},
	{Name: "finalize", Keys: []string{"f"}, What: "open the finalize dialog", At: screens},
	{Name: "cancel-volume", Keys: []string{"X"}, What: "cancel the selected volume alone", At: job},
	{Name: "backup-now", Keys: []string{"b"}, What: "make a backup now, as the selected schedule would", At: Dashboard},
	{Name: "pause", Keys: []string{"p"}, What: "pause the selected schedule, or let it go on", At: Dashboard},
	{Name: "delete", Keys: []string{"X"}, What: "delete the selected backup or restore, or the marked", At: Dashboard},
	{Name: "mark", Keys: []string{"m"}, What: "mark a job, or an object to restore alone", At: Dashboard | Page},
	{Name: "mark-failed", Keys: []string{"*"}, What: "mark all that a restore lost", At: Page},
	{Name: "dry-run", Keys: []string{"d"}, What: "dry run", At: Dialog},
	{Name: "next-option", Keys: []string{"w"}, What: "next option", At: Dialog},
	{Name: "next-job", Keys: []string{"n"}, What: "next job", At: Dialog},
	{Name: "copy-command", Keys: []string{"y"}, What: "copy the command", At: Dialog},
	{Name: "look-again", Keys: []string{"r"}, What: "look again at the evidence", At: Dialog},
	{Name: "reconnect", Keys: []string{"r"}, What: "reconnect now", At: screens | HelpScreen},
	{Name: "redraw", Keys: []string{"ctrl+l"}, What: "redraw the screen", At: everywhere | Form, Typed: true},
	{Name: "suspend", Keys: []string{"ctrl+z"}, What: "suspend", At: everywhere | Form, Typed: true},
	{Name: "command", Keys: []string{":"}, What: "type a command", At: screens | HelpScreen | Form},
	{Name: "help", Keys: []string{"?"}, What: "help", At: everywhere | Form},
	// In help, its usual key closes that.
	{Name: "quit", Keys: []string{"q"}, What: "quit", At: screens | Dialog},
}

// Fixed are keys that always do the same.
var Fixed = []Action{
	{
		Keys: []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
		What: "go to a tab or page",
		At:   Dashboard | job,
	},
	{Keys: []string{"enter", "tab", "esc"}, What: "answer the dialog", At: Dialog},
	{
		Keys: []string{"tab", "shift+tab", "up", "down", "enter", "pgup", "pgdown", "esc", "q"},
		What: "move in the form of a restore",
		At:   Form,
	},
	{
		Keys: []string{"ctrl+a", "ctrl+e", "ctrl+k", "ctrl+u", "ctrl+w", "ctrl+left", "ctrl+right"},
		What: "edit a field",
		At:   Form,
	},
	{Keys: []string{"esc", "left", "h", "backspace", "q"}, What: "close help", At: HelpScreen},
}

type Map map[string][]string

func (m Map) keysOf(a *Action) []string {
	if chosen, ok := m[a.Name]; ok {
		return chosen
	}
	return a.Keys
}

// Apply gives bindings, in place, the keys that were chosen.
func (m Map) Apply(bindings []Binding) []Binding {
	for i := range bindings {
		b := &bindings[i]
		chosen, ok := m[b.Name]
		if !ok || b.Name == "" {
			continue
		}
		usual, do := b.Keys[0], b.Do
		b.Keys, b.Label = chosen, m.Label(b.Name, "")
		b.Do = func(string) tea.Cmd { return do(usual) }
	}
	return bindings
}

// Label names the keys chosen for an action, or the usual label.
func (m Map) Label(action, usual string) string {
	chosen, ok := m[action]
	if !ok {
		return usual
	}
	return strings.ReplaceAll(strings.Join(chosen, " "), "pgdown", "pgdn")
}

// Key is the first key of an action, for sentences; empty for an unknown action.
func (m Map) Key(action string) string {
	at := slices.IndexFunc(Actions, func(a Action) bool { return a.Name == action })
	if at < 0 {
		return ""
	}
	return strings.ReplaceAll(m.keysOf(&Actions[at])[0], "pgdown", "pgdn")
}

// Conflict is a chosen key that another action has on the same screen.
type Conflict struct {
	Action, Key string // those that were chosen
	Other, What string // the other action, empty for a fixed one, and what it does
}

func (m Map) Conflicts() []Conflict {
	var found []Conflict
	all := append(slices.Clone(Fixed), Actions...)
	for i := range all {
		for j := i + 1; j < len(all); j++ {
			other, a := &all[i], &all[j]
			if _, chosen := m[a.Name]; !chosen {
				other, a = a, other
			}
			if _, chosen := m[a.Name]; !chosen || a.At&other.At == 0 {
				continue
			}
			for _, key := range m.keysOf(a) {
				if slices.Contains(m.keysOf(other), key) {
					found = append(found, Conflict{Action: a.Name, Key: key, Other: other.Name, What: other.What})
				}
			}
		}
	}
	return found
}

// named are the keys with names, as Bubble Tea names them.
var named = []string{
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

// sentAs are keys that reach a program as others.
var sentAs = map[string]string{
	"ctrl+i": "tab",
	"ctrl+m": "enter",
	"ctrl+[": "esc",
	"ctrl+h": "backspace",
	"ctrl+j": "enter",
}

// Fault says why a key cannot be chosen for an action, empty if it can.
func (a *Action) Fault(key string) string {
	plain := strings.TrimPrefix(key, "shift+")
	r, size := utf8.DecodeRuneInString(key)
	single := size == len(key) && size > 0 && unicode.IsGraphic(r) && !unicode.IsSpace(r)
	function := len(key) > 1 && key[0] == 'f' && slices.Contains(named, key)
	letter, control := strings.CutPrefix(key, "ctrl+")
	control = control && (len(letter) == 1 && letter >= "a" && letter <= "z" || slices.Contains(named, letter))
	switch {
	case key == "ctrl+c":
		return "ctrl+c always quits"
	case sentAs[key] != "":
		return fmt.Sprintf("a terminal sends %s as %s", key, sentAs[key])
	case strings.HasPrefix(key, "alt+"):
		return "alt cannot be used: on a slow line it cannot be told from esc and the key"
	case a.Typed && !control && !function:
		return fmt.Sprintf(
			"%q must be ctrl and a letter, or f1 to f12, because it also works while you type a name",
			key,
		)
	case single, control, slices.Contains(named, plain):
		return ""
	case len(plain) == 1 && plain != key:
		return fmt.Sprintf("%q: write %q instead", key, strings.ToUpper(plain))
	}
	return fmt.Sprintf(
		"%q is no key: use a character, ctrl+ and a letter, or one of %s",
		key,
		strings.Join(named[:15], ", ")+", f1 to f12",
	)
}
