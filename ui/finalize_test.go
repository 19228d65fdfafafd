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
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

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

func (f *fakeFinalizer) Execute(ctx context.Context, plan finalize.Plan, dryRun bool, report func(finalize.Progress)) (finalize.Outcome, error) {
	f.mu.Lock()
	f.executed = append(f.executed, fmt.Sprintf("%s to %s dry=%v", plan.Name, plan.To, dryRun))
	f.mu.Unlock()
	if f.execute != nil {
		return f.execute(ctx, plan, dryRun, report)
	}
	if dryRun {
		return finalize.Outcome{State: finalize.Checked, Sent: finalize.NotSent, Plan: plan, Message: "the API server would take it; nothing was written"}, nil
	}
	return settled(plan), nil
}

func (f *fakeFinalizer) Take(_ context.Context, way finalize.Way, dryRun bool, _ func(finalize.Progress)) (finalize.Outcome, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.executed = append(f.executed, fmt.Sprintf("%s %s dry=%v", way.Name, way.Action, dryRun))
	return finalize.Outcome{State: finalize.Settled, Sent: finalize.Landed, Way: way, Message: "Velero went on with it: it is Completed now"}, nil
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

var allPhases = []string{"New", "InProgress", "WaitingForPluginOperations", "Completed", "PartiallyFailed", "Failed", "Finalizing", "FinalizingPartiallyFailed"}

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
		Volumes: finalize.Yes, MayPatch: finalize.Yes, Phases: allPhases, StatusSubresource: finalize.No, By: "jane",
		Location: &job.Location{Name: "default", Phase: "Available", LastValidated: noon.Add(-20 * time.Second)},
		Counts:   &job.StoredCounts{Errors: 3, Warnings: 1},
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

func TestFinalizeByATypedName(t *testing.T) {
	b := newBench(t, 80, 24)
	b.open()
	b.shows("Force finalize restore velero/crm-old", "InProgress -> FinalizingPartiallyFailed", "3 errors", "1 warning", "To go on, press enter, then type prod-east/crm-old")
	b.confirm()
	b.at(stageEnded)
	b.shows("Done: it is PartiallyFailed", "What remains to be done Nothing", "finalize.jsonl")
	if got := b.fake.done(); got != "crm-old to FinalizingPartiallyFailed dry=false" {
		t.Errorf("executed: %s", got)
	}
	b.listen()
	b.keys("enter")
	if b.dialog != nil || len(b.said) != 1 || !strings.Contains(b.said[0], "restore/crm-old: InProgress -> FinalizingPartiallyFailed") {
		t.Errorf("dialog %v, to be said %q", b.dialog, b.said)
	}
}

// Whatever was typed before the dialog was seen answers nothing.
func TestFinalizeIsDeafAtFirst(t *testing.T) {
	b := newBench(t, 80, 24)
	b.keys("f")
	b.write("yd")
	b.keys("enter")
	b.at(stagePlan)
	b.keys("enter")
	b.write("prod-east/crm-old")
	b.keys("enter", "d", "y", "q", "esc")
	if b.dialog == nil || b.dialog.stage != stagePlan || b.fake.done() != "" || b.clip != "" || b.quit {
		t.Fatalf("a deaf dialog did something: %q", b.fake.done())
	}
	// Keys make the moment longer, up to its limit.
	b.now = b.now.Add(graceQuiet - time.Millisecond)
	b.keys("d")
	b.now = b.now.Add(2 * time.Millisecond)
	b.send(graceEnded{b.dialog.number})
	if b.dialog.grace.over {
		t.Error("a key did not make the deaf moment longer")
	}
	b.now = b.now.Add(graceQuiet)
	b.send(graceEnded{b.dialog.number})
	b.keys("d")
	if b.dialog.stage != stageRunning {
		t.Errorf("the dialog is deaf for ever:\n%s", b.frame())
	}
}

func TestWrongNamesDoNothingAndSaySo(t *testing.T) {
	for _, typed := range []string{"", "y", "yes", "crm-old", "prod-east", "prod-east/crm-ol", "prod-east/crm-oldd", "PROD-EAST/crm-old", "prod-east/ crm-old", "dev/crm-old"} {
		b := newBench(t, 80, 24)
		b.open()
		b.keys("enter")
		b.write(typed)
		b.keys("enter")
		if b.dialog.stage != stageTyping || b.fake.done() != "" {
			t.Errorf("%q: stage %d, executed %q", typed, b.dialog.stage, b.fake.done())
		}
		b.shows("so nothing is done")
	}
}

// Letters that are keys elsewhere are letters in the field.
func TestTheFieldTakesEveryLetter(t *testing.T) {
	b := newBench(t, 80, 24)
	b.open()
	b.keys("enter")
	b.write("dyqwnr?fm/")
	if got := b.dialog.input.Value(); got != "dyqwnr?fm/" || b.fake.done() != "" || b.clip != "" || b.quit || b.fake.gathered != 1 {
		t.Errorf("the field holds %q; executed %q", got, b.fake.done())
	}
	b.keys("esc")
	if b.dialog.stage != stagePlan {
		t.Error("esc does not leave the field")
	}
}

// A paste fills the field, but confirms nothing, even with a line break in it.
func TestPasteDoesNotConfirm(t *testing.T) {
	b := newBench(t, 80, 24)
	b.open()
	b.send(tea.PasteMsg{Content: "prod-east/crm-old\n"})
	b.shows("Press enter first, then paste.")
	b.keys("enter")
	b.send(tea.PasteMsg{Content: "prod-east/crm-old\n"})
	if b.dialog.stage != stageTyping || b.fake.done() != "" || b.dialog.input.Value() != "prod-east/crm-old" {
		t.Fatalf("stage %d, field %q", b.dialog.stage, b.dialog.input.Value())
	}
	b.keys("enter")
	b.at(stageEnded)
}

func TestDryRunWritesNothingAndGoesBackToThePlan(t *testing.T) {
	b := newBench(t, 80, 24)
	b.open()
	b.keys("d")
	b.until("the dry run has ended", func() bool { return b.dialog.stage == stagePlan && b.dialog.run == nil })
	b.shows("Dry run: the API server would take it; nothing was written.")
	if got := b.fake.done(); got != "crm-old to FinalizingPartiallyFailed dry=true" {
		t.Errorf("executed %s", got)
	}
	b.listen()
	b.keys("esc")
	if b.dialog != nil || len(b.said) != 0 {
		t.Errorf("dialog %v, said %q", b.dialog, b.said)
	}
}

func TestTheCommandIsCopiedWhole(t *testing.T) {
	b := newBench(t, 80, 24)
	b.open()
	b.keys("y")
	b.until("it is copied", func() bool { return b.clip != "" })
	want := b.dialog.choice().plan.Command
	if b.clip != want || !strings.HasPrefix(want, "kubectl --context prod-east -n velero patch restores.velero.io crm-old") {
		t.Errorf("copied %q", b.clip)
	}
	b.shows("veltui also prints it when it ends")
	b.keys("esc")
	if len(b.said) != 1 || b.said[0] != want {
		t.Errorf("to be said: %q", b.said)
	}
}

// interrupted plays an execution that retries until it is stopped.
func interrupted(begun chan<- struct{}) func(context.Context, finalize.Plan, bool, func(finalize.Progress)) (finalize.Outcome, error) {
	return func(ctx context.Context, plan finalize.Plan, _ bool, report func(finalize.Progress)) (finalize.Outcome, error) {
		report(finalize.Progress{Step: finalize.StepLook})
		report(finalize.Progress{Step: finalize.StepDryRun})
		report(finalize.Progress{Step: finalize.StepPatch})
		close(begun)
		<-ctx.Done()
		return finalize.Outcome{State: finalize.Unfinished, Sent: finalize.NotSent, Plan: plan, Message: "patch: " + context.Cause(ctx).Error() + "; the patch was not carried out"}, context.Cause(ctx)
	}
}

func TestEscTwiceStopsAnExecution(t *testing.T) {
	b := newBench(t, 80, 24)
	begun := make(chan struct{})
	b.fake.execute = interrupted(begun)
	b.open()
	b.confirm()
	<-begun
	b.until("the patch is being sent", func() bool { _, sending := b.dialog.state.of(finalize.StepPatch); return sending })
	// An arrow key that a slow line tears apart.
	b.keys("esc", "[", "A")
	if b.dialog.stopping || b.dialog.asked {
		t.Fatal("a torn arrow key stops an execution")
	}
	b.keys("esc")
	b.shows("Stop? esc again stops it, q again stops it and leaves; any other key goes on.")
	b.keys("esc")
	b.at(stageEnded)
	b.shows("Stopped: nothing was written.", "you stopped it", "f tries again; nothing is half done.")
	if b.quit {
		t.Error("esc left the program")
	}
}

// q leaves only when it is known what was sent; ctrl+c does so at once.
func TestLeavingInMidRetry(t *testing.T) {
	for _, keys := range [][]string{{"q", "q"}, {"esc", "q"}, {"ctrl+c"}} {
		b := newBench(t, 80, 24)
		begun := make(chan struct{})
		b.fake.execute = interrupted(begun)
		b.open()
		b.confirm()
		<-begun
		b.keys(keys[0])
		if b.quit {
			t.Fatalf("%q leaves before anything is known", keys[0])
		}
		if len(keys) > 1 {
			b.shows("Stop?")
		}
		b.keys(keys[1:]...)
		b.until("the program ends", func() bool { return b.quit })
		b.shows("Stopped: nothing was written.") // it is drawn once more
		if said := b.partingWords(); len(said) != 1 || !strings.Contains(said[0], "unfinished") || !strings.Contains(said[0], "not carried out") {
			t.Errorf("%q: said %q", keys, said)
		}
		if wantErr := keys[len(keys)-1] == "ctrl+c"; errors.Is(b.err, ErrInterrupted) != wantErr {
			t.Errorf("%q: %v", keys, b.err)
		}
	}
}

// The program's end waits for the execution's last word.
func TestPartingWordsWaitForTheExecution(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	plan := finalize.Draft(evidenceOf(t, stageful().Jobs[2]), finalize.Request{})
	begun := make(chan struct{})
	fake := &fakeFinalizer{t: t, execute: interrupted(begun)}
	r := newRun(1, target{job.Restore, "velero", "crm-old", ""}, choice{plan: &plan}, false, cancel, noon)
	go r.execute(ctx, fake, func() time.Time { return noon })
	<-begun
	b := newBench(t, 80, 24)
	b.dialog = &finalizeDialog{with: b.finalizing, targets: []target{r.target}, run: r}
	cancel(errors.New("hangup"))
	if said := b.partingWords(); len(said) != 1 || !strings.Contains(said[0], "hangup") || !strings.Contains(said[0], "not carried out") {
		t.Errorf("said %q", said)
	}
	// One that the end overtook is never begun.
	late := newRun(2, r.target, r.choice, false, cancel, noon)
	b.dialog.run = late
	before := fake.done()
	if said := b.partingWords(); len(said) != 0 {
		t.Errorf("said %q", said)
	}
	if late.execute(t.Context(), fake, time.Now); fake.done() != before {
		t.Error("an execution began after the program's end")
	}
}

func TestLateAnswersAreDropped(t *testing.T) {
	b := newBench(t, 80, 24)
	press(t, b.Model, "f")
	late := b.dialog.number
	e := evidenceOf(t, b.fake.jobs["crm-old"])
	b.closeDialog()
	b.Update(evidenceGathered{number: late, evidence: e})
	if b.dialog != nil {
		t.Fatal("an answer opened a dialog")
	}
	press(t, b.Model, "f")
	b.Update(evidenceGathered{number: late, evidence: e})
	if b.dialog.stage != stageLooking {
		t.Error("a late answer was taken for the present one")
	}
	b.Update(runEnded{number: b.dialog.number, outcome: finalize.Outcome{State: finalize.Settled}})
	b.Update(runProgressed{number: late})
	if b.dialog.stage != stageLooking {
		t.Error("the end of another execution was taken")
	}
	b.Update(evidenceGathered{number: b.dialog.number, evidence: e})
	if b.dialog.stage != stagePlan {
		t.Error("the present answer was not taken")
	}
}

func TestAChangeMakesANewPlanThatIsTypedAgain(t *testing.T) {
	b := newBench(t, 80, 24)
	b.fake.execute = func(_ context.Context, shown finalize.Plan, _ bool, _ func(finalize.Progress)) (finalize.Outcome, error) {
		if len(shown.Set) == 2 { // the first plan, with warnings
			now := finalize.Draft(evidenceOf(t, b.fake.jobs["crm-old"], func(e *finalize.Evidence) { e.Counts = &job.StoredCounts{Errors: 1} }), finalize.Request{})
			return finalize.Outcome{State: finalize.Changed, Sent: finalize.NotSent, Plan: now, Message: "it was changed since the plan was shown; nothing was written"}, nil
		}
		return settled(shown), nil
	}
	b.open()
	b.confirm()
	b.at(stageEnded)
	b.listen()
	b.shows("Changed meanwhile: nothing was written.", "Now InProgress -> FinalizingPartiallyFailed, 1 error (enter looks at this new plan)", "enter see the new plan")
	b.keys("enter")
	b.listen()
	b.shows("This is the new plan", "To go on, press enter, then type prod-east/crm-old")
	b.keys("enter", "enter")
	b.shows("Nothing is typed, so nothing is done.")
	b.write("prod-east/crm-old")
	b.keys("enter")
	b.at(stageEnded)
	b.shows("Done: it is PartiallyFailed.")
}

// A refusal offers what else a person may decide, as choices of their own.
func TestARefusalOffersOtherWays(t *testing.T) {
	snap := stageful()
	waits := backupJob("waits", 40*time.Minute, velerov1.BackupStatus{Phase: velerov1.BackupPhaseReadyToStart}, 40*time.Minute)
	snap.Jobs, snap.Active = append(snap.Jobs, waits), []*job.Job{waits}
	b := newBench(t, 80, 24)
	b.fake.jobs["waits"] = waits
	show(b.Model, snap)
	b.keys("f")
	b.at(stagePlan)
	b.listen()
	b.shows("Refused", "Ways out", "leave it as it is", "wake it", "give it up: write Failed")
	b.keys("enter", "d")
	b.shows("this cannot be done from here")
	if b.dialog.stage != stagePlan || b.fake.done() != "" {
		t.Fatalf("a refusal was carried out: %q", b.fake.done())
	}
	b.keys("w")
	b.shows("Plan wake it", "To go on, press enter, then type prod-east/waits")
	b.keys("enter")
	b.write("prod-east/waits")
	b.keys("enter")
	b.at(stageEnded)
	b.shows("Done.", "Velero went on with it")
	if got := b.fake.done(); got != "waits wake dry=false" {
		t.Errorf("executed %q", got)
	}
}

func TestMarkedJobsAreFinalizedOneByOne(t *testing.T) {
	b := newBench(t, 80, 24)
	b.fake.change = []func(*finalize.Evidence){func(e *finalize.Evidence) { // a server that began after both
		e.Server.Running[0].StartedAt, e.At = noon.Add(-10*time.Second), noon.Add(3*time.Minute)
	}}
	b.keys("m", "down", "down", "m")
	b.shows("2 marked")
	b.keys("f")
	b.at(stagePlan)
	b.listen()
	b.shows("1 of 2: Force finalize restore velero/crm-old")
	b.confirm()
	b.at(stageEnded)
	b.listen()
	b.shows("enter next job")
	b.keys("enter")
	b.until("the second plan", func() bool { return b.dialog.at == 1 && b.dialog.stage == stagePlan })
	b.listen()
	b.shows("2 of 2:")
	second := b.dialog.target().name
	if second == "crm-old" || b.fake.gathered != 2 {
		t.Fatalf("the second is %s, after %d looks", second, b.fake.gathered)
	}
	b.keys("enter")
	b.write("prod-east/crm-old") // the first one's name is not the second one's
	b.keys("enter")
	b.shows("so nothing is done")
	b.keys("esc")
	b.listen()
	b.keys("n")
	b.listen()
	b.shows("What became of the 2 marked jobs", "restore/crm-old", "settled", "restore/"+second)
	b.keys("enter")
	if b.dialog != nil || len(b.dashboard.marked) != 1 {
		t.Errorf("dialog %v, marks %v", b.dialog, b.dashboard.marked)
	}
	if got := b.fake.done(); got != "crm-old to FinalizingPartiallyFailed dry=false" {
		t.Errorf("executed %s", got)
	}
}

func TestMarksGoWithTheirJobs(t *testing.T) {
	b := newBench(t, 80, 24)
	b.keys("m", "down", "m")
	if len(b.dashboard.marked) != 2 {
		t.Fatalf("marks %v", b.dashboard.marked)
	}
	b.keys("m")
	if len(b.dashboard.marked) != 1 {
		t.Error("a second m does not take the mark away")
	}
	show(b.Model, snapshotOf())
	if len(b.dashboard.marked) != 0 {
		t.Error("a mark outlives its job")
	}
	show(b.Model, stageful())
	b.keys("m", "esc")
	if len(b.dashboard.marked) != 0 {
		t.Error("esc does not clear the marks")
	}
}

// What cannot be done is said when its key is pressed, and in help.
func TestDisabledKeysSayWhy(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Options)
		rights map[job.Kind]string
		keys   []string
		want   string
	}{
		{"read-only", func(o *Options) { o.ReadOnly = true }, nil, nil, "read-only: nothing may be changed"},
		{"no way to write", func(o *Options) { o.Finalizer = nil }, nil, nil, "this dashboard cannot change anything"},
		{"no right", nil, map[job.Kind]string{job.Restore: "you may not patch restores.velero.io in namespace velero"}, nil, "you may not patch restores.velero.io"},
		{"ended", nil, nil, []string{"end"}, "hourly-db-0900 has ended: PartiallyFailed is a final phase"},
		{"not a job", nil, nil, []string{"4"}, "no backup or restore is selected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			change := func(*Options) {}
			if c.change != nil {
				change = c.change
			}
			b := newBench(t, 80, 24, change)
			b.Update(rightsAnswered{b.rights.namespace, c.rights})
			press(t, b.Model, c.keys...)
			press(t, b.Model, "f")
			if b.dialog != nil {
				t.Fatal("the dialog opened")
			}
			b.shows("f: " + c.want)
			press(t, b.Model, "?", "end")
			b.shows("not now:")
			press(t, b.Model, "esc")
			if strings.Contains(b.frame(), "f: ") {
				t.Error("the notice stays for ever")
			}
			press(t, b.Model, "m")
			if len(b.dashboard.marked) != 0 {
				t.Error("what cannot be finalized can be marked")
			}
		})
	}
}

