package finalize

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/retry"
	"github.com/veltui/veltui/velero"
)

// The annotations that say who woke a job or cancelled a volume.
const (
	AnnotationWokenBy          = "veltui.io/woken-by"
	AnnotationWokenAt          = "veltui.io/woken-at"
	AnnotationWokenReason      = "veltui.io/woken-reason"
	AnnotationWokenAttempt     = "veltui.io/woken-attempt"
	AnnotationCancelledBy      = "veltui.io/cancelled-by"
	AnnotationCancelledAt      = "veltui.io/cancelled-at"
	AnnotationCancelledReason  = "veltui.io/cancelled-reason"
	AnnotationCancelledAttempt = "veltui.io/cancelled-attempt"
)

// taking is one run of Take.
type taking struct {
	sending
	way   Way
	edits []edit
}

// Take goes a way that was shown to a person and agreed to, with the guards of
// [Finalizer.Execute]: all evidence is read again and must lead to the same way
// over the same resources, the API server checks every patch without carrying
// it out, each patch tests uid, resourceVersion and phase, is retried until the
// one deadline and never sent twice, and what follows is observed. Report may
// be nil. With dryRun it stops after the check.
//
// The outcome is Settled when Velero has moved the job on, or all volumes have
// ended; NoEffect when Velero did not look at a woken job while it was
// observed; Moving when volumes have not ended yet. For errors see Execute.
func (f *Finalizer) Take(ctx context.Context, shown Way, dryRun bool, report func(Progress)) (Outcome, error) {
	out := Outcome{State: Refused, Sent: NotSent, Way: shown, Phase: shown.Phase, Message: shown.Refusal}
	switch {
	case f.writer == nil:
		out.Message = ErrReadOnly.Error()
		return out, ErrReadOnly
	case !shown.CanTake():
		return out, nil
	}
	t := &taking{sending: f.sending(&shown.evidence, dryRun, report), way: shown}
	t.out = out
	t.out.State, t.out.Message = Unfinished, ""
	return t.run(ctx, t.look, t.prepare, t.check, t.send, t.observe)
}

// look gathers all evidence again and finds the same way, or stops.
func (t *taking) look(ctx context.Context) error {
	t.enter(StepLook)
	e, err := t.gather(ctx, &t.way.evidence)
	if apierrors.IsNotFound(err) {
		return t.stop(Changed, "there is no %s %s any more; nothing was written", word(t.way.Kind), t.way.Name)
	}
	if err != nil {
		return err
	}
	t.out.Phase = phaseOf(e.Object)
	now := wayOf(t.way.Action, Ways(e, t.way.request))
	if !now.Same(&t.way) {
		t.out.Way = now
		return t.stop(Changed, "%s; nothing was written", t.different(e.Object, &now))
	}
	t.way = now
	t.stamp.by = e.By
	return nil
}

// wayOf is the way with that action, empty if there is none.
func wayOf(action WayAction, ways []Way) Way {
	for _, w := range ways {
		if w.Action == action {
			return w
		}
	}
	return Way{}
}

// different says what is not as it was shown.
func (t *taking) different(o *unstructured.Unstructured, now *Way) string {
	seen := t.way.evidence.Object
	switch by := o.GetAnnotations()[AnnotationWokenBy]; {
	case o.GetUID() != t.way.UID:
		return "it was deleted, and there is another one of that name"
	case phaseOf(o) != t.way.Phase:
		return fmt.Sprintf("its phase went from %s to %s", orNone(t.way.Phase), phaseOf(o))
	case t.way.Action == Wake && by != "" && o.GetAnnotations()[AnnotationWokenAttempt] != seen.GetAnnotations()[AnnotationWokenAttempt]:
		return fmt.Sprintf("%s woke it at %s", by, t.moment(o.GetAnnotations()[AnnotationWokenAt]))
	case now.Refusal != "":
		return "what is known of it has changed: " + now.Refusal
	case t.way.Action == CancelVolumes:
		return "the volumes that stand still are not those that were shown"
	}
	return "it was changed since it was shown"
}

func (t *taking) prepare(context.Context) error {
	w := &t.way
	t.record = Entry{Action: string(w.Action), Kind: string(w.Kind), Namespace: w.Namespace, Name: w.Name,
		UID: string(w.UID), From: w.Phase, To: w.Phase, Reason: w.reason()}
	if err := t.begin(w.targets...); err != nil {
		return err
	}
	for _, o := range w.targets {
		e, err := w.edit(o, t.stamp)
		if err != nil {
			return err
		}
		t.edits = append(t.edits, e)
	}
	return nil
}

func (w *Way) reason() string {
	if w.request.Reason != "" {
		return w.request.Reason
	}
	return w.Why
}

// edit is the patch of one target.
func (w *Way) edit(o *unstructured.Unstructured, s stamp) (edit, error) {
	at := s.at.UTC().Format(time.RFC3339)
	if w.Action == Wake {
		return newEdit(o, AnnotationWokenAttempt, annotate(o, [][2]string{
			{AnnotationWokenBy, s.by}, {AnnotationWokenAt, at}, {AnnotationWokenReason, w.reason()}, {AnnotationWokenAttempt, s.attempt}}))
	}
	return newEdit(o, AnnotationCancelledAttempt, append([]operation{{"add", "/spec/cancel", true}}, annotate(o, [][2]string{
		{AnnotationCancelledBy, s.by}, {AnnotationCancelledAt, at}, {AnnotationCancelledReason, w.reason()}, {AnnotationCancelledAttempt, s.attempt}})...))
}

