package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/collector"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/job/forecast"
	"github.com/veltui/veltui/watch"
)

const (
	estimateTimeout = 5 * time.Second // bounds the estimate of one restore
	// A command that reads the cluster once takes at most onceLooks closer looks, and begins none after onceBudget.
	onceLooks  = 6
	onceBudget = 20 * time.Second
)

// Monitor makes the assessments that commands print: it judges snapshots of one cluster, with the estimates that need
// no download, the closer looks, and how fast earlier restores went. Commands that say something of the same job at the
// same moment get it from here. Only one goroutine may call Assess and AssessOnce.
type Monitor struct {
	cluster   *Cluster
	estimates assess.Estimates
	estimated map[types.UID]bool
}

// Examination is an assessment of a snapshot that is read once, with what its closer looks found.
type Examination struct {
	*assess.Assessment
	Looks map[types.UID]CloserLook
	// Unseen are the wanted jobs, and those that they wait for, that need a closer look and got none: there are too
	// many, or the time is up.
	Unseen []*job.Job
}

// NewMonitor makes a monitor of a cluster. backupAge is the limit for the age of a schedule's last Completed backup, 0
// for none.
func (c *Cluster) NewMonitor(backupAge time.Duration) *Monitor {
	return &Monitor{cluster: c, estimates: assess.Estimates{BackupAge: backupAge}, estimated: map[types.UID]bool{}}
}

// SetStyle sets the style of the durations in what closer looks find.
func (m *Monitor) SetStyle(style human.Style) { m.cluster.Style = style }

// LeaveArtifacts has closer looks leave the object store alone.
func (m *Monitor) LeaveArtifacts() { m.cluster.NoArtifacts = true }

// Assess judges a snapshot for the present. It estimates the wanted restores that process items, and records what
// restores show about the speed of the cluster.
func (m *Monitor) Assess(ctx context.Context, snap *watch.Snapshot, wanted func(*job.Job) bool) *assess.Assessment {
	for _, j := range snap.Active {
		if j.Kind != job.Restore || j.Stage != job.StageItems || !wanted(j) || m.estimated[j.UID] {
			continue
		}
		m.estimated[j.UID] = true
		if err := m.estimate(ctx, snap, j); err != nil {
			m.cluster.Log.Info("no ETA by kind", "restore", j.Name, "error", err)
		}
	}
	assessed := m.estimates.Assess(snap, m.cluster.Clock())
	for _, rates := range m.estimates.Learned() {
		m.cluster.LearnRates(rates)
	}
	return assessed
}

// AssessOnce assesses a snapshot that is read once, with the closer looks that the verdicts on wanted jobs need: at
// these jobs, and first at those that they wait for. A job that was asked for by its name is looked at also while it
// moves: Velero may have logged since that it gave up.
func (m *Monitor) AssessOnce(
	ctx context.Context, snap *watch.Snapshot, wanted func(*job.Job) bool, byName bool,
) Examination {
	// One snapshot shows no speed: an estimate helps only with the rates of earlier restores.
	known := m.cluster.KnownRates()
	learned := known.Throttle.Valid() || len(known.Resources) > 0
	estimating := func(j *job.Job) bool { return learned && wanted(j) }
	examined := Examination{Assessment: m.Assess(ctx, snap, estimating), Looks: map[types.UID]CloserLook{}}
	began := m.cluster.Clock()
	for _, j := range lookOrder(examined.Assessment, wanted, byName) {
		if len(examined.Looks) == onceLooks || m.cluster.Clock().Sub(began) >= onceBudget || ctx.Err() != nil {
			examined.Unseen = append(examined.Unseen, j)
			continue
		}
		found, _ := m.cluster.LookCloser(ctx, examined.Assessment, j) // the assessment says why it failed
		m.estimates.Looked(j.UID, found.Look)
		examined.Looks[j.UID] = found
	}
	if len(examined.Looks) > 0 {
		examined.Assessment = m.Assess(ctx, snap, estimating)
	}
	return examined
}

// lookOrder lists the jobs that need a closer look: wanted ones, each after those that it waits for.
func lookOrder(a *assess.Assessment, wanted func(*job.Job) bool, byName bool) (order []*job.Job) {
	add := func(j *job.Job, evenMoving bool) {
		moves := evenMoving && a.Of(j).State == diagnosis.Progressing
		if (moves || a.Of(j).NeedsLook) &&
			!slices.ContainsFunc(order, func(o *job.Job) bool { return o.UID == j.UID }) {
			order = append(order, j)
		}
	}
	for _, j := range a.Snapshot.Active {
		if !wanted(j) {
			continue
		}
		for _, ahead := range diagnosis.InFront(j, a.Environment) {
			add(ahead, false)
		}
		add(j, byName)
	}
	return order
}

// LookCloser gathers the evidence about a job of an assessment that has not ended, for the next assessment. That
// assessment also says why a look failed.
func (m *Monitor) LookCloser(ctx context.Context, a *assess.Assessment, j *job.Job) error {
	found, err := m.cluster.LookCloser(ctx, a, j)
	m.estimates.Looked(j.UID, found.Look)
	return err
}

// estimate reads what a restore restores from the index of its backup, if that is on disk.
func (m *Monitor) estimate(ctx context.Context, snap *watch.Snapshot, j *job.Job) error {
	ctx, cancel := context.WithTimeout(ctx, estimateTimeout)
	defer cancel()
	spec, err := RestoreSpec(j)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(snap.Jobs, func(b *job.Job) bool { return b.Kind == job.Backup && b.Name == spec.BackupName })
	if i < 0 {
		return fmt.Errorf("there is no backup %s", spec.BackupName)
	}
	store, err := m.cluster.Store(snap.Namespace)
	if err != nil {
		return err
	}
	store.readOnly = true // an estimate beside other things is worth no download
	backup := &velerov1.Backup{ObjectMeta: metav1.ObjectMeta{Name: spec.BackupName, UID: snap.Jobs[i].UID}}
	index, err := store.Index(ctx, backup, nil)
	if err != nil {
		return err // it is not on disk
	}
	restore := collector.RestoreSpec{Restore: spec, Policy: SelectedBy(j), Server: ServerOf(snap.Server)}
	estimate, err := store.Estimate(ctx, index, restore, j.Started)
	if err != nil {
		return err
	}
	m.estimates.Set(j.UID, estimate, m.cluster.KnownRates(), forecast.LimitOf(snap.Server))
	return nil
}
