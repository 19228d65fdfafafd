package ui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/ui/dialog"
)

func TestFinalizeByATypedName(t *testing.T) {
	b := newBench(t, 80, 24)
	b.open()
	b.shows(
		"Finalize restore velero/crm-old",
		"InProgress -> FinalizingPartiallyFailed",
		"3 errors",
		"1 warning",
		"Press enter to apply; you will be asked to type prod-east/crm-old",
	)
	b.confirm()
	b.reaches(dialog.StageResult)
	b.shows("Done: it is PartiallyFailed", "finalize.jsonl")
	if got := b.fake.done(); got != "crm-old to FinalizingPartiallyFailed dry=false" {
		t.Errorf("executed: %s", got)
	}
	b.listen()
	b.keys("enter")
	if findScreen[*dialogScreen](b.Model) != nil || len(b.exitLines) != 1 ||
		!strings.Contains(b.exitLines[0], "restore/crm-old: InProgress -> FinalizingPartiallyFailed") {
		t.Errorf("dialog %v, to be said %q", findScreen[*dialogScreen](b.Model), b.exitLines)
	}
}

// Whatever is typed before the plan was seen answers nothing, by any key of the
// program: neither the dialog's keys nor help nor quit.
func TestTheProgramIsDeafWhileTheDialogIs(t *testing.T) {
	b := newBench(t, 80, 24)
	b.keys("f")
	typed := func() {
		b.keys("d", "y", "w", "n", "r", "enter")
		b.write("prod-east/crm-old")
		b.keys("enter", "?", "q", "esc")
	}
	typed()
	b.until("a plan", func() bool {
		return findScreen[*dialogScreen](b.Model) != nil && findScreen[*dialogScreen](b.Model).Stage() == dialog.StageChoosing
	})
	typed()
	if findScreen[*dialogScreen](b.Model) == nil || findScreen[*dialogScreen](b.Model).Stage() != dialog.StageChoosing || b.isHelpOpen() ||
		b.quit ||
		b.clip != "" ||
		b.fake.done() != "" ||
		b.notice != "" {
		t.Fatalf(
			"a deaf dialog did something: executed %q, copied %q, notice %q:\n%s",
			b.fake.done(),
			b.clip,
			b.notice,
			b.frame(),
		)
	}
	b.listen()
	b.keys("enter")
	if findScreen[*dialogScreen](b.Model).Stage() != dialog.StageTyping {
		t.Error("the dialog stays deaf")
	}
}

func TestDryRunWritesNothingAndGoesBackToThePlan(t *testing.T) {
	b := newBench(t, 80, 24)
	b.open()
	b.keys("d")
	b.sees("Dry run: ")
	b.shows("Dry run: the API server accepts the patch; nothing was written.")
	if got := b.fake.done(); got != "crm-old to FinalizingPartiallyFailed dry=true" {
		t.Errorf("executed %s", got)
	}
	b.listen()
	b.keys("esc")
	if findScreen[*dialogScreen](b.Model) != nil || len(b.exitLines) != 0 {
		t.Errorf("dialog %v, said %q", findScreen[*dialogScreen](b.Model), b.exitLines)
	}
}

func TestTheCommandIsCopiedWhole(t *testing.T) {
	b := newBench(t, 80, 24)
	b.open()
	b.keys("y")
	b.until("it is copied", func() bool { return b.clip != "" })
	want := draftOf(gatheredFor(t, b.fake.jobs["crm-old"]), action.Request{Context: "prod-east"}).Commands[0]
	if b.clip != want ||
		!strings.HasPrefix(want, "kubectl --context prod-east -n velero patch restores.velero.io crm-old") {
		t.Errorf("copied %q", b.clip)
	}
	b.shows("veltui also prints it on exit")
	b.keys("esc")
	if len(b.exitLines) != 1 || b.exitLines[0] != want {
		t.Errorf("to be said: %q", b.exitLines)
	}
}

