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

// execution is one run of ApplyPlan: one deadline, one local record, and patches that land once or not at all.
type execution struct {
	action         applicable
	engine         *Engine
	dryRunOnly     bool
	reportProgress func(Progress)
	plan           Plan
	evidence       *Evidence // as last gathered
	stamp          attemptStamp
	step           Step
	deadline       time.Time // of the whole execution
	// lastOutage is when an attempt last found no API server, or one that could not answer.
	lastOutage   time.Time
	lastGathered time.Time // when the evidence was last gathered
	auditLog     *auditLog
	baseEntry    AuditEntry // the fields that all entries of the audit log share
	writes       []write
	// deliveries are the states of the writes, in the order of the writes.
	deliveries      []*delivery
	landedCount     int    // number of deliveries that have landed
	lastHost        string // where the last request was sent
	outcome         Outcome
	observedObject  *unstructured.Unstructured // the object of the plan, or the created one
	policyConfigMap *unstructured.Unstructured // the ConfigMap that was created for the plan, nil for none

	observeUntil time.Time
}

func newAttemptID() string { return strings.ToLower(rand.Text()) }

// ApplyPlan applies a plan that a person has agreed to. It gathers all evidence again, which must lead to the same
// plan over the same resources; has the API server check every request (a patch, a creation or a deletion) in a dry
// run, after which it stops if dryRun is set; sends each request until it lands or the one deadline has passed, so
// that it never lands twice; and observes what follows. report may be nil.
//
// An error means that the execution did not finish: the deadline has passed ([retry.DeadlineError]), the context
// ended, or the API server gave an answer that retrying does not change. The outcome still says what was sent.
func (f *Engine) ApplyPlan(ctx context.Context, shown Plan, dryRun bool, report func(Progress)) (Outcome, error) {
	out := Outcome{State: StateRefused, Sent: NotSent, Plan: shown, Phase: shown.FromPhase, Message: shown.Refusal}
	switch {
	case f.writer == nil:
		out.Message = ErrReadOnly.Error()
		return out, ErrReadOnly
	case !shown.IsPossible():
		return out, nil
	}
	a, err := findApplicable(shown.Action)
	if err != nil {
		out.Message = err.Error()
		return out, err
	}
	x := f.newExecution(a, shown, dryRun, report)
	x.outcome = out
	x.outcome.State, x.outcome.Message = StateUnfinished, ""
	return x.runSteps(ctx)
}

func (f *Engine) newExecution(a applicable, shown Plan, dryRun bool, report func(Progress)) *execution {
	if report == nil {
		report = func(Progress) {}
	}
	deadline := f.options.TotalTimeout
	if deadline <= 0 {
		deadline = velero.ResourceTimeout(shown.evidence.Object, velero.ServerFlags{})
	}
	return &execution{
		action:         a,
		engine:         f,
		plan:           shown,
		dryRunOnly:     dryRun,
		reportProgress: report,
		deadline:       f.options.Now().Add(deadline),
		stamp:          attemptStamp{by: shown.evidence.Username, attempt: f.options.NewAttemptID()},
		observedObject: shown.evidence.Object,
	}
}

// runSteps runs the steps until one ends the execution.
func (x *execution) runSteps(ctx context.Context) (Outcome, error) {
	steps := []func(context.Context) error{x.recheckPlan, x.prepareWrites, x.runDryRuns, x.sendWrites, x.observeResult}
	for _, step := range steps {
		err := step(ctx)
		if isOtherClusterOrUser(err) {
			x.outcome.Plan = Plan{}
			err = x.endExecution(StateChanged, "%v; %s", err, x.writtenText())
		}
		if errors.Is(err, errExecutionEnded) {
			break
		}
		if err != nil {
			x.outcome.Message = fmt.Sprintf("%s: %v; %s", x.step, err, x.appliedText())
			return x.finishExecution(err), err
		}
	}
	return x.finishExecution(nil), nil
}

// recheckPlan gathers all evidence again: the plan that was shown may be minutes old.
func (x *execution) recheckPlan(ctx context.Context) error {
	x.enterStep(StepGather)
	now, e, err := x.rebuildPlan(ctx)
	if isServerNotFound(err) {
		return x.endExecution(StateChanged, "%s %s no longer exists; %s", x.plan.Kind.Noun(), x.plan.Name, x.writtenText())
	}
	if err != nil {
		return err
	}
	x.outcome.Phase = phaseOf(e.Object)
	if !now.IsEquivalent(&x.plan) {
		return x.endChanged(e.Object, now)
	}
	x.plan, x.stamp.by = now, e.Username
	return nil
}

