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
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

func creating() definition {
	return definition{
		name: Create, gather: gatherCreation, fill: create, creates: true, marks: created, observe: observeCreation,
		did:   func(*unstructured.Unstructured) string { return "created one of that name" },
		event: func(p *Plan) (reason, message string) { return "Created", "created it: " + p.Reason },
	}
}

func gatherCreation(g *gathering) {
	o := g.e.proposal
	kind := job.Kind(o.asked.GetKind())
	if o.exists {
		by := g.e.Object.GetAnnotations()[string(created)+"-by"]
		o.refuse(refuse("Choose another name, or look at that one: veltui describe "+kind.Word()+"/"+o.asked.GetName(),
			"there is a %s of that name: %s, made %s ago%s", kind.Word(), orNone(sanitize.String(phaseOf(g.e.Object))),
			human.Duration(max(0, g.e.At.Sub(g.e.Object.GetCreationTimestamp().Time))), human.Clause(" by ", sanitize.String(by))))
	}
	asks := []func(){g.restorePolicy, func() { g.may("create") }, g.servers, func() { g.ahead(kind) }}
	if kind == job.Restore {
		asks = append(asks, g.restoreSource)
	} else {
		asks = append(asks, g.backupTemplate)
	}
	for _, ask := range asks {
		if ask(); g.err != nil {
			return
		}
	}
}

// restoreSource reads the backup that is restored and its location, without which Velero refuses the restore
// (pkg/controller/restore_controller.go validateAndComplete, fetchBackupInfo; 1.14 to 1.18.3).
func (g *gathering) restoreSource() {
	o, e := g.e.proposal, g.e
	name, _, _ := unstructured.NestedString(o.asked.Object, "spec", "backupName")
	schedule, _, _ := unstructured.NestedString(o.asked.Object, "spec", "scheduleName")
	switch {
	case name == "" && schedule != "":
		o.ledger.Supports(diagnosis.SourceAPI, e.At, "Velero takes the newest completed backup of schedule %s when it begins", schedule)
		return
	case name == "":
		o.refuse(refuse("Name a backup.", "it names no backup"))
		return
	}
	var b velerov1.Backup
	var why string
	err := g.get(jobKind(job.Backup), name, &b)
	if isGone(err) {
		o.refuse(refuse("veltui get backups lists those that there are.", "there is no backup %s in namespace %s: Velero would refuse the restore", name, g.o.Namespace))
		return
	}
	if !g.seen("reading the backup", err, &why) {
		o.refuse(unknown("Ask for the right to read backups in namespace "+g.o.Namespace+".", "whether there is a backup "+name, why))
		return
	}
	phase := string(b.Status.Phase)
	whole := phase == velero.PhaseCompleted
	o.ledger.Note(whole, diagnosis.SourceAPI, job.TimeOf(b.Status.CompletionTimestamp), "backup %s is %s", name, orNone(phase))
	if phase == velero.PhaseDeleting || b.DeletionTimestamp != nil {
		o.refuse(refuse("Choose another backup.", "backup %s is being deleted", name))
	} else if !velero.TerminalPhase(phase) {
		o.refuse(refuse("Wait until it has ended: veltui wait backup/"+name, "backup %s has not ended: what it holds is not stored yet", name))
	}
	g.locationNamed(b.Spec.StorageLocation)
	if l := e.Location; l != nil {
		available := l.Phase != velero.LocationUnavailable
		o.ledger.Note(available, diagnosis.SourceAPI, l.LastValidated, "storage location %s is %s%s", l.Name, l.Phase, because(l.Message))
		if !available {
			o.refuse(refuse("Mend the location first: veltui describe location/"+l.Name, "storage location %s is unavailable: Velero would refuse the restore", l.Name))
		}
	} else if e.LocationWhy != "" {
		o.ledger.Doubts(diagnosis.SourceAPI, e.At, "cannot tell whether its storage location is available%s", because(e.LocationWhy))
	}
}

