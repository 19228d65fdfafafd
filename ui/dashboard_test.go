package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/ui/jobview"
	"github.com/veltui/veltui/ui/keys"
	"github.com/veltui/veltui/watch"
)

// orphans is a snapshot with a job that its server's restart has orphaned, one
// that is stuck, one that moves, and one that ended a while ago.
func orphans() *watch.Snapshot {
	snap := stageful()
	snap.Server.StartedAt = noon.Add(-3 * time.Minute)
	return snap
}

// What a person reads on the screen can be looked for: each state, in the word
// of its row, and all that the header counts as stuck.
func TestFilterFindsWhatTheScreenSays(t *testing.T) {
	for _, snap := range []*watch.Snapshot{stageful(), orphans()} {
		m := screen(t, snap, 120, 40)
		for _, j := range snap.Active {
			judged := m.currentCluster.assessment.AssessJob(j)
			filterBy(m, string(judged.State))
			if !strings.Contains(ansi.Strip(checkFrame(t, m)), j.Name) {
				t.Errorf("/%s does not find %s, which is %s", judged.State, j.Name, judged.State)
			}
		}
		filterBy(m, "stuck")
		if n := m.dashboard.countShownRows(); n != m.currentCluster.assessment.Troubled || n == 0 {
			t.Errorf("/stuck finds %d, the header counts %d", n, m.currentCluster.assessment.Troubled)
		}
	}
}

func filterBy(m *Model, text string) {
	m.dashboard.setFilter(text)
	m.isFrameStale = true
}

// What is left out because it ended long ago is counted below the list that lacks it.
func TestListsSayHowManyOlderJobsAreNotShown(t *testing.T) {
	snap := stageful()
	snap.AgedOutBackups, snap.AgedOutRestores = 4210, 3
	m := screen(t, snap, 80, 24)
	d := m.dashboard
	for _, shown := range []struct {
		tab  *dashboardTab
		want string
	}{{d.backupsTab, " 4210 older not shown "}, {d.restoresTab, " 3 older not shown "}} {
		d.showTab(shown.tab)
		m.isFrameStale = true
		if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, shown.want) {
			t.Errorf("%s:\n%s", shown.tab.name, frame)
		}
	}
	snap = snapshotOf()
	snap.AgedOutBackups = 4210
	m = screen(t, snap, 80, 24)
	m.dashboard.showTab(m.dashboard.backupsTab)
	m.isFrameStale = true
	if frame := ansi.Strip(checkFrame(t, m)); !strings.Contains(frame, "4,210 jobs ended too long ago to be shown") {
		t.Error(frame)
	}
	m.dashboard.showTab(m.dashboard.activeTab)
	m.isFrameStale = true
	if frame := strings.Join(
		strings.Fields(ansi.Strip(checkFrame(t, m))),
		" ",
	); !strings.Contains(
		frame,
		"no shown job ended",
	) {
		t.Error(frame) // one that is left out may have ended in the last hour
	}
}

// A filter counts every row that it could show, ended ones too, and its count is
// seen however long it is.
func TestFilterCounts(t *testing.T) {
	for _, width := range []int{80, 120} {
		m := screen(t, stageful(), width, 24)
		filterBy(m, "hourly")
		if line := frameLine(t, m, 1); !strings.Contains(line, "/hourly  2 of 7") {
			t.Errorf("at %d: %q", width, line)
		}
		filterBy(m, "no-backup-of-this-name-was-ever-made-in-this-cluster-before")
		if line := frameLine(
			t,
			m,
			1,
		); !strings.Contains(line, "  0 of 7") || !strings.Contains(line, " 2 ") ||
			!strings.Contains(line, "/no-") {
			t.Errorf("at %d: %q", width, line)
		}
	}
}

