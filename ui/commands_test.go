package ui

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/ui/draw"
)

// typeCommand types a command and runs what follows from it.
func typeCommand(t *testing.T, m *Model, line string) {
	t.Helper()
	typeText(t, m, ":"+line)
	press(t, m, "enter")
}

func TestCommands(t *testing.T) {
	shows := func(text string) func(*testing.T, *Model) {
		return func(t *testing.T, m *Model) {
			t.Helper()
			if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, text) {
				t.Errorf("no %q in:\n%s", text, frame)
			}
		}
	}
	for _, from := range [][]string{nil, {"enter"}, {"4", "enter"}, {"?"}} {
		for line, check := range map[string]func(*testing.T, *Model){
			"backups":               shows("[3 Backups"),
			"bak":                   shows("hourly-db-0900"),
			"bsl":                   shows("default"),
			"sched":                 shows("0 2 * * *"),
			"backup hourly-db-0900": shows("PartiallyFailed"),
			"restore db-restore":    shows("db-restore"),
			"backup db-restore":     shows("there is no backup db-restore"),
			"etcd":                  shows("there are no etcd here now"),
			"sort errors":           shows("sorted by errors"),
			"sort height":           shows("there is no order by height; choose one of usual, name"),
			"filter hourly":         shows("/hourly  "),
			"theme nope":            shows(`there is no theme "nope"`),
			"bakcups":               shows("did you mean :backups?"),
			"help":                  shows("Looking"),
			"ns x":                  shows("cannot switch clusters here"),
			"ctx nowhere":           shows("there is no context nowhere"),
		} {
			m := screen(t, stageful(), 80, 24, func(o *Options) { o.Contexts = []string{"prod-east", "prod-west"} })
			press(t, m, from...)
			typeCommand(t, m, line)
			check(t, m)
		}
	}
}

func TestCommandTheme(t *testing.T) {
	m := screen(t, stageful(), 80, 24)
	dark := m.View().Content
	typeCommand(t, m, "theme light")
	if m.View().Content == dark {
		t.Error(":theme light changes nothing")
	}
	typeCommand(t, m, "theme nope")
	light := m.options.Theme
	if light != "light" {
		t.Errorf("after an unknown theme the theme is %s", light)
	}
}

// Contexts and namespaces are handed to those who connect.
func TestCommandsThatSwitch(t *testing.T) {
	var asked []string
	m := screen(t, stageful(), 80, 24, func(o *Options) {
		o.Contexts = []string{"prod-east", "prod-west"}
		o.SwitchClusters = func(_ context.Context, contexts []string, namespace string) ([]Cluster, error) {
			asked = append(asked, strings.Join(contexts, ",")+" "+namespace)
			return nil, os.ErrPermission
		}
	})
	for line, want := range map[string]string{"ctx prod-west,prod-east": "prod-west,prod-east ", "ns other": "prod-east other"} {
		asked = nil
		typeText(t, m, ":"+line)
		follow(t, m, press(t, m, "enter"))
		if len(asked) != 1 || asked[0] != want {
			t.Errorf("%s asked for %q", line, asked)
		}
		if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, "permission denied") {
			t.Errorf("%s failed without a word:\n%s", line, frame)
		}
	}
}

// Help and docs/keys.md name all commands, and `:` is not there in a dialog.
func TestCommandsAreNamed(t *testing.T) {
	page, err := os.ReadFile("../docs/keys.md")
	if err != nil {
		t.Fatal(err)
	}
	m := screen(t, stageful(), 100, 100)
	press(t, m, "?")
	help := ansi.Strip(checkFrame(t, m))
	for _, c := range m.commandLine.Commands() {
		if !strings.Contains(help, " "+c.Usage()+" ") {
			t.Errorf("help does not name %s", c.Usage())
		}
		_, row, _ := strings.Cut(string(page), "\n| `"+c.Usage()+"` |")
		row, _, _ = strings.Cut(row, "\n")
		for _, name := range append([]string{c.Description}, c.Aliases...) {
			if !strings.Contains(row, name) {
				t.Errorf("docs/keys.md says %q of %s, and not %q", row, c.Usage(), name)
			}
		}
	}
	b := newBench(t, 80, 24)
	b.open()
	b.listen()
	b.keys(":")
	if b.commandLine.IsTyping() {
		t.Error("a command can be typed over a dialog")
	}
}

// While a command is typed, frames fit and no key does anything else.
func TestCommandLineAtAnySize(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {40, 12}, {20, 5}, {16, 3}} {
		m := screen(t, stageful(), size[0], size[1])
		typeText(t, m, ":backup nightly-q")
		frame := ansi.Strip(checkFrame(t, m))
		if !strings.Contains(frame, "nightly-q") || m.findJobScreen() != nil {
			t.Errorf("at %v:\n%s", size, frame)
		}
		press(t, m, "esc")
		if frame := ansi.Strip(checkFrame(t, m)); strings.Contains(frame, "nightly-q") || onTop(m) != "dashboard" {
			t.Errorf("at %v after esc:\n%s", size, frame)
		}
	}
}

// A name that several clusters have is not guessed at.
func TestCommandsNameTheirCluster(t *testing.T) {
	m := twoClusters(t)
	typeCommand(t, m, "backup same")
	if m.findJobScreen() != nil || !strings.Contains(m.notice, "such as east/same") {
		t.Errorf("opened %v, says %q", m.findJobScreen(), m.notice)
	}
	typeCommand(t, m, "backup west/same")
	if m.findJobScreen() == nil || m.currentCluster.Context != "west" {
		t.Errorf("west/same opens %v at %s", m.findJobScreen(), m.currentCluster.Context)
	}
}

