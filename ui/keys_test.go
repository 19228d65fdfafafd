package ui

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/ui/keys"
)

// placeOf is where keys.Actions says that a screen's keys are.
func placeOf(m *Model, name string) keys.Place {
	switch onTop(m) {
	case "help":
		return keys.HelpScreen
	case "dialog":
		return keys.Dialog
	case "job":
		if name == "page 3" {
			return keys.LogsPage
		}
		return keys.Page
	case "other":
		return keys.Other
	}
	return keys.Dashboard
}

// What keys.Actions says of the keys that can be chosen is what the screens do.
func TestActionsAreThoseOfTheScreens(t *testing.T) {
	all := everyScreen(t)
	for _, page := range []string{"2", "3", "4", "5", "6", "7", "8"} {
		m := screen(t, stageful(), 80, 24)
		press(t, m, "enter", page)
		all["page "+page] = m
	}
	seen := map[string]bool{}
	for name, m := range all {
		for _, b := range m.keysNow() {
			i := slices.IndexFunc(keys.Actions, func(a keys.Action) bool { return a.Name == b.Name })
			if b.Name == "" {
				continue
			}
			if i < 0 {
				t.Errorf("%s: action %q is not in keys.Actions", name, b.Name)
				continue
			}
			a := keys.Actions[i]
			seen[a.Name] = true
			if found := keys.Find(m.keysNow(), b.Keys[0]); found == nil || found.Name != b.Name {
				continue // not there now, or behind another one
			}
			if a.At&placeOf(m, name) == 0 {
				t.Errorf("%s: keys.Actions does not say that %s is there", name, a.Name)
			}
			for _, key := range b.Keys {
				if !slices.Contains(a.Keys, key) {
					t.Errorf("%s: keys.Actions does not say that %s has %s", name, a.Name, key)
				}
			}
		}
	}
	for _, a := range keys.Actions {
		if !seen[a.Name] {
			t.Errorf("no screen has action %s", a.Name)
		}
	}
}

func TestTheUsualKeysHaveNoConflict(t *testing.T) {
	all := keys.Map{}
	for i := range keys.Actions {
		a := &keys.Actions[i]
		all[a.Name] = a.Keys
		for _, key := range a.Keys {
			if why := a.Fault(key); why != "" {
				t.Errorf("%s: %s", a.Name, why)
			}
		}
	}
	for _, c := range all.Conflicts() {
		t.Errorf("%+v", c)
	}
}

// Keys that were chosen act, and help and footer name them; those before do
// nothing any more.
func TestChosenKeysActAndAreNamed(t *testing.T) {
	m := screen(t, stageful(), 120, 40)
	m.options.Keys = keys.Map{"open": {"o", "enter"}, "back": {"b"}, "search": {"ctrl+f"}, "quit": {"Q"}, "page-down": {"space"}, "half-page-down": {"ctrl+d", "pgdown", "ctrl+n", "J"}}
	press(t, m, "o")
	if onTop(m) != "job" {
		t.Fatal("the chosen key does not open")
	}
	frame := ansi.Strip(checkFrame(t, m))
	if last := frame[strings.LastIndex(frame, "\n"):]; !strings.Contains(last, "b back") || strings.Contains(last, "esc") || !strings.Contains(last, "Q quit") {
		t.Errorf("the footer says %q", last)
	}
	if press(t, m, "esc", "q"); onTop(m) != "job" {
		t.Error("the usual key still goes back")
	}
	press(t, m, "?")
	if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, "ctrl+f          search") || !strings.Contains(frame, "    ctrl+d pgdn ctrl+n J\n") {
		t.Errorf("help says\n%s", frame)
	}
	press(t, m, "esc", "b")
	if onTop(m) != "dashboard" {
		t.Errorf("the chosen key does not go back: %s", onTop(m))
	}
}
