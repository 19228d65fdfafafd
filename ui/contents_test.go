package ui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/ui/jobview"
)

// oracle is what is in backups, and notes what it is asked.
type oracle struct {
	asked  []string
	rates  memory
	answer func(ctx context.Context, j *job.Job) (collector.Estimate, error)
}

func (o *oracle) Estimate(
	ctx context.Context,
	j *job.Job,
	server velero.Server,
	_ cluster.Progress,
) (collector.Estimate, error) {
	o.asked = append(o.asked, j.Name+" "+server.Version)
	return o.answer(ctx, j)
}

func (o *oracle) Contents(ctx context.Context, j *job.Job, _ cluster.Progress) ([]collector.ResourceCount, error) {
	o.asked = append(o.asked, j.Name)
	e, err := o.answer(ctx, j)
	return e.Resources, err
}

// memory is what is remembered of earlier restores.
type memory struct{ rates forecast.Rates }

// lab is how fast restores go in the lab.
var lab = memory{forecast.Rates{
	Throttle: forecast.Cost{Seconds: 0.02, SeenSeconds: 30},
	Resources: map[string]forecast.Cost{
		"persistentvolumeclaims": {
			Seconds:     0.05,
			SeenSeconds: 5,
		},
		"pods":             {Seconds: 0.1, SeenSeconds: 20},
		"deployments.apps": {Seconds: 0.1, SeenSeconds: 20},
	},
}}

// shopEstimate is that of the restore that screens.md draws.
func shopEstimate(context.Context, *job.Job) (collector.Estimate, error) {
	e := collector.Estimate{
		Steps: []collector.Step{
			{
				Resource: "namespaces",
				Items:    3,
			},
			{Resource: "persistentvolumeclaims", Items: 40},
			{Resource: "secrets", Items: 318},
			{
				Resource: "configmaps",
				Items:    701,
			},
			{Resource: "pods", Items: 180},
			{Resource: "deployments.apps", Items: 100},
			{Resource: "certificatesigningrequests.certificates.k8s.io", Items: 60},
		},
		Assumptions: []string{
			"Claims in the backup name their volume snapshots, so the server is taken to run with EnableCSI.",
		},
	}
	for _, s := range e.Steps {
		e.Total += s.Items
		e.Resources = append(
			e.Resources,
			collector.ResourceCount{
				Resource:   s.Resource,
				Items:      s.Items,
				Namespaces: map[string]int{"shop": s.Items - 1, "shop-cache": 1},
			},
		)
	}
	e.Resources[0].Namespaces = nil
	return e, nil
}

func withOracle(o *oracle) func(*Options) {
	if o.answer == nil {
		o.answer = shopEstimate
	}
	return func(options *Options) { fake(options).contents = o }
}

// obey runs the commands that ask the oracle, and those that follow.
func obey(t *testing.T, m *Model, cmd tea.Cmd) {
	t.Helper()
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			obey(t, m, c)
		}
	case fetch.Message, reassessedMsg:
		_, next := m.Update(msg)
		obey(t, m, next)
	case nil:
	default:
		t.Fatalf("unexpected %T", msg)
	}
}

// asked is a model whose questions of the first snapshot have been answered.
func asked(t *testing.T, o *oracle, width, height int, change ...func(*Options)) *Model {
	t.Helper()
	m := screen(t, stageful(), width, height, append(change, withOracle(o))...)
	obey(t, m, m.askAgainAll())
	return m
}

// askAgainAll asks anew whatever was asked when the snapshot came.
func (m *Model) askAgainAll() tea.Cmd {
	m.currentCluster.filterContentsQueries(func(types.UID, *contentsQuery) bool { return false })
	return m.fetchMissing()
}

func TestResourcesFrames(t *testing.T) {
	broken := func(context.Context, *job.Job) (collector.Estimate, error) {
		return collector.Estimate{}, errors.New(
			"not permitted: you may not create downloadrequests.velero.io in namespace velero",
		)
	}
	for _, s := range []struct {
		name   string
		oracle *oracle
		keys   []string
	}{
		{"job-resources", &oracle{rates: lab}, []string{"down", "down", "enter", "4"}},
		{"job-resources-unknown", &oracle{answer: broken}, []string{"enter", "4"}},
		{"job-contents", &oracle{}, []string{"3", "down", "down", "enter", "4"}},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 12}} {
			name := fmt.Sprintf("%s-%dx%d", s.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				m := asked(t, s.oracle, size[0], size[1])
				obey(t, m, press(t, m, s.keys...))
				golden(t, name, plain(checkFrame(t, m)))
			})
		}
	}
	m := asked(t, &oracle{}, 80, 24, func(o *Options) { o.ASCII, o.NoColor = true, true })
	press(t, m, "enter", "4")
	frame := ansi.Strip(checkFrame(t, m))
	if i := strings.IndexFunc(frame, func(r rune) bool { return r > 126 }); i >= 0 {
		t.Errorf("an ASCII frame holds %q", frame[i:i+4])
	}
}

