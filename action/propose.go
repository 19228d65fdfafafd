package action

import (
	"context"
	"fmt"
	"slices"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/veltui/veltui/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/velero"
)

// proposal is what an action that is about no running job stands on, beside the rest of [Evidence].
type proposal struct {
	asked   *unstructured.Unstructured // what to create, or the schedule to change, by its name
	policy  *unstructured.Unstructured // the ConfigMap to create before it, nil for none
	attempt string                     // the one that may have made the ConfigMap already
	exists  bool                       // something has its name
	ledger  diagnosis.Ledger           // what was found
	refusal verdict                    // the first reason not to do it
	// schedule is the one to change or to make a backup of.
	schedule *velerov1.Schedule
	template map[string]any // its spec.template as it is stored
	holdup   string         // the backup that holds up the schedule's next run
	deletion backupDeletion
}

// Propose plans an action that is about no running job: Create makes the object, a Restore with its spec or a Backup
// whose label velero.io/schedule-name says which schedule's template to take; Pause and Unpause change the schedule
// of the object's name, and DeleteBackup and DeleteRestore the object itself.
func (f *Engine) Propose(ctx context.Context, name Name, o *unstructured.Unstructured, r Request) (Plan, error) {
	d, err := definitionOf(name)
	if err != nil {
		return Plan{}, err
	}
	if d.gather == nil {
		return Plan{}, fmt.Errorf("%s is about a job: gather its evidence", name)
	}
	asked := o.DeepCopy()
	asked.SetNamespace(f.o.Namespace)
	e, err := f.patiently(ctx, func(ctx context.Context) (Evidence, error) {
		return f.gatherObject(ctx, d, proposal{asked: asked, policy: r.Policy})
	})
	if err != nil {
		return Plan{}, err
	}
	p, _ := d.planned(&e, r)
	f.refuseAnother(ctx, &p)
	return p, nil
}

func (f *Engine) gatherObject(ctx context.Context, d definition, of proposal) (Evidence, error) {
	asked := of.asked
	e := Evidence{engine: f, proposal: &of, Object: bare(asked.GroupVersionKind(), f.o.Namespace, asked.GetName())}
	g := gathering{Engine: f, ctx: ctx, client: f.access.get(), e: &e}
	var err error
	if e.Cluster, err = f.access.Identify(ctx); err != nil {
		return e, err
	}
	why, kind := "", job.Kind(asked.GetKind())
	switch err := g.client.Get(ctx, e.Object); {
	case g.seen("reading "+kind.Word()+" "+asked.GetName(), err, &why):
		e.proposal.exists = true
	case isGone(err):
	case g.err != nil:
		return e, g.err
	default:
		e.proposal.refuse(mayNot("get", kind.Resource(), velerov1.SchemeGroupVersion.Group, f.o.Namespace, why))
	}
	e.At, e.skew = f.access.clocks(f.o.Now(), e.Object)
	g.ask(g.server, g.identity, func() { d.gather(&g) })
	return e, g.err
}

// refuse keeps the first reason not to act.
func (o *proposal) refuse(v verdict) {
	if o.refusal.refusal == "" {
		o.refusal = v
	}
}

// refused completes a plan that does nothing.
func (o *proposal) refused(p *Plan, title string) bool {
	v := o.refusal
	if v.refusal != "" {
		p.Title, p.Refusal, p.Advice, p.InDoubt = title, v.refusal, v.advice, v.doubt
	}
	return v.refusal != ""
}

// may asks for the right to the one request of the action.
func (g *gathering) may(verb string, kind job.Kind) {
	o, resource := g.e.proposal, kind.Resource()
	right := authorizationv1.ResourceAttributes{Namespace: g.o.Namespace, Verb: verb, Group: velerov1.SchemeGroupVersion.Group,
		Version: velerov1.SchemeGroupVersion.Version, Resource: resource}
	if verb != "create" {
		right.Name = o.asked.GetName()
	}
	g.mayDo(right)
}

func (g *gathering) mayDo(right authorizationv1.ResourceAttributes) {
	o, e := g.e.proposal, g.e
	what := fmt.Sprintf("%s %s in namespace %s", right.Verb, strings.TrimSuffix(right.Resource+"."+right.Group, "."), g.o.Namespace)
	answer, err := g.client.May(g.ctx, right)
	switch {
	case !g.seen("asking for permission", err, &e.MayPatchWhy):
		o.refuse(unknown("Try again: veltui writes nothing without an answer.", "whether you may "+what, e.MayPatchWhy))
	case !answer.Allowed:
		e.MayPatch, e.MayPatchWhy = No, sanitize.String(answer.Reason)
		o.ledger.Doubts(diagnosis.SourceRBAC, e.At, "you may not %s", what)
		o.refuse(mayNot(right.Verb, right.Resource, right.Group, right.Namespace, e.MayPatchWhy))
	default:
		e.MayPatch = Yes
		o.ledger.Supports(diagnosis.SourceRBAC, e.At, "you may %s%s", what, human.Clause(", as ", e.By))
	}
}