// rebuildPlan builds the plan from present evidence; its Action is empty if the evidence calls for none.
func (x *execution) rebuildPlan(ctx context.Context) (Plan, *Evidence, error) {
	e, err := x.gatherWithRetries(ctx)
	if err != nil {
		return Plan{}, nil, err
	}
	return x.buildPlan(ctx, &e), &e, nil
}

// buildPlan adds what is stored to the evidence, and builds the plan.
func (x *execution) buildPlan(ctx context.Context, e *Evidence) Plan {
	known := x.evidence
	if known == nil {
		known = &x.plan.evidence
	}
	x.lastGathered = x.engine.options.Now() // reading the object store may take long
	if e.proposal == nil {
		x.engine.GatherStored(ctx, e, known)
	}
	x.evidence = e
	now, _ := newPlan(x.action, e, x.plan.request)
	return now
}

// recheckPlanOnce gathers the evidence again before a late request: it must still lead to the remaining part of the
// plan that was shown.
func (x *execution) recheckPlanOnce(ctx context.Context) error {
	e, err := x.gatherOnce(ctx)
	if isServerNotFound(err) {
		return errChanged
	}
	if err != nil {
		return err
	}
	now := x.buildPlan(ctx, &e)
	if now.stillImplies(&x.plan, x.plan.targets[x.landedCount:]) {
		return nil
	}
	return errChanged
}

func (x *execution) endChanged(o *unstructured.Unstructured, now Plan) error {
	x.outcome.Plan, x.outcome.Phase = now, phaseOf(o)
	seen, what := x.plan.evidence.Object, "it changed after the plan was shown"
	by, at := x.action.annotationPrefix().findOtherWriter(seen, o)
	if x.outcome.Sent == Doubtful && by == x.stamp.by {
		by, what = "", "it was changed, perhaps by what was sent"
	}
	switch {
	case now.evidence.Username != "" && now.evidence.Username != x.plan.evidence.Username:
		what = fmt.Sprintf("you are %s now, and the plan was shown to %s", now.evidence.Username, x.plan.evidence.Username)
	case x.plan.UID == "" && o.GetUID() != "":
		what = x.otherCreatorText(o)
	case o.GetUID() == "" && x.plan.UID != "":
		what = "it was deleted"
	case o.GetUID() != x.plan.UID:
		what = "it was deleted, and another one has its name"
	case by != "":
		did := cmp.Or(x.action.doneByOtherText(o), x.action.doneText(&x.plan))
		what = fmt.Sprintf("%s %s at %s", by, did, x.formatAnnotationTime(at))
	case phaseOf(o) != x.plan.FromPhase:
		what = fmt.Sprintf("its phase went from %s to %s", phaseOrNone(x.plan.FromPhase), phaseOf(o))
	case now.Action == "":
		what = "the evidence no longer calls for it"
	case now.Refusal != "":
		what = "the evidence has changed: " + now.Refusal
	case len(x.plan.Volumes) > 0:
		what = "the volumes to cancel are no longer those that were shown"
	case o.GetResourceVersion() == seen.GetResourceVersion():
		what = "what it would lead to is no longer what was shown"
	}
	return x.endExecution(StateChanged, "%s; %s", what, x.writtenText())
}

