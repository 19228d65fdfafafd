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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/testbed/evidence"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view/remedy"
	"github.com/veltui/veltui/retry"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/keys"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// fakeActions plays the cluster.
type fakeActions struct {
	Engine
	mu      sync.Mutex
	change  func(*action.Evidence)
	err     error
	looked  int
	apply   func(ctx context.Context, p action.Plan, dryRun bool, report func(action.Progress)) (action.Outcome, error)
	applied []string
}

func (f *fakeActions) GatherEvidence(_ context.Context, _ string, _ job.Kind, name string) (action.Evidence, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looked++
	return evidenceOf(name, f.change), f.err
}

func (f *fakeActions) ApplyPlan(
	ctx context.Context,
	p action.Plan,
	dryRun bool,
	report func(action.Progress),
) (action.Outcome, error) {
	f.mu.Lock()
	f.applied = append(f.applied, fmt.Sprintf("%s dry=%v", remedy.ChangeSummary(&p), dryRun))
	apply := f.apply
	f.mu.Unlock()
	switch {
	case apply != nil:
		return apply(ctx, p, dryRun, report)
	case dryRun:
		return action.Outcome{
			State:   action.StateChecked,
			Sent:    action.NotSent,
			Plan:    p,
			Message: "the API server would take it; nothing was written",
		}, nil
	}
	return settled(p), nil
}

func settled(p action.Plan) action.Outcome {
	return action.Outcome{
		State:   action.StateSettled,
		Sent:    action.Landed,
		Plan:    p,
		Phase:   "PartiallyFailed",
		Message: "it is so now",
	}
}

// set changes what the engine plays, while its commands may run.
func (f *fakeActions) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fakeActions) done() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.applied, "; ")
}

func restoreNamed(name string) *job.Job {
	ago := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: noon.Add(-d)} }
	r := &veleroapi.Restore{
		TypeMeta: metav1.TypeMeta{APIVersion: "velero.io/v1", Kind: "Restore"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         "velero",
			Name:              name,
			UID:               "u-1",
			ResourceVersion:   "7",
			CreationTimestamp: *ago(time.Hour),
			ManagedFields:     []metav1.ManagedFieldsEntry{{Manager: "velero-server", Time: ago(42 * time.Minute)}},
		},
		Status: veleroapi.RestoreStatus{
			Phase:          veleroapi.RestorePhaseInProgress,
			StartTimestamp: ago(time.Hour),
			Progress:       &veleroapi.RestoreProgress{ItemsRestored: 140, TotalItems: 140},
		},
	}
	return job.Fold(nil, job.Observation{Restore: r, ObservedAt: noon})
}

// evidenceOf is what was found of a restore whose artifacts are all stored, by a server
// whose last patch was lost.
func evidenceOf(name string, changed func(*action.Evidence)) action.Evidence {
	e := evidence.LostPatch(restoreNamed(name), noon)
	if changed != nil {
		changed(&e)
	}
	return e
}

// refuse makes the evidence one for which finalizing is refused, and a person may decide
// for a phase.
func refuse(e *action.Evidence) {
	e.Server.Pods[0].StartedAt, e.Server.Pods[0].Created = noon.Add(-10*time.Minute), noon.Add(-10*time.Minute)
	e.Artifacts, e.StoredCounts = e.Artifacts[:1], nil
	e.Artifacts[0].Presence = job.Presence{Unchecked: "the storage location is not reachable"}
}

// finish is what the plan about crm-old changes, with fewer errors after more was found.
const (
	finish     = "InProgress -> FinalizingPartiallyFailed, 1 warning, 3 errors"
	finishAnew = "InProgress -> FinalizingPartiallyFailed, 1 warning, 2 errors"
)

// planOf is what the evidence about a restore asks for.
func planOf(name string, changed func(*action.Evidence)) action.Plan {
	return buildPlans(evidenceOf(name, changed), action.Request{})[0]
}

