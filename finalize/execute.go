package finalize

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/retry"
)

// execution is one run of Execute.
type execution struct {
	f      *Finalizer
	plan   Plan
	dryRun bool
	report func(Progress)
	until  time.Time // the one deadline
	stamp  stamp
	step   Step
	audit  *audit
	out    Outcome
}

// errStop ends an execution whose outcome is complete.
var errStop = errors.New("stop")

// errChanged means that the object is not the one the patch was made for.
var errChanged = errors.New("the resource was changed by somebody else")

func newID() string { return strings.ToLower(rand.Text()) }

func (x *execution) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{x.look, x.begin, x.check, x.send, x.observe} {
		err := step(ctx)
		if errors.Is(err, errStop) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stop completes the outcome.
func (x *execution) stop(state State, format string, args ...any) error {
	x.out.State, x.out.Message = state, fmt.Sprintf(format, args...)
	return errStop
}

func (x *execution) enter(step Step) {
	x.step = step
	x.report(Progress{Step: step})
}

// retrying are the options of one series of attempts within the one deadline.
func (x *execution) retrying() retry.Options {
	step := x.step
	return retry.Options{
		Backoff:        x.f.o.Backoff,
		Deadline:       max(1, x.until.Sub(x.f.o.Clock.Now())),
		AttemptTimeout: x.f.o.AttemptTimeout,
		Refresh:        x.f.access.refresh,
		Clock:          x.f.o.Clock,
		Report:         func(a retry.Attempt) { x.report(Progress{Step: step, Attempt: &a}) },
	}
}

// look gathers all evidence again: what was shown may be minutes old.
func (x *execution) look(ctx context.Context) error {
	x.enter(StepLook)
	var e Evidence
	err := retry.RetryOnErrorMaxBackOff(ctx, x.retrying(), func(ctx context.Context) (err error) {
		e, err = x.f.gather(ctx, x.plan.Kind, x.plan.Name)
		return err
	})
	if apierrors.IsNotFound(err) {
		return x.stop(Changed, "there is no %s %s any more", word(x.plan.Kind), x.plan.Name)
	}
	if err != nil {
		return err
	}
	x.f.artifacts(ctx, &e, &x.plan.evidence)
	now := Draft(e, x.plan.request)
	x.out.Phase = now.From
	if !now.Same(&x.plan) {
		return x.changed(e.Object, now)
	}
	x.plan = now
	x.stamp.by = e.By
	return nil
}

// changed says what is different now.
func (x *execution) changed(o *unstructured.Unstructured, now Plan) error {
	x.out.Plan, x.out.Phase = now, phaseOf(o)
	what := "it was changed since the plan was shown"
	switch by := o.GetAnnotations()[AnnotationBy]; {
	case o.GetUID() != x.plan.UID:
		what = "it was deleted, and there is another one of that name"
	case by != "" && o.GetAnnotations()[AnnotationAttempt] != x.plan.evidence.Object.GetAnnotations()[AnnotationAttempt]:
		what = fmt.Sprintf("%s has finalized it to %s at %s", by, o.GetAnnotations()[AnnotationTo], o.GetAnnotations()[AnnotationAt])
	case phaseOf(o) != x.plan.From:
		what = fmt.Sprintf("its phase went from %s to %s", x.plan.From, phaseOf(o))
	case o.GetResourceVersion() == x.plan.ResourceVersion && now.Action == Refuse:
		what = "what is known of it has changed: " + now.Refusal
	}
	return x.stop(Changed, "%s; nothing was written", what)
}

// begin puts down what is going to be done, before anything is sent.
func (x *execution) begin(context.Context) error {
	x.stamp.at = x.f.access.cluster(x.f.o.Clock.Now())
	if x.dryRun {
		return nil
	}
	a, err := openAudit(x.f.o, x.stamp.attempt)
	if err != nil {
		return err
	}
	x.audit = a
	x.out.Log = a.path
	if x.out.Copy, err = a.save(&x.plan); err != nil {
		return err
	}
	return a.write(x.entry("begin"))
}

// check lets the API server judge the patch without carrying it out.
func (x *execution) check(ctx context.Context) error {
	x.enter(StepDryRun)
	var after *unstructured.Unstructured
	err := retry.RetryOnErrorMaxBackOff(ctx, x.retrying(), func(ctx context.Context) (err error) {
		after, err = x.f.writer.patch(ctx, &x.plan, x.stamp, true)
		return err
	})
	if err != nil {
		return x.judge(ctx, err)
	}
	if phaseOf(after) != x.plan.To {
		return x.stop(Refused, "the API server would take the patch but keep phase %s: its CRD may have a status subresource, or a webhook changes it; nothing was written", phaseOf(after))
	}
	if x.dryRun {
		return x.stop(Checked, "the API server would take it; nothing was written")
	}
	return nil
}

// judge sorts an answer to a patch that did not succeed: somebody was faster,
// the server does not want it, or it could not be reached.
func (x *execution) judge(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errChanged), apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsInvalid(err):
		return x.lookAgain(ctx, err)
	case apierrors.IsForbidden(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err), apierrors.IsRequestEntityTooLargeError(err):
		return x.stop(Refused, "the API server refused it: %v; nothing was written", err)
	}
	return err
}