// optionalRights are those of `veltui rbac` for a request.
var optionalRights = map[string]string{"create restores": "create-restores", "create backups": "create-backups", "patch schedules": "pause-schedules",
	"get schedules": "pause-schedules", "create deletebackuprequests": "delete-backups", "delete restores": "delete-restores",
	"get configmaps": "create-restores", "create configmaps": "create-restores", "delete configmaps": "create-restores"}

func mayNot(verb, resource, group, namespace, why string) verdict {
	return refuse("Ask for the right; `veltui rbac operator"+human.Clause(" --with ", optionalRights[verb+" "+resource])+"` prints the role.",
		"you may not %s %s in namespace %s%s", verb, strings.TrimSuffix(resource+"."+group, "."), namespace, because(why))
}

// servers notes whether anything would carry out what is written.
func (g *gathering) servers() {
	l, s := &g.e.proposal.ledger, g.e.Server
	switch {
	case !s.Visible:
		l.Doubts(diagnosis.SourcePod, g.e.At, "cannot tell whether a Velero server is running%s", because(s.Why))
	case len(s.Running) == 0:
		l.Doubts(diagnosis.SourcePod, g.e.At, "no Velero server is running: nothing happens until one does%s", because(s.Down))
	default:
		l.Supports(diagnosis.SourcePod, s.Running[0].StartedAt, "Velero server %s is running", s.Running[0].Name)
	}
}

// named reads an object by its name. If there is none it returns nil and refuses the plan; consequence ends that sentence.
func (g *gathering) named(kind schema.GroupVersionKind, name string, into any, consequence string) *unstructured.Unstructured {
	o, word, resource, why := g.e.Object, job.Kind(kind.Kind).Word(), job.Kind(kind.Kind).Resource(), ""
	var err error
	if !g.e.proposal.exists || o.GetKind() != kind.Kind || o.GetName() != name {
		o = bare(kind, g.o.Namespace, name)
		err = g.client.Get(g.ctx, o)
	}
	if err == nil {
		_, err = convert(o, into)
	}
	switch {
	case g.seen("reading "+word+" "+name, err, &why):
		return o
	case isGone(err):
		g.e.proposal.refuse(refuse("veltui get "+resource+" lists those that there are.", "there is no %s %s in namespace %s%s", word, name, g.o.Namespace, consequence))
	default:
		g.e.proposal.refuse(mayNot("get", resource, kind.Group, g.o.Namespace, why))
	}
	return nil
}

// readSchedule reads the schedule of a name, and which backup of it holds up its next run.
func (g *gathering) readSchedule(name string) {
	o := g.e.proposal
	var s velerov1.Schedule
	stored := g.named(velerov1.SchemeGroupVersion.WithKind("Schedule"), name, &s, "")
	if stored == nil {
		return
	}
	o.schedule, o.template = &s, mapOf(stored, "spec", "template")
	state := "enabled"
	if s.Spec.Paused {
		state = "paused"
	}
	o.ledger.Supports(diagnosis.SourceAPI, job.LastWritten(stored), "schedule %s is %s: %s", name, state, sanitize.String(s.Spec.Schedule))
	var why string
	raw, err := g.list(jobKind(job.Backup), g.o.Namespace, velerov1.ScheduleNameLabel+"="+name)
	if !g.seen("listing backups", err, &why) {
		o.ledger.Doubts(diagnosis.SourceAPI, g.e.At, "cannot tell which of its backups run%s", because(why))
		return
	}
	for i := range raw {
		if velero.HoldsSchedule(phaseOf(&raw[i])) {
			o.holdup = sanitize.String(raw[i].GetName())
		}
	}
}

// ahead notes which jobs of a kind have not ended: Velero takes them first, or beside the new one.
func (g *gathering) ahead(kind job.Kind) {
	l := &g.e.proposal.ledger
	var why string
	raw, err := g.list(jobKind(kind), g.o.Namespace)
	if !g.seen("listing "+kind.Resource(), err, &why) {
		l.Doubts(diagnosis.SourceAPI, g.e.At, "cannot tell which %s are ahead of it%s", kind.Resource(), because(why))
		return
	}
	var names []string
	for i := range raw {
		if phase := phaseOf(&raw[i]); !velero.TerminalPhase(phase) && phase != velero.PhaseDeleting && raw[i].GetName() != g.e.proposal.asked.GetName() {
			names = append(names, sanitize.String(raw[i].GetName())+" ("+orNone(phase)+")")
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		l.Supports(diagnosis.SourceAPI, g.e.At, "no other %s is going on", kind.Word())
		return
	}
	l.Note(true, diagnosis.SourceAPI, g.e.At, "%s ahead of it: %s", human.Count(len(names), kind.Word()), human.List(names, 5))
}
