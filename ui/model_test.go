package ui

import (
	"context"
	"errors"
	"image/color"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/ui/terminal"
	"github.com/veltui/veltui/watch"
)

// show brings a snapshot; showAt judges it for another moment than noon.
func show(m *Model, snap *watch.Snapshot) { showAt(m, snap, noon) }

func showAt(m *Model, snap *watch.Snapshot, at time.Time) {
	m.Update(snapshotAssessedMsg{m.currentCluster, m.currentCluster.estimates.AssessSnapshot(snap, at)})
}

func selectedName(t *testing.T, m *Model) string {
	t.Helper()
	j := m.dashboard.selectedJob()
	if j == nil {
		t.Fatal("no job is selected")
	}
	return j.Name
}

func TestSelectionStaysOnItsRowWhenRowsComeAndGo(t *testing.T) {
	m := screen(t, manyJobs(100), 80, 24)
	press(t, m, "3", "down", "down", "down", "down", "down", "down")
	want := selectedName(t, m)
	line := lineOf(t, m, want)

	snap := manyJobs(100)
	newer := ended("brand-new", veleroapi.BackupPhaseCompleted, 1, time.Second, time.Second, 0, 0)
	snap.Jobs = append([]*job.Job{newer}, snap.Jobs...)
	show(m, snap)
	if got := selectedName(t, m); got != want {
		t.Fatalf("a new row moved the selection from %s to %s", want, got)
	}
	if got := lineOf(t, m, want); got != line && got != line+1 {
		t.Errorf("the selected row went from line %d to %d", line, got)
	}

	show(m, snapshotOf(newer))
	if got := selectedName(t, m); got != "brand-new" {
		t.Errorf("the selected row is gone; %s is selected, want its neighbour brand-new", got)
	}
	show(m, snapshotOf())
	if m.dashboard.selectedJob() != nil {
		t.Error("an empty table has a selection")
	}
	show(m, snap)
	press(t, m, "down")
	if m.dashboard.selectedJob() == nil {
		t.Error("no row can be selected after the table was empty")
	}
}

func lineOf(t *testing.T, m *Model, text string) int {
	t.Helper()
	for i, line := range strings.Split(ansi.Strip(checkFrame(t, m)), "\n") {
		if strings.Contains(line, text) && strings.Contains(line, draw.UnicodeGlyphs.Cursor) {
			return i
		}
	}
	t.Fatalf("%s is not on the screen:\n%s", text, m.View().Content)
	return 0
}

func TestFilterKeepsWhatMatchesAndSwallowsKeys(t *testing.T) {
	m := screen(t, stageful(), 80, 24)
	if cmd := press(t, m, "/", "q"); cmd != nil {
		if _, quits := cmd().(tea.QuitMsg); quits {
			t.Fatal("q quits while a filter is typed")
		}
	}
	press(t, m, "backspace", "!", "c", "r", "m", "enter")
	frame := ansi.Strip(checkFrame(t, m))
	if strings.Contains(frame, "crm-old") || !strings.Contains(frame, "shop-restore-2") {
		t.Errorf("the filter !crm shows:\n%s", frame)
	}
	press(t, m, "esc")
	if frame := ansi.Strip(m.View().Content); !strings.Contains(frame, "crm-old") {
		t.Errorf("esc does not clear the filter:\n%s", frame)
	}
	press(t, m, "/", "n", "o", "n", "e", "enter")
	if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, "Nothing matches /none") {
		t.Errorf("a filter that hides all does not say so:\n%s", frame)
	}
}

func TestSortGoesThroughItsOrdersAndBack(t *testing.T) {
	m := screen(t, stageful(), 80, 24)
	press(t, m, "3")
	var firsts []string
	for range len(sortOrders) + 1 {
		firsts = append(firsts, m.dashboard.backupsTab.rows[0].item.(*job.Job).Name)
		press(t, m, "s")
	}
	if firsts[0] != firsts[len(sortOrders)] {
		t.Errorf("after all orders the first row is %s, not %s again", firsts[len(sortOrders)], firsts[0])
	}
	if firsts[1] != "hourly-db-0900" {
		t.Errorf("by name the first backup is %s", firsts[1])
	}
}

