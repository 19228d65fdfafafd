package ui

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/veltui/veltui/internal/cluster"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/stored/artifact"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/ui/jobview"
	"github.com/veltui/veltui/watch"
)

// archive is what is stored of every job, and the resources of its volumes.
type archive struct {
	volumes    []artifact.VolumeInfo
	operations []artifact.Operation
	documents  []cluster.ObjectDocument
	err        error
	asked      []string
}

func (a *archive) note(what string) error {
	a.asked = append(a.asked, what)
	return a.err
}

func (a *archive) FetchResults(context.Context, *job.Job) (r artifact.Results, err error) {
	return r, a.note("results")
}

func (a *archive) FetchStoredVolumes(context.Context, *job.Job) ([]artifact.VolumeInfo, error) {
	return a.volumes, a.note("volumes")
}

func (a *archive) FetchOperations(context.Context, *job.Job) ([]artifact.Operation, error) {
	return a.operations, a.note("operations")
}

func (a *archive) VolumeObject(_ context.Context, namespace string, v velero.VolumeRef) (cluster.ObjectDocument, error) {
	for _, d := range a.documents {
		if d.Name == v.Name {
			return d, a.note("volume " + namespace + "/" + v.Name)
		}
	}
	return cluster.ObjectDocument{}, errors.New("not found")
}

func (a *archive) option(o *Options) {
	fake(o).stored, fake(o).objects = a, a
}

// answerAll runs a command, and all that follow, but for the one that waits for the
// next snapshot and the clock.
func answerAll(t *testing.T, m *Model, cmd tea.Cmd) {
	t.Helper()
	done := make(chan tea.Msg, 1)
	if cmd == nil {
		return
	}
	go func() { done <- cmd() }()
	select {
	case msg := <-done:
		if batch, ok := msg.(tea.BatchMsg); ok {
			for _, c := range batch {
				answerAll(t, m, c)
			}
			return
		}
		if msg != nil {
			_, next := m.Update(msg)
			answerAll(t, m, next)
		}
	case <-time.After(50 * time.Millisecond): // it waits for what this test does not send
	}
}

// uploading is a backup in an operations stage, with a volume of each kind of
// state; done is the same after it has ended.
func uploading(phase veleroapi.BackupPhase) *watch.Snapshot {
	b := &veleroapi.Backup{ObjectMeta: meta("nightly-erp", 40*time.Minute)}
	b.Status = veleroapi.BackupStatus{Phase: phase, StartTimestamp: ptr(ago(40 * time.Minute)),
		Progress:                      &veleroapi.BackupProgress{ItemsBackedUp: 1310, TotalItems: 1310},
		BackupItemOperationsAttempted: 3,
		BackupItemOperationsCompleted: 1,
		CSIVolumeSnapshotsAttempted:   1,
		BackupItemOperationsFailed:    0,
		CSIVolumeSnapshotsCompleted:   1,
		VolumeSnapshotsAttempted:      0,
		CompletionTimestamp:           nil,
	}
	upload := func(claim, phase, node string, done, total int64, message string) job.Volume {
		return job.Volume{
			Kind:        velero.DataUpload,
			Name:        "nightly-erp-" + claim,
			Phase:       phase,
			Namespace:   "erp",
			Claim:       claim,
			Target:      "erp/" + claim,
			Node:        node,
			OperationID: "du-1." + claim,
			Done:        done,
			Total:       total,
			Message:     message,
			Created:     noon.Add(-39 * time.Minute),
			Started:     noon.Add(-38 * time.Minute),
			LastChanged: noon.Add(-4 * time.Second),
		}
	}
	volumes := []job.Volume{
		upload("data-oracle-0", velero.VolumeInProgress, "node-a", 1900<<30, 4400<<30, ""),
		upload("data-pg-0", velero.VolumePrepared, "node-a", 0, 0, ""),
		upload("library", velero.VolumeCompleted, "node-b", 6<<30, 6<<30, ""),
		{
			Kind:      velero.PodVolumeBackup,
			Name:      "nightly-erp-7xk",
			Phase:     velero.VolumeFailed,
			Namespace: "erp",
			Pod:       "mail-0",
			PodVolume: "spool",
			Target:    "erp/mail-0:spool",
			Uploader:  "kopia",
			Node:      "node-c",
			Done:      1 << 20,
			Total:     8 << 20,
			Message:   "data path backup failed: repository is locked",
			Created: noon.Add(
				-39 * time.Minute,
			),
			Started:     noon.Add(-38 * time.Minute),
			LastChanged: noon.Add(-30 * time.Minute),
			Completed:   noon.Add(-30 * time.Minute),
		},
	}
	if phase == veleroapi.BackupPhaseCompleted {
		b.Status.CompletionTimestamp = ptr(ago(time.Minute))
		b.Status.BackupItemOperationsCompleted = 3
		for i := range volumes[:2] {
			v := &volumes[i]
			v.Phase, v.Done, v.Total, v.SnapshotHandle, v.Completed, v.LastChanged = velero.VolumeCompleted, 4400<<30, 4400<<30, "k"+v.Claim, noon.Add(
				-2*time.Minute,
			), noon.Add(
				-2*time.Minute,
			)
		}
	}
	return snapshotOf(job.Fold(nil, job.Observation{Backup: b, Volumes: volumes, ObservedAt: noon}))
}

