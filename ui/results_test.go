package ui

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/stored/logs"
	came "github.com/veltui/veltui/internal/stored/results"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

// complaints are Artifacts of which only the results are stored.
type complaints struct {
	results artifact.Results
	err     error
	asked   int
}

func (c *complaints) FetchResults(context.Context, *job.Job) (artifact.Results, error) {
	c.asked++
	return c.results, c.err
}

func (c *complaints) FetchStoredVolumes(context.Context, *job.Job) ([]artifact.VolumeInfo, error) {
	return nil, artifact.ErrAbsent
}

func (c *complaints) FetchOperations(context.Context, *job.Job) ([]artifact.Operation, error) {
	return nil, artifact.ErrAbsent
}

// opened is the screen of the only job, at the page of a key, with all commands
// run.
func opened(
	t testing.TB,
	snap *watch.Snapshot,
	a storedParts,
	width, height int,
	key string,
	change ...func(*Options),
) *Model {
	t.Helper()
	change = append(change, func(o *Options) {
		if a != nil {
			fake(o).stored = a
		} else {
			fake(o).noArtifacts = "With --no-artifacts veltui does not read what Velero has stored."
		}
	})
	m := screen(t, snap, width, height, change...)
	press(t, m, "2")
	if len(snap.Jobs) > 0 && snap.Jobs[0].Kind == job.Backup {
		press(t, m, "3")
	}
	follow(t, m, press(t, m, "enter"))
	follow(t, m, press(t, m, key))
	m.View()
	return m
}

// follow runs a command and what follows from it.
func follow(t testing.TB, m *Model, cmd tea.Cmd) {
	t.Helper()
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			follow(t, m, c)
		}
	case nil:
	default:
		_, next := m.Update(msg)
		follow(t, m, next)
	}
}

func opsResults() artifact.Results {
	r := artifact.Results{Errors: artifact.Messages{
		Cluster: []string{
			`error restoring clusterroles.rbac.authorization.k8s.io/ops-admin: clusterroles.rbac.authorization.k8s.io "ops-admin" is forbidden: user "velero" is attempting to grant RBAC permissions not currently held`,
		},
		Namespaces: map[string][]string{"ops": nil},
	}, Warnings: artifact.Messages{Cluster: []string{"could not restore, PersistentVolume:pv-ops-0 already exists. Warning: the in-cluster version is different than the backed-up version"}}}
	for i := range 18 {
		r.Errors.Namespaces["ops"] = append(
			r.Errors.Namespaces["ops"],
			fmt.Sprintf(
				`error restoring pods/ops/worker-%[1]d: pods "worker-%[1]d" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=20, limited: pods=20`,
				i,
			),
		)
	}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		r.Errors.Namespaces["ops"] = append(
			r.Errors.Namespaces["ops"],
			"error restoring widgets.example.com/ops/"+name+": the server could not find the requested resource",
		)
	}
	return r
}

func opsTrial(phase veleroapi.RestorePhase) *watch.Snapshot {
	return snapshotOf(
		restoreJob(
			"ops-trial-1",
			"ops-20261121",
			time.Hour,
			veleroapi.RestoreStatus{Phase: phase, Errors: 25, Warnings: 1,
				Progress: &veleroapi.RestoreProgress{TotalItems: 300, ItemsRestored: 300}},
			time.Hour,
		),
	)
}

