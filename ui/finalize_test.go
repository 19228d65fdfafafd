package ui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"github.com/veltui/veltui/finalize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui/draw"
)

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

// What veltui does not do itself is shown with its cost, and its command can be
// copied.
func TestARestartIsOnlyACommand(t *testing.T) {
	b := newBench(t, 80, 24)
	b.fake.change = []func(*finalize.Evidence){func(e *finalize.Evidence) {
		e.Artifacts, e.Counts = nil, nil
		e.Others = []finalize.Other{{Kind: job.Restore, Name: "shop-restore-2", Phase: "InProgress"}}
	}}
	b.open()
	b.shows("Refused", "leave it as it is", "restart Velero's server (veltui only shows the command)")
	b.keys("w", "enter")
	b.shows("this cannot be done from here")
	if b.dialog.stage != stagePlan {
		t.Error("a restart can be confirmed")
	}
	b.keys("d")
	b.shows("Veltui restarts nothing itself", "mark Failed 2 jobs in progress, and cancel their volumes: restore/crm-old, restore/shop-restore-2")
	b.keys("y")
	b.until("it is copied", func() bool { return b.clip != "" })
	if b.clip != "kubectl --context prod-east -n velero rollout restart deployment/velero" || b.fake.done() != "" {
		t.Errorf("copied %q, executed %q", b.clip, b.fake.done())
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

func TestFinalizeFromAnOpenJob(t *testing.T) {
	b := newBench(t, 80, 24)
	press(t, b.Model, "enter")
	b.shows("f looks closer and says what can be done", "f finalize")
	b.open()
	b.shows("Force finalize restore velero/crm-old")
	b.keys("esc")
	if b.where() != onJob {
		t.Errorf("the dialog leads back to screen %v", b.where())
	}
}

// What must be typed is shown whole, however long a cluster's name is, and the
// field is always seen.
func TestLongContextNames(t *testing.T) {
	long := "arn:aws:eks:eu-central-1:123456789012:cluster/customer-facing-production-blue"
	for _, size := range [][2]int{{80, 24}, {40, 12}} {
		b := newBench(t, size[0], size[1], func(o *Options) { o.Context = long })
		b.open()
		b.keys("enter")
		flat := strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(b.frame(), "│", ""), " ", ""), "\n", "")
		if !strings.Contains(flat, strings.ReplaceAll(long, " ", "")+"/crm-old") {
			t.Errorf("at %v what must be typed is not on the screen:\n%s", size, b.frame())
		}
		b.write("arn")
		if !strings.Contains(b.frame(), draw.Unicode.Cursor+" arn") {
			t.Errorf("at %v the field is not on the screen:\n%s", size, b.frame())
		}
	}
}

func TestFinalizeOfAnEndedJobWithMovingVolumes(t *testing.T) {
	b := newBench(t, 80, 24)
	j := ended("left-behind", velerov1.BackupPhaseFailed, 3, time.Minute, 10*time.Minute, 1, 0)
	j.Volumes = []job.Volume{{Kind: job.DataUpload, Name: "du-1", Phase: "InProgress"}}
	if why := b.whyNotFinalize(j); why != "" {
		t.Errorf("volumes that go on cannot be looked at: %s", why)
	}
	show(b.Model, snapshotOf(j))
	press(t, b.Model, "3", "m")
	b.shows("m: left-behind has ended")
	if len(b.dashboard.marked) != 0 {
		t.Error("a job that has ended was marked")
	}
}