func erpArchive() *archive {
	at := func(minutes int) time.Time { return noon.Add(-time.Duration(minutes) * time.Minute) }
	const csi = "CSISnapshot"
	return &archive{
		volumes: []artifact.VolumeInfo{
			{
				Namespace:        "erp",
				Claim:            "data-oracle-0",
				PersistentVolume: "pvc-1",
				Method:           csi,
				DataMoved:        true,
				Operation:        "du-1.data-oracle-0",
				DataMover:        "velero",
				Uploader:         "kopia",
				CSIDriver:        "ebs.csi.aws.com",
			},
			{
				Namespace:        "erp",
				Claim:            "data-pg-0",
				PersistentVolume: "pvc-2",
				Method:           csi,
				DataMoved:        true,
				Operation:        "du-1.data-pg-0",
				DataMover:        "velero",
				Uploader:         "kopia",
			},
			{
				Namespace:        "erp",
				Claim:            "library",
				PersistentVolume: "pvc-3",
				Method:           csi,
				DataMoved:        true,
				Operation:        "du-1.library",
				DataMover:        "velero",
				Uploader:         "kopia",
				Incremental:      1 << 29,
			},
			{
				Namespace:           "erp",
				Claim:               "config",
				PersistentVolume:    "pvc-4",
				Method:              csi,
				Size:                1 << 30,
				SnapshotHandle:      "snap-0a1b2c",
				LocalSnapshotHandle: "snap-0a1b2c",
				SnapshotContent:     "snapcontent-77",
				CSIDriver:           "ebs.csi.aws.com",
				Result:              "succeeded",
				Started:             at(39),
				Completed:           at(38),
			},
			{
				Namespace:        "erp",
				Claim:            "old-disk",
				PersistentVolume: "pv-5",
				Method:           "NativeSnapshot",
				SnapshotHandle:   "snap-99",
				Result:           "succeeded",
				Phase:            "Completed",
				VolumeType:       "gp3",
				Zone:             "eu-1a",
				IOPS:             "3000",
			},
			{
				Namespace:        "erp",
				Claim:            "cache",
				PersistentVolume: "pvc-6",
				Skipped:          true,
				SkippedReason:    "matched action is 'skip' in chosen resource policies;podvolume: opted out due to annotation in pod cache-0;",
			},
		},
		operations: []artifact.Operation{
			{
				ID:        "du-1.library",
				Action:    "velero.io/csi-pvc-backupper",
				Resource:  "persistentvolumeclaims",
				Namespace: "erp",
				Name:      "library",
				Phase:     "Completed",
				Done:      6 << 30,
				Total:     6 << 30,
				Units:     "Bytes",
				Created:   at(39),
				Started:   at(38),
				Updated:   at(20),
			},
			{
				ID:          "du-1.data-oracle-0",
				Action:      "velero.io/csi-pvc-backupper",
				Resource:    "persistentvolumeclaims",
				Namespace:   "erp",
				Name:        "data-oracle-0",
				Phase:       "InProgress",
				Description: "InProgress",
				Done:        1900 << 30,
				Total:       4400 << 30,
				Units:       "Bytes",
				Created:     at(39),
				Started:     at(38),
				Updated:     at(1),
			},
			{
				ID:        "du-1.data-pg-0",
				Action:    "velero.io/csi-pvc-backupper",
				Resource:  "persistentvolumeclaims",
				Namespace: "erp",
				Name:      "data-pg-0",
				Phase:     "New",
				Created:   at(39),
			},
			{
				ID:        "x",
				Action:    "example.com/widgets",
				Group:     "example.com",
				Resource:  "widgets",
				Namespace: "erp",
				Name:      "w",
				Phase:     "Failed",
				Error:     "Asynchronous action timed out",
				Done:      3,
				Total:     12,
				Units:     "steps",
				Created:   at(39),
			},
		},
		documents: []cluster.ObjectDocument{
			{
				Kind: "DataUpload",
				Name: "nightly-erp-data-oracle-0",
				Lines: strings.Split(
					"apiVersion: velero.io/v2alpha1\nkind: DataUpload\nmetadata:\n  name: nightly-erp-data-oracle-0\nspec:\n  backupStorageLocation: default\n  sourcePVC: data-oracle-0\nstatus:\n  phase: InProgress",
					"\n",
				),
			},
		},
	}
}

