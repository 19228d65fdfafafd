package ui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/testbed/evidence"
	"github.com/veltui/veltui/retry"
	"github.com/veltui/veltui/ui/dialog"
)

// fakeFinalizer plays the cluster's part.
type fakeFinalizer struct {
	t        *testing.T
	mu       sync.Mutex
	why      map[job.Kind]string
	jobs     map[string]*job.Job
	change   []func(*action.Evidence)
	gathered int
	// unseen is why gathering fails, and slow makes it last until it is stopped.
	unseen error
	slow   bool
	// script plays an execution: what comes of it is reported, an outcome ends
	// it. Without one every plan settles.
	script   chan any
	executed []string
}

func (f *fakeFinalizer) Allowed(_ context.Context, _ string, kind job.Kind) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.why[kind], nil
}

func (f *fakeFinalizer) Gather(ctx context.Context, _ string, _ job.Kind, name string) (action.Evidence, error) {
	f.mu.Lock()
	f.gathered++
	slow := f.slow
	f.mu.Unlock()
	if slow {
		<-ctx.Done()
	}
	return gatheredFor(f.t, f.jobs[name], f.change...), errors.Join(f.unseen, ctx.Err())
}

func (f *fakeFinalizer) Apply(
	_ context.Context,
	plan action.Plan,
	dryRun bool,
	report func(action.Progress),
) (action.Outcome, error) {
	what := "to " + plan.ToPhase
	if plan.ToPhase == "" {
		what = string(plan.Action)
	}
	f.mu.Lock()
	f.executed = append(f.executed, fmt.Sprintf("%s %s dry=%v", plan.Name, what, dryRun))
	script := f.script
	f.mu.Unlock()
	for script != nil {
		word, more := <-script
		if !more {
			break
		}
		switch word := word.(type) {
		case action.Progress:
			report(word)
		case action.Outcome:
			return word, nil
		case error:
			return action.Outcome{
				State:   action.StateUnfinished,
				Sent:    action.Doubtful,
				Plan:    plan,
				Phase:   "InProgress",
				Message: "patch: " + word.Error() + "; the patch was sent, and whether it was carried out is not known",
			}, word
		}
	}
	switch {
	case dryRun:
		return action.Outcome{
			State:   action.StateChecked,
			Sent:    action.NotSent,
			Plan:    plan,
			Message: "the API server accepts the patch; nothing was written",
		}, nil
	case plan.ToPhase == "":
		return action.Outcome{
			State:   action.StateSettled,
			Sent:    action.Landed,
			Plan:    plan,
			Message: "Velero went on with it: it is Completed now",
		}, nil
	}
	return settled(plan), nil
}

func (f *fakeFinalizer) done() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.executed, "; ")
}

func settled(plan action.Plan) action.Outcome {
	return action.Outcome{
		State:        action.StateSettled,
		Sent:         action.Landed,
		Plan:         plan,
		Phase:        "PartiallyFailed",
		Message:      "it is PartiallyFailed and stayed so for 70s",
		AuditLogPath: "/home/jane/.local/state/veltui/finalize/finalize.jsonl",
		CopyPath:     "/home/jane/.local/state/veltui/finalize/copies/restore-velero-crm-old-abc.yaml",
	}
}

// gatheredFor is what Gather would bring about a job whose last patch was lost
// on a server that still runs.
func gatheredFor(t *testing.T, j *job.Job, change ...func(*action.Evidence)) action.Evidence {
	t.Helper()
	e := evidence.LostPatch(j, noon)
	for _, c := range change {
		c(&e)
	}
	return e
}

// bench is a dashboard with a fake cluster behind it, whose clock and commands
// the test holds in its hands.
type bench struct {
	*Model
	t       *testing.T
	fake    *fakeFinalizer
	mu      sync.Mutex
	present time.Time
	msgs    chan tea.Msg
	quit    bool
	clip    string
}