// backupTemplate makes the backup as its schedule would. Without a schedule it is made as it was asked for.
func (g *gathering) backupTemplate() {
	o := g.e.proposal
	name := o.asked.GetLabels()[velerov1.ScheduleNameLabel]
	if name == "" {
		return
	}
	if g.readSchedule(name); o.schedule == nil {
		return
	}
	made, err := runtime.DefaultUnstructuredConverter.ToUnstructured(backupOf(o.schedule, o.asked.GetName()))
	if err != nil {
		g.err = fmt.Errorf("making the backup of schedule %s: %w", name, err)
		return
	}
	delete(made, "status")
	if metadata, ok := made["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	o.asked = &unstructured.Unstructured{Object: made}
	if o.holdup != "" {
		o.ledger.Doubts(diagnosis.SourceAPI, g.e.At, "its backup %s has not ended", o.holdup)
	}
}

// backupOf is a backup as `velero backup create --from-schedule` makes it (pkg/builder/backup_builder.go FromSchedule;
// 1.14 to 1.18.3): with the schedule's labels and annotations, or the labels of its template.
func backupOf(s *velerov1.Schedule, name string) *velerov1.Backup {
	b := &velerov1.Backup{
		TypeMeta:   metav1.TypeMeta{APIVersion: velerov1.SchemeGroupVersion.String(), Kind: string(job.Backup)},
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name, Annotations: maps.Clone(s.Annotations), Labels: maps.Clone(s.Labels)},
		Spec:       *s.Spec.Template.DeepCopy(),
	}
	if s.Spec.Template.Labels != nil {
		b.Labels = maps.Clone(s.Spec.Template.Labels)
	}
	if b.Labels == nil {
		b.Labels = map[string]string{}
	}
	b.Labels[velerov1.ScheduleNameLabel] = s.Name
	maps.DeleteFunc(b.Annotations, func(name, _ string) bool { return name == lastApplied || strings.HasPrefix(name, "veltui.io/") })
	if own := s.Spec.UseOwnerReferencesInBackup; own != nil && *own {
		isController := true
		b.OwnerReferences = []metav1.OwnerReference{{APIVersion: velerov1.SchemeGroupVersion.String(), Kind: "Schedule", Name: s.Name, UID: s.UID, Controller: &isController}}
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

func create(e *Evidence, p *Plan) bool {
	o := e.proposal
	word := p.Kind.Word()
	p.Title = "create " + word + " " + p.Name
	if v := o.refusal; v.refusal != "" {
		p.Title, p.Refusal, p.Advice, p.InDoubt = "create nothing", v.refusal, v.advice, v.doubt
		return true
	}
	p.targets = []*unstructured.Unstructured{o.asked}
	if o.policy != nil {
		p.targets = []*unstructured.Unstructured{o.policy, o.asked}
		p.Will = append(p.Will, "create ConfigMap "+o.policy.GetName()+" before, which names the selected objects, and delete it once Velero has read it")
	}
	p.Why = "it was asked for"
	p.Will = append(p.Will, "create "+word+" "+p.Name+", only if nothing has that name")
	p.Will = append(p.Will, p.request.Consequences...)
	spec := mapOf(o.asked, "spec")
	for _, field := range slices.Sorted(maps.Keys(spec)) {
		if text := oneLine(spec[field]); text != "0s" && text != "{}" {
			p.Will = append(p.Will, "with "+field+": "+text)
		}
	}
	p.Commands = p.request.Commands
	if p.Kind == job.Restore {
		p.WillNot = append(p.WillNot, "undo what it restores: deleting the restore leaves the objects")
		p.Then = append(p.Then, "Velero's server begins it, after those ahead of it")
		return true
	}
	p.Then = append(p.Then, "Velero's server begins it, after those ahead of it")
	if s := o.schedule; s != nil {
		p.Commands = append(p.Commands, veleroCommand(p, "backup", "create", p.Name, "--from-schedule="+s.Name))
		p.Then = append(p.Then, "it counts as a run of schedule "+s.Name+" in what veltui and Velero show, and expires as its backups do",
			"the schedule's own next run stays as it is, and waits while this one is New or InProgress")
	}
	return true
}

// veleroCommand is the command of Velero's own that does the same.
func veleroCommand(p *Plan, words ...string) string {
	line, _ := p.request.Reach().Velero(p.Namespace, words...)
	return line
}

// oneLine is a value of a spec in one line.
func oneLine(value any) string {
	switch v := value.(type) {
	case []any:
		var words []string
		for _, one := range v {
			words = append(words, oneLine(one))
		}
		return strings.Join(words, ", ")
	case map[string]any:
		var words []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			words = append(words, key+": "+oneLine(v[key]))
		}
		return "{" + strings.Join(words, ", ") + "}"
	}
	return human.Shorten(sanitize.String(fmt.Sprint(value)), 200)
}

// observeCreation waits until Velero has begun it, or says why it does not.
func observeCreation(x *execution, ctx context.Context, late bool) error {
	o, err := x.readSubject(ctx)
	if err != nil {
		return err
	}
	word := x.plan.Kind.Word()
	switch phase := x.out.Phase; {
	case phase == velero.PhaseFailedValidation:
		wrong, _, _ := unstructured.NestedStringSlice(o.Object, "status", "validationErrors")
		return x.stop(NoEffect, "Velero refused the %s: %s", word, human.Shorten(sanitize.String(strings.Join(wrong, "; ")), 500))
	case phase != "" && phase != velero.PhaseNew:
		return x.stop(Settled, "Velero has taken it up: it is %s", phase)
	case late:
		return x.stop(NoEffect, "the %s exists, and Velero has not begun it after %s: see what it waits for with veltui explain %s/%s",
			word, human.Duration(x.f.o.Observe), word, x.plan.Name)
	}
	return nil
}