// openedBackup is a model on the first job, at a page whose questions are answered.
func openedBackup(
	t *testing.T,
	snap *watch.Snapshot,
	width, height int,
	change func(*Options),
	pressed ...string,
) *Model {
	t.Helper()
	m := screen(t, snap, width, height, change)
	for _, key := range append([]string{"3", "enter"}, pressed...) {
		answerAll(t, m, press(t, m, key))
		m.View()
	}
	return m
}

func TestVolumePagesFrames(t *testing.T) {
	waiting, completed := uploading(
		veleroapi.BackupPhaseWaitingForPluginOperations,
	), uploading(
		veleroapi.BackupPhaseCompleted,
	)
	for _, s := range []struct {
		name string
		snap *watch.Snapshot
		keys []string
	}{
		{"volumes-moving", waiting, []string{"5"}},
		{"volumes-details", waiting, []string{"5", "down", "enter"}},
		{"volumes-ended", completed, []string{"v"}},
		{"operations", waiting, []string{"6"}},
		{"operations-details", waiting, []string{"6", "down", "enter"}},
		{"yaml-volumes", waiting, []string{"8", "G"}},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
			name := fmt.Sprintf("%s-%dx%d", s.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				m := openedBackup(t, s.snap, size[0], size[1], erpArchive().option, s.keys...)
				golden(t, name, plain(checkFrame(t, m)))
			})
		}
	}
}

// What cannot be read is said, with the reason, and what can be seen is there.
func TestVolumePagesWithoutRights(t *testing.T) {
	waiting := uploading(veleroapi.BackupPhaseWaitingForPluginOperations)
	denied := func(o *Options) {
		a := erpArchive()
		a.err = errors.New("not permitted: you may not create downloadrequests.velero.io in namespace velero")
		a.option(o)
	}
	readOnly := func(o *Options) {
		a := erpArchive()
		a.err = errors.New("read-only: to read this, veltui would have to create a DownloadRequest in the cluster")
		a.option(o)
	}
	none := func(o *Options) {
		fake(o).noArtifacts = "With --no-artifacts veltui does not read what Velero has stored."
	}
	absent := func(o *Options) {
		a := erpArchive()
		a.err = fmt.Errorf("fetching BackupVolumeInfos of nightly-erp: %w", artifact.ErrAbsent)
		a.option(o)
	}
	for _, c := range []struct {
		key    string
		change func(*Options)
		want   []string
	}{
		{"5", denied, []string{"unknown: not permitted", "create downloadrequests.velero.io", "erp/data-oracle-0", "moving"}},
		{"5", readOnly, []string{"read-only", "DownloadRequest", "erp/data-pg-0"}},
		{"5", none, []string{"--no-artifacts", "erp/data-oracle-0"}},
		{"5", absent, []string{"No volume info is stored", "1.13", "erp/data-oracle-0"}},
		{"6", denied, []string{"Item operations: 1 of 3 completed, 0 failed, 2 open", "not permitted"}},
		{"6", readOnly, []string{"1 of 3 completed", "read-only"}},
		{"6", none, []string{"1 of 3 completed", "--no-artifacts"}},
		{"YAML", denied, []string{"unknown: not permitted", "kind: Backup"}},
		{"YAML", none, []string{"not shown", "kind: Backup"}},
	} {
		m := openedBackup(t, waiting, 120, 40, c.change, c.key)
		frame := plain(checkFrame(t, m))
		for _, want := range c.want {
			if !strings.Contains(frame, want) {
				t.Errorf("page %s: no %q in\n%s", c.key, want, frame)
			}
		}
	}
}