// At 80 columns a filter takes the names of no tab, with signs of what needs attention on most.
func TestTabsKeepNamesBesideAFilter(t *testing.T) {
	snap := installation()
	snap.Etcd = openShift(nil).Etcd
	m := screen(t, snap, 80, 24)
	for n := range m.dashboard.shownTabs() {
		press(t, m, fmt.Sprint(n+1))
		for text, shown := range map[string]string{"crm": "/crm", "weekly-nas": "/weekl"} {
			filterBy(m, text)
			line := frameLine(t, m, 1)
			for i, name := range []string{"Act", "Res", "Bac", "Sch", "Sto", "Cov", "Etc", "Del"} {
				if !strings.Contains(line, fmt.Sprintf("%d %s", i+1, name)) {
					t.Errorf("tab %d is not named beside %s: %q", i+1, text, line)
				}
			}
			if !strings.Contains(line, shown) ||
				!strings.Contains(line, fmt.Sprintf(" of %d ", m.dashboard.openTab.rowCount)) {
				t.Errorf("no filter with its count: %q", line)
			}
		}
	}
}

// A filter belongs to its tab: the others show all, and it is there on the return.
func TestFilterBelongsToItsTab(t *testing.T) {
	m := screen(t, stageful(), 120, 40)
	press(t, m, "3", "/", "h", "o", "u", "r", "l", "y", "enter", "1")
	if frame := ansi.Strip(
		checkFrame(t, m),
	); !strings.Contains(frame, "crm-old") ||
		strings.Contains(frame, "/hourly") {
		t.Errorf("the filter of Backups is on Active:\n%s", frame)
	}
	press(t, m, "3")
	if frame := ansi.Strip(
		checkFrame(t, m),
	); strings.Contains(frame, "nightly-crm") ||
		!strings.Contains(frame, "/hourly  2 of 4") {
		t.Errorf("Backups has lost its filter:\n%s", frame)
	}
	press(t, m, "4")
	filterBy(m, "no-such-schedule")
	if frame := ansi.Strip(
		checkFrame(t, m),
	); !strings.Contains(
		frame,
		"Nothing matches /no-such-schedule, which hides 1 row. esc clears the filter.",
	) {
		t.Errorf("the empty tab does not name its filter:\n%s", frame)
	}
}

func frameLine(t *testing.T, m *Model, n int) string {
	t.Helper()
	return strings.Split(ansi.Strip(checkFrame(t, m)), "\n")[n]
}

// However the kinds arrive, the first row is selected once all are there.
func TestStartsOnTheFirstRow(t *testing.T) {
	full := stageful()
	half := *full
	half.Jobs, half.Active = nil, nil
	for _, j := range full.Jobs {
		if j.Kind == job.Backup {
			half.Jobs = append(half.Jobs, j)
			if !j.IsTerminal() {
				half.Active = append(half.Active, j)
			}
		}
	}
	half.Sources = []watch.Source{
		{Resource: watch.Backups, State: watch.SourceLive},
		{Resource: watch.Restores, State: watch.SourceSyncing},
	}
	m := screen(t, &half, 80, 24)
	show(m, full)
	if got := selectedName(t, m); got != "crm-old" {
		t.Errorf("%s is selected", got)
	}
	// What somebody has moved stays, even before all is there.
	m = screen(t, &half, 80, 24)
	press(t, m, "down")
	want := selectedName(t, m)
	show(m, full)
	if got := selectedName(t, m); got != want {
		t.Errorf("%s is selected, %s was", got, want)
	}
}