func TestAChangeMakesANewPlanThatIsTypedAgain(t *testing.T) {
	b := newBench(t, 80, 24)
	now := draftOf(
		gatheredFor(t, b.fake.jobs["crm-old"], func(e *action.Evidence) { e.StoredCounts = &job.StoredCounts{Errors: 1} }),
		action.Request{},
	)
	b.fake.script = make(chan any, 1)
	b.open()
	b.confirm()
	b.ends(
		action.Outcome{
			State:   action.StateChanged,
			Sent:    action.NotSent,
			Plan:    now,
			Message: "it was changed since the plan was shown; nothing was written",
		},
	)
	b.shows(
		"It changed in the meantime: nothing was written.",
		"Now InProgress -> FinalizingPartiallyFailed, 1 error (enter looks at this new plan)",
		"enter see the new plan",
	)
	b.keys("enter")
	b.listen()
	b.shows("this is a new plan", "Press enter to apply; you will be asked to type prod-east/crm-old")
	b.keys("enter", "enter")
	b.shows("You typed nothing, so nothing was done.")
	b.write("prod-east/crm-old")
	b.keys("enter")
	b.ends(settled(now))
	b.shows("Done: it is PartiallyFailed.")
}

// A refusal offers what else a person may decide, as choices of their own.
func TestARefusalOffersOtherWays(t *testing.T) {
	snap := stageful()
	waits := backupJob(
		"waits",
		40*time.Minute,
		veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseReadyToStart},
		40*time.Minute,
	)
	snap.Jobs, snap.Active = append(snap.Jobs, waits), []*job.Job{waits}
	b := newBench(t, 80, 24)
	b.fake.jobs["waits"] = waits
	b.fake.change = []func(*action.Evidence){func(e *action.Evidence) { // the server has forgotten it
		e.Server.Pods[0].StartedAt, e.Artifacts = noon.Add(-20*time.Minute), nil
	}}
	show(b.Model, snap)
	b.keys("f")
	b.reaches(dialog.StageChoosing)
	b.shows("Refused", "Options (w cycles)", "leave it as it is", "wake it", "give it up: set it to Failed")
	b.keys("enter", "d")
	b.shows("veltui cannot do this")
	if findScreen[*dialogScreen](b.Model).Stage() != dialog.StageChoosing || b.fake.done() != "" {
		t.Fatalf("a refusal was carried out: %q", b.fake.done())
	}
	b.keys("w")
	b.shows("Plan wake it", "Press enter to apply; you will be asked to type prod-east/waits")
	b.keys("enter")
	b.write("prod-east/waits")
	b.keys("enter")
	b.reaches(dialog.StageResult)
	b.shows("Done.", "Velero went on")
	if got := b.fake.done(); got != "waits wake dry=false" {
		t.Errorf("executed %q", got)
	}
}

// What veltui does not do itself is shown with its cost, and its command can be
// copied.
func TestARestartIsOnlyACommand(t *testing.T) {
	b := newBench(t, 80, 24)
	b.fake.change = []func(*action.Evidence){func(e *action.Evidence) {
		e.Artifacts[1].Presence = job.Presence{State: job.Absent} // its operations
		e.OtherJobs = []action.OtherJob{{Kind: job.Restore, Name: "shop-restore-2", Phase: "InProgress"}}
	}}
	b.open()
	b.shows("Refused", "leave it as it is", "restart the Velero server (veltui only shows the command)")
	b.keys("w", "enter")
	b.shows("veltui cannot do this")
	if findScreen[*dialogScreen](b.Model).Stage() != dialog.StageChoosing {
		t.Error("a restart can be confirmed")
	}
	b.keys("d")
	b.shows(
		"Restarting is up to you",
		"mark 2 jobs in progress Failed and cancel their data movement: restore/crm-old and restore/shop-restore-2",
	)
	b.keys("y")
	b.until("it is copied", func() bool { return b.clip != "" })
	if b.clip != "kubectl --context prod-east -n velero rollout restart deployment/velero" || b.fake.done() != "" {
		t.Errorf("copied %q, executed %q", b.clip, b.fake.done())
	}
}