// The list of operations is asked for when the page is opened, half a minute
// later again, and never while another page is open; the old list stays.
func TestOperationsAreAskedForAtMostEvery30s(t *testing.T) {
	a := erpArchive()
	now := noon
	snap := uploading(veleroapi.BackupPhaseWaitingForPluginOperations)
	m := openedBackup(t, snap, 120, 40, func(o *Options) {
		a.option(o)
		o.Clock = func() time.Time { return now }
	}, "5")
	count := func() (n int) {
		for _, what := range a.asked {
			if what == "operations" {
				n++
			}
		}
		return n
	}
	step := func(after time.Duration, want int, what string) {
		t.Helper()
		now = now.Add(after)
		answerAll(t, m, m.fetchMissing())
		if got := count(); got != want {
			t.Errorf("%s: asked %d times, want %d", what, got, want)
		}
	}
	step(time.Hour, 0, "on another page")
	answerAll(t, m, press(t, m, "6"))
	step(0, 1, "when it is opened")
	step(29*time.Second, 1, "29s later")
	step(2*time.Second, 2, "31s later")
	a.err = errors.New("the store is away")
	step(31*time.Second, 3, "again")
	frame := plain(checkFrame(t, m))
	for _, want := range []string{"The list is 31s old. It could not be read again: the store is away", "erp/data-oracle-0"} {
		if !strings.Contains(frame, want) {
			t.Errorf("no %q in\n%s", want, frame)
		}
	}
	answerAll(t, m, press(t, m, "5"))
	step(time.Hour, 3, "on another page")
}

// What is stored of a job that runs is read once more when it has ended.
func TestVolumeInfoIsReadAgainAtTheEnd(t *testing.T) {
	a := erpArchive()
	m := openedBackup(t, uploading(veleroapi.BackupPhaseWaitingForPluginOperations), 120, 40, a.option, "5")
	_, cmd := m.Update(snapshotAssessedMsg{m.currentCluster, m.currentCluster.estimates.AssessSnapshot(uploading(veleroapi.BackupPhaseCompleted), noon)})
	answerAll(t, m, cmd)
	answerAll(t, m, m.fetchMissing())
	n := 0
	for _, what := range a.asked {
		if what == "volumes" {
			n++
		}
	}
	if n != 2 {
		t.Errorf("asked for the volume info %d times", n)
	}
	if m = openedBackup(
		t,
		uploading(veleroapi.BackupPhaseInProgress),
		120,
		40,
		a.option,
		"5",
	); slices.Contains(
		a.asked[n:],
		"volumes",
	) {
		t.Error("asked for what is not stored yet")
	}
	if frame := plain(checkFrame(t, m)); !strings.Contains(frame, "known when all items are done") {
		t.Errorf("it does not say when the rest is known:\n%s", frame)
	}
}

// copied are the texts that a command sends to the clipboard.
func copied(cmd tea.Cmd, m *Model) (texts []string) {
	if cmd == nil {
		return nil
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			texts = append(texts, copied(c, m)...)
		}
	case jobview.NoticeMsg:
		m.Update(msg)
	default:
		if fmt.Sprintf("%T", msg) == "tea.setClipboardMsg" {
			texts = append(texts, fmt.Sprint(msg))
		}
	}
	return texts
}