// While the API server is away nothing jumps about: the same rows in the same
// order are marked as the header counts.
func TestStaleDataStaysAsItWas(t *testing.T) {
	live := screen(t, orphans(), 120, 40)
	away := orphans()
	away.Health = watch.Health{State: watch.Stale, Since: noon, Err: "connection refused"}
	stale := screen(t, away, 120, 40)
	marks := func(m *Model) (names []string, troubled int) {
		checkFrame(t, m)
		for _, r := range m.dashboard.openTab.rows {
			if j, ok := r.item.(*job.Job); ok {
				names = append(names, j.Name)
				if m.currentCluster.assessment.AssessJob(j).IsTroubled() {
					troubled++
				}
			}
		}
		return names, troubled
	}
	before, troubled := marks(live)
	after, still := marks(stale)
	if strings.Join(before, " ") != strings.Join(after, " ") {
		t.Errorf("rows were %v, are %v", before, after)
	}
	if troubled == 0 || still != troubled || stale.currentCluster.assessment.Troubled != troubled {
		t.Errorf("%d were marked, %d are, the header counts %d", troubled, still, stale.currentCluster.assessment.Troubled)
	}
	if frame := ansi.Strip(checkFrame(t, stale)); strings.Contains(frame, " 16s") {
		t.Errorf("an ETA stands still on the screen:\n%s", frame)
	}
}

// No key is named that does nothing.
func TestNoDeadKeys(t *testing.T) {
	for _, tab := range []string{"4", "5"} {
		m := screen(t, stageful(), 80, 24)
		press(t, m, tab)
		order := m.dashboard.sortOrderIndex
		for _, key := range []string{"s", "m"} {
			if b := keys.FindByKey(m.activeBindings(), key); b != nil && b.UnavailableReason() == "" {
				t.Errorf("tab %s: %s means %s", tab, key, b.CurrentDescription())
			}
			press(t, m, key)
		}
		if m.findJobScreen() != nil || m.dashboard.sortOrderIndex != order {
			t.Errorf("tab %s: something happened", tab)
		}
	}
}

// The footer names no key that does nothing: none of what help is over, and
// nothing that needs a row where there is none.
func TestFooterNamesOnlyWhatActs(t *testing.T) {
	m := screen(t, stageful(), 80, 24)
	footer := func() string { return frameLine(t, m, 23) }
	press(t, m, "?")
	if got := footer(); strings.Contains(got, "quit") || !strings.Contains(got, "esc back") {
		t.Errorf("in help: %q", got)
	}
	press(t, m, "esc")
	filterBy(m, "no-such-job")
	if got := footer(); strings.Contains(got, "open") {
		t.Errorf("without a row: %q", got)
	}
}

// A wide terminal shows more, and cuts less.
func TestWideTables(t *testing.T) {
	long := strings.Repeat("a-long-name-", 5) + "end"
	bad := ended("bad", veleroapi.BackupPhasePartiallyFailed, 88, time.Minute, time.Minute, 12, 345)
	bad.Object.(*veleroapi.Backup).Status.Expiration = ptr(metav1.NewTime(noon.Add(29*24*time.Hour + time.Minute)))
	bad.StorageLocation = "default"
	for width, titles := range map[int][]string{120: {"AGE", "ERR", "WARN"}, 160: {"AGE", "ERR", "WARN", "EXPIRES", "LOCATION", "FROM"}} {
		frame := ansi.Strip(
			checkFrame(t, screen(t, snapshotOf(running(long, "some-backup", 3, 10, 1), bad), width, 24)),
		)
		for _, title := range titles {
			if !strings.Contains(frame, title) {
				t.Errorf("no %s at %d cells:\n%s", title, width, frame)
			}
		}
	}
	m := screen(t, snapshotOf(running(long, "some-backup", 3, 10, 1), bad), 200, 24)
	if frame := ansi.Strip(
		checkFrame(t, m),
	); !strings.Contains(frame, long) || !hasLine(frame, "bad", "12", "345", "29d", "default") ||
		strings.Contains(frame, "12 err") {
		t.Error(frame)
	}
	// What does not fit whole is left out.
	if line := frameLine(
		t,
		screen(t, snapshotOf(bad), 80, 24),
		5,
	); !strings.Contains(line, "12 err") ||
		strings.Contains(line, "345") {
		t.Error(line)
	}
}