// TestAsksOnlyWhatIsNeeded asks about restores that begin or restore items, one
// after the other, and about others when their page is looked at.
func TestAsksOnlyWhatIsNeeded(t *testing.T) {
	o := &oracle{}
	snap := snapshotOf(
		restoreJob("new", "b", time.Second, veleroapi.RestoreStatus{}, time.Second),
		running("items", "b", 10, 100, 5),
		restoreJob("no-backup", "", time.Second, veleroapi.RestoreStatus{}, time.Second),
		restoreJob(
			"finalizing",
			"b",
			time.Minute,
			veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseFinalizing},
			time.Second,
		),
		restoreJob(
			"ended",
			"b",
			time.Minute,
			veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseCompleted},
			time.Second,
		),
		backupJob("running", time.Minute, veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseInProgress}, time.Second),
		backupJob("stored", time.Hour, veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseCompleted}, time.Hour),
	)
	m := screen(t, snap, 80, 24, withOracle(o))
	if n := len(m.currentCluster.contentsQueries); n != 1 {
		t.Errorf("%d questions at once that nobody asked", n)
	}
	obey(t, m, m.askAgainAll())
	if got := strings.Join(o.asked, ", "); got != "new v1.18.3, items v1.18.3" {
		t.Errorf("asked about %s", got)
	}
	look := func(name string, want int) {
		t.Helper()
		before := len(o.asked)
		m.openJob(m.currentCluster, types.UID("uid-"+name), jobview.Overview)
		obey(t, m, press(t, m, "1")) // any other page
		if len(o.asked) != before {
			t.Errorf("%s: asked though the page was not open", name)
		}
		obey(t, m, press(t, m, "4"))
		obey(t, m, press(t, m, "down"))
		obey(t, m, press(t, m, "1"))
		obey(t, m, press(t, m, "4"))
		if got := len(o.asked) - before; got != want {
			t.Errorf("%s: asked %d times, want %d", name, got, want)
		}
		press(t, m, "esc")
	}
	for name, want := range map[string]int{"new": 0, "items": 0, "no-backup": 0, "finalizing": 1, "ended": 1, "running": 0, "stored": 1} {
		look(name, want)
	}
	if n := len(m.currentCluster.contentsQueries); n != 2 {
		t.Errorf("%d answers are kept, want those of the restores that begin", n)
	}
}

// TestEstimatedTotal stands in, marked, until Velero has a total of its own.
func TestEstimatedTotal(t *testing.T) {
	o := &oracle{}
	fresh := restoreJob(
		"fresh",
		"b",
		5*time.Second,
		veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress, StartTimestamp: ptr(ago(4 * time.Second))},
		time.Second,
	)
	m := screen(t, snapshotOf(fresh), 80, 24, withOracle(o))
	if strings.Contains(checkFrame(t, m), "1402") {
		t.Fatal("knows the total before it was asked for")
	}
	obey(t, m, m.askAgainAll())
	if frame := plain(checkFrame(t, m)); !strings.Contains(frame, "0/1402") || !strings.Contains(frame, "≈") {
		t.Errorf("no estimated total:\n%s", frame)
	}
	// It survives the next snapshot, and gives way to Velero's own.
	showAt(m, snapshotOf(fresh), noon)
	if frame := plain(checkFrame(t, m)); !strings.Contains(frame, "0/1402") {
		t.Errorf("the estimated total is lost:\n%s", frame)
	}
	showAt(m, snapshotOf(running("fresh", "b", 60, 1390, 30)), noon)
	if frame := plain(checkFrame(t, m)); strings.Contains(frame, "1402") || !strings.Contains(frame, "60/1390") {
		t.Errorf("Velero's own total does not show:\n%s", frame)
	}
	if fresh.Items.Known {
		t.Error("the snapshot's own job was changed")
	}
	// The page tells how the two compare in the end.
	press(t, m, "enter", "4")
	ended := restoreJob(
		"fresh",
		"b",
		time.Minute,
		veleroapi.RestoreStatus{
			Phase:          veleroapi.RestorePhaseCompleted,
			StartTimestamp: ptr(ago(50 * time.Second)),
			CompletionTimestamp: ptr(
				ago(time.Second),
			),
			Progress: &veleroapi.RestoreProgress{ItemsRestored: 1399, TotalItems: 1399},
		},
		time.Second,
	)
	showAt(m, snapshotOf(ended), noon)
	if frame := plain(
		checkFrame(t, m),
	); !strings.Contains(
		frame,
		"Velero counted 1,399 items; the estimate is 1,402,",
	) {
		t.Errorf("nothing is said of the difference:\n%s", frame)
	}
}

