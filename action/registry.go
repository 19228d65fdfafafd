package action

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The actions.
const (
	// Finalize writes the phase in which the job should be.
	Finalize Name = "finalize"
	// Wake touches the job, so that Velero looks at it again.
	Wake Name = "wake"
	// CancelVolumes asks for an end of data movement that no longer moves.
	CancelVolumes Name = "cancel-volumes"
	// Restart is a restart of Velero's server, which veltui never does itself.
	Restart Name = "restart"
	// RestartNodeAgent is a restart of one node's node-agent, which veltui never
	// does itself.
	RestartNodeAgent Name = "restart-node-agent"
	// FixField corrects a field that Velero cannot read, which veltui never does
	// itself.
	FixField Name = "fix-field"
)

// definition is what an action has of its own. The engine does all the rest:
// gather, compare, dry run, guarded patches, observe, audit.
type definition struct {
	name Name
	// draft says what the action does; false if the evidence does not call for
	// it. It is a pure function.
	draft func(*Evidence, Request) (Plan, bool)
	// edit is the patch of one of the plan's targets. It is nil, like all that
	// follows, for an action that is only advised.
	edit func(*Plan, *unstructured.Unstructured, stamp) (edit, error)
	// marks are the annotations that say who did it.
	marks marks
	// did says what somebody else did who was faster.
	did func(now *unstructured.Unstructured) string
	// lost says why the answer to a patch is not what was asked for, empty if
	// it is.
	lost func(*Plan, *unstructured.Unstructured) string
	// event is the reason and the message of the Event.
	event func(*Plan) (reason, message string)
	// observe looks once whether the plan has brought about what it was to, and
	// ends the execution if that is decided. Late is true once the time is over.
	observe func(x *execution, ctx context.Context, late bool) error
	// patience is how much longer than Options.Observe it is observed.
	patience time.Duration
}

// definitions are all actions, in the order in which they are offered. A new
// action is a new file and a line here.
func definitions() []definition {
	return []definition{finalizing(), fixingField(), waking(), restartingNodeAgent(), cancelling(), restarting()}
}

func definitionOf(name Name) (definition, error) {
	for _, d := range definitions() {
		if d.name == name {
			return d, nil
		}
	}
	return definition{}, fmt.Errorf("there is no action %q", name)
}

// Plans are what the evidence calls for: finalizing first, as a plan or as a
// refusal, then the gentler actions, then those that veltui only advises. Of
// the request the phase counts for finalizing only.
func Plans(e Evidence, r Request) []Plan {
	var plans []Plan
	for _, d := range definitions() {
		if p, ok := d.planned(&e, r); ok {
			plans = append(plans, p)
		}
	}
	return plans
}

// For is the plan of one action; ok is false if the evidence does not call for
// it. Finalizing always has a plan, or a refusal.
func For(name Name, e Evidence, r Request) (p Plan, ok bool) {
	d, err := definitionOf(name)
	if err != nil {
		return Plan{}, false
	}
	return d.planned(&e, r)
}

// planned starts the plan that fill completes, if the evidence calls for it.
func planned(of Name, fill func(*Evidence, *Plan) bool) func(*Evidence, Request) (Plan, bool) {
	return func(e *Evidence, r Request) (Plan, bool) {
		p := newPlan(of, e, r)
		return p, fill(e, &p)
	}
}

func (d definition) planned(e *Evidence, r Request) (Plan, bool) {
	if e.isMalformed() && d.name != Finalize && d.name != FixField {
		return Plan{}, false // until the field is fixed Velero hears of nothing else
	}
	p, ok := d.draft(e, r)
	if !ok {
		return Plan{}, false
	}
	if p.Reason = r.Reason; p.Reason == "" {
		p.Reason = p.Why
	}
	if v := checkReason(r); v.refusal != "" && p.Refusal == "" {
		p.Refusal, p.Advice = v.refusal, v.advice
	}
	return p, true
}

// marks are the names of the annotations that say who did something, and when.
type marks struct{ by, at, reason, attempt string }

// annotate writes them, with what else belongs to them.
func (m marks) annotate(o *unstructured.Unstructured, s stamp, reason string, more ...[2]string) []operation {
	notes := append([][2]string{{m.by, s.by}, {m.at, s.at.UTC().Format(time.RFC3339)}}, more...)
	return annotate(o, append(notes, [2]string{m.reason, reason}, [2]string{m.attempt, s.attempt}))
}

// others says that somebody else has done the same since seen, empty if nobody
// has.
func (m marks) others(seen, now *unstructured.Unstructured) (by, at string) {
	if now.GetAnnotations()[m.attempt] == seen.GetAnnotations()[m.attempt] {
		return "", ""
	}
	return now.GetAnnotations()[m.by], now.GetAnnotations()[m.at]
}