// Advice on the screen names keys; commands of veltui's are for the shell.
func TestAdviceNamesKeys(t *testing.T) {
	for _, width := range []int{80, 200} {
		m := screen(t, orphans(), width, 24)
		for _, pressed := range []string{"down", "enter"} {
			frame := ansi.Strip(checkFrame(t, m))
			if !strings.Contains(frame, "Press f") || strings.Contains(frame, "veltui explain") ||
				strings.Contains(frame, "veltui finalize") {
				t.Errorf("at %d cells:\n%s", width, frame)
			}
			press(t, m, pressed)
		}
	}
}

// Behind help nothing is done to the screen that is not seen.
func TestHelpHidesTheKeysBehindIt(t *testing.T) {
	b := newBench(t, 80, 24)
	b.keys("?", "f", "m", "s")
	if findScreen[*dialogScreen](b.Model) != nil || len(b.dashboard.marked) > 0 || b.dashboard.sortOrderIndex != 0 || !b.isHelpOpen() {
		t.Errorf("dialog %v, marks %v, order %d", findScreen[*dialogScreen](b.Model), b.dashboard.marked, b.dashboard.sortOrderIndex)
	}
	b.keys("q")
	if b.isHelpOpen() || b.quit {
		t.Error("q in help does not lead back")
	}
}

func TestSortByStageKeepsTheQueuesOrder(t *testing.T) {
	queued := func(name string, position int) *job.Job {
		return backupJob(
			name,
			time.Minute,
			veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseQueued, QueuePosition: position},
			time.Minute,
		)
	}
	m := screen(t, snapshotOf(queued("second", 2), queued("third", 3), queued("first", 1)), 80, 24)
	press(t, m, "s", "s")
	var names []string
	for _, r := range m.dashboard.openTab.rows {
		names = append(names, r.item.(*job.Job).Name)
	}
	if got := strings.Join(names, " "); sortOrders[m.dashboard.sortOrderIndex].name != "stage" || got != "first second third" {
		t.Errorf("by %s: %s", sortOrders[m.dashboard.sortOrderIndex].name, got)
	}
	if title := frameLine(t, m, 3); !strings.Contains(title, "STAGE▴") {
		t.Errorf("titles %q", title)
	}
	for range sortOrders { // A to Z is upwards too
		if press(t, m, "s"); sortOrders[m.dashboard.sortOrderIndex].name == "name" {
			break
		}
	}
	if title := frameLine(t, m, 3); !strings.Contains(title, "NAME▴") {
		t.Errorf("titles %q", title)
	}
}

// The selected row is set off from edge to edge, and keeps the colours of its state.
func TestTheSelectedRowKeepsItsColours(t *testing.T) {
	m := screen(t, stageful(), 80, 24)
	line := strings.Split(checkFrame(t, m), "\n")[4]
	on, _, _ := strings.Cut(m.theme.Selected.Render("x"), "x")
	if !strings.HasPrefix(line, on) || ansi.StringWidth(line) != 80 {
		t.Errorf("the selected row is %q", line)
	}
	for _, part := range []string{m.theme.Bad.Render("!"), m.theme.Bad.Render("Items quiet 42m "), m.theme.BarFull.Render("████████▉")} {
		if !strings.Contains(line, part) {
			t.Errorf("no %q in %q", part, line)
		}
	}
}

// What is said about the selected row is never cut where there is room for it.
func TestTheLineAboutTheSelectedRowIsWhole(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		m := screen(t, stageful(), size[0], size[1])
		judged := m.currentCluster.assessment.AssessJob(m.dashboard.selectedJob())
		flat := strings.Join(strings.Fields(ansi.Strip(checkFrame(t, m))), " ")
		if want := judged.Verdict.Summary() + ". " + judged.Verdict.Advice; !strings.Contains(flat, want) {
			t.Errorf("at %v %q is not whole:\n%s", size, want, ansi.Strip(m.View().Content))
		}
	}
}

