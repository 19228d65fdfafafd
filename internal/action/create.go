package action

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// createAction creates a backup or restore.
type createAction struct{ baseApplicable }

func (createAction) actionKind() Kind { return Create }

func (createAction) requestVerb() requestVerb { return verbCreate }

func (createAction) restsOnAges(*Evidence) bool { return false }

func (createAction) refusedTitle() string { return "create nothing" }

func (createAction) annotationPrefix() annotationPrefix { return createdPrefix }

func (createAction) eventReason() string { return "Created" }

func (createAction) doneText(*Plan) string { return "created it" }

func (createAction) doneByOtherText(*unstructured.Unstructured) string {
	return "created one of that name"
}

func (createAction) gatherFacts(g *gatherer) {
	o := g.evidence.proposal
	kind := job.Kind(o.object.GetKind())
	if o.objectExists {
		by := g.evidence.Object.GetAnnotations()[string(createdPrefix)+"-by"]
		o.noteRefusal(newRefusal(
			"Choose another name, or look at that one: veltui describe "+kind.Noun()+"/"+o.object.GetName(),
			"there is a %s of that name: %s, made %s ago%s",
			kind.Noun(),
			phaseOrNone(sanitize.String(phaseOf(g.evidence.Object))),
			human.Duration(
				max(0, g.evidence.Now.Sub(g.evidence.Object.GetCreationTimestamp().Time)),
			),
			human.Prefixed(" by ", sanitize.String(by)),
		))
	}
	from := g.applyScheduleTemplate
	if kind == job.Restore {
		from = g.checkRestoreSource
	}
	g.runQueries(
		g.checkRestorePolicy,
		func() { g.checkRequestAccess("create", kind) },
		g.noteServers,
		func() { g.noteJobsAhead(kind) },
		from,
	)
}

// checkRestoreSource reads the backup to restore and its location. Velero refuses a restore without them
// (pkg/controller/restore_controller.go validateAndComplete, fetchBackupInfo; 1.14 to 1.18.3).
func (g *gatherer) checkRestoreSource() {
	o := g.evidence.proposal
	name, _, _ := unstructured.NestedString(o.object.Object, "spec", "backupName")
	if schedule, _, _ := unstructured.NestedString(
		o.object.Object,
		"spec",
		"scheduleName",
	); name == "" &&
		schedule != "" {
		if name = g.findNewestBackup(schedule); name == "" {
			return
		}
	}
	if name == "" {
		o.noteRefusal(newRefusal("Name a backup.", "it names no backup"))
		return
	}
	var b veleroapi.Backup
	if g.fetchNamed(jobGVK(job.Backup), name, &b, ": Velero would refuse the restore") == nil {
		return
	}
	phase := string(b.Status.Phase)
	whole := phase == velero.PhaseCompleted
	o.facts.AddFact(
		whole,
		diagnosis.SourceAPI,
		job.TimeOrZero(b.Status.CompletionTimestamp),
		"backup %s is %s",
		name,
		phaseOrNone(phase),
	)
	if phase == velero.PhaseDeleting || b.DeletionTimestamp != nil {
		o.noteRefusal(newRefusal("Choose another backup.", "backup %s is being deleted", name))
	} else if !velero.IsTerminalPhase(phase) {
		o.noteRefusal(
			newRefusal(
				"Wait until it has ended: veltui wait backup/"+name,
				"backup %s has not ended: what it holds is not stored yet",
				name,
			),
		)
	}
	o.sourceUID = b.UID
	if velero.IsExpired(&b, g.evidence.Now) {
		o.facts.AddDoubt(diagnosis.SourceAPI, b.Status.Expiration.Time,
			"backup %s has expired: Velero may delete it at any time, also while it is restored", name)
	}
	g.checkSourceDeletion(&b)
	g.checkLocationUsable(b.Spec.StorageLocation, false)
}

