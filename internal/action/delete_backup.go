package action

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

const deletionRequestKind job.Kind = "DeleteBackupRequest"

// backupDeletion is what is known of a backup to delete.
type backupDeletion struct {
	veleroapi.Backup
	restores, runningRestores []string // all restores of the backup, and those that may read it now
	earlierRequests           []string // earlier requests to delete the backup
	volumesText               string
	copies                    backupCopies
}

// deleteBackupAction creates the same request as `velero backup delete` (pkg/cmd/cli/backup/delete.go Run; 1.14 to
// 1.18.3), but under a name derived from the backup's state: sent twice, or by two people, it is one request.
type deleteBackupAction struct{ baseApplicable }

func (deleteBackupAction) actionKind() Kind { return DeleteBackup }

func (deleteBackupAction) requestVerb() requestVerb { return verbCreate }

func (deleteBackupAction) refusedTitle() string { return "delete nothing" }

func (deleteBackupAction) annotationPrefix() annotationPrefix { return deletedPrefix }

func (deleteBackupAction) eventReason() string { return "DeletionRequested" }

func (deleteBackupAction) doneText(*Plan) string { return "requested its deletion" }

func (deleteBackupAction) doneByOtherText(*unstructured.Unstructured) string {
	return "requested the same deletion"
}

func (deleteBackupAction) waitsForVelero() bool { return true }

// gatherFacts finds what Velero would delete and what it would refuse to delete
// (pkg/controller/backup_deletion_controller.go Reconcile; 1.14 to 1.18.3).
func (deleteBackupAction) gatherFacts(g *gatherer) {
	o, e, d := g.evidence.proposal, g.evidence, &g.evidence.proposal.deletion
	if !g.checkDeletable(&d.Backup) {
		return
	}
	g.checkDeletionLocation(d)
	origin, why := velero.OriginOf(&d.Backup)
	o.facts.AddFact(origin == velero.OriginHere, diagnosis.SourceAPI, d.CreationTimestamp.Time, "%s", why)
	if origin != velero.OriginHere && !o.request.AllowOtherCluster {
		v := newRefusal(
			"If no other cluster needs it: --from-another-cluster. The object alone, which Velero makes again while "+
				"there are files: kubectl delete "+qualifiedResource(job.Backup)+" -n "+g.options.Namespace+" "+d.Name,
			"%s; deleting it may delete another cluster's only copy",
			why,
		)
		v.isInDoubt = origin == velero.OriginUnknown
		o.noteRefusal(v)
	}
	g.runQueries(
		func() { g.checkRequestAccess("create", deletionRequestKind) },
		g.noteServers,
		func() { addEachOfKind(g, job.Restore, d.addRestore) },
		func() { addEachOfKind(g, deletionRequestKind, d.addRequest) },
		func() { addEachOfKind(g, job.Backup, d.copies.addBackup) },
		g.judgeCopies,
		func() { d.volumesText = human.Count(len(g.fetchVolumes(job.Backup)), "volume") },
	)
	if slices.Sort(d.restores); e.VolumesListed != Yes {
		d.volumesText = "its volumes, which could not be listed"
	}
	slices.Sort(d.earlierRequests)
	if e.Location == nil {
		o.noteRefusal(
			refuseUnknown(
				fixLocationAdvice,
				"whether Velero can delete from the backup's storage location",
				cmp.Or(e.LocationUnchecked, "it names none"),
			),
		)
	}
	if n := len(d.runningRestores); n > 0 {
		o.noteRefusal(
			newRefusal(
				"Wait until they have ended: veltui get restores",
				"%s it: %s",
				human.CountForms(n, "restore reads", "restores read"),
				human.JoinNames(d.runningRestores, 5),
			),
		)
	}
}

// checkDeletionLocation checks first whether Velero can delete from the backup's location: without it no consent helps.
func (g *gatherer) checkDeletionLocation(d *backupDeletion) {
	name := d.Spec.StorageLocation
	if name == "" {
		return
	}
	if g.fetchNamedLocation(name); !g.evidence.LocationMissing {
		g.noteLocationUsable(name, true)
		return
	}
	g.evidence.proposal.noteRefusal(
		newRefusal(
			"Create the location again, and Velero can delete its files. If it is gone for good, delete the object alone, "+
				"which Velero does not make again without the location: kubectl delete "+qualifiedResource(job.Backup)+
				" -n "+g.options.Namespace+" "+d.Name,
			"storage location %s does not exist: Velero would refuse it",
			name,
		),
	)
}

// addEachOfKind reads all objects of a kind. A kind that cannot be listed is a reason not to delete.
func addEachOfKind[O any](g *gatherer, kind job.Kind, add func(*gatherer, *unstructured.Unstructured, *O)) {
	raw, why := g.listVeleroKind(kind)
	if why != "" {
		g.evidence.proposal.noteRefusal(
			refuseUnknown(
				"Ask for the right to list "+kind.Resource()+" in namespace "+g.options.Namespace+".",
				"what else it deletes",
				why,
			),
		)
		return
	}
	for i := range raw {
		o := new(O)
		if _, err := convertObject(&raw[i], o); err == nil {
			add(g, &raw[i], o)
		}
	}
}

