package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/retry"
)

// errDryRunUnanswered means that a dry run was accepted, and that an earlier request for the same has no answer.
var errDryRunUnanswered = errors.New("the API server accepts it, but an earlier dry run had no answer")

// check lets the API server judge every write before the first is sent. A dry run is no promise: a proxy may drop the
// parameter. Each answer is held against what a dry run answers, and one that was carried out ends the execution.
func (x *execution) check(ctx context.Context) error {
	x.enter(StepDryRun)
	for _, d := range x.deliveries {
		if err := x.checkWrite(ctx, d); err != nil {
			return err
		}
	}
	switch {
	case !x.dryRun:
		return nil
	case x.out.Sent != NotSent:
		return errDryRunUnanswered
	}
	return x.stop(Checked, "the API server accepts %s; nothing was written", x.request())
}

func (x *execution) checkWrite(ctx context.Context, d *delivery) error {
	answer, err := x.dryRunWrite(ctx, d)
	if err == nil && !d.landed && !d.stored(answer) && d.isAbout(answer) {
		if err := x.readAfterDryRun(ctx, d); err != nil {
			return err
		}
	}
	if err != nil && !d.landed {
		err = x.sortDryRun(ctx, d, err)
	}
	switch {
	case d.landed:
		return x.carriedOut(d)
	case err != nil:
		return err
	case d.stored(answer) || !d.isAbout(answer):
		return x.storedByDryRun(d, answer)
	}
	if wrong := d.verify(answer, true); wrong != "" {
		return x.stop(Refused, "the API server would accept %s but %s; %s", x.request(), wrong, x.nothing())
	}
	if doubt := x.writerDoubt(d.write, answer); doubt != "" {
		return x.stop(Refused, "%s; %s", doubt, x.nothing())
	}
	return nil
}

// isAbout reports whether an answer is about the object of the request: another one proves nothing.
func (d *delivery) isAbout(answer *unstructured.Unstructured) bool {
	o := d.object()
	return answer.GetName() == o.GetName() && answer.GetKind() == o.GetKind() &&
		(o.GetUID() == "" || answer.GetUID() == o.GetUID())
}

// dryRunWrite has the API server check a write. If no answer tells what became of that, the object does, or nothing.
func (x *execution) dryRunWrite(ctx context.Context, d *delivery) (answer *unstructured.Unstructured, err error) {
	defer x.update()
	if err := x.note("check", d.write); err != nil {
		return nil, err
	}
	dryRun := &guardedDryRun{guardedDelivery: guardedDelivery{x, d}}
	err = retry.PatchResourceWithRetries(ctx, x.retrying(), dryRun, x.retriable)
	return dryRun.answer, err
}

// guardedDryRun sends a delivery's write in a dry run.
type guardedDryRun struct {
	guardedDelivery
	answer *unstructured.Unstructured // nil without one
}

func (g *guardedDryRun) Confirm(ctx context.Context) error { return g.x.f.access.Check(ctx) }

func (g *guardedDryRun) Send(ctx context.Context) (err error) {
	defer g.x.update()
	g.answer, err = g.x.sendDryRun(ctx, g.d)
	return err
}

func (g *guardedDryRun) Settle(ctx context.Context, err error) error { return g.settle(ctx, err, 0) }

func (x *execution) sendDryRun(ctx context.Context, d *delivery) (*unstructured.Unstructured, error) {
	isFirst := d.sent.IsZero()
	if isFirst {
		d.sent = x.serverTime()
	}
	r := x.f.writer.send(ctx, d.write, true)
	d.host = r.host
	if isFirst && !r.connected && retry.Unsent(r.err) {
		d.sent = time.Time{}
	}
	if r.err != nil {
		wasUnseen := d.unseen
		d.fail(&r, x.action.verb() == creates)
		d.unseen = d.unseen || wasUnseen || retry.Excludes(r.err) && !apierrors.IsUnauthorized(r.err)
		return nil, r.err
	}
	return r.object, nil
}

// sortDryRun sorts the error of a dry run. What was to be deleted and is gone after a dry run without an
// answer may have been deleted by that.
func (x *execution) sortDryRun(ctx context.Context, d *delivery, err error) error {
	if d.isDeletion() && d.state() == Doubtful && (errors.Is(err, errChanged) || apierrors.IsNotFound(err)) {
		return x.maybeDeleted(d)
	}
	return x.sortAnswer(ctx, d, err)
}

// storedByDryRun ends an execution whose dry run was answered with an object as it is stored.
func (x *execution) storedByDryRun(d *delivery, answer *unstructured.Unstructured) error {
	wrong := d.verify(answer, false)
	switch isOurs := d.isAbout(answer) && d.ours(answer); {
	case isOurs && wrong == "":
		d.land(answer)
	case isOurs:
		d.open, d.altered, d.after = true, wrong, answer
	default:
		d.open = true
		x.update()
		return x.stop(
			Altered,
			"the answer to the dry run is no dry run's: version %q of %s %s, without veltui's mark; %s",
			answer.GetResourceVersion(),
			answer.GetKind(),
			answer.GetName(),
			x.nothing(),
		)
	}
	return x.carriedOut(d)
}

