package action

import (
	"context"
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/diagnosis"
	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/internal/velero/veleroapi"
)

// proposal is what an action that concerns no running job rests on, besides the rest of [Evidence].
type proposal struct {
	object        *unstructured.Unstructured // what to create, or the schedule to change, by its name
	request       Request
	policyAttempt string                  // the attempt that may already have created the ConfigMap
	objectExists  bool                    // an object already has its name
	facts         diagnosis.FactCollector // the facts that were found
	refusal       decision                // the first reason not to do it
	// schedule is the schedule to change or to make a backup of.
	schedule       *veleroapi.Schedule
	template       map[string]any // its spec.template as it is stored
	blockingBackup string         // the backup that holds up the schedule's next run
	deletion       backupDeletion
	// sourceUID is the uid of the backup to restore: a Restore refers to the backup by name alone.
	sourceUID types.UID
}

// ProposePlan plans an action that concerns no running job: Create makes the object, a Restore with its spec or a
// Backup whose label velero.io/schedule-name says which schedule's template to use; Pause and Unpause change the
// schedule of the object's name, and DeleteBackup and DeleteRestore delete the object itself.
func (f *Engine) ProposePlan(ctx context.Context, name Kind, o *unstructured.Unstructured, r Request) (Plan, error) {
	a, err := findAction(name)
	if err != nil {
		return Plan{}, err
	}
	proposed, ok := a.(proposable)
	if !ok {
		return Plan{}, fmt.Errorf("%s is about a job: gather its evidence", name)
	}
	asked := o.DeepCopy()
	asked.SetNamespace(f.options.Namespace)
	e, err := f.withDeadline(ctx, func(ctx context.Context) (Evidence, error) {
		return f.gatherProposal(ctx, proposed, proposal{object: asked, request: r})
	})
	if err != nil {
		return Plan{}, err
	}
	p, _ := newPlan(a, &e, r)
	f.refuseSecondCreation(ctx, &p)
	return p, nil
}

func (f *Engine) gatherProposal(ctx context.Context, a proposable, of proposal) (Evidence, error) {
	asked := of.object
	e := Evidence{
		engine:   f,
		proposal: &of,
		Object:   newObject(asked.GroupVersionKind(), f.options.Namespace, asked.GetName()),
	}
	g := gatherer{Engine: f, ctx: ctx, client: f.connection.currentClient(), evidence: &e}
	var err error
	if e.Cluster, err = f.connection.Identify(ctx); err != nil {
		return e, err
	}
	why, kind := "", job.Kind(asked.GetKind())
	switch err := g.client.Get(ctx, e.Object); {
	case g.checkAnswer("reading "+kind.Noun()+" "+asked.GetName(), err, &why):
		e.proposal.objectExists = true
	case isServerNotFound(err):
	case g.err != nil:
		return e, g.err
	default:
		e.proposal.noteRefusal(
			checkPermission(No, newAccessRight("get", veleroapi.GroupVersion, kind.Resource(), f.options.Namespace), why),
		)
	}
	e.Now, e.clockSkew = f.connection.compareClocks(f.options.Now(), e.Object)
	g.runQueries(g.fetchServer, g.fetchUser, func() { a.gatherFacts(&g) })
	return e, g.err
}

// noteRefusal keeps the first reason not to act.
func (o *proposal) noteRefusal(v decision) {
	if o.refusal.refusal == "" {
		o.refusal = v
	}
}

// checkRequestAccess checks the right to the one request of the action.
func (g *gatherer) checkRequestAccess(verb string, kind job.Kind) {
	right := newAccessRight(verb, veleroapi.GroupVersion, kind.Resource(), g.options.Namespace)
	if verb != "create" {
		right.Name = g.evidence.proposal.object.GetName()
	}
	g.noteAccess(right)
}

func (g *gatherer) noteAccess(right authorizationv1.ResourceAttributes) {
	o, e := g.evidence.proposal, g.evidence
	e.MayPatch, e.MayPatchReason = g.checkAccess(right)
	if e.MayPatch == Yes {
		o.facts.AddSupport(
			diagnosis.SourceRBAC,
			e.Now,
			"you may %s%s",
			describeRight(right),
			human.Prefixed(", as ", e.Username),
		)
		return
	}
	v := checkPermission(e.MayPatch, right, e.MayPatchReason)
	o.facts.AddDoubt(diagnosis.SourceRBAC, e.Now, "%s", v.refusal)
	o.noteRefusal(v)
}