func TestReadOnlyIsInTheHeader(t *testing.T) {
	m := screen(t, stageful(), 80, 24, func(o *Options) { o.ReadOnly = true })
	if line := frameLine(t, m, 0); !strings.Contains(line, "read-only") {
		t.Errorf("header %q", line)
	}
}

// A job has one ETA in one frame, on every screen, at every moment.
func TestOneETAInAFrame(t *testing.T) {
	o := &oracle{answer: secretsThenPods, rates: lab}
	j := running("mixed", "b", 400, 900, 50)
	clock := noon
	m := screen(
		t,
		snapshotOf(j),
		120,
		40,
		withOracle(o),
		func(o *Options) { o.Clock = func() time.Time { return clock } },
	)
	compared := 0
	for range 40 {
		clock = clock.Add(700 * time.Millisecond)
		m.applyAssessment(m.currentCluster, m.currentCluster.estimates.AssessSnapshot(snapshotOf(j), clock))
		m.isFrameStale = true
		judged := m.currentCluster.assessment.AssessJob(m.currentCluster.assessment.Snapshot.Active[0])
		for _, open := range []bool{false, true} {
			m.showDashboard()
			if open {
				m.openJob(m.currentCluster, j.UID, jobview.Overview)
			}
			m.isFrameStale = true
			frame := ansi.Strip(checkFrame(t, m))
			_, said, tells := strings.Cut(strings.Join(strings.Fields(frame), " "), "about ")
			if !tells {
				continue
			}
			said, _, _ = strings.Cut(said, " left")
			want := judged.ETA.String()
			short := strings.Replace(want, " to ", "-", 1) // of a range in a narrow column
			if said != want || !strings.Contains(frame, " "+want) && !strings.Contains(frame, " "+short) {
				t.Fatalf("the sentence says %s, the ETA is %s:\n%s", said, want, frame)
			}
			compared++
		}
		if clock.Sub(noon) == 7*time.Second { // in the middle the estimate arrives
			obey(t, m, m.askAgainAll())
		}
	}
	if compared < 20 {
		t.Errorf("only %d frames had an ETA", compared)
	}
}

// A dashboard left open shows the running job, however many others pass: whether nobody
// ever touched it, or somebody selected a row and left.
func TestLeftOpenShowsTheRunningJob(t *testing.T) {
	for name, keys := range map[string][]string{"untouched": nil, "a row selected": {"down", "down", "down"}, "scrolled": {"end"}, "another tab": {"2", "end", "1"}} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
			now := noon
			old := ended("old", veleroapi.BackupPhaseCompleted, 10, time.Minute, time.Minute, 0, 0)
			m := screen(t, snapshotOf(running("first", "b", 500, 1000, 10), old),
				size[0], size[1], func(o *Options) { o.Clock = func() time.Time { return now } })
			press(t, m, keys...)
			for i := range 70 {
				jobs := []*job.Job{running("shop", "b", 500, 1000, 10)}
				for n := i; n >= 0; n-- {
					jobs = append(
						jobs,
						ended(
							fmt.Sprintf("passed-%02d", n),
							veleroapi.BackupPhaseCompleted,
							10,
							time.Second,
							time.Minute,
							0,
							0,
						),
					)
				}
				jobs = append(
					jobs,
					ended("first", veleroapi.BackupPhaseCompleted, 10, time.Minute, time.Minute, 0, 0),
					old,
				)
				if now = now.Add(10 * time.Second); i == 5 && keys != nil {
					if view := ansi.Strip(checkFrame(t, m)); !strings.Contains(view, "old") && name != "scrolled" {
						t.Errorf("%s: the selected row left the screen after %v:\n%s", name, now.Sub(noon), view)
					}
				}
				show(m, snapshotOf(jobs...))
			}
			if view := ansi.Strip(checkFrame(t, m)); !strings.Contains(view, "shop") {
				t.Errorf("%s at %dx%d: the running restore is not on the screen:\n%s", name, size[0], size[1], view)
			}
		}
	}
}