// check lets the API server judge every patch before the first is sent.
func (t *taking) check(ctx context.Context) error {
	t.enter(StepDryRun)
	for i := range t.edits {
		e := &t.edits[i]
		after, err := t.judged(ctx, e)
		if err != nil {
			return t.judge(err, func(cause error) error { return t.lookAgain(ctx, e, cause) })
		}
		cancelled, _, _ := unstructured.NestedBool(after.Object, "spec", "cancel")
		if !t.isOurs(e, after) || t.way.Action == CancelVolumes && !cancelled {
			return t.stop(Refused, "the API server would take the patch but not keep it: a webhook may change it, or the CRD has no spec.cancel; nothing was written")
		}
	}
	if t.dryRun {
		return t.stop(Checked, "the API server would take it; nothing was written")
	}
	return nil
}

// lookAgain reads a target after a failed test. Nothing is written over a
// change; nil means that it was our own.
func (t *taking) lookAgain(ctx context.Context, e *edit, cause error) error {
	var o *unstructured.Unstructured
	err := retry.RetryOnErrorMaxBackOff(ctx, t.retrying(), func(ctx context.Context) (err error) {
		o, err = t.f.read(ctx, e.seen)
		return err
	})
	what := "the " + word(t.way.Kind)
	if t.way.Action == CancelVolumes {
		what = e.seen.GetKind() + " " + e.seen.GetName()
	}
	switch {
	case apierrors.IsNotFound(err):
		return t.stop(Changed, "%s is gone; %s", what, t.nothing())
	case err != nil:
		return errors.Join(cause, err)
	case t.isOurs(e, o):
		return nil
	case o.GetUID() == e.seen.GetUID() && o.GetResourceVersion() == e.seen.GetResourceVersion():
		return t.stop(Refused, "the API server refused it: %v; %s", cause, t.nothing())
	case t.way.Action == Wake:
		t.out.Phase, t.out.Way = phaseOf(o), Way{}
		return t.stop(Changed, "%s; %s", t.different(o, &Way{}), t.nothing())
	}
	t.out.Way = Way{}
	by := "was changed"
	if who := o.GetAnnotations()[AnnotationCancelledBy]; who != "" && o.GetAnnotations()[AnnotationCancelledAttempt] != e.seen.GetAnnotations()[AnnotationCancelledAttempt] {
		by = "was cancelled by " + who
	}
	return t.stop(Changed, "%s %s since it was shown; %s", what, by, t.nothing())
}

// send sends every patch until it lands; the first that does not ends it.
func (t *taking) send(ctx context.Context) error {
	t.enter(StepPatch)
	for i := range t.edits {
		e, last, before := &t.edits[i], i == len(t.edits)-1, t.out.Sent
		d, err := t.deliver(ctx, e)
		t.out.Sent = soFar(before, d.sent, last)
		if err != nil {
			err = t.judge(err, func(cause error) error { return t.lookAgain(ctx, e, cause) })
		}
		if err != nil {
			return err
		}
		t.out.Sent = soFar(before, Landed, last)
	}
	w := &t.way
	reason, message := "Woken", "woke it: "+w.reason()
	if w.Action == CancelVolumes {
		reason, message = "VolumesCancelled", "asked to cancel "+volumesTitle(w.Volumes)+": "+w.reason()
	}
	t.event(ctx, w.evidence.Object, "Take", reason, message)
	return nil
}

// soFar is how far all patches came, with what became of one more.
func soFar(before, one Sent, last bool) Sent {
	switch {
	case one == Landed && last:
		return Landed
	case one == Landed:
		return Partly
	case one == Doubtful:
		return Doubtful
	}
	return before
}

// observe looks whether it brought about what it was to.
func (t *taking) observe(ctx context.Context) error {
	t.enter(StepObserve)
	if t.way.Action == Wake {
		return t.poll(ctx, t.f.o.Observe, t.woken)
	}
	return t.poll(ctx, t.f.o.Observe+patience, t.cancelled)
}

// woken reports whether Velero went on with the job.
func (t *taking) woken(ctx context.Context, over bool) error {
	from := t.way.Phase
	o, err := t.once(ctx, t.way.evidence.Object)
	if apierrors.IsNotFound(err) {
		return t.stop(Deleted, "the %s is gone", word(t.way.Kind))
	}
	if err != nil {
		return err
	}
	t.out.Phase = phaseOf(o)
	t.report(Progress{Step: StepObserve, Phase: t.out.Phase})
	switch {
	case o.GetUID() != t.way.UID:
		return t.stop(Deleted, "the %s is gone; another one has its name", word(t.way.Kind))
	case t.out.Phase != from:
		return t.stop(Settled, "Velero went on with it: it is %s now", t.out.Phase)
	case over:
		return t.stop(NoEffect, "it is still %s after %s: Velero did not go on with it", from, words(t.f.o.Observe))
	}
	return nil
}

// cancelled reports whether all volumes have ended.
func (t *taking) cancelled(ctx context.Context, over bool) error {
	open := 0
	for i := range t.edits {
		o, err := t.once(ctx, t.edits[i].seen)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		v, err := volumeOf(velero.VolumeKind(o.GetKind()), o)
		if err != nil {
			return err
		}
		if !v.Ended() {
			open++
		}
	}
	all := volumesTitle(t.way.Volumes)
	t.report(Progress{Step: StepObserve, Phase: fmt.Sprintf("%d of %d ended", len(t.edits)-open, len(t.edits))})
	switch {
	case open == 0:
		return t.stop(Settled, "%s: all have ended", all)
	case over:
		return t.stop(Moving, "%s: %d of %d have not ended within %s; Velero marks them Canceled at the latest an hour after they were asked",
			all, open, len(t.edits), words(t.f.o.Observe+patience))
	}
	return nil
}
