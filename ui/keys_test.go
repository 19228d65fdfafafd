package ui

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/restore/verify"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/watch"
)

// placeOf is where keys.Actions says that a screen's keys are.
func placeOf(m *Model, name string) keys.ScreenSet {
	switch onTop(m) {
	case "help":
		return keys.HelpScreen
	case "dialog":
		return keys.Dialog
	case "job":
		switch name {
		case "page 3":
			return keys.LogsPage
		case "page 5":
			return keys.VolumesPage
		}
		return keys.JobPages
	case "other", "log":
		return keys.OtherPages
	case "form":
		return keys.RestoreForm
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
		for _, b := range m.activeBindings() {
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
			if found := keys.FindByKey(m.activeBindings(), b.Keys[0]); found == nil || found.Name != b.Name {
				continue // not there now, or behind another one
			}
			if a.Screens&placeOf(m, name) == 0 {
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

// unhurried makes each reading of the clock a second later, as if a person pressed the keys.
func unhurried(o *Options) {
	now := noon
	o.Clock = func() time.Time { now = now.Add(time.Second); return now }
}

// answer is what the message line says once a key's command is done.
func answer(m *Model, cmd tea.Cmd) string {
	m.notice = ""
	if cmd != nil {
		m.Update(cmd())
	}
	return m.notice
}

// A letter that nothing is bound to says so; pieces of escape sequences and what is pasted do not.
func TestUnboundLettersSaySo(t *testing.T) {
	m := screen(t, stageful(), 80, 24, unhurried)
	if got := answer(m, press(t, m, "c")); got != "c does nothing here; ? lists the keys" {
		t.Errorf("c: %q", got)
	}
	for _, pressed := range [][]string{{"esc", "[", "A"}, {"[", "1", ";", "5", "D"}, {"O", "P"}, {"?", "esc"}, {"@"}} {
		if got := answer(m, press(t, m, pressed...)); got != "" {
			t.Errorf("%q: %q", pressed, got)
		}
	}
	cmd := press(t, m, "c")
	press(t, m, "c")
	if got := answer(m, cmd); got != "" {
		t.Errorf("a key came since: %q", got)
	}
	cmd = press(t, m, "c")
	m.Update(tea.PasteMsg{Content: "c"})
	if got := answer(m, cmd); got != "" {
		t.Errorf("a paste came since: %q", got)
	}
	m = screen(t, stageful(), 80, 24) // all at once
	press(t, m, "c")
	if got := answer(m, press(t, m, "c")); got != "" {
		t.Errorf("in a burst: %q", got)
	}
}

// d, y and V act on the selected row of a list, and say why where they cannot.
func TestKeysOfK9sOnLists(t *testing.T) {
	restored := restoreJob(
		"crm-restored",
		"nightly-crm",
		time.Hour,
		veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted,
			StartTimestamp: ptr(ago(time.Hour)), CompletionTimestamp: ptr(ago(50 * time.Minute))},
		50*time.Minute,
	)
	snap := stageful()
	snap.Jobs = append(snap.Jobs, restored)
	for key, page := range map[string]string{"d": "[1 Overview]", "y": "[8 YAML]", "V": "[4 Resources]"} {
		m := screen(
			t,
			snap,
			120,
			40,
			func(o *Options) {
				fake(o).verified = verify.Result{CheckedAt: noon, CountByState: map[verify.State]int{}}
			},
		)
		press(t, m, "2", "end", key)
		if frame := ansi.Strip(
			checkFrame(t, m),
		); !strings.Contains(frame, page) ||
			!strings.Contains(frame, "crm-restored") {
			t.Errorf("%s does not open %s:\n%s", key, page, frame)
		}
	}
	for _, c := range []struct {
		pressed []string
		want    string
	}{
		{[]string{"V"}, "V: a test does not play it"},
		{[]string{"3", "V"}, "V: only a restore can be verified"},
		{[]string{"4", "y"}, "y: select a backup or restore: veltui shows their YAML only"},
		{[]string{"/", "x", "x", "enter", "d"}, "d: nothing is selected"},
	} {
		m := screen(t, snap, 120, 40)
		if press(t, m, c.pressed...); m.notice != c.want {
			t.Errorf("%v: %q, want %q", c.pressed, m.notice, c.want)
		}
	}
	m := screen(t, snap, 120, 40)
	if press(t, m, "4", "d"); onTop(m) != "other" {
		t.Errorf("d on a schedule leads to %s", onTop(m))
	}
}

func TestTheUsualKeysHaveNoConflict(t *testing.T) {
	all := keys.Overrides{}
	for i := range keys.Actions {
		a := &keys.Actions[i]
		all[a.Name] = a.Keys
		for _, key := range a.Keys {
			if why := a.KeyProblem(key); why != "" {
				t.Errorf("%s: %s", a.Name, why)
			}
		}
	}
	for _, c := range all.FindConflicts() {
		t.Errorf("%+v", c)
	}
}

// Keys that were chosen act, and help and footer name them; those before do
// nothing any more.
func TestChosenKeysActAndAreNamed(t *testing.T) {
	m := screen(t, stageful(), 120, 40)
	m.options.Keys = keys.Overrides{
		"open":           {"o", "enter"},
		"back":           {"b"},
		"search":         {"ctrl+f"},
		"quit":           {"Q"},
		"page-down":      {"space"},
		"half-page-down": {"ctrl+d", "pgdown", "ctrl+n", "J"},
	}
	press(t, m, "o")
	if onTop(m) != "job" {
		t.Fatal("the chosen key does not open")
	}
	frame := ansi.Strip(checkFrame(t, m))
	if last := frame[strings.LastIndex(frame, "\n"):]; !strings.Contains(last, "b back") ||
		strings.Contains(last, "esc") ||
		!strings.Contains(last, "Q quit") {
		t.Errorf("the footer says %q", last)
	}
	if press(t, m, "esc", "q"); onTop(m) != "job" {
		t.Error("the usual key still goes back")
	}
	press(t, m, "?")
	if frame := ansi.Strip(
		checkFrame(t, m),
	); !strings.Contains(frame, "ctrl+f          search") ||
		!strings.Contains(frame, "    ctrl+d pgdn ctrl+n J  ") {
		t.Errorf("help says\n%s", frame)
	}
	press(t, m, "esc", "b")
	if onTop(m) != "dashboard" {
		t.Errorf("the chosen key does not go back: %s", onTop(m))
	}
}

// remapped gives each action a key that no sentence has by chance, and says which
// action it was by the usual key.
func remapped(t *testing.T) (chosen keys.Overrides, now map[string]string) {
	t.Helper()
	chosen, now = keys.Overrides{}, map[string]string{}
	letter, function := 'α', 1
	for i := range keys.Actions {
		a := &keys.Actions[i]
		key := string(letter)
		if a.WhileTyping {
			key = fmt.Sprintf("f%d", function)
			function++
		} else if letter++; letter == 'ω' {
			letter = 'б'
		}
		if why := a.KeyProblem(key); why != "" {
			t.Fatal(why)
		}
		chosen[a.Name] = []string{key}
		now[a.Name] = key
	}
	if found := chosen.FindConflicts(); len(found) > 0 {
		t.Fatal(found)
	}
	return chosen, now
}

// usualKey finds a usual key that a sentence names: a letter on its own, or what
// follows press.
var usualKey = regexp.MustCompile(
	`(?:^|[\s(,])([fwrlLeEyYnNsSmdoFvqgGkjh])(?:[\s),.;]|$)|[Pp]ress (\?|esc|enter|tab|ctrl\+\w)(?:\W|$)`,
)

// Where all keys are others, no screen names one of the usual keys.
func TestSentencesNameChosenKeys(t *testing.T) {
	chosen, now := remapped(t)
	remap := func(o *Options) { o.Keys = chosen }
	translate := func(pressed ...string) []string {
		for i, key := range pressed {
			for _, a := range keys.Actions {
				if slices.Contains(a.Keys, key) && a.Screens&(keys.Dashboard|keys.JobPages) != 0 {
					pressed[i] = now[a.Name]
				}
			}
		}
		return pressed
	}
	frames := map[string]string{}
	see := func(name string, m *Model) {
		for _, size := range [][2]int{{80, 24}, {200, 60}} {
			m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			frames[fmt.Sprintf("%s %d", name, size[0])] = ansi.Strip(checkFrame(t, m))
		}
	}
	for name, pressed := range map[string][]string{"active": nil, "restores": {"2"}, "schedules": {"4"}, "schedule": {"4", "enter"}, "storage": {"5"}, "overview": {"enter"}, "overview of errors": {"3", "end", "enter"},
		"results": {"enter", "2"}, "logs": {"enter", "3"}, "resources": {"enter", "4"}, "volumes": {"enter", "5"}, "operations": {"enter", "6"}, "timeline": {"enter", "7"}, "yaml": {"enter", "8"},
		"help": {"?"}, "help of a job": {"enter", "?"}, "command": {":"}} {
		m := screen(t, stageful(), 80, 24, remap, func(o *Options) { fake(o).finalizer = &fakeFinalizer{t: t} })
		press(t, m, translate(pressed...)...)
		see(name, m)
	}
	m := screen(t, stageful(), 80, 24, remap)
	m.dashboard.setFilter("nothing like it")
	see("filtered", m)
	snap := stageful()
	snap.Health.State = watch.Unauthorized
	see("unauthorized", screen(t, snap, 80, 24, remap))
	for _, name := range []string{"unseen", "plan", "refused", "asked", "doubtful", "changed"} {
		at := slices.IndexFunc(dialogFrames, func(f struct {
			name string
			show func(t *testing.T, b *bench)
		}) bool {
			return f.name == name
		})
		b := newBench(t, 80, 24, remap)
		dialogFrames[at].show(t, b)
		see("dialog "+name, b.Model)
	}
	seen := ""
	for name, frame := range frames {
		seen += frame
		for line := range strings.Lines(frame) {
			if found := usualKey.FindString(line); found != "" && !fixedThere(name, line) {
				t.Errorf("%s names %q: %s", name, strings.TrimSpace(found), line)
			}
		}
	}
	for _, sentence := range []string{"Press " + now["finalize"] + " to", "press " + now["errors"], "press " + now["reconnect"], now["clear"] + " clears the filter", now["look-again"] + " checks again",
		now["copy-command"] + " copies it", now["quit"] + " again stops it and quits"} {
		if !strings.Contains(seen, sentence) {
			t.Errorf("no screen says %q", sentence)
		}
	}
}

// fixedThere reports whether a line names keys that always stay what they are: those
// of the dialog and those that close help.
func fixedThere(screen, line string) bool {
	return strings.HasPrefix(screen, "dialog") && strings.Contains(line, "ress enter") ||
		strings.Contains(line, ":quit ")
}
