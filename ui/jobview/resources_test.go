package jobview

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/internal/view"
	"github.com/veltui/veltui/ui/draw"
	"github.com/veltui/veltui/ui/fetch"
	"github.com/veltui/veltui/watch"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// shown is the screen of a job, and what to draw it on.
func shown(t *testing.T, input job.Observation) (*Screen, draw.Canvas) {
	t.Helper()
	theme, err := draw.LoadTheme("mono")
	if err != nil {
		t.Fatal(err)
	}
	input.ObservedAt = noon
	j := job.Fold(nil, input)
	snap := &watch.Snapshot{At: noon, Jobs: []*job.Job{j}}
	if !j.IsTerminal() {
		snap.Active = snap.Jobs
	}
	return New(
			j.UID,
			Overview,
			new(assess.Estimates).AssessSnapshot(snap, noon),
			Dependencies{Backend: unread{}, Clock: func() time.Time { return noon }},
			nil,
		), draw.Canvas{
			Width:  80,
			Height: 22,
			Glyphs: &draw.UnicodeGlyphs,
			Theme:  theme,
			Now:    noon,
		}
}

// unread is a cluster of which nothing that is stored can be read.
type unread struct{ Backend }

func (unread) UnavailableReason(p cluster.Capability) string {
	if p == cluster.CapabilityReports || p == cluster.CapabilityVerification {
		return ""
	}
	return "nothing is read here"
}

type leftOut struct {
	unread
	volume job.Volume
}

func (l leftOut) ReadVolumes(context.Context, *job.Job) ([]job.Volume, error) {
	return []job.Volume{l.volume}, nil
}

func meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:         "velero",
		Name:              "x",
		UID:               "u",
		CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour)),
	}
}

func TestResourcesPageSaysWhyNot(t *testing.T) {
	running := job.Observation{
		Backup: &veleroapi.Backup{
			ObjectMeta: meta(),
			Status:     veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseInProgress},
		},
	}
	waiting := job.Observation{
		Backup: &veleroapi.Backup{
			ObjectMeta: meta(),
			Status:     veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseWaitingForPluginOperations},
		},
	}
	unnamed := job.Observation{Restore: &veleroapi.Restore{ObjectMeta: meta()}}
	for _, c := range []struct {
		of       job.Observation
		contents *view.Contents
		want     string
	}{
		{running, view.ForbiddenContents, "--no-artifacts"},
		{running, nil, "when all items are done"},
		{waiting, nil, "anew until it has ended"},
		{unnamed, nil, "has no backup yet"},
		{unnamed, &view.Contents{Pending: true}, "Reading the backup's contents"},
		{unnamed, &view.Contents{Estimate: collector.Estimate{Refusals: []string{"Both included and excluded: namespaces ops."}}}, "refuses this restore: Both"},
	} {
		s, canvas := shown(t, c.of)
		s.SetContents(c.contents)
		if got := strings.Join(renderContents(canvas, s), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("no %q: %s", c.want, got)
		}
	}
}

// To a job that has ended nothing comes any more, and nothing is ahead of it.
func TestEndedJobsHaveNothingAhead(t *testing.T) {
	s, c := shown(
		t,
		job.Observation{
			Backup: &veleroapi.Backup{
				ObjectMeta: meta(),
				Status:     veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseFailedValidation},
			},
		},
	)
	text := renderStageLine(c, s.Job())
	for _, name := range []PageName{Volumes, Operations} {
		p := s.pages[s.tabIndex(name)]
		source := p.renderLines(c, s)
		text += strings.Join(p.renderHead(c, s), "\n")
		for i := range source.Len() {
			text += "\n" + source.LineAt(c, i).Text
		}
	}
	if strings.Contains(text, "so far") || strings.Contains(text, c.Glyphs.Ahead) {
		t.Errorf("an ended job: %s", text)
	}
}

// A job that is gone is shown as it was, but nothing is judged of it any more.
func TestADeletedJobIsNotStuck(t *testing.T) {
	started := metav1.NewTime(noon.Add(-time.Hour))
	r := &veleroapi.Restore{
		ObjectMeta: meta(),
		Status:     veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseInProgress, StartTimestamp: &started},
	}
	j := job.Fold(nil, job.Observation{Restore: r, ObservedAt: noon})
	snap := &watch.Snapshot{
		At:     noon,
		Jobs:   []*job.Job{j},
		Active: []*job.Job{j},
		Health: watch.Health{State: watch.Live},
		Server: velero.Server{
			Visible: true,
			ServerPod: velero.ServerPod{
				Running:   true,
				Ready:     true,
				StartedAt: noon.Add(-10 * time.Minute),
				Flags:     velero.DefaultServerFlags(),
			},
		},
	}
	s, c := shown(t, job.Observation{Restore: r})
	s.SetAssessment(new(assess.Estimates).AssessSnapshot(snap, noon))
	if !strings.Contains(s.View(c), "orphaned") {
		t.Fatalf("not orphaned before:\n%s", s.View(c))
	}
	s.SetAssessment(new(assess.Estimates).AssessSnapshot(&watch.Snapshot{At: noon}, noon))
	frame := s.View(c)
	if !s.IsDeleted() || strings.Contains(frame, "orphaned") || !strings.Contains(frame, "deleted from the cluster") ||
		!strings.Contains(frame, "x") {
		t.Errorf("the screen of a deleted job:\n%s", frame)
	}
}