func newAccessRight(
	verb string,
	of schema.GroupVersion,
	resource, namespace string,
) authorizationv1.ResourceAttributes {
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

// checkPermission returns a refusal unless the API server has granted a right.
func checkPermission(answer TriState, right authorizationv1.ResourceAttributes, why string) decision {
	switch answer {
	case Yes:
		return decision{}
	case No:
		return newRefusal(
			"Ask for the right; `veltui rbac operator"+human.Prefixed(
				" --with ",
				optionalRights[right.Verb+" "+right.Resource],
			)+"` prints the role.",
			"you may not %s%s",
			describeRight(right),
			causeSuffix(why),
		)
	}
	return refuseUnknown(
		"Try again: veltui writes nothing without an answer.",
		"whether you may "+describeRight(right),
		why,
	)
}

// optionalRights maps requests to the optional rights of `veltui rbac` that they need.
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

// noteServers notes whether a server would carry out what is written.
func (g *gatherer) noteServers() {
	l, s := &g.evidence.proposal.facts, g.evidence.Server
	switch {
	case !s.Visible:
		l.AddDoubt(
			diagnosis.SourcePod,
			g.evidence.Now,
			"cannot tell whether a Velero server is running%s",
			causeSuffix(g.evidence.PodsUnchecked),
		)
	case len(s.Pods) == 0:
		l.AddDoubt(
			diagnosis.SourcePod,
			g.evidence.Now,
			"no Velero server is running: nothing happens until one does%s",
			causeSuffix(s.WaitingReason),
		)
	default:
		l.AddSupport(diagnosis.SourcePod, s.Pods[0].StartedAt, "Velero server %s is running", s.Pods[0].Name)
	}
}

// fetchNamed reads an object by its name. If it does not exist, fetchNamed returns nil and refuses the plan;
// consequence ends the sentence of the refusal.
func (g *gatherer) fetchNamed(
	kind schema.GroupVersionKind,
	name string,
	into any,
	consequence string,
) *unstructured.Unstructured {
	o, word, resource, why := g.evidence.Object, job.Kind(kind.Kind).Noun(), job.Kind(kind.Kind).Resource(), ""
	var err error
	if !g.evidence.proposal.objectExists || o.GetKind() != kind.Kind || o.GetName() != name {
		o = newObject(kind, g.options.Namespace, name)
		err = g.client.Get(g.ctx, o)
	}
	if err == nil {
		_, err = convertObject(o, into)
	}
	switch {
	case g.checkAnswer("reading "+word+" "+name, err, &why):
		return o
	case isServerNotFound(err):
		g.evidence.proposal.noteRefusal(
			newRefusal(
				"veltui get "+resource+" lists those that there are.",
				"there is no %s %s in namespace %s%s",
				word,
				name,
				g.options.Namespace,
				consequence,
			),
		)
	default:
		g.evidence.proposal.noteRefusal(
			checkPermission(No, newAccessRight("get", kind.GroupVersion(), resource, g.options.Namespace), why),
		)
	}
	return nil
}

// fetchSchedule reads the schedule of a name, and finds the backup that holds up its next run.
func (g *gatherer) fetchSchedule(name string) {
	o := g.evidence.proposal
	var s veleroapi.Schedule
	stored := g.fetchNamed(veleroapi.GroupVersion.WithKind("Schedule"), name, &s, "")
	if stored == nil {
		return
	}
	o.schedule, o.template = &s, nestedMap(stored, "spec", "template")
	state := "enabled"
	if s.Spec.Paused {
		state = "paused"
	}
	o.facts.AddSupport(
		diagnosis.SourceAPI,
		job.LastWritten(stored),
		"schedule %s is %s: %s",
		name,
		state,
		sanitize.String(s.Spec.Schedule),
	)
	if len(name) > velero.MaxLabelLength {
		return // no backup can have it as a label
	}
	raw, why := g.listVeleroKind(job.Backup, veleroapi.ScheduleNameLabel+"="+name)
	if why != "" {
		o.facts.AddDoubt(diagnosis.SourceAPI, g.evidence.Now, "cannot tell which of its backups run%s", causeSuffix(why))
		return
	}
	for i := range raw {
		if velero.BlocksSchedule(phaseOf(&raw[i])) {
			o.blockingBackup = sanitize.String(raw[i].GetName())
		}
	}
}

// noteJobsAhead notes which jobs of a kind have not ended: Velero takes them first, or runs them beside the new one.
func (g *gatherer) noteJobsAhead(kind job.Kind) {
	l := &g.evidence.proposal.facts
	raw, why := g.listVeleroKind(kind)
	if why != "" {
		l.AddDoubt(
			diagnosis.SourceAPI,
			g.evidence.Now,
			"cannot tell which %s are ahead of it%s",
			kind.Resource(),
			causeSuffix(why),
		)
		return
	}
	var names []string
	for i := range raw {
		if phase := phaseOf(
			&raw[i],
		); !velero.IsTerminalPhase(phase) && phase != velero.PhaseDeleting &&
			raw[i].GetName() != g.evidence.proposal.object.GetName() {
			names = append(names, sanitize.String(raw[i].GetName())+" ("+phaseOrNone(phase)+")")
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		l.AddSupport(diagnosis.SourceAPI, g.evidence.Now, "no other %s is going on", kind.Noun())
		return
	}
	l.AddFact(
		true,
		diagnosis.SourceAPI,
		g.evidence.Now,
		"%s ahead of it: %s",
		human.Count(len(names), kind.Noun()),
		human.JoinNames(names, 5),
	)
}