func TestResultsFrames(t *testing.T) {
	partly := opsTrial(veleroapi.RestorePhasePartiallyFailed)
	forbidden := &complaints{
		err: errors.New("not permitted: you may not create downloadrequests.velero.io in namespace velero"),
	}
	absent := &complaints{err: fmt.Errorf("404: %w", artifact.ErrAbsent)}
	failed := snapshotOf(
		restoreJob(
			"ops-trial-1",
			"b",
			time.Hour,
			veleroapi.RestoreStatus{
				Phase:         veleroapi.RestorePhaseFailed,
				FailureReason: "found a restore with status \"InProgress\" during the server starting, mark it as \"Failed\"",
			},
			time.Hour,
		),
	)
	for _, s := range []struct {
		name string
		snap *watch.Snapshot
		from storedParts
		keys []string
	}{
		{"job-results", partly, &complaints{results: opsResults()}, nil},
		{"job-results-open", partly, &complaints{results: opsResults()}, []string{"down", "enter"}},
		{"job-results-found", partly, &complaints{results: opsResults()}, []string{"/", "W", "o", "r", "k", "e", "r", "-", "1", "7", "enter"}},
		{"job-results-forbidden", partly, forbidden, nil},
		{"job-results-unread", partly, nil, nil},
		{"job-results-failed", failed, absent, nil},
		{"job-results-running", snapshotOf(running("ops-trial-1", "b", 4, 9, 1)), &complaints{}, nil},
		{"job-results-so-far", snapshotOf(running("ops-trial-1", "b", 4, 9, 1)), &complaints{}, nil},
	} {
		sizes := [][2]int{{80, 24}}
		var more []func(*Options)
		if s.name == "job-results-so-far" {
			sizes = [][2]int{{80, 24}, {120, 40}, {200, 60}}
			more = append(more, withServerLog(&serverLog{found: opsLogged()}))
		}
		if s.name == "job-results" {
			sizes = [][2]int{{80, 24}, {120, 40}, {200, 60}, {40, 12}}
		}
		for _, size := range sizes {
			name := fmt.Sprintf("%s-%dx%d", s.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				m := opened(t, s.snap, s.from, size[0], size[1], "e", more...)
				for _, k := range s.keys {
					press(t, m, k) // a cursor that blinks is of no interest
					m.View()
				}
				golden(t, name, plain(checkFrame(t, m)))
			})
		}
	}
	m := opened(
		t,
		partly,
		&complaints{results: opsResults()},
		80,
		24,
		"e",
		func(o *Options) { o.ASCII, o.NoColor = true, true },
	)
	if i := strings.IndexFunc(ansi.Strip(checkFrame(t, m)), func(r rune) bool { return r > 126 }); i >= 0 {
		t.Error("an ASCII frame holds other signs")
	}
}

// TestResultsAreReadOnceAndAgainAtTheEnd holds when they are asked for: not while
// items are restored, once while it finalizes, again when it has ended.
func TestEmptyMessageHasWords(t *testing.T) {
	j := restoreJob(
		"wordless",
		"nightly",
		time.Hour,
		veleroapi.RestoreStatus{Phase: veleroapi.RestorePhasePartiallyFailed, Errors: 1},
		time.Minute,
	)
	m := opened(
		t,
		snapshotOf(j),
		&complaints{results: artifact.Results{Errors: artifact.Messages{Velero: []string{""}}}},
		80,
		24,
		"e",
	)
	if frame := plain(checkFrame(t, m)); !strings.Contains(frame, "(no message)") {
		t.Errorf("a blank entry:\n%s", frame)
	}
}

func TestResultsAreReadOnceAndAgainAtTheEnd(t *testing.T) {
	from := &complaints{results: opsResults()}
	m := opened(t, snapshotOf(running("ops-trial-1", "b", 4, 9, 1)), from, 80, 24, "e")
	if from.asked != 0 || !strings.Contains(plain(checkFrame(t, m)), "when all items are done") {
		t.Errorf("asked %d times:\n%s", from.asked, plain(checkFrame(t, m)))
	}
	for n, phase := range []veleroapi.RestorePhase{veleroapi.RestorePhaseFinalizingPartiallyFailed, veleroapi.RestorePhaseFinalizingPartiallyFailed, veleroapi.RestorePhasePartiallyFailed} {
		m.applyAssessment(m.currentCluster, m.currentCluster.estimates.AssessSnapshot(opsTrial(phase), noon))
		follow(t, m, m.findJobScreen().FetchMissing())
		if want := []int{1, 1, 2}[n]; from.asked != want {
			t.Errorf("%s: asked %d times, want %d", phase, from.asked, want)
		}
	}
	press(t, m, "1")
	follow(t, m, press(t, m, "e"))
	if from.asked != 2 {
		t.Errorf("asked %d times for what is known", from.asked)
	}
}

