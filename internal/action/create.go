package action

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
)

// createAction makes a backup or restore.
type createAction struct{ baseApplicable }

func (createAction) name() Name { return Create }

func (createAction) verb() verb { return creates }

func (createAction) restsOnAges(*Evidence) bool { return false }

func (createAction) refusedTitle() string { return "create nothing" }

func (createAction) marks() marks { return created }

func (createAction) event() string { return "Created" }

func (createAction) did(*Plan) string { return "created it" }

func (createAction) othersDid(*unstructured.Unstructured) string { return "created one of that name" }

func (createAction) gather(g *gathering) {
	o := g.e.proposal
	kind := job.Kind(o.asked.GetKind())
	if o.exists {
		by := g.e.Object.GetAnnotations()[string(created)+"-by"]
		o.refuse(refuse(
			"Choose another name, or look at that one: veltui describe "+kind.Word()+"/"+o.asked.GetName(),
			"there is a %s of that name: %s, made %s ago%s",
			kind.Word(),
			orNone(sanitize.String(phaseOf(g.e.Object))),
			human.Duration(
				max(0, g.e.At.Sub(g.e.Object.GetCreationTimestamp().Time)),
			),
			human.Clause(" by ", sanitize.String(by)),
		))
	}
	from := g.backupTemplate
	if kind == job.Restore {
		from = g.restoreSource
	}
	g.ask(g.restorePolicy, func() { g.may("create", kind) }, g.servers, func() { g.ahead(kind) }, from)
}

// restoreSource reads the backup that is restored and its location, without which Velero refuses the restore
// (pkg/controller/restore_controller.go validateAndComplete, fetchBackupInfo; 1.14 to 1.18.3).
func (g *gathering) restoreSource() {
	o := g.e.proposal
	name, _, _ := unstructured.NestedString(o.asked.Object, "spec", "backupName")
	if schedule, _, _ := unstructured.NestedString(
		o.asked.Object,
		"spec",
		"scheduleName",
	); name == "" &&
		schedule != "" {
		if name = g.newestCompleted(schedule); name == "" {
			return
		}
	}
	if name == "" {
		o.refuse(refuse("Name a backup.", "it names no backup"))
		return
	}
	var b velerov1.Backup
	if g.named(jobKind(job.Backup), name, &b, ": Velero would refuse the restore") == nil {
		return
	}
	phase := string(b.Status.Phase)
	whole := phase == velero.PhaseCompleted
	o.ledger.Note(
		whole,
		diagnosis.SourceAPI,
		job.TimeOf(b.Status.CompletionTimestamp),
		"backup %s is %s",
		name,
		orNone(phase),
	)
	if phase == velero.PhaseDeleting || b.DeletionTimestamp != nil {
		o.refuse(refuse("Choose another backup.", "backup %s is being deleted", name))
	} else if !velero.TerminalPhase(phase) {
		o.refuse(
			refuse(
				"Wait until it has ended: veltui wait backup/"+name,
				"backup %s has not ended: what it holds is not stored yet",
				name,
			),
		)
	}
	o.source = b.UID
	if velero.Expired(&b, g.e.At) {
		o.ledger.Doubts(diagnosis.SourceAPI, b.Status.Expiration.Time,
			"backup %s has expired: Velero may delete it at any time, also while it is restored", name)
	}
	g.sourceDeletion(&b)
	g.usableLocation(b.Spec.StorageLocation, false)
}

// sourceDeletion refuses to restore a backup whose deletion is requested (see [velero.DeletionRequest]).
func (g *gathering) sourceDeletion(b *velerov1.Backup) {
	o := g.e.proposal
	raw, why := g.all(deletionRequest)
	if why != "" {
		o.ledger.Doubts(diagnosis.SourceAPI, g.e.At,
			"cannot tell whether the deletion of backup %s is requested%s", b.Name, because(why))
		return
	}
	var requests []*velerov1.DeleteBackupRequest
	for i := range raw {
		r := new(velerov1.DeleteBackupRequest)
		if _, err := convert(&raw[i], r); err == nil && r.Spec.BackupName == b.Name {
			requests = append(requests, r)
		}
	}
	switch r, reason := velero.DeletionRequest(b, requests); reason {
	case velero.CopyDeletionRequested:
		const advice = "Choose another backup, or withdraw the request if Velero has not begun with it: veltui get deletions"
		o.refuse(
			refuse(
				advice,
				"the deletion of backup %s is requested (%s): Velero deletes it while it is restored",
				b.Name,
				r.Name,
			),
		)
	case velero.CopyDeletionFailed:
		o.ledger.Doubts(diagnosis.SourceAPI, r.CreationTimestamp.Time,
			"a deletion of backup %s failed: part of its data may be gone", b.Name)
	}
}