func twoClusters(t *testing.T) *Model {
	t.Helper()
	m := screen(t, nil, 80, 24, func(o *Options) {
		o.Clusters = []Cluster{{Context: "east", Backend: newFake()}, {Context: "west", Backend: newFake()}}
	})
	for _, c := range m.clusters {
		m.Update(
			snapshotAssessedMsg{
				c,
				c.estimates.AssessSnapshot(snapshotOf(ended("same", veleroapi.BackupPhaseCompleted, 3, 1, 1, 0, 0)), noon),
			},
		)
	}
	return m
}

// The arrow shows the direction, whatever is natural for the column.
func TestReverse(t *testing.T) {
	m := screen(t, stageful(), 120, 40)
	press(t, m, "3")
	names := func() (all []string) {
		for _, r := range m.dashboard.openTab.rows {
			all = append(all, r.item.(*job.Job).Name)
		}
		return all
	}
	for _, step := range []struct{ keys, title, first, last string }{
		{"S", "AGE▾", "hourly-db-0900", ""},
		{"S", "AGE▴", "", "hourly-db-0900"},
		{"ss", "NAME▴", "hourly-db-0900", "nightly-erp"},
		{"S", "NAME▾", "nightly-erp", "hourly-db-0900"},
		{"sss", "DONE▾", "nightly-crm", ""},
		{"S", "DONE▴", "", "nightly-crm"},
		{"s", "ERR▾", "hourly-db-0900", ""},
		{"S", "ERR▴", "", "hourly-db-0900"},
	} {
		typeText(t, m, step.keys)
		got := names()
		if title := frameLine(
			t,
			m,
			3,
		); !strings.Contains(title, step.title) || step.first != "" && got[0] != step.first ||
			step.last != "" && got[len(got)-1] != step.last {
			t.Errorf("%s: %v under %q", step.keys, got, title)
		}
	}
}

// Help can be searched as every page can, and q and esc lead back.
func TestHelpIsSearched(t *testing.T) {
	m := screen(t, stageful(), 80, 12)
	press(t, m, "?", "/")
	typeText(t, m, "suspend")
	press(t, m, "enter")
	if frame := ansi.Strip(
		checkFrame(t, m),
	); !strings.Contains(frame, "ctrl+z") ||
		!strings.Contains(frame, "/suspend 1 of 1") {
		t.Errorf("not found:\n%s", frame)
	}
	press(t, m, "esc")
	if onTop(m) != "help" {
		t.Errorf("esc ends the search, and leads to %s", onTop(m))
	}
	press(t, m, "q")
	if onTop(m) != "dashboard" {
		t.Errorf("q leads to %s", onTop(m))
	}
}

func TestTheLastTab(t *testing.T) {
	m := screen(t, stageful(), 80, 24)
	press(t, m, "0")
	if got := m.dashboard.openTab.name; got != "Coverage" {
		t.Errorf("0 leads to %s", got)
	}
	press(t, m, "1", "enter", "0")
	if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, "apiVersion: velero.io/v1") {
		t.Errorf("0 leads to:\n%s", frame)
	}
}

func TestColumnsCommand(t *testing.T) {
	m := screen(t, stageful(), 160, 24)
	titles := func() string {
		m.isFrameStale = true
		return strings.Join(strings.Fields(strings.Split(ansi.Strip(checkFrame(t, m)), "\n")[3]), " ")
	}
	usual := titles()
	if err := m.chooseColumns("age, Stage"); err != nil || titles() != "NAME AGE STAGE" {
		t.Errorf("%v: %s", err, titles())
	}
	if err := m.chooseColumns(
		"stage,colour",
	); err == nil || !strings.Contains(err.Error(), "there is no column colour; choose from") ||
		titles() != "NAME AGE STAGE" {
		t.Errorf("%v: %s", err, titles())
	}
	if err := m.chooseColumns(""); err != nil || titles() != usual {
		t.Errorf("%v: %s", err, titles())
	}
}

// The user's own themes are offered, and a faulty one leaves the colours as they are.
func TestOwnThemes(t *testing.T) {
	own, err := draw.LoadTheme("contrast-dark")
	if err != nil {
		t.Fatal(err)
	}
	fault := error(nil)
	m := screen(t, stageful(), 120, 24, func(o *Options) {
		o.UserThemes = []string{"night-shift"}
		o.LoadTheme = func(string) (*draw.Theme, error) { return own, fault }
	})
	press(t, m, ":")
	for _, r := range "theme " {
		m.Update(keyPress(t, string(r)))
	}
	if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, "night-shift") {
		t.Errorf("the own theme is not offered:\n%s", frame)
	}
	press(t, m, "esc")
	before := m.theme
	fault = errors.New("night-shift.yaml:2:1: unknown key")
	if _, err := m.changeTheme("night-shift"); err == nil || m.theme != before {
		t.Errorf("a faulty theme: %v", err)
	}
	fault = nil
	if _, err := m.changeTheme("night-shift"); err != nil || m.theme != own {
		t.Errorf("the own theme is not taken: %v", err)
	}
	if _, err := m.changeTheme("dark"); err != nil || m.theme == own {
		t.Errorf("the own theme stays: %v", err)
	}
}