// TestResultsOfAStuckJob holds that they are read although the counts stand before
// the last items: the patch that was lost had the last counts too.
func TestResultsOfAStuckJob(t *testing.T) {
	from := &complaints{results: opsResults()}
	stuck := restoreJob(
		"crm-old",
		"b",
		3*time.Hour,
		veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress, StartTimestamp: ptr(ago(3 * time.Hour)),
			Progress: &veleroapi.RestoreProgress{TotalItems: 918, ItemsRestored: 902}},
		2*time.Hour,
	)
	m := opened(t, snapshotOf(stuck), from, 80, 24, "e")
	frame := plain(checkFrame(t, m))
	if from.asked != 1 || !strings.Contains(frame, "exceeded quota") || !strings.Contains(frame, "may add more") {
		t.Errorf("asked %d times:\n%s", from.asked, frame)
	}
}

// TestResultsThatCameTooEarly holds that an answer that was asked for before the
// job ended is not the last one.
func TestResultsThatCameTooEarly(t *testing.T) {
	from := &complaints{err: artifact.ErrAbsent}
	m := opened(t, opsTrial(veleroapi.RestorePhaseFinalizing), from, 80, 24, "1")
	early := press(t, m, "e")
	from.asked = 0
	m.applyAssessment(m.currentCluster, m.currentCluster.estimates.AssessSnapshot(opsTrial(veleroapi.RestorePhasePartiallyFailed), noon))
	follow(t, m, m.findJobScreen().FetchMissing())
	answer := early()
	from.err, from.results = nil, opsResults()
	_, next := m.Update(answer)
	follow(t, m, next)
	if frame := plain(checkFrame(t, m)); !strings.Contains(frame, "exceeded quota") {
		t.Errorf("asked %d times:\n%s", from.asked, frame)
	}
}

// serverLog is a server's log that has what it is given.
type serverLog struct {
	found logs.Problems
	err   error
	asked int
}

func (l *serverLog) Problems(context.Context, *job.Job) (logs.Problems, error) {
	l.asked++
	return l.found, l.err
}

func withServerLog(l *serverLog) func(*Options) {
	return func(o *Options) { fake(o).problems = l }
}

func opsLogged() logs.Problems {
	p := logs.Problems{
		Errors:   21,
		Warnings: 1,
		Gaps: []string{
			"Lines from before 11:58:00 UTC are missing: the log of the container that ran before in pod velero-1 is gone",
		},
	}
	for i := range 21 {
		name := fmt.Sprintf("worker-%d", i)
		p.Lines = append(
			p.Lines,
			logs.Line{
				Level: logs.Error,
				Text:  fmt.Sprintf(`error restoring %[1]s: pods "%[1]s" is forbidden: exceeded quota: compute`, name),
				Fields: []logs.LineField{
					{Name: "groupResource", Value: "pods"},
					{Name: "namespace", Value: "ops"},
					{Name: "original name", Value: name},
				},
			},
		)
	}
	p.Lines = append(
		p.Lines,
		logs.Line{
			Level: logs.Warning,
			Text:  "Got error trying to update restore's status.progress",
			Error: "connection refused",
		},
	)
	return p
}