// Half pages are the same everywhere, and lead back.
func TestHalfPages(t *testing.T) {
	m := screen(t, manyJobs(100), 80, 24)
	press(t, m, "3")
	first := selectedName(t, m)
	checkFrame(t, m)
	half := m.dashboard.openTab.height / 2
	press(t, m, "ctrl+d")
	if at := m.dashboard.openTab.cursor; at != half || half < 5 {
		t.Errorf("in a list of %d lines ctrl+d leads to row %d", 2*half, at)
	}
	press(t, m, "ctrl+u")
	if got := selectedName(t, m); got != first {
		t.Errorf("ctrl+u leads to %s", got)
	}
	b := newBench(t, 80, 12)
	b.open()
	b.listen()
	for name, m := range map[string]*Model{"page": screen(t, stageful(), 80, 12), "help": screen(t, stageful(), 80, 12), "dialog": b.Model} {
		press(t, m, map[string][]string{"page": {"enter", "YAML"}, "help": {"?"}}[name]...)
		top := checkFrame(t, m)
		press(t, m, "ctrl+d")
		down := checkFrame(t, m)
		press(t, m, "ctrl+d")
		further := checkFrame(t, m)
		press(t, m, "ctrl+u", "ctrl+u", "ctrl+u")
		if top == down || down == further && name != "help" || checkFrame(t, m) != top {
			t.Errorf("%s: half pages do not lead down and back:\n%s", name, ansi.Strip(down))
		}
	}
}

func TestEscOnlyGoesBack(t *testing.T) {
	m := screen(t, stageful(), 80, 24)
	press(t, m, "enter", "?")
	for _, want := range []string{"job", "dashboard", "dashboard"} {
		if cmd := press(t, m, "esc"); cmd != nil {
			t.Fatalf("esc gave a command: %T", cmd())
		}
		if got := onTop(m); got != want {
			t.Fatalf("esc leads to %s, want %s", got, want)
		}
	}
}

// Pieces of escape sequences that a slow line tears apart must do nothing
// that cannot be undone. R opens a form, which changes nothing and which esc
// closes.
func TestBareFragmentsOfEscapeSequencesOnlyMoveAbout(t *testing.T) {
	screens := everyScreen(t)
	for _, k := range strings.Split("A B C D F H M O P Q R S [ ; ~ 0 1 2 3 4 5 6 7 8 9", " ") {
		for name, screen := range screens {
			if b := keys.FindByKey(screen.activeBindings(), k); b != nil && b.Group != keys.GroupMove && k != "R" {
				t.Errorf("%q means %s on screen %s", k, b.CurrentDescription(), name)
			}
		}
	}
}

// Over a slow line esc and the key after it arrive as one key with alt.
func TestEscAndAKeyInOnePacketAreBoth(t *testing.T) {
	m := screen(t, stageful(), 80, 24)
	press(t, m, "enter")
	m.Update(tea.KeyPressMsg{Code: '3', Mod: tea.ModAlt})
	if onTop(m) != "dashboard" || m.dashboard.openTab != m.dashboard.backupsTab {
		t.Errorf("esc 3 leads to screen %s, tab %v", onTop(m), m.dashboard.openTab.name)
	}
}

// Whoever may not look is not told that nothing runs.
func TestNoRightsAreNotCalm(t *testing.T) {
	snap := snapshotOf()
	snap.Sources = []watch.Source{
		{Resource: watch.Backups, State: watch.SourceForbidden},
		{Resource: watch.Restores, State: watch.SourceForbidden},
	}
	snap.NamespaceNotice = "this is a guess: velero"
	frame := ansi.Strip(checkFrame(t, screen(t, snap, 80, 24)))
	if strings.Contains(frame, "idle") || strings.Contains(frame, "Nothing is running") ||
		!strings.Contains(frame, "You may not list") {
		t.Errorf("without rights the dashboard shows:\n%s", frame)
	}
}