// Which items failed the counts do not tell, so a restore with errors does not
// claim that all of them are restored.
func TestErrorsAreNotCalledRestored(t *testing.T) {
	r := &veleroapi.Restore{
		ObjectMeta: meta(),
		Spec:       veleroapi.RestoreSpec{BackupName: "b"},
		Status: veleroapi.RestoreStatus{
			Phase:    veleroapi.RestorePhasePartiallyFailed,
			Errors:   3,
			Progress: &veleroapi.RestoreProgress{TotalItems: 7, ItemsRestored: 7},
		},
	}
	s, c := shown(t, job.Observation{Restore: r})
	s.SetContents(&view.Contents{Estimate: collector.Estimate{Total: 7, Steps: []collector.Step{{Resource: "pods", Items: 7}}}})
	text := strings.Join(renderContents(c, s), "\n")
	if strings.Contains(text, "RESTORED") || !strings.Contains(text, "3 errors") {
		t.Error(text)
	}
}

// Claims that pods bring along count as claims, as `veltui estimate` counts them,
// though Velero restores them in the pods' turn.
func TestResourcesAddUpToTheEstimate(t *testing.T) {
	s, c := shown(
		t,
		job.Observation{
			Restore: &veleroapi.Restore{
				ObjectMeta: meta(),
				Spec:       veleroapi.RestoreSpec{BackupName: "b"},
				Status: veleroapi.RestoreStatus{
					Phase:    veleroapi.RestorePhaseInProgress,
					Progress: &veleroapi.RestoreProgress{TotalItems: 9, ItemsRestored: 6},
				},
			},
		},
	)
	s.SetContents(&view.Contents{Estimate: collector.Estimate{
		Total: 9,
		Steps: []collector.Step{
			{Resource: "persistentvolumeclaims", Items: 2},
			{Resource: "pods", Items: 6},
			{Resource: "services", Items: 1},
		},
		AdditionalItems: []collector.AdditionalItems{
			{Step: 0, Resource: "namespaces", Items: 1},
			{Step: 1, Resource: "persistentvolumeclaims", Items: 2},
		},
		Resources: []collector.ResourceCount{
			{Resource: "namespaces", Items: 1},
			{Resource: "persistentvolumeclaims", Items: 3},
			{Resource: "pods", Items: 4},
			{Resource: "services", Items: 1},
		},
	}})
	text := ansi.Strip(strings.Join(renderContents(c, s), "\n"))
	restored, of := map[string]int{}, map[string]int{}
	for _, row := range regexp.MustCompile(`(?m)^ +(?:with )?(\S+) +\S? +(\d+) +(\d+)`).FindAllStringSubmatch(text, -1) {
		done, _ := strconv.Atoi(row[2])
		all, _ := strconv.Atoi(row[3])
		restored[row[1]], of[row[1]] = restored[row[1]]+done, of[row[1]]+all
	}
	sum := 0
	for _, r := range s.contents.Estimate.Resources {
		if of[r.Resource] != r.Items {
			t.Errorf("%d of %s, the estimate says %d", of[r.Resource], r.Resource, r.Items)
		}
		sum += restored[r.Resource]
	}
	if sum != 6 || t.Failed() {
		t.Errorf("%d are restored:\n%s", sum, text)
	}
}