func TestMarkedJobsAreFinalizedOneByOne(t *testing.T) {
	b := newBench(t, 80, 24)
	b.fake.change = []func(*action.Evidence){func(e *action.Evidence) { // a server that began after both
		e.Server.Pods[0].StartedAt, e.Server.Pods[0].Created = noon.Add(-10*time.Second), noon.Add(-12*time.Second)
		e.Now = noon.Add(10 * time.Minute)
	}}
	b.keys("m", "down", "down", "m")
	b.shows("2 marked")
	b.keys("f")
	b.reaches(dialog.StageChoosing)
	b.shows("1 of 2: Finalize restore velero/crm-old")
	b.confirm()
	b.reaches(dialog.StageResult)
	b.shows("enter next job")
	b.keys("enter")
	b.sees("2 of 2: ")
	b.reaches(dialog.StageChoosing)
	_, second, _ := strings.Cut(b.frame(), "Finalize restore velero/")
	second, _, _ = strings.Cut(second, " ")
	if second == "crm-old" || b.fake.gathered != 2 {
		t.Fatalf("the second is %s, after %d looks", second, b.fake.gathered)
	}
	b.keys("enter")
	b.write("prod-east/crm-old") // the first one's name is not the second one's
	b.keys("enter")
	b.shows("so nothing was done")
	b.keys("esc")
	b.listen()
	b.keys("n")
	b.listen()
	b.shows("Results for the 2 marked jobs", "restore/crm-old", "settled", "restore/"+second)
	b.keys("enter")
	if findScreen[*dialogScreen](b.Model) != nil || len(b.dashboard.marked) != 1 {
		t.Errorf("dialog %v, marks %v", findScreen[*dialogScreen](b.Model), b.dashboard.marked)
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
		marks  bool // the row can be marked all the same, to delete it
	}{
		{"read-only", func(o *Options) { o.ReadOnly = true }, nil, nil, "read-only: nothing may be changed", false},
		{"no way to write", func(o *Options) { fake(o).finalizer = nil }, nil, nil, "this dashboard cannot change anything", false},
		{"no right", nil, map[job.Kind]string{job.Restore: "you may not patch restores.velero.io in namespace velero"}, nil, "you may not patch restores.velero.io", true},
		{"ended", nil, nil, []string{"end", "up"}, "hourly-db-0900 has ended: PartiallyFailed is a final phase", true},
		{"not a job", nil, nil, []string{"4"}, "no backup or restore is selected", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			change := func(*Options) {}
			if c.change != nil {
				change = c.change
			}
			b := newBench(t, 80, 24, change)
			b.currentCluster.accessAnswer.Value = c.rights
			press(t, b.Model, c.keys...)
			press(t, b.Model, "f")
			if findScreen[*dialogScreen](b.Model) != nil {
				t.Fatal("the dialog opened")
			}
			b.shows("f: " + c.want)
			press(t, b.Model, "?")
			b.Model.Update(tea.WindowSizeMsg{Width: 80, Height: 100})
			b.shows("not now:")
			b.Model.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
			press(t, b.Model, "esc")
			if strings.Contains(b.frame(), "f: ") {
				t.Error("the notice stays for ever")
			}
			press(t, b.Model, "m")
			if marks := len(b.dashboard.marked) != 0; marks != c.marks {
				t.Errorf("it can be marked: %v", marks)
			}
			if press(t, b.Model, "f"); findScreen[*dialogScreen](b.Model) != nil {
				t.Error("marked, it can be finalized")
			}
		})
	}
}

// A right that was given meanwhile is found by pressing the key again.
func TestRightsAreAskedAgain(t *testing.T) {
	b := newBench(t, 80, 24)
	b.fake.why = map[job.Kind]string{job.Restore: "you may not"}
	b.send(snapshotAssessedMsg{b.currentCluster, b.currentCluster.assessment})
	b.currentCluster.accessAnswer.Close()
	b.begin(b.checkAccess(b.currentCluster))
	b.until("the answer", func() bool { return b.currentCluster.accessAnswer.Value[job.Restore] != "" })
	b.fake.why = nil
	b.keys("f")
	if findScreen[*dialogScreen](b.Model) != nil {
		t.Fatal("the dialog opened without the right")
	}
	b.until("another answer", func() bool { return b.currentCluster.accessAnswer.Value[job.Restore] == "" })
	b.keys("f")
	if findScreen[*dialogScreen](b.Model) == nil {
		t.Error("the dialog does not open with the right")
	}
}

func TestFinalizeFromAnOpenJob(t *testing.T) {
	b := newBench(t, 80, 24)
	press(t, b.Model, "enter")
	b.shows("Press f to check the evidence", "f finalize")
	b.open()
	b.shows("Finalize restore velero/crm-old")
	b.keys("esc")
	if onTop(b.Model) != "job" {
		t.Errorf("the dialog leads back to %s", onTop(b.Model))
	}
}