func newBench(t *testing.T, width, height int, change ...func(*Options)) *bench {
	t.Helper()
	snap := stageful()
	b := &bench{
		t:       t,
		present: noon,
		msgs:    make(chan tea.Msg, 64),
		fake:    &fakeFinalizer{t: t, jobs: map[string]*job.Job{}},
	}
	for _, j := range snap.Jobs {
		b.fake.jobs[j.Name] = j
	}
	b.Model = screen(
		t,
		snap,
		width,
		height,
		append([]func(*Options){func(o *Options) { fake(o).finalizer, o.Clock = b.fake, b.now }}, change...)...)
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

// send gives the model a message and runs the command that it answers with.
func (b *bench) send(msg tea.Msg) {
	_, cmd := b.Update(msg)
	b.begin(cmd)
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

// until runs the program until a condition holds.
func (b *bench) until(what string, holds func() bool) {
	b.t.Helper()
	timeout := time.After(patience)
	for !holds() {
		select {
		case msg := <-b.msgs:
			switch {
			case msg == tea.Quit():
				b.quit = true
			case fmt.Sprintf("%T", msg) == "tea.setClipboardMsg":
				b.clip = fmt.Sprint(msg)
			default:
				b.send(msg)
			}
		case <-timeout:
			b.t.Fatalf("waited in vain until %s; the screen:\n%s", what, b.frame())
		}
	}
}

// at waits for a stage of the dialog, and until it listens.
func (b *bench) reaches(s dialog.Stage) {
	b.t.Helper()
	b.until(
		fmt.Sprintf("stage %d", s),
		func() bool {
			return findScreen[*dialogScreen](b.Model) != nil && findScreen[*dialogScreen](b.Model).Stage() == s
		},
	)
	b.listen()
}

// listen lets the deaf moment pass.
func (b *bench) listen() {
	b.t.Helper()
	b.pass(2 * time.Second)
	b.until("the dialog listens", func() bool { return !findScreen[*dialogScreen](b.Model).IgnoresKeys() })
}

func (b *bench) keys(names ...string) {
	b.t.Helper()
	for _, name := range names {
		b.View() // what is scrolled is what was drawn
		if chosen := b.options.Keys["finalize"]; name == "f" && chosen != nil {
			name = chosen[0]
		}
		b.send(keyPress(b.t, name))
	}
}

func (b *bench) write(text string) {
	b.t.Helper()
	for _, r := range text {
		b.keys(string(r))
	}
}

// open opens the dialog on what is selected and waits for its plan.
func (b *bench) open() {
	b.t.Helper()
	b.keys("f")
	b.reaches(dialog.StageChoosing)
}

func (b *bench) confirm() {
	b.t.Helper()
	b.keys("enter")
	b.write("prod-east/crm-old")
	b.keys("enter")
}

func (b *bench) frame() string { return ansi.Strip(checkFrame(b.t, b.Model)) }

func (b *bench) sees(text string) {
	b.t.Helper()
	b.until("the screen shows "+text, func() bool { return strings.Contains(b.frame(), text) })
}

func (b *bench) shows(words ...string) {
	b.t.Helper()
	flat := strings.Join(strings.Fields(strings.ReplaceAll(b.frame(), "│", " ")), " ")
	for _, w := range words {
		if !strings.Contains(flat, w) {
			b.t.Errorf("%q is not on the screen:\n%s", w, b.frame())
		}
	}
}

var errLost = errors.New("dial tcp 10.0.0.1:6443: connect: connection refused")

// tells makes an execution report something, after some time.
func (b *bench) tells(after time.Duration, p action.Progress) {
	b.pass(after)
	b.fake.script <- p
}

// retrying shows an execution whose patch meets an API server that is away.
func (b *bench) retrying() {
	b.t.Helper()
	b.open()
	b.fake.script = make(chan any)
	b.t.Cleanup(func() { close(b.fake.script) })
	b.confirm()
	b.tells(0, action.Progress{Step: action.StepGather})
	b.sees("▶ read the evidence again")
	b.tells(2*time.Second, action.Progress{Step: action.StepDryRun})
	b.sees("▶ have the API server")
	b.tells(time.Second, action.Progress{Step: action.StepSend})
	b.sees("▶ send it")
	b.tells(
		20*time.Second,
		action.Progress{
			Step: action.StepSend,
			Attempt: &retry.Attempt{
				Number:    4,
				Err:       errLost,
				Delay:     10 * time.Second,
				Remaining: 9*time.Minute + 12*time.Second,
			},
		},
	)
	b.sees("attempt 4")
	b.pass(3 * time.Second)
}

// ends makes an execution end, with an outcome or an error.
func (b *bench) ends(how any) {
	b.t.Helper()
	b.fake.script <- how
	b.reaches(dialog.StageResult)
}

func draftOf(e action.Evidence, r action.Request) action.Plan {
	p, _ := action.PlanFor(action.Finalize, e, r)
	return p
}
