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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/finalize"
	"github.com/veltui/veltui/job"
)

// fakeFinalizer plays the cluster's part.
type fakeFinalizer struct {
	t        *testing.T
	mu       sync.Mutex
	why      map[job.Kind]string
	jobs     map[string]*job.Job
	change   []func(*finalize.Evidence)
	gathered int
	// execute plays an execution; without it every plan settles.
	execute  func(ctx context.Context, plan finalize.Plan, dryRun bool, report func(finalize.Progress)) (finalize.Outcome, error)
	executed []string
}

func (f *fakeFinalizer) Allowed(_ context.Context, _ string, kind job.Kind) (string, error) {
	return f.why[kind], nil
}

func (f *fakeFinalizer) Gather(_ context.Context, _ string, _ job.Kind, name string) (finalize.Evidence, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gathered++
	return evidenceOf(f.t, f.jobs[name], f.change...), nil
}

func (f *fakeFinalizer) Apply(ctx context.Context, plan finalize.Plan, dryRun bool, report func(finalize.Progress)) (finalize.Outcome, error) {
	what := "to " + plan.To
	if plan.To == "" {
		what = string(plan.Action)
	}
	f.mu.Lock()
	f.executed = append(f.executed, fmt.Sprintf("%s %s dry=%v", plan.Name, what, dryRun))
	f.mu.Unlock()
	if f.execute != nil {
		return f.execute(ctx, plan, dryRun, report)
	}
	if dryRun {
		return finalize.Outcome{State: finalize.Checked, Sent: finalize.NotSent, Plan: plan, Message: "the API server would take it; nothing was written"}, nil
	}
	if plan.To == "" {
		return finalize.Outcome{State: finalize.Settled, Sent: finalize.Landed, Plan: plan, Message: "Velero went on with it: it is Completed now"}, nil
	}
	return settled(plan), nil
}

func (f *fakeFinalizer) done() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.executed, "; ")
}

func settled(plan finalize.Plan) finalize.Outcome {
	return finalize.Outcome{State: finalize.Settled, Sent: finalize.Landed, Plan: plan, Phase: "PartiallyFailed",
		Message: "it is PartiallyFailed and stayed so for 70s", Log: "/home/jane/.local/state/veltui/finalize/finalize.jsonl",
		Copy: "/home/jane/.local/state/veltui/finalize/copies/restore-velero-crm-old-abc.yaml"}
}

var allPhases = []string{"New", "InProgress", "WaitingForPluginOperations", "WaitingForPluginOperationsPartiallyFailed", "Completed", "PartiallyFailed", "Failed", "Finalizing", "FinalizingPartiallyFailed"}

// evidenceOf is what Gather would bring about a job whose last patch was lost
// on a server that still runs.
func evidenceOf(t *testing.T, j *job.Job, change ...func(*finalize.Evidence)) finalize.Evidence {
	t.Helper()
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(j.Object)
	if err != nil {
		t.Fatal(err)
	}
	e := finalize.Evidence{
		At: noon, Job: j, Object: &unstructured.Unstructured{Object: raw},
		Server:  finalize.Server{Visible: true, Running: []finalize.Container{{Pod: "velero-7d4", StartedAt: noon.Add(-80 * time.Hour)}}, Version: "v1.18.3", Deployment: "velero"},
		Volumes: finalize.Yes, MovingKnown: finalize.Yes, Locations: finalize.Yes, HooksSeen: finalize.Yes, MayPatch: finalize.Yes, Phases: allPhases, StatusSubresource: finalize.No, By: "jane",
		Location: &diagnosis.Location{Name: "default", Phase: "Available", LastValidated: noon.Add(-20 * time.Second)},
		Counts:   &job.StoredCounts{Errors: 3, Warnings: 1, Items: 140, ItemsKnown: true},
	}
	for _, target := range finalize.Targets(j.Kind) {
		e.Artifacts = append(e.Artifacts, finalize.Artifact{Target: target, Presence: job.Presence{State: job.Present, LastModified: noon.Add(-42 * time.Minute)}})
	}
	for _, c := range change {
		c(&e)
	}
	return e
}