// lookAgain reads the object after a failed test and makes a new plan. A patch
// is never repeated over a change.
func (x *execution) lookAgain(ctx context.Context, cause error) error {
	var e Evidence
	err := retry.RetryOnErrorMaxBackOff(ctx, x.retrying(), func(ctx context.Context) (err error) {
		e, err = x.f.gather(ctx, x.plan.Kind, x.plan.Name)
		return err
	})
	switch {
	case apierrors.IsNotFound(err):
		return x.stop(Changed, "there is no %s %s any more; nothing was written", word(x.plan.Kind), x.plan.Name)
	case err != nil:
		return errors.Join(cause, err)
	case e.Object.GetAnnotations()[AnnotationAttempt] == x.stamp.attempt:
		x.out.Sent = Landed
		return nil
	case e.Object.GetUID() == x.plan.UID && e.Object.GetResourceVersion() == x.plan.ResourceVersion:
		return x.stop(Refused, "the API server refused it: %v; nothing was written", cause)
	}
	x.f.artifacts(ctx, &e, &x.plan.evidence)
	return x.changed(e.Object, Draft(e, x.plan.request))
}

// send sends the patch until it lands.
func (x *execution) send(ctx context.Context) error {
	x.enter(StepPatch)
	if err := x.audit.write(x.entry("send")); err != nil {
		return err
	}
	err := retry.PatchResourceWithRetriesOnErrors(ctx, x.retrying(), retry.Patch{
		Send: func(ctx context.Context) error {
			after, err := x.f.writer.patch(ctx, &x.plan, x.stamp, false)
			switch {
			case err == nil:
				x.out.Sent, x.out.Phase = Landed, phaseOf(after)
			case retry.Ambiguous(err):
				x.out.Sent = Doubtful
			}
			return err
		},
		Look: x.landed,
	})
	if err != nil {
		err = x.afterTrouble(ctx, err)
	}
	if err != nil {
		return err
	}
	x.out.Sent = Landed
	if err := x.audit.write(x.entry("landed")); err != nil {
		x.warn("the local log could not be written: %v", err)
	}
	if err := x.f.writer.event(ctx, &x.plan, x.stamp); err != nil {
		x.warn("no Event was written: %v", err)
	}
	return nil
}

// landed looks whether our patch is in the object.
func (x *execution) landed(ctx context.Context) (bool, error) {
	o, err := x.f.read(ctx, &x.plan)
	switch {
	case apierrors.IsNotFound(err):
		return false, errChanged
	case err != nil:
		return false, err
	case o.GetUID() == x.plan.UID && o.GetAnnotations()[AnnotationAttempt] == x.stamp.attempt:
		x.out.Sent, x.out.Phase = Landed, phaseOf(o)
		return true, nil
	}
	x.out.Sent = NotSent
	if o.GetUID() != x.plan.UID || o.GetResourceVersion() != x.plan.ResourceVersion {
		return false, errChanged
	}
	return false, nil
}

// afterTrouble finds out, as well as it can, what became of a patch whose
// sending ended with an error; nil means that it landed after all.
func (x *execution) afterTrouble(ctx context.Context, err error) error {
	if x.out.Sent != Doubtful {
		return x.judge(ctx, err)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), parting)
	defer cancel()
	landed, lookErr := x.landed(last)
	switch {
	case landed && ctx.Err() == nil:
		return nil
	case errors.Is(lookErr, errChanged) && ctx.Err() == nil:
		return x.judge(ctx, errChanged)
	case ctx.Err() != nil:
		return err
	}
	return x.judge(ctx, err)
}

func (x *execution) warn(format string, args ...any) {
	x.out.Warnings = append(x.out.Warnings, fmt.Sprintf(format, args...))
}

// finish writes the end into the local log.
func (x *execution) finish(err error) Outcome {
	if x.audit == nil {
		return x.out
	}
	entry := x.entry("end")
	if err != nil {
		entry.Error = err.Error()
	}
	if err := x.audit.write(entry); err != nil {
		x.warn("the local log could not be written: %v", err)
	}
	return x.out
}