// checkSourceDeletion refuses to restore a backup whose deletion is requested (see [velero.FindDeletionRequest]).
func (g *gatherer) checkSourceDeletion(b *veleroapi.Backup) {
	o := g.evidence.proposal
	raw, why := g.listVeleroKind(deletionRequestKind)
	if why != "" {
		o.facts.AddDoubt(diagnosis.SourceAPI, g.evidence.Now,
			"cannot tell whether the deletion of backup %s is requested%s", b.Name, causeSuffix(why))
		return
	}
	var requests []*veleroapi.DeleteBackupRequest
	for i := range raw {
		r := new(veleroapi.DeleteBackupRequest)
		if _, err := convertObject(&raw[i], r); err == nil && r.Spec.BackupName == b.Name {
			requests = append(requests, r)
		}
	}
	switch r, reason := velero.FindDeletionRequest(b, requests); reason {
	case velero.CopyDeletionRequested:
		const advice = "Choose another backup, or withdraw the request if Velero has not begun with it: veltui get deletions"
		o.noteRefusal(
			newRefusal(
				advice,
				"the deletion of backup %s is requested (%s): Velero deletes it while it is restored",
				b.Name,
				r.Name,
			),
		)
	case velero.CopyDeletionFailed:
		o.facts.AddDoubt(diagnosis.SourceAPI, r.CreationTimestamp.Time,
			"a deletion of backup %s failed: part of its data may be gone", b.Name)
	}
}

// checkUnchanged reads the backup again right before the request: the Restore refers to the backup by name alone.
// Another backup may have taken the name since, or the backup's deletion may have been requested.
func (createAction) checkUnchanged(ctx context.Context, x *execution) error {
	shown := x.evidence.proposal
	if shown.sourceUID == "" {
		return nil // not a restore of a backup
	}
	g := x.newGatherer(ctx, &proposal{request: shown.request, object: shown.object})
	g.checkRestoreSource()
	now := g.evidence.proposal
	switch {
	case g.err != nil:
		return g.err
	case now.refusal.refusal != "", now.sourceUID != shown.sourceUID:
		return errChanged
	}
	return nil
}

// findNewestBackup returns the name of the schedule's backup that Velero would restore (restore_controller.go
// mostRecentCompletedBackup), empty for none.
func (g *gatherer) findNewestBackup(schedule string) (name string) {
	o := g.evidence.proposal
	raw, why := g.listVeleroKind(job.Backup, veleroapi.ScheduleNameLabel+"="+schedule)
	if why != "" {
		o.noteRefusal(
			refuseUnknown(
				"Ask for the right to list backups in namespace "+g.options.Namespace+".",
				"which backup of schedule "+schedule+" Velero takes",
				why,
			),
		)
		return ""
	}
	newest := ""
	for i := range raw {
		if began, _, _ := unstructured.NestedString(
			raw[i].Object,
			"status",
			"startTimestamp",
		); phaseOf(&raw[i]) == velero.PhaseCompleted &&
			(name == "" || began > newest) {
			name, newest = raw[i].GetName(), began
		}
	}
	if name == "" {
		o.noteRefusal(
			newRefusal(
				"veltui get backups lists those that there are.",
				"schedule %s has no completed backup: Velero would refuse the restore",
				schedule,
			),
		)
	} else {
		o.facts.AddSupport(
			diagnosis.SourceAPI,
			g.evidence.Now,
			"Velero takes the newest completed backup of schedule %s when it begins; now that is %s",
			schedule,
			name,
		)
	}
	return name
}

const fixLocationAdvice = "Mend the location first: veltui get storage"

// checkLocationUsable reads a storage location, which must be available and, if write is set, not read-only:
// otherwise Velero refuses the job, or the deletion of a backup (pkg/util/velero BSLIsAvailable, backup_controller.go
// prepareBackupRequest, backup_deletion_controller.go Reconcile; 1.18.3).
func (g *gatherer) checkLocationUsable(name string, write bool) {
	if name == "" {
		return // the default location, which Velero chooses when it begins
	}
	g.fetchNamedLocation(name)
	g.noteLocationUsable(name, write)
}

