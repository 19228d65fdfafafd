package action

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/retry"
)

// execution is one run of Apply: one deadline, one local record, and patches that land once or not at all.
type execution struct {
	action   applicable
	f        *Engine
	dryRun   bool
	report   func(Progress)
	plan     Plan
	evidence *Evidence // as last gathered
	stamp    stamp
	step     Step
	until    time.Time // the one deadline
	away     time.Time // when an attempt last met no API server, or one that could not answer
	looked   time.Time // when the evidence was last gathered
	audit    *audit
	record   Entry // what all entries of the audit log have in common
	writes   []write
	// deliveries are what is known of the writes, in their order.
	deliveries []*delivery
	sent       int    // how many of them have landed
	host       string // where the last request was sent
	out        Outcome
	subject    *unstructured.Unstructured // what is observed: what the plan is about, or what was created
	policy     *unstructured.Unstructured // the ConfigMap that was created for it, nil for none

	observeUntil time.Time
}

func newID() string { return strings.ToLower(rand.Text()) }

// Apply applies a plan that a person has agreed to. It gathers all evidence again, which must lead to the same plan
// over the same resources; has the API server check every patch in a dry run, after which it stops with dryRun; sends
// each patch until it lands or the one deadline is over, never twice; and observes what follows. Report may be nil.
//
// An error means that it did not come to its end: the deadline is over ([retry.DeadlineError]), the context ended, or
// the API server gave an answer that time does not mend. The outcome still says what was sent.
func (f *Engine) Apply(ctx context.Context, shown Plan, dryRun bool, report func(Progress)) (Outcome, error) {
	out := Outcome{State: Refused, Sent: NotSent, Plan: shown, Phase: shown.From, Message: shown.Refusal}
	switch {
	case f.writer == nil:
		out.Message = ErrReadOnly.Error()
		return out, ErrReadOnly
	case !shown.Possible():
		return out, nil
	}
	a, err := applicableNamed(shown.Action)
	if err != nil {
		out.Message = err.Error()
		return out, err
	}
	x := f.execution(a, shown, dryRun, report)
	x.out = out
	x.out.State, x.out.Message = Unfinished, ""
	return x.run(ctx)
}

func (f *Engine) execution(a applicable, shown Plan, dryRun bool, report func(Progress)) *execution {
	if report == nil {
		report = func(Progress) {}
	}
	deadline := f.o.Deadline
	if deadline <= 0 {
		deadline = velero.ResourceTimeout(shown.evidence.Object, velero.ServerFlags{})
	}
	return &execution{action: a, f: f, plan: shown, dryRun: dryRun, report: report, until: f.o.Now().Add(deadline),
		stamp: stamp{by: shown.evidence.By, attempt: f.o.NewID()}, subject: shown.evidence.Object}
}

// run takes the steps until one ends the execution.
func (x *execution) run(ctx context.Context) (Outcome, error) {
	for _, step := range []func(context.Context) error{x.look, x.prepare, x.check, x.send, x.watch} {
		err := step(ctx)
		if isElsewhere(err) {
			x.out.Plan = Plan{}
			err = x.stop(Changed, "%v; %s", err, x.nothing())
		}
		if errors.Is(err, errStop) {
			break
		}
		if err != nil {
			x.out.Message = fmt.Sprintf("%s: %v; %s", x.step, err, x.sentSoFar())
			return x.finish(err), err
		}
	}
	return x.finish(nil), nil
}

// look gathers all evidence again: what was shown may be minutes old.
func (x *execution) look(ctx context.Context) error {
	x.enter(StepLook)
	now, e, err := x.replan(ctx)
	if isGone(err) {
		return x.stop(Changed, "%s %s no longer exists; %s", x.plan.Kind.Word(), x.plan.Name, x.nothing())
	}
	if err != nil {
		return err
	}
	x.out.Phase = phaseOf(e.Object)
	if !now.Same(&x.plan) {
		return x.changed(e.Object, now)
	}
	x.plan, x.stamp.by = now, e.By
	return nil
}

// replan makes the present plan; Action is empty if the evidence calls for none.
func (x *execution) replan(ctx context.Context) (Plan, *Evidence, error) {
	e, err := x.gather(ctx)
	if err != nil {
		return Plan{}, nil, err
	}
	return x.planned(ctx, &e), &e, nil
}