// TestResultsSoFar holds that a job that goes on is shown with what its server has
// logged, at most every 30 seconds, until its results can be read; and that what
// cannot be read is named.
func TestResultsSoFar(t *testing.T) {
	now := noon
	clock := func(o *Options) { o.Clock = func() time.Time { return now } }
	l := &serverLog{found: opsLogged()}
	from := &complaints{results: opsResults()}
	goesOn := snapshotOf(running("ops-trial-1", "b", 4, 9, 1))
	m := opened(t, goesOn, from, 80, 24, "e", withServerLog(l), clock)
	frame := plain(checkFrame(t, m))
	for _, words := range []string{"So far, from the server's log: 21 errors, 1 warning.", "not exact counts", "errors, namespace ops (21)", "21x ", "exceeded quota", "pods/worker-0, worker-1", "warnings, velero (1)", "Lines from before 11:58:00 UTC are missing"} {
		if !strings.Contains(strings.Join(strings.Fields(frame), " "), strings.TrimSpace(words)) {
			t.Errorf("%q is not on the page:\n%s", words, frame)
		}
	}
	if got := copied(
		press(t, m, "Y"),
		m,
	); len(got) != 1 || !strings.Contains(got[0], "errors, namespace ops (21)\n21x ") || !strings.Contains(got[0], "worker-20\n") ||
		!strings.Contains(got[0], "connection refused") {
		t.Errorf("Y copied %q", got)
	}
	if got := copied(press(t, m, "y"), m); !slices.Equal(got, []string{"errors, namespace ops (21)"}) {
		t.Errorf("y copied %q", got)
	}
	press(t, m, "down")
	if got := copied(
		press(t, m, "y"),
		m,
	); len(got) != 1 || !strings.HasPrefix(got[0], "21x ") || !strings.Contains(got[0], "worker-20") ||
		strings.Contains(got[0], "\x1b") {
		t.Errorf("y copied %q", got)
	}
	for n, after := range []time.Duration{29 * time.Second, time.Second} {
		now = now.Add(after)
		follow(t, m, m.findJobScreen().FetchMissing())
		if l.asked != n+1 {
			t.Errorf("asked %d times, want %d", l.asked, n+1)
		}
	}
	if from.asked != 0 {
		t.Errorf("results asked for %d times", from.asked)
	}
	m.applyAssessment(m.currentCluster, m.currentCluster.estimates.AssessSnapshot(opsTrial(veleroapi.RestorePhasePartiallyFailed), now))
	follow(t, m, m.findJobScreen().FetchMissing())
	if frame := plain(
		checkFrame(t, m),
	); strings.Contains(frame, "So far") || !strings.Contains(frame, "widgets") ||
		l.asked != 2 {
		t.Errorf("ended, but:\n%s", frame)
	}

	readOnly := &complaints{
		err: errors.New("read-only: to read this, veltui would have to create a DownloadRequest in the cluster"),
	}
	m = opened(
		t,
		opsTrial(veleroapi.RestorePhaseFinalizing),
		readOnly,
		120,
		40,
		"e",
		withServerLog(&serverLog{found: opsLogged()}),
	)
	if frame := plain(
		checkFrame(t, m),
	); !strings.Contains(frame, "read-only") ||
		!strings.Contains(frame, "exceeded quota") {
		t.Errorf("read-only:\n%s", frame)
	}
	for _, missing := range []string{"pods is forbidden; to read the logs of pods you need list and get on pods, and get on pods/log, in namespace velero"} {
		m = opened(t, goesOn, from, 120, 40, "e", withServerLog(&serverLog{err: errors.New(missing)}))
		if frame := strings.Join(
			strings.Fields(plain(checkFrame(t, m))),
			" ",
		); !strings.Contains(
			frame,
			"The server's log cannot be read: "+missing,
		) {
			t.Errorf("no %q:\n%s", missing, frame)
		}
	}
	waits := snapshotOf(
		restoreJob("ops-trial-1", "b", time.Hour, veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseNew}, time.Hour),
	)
	never := &serverLog{}
	if opened(t, waits, from, 80, 24, "e", withServerLog(never)); never.asked != 0 {
		t.Error("the log of a job that has not started was read")
	}
}

