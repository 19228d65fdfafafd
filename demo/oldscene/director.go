package oldscene

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// byDirector marks the jobs that a director started, so that it can clear them
// away again.
const byDirector = "demo.veltui/started"

// director keeps jobs coming: a restore or two in the line, a few backups that
// somebody asked for by hand, and no more ended ones than a person wants to
// see.
type director struct {
	api     client.Client
	options Options
	random  *rand.Rand
	// asked and played count the backups and restores that it started.
	asked, played int
}

// The bounds of what a director has on stage.
const (
	directorPeriod   = 4 * time.Second
	waitingRestores  = 2
	backupsByHand    = 3
	queuedMax        = 6
	endedRestoresMax = 15
	byHandTTL        = 30 * time.Minute
)

func newDirector(api client.Client, o Options) *director {
	return &director{api: api, options: o, random: rand.New(rand.NewPCG(o.Seed, 1))}
}

func (d *director) run(ctx context.Context) {
	for _, b := range openingBackups {
		d.report(d.startBackup(ctx, b))
	}
	ticker := time.NewTicker(max(time.Duration(float64(directorPeriod)/d.options.Speed), 100*time.Millisecond))
	defer ticker.Stop()
	for {
		d.report(d.step(ctx))
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (d *director) report(err error) {
	if err != nil && d.options.Log != nil {
		d.options.Log("director: %v", err)
	}
}

// step looks at the stage and starts at most one restore and one backup.
func (d *director) step(ctx context.Context) error {
	var backups velerov1.BackupList
	var restores velerov1.RestoreList
	if err := firstError(
		func() error { return d.api.List(ctx, &backups, client.InNamespace(Namespace)) },
		func() error { return d.api.List(ctx, &restores, client.InNamespace(Namespace)) },
	); err != nil {
		return fmt.Errorf("looking at the stage: %w", err)
	}
	if err := d.clearAway(ctx, restores.Items); err != nil {
		return err
	}
	waiting := 0
	for _, r := range restores.Items {
		if r.Status.Phase == "" || r.Status.Phase == velerov1.RestorePhaseNew {
			waiting++
		}
	}
	if waiting < waitingRestores {
		if err := d.startRestore(ctx, backups.Items); err != nil {
			return err
		}
	}
	byHand, queued := 0, 0
	for _, b := range backups.Items {
		if b.Status.Phase == velerov1.BackupPhaseQueued {
			queued++
		}
		if b.Labels[byDirector] != "" && b.Status.CompletionTimestamp == nil && b.Status.Phase != velerov1.BackupPhaseFailedValidation {
			byHand++
		}
	}
	if byHand >= backupsByHand+len(openingBackups) || queued >= queuedMax {
		return nil
	}
	return d.startBackup(ctx, askedFor[d.random.IntN(len(askedFor))])
}

// clearAway deletes the oldest ended restores that a director started.
func (d *director) clearAway(ctx context.Context, restores []velerov1.Restore) error {
	var ended []velerov1.Restore
	for _, r := range restores {
		if r.Labels[byDirector] != "" && r.DeletionTimestamp == nil &&
			(r.Status.CompletionTimestamp != nil || r.Status.Phase == velerov1.RestorePhaseFailedValidation) {
			ended = append(ended, r)
		}
	}
	slices.SortFunc(ended, func(a, b velerov1.Restore) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	for n := range max(len(ended)-endedRestoresMax, 0) {
		if err := client.IgnoreNotFound(d.api.Delete(ctx, &ended[n])); err != nil {
			return fmt.Errorf("clearing restore %s away: %w", ended[n].Name, err)
		}
	}
	return nil
}

// request is a backup that somebody asks for by hand.
type request struct {
	name       string
	namespaces []string
	fsBackup   bool
	snapshots  bool
}

// openingBackups stand on the stage from the first moment: one that waits half
// an hour for its volumes, one behind it, and one behind the orphan.
var openingBackups = []request{
	{"media-archive", []string{"media"}, true, false},
	{"media-thumbnails", []string{"media"}, false, true},
	{"erp-before-upgrade", []string{"erp"}, true, false},
}

var askedFor = []request{
	{"shop-before-release", []string{"shop"}, false, true},
	{"web-config", []string{"web"}, false, false},
	{"shop-and-billing", []string{"shop", "billing"}, false, false},
	{"crm-before-import", []string{"crm"}, true, false},
	{"ops-snapshot", []string{"ops"}, true, false},
	{"billing-month-end", []string{"billing"}, true, false},
}

func (d *director) startBackup(ctx context.Context, r request) error {
	d.asked++
	b := &velerov1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: fmt.Sprintf("%s-%d", r.name, d.asked), Labels: map[string]string{byDirector: "true"}},
		Spec: velerov1.BackupSpec{
			IncludedNamespaces: r.namespaces, TTL: metav1.Duration{Duration: d.ttl()},
			DefaultVolumesToFsBackup: ptr.To(r.fsBackup), SnapshotMoveData: ptr.To(r.snapshots),
		},
	}
	if err := d.api.Create(ctx, b); err != nil {
		return fmt.Errorf("starting backup %s: %w", b.Name, err)
	}
	return nil
}

// ttl is shorter where things go faster, so that what piles up is bounded. The
// garbage collection reads the clock on the wall.
func (d *director) ttl() time.Duration {
	return max(time.Duration(float64(byHandTTL)/d.options.Speed), 2*time.Minute).Round(time.Second)
}

// play is a restore that the director starts in turn.
type play struct {
	name, schedule string
	spec           velerov1.RestoreSpec
}

// plays: the first ones set the stage with a restore that waits for volumes, a
// PartiallyFailed one and one that fails its validation.
var plays = []play{
	{"ops-trial", "ops-nightly", velerov1.RestoreSpec{IncludedNamespaces: []string{"ops"}, NamespaceMapping: map[string]string{"ops": "ops-trial"}}},
	{"erp-check", "erp-nightly", velerov1.RestoreSpec{IncludedNamespaces: []string{"erp"}, ExcludedNamespaces: []string{"erp"}}},
	{"shop-drill", "shop-hourly", velerov1.RestoreSpec{IncludedNamespaces: []string{"shop"}, NamespaceMapping: map[string]string{"shop": "shop-drill"}}},
	{"billing-copy", "billing-frequent", velerov1.RestoreSpec{IncludedNamespaces: []string{"billing"}, NamespaceMapping: map[string]string{"billing": "billing-copy"}}},
	{"everything-drill", "all-weekly", velerov1.RestoreSpec{NamespaceMapping: map[string]string{
		"shop": "drill-shop", "billing": "drill-billing", "crm": "drill-crm", "media": "drill-media", "ops": "drill-ops", "erp": "drill-erp", "web": "drill-web",
	}}},
	{"web-settings", "web-frequent", velerov1.RestoreSpec{IncludedNamespaces: []string{"web"}, IncludedResources: []string{"configmaps", "secrets"}}},
	{"crm-staging", "crm-nightly", velerov1.RestoreSpec{IncludedNamespaces: []string{"crm"}, NamespaceMapping: map[string]string{"crm": "crm-staging"}}},
	{"shop-frontend", "shop-hourly", velerov1.RestoreSpec{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"}}}},
	{"media-copy", "all-weekly", velerov1.RestoreSpec{IncludedNamespaces: []string{"media"}, NamespaceMapping: map[string]string{"media": "media-copy"}}},
}

func (d *director) startRestore(ctx context.Context, backups []velerov1.Backup) error {
	p := plays[d.played%len(plays)]
	d.played++
	r := &velerov1.Restore{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: fmt.Sprintf("%s-%d", p.name, d.played), Labels: map[string]string{byDirector: "true"}},
		Spec:       *p.spec.DeepCopy(),
	}
	if r.Spec.BackupName = newestCompleted(backups, p.schedule); r.Spec.BackupName == "" {
		r.Spec.BackupName = newestCompleted(backups, "all-weekly")
	}
	if err := d.api.Create(ctx, r); err != nil {
		return fmt.Errorf("starting restore %s: %w", r.Name, err)
	}
	return nil
}

func newestCompleted(backups []velerov1.Backup, schedule string) string {
	name, newest := "", time.Time{}
	for _, b := range backups {
		if b.Labels[velerov1.ScheduleNameLabel] == schedule && b.Status.Phase == velerov1.BackupPhaseCompleted && b.Status.StartTimestamp.After(newest) {
			name, newest = b.Name, b.Status.StartTimestamp.Time
		}
	}
	return name
}
