package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/internal/kubectl"
	"github.com/veltui/veltui/internal/velero/veleroapi"
	"github.com/veltui/veltui/watch"
)

const (
	estimateTimeout = 5 * time.Second // limits the estimate of one restore
	maxOnceLooks    = 6               // closer looks of a command that reads the cluster once, at most
)

// onceBudget is the time after which a command that reads the cluster once begins no more closer looks. It is a
// string so that tests on a slow machine can build a veltui with unlimited time, with -ldflags '-X ...'.
var onceBudget = "20s"

// Assessor makes the assessments that commands print: it judges snapshots of one cluster, with the estimates that need
// no download, the closer looks, and the speed of earlier restores. Commands that report on the same job at the same
// moment get the same assessment from it. Only one goroutine may call AssessSnapshot and AssessOnce.
type Assessor struct {
	cluster           *Cluster
	estimates         assess.Estimates
	estimateAttempted map[types.UID]bool
	// seesOnce is true if one snapshot is read, which shows no speed.
	seesOnce bool
}

// SingleAssessment is an assessment of a snapshot that is read once, with the results of its closer looks.
type SingleAssessment struct {
	*assess.Assessment
	CloserLooks map[types.UID]CloserLook
	// Unchecked are the wanted jobs, and those that they wait for, that need a closer look but got none: there are too
	// many, or the time is up.
	Unchecked []*job.Job
}

// NewAssessor returns an Assessor of a cluster. backupAge is the limit for the age of a schedule's last Completed
// backup, 0 for none; access is how the commands that it advises reach the cluster.
func (c *Cluster) NewAssessor(backupAge time.Duration, access kubectl.ClusterAccess) *Assessor {
	return &Assessor{
		cluster:           c,
		estimates:         assess.Estimates{BackupAge: backupAge, Access: access},
		estimateAttempted: map[types.UID]bool{},
	}
}

// SetStyle sets how closer looks format durations.
func (m *Assessor) SetStyle(style human.DurationStyle) { m.cluster.Style = style }

// SkipArtifacts makes closer looks leave the object store alone.
func (m *Assessor) SkipArtifacts() { m.cluster.NoArtifacts = true }

// AssessSnapshot judges a snapshot for the present. It estimates the wanted restores that process items, and records
// what restores reveal about the speed of the cluster.
func (m *Assessor) AssessSnapshot(
	ctx context.Context,
	snap *watch.Snapshot,
	wanted func(*job.Job) bool,
) *assess.Assessment {
	for _, j := range snap.Active {
		if j.Kind != job.Restore || j.Stage != job.StageItems || !wanted(j) || m.estimateAttempted[j.UID] {
			continue
		}
		m.estimateAttempted[j.UID] = true
		if err := m.estimateRestore(ctx, snap, j); err != nil {
			m.cluster.Log.Info("no ETA by kind", "restore", j.Name, "error", err)
		}
	}
	assessed := m.estimates.AssessSnapshot(snap, m.cluster.Clock())
	for _, rates := range m.estimates.TakeLearnedRates() {
		m.cluster.LearnRates(rates)
	}
	return assessed
}

// AssessOnce assesses a snapshot that is read once, with the closer looks that the verdicts on wanted jobs need: at
// these jobs, and first at the jobs that they wait for. A job requested by name gets a closer look even while it
// progresses: Velero may have logged since that it gave up.
func (m *Assessor) AssessOnce(
	ctx context.Context, snap *watch.Snapshot, wanted func(*job.Job) bool, byName bool,
) SingleAssessment {
	m.seesOnce = true
	examined := SingleAssessment{
		Assessment:  m.AssessSnapshot(ctx, snap, wanted),
		CloserLooks: map[types.UID]CloserLook{},
	}
	budget, err := time.ParseDuration(onceBudget)
	if err != nil {
		panic(fmt.Sprintf("built with a budget that is no duration: %v", err))
	}
	began := m.cluster.Clock()
	if silent := examined.ListSilentJobs(wanted); len(silent) > 0 {
		m.ReadServerLogs(ctx, examined.Assessment, silent)
		examined.Assessment = m.AssessSnapshot(ctx, snap, wanted)
	}
	for _, j := range lookOrder(examined.Assessment, wanted, byName) {
		if len(examined.CloserLooks) == maxOnceLooks || m.cluster.Clock().Sub(began) >= budget || ctx.Err() != nil {
			examined.Unchecked = append(examined.Unchecked, j)
			continue
		}
		found, _ := m.cluster.TakeCloserLook(ctx, examined.Assessment, j) // the assessment says why the look failed
		m.estimates.RecordCloserLook(j.UID, found.CloserLook)
		examined.CloserLooks[j.UID] = found
	}
	if len(examined.CloserLooks) > 0 {
		examined.Assessment = m.AssessSnapshot(ctx, snap, wanted)
	}
	return examined
}