// A search through many messages or items does not hold up the keys: it runs in a
// command, and finds the same as one on the spot.
func TestManyLinesAreSearchedInACommand(t *testing.T) {
	var r artifact.Results
	kind := came.Kind{Name: "configmaps", CountByStatus: map[came.ItemStatus]int{came.Created: 1500}}
	for i := range 1500 {
		r.Warnings.Cluster = append(r.Warnings.Cluster, fmt.Sprintf("text %d of its own", i))
		kind.Items = append(
			kind.Items,
			came.Item{Namespace: "shop", Name: fmt.Sprint("of-its-own-", i), Status: came.Created},
		)
	}
	from := inventory{items: came.Items{Kinds: []came.Kind{kind}}}
	for _, page := range []string{"e", "4"} {
		m := opened(
			t,
			opsTrial(veleroapi.RestorePhaseCompleted),
			&complaints{results: r},
			120,
			40,
			page,
			func(o *Options) { fake(o).items = &from },
		)
		typeText(t, m, "/1400")
		cmd := press(t, m, "enter")
		if frame := plain(checkFrame(t, m)); !strings.Contains(frame, "searching for 1400") {
			t.Errorf("page %s was searched on the spot:\n%s", page, frame)
		}
		follow(t, m, cmd)
		// One entry of the results lists what differs in its messages.
		if frame := plain(checkFrame(t, m)); !regexp.MustCompile(`(?m)^ +1400 *$|of-its-own-1400`).MatchString(frame) {
			t.Errorf("page %s:\n%s", page, frame)
		}
		follow(t, m, press(t, m, "n")) // there is only this one
		if frame := plain(checkFrame(t, m)); !strings.Contains(frame, "1400") {
			t.Errorf("page %s, next:\n%s", page, frame)
		}
	}
}

// typeText presses one key after the other, and draws after each.
func typeText(t testing.TB, m *Model, text string) {
	t.Helper()
	for _, r := range text {
		press(t, m, string(r))
		m.View()
	}
}

// BenchmarkResults50000 opens the Results page with 50,000 warnings, each with a
// text of its own, and searches through all of them.
func BenchmarkResults50000(b *testing.B) {
	var r artifact.Results
	for i := range 50_000 {
		r.Warnings.Cluster = append(
			r.Warnings.Cluster,
			fmt.Sprintf(
				"could not restore, ConfigMap:settings-%d already exists. Warning: the in-cluster version is different than the backed-up version %d",
				i,
				i%25_000,
			),
		)
	}
	snap := snapshotOf(
		restoreJob(
			"big",
			"b",
			time.Hour,
			veleroapi.RestoreStatus{Phase: veleroapi.RestorePhasePartiallyFailed, Warnings: 50_000},
			time.Hour,
		),
	)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var m *Model
	for _, keys := range [][]string{nil, {"/", "g", "s", "-", "4", "9", "9", "9", "8", "enter"}} {
		name := "open"
		if keys != nil {
			name = "search"
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				m = opened(b, snap, &complaints{results: r}, 120, 40, "e")
				for i, k := range keys {
					cmd := press(b, m, k)
					m.View()
					if i == len(keys)-1 {
						follow(b, m, cmd)
					}
				}
				if keys != nil && !strings.Contains(plain(m.View().Content), "settings-49998") {
					b.Fatal(plain(m.View().Content))
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB-kept")
		})
	}
	runtime.KeepAlive(m)
}

// inventory are Items that are known.
type inventory struct {
	items came.Items
	err   error
}

func quotaItems() came.Items {
	kind := func(name string, items ...came.Item) came.Kind {
		k := came.Kind{Name: name, Items: items, CountByStatus: map[came.ItemStatus]int{}}
		for _, i := range items {
			k.CountByStatus[i.Status]++
		}
		return k
	}
	pods := kind("pods")
	for n := range 20 {
		i := came.Item{
			Namespace:       "ops-2",
			Name:            fmt.Sprint("worker-", n),
			BackupNamespace: "ops",
			Status:          came.Failed,
			Why:             "is forbidden: exceeded quota: compute, requested: pods=1, used: pods=20, limited: pods=20",
		}
		if n > 17 {
			i.Status, i.Why = came.Created, ""
		}
		pods.Items = append(pods.Items, i)
		pods.CountByStatus[i.Status]++
	}
	return came.Items{Kinds: []came.Kind{
		pods,
		kind(
			"replicasets.apps",
			came.Item{
				Namespace:       "ops-2",
				Name:            "web-7f9c",
				BackupNamespace: "ops",
				Status:          came.Missing,
				Why:             "not in Velero's list of what it worked on",
			},
		),
		kind(
			"persistentvolumes",
			came.Item{
				Name:   "pv-ops-0",
				Status: came.Skipped,
				Why:    "the same is there already, or its claim gets a new volume",
			},
		),
		kind("serviceaccounts", came.Item{Namespace: "ops-2", Name: "default", BackupNamespace: "ops", Status: came.Updated}),
		kind("nodes", came.Item{Name: "node-a", Status: came.LeftOut, Why: "Velero never restores this kind"}),
	}}
}

