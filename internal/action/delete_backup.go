package action

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	"github.com/vmware-tanzu/velero/pkg/label"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
)

const deletionRequest job.Kind = "DeleteBackupRequest"

// backupDeletion is what is known of a backup to delete.
type backupDeletion struct {
	velerov1.Backup
	restores, running []string // of it, and those that may read it now
	requests          []string // earlier requests
	volumes           string
	copies            backupCopies
}

// deleteBackupAction creates the request of `velero backup delete` (pkg/cmd/cli/backup/delete.go Run; 1.14 to 1.18.3),
// but under a name that follows from the backup's state: sent twice, or by two people, it is one request.
type deleteBackupAction struct{ baseApplicable }

func (deleteBackupAction) name() Name { return DeleteBackup }

func (deleteBackupAction) verb() verb { return creates }

func (deleteBackupAction) refusedTitle() string { return "delete nothing" }

func (deleteBackupAction) marks() marks { return deleted }

func (deleteBackupAction) event() string { return "DeletionRequested" }

func (deleteBackupAction) did(*Plan) string { return "requested its deletion" }

func (deleteBackupAction) othersDid(*unstructured.Unstructured) string {
	return "requested the same deletion"
}

func (deleteBackupAction) endedByVelero() bool { return true }

// gather finds what Velero would delete and what it would refuse
// (pkg/controller/backup_deletion_controller.go Reconcile; 1.14 to 1.18.3).
func (deleteBackupAction) gather(g *gathering) {
	o, e, d := g.e.proposal, g.e, &g.e.proposal.deletion
	if !g.deletable(&d.Backup) {
		return
	}
	origin, why := velero.OriginOf(&d.Backup)
	o.ledger.Note(origin == velero.OriginHere, diagnosis.SourceAPI, d.CreationTimestamp.Time, "%s", why)
	if origin != velero.OriginHere && !o.request.FromAnotherCluster {
		v := refuse(
			"If no other cluster needs it: --from-another-cluster. The object alone, which Velero makes again while "+
				"there are files: kubectl delete "+qualified(job.Backup)+" -n "+g.o.Namespace+" "+d.Name,
			"%s; deleting it may delete another cluster's only copy",
			why,
		)
		v.doubt = origin == velero.OriginUnknown
		o.refuse(v)
	}
	g.ask(
		func() { g.may("create", deletionRequest) },
		g.servers,
		func() { g.usableLocation(d.Spec.StorageLocation, true) },
		func() { each(g, job.Restore, d.addRestore) },
		func() { each(g, deletionRequest, d.addRequest) },
		func() { each(g, job.Backup, d.copies.add) },
		g.judgeCopies,
		func() { d.volumes = human.Count(len(g.volumes(job.Backup)), "volume") },
	)
	if slices.Sort(d.restores); e.Volumes != Yes {
		d.volumes = "its volumes, which could not be listed"
	}
	slices.Sort(d.requests)
	if e.Location == nil {
		o.refuse(
			unknown(
				mendLocation,
				"whether Velero can delete from the backup's storage location",
				cmp.Or(e.LocationWhy, "it names none"),
			),
		)
	}
	if n := len(d.running); n > 0 {
		o.refuse(
			refuse(
				"Wait until they have ended: veltui get restores",
				"%s it: %s",
				human.Plural(n, "restore reads", "restores read"),
				human.List(d.running, 5),
			),
		)
	}
}

// each reads all objects of a kind. Those that cannot be listed are a reason not to delete.
func each[O any](g *gathering, kind job.Kind, add func(*gathering, *unstructured.Unstructured, *O)) {
	raw, why := g.all(kind)
	if why != "" {
		g.e.proposal.refuse(
			unknown(
				"Ask for the right to list "+kind.Resource()+" in namespace "+g.o.Namespace+".",
				"what else it deletes",
				why,
			),
		)
		return
	}
	for i := range raw {
		o := new(O)
		if _, err := convert(&raw[i], o); err == nil {
			add(g, &raw[i], o)
		}
	}
}

// addRestore: Velero deletes the restores of a backup, and does not ask whether they run.
func (d *backupDeletion) addRestore(g *gathering, raw *unstructured.Unstructured, r *velerov1.Restore) {
	s := &r.Spec
	newest := s.BackupName == "" && s.ScheduleName != "" && s.ScheduleName == d.Labels[velerov1.ScheduleNameLabel]
	if s.BackupName == d.Name {
		d.restores = append(d.restores, r.Name)
	}
	if (s.BackupName == d.Name || newest) && (!velero.TerminalPhase(string(r.Status.Phase)) || runsOn(raw, g.e.At)) {
		d.running = append(d.running, r.Name)
	}
}

