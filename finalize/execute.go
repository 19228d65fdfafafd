package finalize

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// execution is one run of Execute.
type execution struct {
	sending
	plan Plan
	edit edit
}

func newID() string { return strings.ToLower(rand.Text()) }

// look gathers all evidence again: what was shown may be minutes old.
func (x *execution) look(ctx context.Context) error {
	x.enter(StepLook)
	e, err := x.gather(ctx, &x.plan.evidence)
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
		what = fmt.Sprintf("%s has finalized it to %s at %s", by, o.GetAnnotations()[AnnotationTo], x.moment(o.GetAnnotations()[AnnotationAt]))
	case phaseOf(o) != x.plan.From:
		what = fmt.Sprintf("its phase went from %s to %s", x.plan.From, phaseOf(o))
	case o.GetResourceVersion() == x.plan.ResourceVersion && now.Action == Refuse:
		what = "what is known of it has changed: " + now.Refusal
	}
	return x.stop(Changed, "%s; %s", what, x.nothing())
}

func (x *execution) prepare(context.Context) error {
	p := &x.plan
	x.record = Entry{Action: string(p.Action), Kind: string(p.Kind), Namespace: p.Namespace, Name: p.Name,
		UID: string(p.UID), From: p.From, To: p.To, Reason: p.Reason}
	if err := x.begin(p.evidence.Object); err != nil {
		return err
	}
	var err error
	x.edit, err = p.edit(x.stamp)
	return err
}

// check lets the API server judge the patch without carrying it out.
func (x *execution) check(ctx context.Context) error {
	x.enter(StepDryRun)
	after, err := x.judged(ctx, &x.edit)
	if err != nil {
		return x.judge(err, func(cause error) error { return x.lookAgain(ctx, cause) })
	}
	if phaseOf(after) != x.plan.To {
		return x.stop(Refused, "the API server would take the patch but keep phase %s: its CRD may have a status subresource, or a webhook changes it; nothing was written", phaseOf(after))
	}
	if x.dryRun {
		return x.stop(Checked, "the API server would take it; nothing was written")
	}
	return nil
}

// lookAgain reads the object after a failed test and makes a new plan. A patch
// is never repeated over a change.
func (x *execution) lookAgain(ctx context.Context, cause error) error {
	e, err := x.gather(ctx, &x.plan.evidence)
	switch {
	case apierrors.IsNotFound(err):
		return x.stop(Changed, "there is no %s %s any more; %s", word(x.plan.Kind), x.plan.Name, x.nothing())
	case err != nil:
		return errors.Join(cause, err)
	case x.isOurs(&x.edit, e.Object):
		x.out.Sent = Landed
		return nil
	case e.Object.GetUID() == x.plan.UID && e.Object.GetResourceVersion() == x.plan.ResourceVersion:
		return x.stop(Refused, "the API server refused it: %v; %s", cause, x.nothing())
	}
	x.f.artifacts(ctx, &e, &x.plan.evidence)
	return x.changed(e.Object, Draft(e, x.plan.request))
}

// send sends the patch until it lands.
func (x *execution) send(ctx context.Context) error {
	x.enter(StepPatch)
	d, err := x.deliver(ctx, &x.edit)
	x.out.Sent = d.sent
	if d.after != nil {
		x.out.Phase = phaseOf(d.after)
	}
	if err != nil {
		err = x.judge(err, func(cause error) error { return x.lookAgain(ctx, cause) })
	}
	if err != nil {
		return err
	}
	x.out.Sent = Landed
	p := &x.plan
	x.event(ctx, p.evidence.Object, "Finalize", "Finalized", fmt.Sprintf("moved it from %s to %s: %s", orNone(p.From), p.To, p.Reason))
	return nil
}

func orNone(phase string) string {
	if phase == "" {
		return "no phase"
	}
	return phase
}