// A backup that failed validation has no time of its own, and has ended.
func TestWhatFailedValidationIsAmongTheEnded(t *testing.T) {
	snap := snapshotOf(
		backupJob(
			"wrong",
			time.Minute,
			veleroapi.BackupStatus{
				Phase:            veleroapi.BackupPhaseFailedValidation,
				ValidationErrors: []string{"no such location"},
			},
			time.Minute,
		),
		backupJob(
			"wrong-last-week",
			150*time.Hour,
			veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseFailed, StartTimestamp: ptr(ago(150 * time.Hour))},
			150*time.Hour,
		),
	)
	frame := ansi.Strip(checkFrame(t, screen(t, snap, 80, 24)))
	if !strings.Contains(frame, "wrong ") || strings.Contains(frame, "wrong-last-week") {
		t.Errorf("the active tab shows:\n%s", frame)
	}
}

// While nothing can be heard, what was in trouble is still counted so.
func TestStaleDataKeepsItsAlarms(t *testing.T) {
	snap := stageful()
	snap.Health = watch.Health{State: watch.Stale, Since: noon.Add(-10 * time.Second), Err: "connection refused"}
	if frame := ansi.Strip(checkFrame(t, screen(t, snap, 120, 24))); !strings.Contains(frame, "1 stuck") {
		t.Errorf("the stale dashboard shows:\n%s", frame)
	}
}

func TestOpenJobThatIsDeletedStaysOnTheScreen(t *testing.T) {
	m := screen(t, stageful(), 80, 24)
	press(t, m, "enter")
	show(m, snapshotOf())
	frame := ansi.Strip(checkFrame(t, m))
	if !strings.Contains(frame, "deleted from the cluster") || !strings.Contains(frame, "crm-old") {
		t.Errorf("the screen of a deleted job shows:\n%s", frame)
	}
}

func TestStaleDataIsDated(t *testing.T) {
	snap := stageful()
	snap.Health = watch.Health{State: watch.Stale, Since: noon.Add(-37 * time.Second), Err: "connection refused"}
	for _, width := range []int{40, 80, 120} {
		m := screen(t, snap, width, 24)
		if frame := ansi.Strip(
			checkFrame(t, m),
		); !strings.Contains(frame, "stale 37s") ||
			!strings.Contains(frame, "crm-old") {
			t.Errorf("at width %d stale data is not shown with its age:\n%s", width, frame)
		}
	}
}

func TestNothingTicksWhenNothingMoves(t *testing.T) {
	m := screen(t, snapshotOf(ended("b", veleroapi.BackupPhaseCompleted, 1, time.Second, time.Minute, 0, 0)), 80, 24)
	if m.tickPace != idleTickPace {
		t.Errorf("the clock runs every %s though no job does", m.tickPace)
	}
	before := m.View().Content
	m.Update(tea.FocusMsg{})
	if m.isFrameStale {
		t.Error("a message that changes nothing makes the frame be drawn again")
	}
	if m.View().Content != before {
		t.Error("the frame changed though nothing did")
	}
	m.Update(tickMsg{m.tickNumber})
	if m.isFrameStale || m.tickPace != idleTickPace {
		t.Errorf("what was judged just now is judged again, or never: %s", m.tickPace)
	}
	slow := m.tickNumber
	show(m, stageful()) // the minute is not over
	if m.tickPace != time.Second {
		t.Errorf("the clock runs every %s though jobs do", m.tickPace)
	}
	m.View()
	if _, cmd := m.Update(tickMsg{slow}); cmd != nil || m.isFrameStale {
		t.Error("two clocks run")
	}
}

// Between two percents the row of a running job changes in its count only: at
// 80x24 each cell more that moves without telling anything costs bytes a second.
func TestRunningRowChangesOnlyWhereItTells(t *testing.T) {
	at := func(done int, present time.Time) string {
		r := running("moving", "b", done, 20_000, 50)
		m := screen(t, snapshotOf(r), 80, 24, func(o *Options) { o.Clock = func() time.Time { return present } })
		showAt(m, snapshotOf(r), present)
		frame := strings.Split(ansi.Strip(m.View().Content), "\n")
		return frame[lineOf(t, m, "moving")]
	}
	before, after := []rune(at(4_010, noon)), []rune(at(4_060, noon.Add(time.Second)))
	titles := strings.Split(ansi.Strip(screen(t, stageful(), 80, 24).View().Content), "\n")
	done := strings.Index(titles[3], "DONE")
	if len(before) != len(after) || done < 0 {
		t.Fatalf("%q\n%q", string(before), string(after))
	}
	for i := range before {
		if before[i] != after[i] && (i < done-7 || i >= done+len("DONE")) {
			t.Errorf("cell %d changes:\n%s\n%s", i, string(before), string(after))
		}
	}
	if string(before) == string(after) {
		t.Error("the count does not move")
	}
}