// TestNothingIsRestoredYet marks all as to come, and the total as estimated.
func TestNothingIsRestoredYet(t *testing.T) {
	m := screen(
		t,
		snapshotOf(restoreJob("new", "b", time.Second, veleroapi.RestoreStatus{}, time.Second)),
		80,
		24,
		withOracle(&oracle{}),
	)
	obey(t, m, m.askAgainAll())
	press(t, m, "enter", "4")
	frame := plain(checkFrame(t, m))
	page := frame[strings.Index(frame, "RESOURCE"):]
	if strings.Contains(page, "▶") || strings.Contains(page, "✓") || !strings.Contains(frame, "≈0/1402") {
		t.Errorf("a restore that has not begun:\n%s", frame)
	}
}

// TestLateAnswer belongs to a screen that is closed: it is told to end, and
// what it says is dropped.
func TestLateAnswer(t *testing.T) {
	ended := make(chan error, 1)
	o := &oracle{answer: func(ctx context.Context, _ *job.Job) (collector.Estimate, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return collector.Estimate{}, ctx.Err()
	}}
	m := screen(
		t,
		snapshotOf(
			backupJob("stored", time.Hour, veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseCompleted}, time.Hour),
		),
		80,
		24,
		withOracle(o),
	)
	cmd := press(t, m, "3", "enter", "4")
	answered := make(chan tea.Msg, 1)
	go func() { answered <- cmd().(tea.BatchMsg)[0]() }()
	if frame := plain(checkFrame(t, m)); !strings.Contains(frame, "Reading the backup's contents") {
		t.Errorf("the page does not say that it waits:\n%s", frame)
	}
	press(t, m, "esc")
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the download was ended with %v", err)
	}
	o.answer = shopEstimate
	second := press(t, m, "enter", "4")
	m.Update(<-answered)
	if a := m.currentCluster.knownContents("uid-stored"); a == nil || !a.Pending {
		t.Errorf("a late answer was taken for the new question's: %+v", a)
	}
	obey(t, m, second)
	if frame := plain(checkFrame(t, m)); !strings.Contains(frame, "1,402 items of 7 kinds") {
		t.Errorf("no answer to the new question:\n%s", frame)
	}
}

// TestErrorsAreAskedAgain after a minute, or when the user wants it.
func TestErrorsAreAskedAgain(t *testing.T) {
	now := noon
	o := &oracle{answer: func(context.Context, *job.Job) (collector.Estimate, error) {
		return collector.Estimate{}, errors.New("the store is away")
	}}
	snap := snapshotOf(
		backupJob("stored", time.Hour, veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseCompleted}, time.Hour),
	)
	m := screen(t, snap, 80, 24, withOracle(o), func(o *Options) { o.Clock = func() time.Time { return now } })
	obey(t, m, press(t, m, "3", "enter", "4"))
	if frame := plain(checkFrame(t, m)); !strings.Contains(frame, "unknown: the store is away") {
		t.Errorf("the error does not show:\n%s", frame)
	}
	next := func() {
		m.applyAssessment(m.currentCluster, m.currentCluster.estimates.AssessSnapshot(snap, now))
		obey(t, m, m.fetchMissing())
	}
	now = now.Add(time.Minute / 2)
	if next(); len(o.asked) != 1 {
		t.Errorf("asked %d times within half a minute", len(o.asked))
	}
	now = now.Add(time.Minute / 2)
	if next(); len(o.asked) != 2 {
		t.Errorf("asked %d times, though a minute is over", len(o.asked))
	}
	o.answer = shopEstimate
	obey(t, m, press(t, m, "r"))
	if frame := plain(checkFrame(t, m)); len(o.asked) != 3 || !strings.Contains(frame, "1,402 items") {
		t.Errorf("asked %d times:\n%s", len(o.asked), frame)
	}
}

func TestResourcesPageSaysWhyNot(t *testing.T) {
	for name, want := range map[string]string{"stored": "--no-artifacts", "running": "--no-artifacts"} {
		m := screen(t, snapshotOf(
			backupJob(
				"running",
				time.Minute,
				veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseInProgress},
				time.Second,
			),
			backupJob(
				"stored",
				time.Hour,
				veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseCompleted},
				time.Hour,
			),
		), 80, 24)
		m.openJob(m.currentCluster, types.UID("uid-"+name), jobview.Overview)
		press(t, m, "4")
		if frame := plain(checkFrame(t, m)); !strings.Contains(frame, want) {
			t.Errorf("%s: no %q:\n%s", name, want, frame)
		}
	}
}