// confirm looks at the backup again right before the request: the Restore names it by its name alone.
// Another backup may have taken the name since, or the deletion of the backup may be requested.
func (createAction) confirm(ctx context.Context, x *execution) error {
	shown := x.evidence.proposal
	if shown.source == "" {
		return nil // it is no restore
	}
	g := x.regather(ctx, &proposal{request: shown.request, asked: shown.asked})
	g.restoreSource()
	now := g.e.proposal
	switch {
	case g.err != nil:
		return g.err
	case now.refusal.refusal != "", now.source != shown.source:
		return errChanged
	}
	return nil
}

// newestCompleted is the backup of a schedule that Velero restores (restore_controller.go mostRecentCompletedBackup),
// empty for none.
func (g *gathering) newestCompleted(schedule string) (name string) {
	o := g.e.proposal
	raw, why := g.all(job.Backup, velerov1.ScheduleNameLabel+"="+schedule)
	if why != "" {
		o.refuse(
			unknown(
				"Ask for the right to list backups in namespace "+g.o.Namespace+".",
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
		o.refuse(
			refuse(
				"veltui get backups lists those that there are.",
				"schedule %s has no completed backup: Velero would refuse the restore",
				schedule,
			),
		)
	} else {
		o.ledger.Supports(
			diagnosis.SourceAPI,
			g.e.At,
			"Velero takes the newest completed backup of schedule %s when it begins; now that is %s",
			schedule,
			name,
		)
	}
	return name
}

const mendLocation = "Mend the location first: veltui get storage"

// usableLocation reads a storage location that must be available, and to write into, not read-only: else Velero refuses
// the job, and the deletion of a backup (pkg/util/velero BSLIsAvailable, backup_controller.go prepareBackupRequest,
// backup_deletion_controller.go Reconcile; 1.18.3).
func (g *gathering) usableLocation(name string, write bool) {
	if name == "" {
		return // the default one, which Velero chooses when it begins
	}
	g.locationNamed(name)
	o, l, what := g.e.proposal, g.e.Location, ""
	switch {
	case g.e.LocationGone:
		what = "storage location " + name + " does not exist"
	case l == nil:
		o.ledger.Doubts(
			diagnosis.SourceAPI,
			g.e.At,
			"cannot tell whether storage location %s is available%s",
			name,
			because(g.e.LocationWhy),
		)
	case l.Phase != velero.LocationAvailable:
		what = "storage location " + name + " is not available" + because(l.Message)
	case write && l.AccessMode == string(velerov1.BackupStorageLocationAccessModeReadOnly):
		what = "storage location " + name + " is read-only"
	default:
		o.ledger.Supports(diagnosis.SourceAPI, l.LastValidated, "storage location %s is available", name)
	}
	if what != "" {
		o.refuse(refuse(mendLocation, "%s: Velero would refuse it", what))
	}
}

// backupTemplate makes the backup as its schedule would. Without a schedule it is made as it was asked for.
func (g *gathering) backupTemplate() {
	o := g.e.proposal
	if name := o.asked.GetLabels()[velerov1.ScheduleNameLabel]; name != "" {
		if g.readSchedule(name); o.schedule == nil {
			return
		}
		o.asked = backupOf(o, o.asked.GetName())
		if o.holdup != "" {
			o.ledger.Doubts(diagnosis.SourceAPI, g.e.At, "its backup %s has not ended", o.holdup)
		}
	}
	location, _, _ := unstructured.NestedString(o.asked.Object, "spec", "storageLocation")
	g.usableLocation(location, true)
}

// backupOf is a backup as `velero backup create --from-schedule` makes it (pkg/builder/backup_builder.go
// FromSchedule; 1.14 to 1.18.3): with the schedule's labels and annotations, or the labels of its template.
// The template is taken as it is stored: it may have fields of a newer Velero.
func backupOf(o *proposal, name string) *unstructured.Unstructured {
	s := o.schedule
	b := bare(jobKind(job.Backup), s.Namespace, name)
	b.Object["spec"] = o.template
	labels := map[string]string{}
	if maps.Copy(labels, s.Labels); s.Spec.Template.Labels != nil {
		labels = maps.Clone(s.Spec.Template.Labels)
	}
	labels[velerov1.ScheduleNameLabel] = s.Name
	b.SetLabels(labels)
	notes := maps.Clone(s.Annotations)
	delete(notes, lastApplied)
	b.SetAnnotations(notes)
	if own := s.Spec.UseOwnerReferencesInBackup; own != nil && *own {
		isController := true
		b.SetOwnerReferences(
			[]metav1.OwnerReference{
				{
					APIVersion: velerov1.SchemeGroupVersion.String(),
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

// BackupOf is the request for a backup from a schedule's template, for [Engine.Propose].
func BackupOf(schedule, name string) *unstructured.Unstructured {
	o := bare(jobKind(job.Backup), "", name)
	o.SetLabels(map[string]string{velerov1.ScheduleNameLabel: schedule})
	return o
}

// lastApplied is kubectl's note of the schedule: on a backup, kubectl would take it for the backup's.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func (createAction) fill(e *Evidence, p *Plan) bool {
	o := e.proposal
	word := p.Kind.Word()
	p.Title = "create " + word + " " + p.Name
	p.targets = []*unstructured.Unstructured{o.asked}
	if o.request.Policy != nil {
		p.targets = []*unstructured.Unstructured{o.request.Policy, o.asked}
		p.Will = append(
			p.Will,
			"create ConfigMap "+o.request.Policy.GetName()+" before, which names the selected objects, and delete it "+
				"once Velero has read it",
		)
	}
	p.Will = append(p.Will, "create "+word+" "+p.Name+", only if nothing has that name")
	p.Will = append(p.Will, p.request.Consequences...)
	spec := mapOf(o.asked, "spec")
	for _, field := range slices.Sorted(maps.Keys(spec)) {
		if text := oneLine(spec[field]); text != "0s" && text != "{}" && text != "" {
			p.Will = append(p.Will, "with "+field+": "+text)
		}
	}
	if words := p.request.Words; len(words) > 0 {
		p.Commands = veleroCommand(p, words...)
	}
	p.Then = append(p.Then, "Velero's server begins it, after those ahead of it")
	if p.Kind == job.Restore {
		p.WillNot = append(p.WillNot, "undo what it restores: deleting the restore leaves the objects")
	}
	if s := o.schedule; s != nil {
		p.Commands = append(p.Commands, veleroCommand(p, "backup", "create", p.Name, "--from-schedule="+s.Name)...)
		p.Then = append(
			p.Then,
			"it counts as a run of schedule "+s.Name+" in veltui, a restore from the schedule may take it, and it "+
				"expires as its backups do",
		)
		if !s.Spec.Paused {
			p.Then = append(
				p.Then,
				"the schedule's own next run stays as it is, and waits while this one is New or InProgress",
			)
		}
		if len(o.asked.GetOwnerReferences()) > 0 {
			p.Then = append(
				p.Then,
				"deleting the schedule deletes this Backup object, not what is stored: the schedule uses owner references",
			)
		}
	}
	return true
}

// veleroCommand is the command of Velero's own that does the same, none if that cannot be told where and as whom.
func veleroCommand(p *Plan, words ...string) []string {
	line, only := p.request.Reach().Velero(p.Namespace, words...)
	if len(only) > 0 {
		return nil
	}
	return []string{line}
}

// oneLine is a value of a spec in one line.
func oneLine(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []any:
		var words []string
		for _, one := range v {
			words = append(words, oneLine(one))
		}
		return strings.Join(words, ", ")
	case map[string]any:
		var words []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if text := oneLine(v[key]); text != "" {
				words = append(words, key+": "+text)
			}
		}
		return "{" + strings.Join(words, ", ") + "}"
	}
	return human.Shorten(sanitize.String(fmt.Sprint(value)), 200)
}

// observe waits until Velero has begun it, or says why it does not.
func (createAction) observe(ctx context.Context, x *execution, late bool) error {
	o, err := x.readSubject(ctx)
	if err != nil {
		return err
	}
	word := x.plan.Kind.Word()
	switch phase := x.out.Phase; {
	case phase == velero.PhaseFailedValidation:
		wrong, _, _ := unstructured.NestedStringSlice(o.Object, "status", "validationErrors")
		return x.stop(
			NoEffect,
			"Velero refused the %s: %s",
			word,
			human.Shorten(sanitize.String(strings.Join(wrong, "; ")), 500),
		)
	case phase != "" && phase != velero.PhaseNew:
		return x.stop(Settled, "Velero has taken it up: it is %s", phase)
	case late:
		return x.stop(
			NoEffect,
			"the %s exists, and Velero has not begun it after %s: see what it waits for with veltui explain %s/%s",
			word,
			human.Duration(x.f.o.Observe),
			word,
			x.plan.Name,
		)
	}
	return nil
}
