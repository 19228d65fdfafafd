package dialog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// fakeEngine plays an action and the cluster. Nothing in this package knows
// which action that is, and neither do its tests.
type fakeEngine struct {
	mu      sync.Mutex
	plans   []Plan
	err     error
	looked  int
	apply   func(ctx context.Context, p Plan, dryRun bool, report func(Progress)) Outcome
	applied []string
}

func (f *fakeEngine) Plans(context.Context, Subject) ([]Plan, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looked++
	return f.plans, f.err
}

func (f *fakeEngine) Apply(ctx context.Context, p Plan, dryRun bool, report func(Progress)) Outcome {
	f.mu.Lock()
	f.applied = append(f.applied, fmt.Sprintf("%s dry=%v", p.Title, dryRun))
	apply := f.apply
	f.mu.Unlock()
	switch {
	case apply != nil:
		return apply(ctx, p, dryRun, report)
	case dryRun:
		return Outcome{State: "checked", Checked: true, Headline: "Checked.", Message: "the API server would take it; nothing was written"}
	}
	return Outcome{State: "settled", Sent: true, Headline: "Done.", Message: "it is so now", Remains: "Nothing."}
}

// set changes what the engine plays, while its commands may run.
func (f *fakeEngine) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fakeEngine) done() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.applied, "; ")
}

var steps = []Step{{Name: "look", What: "look again"}, {Name: "dry", What: "have the API server check it"}, {Name: "send", What: "send it", Part: Sends},
	{Name: "observe", What: "observe what comes of it", Part: Observes, Note: "watched for 1m10s at least"}}

func planOf(title string) Plan {
	return Plan{Title: title, Change: title + " -> done", Why: "nobody works on it", Certainty: "Very high.", EvidenceTitle: "What was found",
		Evidence: []Evidence{{Holds: true, Text: "phase InProgress", Source: "api", At: noon}, {Text: "whether it is stored is unknown", Source: "storage", At: noon}},
		Will:     []string{"write a phase"}, WillNot: []string{"bring back what is lost"}, Then: []string{"Velero ends it"}, Commands: []string{"kubectl " + title}, Steps: steps}
}

func refusalOf(title string) Plan {
	p := planOf(title)
	p.Refusal, p.Advice, p.Commands = "somebody works on it", "Wait.", nil
	return p
}

// bench is a dialog whose clock, keys and commands the test holds in its hands.
type bench struct {
	*Dialog
	t       *testing.T
	fake    *fakeEngine
	mu      sync.Mutex
	present time.Time
	msgs    chan tea.Msg
	quit    bool
	notice  string
}

func newBench(t *testing.T, plans []Plan, names ...string) *bench {
	t.Helper()
	b := &bench{t: t, present: noon, msgs: make(chan tea.Msg, 64), fake: &fakeEngine{plans: plans}}
	if len(names) == 0 {
		names = []string{"crm-old"}
	}
	var subjects []Subject
	for _, name := range names {
		subjects = append(subjects, Subject{job.Restore, "velero", name, "u-1"})
	}
	d, cmd := Open(t.Context(), Options{Engine: b.fake, Title: "Force finalize", Looks: []string{"everything"}, Clock: b.now, Context: "prod-east",
		Subjects: subjects, Readable: func() bool { return true }, Guard: func(c tea.Cmd) tea.Cmd { return c }})
	b.Dialog = d
	b.begin(cmd)
	return b
}

func (b *bench) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.present
}

func (b *bench) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.present = b.present.Add(d)
}

func (b *bench) begin(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, c := range msg {
				b.begin(c)
			}
		default:
			b.msgs <- msg
		}
	}()
}

// keys presses keys as the root does.
func (b *bench) keys(names ...string) {
	b.t.Helper()
	codes := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape}
	for _, name := range names {
		found := keys.Find(b.Keys(), name)
		switch {
		case name == "ctrl+c":
			b.begin(b.Leave(true))
		case b.Swallows():
		case found != nil && found.Why() != "":
			b.notice = found.Why()
		case found != nil:
			b.begin(found.Do(name))
		case name == "q" && b.stage != Typing:
			b.begin(b.Leave(false))
		case codes[name] != 0:
			b.begin(b.Type(tea.KeyPressMsg{Code: codes[name]}))
		default:
			b.begin(b.Type(tea.KeyPressMsg{Code: []rune(name)[0], Text: name}))
		}
	}
}