func TestFinalizeOfAnEndedJobWithMovingVolumes(t *testing.T) {
	b := newBench(t, 80, 24)
	j := ended("left-behind", veleroapi.BackupPhaseFailed, 3, time.Minute, 10*time.Minute, 1, 0)
	j.Volumes = []job.Volume{{Kind: velero.DataUpload, Name: "du-1", Phase: "InProgress"}}
	if why := b.changeUnavailable(b.currentCluster, j); why != "" {
		t.Errorf("volumes that go on cannot be looked at: %s", why)
	}
	show(b.Model, snapshotOf(j))
	press(t, b.Model, "3", "m", "f")
	if findScreen[*dialogScreen](b.Model) == nil {
		t.Errorf("marked, it cannot be looked at:\n%s", b.frame())
	}
}

// Once the job has ended as wanted, the dialog can be left. What becomes of it is told on whichever screen is open,
// and that nobody watched to the end is not called unfinished.
func TestDialogLeftWhileTheResultIsWatched(t *testing.T) {
	for _, c := range []struct {
		how  action.Outcome
		says string
	}{
		{action.Outcome{State: action.StateSettled, Sent: action.Landed, Phase: "PartiallyFailed"}, "restore/crm-old: it stays PartiallyFailed; nobody has reverted it."},
		{action.Outcome{State: action.StateReverted, Sent: action.Landed, Phase: "InProgress", Message: "somebody wrote InProgress over it"}, "restore/crm-old: reverted: somebody wrote InProgress over it."},
		{action.Outcome{State: action.StateUnfinished, Sent: action.Landed, Phase: "Completed", Message: "observe: you stopped it"}, "restore/crm-old: the patch was applied, and it was Completed when veltui stopped watching."},
	} {
		b := newBench(t, 80, 24)
		b.retrying()
		b.tells(0, action.Progress{Step: action.StepObserve})
		b.tells(0, action.Progress{Step: action.StepObserve, Phase: "FinalizingPartiallyFailed"})
		b.sees("so far: ")
		if frame := b.frame(); strings.Contains(frame, "watch on") {
			t.Errorf("it has not ended:\n%s", frame)
		}
		b.tells(time.Second, action.Progress{Step: action.StepObserve, Phase: "Completed"})
		b.sees("close, and watch on")
		b.shows("Completed after 1s. You can close this: veltui watches on and tells you if somebody reverts it.")
		b.keys("esc")
		if findScreen[*dialogScreen](b.Model) != nil || len(b.exitLines) != 0 {
			t.Fatalf("dialog %v, said %q", findScreen[*dialogScreen](b.Model), b.exitLines)
		}
		b.keys("2")
		b.fake.script <- c.how
		b.sees("restore/crm-old")
		b.until("it is told", func() bool { return b.notice != "" })
		if said := b.exitMessages(); b.notice != c.says || len(said) != 1 ||
			strings.Contains(strings.ToLower(said[0]), "unfinished") {
			t.Errorf("told is %q, want %q; said in the end %q", b.notice, c.says, said)
		}
	}
}

// X on the Volumes page is about the selected volume alone.
func TestCancelVolume(t *testing.T) {
	b := newBench(t, 120, 40)
	b.keys("down", "enter", "v")
	for name, want := range map[string]string{
		"db-restore-1": "Db-restore-1 is InProgress and last changed 6s ago: nothing proves that it alone has stalled.",
		"db-restore-2": "Db-restore-2 has ended: it is Completed.",
	} {
		b.keys("home")
		for range 9 {
			if v := b.findJobScreen().SelectedVolume(); v == nil || v.Name != name {
				b.keys("down")
			}
		}
		if footer := b.frame()[strings.LastIndex(b.frame(), "\n"):]; strings.Contains(
			footer,
			"X cancel",
		) == b.findJobScreen().
			SelectedVolume().
			HasEnded() {
			t.Errorf("%s: the footer says %s", name, footer)
		}
		b.keys("X")
		b.reaches(dialog.StageChoosing)
		b.shows(
			"Cancel a volume of restore velero/db-restore",
			want,
			"veltui cancels what has stalled for a known cause",
		)
		b.keys("esc")
	}
	b.keys("1", "X")
	if d := findScreen[*dialogScreen](b.Model); d == nil || d.CancelsVolume() {
		t.Error("X cancels a volume on another page, or does not delete the job there")
	}
	b = newBench(t, 120, 40, func(o *Options) { o.ReadOnly = true })
	b.keys("down", "enter", "v", "down", "X")
	b.shows("X: read-only: nothing may be changed")
}