// noteLocationUsable notes whether the location that was read can be used.
func (g *gatherer) noteLocationUsable(name string, write bool) {
	o, l, what := g.evidence.proposal, g.evidence.Location, ""
	switch {
	case g.evidence.LocationMissing:
		what = "storage location " + name + " does not exist"
	case l == nil:
		o.facts.AddDoubt(
			diagnosis.SourceAPI,
			g.evidence.Now,
			"cannot tell whether storage location %s is available%s",
			name,
			causeSuffix(g.evidence.LocationUnchecked),
		)
	case l.Phase != velero.LocationAvailable:
		what = "storage location " + name + " is not available" + causeSuffix(l.Message)
	case write && l.AccessMode == string(veleroapi.BackupStorageLocationAccessModeReadOnly):
		what = "storage location " + name + " is read-only"
	default:
		o.facts.AddSupport(diagnosis.SourceAPI, l.LastValidated, "storage location %s is available", name)
	}
	if what != "" {
		o.noteRefusal(newRefusal(fixLocationAdvice, "%s: Velero would refuse it", what))
	}
}

// applyScheduleTemplate builds the backup as its schedule would. A backup without a schedule stays as requested.
func (g *gatherer) applyScheduleTemplate() {
	o := g.evidence.proposal
	if name := o.object.GetLabels()[veleroapi.ScheduleNameLabel]; name != "" {
		if g.fetchSchedule(name); o.schedule == nil {
			return
		}
		if len(name) > velero.MaxLabelLength {
			o.noteRefusal(
				newRefusal(
					"Make the schedule again with a shorter name, or make the backup without it.",
					"the name of schedule %s has %d characters, and as a label of the backup it may have %d: "+
						"the API server refuses the backup",
					name,
					len(name),
					velero.MaxLabelLength,
				),
			)
		}
		o.object = buildScheduledBackup(o, o.object.GetName())
		if o.blockingBackup != "" {
			o.facts.AddDoubt(diagnosis.SourceAPI, g.evidence.Now, "its backup %s has not ended", o.blockingBackup)
		}
	}
	location, _, _ := unstructured.NestedString(o.object.Object, "spec", "storageLocation")
	g.checkLocationUsable(location, true)
}

// buildScheduledBackup returns a backup as `velero backup create --from-schedule` makes it
// (pkg/builder/backup_builder.go FromSchedule; 1.14 to 1.18.3): with the schedule's labels and annotations, or the
// labels of its template. The template is copied as it is stored: it may have fields of a newer Velero.
func buildScheduledBackup(o *proposal, name string) *unstructured.Unstructured {
	s := o.schedule
	b := newObject(jobGVK(job.Backup), s.Namespace, name)
	b.Object["spec"] = o.template
	labels := map[string]string{}
	if maps.Copy(labels, s.Labels); s.Spec.Template.Labels != nil {
		labels = maps.Clone(s.Spec.Template.Labels)
	}
	labels[veleroapi.ScheduleNameLabel] = s.Name
	b.SetLabels(labels)
	notes := maps.Clone(s.Annotations)
	delete(notes, lastAppliedAnnotation)
	b.SetAnnotations(notes)
	if own := s.Spec.UseOwnerReferencesInBackup; own != nil && *own {
		isController := true
		b.SetOwnerReferences(
			[]metav1.OwnerReference{
				{
					APIVersion: veleroapi.GroupVersion.String(),
					Kind:       "Schedule",
					Name:       s.Name,
					UID:        s.UID,
					Controller: &isController,
				},
			},
		)
	}
	return b
}

// NewScheduledBackup returns the request for a backup from a schedule's template, for [Engine.ProposePlan].
func NewScheduledBackup(schedule, name string) *unstructured.Unstructured {
	o := newObject(jobGVK(job.Backup), "", name)
	o.SetLabels(map[string]string{veleroapi.ScheduleNameLabel: schedule})
	return o
}

// lastAppliedAnnotation is kubectl's note about the schedule: copied to a backup, kubectl would read it as the
// backup's.
const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