// addRestore notes a restore of the backup. Velero deletes the restores of a backup without checking whether they
// run.
func (d *backupDeletion) addRestore(g *gatherer, raw *unstructured.Unstructured, r *veleroapi.Restore) {
	s := &r.Spec
	newest := s.BackupName == "" && s.ScheduleName != "" && s.ScheduleName == d.Labels[veleroapi.ScheduleNameLabel]
	if s.BackupName == d.Name {
		d.restores = append(d.restores, r.Name)
	}
	if (s.BackupName == d.Name || newest) &&
		(!velero.IsTerminalPhase(string(r.Status.Phase)) || isStillRunning(raw, g.evidence.Now)) {
		d.runningRestores = append(d.runningRestores, r.Name)
	}
}

// checkUnchanged reads the backup again, because the request names it without its uid, and lists what the consent
// rests on and the backup's version does not show. Velero deletes the restores with the backup, also a restore that
// began after the evidence was gathered, and does not check whether it runs; and a copy may be deleted meanwhile, by
// the same command in another terminal.
func (deleteBackupAction) checkUnchanged(ctx context.Context, x *execution) error {
	backup, err := x.readObject(ctx, x.evidence.Object)
	switch {
	case err != nil:
		return err
	case backup == nil || !isSameVersion(backup, x.evidence.Object):
		return errChanged
	}
	shown, request := &x.evidence.proposal.deletion, x.evidence.proposal.request
	g := x.newGatherer(ctx, &proposal{request: request, deletion: backupDeletion{Backup: shown.Backup}})
	now := &g.evidence.proposal.deletion
	g.runQueries(func() { g.checkLocationUsable(shown.Spec.StorageLocation, true) },
		func() { addEachOfKind(g, job.Restore, now.addRestore) },
		func() { addEachOfKind(g, deletionRequestKind, now.addRequest) },
		func() { addEachOfKind(g, job.Backup, now.copies.addBackup) }, g.judgeCopies)
	slices.Sort(now.restores)
	slices.Sort(now.earlierRequests)
	switch {
	case g.err != nil:
		return g.err
	case g.evidence.proposal.refusal.refusal != "",
		len(now.runningRestores) > 0,
		!slices.Equal(now.restores, shown.restores),
		!slices.Equal(now.earlierRequests, shown.earlierRequests),
		now.copies.lastCopyOf != shown.copies.lastCopyOf:
		return errChanged
	}
	return nil
}

// newGatherer returns a gathering that reads again what a proposal rests on, with the last gathered evidence.
func (x *execution) newGatherer(ctx context.Context, again *proposal) *gatherer {
	e := *x.evidence
	e.Now, e.proposal = x.engine.options.Now(), again
	return &gatherer{Engine: x.engine, ctx: ctx, client: x.engine.connection.currentClient(), evidence: &e}
}

// addRequest notes a request. For a day Velero ignores a request that it has begun to process, and then drops it.
func (d *backupDeletion) addRequest(g *gatherer, raw *unstructured.Unstructured, r *veleroapi.DeleteBackupRequest) {
	d.copies.requests = append(d.copies.requests, r)
	if r.Spec.BackupName != d.Name {
		return
	}
	d.earlierRequests = append(d.earlierRequests, r.Name)
	o, s, began := g.evidence.proposal, g.evidence.Server, job.LastWritten(raw)
	left := s.Visible &&
		!slices.ContainsFunc(s.Pods, func(p velero.ServerPod) bool { return !p.StartedAt.After(began) })
	switch phase := string(r.Status.Phase); {
	case phase == velero.DeletionProcessed:
		o.facts.AddDoubt(
			diagnosis.SourceAPI,
			began,
			"request %s failed, and Velero does not try it again: %s",
			r.Name,
			human.Shorten(strings.Join(r.Status.Errors, "; "), 300),
		)
	case phase == velero.DeletionInProgress && left:
		o.facts.AddDoubt(
			diagnosis.SourceAPI,
			began,
			"a server that is gone began with request %s, and none goes on with it",
			r.Name,
		)
	default:
		o.noteRefusal(
			newRefusal(
				"Follow it: veltui get deletions",
				"its deletion is requested already: %s is %s",
				r.Name,
				phaseOrNone(phase),
			),
		)
	}
}