// confirm reads the backup again, which the request names without its uid, and lists what the consent stands on and the
// version of the backup does not show. Velero deletes the restores with the backup, also a restore that began after the
// last look, and does not ask whether it runs; and a copy may be deleted meanwhile, by the same command in another
// terminal.
func (deleteBackupAction) confirm(ctx context.Context, x *execution) error {
	backup, err := x.read(ctx, x.evidence.Object)
	switch {
	case err != nil:
		return err
	case backup == nil || !sameVersion(backup, x.evidence.Object):
		return errChanged
	}
	shown, request := &x.evidence.proposal.deletion, x.evidence.proposal.request
	g := x.regather(ctx, &proposal{request: request, deletion: backupDeletion{Backup: shown.Backup}})
	now := &g.e.proposal.deletion
	g.ask(func() { g.usableLocation(shown.Spec.StorageLocation, true) },
		func() { each(g, job.Restore, now.addRestore) },
		func() { each(g, deletionRequest, now.addRequest) },
		func() { each(g, job.Backup, now.copies.add) }, g.judgeCopies)
	slices.Sort(now.restores)
	slices.Sort(now.requests)
	switch {
	case g.err != nil:
		return g.err
	case g.e.proposal.refusal.refusal != "", len(now.running) > 0, !slices.Equal(now.restores, shown.restores),
		!slices.Equal(now.requests, shown.requests), now.copies.last != shown.copies.last:
		return errChanged
	}
	return nil
}

// regather returns a gathering that looks again at what a proposal stands on, beside the evidence of the last look.
func (x *execution) regather(ctx context.Context, again *proposal) *gathering {
	e := *x.evidence
	e.At, e.proposal = x.f.o.Now(), again
	return &gathering{Engine: x.f, ctx: ctx, client: x.f.access.get(), e: &e}
}

// addRequest: for a day Velero ignores a request that it has begun with, and then drops it.
func (d *backupDeletion) addRequest(g *gathering, raw *unstructured.Unstructured, r *velerov1.DeleteBackupRequest) {
	d.copies.requests = append(d.copies.requests, r)
	if r.Spec.BackupName != d.Name {
		return
	}
	d.requests = append(d.requests, r.Name)
	o, s, began := g.e.proposal, g.e.Server, job.LastWritten(raw)
	left := s.Visible &&
		!slices.ContainsFunc(s.Pods, func(p velero.ServerPod) bool { return !p.StartedAt.After(began) })
	switch phase := string(r.Status.Phase); {
	case phase == velero.DeletionProcessed:
		o.ledger.Doubts(
			diagnosis.SourceAPI,
			began,
			"request %s failed, and Velero does not try it again: %s",
			r.Name,
			human.Shorten(strings.Join(r.Status.Errors, "; "), 300),
		)
	case phase == velero.DeletionInProgress && left:
		o.ledger.Doubts(
			diagnosis.SourceAPI,
			began,
			"a server that is gone began with request %s, and none goes on with it",
			r.Name,
		)
	default:
		o.refuse(
			refuse(
				"Follow it: veltui get deletions",
				"its deletion is requested already: %s is %s",
				r.Name,
				orNone(phase),
			),
		)
	}
}