func TestItemsFrames(t *testing.T) {
	partly := opsTrial(veleroapi.RestorePhasePartiallyFailed)
	backup := snapshotOf(
		backupJob("nightly", time.Hour, veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseCompleted}, time.Hour),
	)
	alone := quotaItems()
	alone.CompareUnavailable = "not permitted: you may not create downloadrequests.velero.io in namespace velero"
	held := came.ListItems([]artifact.KindItems{
		{
			Kind:  "v1/Pod",
			Items: []artifact.ItemEntry{{Namespace: "shop", Name: "db-0"}, {Namespace: "shop", Name: "db-1"}},
		},
		{Kind: "example.com/v1/Widget", Items: []artifact.ItemEntry{{Namespace: "shop", Name: "w"}}},
	}, nil)
	for _, s := range []struct {
		name string
		snap *watch.Snapshot
		from inventory
		keys []string
	}{
		{"job-items", partly, inventory{items: quotaItems()}, nil},
		{"job-items-open", partly, inventory{items: quotaItems()}, []string{"enter"}},
		{"job-items-found", partly, inventory{items: quotaItems()}, []string{"/", "n", "e", "v", "e", "r", "enter"}},
		{"job-items-alone", partly, inventory{items: alone}, nil},
		{"job-items-forbidden", partly, inventory{err: errors.New("not permitted: you may not create downloadrequests.velero.io in namespace velero")}, nil},
		{"job-items-backup", backup, inventory{items: held}, []string{"down", "enter"}},
	} {
		sizes := [][2]int{{80, 24}}
		if s.name == "job-items-open" {
			sizes = [][2]int{{80, 24}, {120, 40}, {200, 60}, {40, 12}}
		}
		for _, size := range sizes {
			name := fmt.Sprintf("%s-%dx%d", s.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				m := opened(
					t,
					s.snap,
					&complaints{},
					size[0],
					size[1],
					"4",
					func(o *Options) { fake(o).items = &s.from },
				)
				for _, k := range s.keys {
					press(t, m, k)
					m.View()
				}
				golden(t, name, plain(checkFrame(t, m)))
			})
		}
	}
}

// TestItemsOfABackupThatWaits: Velero stores the list before it waits for plugins.
func TestItemsOfABackupThatWaits(t *testing.T) {
	held := inventory{
		items: came.ListItems(
			[]artifact.KindItems{{Kind: "v1/Pod", Items: []artifact.ItemEntry{{Namespace: "shop", Name: "db-0"}}}},
			nil,
		),
	}
	for phase, says := range map[veleroapi.BackupPhase]string{
		veleroapi.BackupPhaseInProgress:                                "does not read the contents of backups",
		veleroapi.BackupPhaseWaitingForPluginOperations:                "1 item of 1 kind",
		veleroapi.BackupPhaseWaitingForPluginOperationsPartiallyFailed: "1 item of 1 kind",
		veleroapi.BackupPhaseFinalizing:                                "1 item of 1 kind",
		veleroapi.BackupPhaseCompleted:                                 "1 item of 1 kind",
	} {
		snap := snapshotOf(
			backupJob(
				"nightly",
				time.Hour,
				veleroapi.BackupStatus{Phase: phase, StartTimestamp: ptr(ago(time.Hour))},
				time.Hour,
			),
		)
		m := screen(t, snap, 80, 24, func(o *Options) { fake(o).items = &held })
		press(t, m, "1")
		if phase == veleroapi.BackupPhaseCompleted {
			press(t, m, "3")
		}
		frame := drive(t, m, press(t, m, "enter", "4"), says)
		if more := strings.Contains(
			frame,
			"until the backup has ended",
		); more != (strings.HasPrefix(says, "1") && phase != veleroapi.BackupPhaseCompleted) {
			t.Errorf("%s: it may write more: %v\n%s", phase, more, frame)
		}
	}
}