func TestLateDigestDoesNotReplaceANewerSnapshot(t *testing.T) {
	old := stageful()
	m := screen(t, old, 80, 24)
	late := m.currentCluster.assessment
	newer := snapshotOf()
	show(m, newer)
	m.Update(reassessedMsg{m.currentCluster, late})
	if m.currentCluster.assessment.Source != newer {
		t.Error("a digest of an old snapshot replaced the newer one")
	}
}

func TestRetryReachesTheSource(t *testing.T) {
	m := screen(t, stageful(), 80, 24)
	cmd := press(t, m, "r")
	if cmd == nil {
		t.Fatal("r does nothing")
	}
	cmd()
	select {
	case <-m.currentCluster.Backend.(*fakeCluster).source.(*scripted).retries:
	default:
		t.Error("the source was not asked to retry")
	}
}

func TestProgramEndsForTheRightReason(t *testing.T) {
	m := screen(t, stageful(), 80, 24)
	press(t, m, "ctrl+c")
	if !errors.Is(m.exitErr, ErrInterrupted) {
		t.Errorf("ctrl+c: %v", m.exitErr)
	}
	m = screen(t, nil, 80, 24)
	m.Update(watchEndedMsg{m.currentCluster, errors.New("gone")})
	if m.exitErr == nil || !strings.Contains(m.exitErr.Error(), "gone") {
		t.Errorf("the watch ended: %v", m.exitErr)
	}
	m = screen(t, nil, 80, 24)
	m.Update(watchEndedMsg{m.currentCluster, context.Canceled})
	if m.exitErr != nil {
		t.Errorf("a cancelled watch: %v", m.exitErr)
	}
	msg := recoverPanic(func() tea.Msg { panic("ouch") })()
	m.Update(msg)
	if m.exitErr == nil || !strings.Contains(m.exitErr.Error(), "ouch") {
		t.Errorf("a panicking command: %v", m.exitErr)
	}
}

func TestTerminalShowsTheSelectedJob(t *testing.T) {
	m := screen(t, stageful(), 80, 24)
	v := m.View()
	if v.WindowTitle != "veltui 1 stuck, 1 needs attention, 3 running, 1 queued: crm-old 99%" {
		t.Errorf("window title %q", v.WindowTitle)
	}
	if v.ProgressBar == nil || v.ProgressBar.State != tea.ProgressBarError || v.ProgressBar.Value != 99 {
		t.Errorf("terminal progress %+v", v.ProgressBar)
	}
	show(m, snapshotOf())
	if v := m.View(); v.ProgressBar != nil {
		t.Errorf("terminal progress %+v though nothing runs", v.ProgressBar)
	}
}

func TestEmptyTablesSayWhy(t *testing.T) {
	forbidden := snapshotOf()
	forbidden.Sources = []watch.Source{{Resource: "backups.velero.io", State: watch.SourceForbidden}}
	missing := snapshotOf()
	missing.Sources = []watch.Source{{Resource: "backups.velero.io", State: watch.SourceMissing}}
	connecting := snapshotOf()
	connecting.Health = watch.Health{State: watch.Connecting, Err: "no such host"}
	reading := snapshotOf()
	reading.Health = watch.Health{State: watch.Connecting}
	reading.Sources = []watch.Source{
		{Resource: watch.Backups, State: watch.SourceSyncing, ObjectsRead: 500, ObjectsTotal: 10000, Since: reading.At},
	}
	for _, c := range []struct {
		snap *watch.Snapshot
		keys string
		want string
	}{
		{nil, "1", "Connecting to the cluster"},
		{reading, "1", "Connecting to the cluster: reading Backups, 500 of 10000"},
		{connecting, "1", "no such host"},
		{forbidden, "3", "You may not list backups.velero.io"},
		{missing, "1", "Velero's CRDs are not installed"},
		{snapshotOf(), "1", "Nothing is running"},
		{snapshotOf(), "2", "There are no restores in namespace velero"},
	} {
		m := screen(t, c.snap, 80, 24)
		press(t, m, c.keys)
		if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, c.want) {
			t.Errorf("want %q in:\n%s", c.want, frame)
		}
	}
}