// Only a row that the user chose stays selected: another key pins no window.
func TestSelectionStaysWithAChosenRow(t *testing.T) {
	for _, c := range []struct{ keys, want string }{{"", "urgent"}, {"2 1", "urgent"}, {"? ?", "urgent"}, {"down up", "first"}, {"enter esc", "first"}} {
		m := screen(t, snapshotOf(running("first", "b", 500, 1000, 10), running("second", "b", 500, 1000, 10)), 80, 24)
		press(t, m, strings.Fields(c.keys)...)
		urgent := running("urgent", "b", 500, 1000, 10)
		urgent.Started = noon.Add(-time.Hour)
		show(m, snapshotOf(urgent, running("first", "b", 500, 1000, 10), running("second", "b", 500, 1000, 10)))
		if got := selectedName(t, m); got != c.want {
			t.Errorf("after %q %s is selected, want %s", c.keys, got, c.want)
		}
	}
}

// A server whose version veltui's rules were not read in is said to be one, once.
func TestHeaderNamesANewerVelero(t *testing.T) {
	for version, newer := range map[string]bool{"v1.16.2": false, "v1.18.3": false, "v1.18.9": false, "v1.19.0": true, "v1.19.0-rc.1": true, "v2.0.1": true, "main": false, "": false} {
		snap := stageful()
		snap.Server.Version = version
		for _, width := range []int{80, 120, 200} {
			view := ansi.Strip(checkFrame(t, screen(t, snap, width, 40)))
			if width == 80 {
				if strings.Contains(view, "newer") != newer {
					t.Errorf("%s at 80:\n%s", version, strings.Split(view, "\n")[0])
				}
				continue
			}
			if n := strings.Count(
				view,
				"newer than veltui knows",
			); (n == 1) != newer || n > 1 ||
				newer && !strings.Contains(strings.Split(view, "\n")[0], version) {
				t.Errorf("%s at %d: said %d times:\n%s", version, width, n, strings.Split(view, "\n")[0])
			}
		}
	}
}

// What is wrong with the connection is said in words, and not only that something is.
func TestScreenSaysWhyItIsStale(t *testing.T) {
	const hung = "the API server answers, but not what it reads from etcd: no response within 4s"
	for _, width := range []int{80, 120, 200} {
		snap := stageful()
		snap.Health = watch.Health{
			State:   watch.Stale,
			Since:   noon.Add(-9 * time.Second),
			Err:     hung,
			RetryAt: noon.Add(time.Second),
		}
		view := strings.Join(strings.Fields(ansi.Strip(checkFrame(t, screen(t, snap, width, 40)))), " ")
		if !strings.Contains(view, "stale 9s") || !strings.Contains(view, "not what it reads from etcd") {
			t.Errorf("at %d:\n%s", width, view)
		}
		played := newFake()
		m := screen(t, stageful(), width, 40, func(o *Options) { o.Clusters[0].Backend = played })
		if view := strings.Join(
			strings.Fields(ansi.Strip(checkFrame(t, m))),
			" ",
		); strings.Contains(
			view,
			"writes fail",
		) {
			t.Errorf("at %d:\n%s", width, view)
		}
		played.failure = "POST /apis/velero.io: the API server answers 500"
		show(m, stageful())
		if view := strings.Join(
			strings.Fields(ansi.Strip(checkFrame(t, m))),
			" ",
		); !strings.Contains(view, "live, writes fail") ||
			!strings.Contains(view, "does not store what is written") {
			t.Errorf("at %d:\n%s", width, view)
		}
	}
}