func (deleteBackupAction) fillPlan(e *Evidence, p *Plan) bool {
	d := &e.proposal.deletion
	if d.copies.lastCopyOf != "" && !p.request.AllowLastCopy {
		return p.applyRefusal(d.refuseLastCopy(p))
	}
	p.Title = "delete backup " + p.Name
	name := strings.TrimRight(p.Name[:min(len(p.Name), 200)], ".-")
	state := sha256.Sum256([]byte(string(p.UID) + e.Object.GetResourceVersion() + strings.Join(d.earlierRequests, " ")))
	r := newObject(jobGVK(deletionRequestKind), p.Namespace, fmt.Sprintf("%s-%x", name, state[:5]))
	r.SetLabels(
		map[string]string{veleroapi.BackupNameLabel: veleroapi.ValidLabel(p.Name), veleroapi.BackupUIDLabel: string(p.UID)},
	)
	r.Object["spec"] = map[string]any{"backupName": p.Name}
	p.targets = []*unstructured.Unstructured{r}
	snapshots := d.Status.VolumeSnapshotsCompleted + d.Status.CSIVolumeSnapshotsCompleted
	p.Will = []string{
		"create DeleteBackupRequest " + r.GetName() + ", only if nothing has changed the backup since",
		fmt.Sprintf(
			"have Velero delete its files in storage location %s, the data of %s, and %s",
			d.Spec.StorageLocation,
			d.volumesText,
			human.Count(snapshots, "snapshot"),
		),
	}
	if len(d.restores) > 0 {
		p.Will = append(
			p.Will,
			fmt.Sprintf(
				"have Velero delete its %s, with log and results: %s",
				human.Count(len(d.restores), "restore"),
				human.JoinNames(d.restores, 10),
			),
		)
	}
	if d.copies.lastCopyOf != "" {
		p.Title += ", " + d.copies.lastCopyOf
		p.Will = append(p.Will, "delete "+d.copies.lastCopyOf+": "+d.copies.loss)
	}
	if origin, why := velero.OriginOf(&d.Backup); origin != velero.OriginHere {
		p.Will = append(p.Will, "delete it for every cluster that reads that storage location: "+why)
	}
	p.WillNot = []string{
		"protect another backup that takes this name just before Velero looks: the request names no uid",
		"delete what its restores have restored",
	}
	p.Afterwards = []string{
		"Velero deletes one backup at a time, and waits for jobs that use the same repository; nothing brings it back",
	}
	p.Commands = buildVeleroCommand(p, "backup", "delete", p.Name, "--confirm")
	return true
}

// endMisdirected ends an execution whose request now names another backup, which has taken the name. Velero deletes
// whatever backup has the name when it takes the request (pkg/controller/backup_deletion_controller.go Reconcile,
// 1.18.3); it drops the request once it has deleted a backup.
func (x *execution) endMisdirected(other, request *unstructured.Unstructured, isOver bool) error {
	phase := phaseOf(request)
	failed, _, _ := unstructured.NestedStringSlice(request.Object, "status", "errors")
	switch {
	case isOver:
		return x.endExecution(
			StateSettled,
			"the backup is deleted; another one of its name was made at %s (uid %s), and no request is left that "+
				"deletes that one",
			x.formatTime(other.GetCreationTimestamp().Time),
			other.GetUID(),
		)
	case phase == velero.DeletionProcessed:
		return x.endExecution(
			StateNoEffect,
			"another backup has its name now (uid %s); Velero did not delete it, and does not try again: %s",
			other.GetUID(),
			human.Shorten(sanitize.String(strings.Join(failed, "; ")), 500),
		)
	}
	withdraw := x.undoCommand(
		request.GetNamespace(),
		[]string{"delete", qualifiedResource(deletionRequestKind), request.GetName()},
	)
	if phase == velero.DeletionInProgress {
		return x.endExecution(
			StateMisdirected,
			"another backup has its name now (uid %s, made at %s), and Velero has begun to delete what has the name: "+
				"it may be THAT one; look at it at once",
			other.GetUID(),
			x.formatTime(other.GetCreationTimestamp().Time),
		)
	}
	x.outcome.UndoCommands = withdraw
	return x.endExecution(
		StateMisdirected,
		"another backup has its name now (uid %s, made at %s): Velero will delete THAT one, unless you withdraw the request "+
			"before Velero takes it",
		other.GetUID(),
		x.formatTime(other.GetCreationTimestamp().Time),
	)
}

// observeEffect waits until the backup is deleted, or its request says why Velero does not delete it.
func (deleteBackupAction) observeEffect(ctx context.Context, x *execution, late bool) error {
	backup, err := x.readOnce(ctx, x.observedObject)
	if isServerNotFound(err) {
		return x.endExecution(StateSettled, "the %s is deleted", x.plan.Kind.Noun())
	}
	if err != nil {
		return err
	}
	x.reportPhase(backup)
	o, err := x.readOnce(ctx, x.plan.targets[0])
	isOver := isServerNotFound(err)
	if isOver {
		o, err = x.plan.targets[0], nil
	}
	if err != nil {
		return err
	}
	if backup.GetUID() != x.observedObject.GetUID() {
		return x.endMisdirected(backup, o, isOver)
	}
	switch failed, _, _ := unstructured.NestedStringSlice(o.Object, "status", "errors"); {
	case len(failed) > 0:
		return x.endExecution(
			StateNoEffect,
			"Velero did not delete it, and does not try again: %s",
			human.Shorten(sanitize.String(strings.Join(failed, "; ")), 500),
		)
	case late && phaseOf(o) == velero.DeletionInProgress:
		return x.endExecution(StatePending, "Velero is deleting it; follow it with veltui get deletions")
	case late:
		return x.endExecution(
			StateNoEffect,
			"Velero has not begun with the request, or dropped it for another; see veltui get deletions",
		)
	}
	return nil
}
