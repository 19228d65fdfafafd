package action

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/velero"
)

const (
	Finalize      Name = "finalize"       // writes the phase in which the job should be
	Wake          Name = "wake"           // touches the job, so that Velero looks at it again
	CancelVolumes Name = "cancel-volumes" // ends data movement that no longer moves
	// Restarts of the server or of one node's node-agent, and corrections of fields that
	// Velero cannot read: veltui only advises them.
	Restart          Name = "restart"
	RestartNodeAgent Name = "restart-node-agent"
	FixField         Name = "fix-field"
)

// definition is what an action has of its own. The engine gathers, compares, checks, patches,
// observes and records.
type definition struct {
	name Name
	// fill completes the plan; false if the evidence does not call for the action. It is a
	// pure function.
	fill func(*Evidence, *Plan) bool
	// marks are the annotations that say who did it. They are empty, and all that follows is
	// nil, for an action that is only advised.
	marks marks
	// changes are a target's changes and notes besides the marks; nil for none.
	changes func(*Plan, *unstructured.Unstructured, stamp) (changes []operation, notes [][2]string)
	did     func(now *unstructured.Unstructured) string // says what somebody else did who was faster
	event   func(*Plan) (reason, message string)        // the reason and the message of the Event
	// observe looks once whether the plan had its effect, and ends the execution if that is
	// decided. Late is true once the time is over.
	observe       func(x *execution, ctx context.Context, late bool) error
	endedByVelero bool // it is observed until Velero has ended it
}

// definitions lists all actions, in the order in which they are offered.
func definitions() []definition {
	return []definition{finalizing(), {name: FixField, fill: fixField}, waking(), {name: RestartNodeAgent, fill: restartNodeAgent},
		cancelling(), {name: Restart, fill: restart}}
}

func definitionOf(name Name) (definition, error) {
	for _, d := range definitions() {
		if d.name == name {
			return d, nil
		}
	}
	return definition{}, fmt.Errorf("there is no action %q", name)
}

// Plans returns what the evidence calls for: finalizing first, as a plan or a refusal, then the
// gentler actions, then those that are only advised. Only finalizing uses the request's phase.
func Plans(e Evidence, r Request) []Plan {
	var plans []Plan
	for _, d := range definitions() {
		if p, ok := d.planned(&e, r); ok {
			plans = append(plans, p)
		}
	}
	return plans
}

// For returns the plan of one action; ok is false if the evidence does not call for it.
func For(name Name, e Evidence, r Request) (p Plan, ok bool) {
	d, err := definitionOf(name)
	if err != nil {
		return Plan{}, false
	}
	return d.planned(&e, r)
}

func (d definition) planned(e *Evidence, r Request) (Plan, bool) {
	if e.isMalformed() && d.name != Finalize && d.name != FixField {
		return Plan{}, false // until the field is fixed Velero hears of nothing else
	}
	p := Plan{
		Action: d.name, Kind: e.Job.Kind, Namespace: e.Job.Namespace, Name: e.Job.Name, UID: e.Job.UID,
		ResourceVersion: e.Object.GetResourceVersion(), From: phaseOf(e.Object), request: r, evidence: *e,
	}
	if !d.fill(e, &p) {
		return Plan{}, false
	}
	p.Reason = cmp.Or(r.Reason, p.Why)
	if v := checkReason(r); v.refusal != "" && p.Refusal == "" {
		p.Refusal, p.Advice = v.refusal, v.advice
	}
	if doubt := e.skew.doubt(); doubt != "" && p.Possible() {
		p.Refusal, p.Advice = doubt, skewAdvice
	}
	if d.marks != "" {
		p.Commands = d.commands(&p)
	}
	return p, true
}

// commands patch the plan's targets with kubectl as veltui would, with the annotations that
// `veltui rbac policy` asks for.
func (d definition) commands(p *Plan) (commands []string) {
	at := p.evidence.At.UTC()
	s := stamp{at: at, by: p.evidence.By, attempt: "kubectl-" + at.Format("20060102T150405Z")}
	for _, o := range p.targets {
		w, err := d.patch(p, o, s)
		if err != nil {
			return nil
		}
		resource := qualified(p.Kind)
		if o.GetUID() != p.UID {
			resource = qualified(velero.VolumeKind(o.GetKind()))
		}
		commands = append(commands, p.request.Reach().Kubectl(o.GetNamespace(), "patch", resource, o.GetName(), "--type=json", "-p", string(w.data)))
	}
	return commands
}

func (d definition) patch(p *Plan, o *unstructured.Unstructured, s stamp) (*patch, error) {
	var changes []operation
	var notes [][2]string
	if d.changes != nil {
		changes, notes = d.changes(p, o, s)
	}
	return newPatch(o, d.marks.attempt(), s.attempt, append(changes, d.marks.annotate(o, s, p.Reason, notes...)...))
}

// marks is the prefix of the annotations that say who did something, when, why and in which
// attempts, newest first. The attempt tells our own patch from others after a lost answer.
type marks string

const (
	finalized marks = "veltui.io/finalized"
	woken     marks = "veltui.io/woken"
	cancelled marks = "veltui.io/cancelled"
)

func (m marks) attempt() string { return string(m) + "-attempt" }

// annotate writes the marks and more notes; those without a value are left out, or emptied
// where an earlier one exists.
func (m marks) annotate(o *unstructured.Unstructured, s stamp, reason string, more ...[2]string) []operation {
	var ops []operation
	if o.GetAnnotations() == nil {
		ops = append(ops, operation{"add", "/metadata/annotations", map[string]string{}})
	}
	notes := append([][2]string{{"-by", s.by}, {"-at", s.at.UTC().Format(time.RFC3339)}}, more...)
	for _, n := range append(notes, [2]string{"-reason", reason}, [2]string{"-attempt", addAttempt(o, m.attempt(), s.attempt)}) {
		if n[1] != "" || o.GetAnnotations()[string(m)+n[0]] != "" {
			ops = append(ops, operation{"add", "/metadata/annotations/" + strings.ReplaceAll(string(m)+n[0], "/", "~1"), n[1]})
		}
	}
	return ops
}

// others returns who did the same after seen, empty for nobody.
func (m marks) others(seen, now *unstructured.Unstructured) (by, at string) {
	notes := now.GetAnnotations()
	if notes[m.attempt()] == seen.GetAnnotations()[m.attempt()] {
		return "", ""
	}
	return notes[string(m)+"-by"], notes[string(m)+"-at"]
}