// TestOnlyTheShownTabHasItsRowsMade: a snapshot in which one job of thousands changed costs no rows of the tabs that are
// not shown; what they count is right all the same, and so are their rows once they are shown.
func TestOnlyTheShownTabHasItsRowsMade(t *testing.T) {
	backups := func(n int) *watch.Snapshot {
		var jobs []*job.Job
		for i := range n {
			name := fmt.Sprintf("b%04d", i)
			jobs = append(jobs, ended(name, veleroapi.BackupPhaseCompleted, 1, time.Minute, 2*time.Hour, 0, 0))
		}
		return snapshotOf(jobs...)
	}
	allocated := func(snap *watch.Snapshot) float64 {
		m := screen(t, snap, 120, 40)
		assessed := m.clusters[0].assessment
		return testing.AllocsPerRun(20, func() { m.applyAssessment(m.clusters[0], assessed) })
	}
	if few, many := allocated(backups(10)), allocated(backups(2000)); many > few+500 { // a row each would be 2,000
		t.Errorf("taking a snapshot costs %v allocations with 2,000 ended backups, %v with 10", many, few)
	}

	m := screen(t, backups(5), 120, 40)
	m.applyAssessment(m.clusters[0], new(assess.Estimates).AssessSnapshot(backups(7), noon))
	d := m.dashboard
	if d.backupsTab.rowCount != 7 || len(d.backupsTab.rows) == 7 {
		t.Errorf("the hidden tab counts %d and has %d rows", d.backupsTab.rowCount, len(d.backupsTab.rows))
	}
	turns := map[string]func(){
		"its number": func() { press(t, m, "3") },
		"the next":   func() { d.showTab(d.restoresTab); press(t, m, "tab") },
		"the last":   func() { d.showTab(d.chosenTabs[3]); d.cycleTabs(-1) },
	}
	for name, turn := range turns {
		d.showTab(d.activeTab)
		m.applyAssessment(m.clusters[0], new(assess.Estimates).AssessSnapshot(backups(8), noon))
		if turn(); d.openTab != d.backupsTab || len(d.backupsTab.rows) != 8 {
			t.Errorf("by %s: tab %s with %d rows", name, d.openTab.name, len(d.openTab.rows))
		}
	}
}

// A row that was shown as selected for a second stays selected, whatever comes above it: the next key is about what
// the user has read. The first tab follows what matters most.
func TestShownSelectionStays(t *testing.T) {
	t.Parallel()
	for tab, stays := range map[string]bool{"1": false, "2": true, "3": true} {
		now := noon
		m := screen(t, stageful(), 120, 40, func(o *Options) { o.Clock = func() time.Time { return now } })
		press(t, m, tab)
		before := selectedName(t, m)
		show(m, stageful())
		now = now.Add(settlePeriod)
		snap := stageful()
		for _, name := range []string{"a-new-restore", "a-new-backup"} {
			j := *running(name, "hourly-web-0900", 10, 1402, 2)
			if name == "a-new-backup" {
				j.Kind = job.Backup
			}
			snap.Jobs = append([]*job.Job{&j}, snap.Jobs...)
		}
		show(m, snap)
		top := m.dashboard.openTab.rows[m.dashboard.openTab.nearestSelectable(0)]
		if got := selectedName(t, m); stays && got != before {
			t.Errorf("tab %s: %s was selected, and now %s", tab, before, got)
		} else if j, _ := top.item.(*job.Job); stays && (j == nil || j.Name == before) {
			t.Errorf("tab %s: nothing came above %s: the test tries nothing", tab, before)
		}
	}
}

// Nobody is told to press a key that may change nothing.
func TestReadOnlyNamesNoKeyThatChanges(t *testing.T) {
	t.Parallel()
	for _, readOnly := range []bool{false, true} {
		m := screen(t, stageful(), 120, 40, func(o *Options) { o.ReadOnly = readOnly })
		frames := ansi.Strip(checkFrame(t, m))
		press(t, m, "enter")
		frames += ansi.Strip(checkFrame(t, m))
		if strings.Contains(frames, "Press f") == readOnly {
			t.Errorf("read-only is %v, and the screen says:\n%s", readOnly, frames)
		}
	}
}