// Every size, screen and key leaves a frame that fits, and no panic.
func TestAnyKeyOnAnySizeFits(t *testing.T) {
	names := strings.Split(
		"up down pgup pgdown home end tab enter esc / ? s r g G j k h l 1 2 3 4 5 6 x backspace ctrl+l",
		" ",
	)
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		width, height := 1+random.IntN(200), 1+random.IntN(60)
		snaps := []*watch.Snapshot{stageful(), manyJobs(random.IntN(80)), snapshotOf()}
		m := screen(t, snaps[random.IntN(3)], width, height)
		var pressed []string
		for range 40 {
			k := names[random.IntN(len(names))]
			pressed = append(pressed, k)
			press(t, m, k)
			if random.IntN(10) == 0 {
				show(m, snaps[random.IntN(3)])
			}
			if random.IntN(10) == 0 {
				m.Update(tea.WindowSizeMsg{Width: 1 + random.IntN(200), Height: 1 + random.IntN(60)})
			}
			checkFrame(t, m)
			if t.Failed() {
				t.Fatalf("at %dx%d after %v", m.width, m.height, pressed)
			}
		}
	}
}

// docs/keys.md names every key that help names, as help names it.
func TestKeysPageNamesEveryKey(t *testing.T) {
	page, err := os.ReadFile("../docs/keys.md")
	if err != nil {
		t.Fatal(err)
	}
	named := []string{"ctrl+c", "1..8"} // above the tables; a job has eight pages
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			named = append(named, strings.Fields(strings.ReplaceAll(cells[1], "`", " "))...)
		}
	}
	for name, m := range everyScreen(t) {
		for _, b := range m.activeBindings() {
			if b.Label == "" || b.CurrentDescription() == "" {
				t.Errorf("a binding without help on screen %s: %q", name, b.Keys)
			}
			for _, label := range strings.Fields(b.Label) {
				if !slices.Contains(named, label) {
					t.Errorf("%s (%s, on screen %s) is not in docs/keys.md", label, b.CurrentDescription(), name)
				}
			}
		}
	}
}

// everyScreen is a model on each screen, in each stage of the dialog.
func everyScreen(t *testing.T) map[string]*Model {
	t.Helper()
	all := map[string]*Model{}
	for name, pressed := range map[string][]string{"dashboard": nil, "schedules": {"4"}, "schedule": {"4", "enter"}, "job": {"enter"}, "help": {"?"}, "form": {"R"}, "form command": {"R", "up", "up", "up", "up", "up"}} {
		m := screen(t, stageful(), 80, 24)
		press(t, m, pressed...)
		all[name] = m
	}
	all["log"] = screen(t, stageful(), 80, 24, audited(t))
	openLogScreen(t, all["log"])
	for _, frame := range dialogFrames {
		if !slices.Contains(
			[]string{"looking", "unseen", "plan", "refused", "typing", "retrying", "changed", "summary"},
			frame.name,
		) {
			continue
		}
		b := newBench(t, 80, 24)
		frame.show(t, b)
		all["dialog "+frame.name] = b.Model
	}
	return all
}

// onTop names the screen that keys go to.
func onTop(m *Model) string {
	switch m.topScreen().(type) {
	case *helpScreen:
		return "help"
	case *dialogScreen:
		return "dialog"
	case *restoreFormScreen:
		return "form"
	case *jobScreen:
		return "job"
	case *resourceScreen:
		return "other"
	case *auditScreen:
		return "log"
	}
	return "dashboard"
}

func TestUnknownThemeIsAnError(t *testing.T) {
	if _, err := newModel(
		context.Background(),
		Options{Clusters: []Cluster{{}}, Theme: "nope", Clock: time.Now},
	); err == nil ||
		!strings.Contains(err.Error(), "dark") {
		t.Errorf("an unknown theme: %v", err)
	}
}