// bench is a dialog whose clock, keys and commands the test holds in its hands.
type bench struct {
	*Dialog
	t       *testing.T
	fake    *fakeActions
	mu      sync.Mutex
	present time.Time
	msgs    chan tea.Msg
	quit    bool
	notice  string
}

func newBench(t *testing.T, names ...string) *bench {
	t.Helper()
	b := &bench{t: t, present: noon, msgs: make(chan tea.Msg, 64), fake: &fakeActions{}}
	if len(names) == 0 {
		names = []string{"crm-old"}
	}
	var jobs []*job.Job
	for _, name := range names {
		jobs = append(jobs, restoreNamed(name))
	}
	d, cmd := Open(Options{
		Engine:        b.fake,
		Clock:         b.now,
		Context:       "prod-east",
		Jobs:          jobs,
		IsLargeEnough: func() bool { return true },
		Start: func(work func(context.Context) tea.Msg) (tea.Cmd, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			return func() tea.Msg { return work(ctx) }, cancel
		},
	})
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
		found := keys.FindByKey(b.Bindings(), name)
		switch {
		case name == "ctrl+c":
			b.begin(b.RequestQuit(true))
		case b.SwallowsKey():
		case found != nil && found.UnavailableReason() != "":
			b.notice = found.UnavailableReason()
		case found != nil:
			b.begin(found.Do(name))
		case name == "q" && b.stage != StageTyping:
			b.begin(b.RequestQuit(false))
		case codes[name] != 0:
			b.begin(b.HandleTyping(tea.KeyPressMsg{Code: codes[name]}))
		default:
			b.begin(b.HandleTyping(tea.KeyPressMsg{Code: []rune(name)[0], Text: name}))
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
	timeout := time.After(2 * time.Minute)
	for !holds() {
		select {
		case msg := <-b.msgs:
			if msg == tea.Quit() {
				b.quit = true
			} else {
				next, _ := msg.(fetch.Message).Deliver()
				b.begin(next)
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
	b.pass(graceQuiet)
	b.awaitGrace()
}

// open waits for the plan.
func (b *bench) open() {
	b.t.Helper()
	b.at(StageChoosing)
	b.listen()
}

func (b *bench) confirm() {
	b.keys("enter")
	b.write("prod-east/" + b.currentJob().Name)
	b.keys("enter")
}

// draw draws the dialog and checks that it fits.
func (b *bench) draw(width, height int) []string {
	b.t.Helper()
	theme, err := draw.LoadTheme("dark")
	if err != nil {
		b.t.Fatal(err)
	}
	c := draw.Canvas{Width: width, Height: height, Theme: theme, Glyphs: &draw.UnicodeGlyphs, Now: b.now()}
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
func interrupted(
	begun chan<- struct{},
) func(context.Context, action.Plan, bool, func(action.Progress)) (action.Outcome, error) {
	return func(ctx context.Context, p action.Plan, _ bool, report func(action.Progress)) (action.Outcome, error) {
		for _, s := range remedy.Steps[:3] {
			report(action.Progress{Step: s.Name})
		}
		close(begun)
		<-ctx.Done()
		return action.Outcome{
				State:   action.StateUnfinished,
				Sent:    action.NotSent,
				Plan:    p,
				Message: context.Cause(ctx).Error() + "; it was not carried out",
			}, context.Cause(
				ctx,
			)
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
	b.until("it is being sent", func() bool { s := b.currentRun.lastState(); return s.hasReached(action.StepSend) })
	b.currentRun.reportProgress(
		action.Progress{
			Step: action.StepSend,
			Attempt: &retry.Attempt{
				Number:    4,
				Err:       errors.New("connect: connection refused"),
				Delay:     10 * time.Second,
				Remaining: 9*time.Minute + 12*time.Second,
			},
		},
		b.now(),
	)
	b.pass(3 * time.Second)
}