func (deleteBackupAction) fill(e *Evidence, p *Plan) bool {
	d := &e.proposal.deletion
	if d.copies.last != "" && !p.request.LastCopy {
		return p.refuse(d.refuseLast(p))
	}
	p.Title = "delete backup " + p.Name
	name := strings.TrimRight(p.Name[:min(len(p.Name), 200)], ".-")
	state := sha256.Sum256([]byte(string(p.UID) + e.Object.GetResourceVersion() + strings.Join(d.requests, " ")))
	r := bare(jobKind(deletionRequest), p.Namespace, fmt.Sprintf("%s-%x", name, state[:5]))
	r.SetLabels(
		map[string]string{velerov1.BackupNameLabel: label.GetValidName(p.Name), velerov1.BackupUIDLabel: string(p.UID)},
	)
	r.Object["spec"] = map[string]any{"backupName": p.Name}
	p.targets = []*unstructured.Unstructured{r}
	snapshots := d.Status.VolumeSnapshotsCompleted + d.Status.CSIVolumeSnapshotsCompleted
	p.Will = []string{
		"create DeleteBackupRequest " + r.GetName() + ", only if nothing has changed the backup since",
		fmt.Sprintf(
			"have Velero delete its files in storage location %s, the data of %s, and %s",
			d.Spec.StorageLocation,
			d.volumes,
			human.Count(snapshots, "snapshot"),
		),
	}
	if len(d.restores) > 0 {
		p.Will = append(
			p.Will,
			fmt.Sprintf(
				"have Velero delete its %s, with log and results: %s",
				human.Count(len(d.restores), "restore"),
				human.List(d.restores, 10),
			),
		)
	}
	if d.copies.last != "" {
		p.Title += ", " + d.copies.last
		p.Will = append(p.Will, "delete "+d.copies.last+": "+d.copies.loss)
	}
	if origin, why := velero.OriginOf(&d.Backup); origin != velero.OriginHere {
		p.Will = append(p.Will, "delete it for every cluster that reads that storage location: "+why)
	}
	p.WillNot = []string{
		"protect another backup that takes this name just before Velero looks: the request names no uid",
		"delete what its restores have restored",
	}
	p.Then = []string{
		"Velero deletes one backup at a time, and waits for jobs that use the same repository; nothing brings it back",
	}
	p.Commands = veleroCommand(p, "backup", "delete", p.Name, "--confirm")
	return true
}

// misdirected ends an execution whose request is about another backup, which has taken the name. Velero
// deletes whatever backup has the name when it takes the request
// (pkg/controller/backup_deletion_controller.go Reconcile, 1.18.3); it drops the request once it has deleted
// one.
func (x *execution) misdirected(other, request *unstructured.Unstructured, isOver bool) error {
	phase := phaseOf(request)
	failed, _, _ := unstructured.NestedStringSlice(request.Object, "status", "errors")
	switch {
	case isOver:
		return x.stop(
			Settled,
			"the backup is deleted; another one of its name was made at %s (uid %s), and no request is left that "+
				"deletes that one",
			x.clock(other.GetCreationTimestamp().Time),
			other.GetUID(),
		)
	case phase == velero.DeletionProcessed:
		return x.stop(
			NoEffect,
			"another backup has its name now (uid %s); Velero did not delete it, and does not try again: %s",
			other.GetUID(),
			human.Shorten(sanitize.String(strings.Join(failed, "; ")), 500),
		)
	}
	withdraw := x.undoCommand(request.GetNamespace(), []string{"delete", qualified(deletionRequest), request.GetName()})
	if phase == velero.DeletionInProgress {
		return x.stop(
			Misdirected,
			"another backup has its name now (uid %s, made at %s), and Velero has begun to delete what has the name: "+
				"it may be THAT one; look at it at once",
			other.GetUID(),
			x.clock(other.GetCreationTimestamp().Time),
		)
	}
	x.out.Undo = withdraw
	return x.stop(
		Misdirected,
		"another backup has its name now (uid %s, made at %s): Velero will delete THAT one, unless you withdraw the request "+
			"before Velero takes it",
		other.GetUID(),
		x.clock(other.GetCreationTimestamp().Time),
	)
}

// observe waits until the backup is gone, or its request says why it is not.
func (deleteBackupAction) observe(ctx context.Context, x *execution, late bool) error {
	backup, err := x.once(ctx, x.subject)
	if isGone(err) {
		return x.stop(Settled, "the %s is deleted", x.plan.Kind.Word())
	}
	if err != nil {
		return err
	}
	x.showPhase(backup)
	o, err := x.once(ctx, x.plan.targets[0])
	isOver := isGone(err)
	if isOver {
		o, err = x.plan.targets[0], nil
	}
	if err != nil {
		return err
	}
	if backup.GetUID() != x.subject.GetUID() {
		return x.misdirected(backup, o, isOver)
	}
	switch failed, _, _ := unstructured.NestedStringSlice(o.Object, "status", "errors"); {
	case len(failed) > 0:
		return x.stop(
			NoEffect,
			"Velero did not delete it, and does not try again: %s",
			human.Shorten(sanitize.String(strings.Join(failed, "; ")), 500),
		)
	case late && phaseOf(o) == velero.DeletionInProgress:
		return x.stop(Moving, "Velero is deleting it; follow it with veltui get deletions")
	case late:
		return x.stop(
			NoEffect,
			"Velero has not begun with the request, or dropped it for another; see veltui get deletions",
		)
	}
	return nil
}