// readAfterDryRun reads the object after a dry run whose answer says that nothing was written: what drops dryRun may
// change the answer, too, and unless a finalizer holds an object, the answer to a deletion is the same whether that was
// carried out or not. Where the answer is an error, settle reads the object.
func (x *execution) readAfterDryRun(ctx context.Context, d *delivery) error {
	wasOpen := d.open
	d.open = true
	x.update()
	now, err := x.readPatiently(ctx, d.object())
	if err != nil {
		return fmt.Errorf("reading what became of it after the dry run: %w", err)
	}
	if d.isDeletion() {
		return x.checkNotDeleted(d, now, wasOpen)
	}
	if d.find(now) != landed {
		d.open, d.unseen = wasOpen, false
		x.update()
		return nil
	}
	return x.storedByDryRun(d, now)
}

// readPatiently reads an object, nil if it does not exist: until the deadline, or once if the user has interrupted.
func (x *execution) readPatiently(ctx context.Context, o *unstructured.Unstructured,
) (now *unstructured.Unstructured, err error) {
	if ctx.Err() == nil {
		err = retry.RetryOnRetriableMaxBackOff(ctx, x.retrying(), func(ctx context.Context) (err error) {
			now, err = x.read(ctx, o)
			return err
		}, x.retriable)
	}
	if ctx.Err() == nil {
		return now, err
	}
	once, cancel := context.WithTimeout(context.WithoutCancel(ctx), parting)
	defer cancel()
	return x.read(once, o)
}

// checkNotDeleted looks at what a dry run was to delete, as it is afterwards.
func (x *execution) checkNotDeleted(d *delivery, now *unstructured.Unstructured, wasOpen bool) error {
	isThere := now != nil && now.GetUID() == d.object().GetUID()
	byAnother := isThere && now.GetDeletionTimestamp() != nil && d.excludes(now, d.sent, dryRunMargin)
	if isThere && now.GetDeletionTimestamp() == nil || byAnother {
		d.open, d.unseen = wasOpen, false
		x.update()
	}
	switch {
	case byAnother:
		return x.stop(Changed, "somebody deleted it at %s; %s", x.clock(now.GetDeletionTimestamp().Time), x.nothing())
	case !isThere || now.GetDeletionTimestamp() != nil:
		return x.maybeDeleted(d)
	}
	return nil
}

// maybeDeleted ends an execution after whose dry run the object is deleted. A deletion leaves no mark.
func (x *execution) maybeDeleted(d *delivery) error {
	d.open, x.host = true, d.host
	x.update()
	return x.stop(
		CarriedOut,
		"%s %s is deleted since the dry run: that was carried out, or somebody else deleted it at the "+
			"same moment; nothing more was sent%s",
		d.object().GetKind(),
		d.object().GetName(),
		x.copyAdvice(),
	)
}

// carriedOut ends an execution whose dry run was none. Nothing more is sent, not even an Event: whatever
// drops dryRun may change other requests too.
func (x *execution) carriedOut(d *delivery) error {
	x.update()
	x.host = d.host
	deed := d.deed()
	if d.landed {
		if err := x.note("landed", d.write); err != nil {
			x.warn("cannot write the local log: %v", err)
		}
	} else {
		deed += ", but not as it was requested: it would " + d.altered
	}
	if d.after != nil && x.isJob(d.object()) {
		x.out.Phase = phaseOf(d.after)
	}
	advice := x.copyAdvice()
	if words := d.undo(d.after); len(words) > 0 {
		x.out.Undo, advice = x.undoCommand(d.object().GetNamespace(), words), ""
	}
	return x.stop(CarriedOut, "the dry run was carried out: %s; something before the API server drops dryRun; "+
		"nothing more was sent%s", deed, advice)
}

// writerDoubt says that the clock of the API server that would write is another than that of the ages, where
// those count.
func (x *execution) writerDoubt(w write, answer *unstructured.Unstructured) string {
	if !x.action.restsOnAges(x.evidence) {
		return ""
	}
	return x.f.access.compareWriter(time.Now(), w.madeAt(answer)).doubt()
}

func (x *execution) undoCommand(namespace string, words []string) []string {
	return []string{x.plan.request.Reach().Kubectl(namespace, words...)}
}

// copyAdvice is what helps where no command undoes a write.
func (x *execution) copyAdvice() string {
	if x.out.Copy == "" {
		return ""
	}
	return "; no command undoes it, and the copy holds the resource as it was"
}