// bench is a dashboard with a fake cluster behind it, whose clock and commands
// the test holds in its hands.
type bench struct {
	*Model
	t    *testing.T
	fake *fakeFinalizer
	now  time.Time
	msgs chan tea.Msg
	quit bool
	clip string
}

func newBench(t *testing.T, width, height int, change ...func(*Options)) *bench {
	t.Helper()
	snap := stageful()
	b := &bench{t: t, now: noon, msgs: make(chan tea.Msg, 64), fake: &fakeFinalizer{t: t, jobs: map[string]*job.Job{}}}
	for _, j := range snap.Jobs {
		b.fake.jobs[j.Name] = j
	}
	b.Model = screen(t, snap, width, height, append([]func(*Options){func(o *Options) {
		o.Finalizer, o.Clock = b.fake, func() time.Time { return b.now }
	}}, change...)...)
	return b
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
	timeout := time.After(30 * time.Second)
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

func (b *bench) at(s stage) {
	b.t.Helper()
	b.until(fmt.Sprintf("stage %d", s), func() bool { return b.dialog != nil && b.dialog.stage == s })
}

func (b *bench) keys(names ...string) {
	b.t.Helper()
	for _, name := range names {
		b.send(keyPress(b.t, name))
	}
}

func (b *bench) write(text string) {
	b.t.Helper()
	for _, r := range text {
		b.keys(string(r))
	}
}

// listen lets the deaf moment pass.
func (b *bench) listen() {
	b.t.Helper()
	b.now = b.now.Add(graceLimit)
	b.send(graceEnded{b.dialog.number})
}

// open opens the dialog on crm-old and waits for its plan.
func (b *bench) open() {
	b.t.Helper()
	b.keys("f")
	b.at(stagePlan)
	b.listen()
}

func (b *bench) confirm() {
	b.t.Helper()
	b.keys("enter")
	b.write("prod-east/crm-old")
	b.keys("enter")
}

func (b *bench) frame() string { return ansi.Strip(checkFrame(b.t, b.Model)) }

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

// planOf shows the plan for a job.
func (b *bench) planOf(name string, change ...func(*finalize.Evidence)) {
	b.t.Helper()
	press(b.t, b.Model, "f")
	b.Update(evidenceGathered{number: b.dialog.number, evidence: evidenceOf(b.t, b.fake.jobs[name], change...)})
	b.listen()
}

// retrying shows an execution whose patch meets an API server that is away.
func (b *bench) retrying() {
	b.t.Helper()
	b.planOf("crm-old")
	press(b.t, b.Model, "enter")
	b.Update(tea.PasteMsg{Content: "prod-east/crm-old"})
	press(b.t, b.Model, "enter")
	r, at := b.dialog.run, b.now
	tell := func(p finalize.Progress) { r.tell(p, at) }
	tell(finalize.Progress{Step: finalize.StepLook})
	at = at.Add(2 * time.Second)
	tell(finalize.Progress{Step: finalize.StepDryRun})
	at = at.Add(time.Second)
	tell(finalize.Progress{Step: finalize.StepPatch})
	at = at.Add(20 * time.Second)
	r.mu.Lock()
	step := &r.state.steps[2]
	step.attempts, step.failure, step.next, step.left, step.at = 4, errLost.Error(), 10*time.Second, 9*time.Minute+12*time.Second, at
	r.mu.Unlock()
	b.now = at.Add(3 * time.Second)
	b.Update(runProgressed{b.dialog.number, r.read()})
}

func (b *bench) end(o finalize.Outcome, err error) {
	b.t.Helper()
	b.Update(runEnded{b.dialog.number, o, err})
	b.listen()
}

func draftOf(e finalize.Evidence, r finalize.Request) finalize.Plan {
	p, _ := finalize.For(finalize.Finalize, e, r)
	return p
}