func (x *execution) prepareWrites(context.Context) error {
	p := &x.plan
	x.baseEntry = AuditEntry{Action: string(p.Action), Kind: string(p.Kind), Namespace: p.Namespace, Name: p.Name,
		UID: string(p.UID), From: p.FromPhase, To: p.ToPhase, Reason: p.Reason}
	if p.ToPhase == "" {
		x.baseEntry.To = p.FromPhase
	}
	if err := x.openAuditLog(); err != nil {
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

// recheckTarget reads a target after a failed precondition: a nil error means that the write landed. Nothing is
// written over a change.
func (x *execution) recheckTarget(ctx context.Context, d *delivery, cause error) error {
	seen := d.targetObject()
	var o *unstructured.Unstructured
	err := retry.RetryOnErrorMaxBackOff(ctx, x.retryOptions(), func(ctx context.Context) (err error) {
		o, err = x.readObject(ctx, seen)
		return err
	})
	what := "the " + x.plan.Kind.Noun()
	if !x.isJob(seen) {
		what = seen.GetKind() + " " + seen.GetName()
	}
	var found writeFate
	if err == nil {
		found = d.settleUnread(o)
		x.updateSent()
	}
	switch {
	case err != nil:
		return errors.Join(cause, err)
	case found == fateLanded && d.alteration == "":
		d.markLanded(o)
		return nil
	case found == fatePending && !errors.Is(cause, errChanged):
		return x.endExecution(StateRefused, "the API server refused it: %s; %s", refusalText(cause), x.writtenText())
	case o == nil && found != fatePending:
		return x.endExecution(StateChanged, "%s is gone; %s", what, x.writtenText())
	}
	now, evidence, err := x.rebuildPlan(ctx)
	switch {
	case isServerNotFound(err):
		return x.endExecution(StateChanged, "%s is gone; %s", what, x.writtenText())
	case err != nil:
		return errors.Join(cause, err)
	case x.isJob(seen) || found == fatePending:
		return x.endChanged(evidence.Object, now)
	}
	x.outcome.Plan = now
	if seen.GetUID() == "" {
		return x.endExecution(StateChanged, "%s; %s", x.otherCreatorText(o), x.writtenText())
	}
	did := "changed"
	if by, _ := x.action.annotationPrefix().findOtherWriter(seen, o); by != "" && by != x.stamp.by {
		did = "was patched by " + by
	}
	return x.endExecution(StateChanged, "%s %s after it was shown; %s", what, did, x.writtenText())
}

func (x *execution) isJob(o *unstructured.Unstructured) bool {
	return o.GetUID() == x.plan.UID && o.GetKind() == string(x.plan.Kind)
}

// sendWrites sends every write until it lands; the first that does not ends the execution.
func (x *execution) sendWrites(ctx context.Context) error {
	x.enterStep(StepSend)
	for i, d := range x.deliveries {
		err := x.deliverWrite(ctx, d)
		if d.hasLanded && !d.realRequestSent { // by an unanswered dry run
			return x.endDryRunCarriedOut(d)
		}
		if errors.Is(err, errAltered) && !d.hasLanded {
			return x.endExecution(StateAltered, "%v: it would %s; %s", err, d.alteration, x.writtenText())
		}
		if err != nil && !d.hasLanded {
			err = x.classifyAnswer(ctx, d, err)
		}
		if !d.hasLanded {
			return err
		}
		x.updateSent()
		x.landedCount = i + 1
		if err := x.recordEvent("landed", d.write); err != nil {
			x.addWarning("cannot write the local log: %v", err)
		}
		if x.isJob(d.targetObject()) {
			x.outcome.Phase, x.observedObject = phaseOf(d.landedObject), d.landedObject
		} else if isPolicyTarget(targetText(d.targetObject())) {
			x.policyConfigMap = d.landedObject
		}
	}
	return x.writeEvent(ctx)
}

// observeResult observes until the action ends the execution. If a read fails with an error that may pass, it is
// repeated for another [apiServerStartGrace] within the deadline: the patch has landed, and one answer tells what
// became of it.
func (x *execution) observeResult(ctx context.Context) error {
	x.enterStep(StepObserve)
	x.observeUntil = x.engine.options.Now().Add(x.engine.options.ObserveFor)
	end := x.engine.options.Now().Add(x.observeTimeout())
	last := end.Add(apiServerStartGrace)
	if x.deadline.Before(last) {
		last = x.deadline
	}
	for {
		late := x.engine.options.Now().After(end)
		err := x.action.observeEffect(ctx, x, late)
		switch {
		case errors.Is(err, errExecutionEnded):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && (!x.isRetriable(err) || late && x.engine.options.Now().After(last)):
			return err
		}
		if !retry.SleepContext(ctx, x.engine.options.PollInterval) {
			return context.Cause(ctx)
		}
	}
}

func (x *execution) observeTimeout() time.Duration {
	if x.action.waitsForVelero() {
		return x.engine.options.ObserveFor + x.engine.extraObservePeriod
	}
	return x.engine.options.ObserveFor
}

func (x *execution) hasObservedEnough() bool { return !x.engine.options.Now().Before(x.observeUntil) }

// readSubject reads the object of the plan, or the created object. It ends the execution if the object no longer
// exists.
func (x *execution) readSubject(ctx context.Context) (*unstructured.Unstructured, error) {
	o, err := x.readOnce(ctx, x.observedObject)
	what := x.plan.Kind.Noun()
	switch {
	case isServerNotFound(err):
		return nil, x.endExecution(StateDeleted, "the %s is gone", what)
	case err != nil:
		return nil, err
	}
	x.reportPhase(o)
	if o.GetUID() != x.observedObject.GetUID() {
		return nil, x.endExecution(StateDeleted, "the %s is gone; another one has its name", what)
	}
	return o, nil
}

// reportPhase notes and reports the phase of the observed object.
func (x *execution) reportPhase(o *unstructured.Unstructured) {
	x.outcome.Phase = phaseOf(o)
	x.reportProgress(Progress{Step: StepObserve, Phase: x.outcome.Phase})
}