func (createAction) fillPlan(e *Evidence, p *Plan) bool {
	o := e.proposal
	word := p.Kind.Noun()
	p.Title = "create " + word + " " + p.Name
	p.targets = []*unstructured.Unstructured{o.object}
	if o.request.PolicyConfigMap != nil {
		p.targets = []*unstructured.Unstructured{o.request.PolicyConfigMap, o.object}
		p.Will = append(
			p.Will,
			"create ConfigMap "+o.request.PolicyConfigMap.GetName()+" before, which names the selected objects, and delete it "+
				"once Velero has read it",
		)
	}
	p.Will = append(p.Will, "create "+word+" "+p.Name+", only if nothing has that name")
	p.Will = append(p.Will, p.request.Consequences...)
	spec := nestedMap(o.object, "spec")
	for _, field := range slices.Sorted(maps.Keys(spec)) {
		if text := formatSpecValue(spec[field]); text != "0s" && text != "{}" && text != "" {
			p.Will = append(p.Will, "with "+field+": "+text)
		}
	}
	if words := p.request.VeleroCommand; len(words) > 0 {
		p.Commands = buildVeleroCommand(p, words...)
	}
	p.Afterwards = append(p.Afterwards, "Velero's server begins it, after those ahead of it")
	if p.Kind == job.Restore {
		p.WillNot = append(p.WillNot, "undo what it restores: deleting the restore leaves the objects")
	}
	if s := o.schedule; s != nil {
		p.Commands = append(p.Commands, buildVeleroCommand(p, "backup", "create", p.Name, "--from-schedule="+s.Name)...)
		p.Afterwards = append(
			p.Afterwards,
			"it counts as a run of schedule "+s.Name+" in veltui, a restore from the schedule may take it, and it "+
				"expires as its backups do",
		)
		if !s.Spec.Paused {
			p.Afterwards = append(
				p.Afterwards,
				"the schedule's own next run stays as it is, and waits while this one is New or InProgress",
			)
		}
		if len(o.object.GetOwnerReferences()) > 0 {
			p.Afterwards = append(
				p.Afterwards,
				"deleting the schedule deletes this Backup object, not what is stored: the schedule uses owner references",
			)
		}
	}
	return true
}

// buildVeleroCommand returns the velero command that does the same, none if no command can reach the same cluster as
// the same user.
func buildVeleroCommand(p *Plan, words ...string) []string {
	line, only := p.request.ClusterAccess().VeleroCommand(p.Namespace, words...)
	if len(only) > 0 {
		return nil
	}
	return []string{line}
}

// formatSpecValue formats a value of a spec in one line.
func formatSpecValue(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []any:
		var words []string
		for _, one := range v {
			words = append(words, formatSpecValue(one))
		}
		return strings.Join(words, ", ")
	case map[string]any:
		var words []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if text := formatSpecValue(v[key]); text != "" {
				words = append(words, key+": "+text)
			}
		}
		return "{" + strings.Join(words, ", ") + "}"
	}
	return human.Shorten(sanitize.String(fmt.Sprint(value)), 200)
}

// observeEffect waits until Velero has begun the job, or reports why Velero does not begin it.
func (createAction) observeEffect(ctx context.Context, x *execution, late bool) error {
	o, err := x.readSubject(ctx)
	if err != nil {
		return err
	}
	word := x.plan.Kind.Noun()
	switch phase := x.outcome.Phase; {
	case phase == velero.PhaseFailedValidation:
		wrong, _, _ := unstructured.NestedStringSlice(o.Object, "status", "validationErrors")
		return x.endExecution(
			StateNoEffect,
			"Velero refused the %s: %s",
			word,
			human.Shorten(sanitize.String(strings.Join(wrong, "; ")), 500),
		)
	case phase != "" && phase != velero.PhaseNew:
		return x.endExecution(StateSettled, "Velero has taken it up: it is %s", phase)
	case late:
		return x.endExecution(
			StateNoEffect,
			"the %s exists, and Velero has not begun it after %s: see what it waits for with veltui explain %s/%s",
			word,
			human.Duration(x.engine.options.ObserveFor),
			word,
			x.plan.Name,
		)
	}
	return nil
}
