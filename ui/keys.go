package ui

import (
	"slices"

	"charm.land/bubbles/v2/key"
)

// action is what a key asks for. Screens act on actions and never on keys, so
// that help, footer and docs, which are made from the bindings, are always
// true.
type action int

const (
	actNone action = iota
	actUp
	actDown
	actPageUp
	actPageDown
	actHome
	actEnd
	actNextTab
	actPrevTab
	actTab // a digit; which one is in the key
	actOpen
	actBack
	actFilter
	actSort
	actMark
	actFinalize
	actConfirm
	actDryRun
	actCopy
	actWay
	actNext
	actLook
	actRetry
	actHelp
	actRedraw
	actSuspend
	actQuit
)

// place is a set of screens on which a binding works.
type place int

const (
	onDashboard place = 1 << iota
	onJob
	onHelp
	// The stages of the finalize dialog: evidence being gathered, a plan, the
	// field in which a name is typed, an execution, and how it ended.
	onLooking
	onPlan
	onField
	onRun
	onOutcome
	onScreens  = onDashboard | onJob | onHelp
	onDialog   = onLooking | onPlan | onRun | onOutcome
	everywhere = onScreens | onDialog | onField
)

// binding is one key binding as data.
type binding struct {
	action action
	key    key.Binding
	group  string
	places place
	// short bindings are named in the footer.
	short bool
	// writes is true for what leads to a change of the cluster.
	writes bool
	// why says why it cannot be used now; empty if it can.
	why string
}

// The groups of the help screen.
const (
	groupMove   = "Moving"
	groupView   = "Looking"
	groupChange = "Force finalize"
	groupApp    = "veltui"
)

var groups = []string{groupMove, groupView, groupChange, groupApp}

// keyMap holds every binding there is. No bare capital letter, digit or part
// of an escape sequence does anything that cannot be undone: on slow lines
// escape sequences arrive in pieces and are read as keys.
func keyMap() []binding {
	bind := func(a action, group string, places place, short bool, keys []string, help, what string) binding {
		return binding{action: a, group: group, places: places, short: short,
			key: key.NewBinding(key.WithKeys(keys...), key.WithHelp(help, what))}
	}
	writes := func(b binding) binding { b.writes = true; return b }
	return []binding{
		bind(actOpen, groupView, onDashboard, true, []string{"enter", "right", "l"}, "enter", "open"),
		bind(actBack, groupView, onJob|onHelp, true, []string{"esc", "left", "h", "backspace"}, "esc", "back"),
		bind(actConfirm, groupChange, onPlan, true, []string{"enter", "tab"}, "enter", "type the name"),
		writes(bind(actConfirm, groupChange, onField, true, []string{"enter"}, "enter", "go on")),
		bind(actConfirm, groupChange, onOutcome, true, []string{"enter"}, "enter", "go on"),
		bind(actBack, groupChange, onLooking|onPlan|onOutcome, true, []string{"esc"}, "esc", "back"),
		bind(actDryRun, groupChange, onPlan, true, []string{"d"}, "d", "dry run"),
		bind(actWay, groupChange, onPlan, true, []string{"w"}, "w", "another way"),
		bind(actNext, groupChange, onPlan|onOutcome, true, []string{"n"}, "n", "next job"),
		bind(actCopy, groupChange, onPlan, true, []string{"y"}, "y", "copy command"),
		bind(actLook, groupChange, onPlan|onOutcome, false, []string{"r"}, "r", "look again"),
		bind(actBack, groupChange, onField, true, []string{"esc"}, "esc", "back to the plan"),
		bind(actBack, groupChange, onRun, true, []string{"esc"}, "esc", "stop"),
		bind(actUp, groupMove, onScreens|onDialog, false, []string{"up", "k"}, "up k", "up"),
		bind(actDown, groupMove, onScreens|onDialog, false, []string{"down", "j"}, "down j", "down"),
		bind(actPageUp, groupMove, onScreens|onDialog, false, []string{"pgup", "ctrl+b"}, "pgup ctrl+b", "a page up"),
		bind(actPageDown, groupMove, onScreens|onDialog, false, []string{"pgdown", "ctrl+f", "space"}, "pgdn ctrl+f", "a page down"),
		bind(actUp, groupMove, onField, false, []string{"up"}, "up", "scroll up"),
		bind(actDown, groupMove, onField, false, []string{"down"}, "down", "scroll down"),
		bind(actPageUp, groupMove, onField, false, []string{"pgup"}, "pgup", "scroll a page up"),
		bind(actPageDown, groupMove, onField, false, []string{"pgdown"}, "pgdn", "scroll a page down"),
		bind(actHome, groupMove, onScreens|onDialog, false, []string{"home", "g"}, "g home", "to the top"),
		bind(actEnd, groupMove, onScreens|onDialog, false, []string{"end", "G"}, "G end", "to the end"),
		bind(actTab, groupMove, onDashboard|onJob, false, []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, "1..9", "go to a tab"),
		bind(actNextTab, groupMove, onDashboard|onJob, true, []string{"tab"}, "tab", "next tab"),
		bind(actPrevTab, groupMove, onDashboard|onJob, false, []string{"shift+tab"}, "shift+tab", "previous tab"),
		bind(actFilter, groupView, onDashboard, true, []string{"/"}, "/", "filter"),
		bind(actBack, groupView, onDashboard, false, []string{"esc"}, "esc", "clear the filter, then the marks"),
		bind(actSort, groupView, onDashboard, true, []string{"s"}, "s", "sort"),
		writes(bind(actFinalize, groupChange, onDashboard|onJob, true, []string{"f"}, "f", "finalize")),
		writes(bind(actMark, groupChange, onDashboard, false, []string{"m"}, "m", "mark, to finalize several")),
		bind(actRetry, groupApp, onScreens, false, []string{"r"}, "r", "connect again now"),
		bind(actRedraw, groupApp, everywhere, false, []string{"ctrl+l"}, "ctrl+l", "draw the screen again"),
		bind(actSuspend, groupApp, everywhere&^onRun, false, []string{"ctrl+z"}, "ctrl+z", "suspend"),
		bind(actHelp, groupApp, onScreens|onPlan|onOutcome, true, []string{"?"}, "?", "help"),
		bind(actQuit, groupApp, everywhere&^(onRun|onField), true, []string{"q", "ctrl+c"}, "q", "quit"),
		bind(actQuit, groupApp, onRun, true, []string{"q", "ctrl+c"}, "q", "stop and quit"),
		bind(actQuit, groupApp, onField, false, []string{"ctrl+c"}, "ctrl+c", "quit"),
	}
}

// actionFor is what a key means on a screen.
func actionFor(bindings []binding, where place, k string) action {
	return bindingFor(bindings, where, k).action
}

// bindingFor is the binding of a key on a screen; its action is actNone if
// there is none.
func bindingFor(bindings []binding, where place, k string) binding {
	for _, b := range bindings {
		if b.places&where != 0 && slices.Contains(b.key.Keys(), k) {
			return b
		}
	}
	return binding{}
}

// KeyHelp is one line of the key reference.
type KeyHelp struct {
	Group, Keys, What string
}

// KeyReference lists every key binding, in the order of the help screen; the
// README's table is made from it.
func KeyReference() []KeyHelp {
	var all []KeyHelp
	for _, group := range groups {
		for _, b := range keyMap() {
			if b.group == group {
				all = append(all, KeyHelp{group, b.key.Help().Key, b.key.Help().Desc})
			}
		}
	}
	return all
}
