package action

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/velero"
)

// action is what every action implements. An action with no further methods is only advised.
type action interface {
	actionKind() Kind
	// fillPlan completes the plan; it returns false if the evidence does not call for the action. It is a pure function.
	fillPlan(*Evidence, *Plan) bool
	// restsOnAges reports whether an age decides the plan: clocks that differ make such a plan wrong.
	restsOnAges(*Evidence) bool
}

// proposable is an action that concerns no running job and that a person asks for. It is also applicable.
type proposable interface {
	action
	// gatherFacts reads the facts that the plan rests on.
	gatherFacts(*gatherer)
	// refusedTitle returns the title of a refused plan.
	refusedTitle() string
}

// applicable is an action that veltui carries out. The engine gathers, compares, checks, sends, observes and records.
type applicable interface {
	action
	requestVerb() requestVerb
	// annotationPrefix returns the prefix of the annotations that say who acted.
	annotationPrefix() annotationPrefix
	// buildChanges returns a target's changes, and the notes besides the marks.
	buildChanges(*Plan, *unstructured.Unstructured, attemptStamp) (changes []patchOperation, notes [][2]string)
	// eventReason returns the reason of the Event, and doneText says in the Event what was done.
	eventReason() string
	doneText(*Plan) string
	// doneByOtherText says what somebody else did first, empty if it was the same.
	doneByOtherText(now *unstructured.Unstructured) string
	// checkUnchanged reads, right before each request, whatever would make the request wrong without changing the
	// object's version. It returns errChanged if something has changed.
	checkUnchanged(context.Context, *execution) error
	// observeEffect checks once whether the plan had its effect, and ends the execution if the effect, or the fact that
	// it is late, decides the outcome.
	observeEffect(ctx context.Context, x *execution, late bool) error
	// waitsForVelero reports whether the execution observes the job until Velero has ended it.
	waitsForVelero() bool
}

// requestVerb is the kind of change that a request makes to its targets.
type requestVerb int

const (
	verbPatch  requestVerb = iota
	verbCreate             // the targets do not exist yet
	verbDelete
)

// baseAction has the methods that most actions share.
type baseAction struct{}

func (baseAction) restsOnAges(*Evidence) bool { return true }

// baseApplicable has the methods that most applicable actions share: they patch nothing but their marks.
type baseApplicable struct{ baseAction }

func (baseApplicable) requestVerb() requestVerb { return verbPatch }

func (baseApplicable) buildChanges(*Plan, *unstructured.Unstructured, attemptStamp) ([]patchOperation, [][2]string) {
	return nil, nil
}

func (baseApplicable) doneByOtherText(*unstructured.Unstructured) string { return "" }

func (baseApplicable) checkUnchanged(context.Context, *execution) error { return nil }

func (baseApplicable) waitsForVelero() bool { return false }

// An action that lacks a method does not compile here; otherwise it would only be advised.
var (
	_ = []proposable{createAction{}, pauseAction{}, deleteBackupAction{}, deleteRestoreAction{}}
	_ = []applicable{
		finalizeAction{}, wakeAction{}, cancelVolumesAction{},
		createAction{}, pauseAction{}, deleteBackupAction{}, deleteRestoreAction{},
	}
)

// allActions lists all actions: first those that a job may call for, in the order in which they are offered.
func allActions() []action {
	return []action{
		finalizeAction{},
		fixFieldAction{},
		wakeAction{},
		restartNodeAgentAction{},
		cancelVolumesAction{},
		restartAction{},
		createAction{},
		pauseAction{pauseKind: Pause},
		pauseAction{pauseKind: Unpause},
		deleteBackupAction{},
		deleteRestoreAction{},
	}
}

func findAction(name Kind) (action, error) {
	for _, a := range allActions() {
		if a.actionKind() == name {
			return a, nil
		}
	}
	return nil, fmt.Errorf("there is no action %q", name)
}

func findApplicable(name Kind) (applicable, error) {
	a, err := findAction(name)
	if err != nil {
		return nil, err
	}
	does, ok := a.(applicable)
	if !ok {
		return nil, fmt.Errorf("veltui only advises %q", name)
	}
	return does, nil
}

// buildPatchCommands returns the kubectl commands that patch the plan's targets as veltui would, with the annotations
// that `veltui rbac policy` asks for.
func buildPatchCommands(a applicable, p *Plan) (commands []string) {
	at := p.evidence.Now.UTC()
	s := attemptStamp{at: at, by: p.evidence.Username, attempt: "kubectl-" + at.Format("20060102T150405Z")}
	for _, o := range p.targets {
		w, err := newWrite(a, p, o, s)
		if err != nil {
			return nil
		}
		patch, is := w.(*patch)
		if !is {
			continue // fillPlan has written the command
		}
		resource := qualifiedResource(p.Kind)
		if o.GetUID() != p.UID {
			resource = qualifiedResource(velero.VolumeKind(o.GetKind()))
		}
		commands = append(
			commands,
			p.request.ClusterAccess().
				KubectlCommand(o.GetNamespace(), "patch", resource, o.GetName(), "--type=json", "-p", string(patch.data)),
		)
	}
	return commands
}

// newWrite returns the request for one target.
func newWrite(a applicable, p *Plan, o *unstructured.Unstructured, s attemptStamp) (write, error) {
	marks := a.annotationPrefix()
	switch a.requestVerb() {
	case verbCreate:
		return newCreation(o, marks, s, p.Reason)
	case verbDelete:
		return &deletion{o}, nil
	}
	changes, notes := a.buildChanges(p, o, s)
	return newPatch(
		o,
		marks.attemptKey(),
		s.attempt,
		append(changes, marks.annotateOperations(o, s, p.Reason, notes...)...),
	)
}