func (b *bench) write(text string) {
	for _, r := range text {
		b.keys(string(r))
	}
}

// until runs the program until a condition holds.
func (b *bench) until(what string, holds func() bool) {
	b.t.Helper()
	timeout := time.After(30 * time.Second)
	for !holds() {
		select {
		case msg := <-b.msgs:
			if msg == tea.Quit() {
				b.quit = true
			} else {
				b.begin(b.Update(msg))
			}
		case <-timeout:
			b.t.Fatalf("waited in vain for %s; the screen:\n%s", what, b.frame())
		}
	}
}

func (b *bench) at(s Stage) {
	b.t.Helper()
	b.until(fmt.Sprintf("stage %d", s), func() bool { return b.stage == s })
}

// listen lets the deaf moment pass.
func (b *bench) listen() {
	b.t.Helper()
	b.pass(graceLimit)
	b.Update(graceEnded{b.awaited})
}

// open waits for the plan.
func (b *bench) open() {
	b.t.Helper()
	b.at(Choosing)
	b.listen()
}

func (b *bench) confirm() {
	b.keys("enter")
	b.write("prod-east/" + b.subject().Name)
	b.keys("enter")
}

// draw draws the dialog and checks that it fits.
func (b *bench) draw(width, height int) []string {
	b.t.Helper()
	theme, err := draw.LoadTheme("dark")
	if err != nil {
		b.t.Fatal(err)
	}
	c := draw.Canvas{Width: width, Height: height, Theme: theme, Glyphs: &draw.Unicode, Now: b.now()}
	lines := strings.Split(b.View(c, ""), "\n")
	if len(lines) != height {
		b.t.Errorf("%d lines at %dx%d", len(lines), width, height)
	}
	for _, line := range lines {
		if lipgloss.Width(line) > width {
			b.t.Errorf("%d cells at %dx%d: %q", lipgloss.Width(line), width, height, ansi.Strip(line))
		}
	}
	return lines
}

func (b *bench) frame() string { return ansi.Strip(strings.Join(b.draw(80, 22), "\n")) }

func (b *bench) shows(words ...string) {
	b.t.Helper()
	flat := strings.Join(strings.Fields(strings.ReplaceAll(b.frame(), "│", " ")), " ")
	for _, w := range words {
		if !strings.Contains(flat, w) {
			b.t.Errorf("%q is not on the screen:\n%s", w, b.frame())
		}
	}
}

// interrupted plays an application that retries until it is stopped.
func interrupted(begun chan<- struct{}) func(context.Context, Plan, bool, func(Progress)) Outcome {
	return func(ctx context.Context, _ Plan, _ bool, report func(Progress)) Outcome {
		for _, s := range steps[:3] {
			report(Progress{Step: s.Name})
		}
		close(begun)
		<-ctx.Done()
		return Outcome{State: "unfinished", Unfinished: true, Headline: "Stopped: nothing was written.", Message: context.Cause(ctx).Error() + "; it was not carried out"}
	}
}

// retrying shows an application whose third step meets an API server that is
// away, in its fourth attempt.
func (b *bench) retrying() {
	b.open()
	begun := make(chan struct{})
	b.fake.set(func() { b.fake.apply = interrupted(begun) })
	b.confirm()
	<-begun
	b.until("it is being sent", func() bool { _, sending := b.state.of("send"); return sending })
	b.run.tell(Progress{Step: "send", Attempt: &Attempt{Number: 4, Err: errors.New("connect: connection refused"), Next: 10 * time.Second, Left: 9*time.Minute + 12*time.Second}}, b.now())
	b.pass(3 * time.Second)
	b.Update(runProgressed{b.awaited, b.run.read()})
}