// A right that was given meanwhile is found by pressing the key again.
func TestRightsAreAskedAgain(t *testing.T) {
	b := newBench(t, 80, 24)
	b.fake.why = map[job.Kind]string{job.Restore: "you may not"}
	b.send(snapshotArrived{b.digest})
	b.begin(b.askRightsAgain())
	b.rights.asking = false
	b.begin(b.askRightsAgain())
	b.until("the answer", func() bool { return b.rights.why[job.Restore] != "" })
	b.fake.why = nil
	b.keys("f")
	if b.dialog != nil {
		t.Fatal("the dialog opened without the right")
	}
	b.until("another answer", func() bool { return b.rights.why[job.Restore] == "" })
	b.keys("f")
	if b.dialog == nil {
		t.Error("the dialog does not open with the right")
	}
}

func TestFinalizeOfAnEndedJobWithMovingVolumes(t *testing.T) {
	b := newBench(t, 80, 24)
	j := ended("left-behind", velerov1.BackupPhaseFailed, 3, time.Minute, 10*time.Minute, 1, 0)
	j.Volumes = []job.Volume{{Kind: job.DataUpload, Name: "du-1", Phase: "InProgress"}}
	if why := b.whyNotFinalize(j); why != "" {
		t.Errorf("volumes that go on cannot be looked at: %s", why)
	}
}