// BenchmarkItems60000 opens a kind of 60,000 items and searches through them.
func BenchmarkItems60000(b *testing.B) {
	kind := came.Kind{Name: "configmaps", CountByStatus: map[came.ItemStatus]int{came.Created: 60_000}}
	for i := range 60_000 {
		kind.Items = append(
			kind.Items,
			came.Item{Namespace: "shop", Name: fmt.Sprint("settings-", i), Status: came.Created},
		)
	}
	from := inventory{items: came.Items{Kinds: []came.Kind{kind}}}
	for b.Loop() {
		m := opened(
			b,
			opsTrial(veleroapi.RestorePhaseCompleted),
			&complaints{},
			120,
			40,
			"4",
			func(o *Options) { fake(o).items = &from },
		)
		for _, k := range []string{"enter", "/", "s", "-", "5", "9", "9", "9", "8", "enter"} {
			cmd := press(b, m, k)
			m.View()
			if k == "enter" {
				follow(b, m, cmd)
			}
		}
		if !strings.Contains(plain(m.View().Content), "settings-59998") {
			b.Fatal(plain(m.View().Content))
		}
	}
}

// The Overview of a job with errors says why, from the same results; that of one without reads nothing.
func TestOverviewSaysWhyAJobFailed(t *testing.T) {
	results := artifact.Results{Errors: artifact.Messages{Namespaces: map[string][]string{"shop": {
		"name: /mail-0 message: /Error backing up item error: /permission denied",
		"one",
		"two",
		"three",
		"four",
		"five",
	}}}, Warnings: artifact.Messages{Velero: []string{"a warning"}}}
	failed := backupJob(
		"failed",
		time.Hour,
		veleroapi.BackupStatus{Phase: veleroapi.BackupPhasePartiallyFailed, Errors: 6, Warnings: 1},
		time.Hour,
	)
	for _, size := range [][2]int{{80, 40}, {120, 40}} {
		a := &complaints{results: results}
		frame := plain(checkFrame(t, opened(t, snapshotOf(failed), a, size[0], size[1], "1")))
		follow := []string{
			"Error backing up item: permission denied (mail-0)",
			"✗ one",
			"1 more error: press e for all",
		}
		for _, want := range follow {
			if !strings.Contains(frame, want) {
				t.Errorf("no %q in\n%s", want, frame)
			}
		}
		if strings.Contains(frame, "a warning") {
			t.Errorf("a warning is not why:\n%s", frame)
		}
	}
	a := &complaints{}
	opened(
		t,
		snapshotOf(ended("well", veleroapi.BackupPhaseCompleted, 3, time.Minute, time.Minute, 0, 2)),
		a,
		80,
		24,
		"1",
	)
	if a.asked != 0 {
		t.Errorf("a job without errors asks %d times", a.asked)
	}
	frame := plain(
		checkFrame(t, opened(t, snapshotOf(failed), &complaints{err: errors.New("the store is away")}, 80, 40, "1")),
	)
	if !strings.Contains(frame, "The results cannot be read: the store is away") {
		t.Error(frame)
	}
	if frame := plain(
		checkFrame(t, opened(t, snapshotOf(failed), a, 120, 40, "1")),
	); !strings.Contains(
		frame,
		"2 Results 6 err 1 warn ",
	) {
		t.Error(frame)
	}
}
