package action

import (
	"context"
	"fmt"
	"slices"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
)

// proposal is what an action that is about no running job stands on, beside the rest of [Evidence].
type proposal struct {
	asked   *unstructured.Unstructured // what to create, or the schedule to change, by its name
	request Request
	attempt string           // the one that may have made the ConfigMap already
	exists  bool             // something has its name
	ledger  diagnosis.Ledger // what was found
	refusal verdict          // the first reason not to do it
	// schedule is the one to change or to make a backup of.
	schedule *velerov1.Schedule
	template map[string]any // its spec.template as it is stored
	holdup   string         // the backup that holds up the schedule's next run
	deletion backupDeletion
	// source is the uid of the backup that is restored: a Restore names it by its name alone.
	source types.UID
}

// Propose plans an action that is about no running job: Create makes the object, a Restore with its spec or a Backup
// whose label velero.io/schedule-name says which schedule's template to take; Pause and Unpause change the schedule
// of the object's name, and DeleteBackup and DeleteRestore the object itself.
func (f *Engine) Propose(ctx context.Context, name Name, o *unstructured.Unstructured, r Request) (Plan, error) {
	a, err := actionNamed(name)
	if err != nil {
		return Plan{}, err
	}
	proposed, ok := a.(proposable)
	if !ok {
		return Plan{}, fmt.Errorf("%s is about a job: gather its evidence", name)
	}
	asked := o.DeepCopy()
	asked.SetNamespace(f.o.Namespace)
	e, err := f.patiently(ctx, func(ctx context.Context) (Evidence, error) {
		return f.gatherObject(ctx, proposed, proposal{asked: asked, request: r})
	})
	if err != nil {
		return Plan{}, err
	}
	p, _ := newPlan(a, &e, r)
	f.refuseAnother(ctx, &p)
	return p, nil
}

func (f *Engine) gatherObject(ctx context.Context, a proposable, of proposal) (Evidence, error) {
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
		e.proposal.refuse(
			permission(No, rightTo("get", velerov1.SchemeGroupVersion, kind.Resource(), f.o.Namespace), why),
		)
	}
	e.At, e.skew = f.access.clocks(f.o.Now(), e.Object)
	g.ask(g.server, g.identity, func() { a.gather(&g) })
	return e, g.err
}

// refuse keeps the first reason not to act.
func (o *proposal) refuse(v verdict) {
	if o.refusal.refusal == "" {
		o.refusal = v
	}
}

// may asks for the right to the one request of the action.
func (g *gathering) may(verb string, kind job.Kind) {
	right := rightTo(verb, velerov1.SchemeGroupVersion, kind.Resource(), g.o.Namespace)
	if verb != "create" {
		right.Name = g.e.proposal.asked.GetName()
	}
	g.mayDo(right)
}

func (g *gathering) mayDo(right authorizationv1.ResourceAttributes) {
	o, e := g.e.proposal, g.e
	e.MayPatch, e.MayPatchWhy = g.allowed(right)
	if e.MayPatch == Yes {
		o.ledger.Supports(diagnosis.SourceRBAC, e.At, "you may %s%s", describeRight(right), human.Clause(", as ", e.By))
		return
	}
	v := permission(e.MayPatch, right, e.MayPatchWhy)
	o.ledger.Doubts(diagnosis.SourceRBAC, e.At, "%s", v.refusal)
	o.refuse(v)
}

func rightTo(verb string, of schema.GroupVersion, resource, namespace string) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{
		Namespace: namespace,
		Verb:      verb,
		Group:     of.Group,
		Version:   of.Version,
		Resource:  resource,
	}
}

func describeRight(r authorizationv1.ResourceAttributes) string {
	return r.Verb + " " + schema.GroupResource{
		Group:    r.Group,
		Resource: r.Resource,
	}.String() + " in namespace " + r.Namespace
}

// permission is a refusal unless the API server has said yes to a right.
func permission(answer Answer, right authorizationv1.ResourceAttributes, why string) verdict {
	switch answer {
	case Yes:
		return verdict{}
	case No:
		return refuse(
			"Ask for the right; `veltui rbac operator"+human.Clause(
				" --with ",
				optionalRights[right.Verb+" "+right.Resource],
			)+"` prints the role.",
			"you may not %s%s",
			describeRight(right),
			because(why),
		)
	}
	return unknown("Try again: veltui writes nothing without an answer.", "whether you may "+describeRight(right), why)
}

// optionalRights are those of `veltui rbac` for a request.
var optionalRights = map[string]string{
	"create restores":             "create-restores",
	"create backups":              "create-backups",
	"patch schedules":             "pause-schedules",
	"get schedules":               "pause-schedules",
	"create deletebackuprequests": "delete-backups",
	"delete restores":             "delete-restores",
	"get configmaps":              "create-restores",
	"create configmaps":           "create-restores",
	"delete configmaps":           "create-restores",
}

// servers notes whether anything would carry out what is written.
func (g *gathering) servers() {
	l, s := &g.e.proposal.ledger, g.e.Server
	switch {
	case !s.Visible:
		l.Doubts(diagnosis.SourcePod, g.e.At, "cannot tell whether a Velero server is running%s", because(g.e.PodsWhy))
	case len(s.Pods) == 0:
		l.Doubts(
			diagnosis.SourcePod,
			g.e.At,
			"no Velero server is running: nothing happens until one does%s",
			because(s.Waiting),
		)
	default:
		l.Supports(diagnosis.SourcePod, s.Pods[0].StartedAt, "Velero server %s is running", s.Pods[0].Name)
	}
}

// named reads an object by its name. If there is none it returns nil and refuses the plan; consequence ends
// that sentence.
func (g *gathering) named(
	kind schema.GroupVersionKind,
	name string,
	into any,
	consequence string,
) *unstructured.Unstructured {
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
		g.e.proposal.refuse(
			refuse(
				"veltui get "+resource+" lists those that there are.",
				"there is no %s %s in namespace %s%s",
				word,
				name,
				g.o.Namespace,
				consequence,
			),
		)
	default:
		g.e.proposal.refuse(permission(No, rightTo("get", kind.GroupVersion(), resource, g.o.Namespace), why))
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
	o.ledger.Supports(
		diagnosis.SourceAPI,
		job.LastWritten(stored),
		"schedule %s is %s: %s",
		name,
		state,
		sanitize.String(s.Spec.Schedule),
	)
	raw, why := g.all(job.Backup, velerov1.ScheduleNameLabel+"="+name)
	if why != "" {
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
	raw, why := g.all(kind)
	if why != "" {
		l.Doubts(diagnosis.SourceAPI, g.e.At, "cannot tell which %s are ahead of it%s", kind.Resource(), because(why))
		return
	}
	var names []string
	for i := range raw {
		if phase := phaseOf(
			&raw[i],
		); !velero.TerminalPhase(phase) && phase != velero.PhaseDeleting &&
			raw[i].GetName() != g.e.proposal.asked.GetName() {
			names = append(names, sanitize.String(raw[i].GetName())+" ("+orNone(phase)+")")
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		l.Supports(diagnosis.SourceAPI, g.e.At, "no other %s is going on", kind.Word())
		return
	}
	l.Note(
		true,
		diagnosis.SourceAPI,
		g.e.At,
		"%s ahead of it: %s",
		human.Count(len(names), kind.Word()),
		human.List(names, 5),
	)
}