// Every stage on every size fits, and where nothing can be read nothing can be
// confirmed.
func TestDialogFitsEverywhere(t *testing.T) {
	for _, frame := range dialogFrames {
		b := newBench(t, 80, 24)
		frame.show(t, b)
		for width := 10; width < 140; width += 7 {
			for _, height := range []int{2, 3, 5, 8, 12, 17, 24, 50} {
				b.Update(tea.WindowSizeMsg{Width: width, Height: height})
				checkFrame(t, b.Model)
				for _, k := range []string{"down", "end", "pgup", "home"} {
					press(t, b.Model, k)
					checkFrame(t, b.Model)
				}
				if t.Failed() {
					t.Fatalf("%s at %dx%d:\n%s", frame.name, width, height, b.frame())
				}
			}
		}
	}
	b := newBench(t, 39, 11)
	b.open()
	b.confirm()
	if b.fake.done() != "" {
		t.Error("confirmed on a terminal that cannot show what would be done")
	}
	b.shows("too small")
}

var lostConnection = errors.New("dial tcp 10.0.0.1:6443: connect: connection refused")

// dialogFrames are the dialog's states.
var dialogFrames = []struct {
	name string
	show func(t *testing.T, b *bench)
}{
	{"looking", func(t *testing.T, b *bench) { press(t, b.Model, "f"); b.now = b.now.Add(12 * time.Second); b.listen() }},
	{"unseen", func(t *testing.T, b *bench) {
		press(t, b.Model, "f")
		b.Update(evidenceGathered{number: b.dialog.number, err: errors.New("gave up after 6 attempts: reading restore crm-old: " + lostConnection.Error())})
		b.listen()
	}},
	{"plan", func(t *testing.T, b *bench) { b.planOf("crm-old") }},
	{"plan-end", func(t *testing.T, b *bench) { b.planOf("crm-old"); press(t, b.Model, "end") }},
	{"orphan", func(t *testing.T, b *bench) {
		press(t, b.Model, "down", "down", "down")
		b.planOf("nightly-crm", func(e *finalize.Evidence) {
			e.Server.Running[0].StartedAt = noon.Add(-30 * time.Second)
			e.At = noon.Add(3 * time.Minute)
			e.Artifacts, e.Counts, e.Queued = e.Artifacts[:1], nil, []string{"nightly-erp", "nightly-web"}
			e.Artifacts[0].Presence = job.Presence{State: job.Absent}
		})
	}},
	{"refused", func(t *testing.T, b *bench) {
		b.planOf("crm-old", func(e *finalize.Evidence) {
			e.Artifacts, e.Counts = e.Artifacts[:1], nil
			e.Artifacts[0].Presence = job.Presence{Why: "the storage location is not reachable"}
		})
	}},
	{"typing", func(t *testing.T, b *bench) {
		b.planOf("crm-old")
		press(t, b.Model, "enter")
		for _, r := range "prod-east/crm-o" {
			press(t, b.Model, string(r))
		}
	}},
	{"wrong", func(t *testing.T, b *bench) {
		b.planOf("crm-old")
		press(t, b.Model, "enter", "c", "r", "m", "enter")
	}},
	{"retrying", func(t *testing.T, b *bench) { b.retrying() }},
	{"asked", func(t *testing.T, b *bench) { b.retrying(); press(t, b.Model, "esc") }},
	{"stopping", func(t *testing.T, b *bench) { b.retrying(); press(t, b.Model, "esc", "esc") }},
	{"observing", func(t *testing.T, b *bench) {
		b.retrying()
		b.dialog.run.tell(finalize.Progress{Step: finalize.StepObserve}, b.now)
		b.dialog.run.tell(finalize.Progress{Step: finalize.StepObserve, Phase: "FinalizingPartiallyFailed"}, b.now)
		b.now = b.now.Add(9 * time.Second)
		b.Update(runProgressed{b.dialog.number, b.dialog.run.read()})
	}},
	{"settled", func(t *testing.T, b *bench) {
		b.retrying()
		b.end(settled(*b.dialog.choice().plan), nil)
	}},
	{"reverted", func(t *testing.T, b *bench) {
		b.retrying()
		b.end(finalize.Outcome{State: finalize.Reverted, Sent: finalize.Landed, Plan: *b.dialog.choice().plan, Phase: "InProgress",
			Message: "somebody wrote InProgress over it: a Velero server still worked on it"}, nil)
	}},
	{"doubtful", func(t *testing.T, b *bench) {
		b.retrying()
		b.end(finalize.Outcome{State: finalize.Unfinished, Sent: finalize.Doubtful, Plan: *b.dialog.choice().plan, Phase: "InProgress",
			Message: "patch: you stopped it; the patch was sent, and whether it was carried out is not known"}, errStopped)
	}},
	{"changed", func(t *testing.T, b *bench) {
		b.retrying()
		now := finalize.Draft(evidenceOf(t, b.fake.jobs["crm-old"], func(e *finalize.Evidence) { e.MayPatch, e.MayPatchWhy = finalize.No, "no rule" }), finalize.Request{})
		b.end(finalize.Outcome{State: finalize.Changed, Sent: finalize.NotSent, Plan: now, Phase: "InProgress",
			Message: "it was changed since the plan was shown; nothing was written"}, nil)
	}},
	{"summary", func(t *testing.T, b *bench) {
		press(t, b.Model, "m", "down", "m", "down", "m", "f")
		b.dialog.ends = []string{"InProgress -> Failed: settled: it is Failed and stayed so for 70s", "skipped", ""}
		b.dialog.enter(stageSummary)
		b.listen()
	}},
}

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
	step.attempts, step.failure, step.next, step.left, step.at = 4, lostConnection.Error(), 10*time.Second, 9*time.Minute+12*time.Second, at
	r.mu.Unlock()
	b.now = at.Add(3 * time.Second)
	b.Update(runProgressed{b.dialog.number, r.read()})
}

