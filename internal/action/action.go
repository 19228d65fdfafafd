package action

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/job"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/velero"
)

// action is what an action has of its own. One that is no more than that is only advised.
type action interface {
	name() Name
	// fill completes the plan; false if the evidence does not call for the action. It is a pure function.
	fill(*Evidence, *Plan) bool
	// restsOnAges reports whether an age decides the plan, which clocks that differ then make wrong.
	restsOnAges(*Evidence) bool
}

// proposable is an action that is about no running job, and that a person asks for. It is also applicable.
type proposable interface {
	action
	// gather reads what the plan stands on.
	gather(*gathering)
	// refusedTitle is the title of a plan that is refused.
	refusedTitle() string
}

// applicable is an action that veltui carries out. The engine gathers, compares, checks, sends, observes and records.
type applicable interface {
	action
	verb() verb
	// marks are the annotations that say who did it.
	marks() marks
	// changes are a target's changes and notes besides the marks.
	changes(*Plan, *unstructured.Unstructured, stamp) (changes []operation, notes [][2]string)
	// event is the reason of the Event, and did says in it what was done.
	event() string
	did(*Plan) string
	// othersDid says what somebody did who was faster, empty for the same.
	othersDid(now *unstructured.Unstructured) string
	// confirm reads, right before each request, what would make that wrong and the version of the object does not show.
	// It returns errChanged if that has changed.
	confirm(context.Context, *execution) error
	// observe looks once whether the plan had its effect, and ends the execution if that, or that it is late, decides.
	observe(ctx context.Context, x *execution, late bool) error
	// endedByVelero reports whether it is observed until Velero has ended it.
	endedByVelero() bool
}

// verb is what a request does to its targets.
type verb int

const (
	patches verb = iota
	creates      // they do not exist yet
	deletes
)

// baseAction is what most actions have in common.
type baseAction struct{}

func (baseAction) restsOnAges(*Evidence) bool { return true }

// baseApplicable is what most applicable actions have in common: they patch nothing but their marks.
type baseApplicable struct{ baseAction }

func (baseApplicable) verb() verb { return patches }

func (baseApplicable) changes(*Plan, *unstructured.Unstructured, stamp) ([]operation, [][2]string) {
	return nil, nil
}

func (baseApplicable) othersDid(*unstructured.Unstructured) string { return "" }

func (baseApplicable) confirm(context.Context, *execution) error { return nil }

func (baseApplicable) endedByVelero() bool { return false }

// An action that lacks a method would only be advised.
var (
	_ = []proposable{createAction{}, pauseAction{}, deleteBackupAction{}, deleteRestoreAction{}}
	_ = []applicable{
		finalizeAction{}, wakeAction{}, cancelVolumesAction{},
		createAction{}, pauseAction{}, deleteBackupAction{}, deleteRestoreAction{},
	}
)

// actions lists all actions: first those that a job may call for, in the order in which they are offered.
func actions() []action {
	return []action{
		finalizeAction{},
		fixFieldAction{},
		wakeAction{},
		restartNodeAgentAction{},
		cancelVolumesAction{},
		restartAction{},
		createAction{},
		pauseAction{as: Pause},
		pauseAction{as: Unpause},
		deleteBackupAction{},
		deleteRestoreAction{},
	}
}

func actionNamed(name Name) (action, error) {
	for _, a := range actions() {
		if a.name() == name {
			return a, nil
		}
	}
	return nil, fmt.Errorf("there is no action %q", name)
}

func applicableNamed(name Name) (applicable, error) {
	a, err := actionNamed(name)
	if err != nil {
		return nil, err
	}
	does, ok := a.(applicable)
	if !ok {
		return nil, fmt.Errorf("veltui only advises %q", name)
	}
	return does, nil
}

// Plans returns what the evidence calls for: finalizing first, as a plan or a refusal, then the
// gentler actions, then those that are only advised. Only finalizing uses the request's phase.
func Plans(e Evidence, r Request) []Plan {
	var plans []Plan
	for _, a := range actions() {
		if _, ok := a.(proposable); ok {
			continue
		}
		if p, ok := newPlan(a, &e, r); ok {
			plans = append(plans, p)
		}
	}
	return plans
}

// For returns the plan of one action; ok is false if the evidence does not call for it.
func For(name Name, e Evidence, r Request) (p Plan, ok bool) {
	a, err := actionNamed(name)
	if err != nil {
		return Plan{}, false
	}
	return newPlan(a, &e, r)
}

// newPlan makes the plan of an action, or its refusal; false if the evidence does not call for the action.
func newPlan(a action, e *Evidence, r Request) (Plan, bool) {
	if e.Job != nil && e.isMalformed() && a.name() != Finalize && a.name() != FixField {
		return Plan{}, false // until the field is fixed Velero hears of nothing else
	}
	p := Plan{
		Action:          a.name(),
		ResourceVersion: e.Object.GetResourceVersion(),
		From:            phaseOf(e.Object),
		request:         r,
		evidence:        *e,
	}
	if j := e.Job; j != nil {
		p.Kind, p.Namespace, p.Name, p.UID = j.Kind, j.Namespace, j.Name, j.UID
	} else {
		o := e.Object
		p.Kind, p.Namespace, p.Name, p.UID = job.Kind(
			o.GetKind(),
		), o.GetNamespace(), sanitize.String(
			o.GetName(),
		), o.GetUID()
	}
	if o := e.proposal; o != nil {
		if proposed, ok := a.(proposable); ok {
			p.Title = proposed.refusedTitle()
		}
		p.Why = "it was asked for"
		p.refuse(cmp.Or(o.refusal, verdict{refusal: r.Refusal, advice: r.Advice}))
	}
	if p.Refusal == "" && !a.fill(e, &p) {
		return Plan{}, false
	}
	p.Reason = cmp.Or(r.Reason, p.Why)
	if p.Refusal == "" {
		p.refuse(checkReason(r))
	}
	if doubt := e.skew.doubt(); doubt != "" && p.Possible() && a.restsOnAges(e) {
		p.refuse(refuse(skewAdvice, "%s", doubt))
	}
	if applied, ok := a.(applicable); ok {
		p.Commands = append(p.Commands, patchCommands(applied, &p)...)
	}
	return p, true
}

// patchCommands patch the plan's targets with kubectl as veltui would, with the annotations that
// `veltui rbac policy` asks for.
func patchCommands(a applicable, p *Plan) (commands []string) {
	at := p.evidence.At.UTC()
	s := stamp{at: at, by: p.evidence.By, attempt: "kubectl-" + at.Format("20060102T150405Z")}
	for _, o := range p.targets {
		w, err := newWrite(a, p, o, s)
		if err != nil {
			return nil
		}
		patch, is := w.(*patch)
		if !is {
			continue // fill has written the command
		}
		resource := qualified(p.Kind)
		if o.GetUID() != p.UID {
			resource = qualified(velero.VolumeKind(o.GetKind()))
		}
		commands = append(
			commands,
			p.request.Reach().
				Kubectl(o.GetNamespace(), "patch", resource, o.GetName(), "--type=json", "-p", string(patch.data)),
		)
	}
	return commands
}

// newWrite makes the request for one target.
func newWrite(a applicable, p *Plan, o *unstructured.Unstructured, s stamp) (write, error) {
	marks := a.marks()
	switch a.verb() {
	case creates:
		return newCreation(o, marks, s, p.Reason)
	case deletes:
		return &deletion{o}, nil
	}
	changes, notes := a.changes(p, o, s)
	return newPatch(o, marks.attempt(), s.attempt, append(changes, marks.annotate(o, s, p.Reason, notes...)...))
}
