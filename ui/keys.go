package ui

import (
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
	everywhere = onDashboard | onJob | onHelp
)

// binding is one key binding as data.
type binding struct {
	action action
	key    key.Binding
	group  string
	places place
	// short bindings are named in the footer.
	short bool
}

// The groups of the help screen.
const (
	groupMove = "Moving"
	groupView = "Looking"
	groupApp  = "veltui"
)

// keyMap holds every binding there is. No bare capital letter, digit or part
// of an escape sequence does anything that cannot be undone: on slow lines
// escape sequences arrive in pieces and are read as keys.
func keyMap() []binding {
	bind := func(a action, group string, places place, short bool, keys []string, help, what string) binding {
		return binding{action: a, group: group, places: places, short: short,
			key: key.NewBinding(key.WithKeys(keys...), key.WithHelp(help, what))}
	}
	return []binding{
		bind(actOpen, groupView, onDashboard, true, []string{"enter", "right", "l"}, "enter", "open"),
		bind(actBack, groupView, onJob|onHelp, true, []string{"esc", "left", "h", "backspace"}, "esc", "back"),
		bind(actUp, groupMove, everywhere, false, []string{"up", "k"}, "up k", "up"),
		bind(actDown, groupMove, everywhere, false, []string{"down", "j"}, "down j", "down"),
		bind(actPageUp, groupMove, everywhere, false, []string{"pgup", "ctrl+b"}, "pgup ctrl+b", "a page up"),
		bind(actPageDown, groupMove, everywhere, false, []string{"pgdown", "ctrl+f", "space"}, "pgdn ctrl+f", "a page down"),
		bind(actHome, groupMove, everywhere, false, []string{"home", "g"}, "g home", "to the top"),
		bind(actEnd, groupMove, everywhere, false, []string{"end", "G"}, "G end", "to the end"),
		bind(actTab, groupMove, onDashboard|onJob, false, []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, "1..9", "go to a tab"),
		bind(actNextTab, groupMove, onDashboard|onJob, true, []string{"tab"}, "tab", "next tab"),
		bind(actPrevTab, groupMove, onDashboard|onJob, false, []string{"shift+tab"}, "shift+tab", "previous tab"),
		bind(actFilter, groupView, onDashboard, true, []string{"/"}, "/", "filter"),
		bind(actBack, groupView, onDashboard, false, []string{"esc"}, "esc", "clear the filter"),
		bind(actSort, groupView, onDashboard, true, []string{"s"}, "s", "sort"),
		bind(actRetry, groupApp, everywhere, false, []string{"r"}, "r", "connect again now"),
		bind(actRedraw, groupApp, everywhere, false, []string{"ctrl+l"}, "ctrl+l", "draw the screen again"),
		bind(actSuspend, groupApp, everywhere, false, []string{"ctrl+z"}, "ctrl+z", "suspend"),
		bind(actHelp, groupApp, everywhere, true, []string{"?"}, "?", "help"),
		bind(actQuit, groupApp, everywhere, true, []string{"q", "ctrl+c"}, "q", "quit"),
	}
}

// actionFor is what a key means on a screen.
func actionFor(bindings []binding, where place, k string) action {
	for _, b := range bindings {
		if b.places&where == 0 || !b.key.Enabled() {
			continue
		}
		for _, name := range b.key.Keys() {
			if name == k {
				return b.action
			}
		}
	}
	return actNone
}

// KeyHelp is one line of the key reference.
type KeyHelp struct {
	Group, Keys, What string
}

// KeyReference lists every key binding, in the order of the help screen; the
// README's table is made from it.
func KeyReference() []KeyHelp {
	var all []KeyHelp
	for _, group := range []string{groupMove, groupView, groupApp} {
		for _, b := range keyMap() {
			if b.group == group {
				all = append(all, KeyHelp{group, b.key.Help().Key, b.key.Help().Desc})
			}
		}
	}
	return all
}