// lookOrder lists the jobs that need a closer look: the wanted jobs, each after those that it waits for.
func lookOrder(a *assess.Assessment, wanted func(*job.Job) bool, byName bool) (order []*job.Job) {
	add := func(j *job.Job, evenMoving bool) {
		moves := evenMoving && a.AssessJob(j).State == diagnosis.Progressing
		if (moves || a.AssessJob(j).NeedsCloserLook) &&
			!slices.ContainsFunc(order, func(o *job.Job) bool { return o.UID == j.UID }) {
			order = append(order, j)
		}
	}
	for _, j := range a.Snapshot.Active {
		if !wanted(j) {
			continue
		}
		for _, ahead := range diagnosis.JobsInFront(j, a.World) {
			add(ahead, false)
		}
		add(j, byName)
	}
	return order
}

// TakeCloserLook gathers the evidence about a job of an assessment that has not ended, for the next assessment. That
// assessment also says why a look failed.
func (m *Assessor) TakeCloserLook(ctx context.Context, a *assess.Assessment, j *job.Job) error {
	found, err := m.cluster.TakeCloserLook(ctx, a, j)
	m.estimates.RecordCloserLook(j.UID, found.CloserLook)
	return err
}

// ReadServerLogs reads what the servers' logs say about silent jobs, for the next assessment, and reports whether it
// could.
func (m *Assessor) ReadServerLogs(ctx context.Context, a *assess.Assessment, jobs []*job.Job) (read bool) {
	found := m.cluster.ReadServerLogs(ctx, a, jobs)
	m.estimates.RecordLogs(found)
	return found.Err == ""
}

// estimateRestore reads from the index of the backup, if that is on disk, what a restore restores.
func (m *Assessor) estimateRestore(ctx context.Context, snap *watch.Snapshot, j *job.Job) error {
	ctx, cancel := context.WithTimeout(ctx, estimateTimeout)
	defer cancel()
	spec, err := FindRestoreSpec(j)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(snap.Jobs, func(b *job.Job) bool { return b.Kind == job.Backup && b.Name == spec.BackupName })
	if i < 0 {
		return fmt.Errorf("there is no backup %s", spec.BackupName)
	}
	store, err := m.cluster.NewBackupStore(snap.Namespace)
	if err != nil {
		return err
	}
	store.readOnly = true // an estimate that nobody asked for is not worth a download
	backup := &veleroapi.Backup{ObjectMeta: metav1.ObjectMeta{Name: spec.BackupName, UID: snap.Jobs[i].UID}}
	index, err := store.ReadIndex(ctx, backup, nil)
	if err != nil {
		return err // the index is not on disk
	}
	restore := collector.RestoreInput{Restore: spec, Policy: SelectionPolicy(j), Server: BuildCollectorServer(snap.Server)}
	estimate, err := store.EstimateRestoreSpec(ctx, index, restore, j.Started)
	if err != nil {
		return err
	}
	known := m.cluster.LoadRates()
	if m.seesOnce && !known.Throttle.IsValid() && len(known.Resources) == 0 {
		estimate.Steps = nil // without the rates of earlier restores, the time left would be a guess
	}
	m.estimates.Set(j.UID, estimate, known, forecast.ClientLimitOf(snap.Server))
	return nil
}