func TestCopying(t *testing.T) {
	a := erpArchive()
	m := openedBackup(t, uploading(veleroapi.BackupPhaseWaitingForPluginOperations), 80, 24, a.option, "YAML")
	if got := copied(
		press(t, m, "y"),
		m,
	); !slices.Equal(got, []string{"apiVersion: velero.io/v1"}) ||
		m.notice != "Sent to the terminal's clipboard: one line, 24 bytes." {
		t.Errorf("y copied %q and said %q", got, m.notice)
	}
	got := copied(press(t, m, "Y"), m)
	if len(got) != 1 || !strings.HasPrefix(got[0], "apiVersion: velero.io/v1\nkind: Backup\n") ||
		!strings.Contains(got[0], "\n---\n# DataUpload nightly-erp-data-oracle-0\napiVersion: velero.io/v2alpha1\n") {
		t.Errorf("Y copied %q", got)
	}
	answerAll(t, m, press(t, m, "5"))
	m.View()
	if got := copied(
		press(t, m, "y"),
		m,
	); len(got) != 1 || !strings.Contains(got[0], "dataupload/nightly-erp-data-pg-0") ||
		strings.Contains(got[0], "\x1b") {
		t.Errorf("y copied %q", got)
	}
	if got := copied(
		press(t, m, "Y"),
		m,
	); len(got) != 1 || !strings.Contains(got[0], "erp/config") ||
		strings.Contains(got[0], "\x1b") {
		t.Errorf("Y copied %q", got)
	}

	a.documents[0].Lines = append(a.documents[0].Lines, strings.Repeat("x", jobview.MaxCopyBytes))
	m = openedBackup(t, uploading(veleroapi.BackupPhaseWaitingForPluginOperations), 80, 24, a.option, "YAML")
	if got := copied(
		press(t, m, "Y"),
		m,
	); len(got) != 0 || !strings.Contains(m.notice, "Not copied") ||
		!strings.Contains(m.notice, "Copy lines with y.") {
		t.Errorf(
			"Y copied %d bytes and said %q",
			len(base64.StdEncoding.EncodeToString([]byte(strings.Join(got, "")))),
			m.notice,
		)
	}
}

// TestNothingIsCopiedTooEarly: a part of the YAML is not called all of it.
func TestNothingIsCopiedTooEarly(t *testing.T) {
	a := erpArchive()
	m := screen(t, uploading(veleroapi.BackupPhaseWaitingForPluginOperations), 80, 24, a.option)
	press(t, m, "3")
	press(t, m, "enter")
	cmd := press(t, m, "YAML")
	m.View()
	if got := copied(press(t, m, "Y"), m); len(got) != 0 || !strings.Contains(m.notice, "still being read") {
		t.Errorf("Y copied %q and said %q", got, m.notice)
	}
	answerAll(t, m, cmd) // and before it is drawn:
	if got := copied(press(t, m, "Y"), m); len(got) != 1 || !strings.Contains(got[0], "# DataUpload") {
		t.Errorf("Y copied %q and said %q", got, m.notice)
	}
}

// TestVolumesResourcesAreReadAgainAtTheEnd holds that the YAML page does not show for
// good what the volumes' resources were while the job went on.
func TestVolumesResourcesAreReadAgainAtTheEnd(t *testing.T) {
	a := &archive{}
	m := screen(t, uploading(veleroapi.BackupPhaseWaitingForPluginOperations), 120, 40, a.option)
	press(t, m, "3")
	press(t, m, "enter")
	answerAll(t, m, press(t, m, "YAML"))
	if !slices.Equal(a.asked, []string{"volume resources"}) {
		t.Fatalf("asked for %q", a.asked)
	}
	m.applyAssessment(m.currentCluster, m.currentCluster.estimates.AssessSnapshot(uploading(veleroapi.BackupPhaseCompleted), noon))
	for range 2 { // once is enough
		answerAll(t, m, m.findJobScreen().FetchMissing())
	}
	if len(a.asked) != 2 {
		t.Errorf("asked %d times, want once more at the end", len(a.asked))
	}
}