// planned completes evidence with what is stored, and makes the plan.
func (x *execution) planned(ctx context.Context, e *Evidence) Plan {
	known := x.evidence
	if known == nil {
		known = &x.plan.evidence
	}
	x.looked = x.f.o.Now() // the object store may take its time
	if e.proposal == nil {
		x.f.GatherStored(ctx, e, known)
	}
	x.evidence = e
	now, _ := newPlan(x.action, e, x.plan.request)
	return now
}

// lookOnce gathers the evidence before a late send: it must still lead to what is left of the plan that was shown.
func (x *execution) lookOnce(ctx context.Context) error {
	e, err := x.gatherOnce(ctx)
	if isGone(err) {
		return errChanged
	}
	if err != nil {
		return err
	}
	now := x.planned(ctx, &e)
	if now.covers(&x.plan, x.plan.targets[x.sent:]) {
		return nil
	}
	return errChanged
}

func (x *execution) changed(o *unstructured.Unstructured, now Plan) error {
	x.out.Plan, x.out.Phase = now, phaseOf(o)
	seen, what := x.plan.evidence.Object, "it changed after the plan was shown"
	by, at := x.action.marks().others(seen, o)
	if x.out.Sent == Doubtful && by == x.stamp.by {
		by, what = "", "it was changed, perhaps by what was sent"
	}
	switch {
	case now.evidence.By != "" && now.evidence.By != x.plan.evidence.By:
		what = fmt.Sprintf("you are %s now, and the plan was shown to %s", now.evidence.By, x.plan.evidence.By)
	case x.plan.UID == "" && o.GetUID() != "":
		what = x.otherCreator(o)
	case o.GetUID() == "" && x.plan.UID != "":
		what = "it was deleted"
	case o.GetUID() != x.plan.UID:
		what = "it was deleted, and another one has its name"
	case by != "":
		did := cmp.Or(x.action.othersDid(o), x.action.did(&x.plan))
		what = fmt.Sprintf("%s %s at %s", by, did, x.moment(at))
	case phaseOf(o) != x.plan.From:
		what = fmt.Sprintf("its phase went from %s to %s", orNone(x.plan.From), phaseOf(o))
	case now.Action == "":
		what = "the evidence no longer calls for it"
	case now.Refusal != "":
		what = "the evidence has changed: " + now.Refusal
	case len(x.plan.Volumes) > 0:
		what = "the volumes to cancel are no longer those that were shown"
	case o.GetResourceVersion() == seen.GetResourceVersion():
		what = "what it would lead to is no longer what was shown"
	}
	return x.stop(Changed, "%s; %s", what, x.nothing())
}

func (x *execution) prepare(context.Context) error {
	p := &x.plan
	x.record = Entry{Action: string(p.Action), Kind: string(p.Kind), Namespace: p.Namespace, Name: p.Name,
		UID: string(p.UID), From: p.From, To: p.To, Reason: p.Reason}
	if p.To == "" {
		x.record.To = p.From
	}
	if err := x.begin(); err != nil {
		return err
	}
	for _, o := range p.targets {
		w, err := newWrite(x.action, p, o, x.stamp)
		if err != nil {
			return err
		}
		x.writes = append(x.writes, w)
		x.deliveries = append(x.deliveries, &delivery{write: w})
	}
	return nil
}