func (b *bench) end(o finalize.Outcome, err error) {
	b.t.Helper()
	b.Update(runEnded{b.dialog.number, o, err})
	b.listen()
}

func TestGoldenDialogFrames(t *testing.T) {
	for _, frame := range dialogFrames {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 12}} {
			name := fmt.Sprintf("finalize-%s-%dx%d", frame.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				b := newBench(t, size[0], size[1])
				frame.show(t, b)
				golden(t, name, plain(checkFrame(t, b.Model)))
			})
		}
	}
	t.Run("ascii", func(t *testing.T) {
		for _, frame := range dialogFrames {
			b := newBench(t, 80, 24, func(o *Options) { o.ASCII, o.NoColor = true, true })
			frame.show(t, b)
			if i := strings.IndexFunc(b.frame(), func(r rune) bool { return r > 126 }); i >= 0 {
				t.Errorf("%s: an ASCII frame holds %q", frame.name, b.frame()[i:i+4])
			}
		}
		b := newBench(t, 80, 24, func(o *Options) { o.ASCII, o.NoColor = true, true })
		b.planOf("crm-old")
		golden(t, "finalize-plan-ascii-80x24", plain(checkFrame(t, b.Model)))
	})
	t.Run("marked", func(t *testing.T) {
		b := newBench(t, 80, 24)
		press(t, b.Model, "m", "down", "m")
		golden(t, "marked-80x24", plain(checkFrame(t, b.Model)))
	})
	t.Run("help", func(t *testing.T) {
		b := newBench(t, 80, 60)
		b.planOf("crm-old")
		press(t, b.Model, "?")
		golden(t, "finalize-help-80x60", plain(checkFrame(t, b.Model)))
	})
}