// The terminal's answer decides between a theme's two forms, Solarized's grounds
// included, and few colours ask for the basic one.
func TestBackgroundAndColorsChooseTheTheme(t *testing.T) {
	black, white := ansi.RGBColor{}, ansi.RGBColor{R: 255, G: 255, B: 255}
	base03, base3 := ansi.RGBColor{G: 0x2b, B: 0x36}, ansi.RGBColor{R: 0xfd, G: 0xf6, B: 0xe3}
	for _, c := range []struct {
		theme  string
		ground color.Color
		colors colorprofile.Profile
		want   string
	}{
		{"auto", black, colorprofile.TrueColor, "dark"}, {"auto", base03, colorprofile.ANSI256, "dark"},
		{"auto", white, colorprofile.ANSI256, "light"}, {"", base3, colorprofile.ANSI256, "light"},
		{"dark", base3, colorprofile.ANSI256, "dark"}, {"contrast", base3, colorprofile.ANSI256, "contrast-light"},
		{"colorblind", base03, colorprofile.ANSI, "colorblind-dark"}, {"auto", base3, colorprofile.ANSI, "light"},
	} {
		m := screen(t, stageful(), 80, 24, func(o *Options) { o.Theme = c.theme })
		m.Update(tea.ColorProfileMsg{Profile: c.colors})
		m.Update(tea.BackgroundColorMsg{Color: c.ground})
		want, err := draw.LoadTheme(c.want)
		if err != nil {
			t.Fatal(err)
		}
		if c.colors <= colorprofile.ANSI {
			want = want.ForSixteenColors()
		}
		if m.theme.Bad.Render("x")+m.theme.Good.Render("x") != want.Bad.Render("x")+want.Good.Render("x") {
			t.Errorf("--theme %q on %v with %s is not %s", c.theme, c.ground, c.colors, c.want)
		}
	}
}

// On a slow line a frame is drawn for what several messages changed, the last of
// which may have changed nothing.
func TestWhatWasNotDrawnIsDrawnLater(t *testing.T) {
	m := screen(t, stageful(), 80, 24)
	before := m.View().Content
	press(t, m, "2")
	for _, msg := range []tea.Msg{struct{}{}, tickMsg{tickNumber: -1}} {
		m.Update(msg)
		if !m.isFrameStale {
			t.Errorf("%T takes the frame of what was before it", msg)
		}
	}
	if m.View().Content == before {
		t.Error("the pressed key is never drawn")
	}
}

// calledWith are the notifications among what commands bring.
func calledWith(cmd tea.Cmd) (texts []string) {
	if cmd == nil {
		return nil
	}
	done := make(chan tea.Msg, 1)
	go func() { done <- cmd() }()
	select {
	case msg := <-done:
		if batch, ok := msg.(tea.BatchMsg); ok {
			for _, c := range batch {
				texts = append(texts, calledWith(c)...)
			}
		}
		if n, ok := msg.(terminal.NotifyMsg); ok {
			texts = append(texts, n.Text)
		}
	case <-time.After(50 * time.Millisecond): // it waits for a snapshot or for the clock
	}
	return texts
}

func TestJobsThatEndCallAPerson(t *testing.T) {
	for _, how := range []terminal.NotificationMethod{"", terminal.NoNotification, terminal.Bell} {
		m := screen(t, nil, 80, 24, func(o *Options) { o.Terminal.Notify = how })
		bring := func(snap *watch.Snapshot) []string {
			_, cmd := m.Update(snapshotAssessedMsg{m.currentCluster, m.currentCluster.estimates.AssessSnapshot(snap, noon)})
			return calledWith(cmd)
		}
		if got := bring(stageful()); len(got) != 0 {
			t.Errorf("%s: at the start: %q", how, got)
		}
		later := stageful()
		for i, j := range later.Jobs {
			if j.Name == "nightly-crm" {
				later.Jobs[i] = ended("nightly-crm", veleroapi.BackupPhaseFailed, 310, time.Minute, 0, 1, 0)
			}
		}
		later.Active = slices.DeleteFunc(later.Active, func(j *job.Job) bool { return j.Name == "nightly-crm" })
		got := bring(later)
		if want := how == terminal.Bell; len(got) != 0 && !want ||
			want && (len(got) != 1 || !strings.HasPrefix(got[0], "backup nightly-crm: ")) {
			t.Errorf("%s: after the end: %q", how, got)
		}
	}
}