// lookAgain reads a target after a failed precondition: nil means that the write landed. None is made over a change.
func (x *execution) lookAgain(ctx context.Context, d *delivery, cause error) error {
	seen := d.object()
	var o *unstructured.Unstructured
	err := retry.RetryOnErrorMaxBackOff(ctx, x.retrying(), func(ctx context.Context) (err error) {
		o, err = x.read(ctx, seen)
		return err
	})
	what := "the " + x.plan.Kind.Word()
	if !x.isJob(seen) {
		what = seen.GetKind() + " " + seen.GetName()
	}
	var found finding
	if err == nil {
		found = d.settleUnseen(o)
		x.update()
	}
	switch {
	case err != nil:
		return errors.Join(cause, err)
	case found == landed && d.altered == "":
		d.land(o)
		return nil
	case found == pending && !errors.Is(cause, errChanged):
		return x.stop(Refused, "the API server refused it: %s; %s", refusalText(cause), x.nothing())
	case o == nil && found != pending:
		return x.stop(Changed, "%s is gone; %s", what, x.nothing())
	}
	now, evidence, err := x.replan(ctx)
	switch {
	case isGone(err):
		return x.stop(Changed, "%s is gone; %s", what, x.nothing())
	case err != nil:
		return errors.Join(cause, err)
	case x.isJob(seen) || found == pending:
		return x.changed(evidence.Object, now)
	}
	x.out.Plan = now
	if seen.GetUID() == "" {
		return x.stop(Changed, "%s; %s", x.otherCreator(o), x.nothing())
	}
	did := "changed"
	if by, _ := x.action.marks().others(seen, o); by != "" && by != x.stamp.by {
		did = "was patched by " + by
	}
	return x.stop(Changed, "%s %s after it was shown; %s", what, did, x.nothing())
}

func (x *execution) isJob(o *unstructured.Unstructured) bool {
	return o.GetUID() == x.plan.UID && o.GetKind() == string(x.plan.Kind)
}

// send sends every write until it lands; the first that does not ends the execution.
func (x *execution) send(ctx context.Context) error {
	x.enter(StepPatch)
	for i, d := range x.deliveries {
		err := x.deliver(ctx, d)
		if d.landed && !d.forGood { // by a dry run that had no answer
			return x.carriedOut(d)
		}
		if errors.Is(err, errAltered) && !d.landed {
			return x.stop(Altered, "%v: it would %s; %s", err, d.altered, x.nothing())
		}
		if err != nil && !d.landed {
			err = x.sortAnswer(ctx, d, err)
		}
		if !d.landed {
			return err
		}
		x.update()
		x.sent = i + 1
		if err := x.note("landed", d.write); err != nil {
			x.warn("cannot write the local log: %v", err)
		}
		if x.isJob(d.object()) {
			x.out.Phase, x.subject = phaseOf(d.after), d.after
		} else if isPolicy(targetOf(d.object())) {
			x.policy = d.after
		}
	}
	return x.announce(ctx)
}

// watch observes until that ends the execution. A look that fails with an error that time may mend is repeated for
// another [startUp] within the deadline: the patch has landed, and one answer tells what became of it.
func (x *execution) watch(ctx context.Context) error {
	x.enter(StepObserve)
	x.observeUntil = x.f.o.Now().Add(x.f.o.Observe)
	end := x.f.o.Now().Add(x.limit())
	last := end.Add(startUp)
	if x.until.Before(last) {
		last = x.until
	}
	for {
		late := x.f.o.Now().After(end)
		err := x.action.observe(ctx, x, late)
		switch {
		case errors.Is(err, errStop):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && (!x.retriable(err) || late && x.f.o.Now().After(last)):
			return err
		}
		if !retry.Sleep(ctx, x.f.o.Poll) {
			return context.Cause(ctx)
		}
	}
}

func (x *execution) limit() time.Duration {
	if x.action.endedByVelero() {
		return x.f.o.Observe + x.f.untilEnded
	}
	return x.f.o.Observe
}

func (x *execution) observed() bool { return !x.f.o.Now().Before(x.observeUntil) }

// readSubject reads what the plan is about, or what was created. It ends the execution if that is gone.
func (x *execution) readSubject(ctx context.Context) (*unstructured.Unstructured, error) {
	o, err := x.once(ctx, x.subject)
	what := x.plan.Kind.Word()
	switch {
	case isGone(err):
		return nil, x.stop(Deleted, "the %s is gone", what)
	case err != nil:
		return nil, err
	}
	x.showPhase(o)
	if o.GetUID() != x.subject.GetUID() {
		return nil, x.stop(Deleted, "the %s is gone; another one has its name", what)
	}
	return o, nil
}

// showPhase notes and reports the phase of what is observed.
func (x *execution) showPhase(o *unstructured.Unstructured) {
	x.out.Phase = phaseOf(o)
	x.report(Progress{Step: StepObserve, Phase: x.out.Phase})
}