// No label runs into its text, nothing is cut, and no text gets too wide to be
// read, on any width; on wide screens what veltui concludes stands beside.
func TestOverviewIsReadable(t *testing.T) {
	reason := strings.Repeat("the server was restarted while it ran and ", 8) + "END"
	r := &veleroapi.Restore{
		ObjectMeta: meta(),
		Status:     veleroapi.RestoreStatus{Phase: veleroapi.RestorePhaseFailed, FailureReason: reason, Errors: 3},
	}
	r.Spec.BackupName, r.Spec.NamespaceMapping = "nightly", map[string]string{"shop": "shop-dr"}
	s, c := shown(t, job.Observation{Restore: r})
	for _, width := range []int{40, 60, 80, 118, 120, 160, 200, 300} {
		lines := renderOverview(c.WithSize(width, 50), s)
		text := ansi.Strip(strings.Join(lines, "\n"))
		for _, want := range []string{"END", "shop -> shop-dr", "nightly", s.job.Verdict.Summary()[:20]} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q at %d cells:\n%s", want, width, text)
			}
		}
		first := s.job.Verdict.Summary()[:20] // the verdict, or what stands beside it
		if width >= sideBySideWidth {
			first = "Phase"
		}
		if !strings.Contains(ansi.Strip(lines[0]), first) || strings.Contains(text, c.Glyphs.Ellipsis) {
			t.Errorf("at %d cells:\n%s", width, text)
		}
		for _, line := range lines {
			if lipgloss.Width(line) > width {
				t.Errorf("%d cells of %d: %q", lipgloss.Width(line), width, line)
			}
		}
		end := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "END") })
		if end > 30 {
			t.Errorf("the reason is far down at %d cells", width)
		}
		if !strings.Contains(text, "press e") && width >= 60 {
			t.Errorf("no key leads from the count of errors to them:\n%s", text)
		}
	}
}

// Names of scheduled jobs differ at their ends, so a long one is cut in the middle.
func TestLongNamesAreCutInTheMiddle(t *testing.T) {
	m := meta()
	m.Name = "nightly-" + strings.Repeat("very-", 20) + "20261120"
	s, c := shown(t, job.Observation{Restore: &veleroapi.Restore{ObjectMeta: m}})
	for _, deleted := range []bool{false, true} {
		s.isDeleted = deleted
		if title := ansi.Strip(
			s.renderTitle(c.WithSize(60, 20)),
		); !strings.Contains(title, "nightly-") || !strings.Contains(title, "20261120 ") ||
			lipgloss.Width(title) > 60 {
			t.Errorf("%q", title)
		}
	}
}

// The pages have the clock of this machine, and the lines that veltui prints or
// saves have Velero's, which is UTC: where they differ, the page says so.
func TestZoneWords(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	if got := zoneText(now); got != "" {
		t.Errorf("in UTC: %q", got)
	}
	if got := zoneText(now.In(time.FixedZone("EST", -5*3600))); got != "times in EST" {
		t.Errorf("got %q", got)
	}
}

// A job whose volumes have not been read yet is not said to have none.
func TestVolumesThatWereNotReadAreNotNone(t *testing.T) {
	s, c := shown(
		t,
		job.Observation{
			Backup: &veleroapi.Backup{
				ObjectMeta: meta(),
				Status:     veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseInProgress},
			},
		},
	)
	s.openTab(s.tabIndex(Volumes))
	if frame := ansi.Strip(s.View(c)); !strings.Contains(frame, "No volume data is moved for this job so far") {
		t.Errorf("without any:\n%s", frame)
	}
	reading := *s.assessment.Source
	reading.Health = watch.Health{State: watch.Connecting}
	reading.Sources = []watch.Source{{Resource: watch.DataUploads, State: watch.SourceSyncing, ObjectsRead: 7}}
	reading.Seq++
	s.SetAssessment(new(assess.Estimates).AssessSnapshot(&reading, noon))
	if frame := ansi.Strip(
		s.View(c),
	); !strings.Contains(frame, "Not all volumes have been read yet: ") ||
		strings.Contains(frame, "No volume data") {
		t.Errorf("while they are read:\n%s", frame)
	}
}

// Volumes that were only summed up are read when the screen opens, and stay where
// the job comes again.
func TestVolumesThatAreLeftOutAreRead(t *testing.T) {
	volume := job.Volume{
		Kind:   velero.DataUpload,
		Name:   "v",
		UID:    "v",
		Phase:  velero.VolumeCompleted,
		Target: "shop/data",
		Total:  9,
		Done:   9,
	}
	s, c := shown(t, job.Observation{
		Completed: (*job.CompletedVolumes)(nil).AddVolume(&volume),
		Backup: &veleroapi.Backup{
			ObjectMeta: meta(),
			Status:     veleroapi.BackupStatus{Phase: veleroapi.BackupPhaseCompleted},
		},
	})
	s.dependencies.Backend = leftOut{volume: volume}
	s.dependencies.Start = func(read func(context.Context) tea.Msg) (tea.Cmd, context.CancelFunc) {
		return func() tea.Msg { return read(t.Context()) }, func() {}
	}
	cmd := s.openTab(s.tabIndex(Volumes))
	if frame := ansi.Strip(s.View(c)); !strings.Contains(frame, "Reading 1 volume that completed") {
		t.Errorf("before they are read:\n%s", frame)
	}
	cmd().(fetch.Message).Deliver()
	for range 2 {
		if frame := ansi.Strip(
			s.View(c),
		); !strings.Contains(frame, "shop/data") ||
			strings.Contains(frame, "Reading 1 volume") {
			t.Errorf("after they are read:\n%s", frame)
		}
		s.SetAssessment(s.assessment)
	}
}
