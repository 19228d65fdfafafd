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

// errDryRunUnanswered means that a dry run was accepted, but an earlier dry run of the same write has no answer.
var errDryRunUnanswered = errors.New("the API server accepts it, but an earlier dry run had no answer")

// runDryRuns lets the API server check every write before the first is sent. A dry run is no guarantee: a proxy may
// drop the parameter. Each answer is compared with that of a dry run, and a dry run that was carried out ends the
// execution.
func (x *execution) runDryRuns(ctx context.Context) error {
	x.enterStep(StepDryRun)
	for _, d := range x.deliveries {
		if err := x.checkWrite(ctx, d); err != nil {
			return err
		}
	}
	switch {
	case !x.dryRunOnly:
		return nil
	case x.outcome.Sent != NotSent:
		return errDryRunUnanswered
	}
	return x.endExecution(StateChecked, "the API server accepts %s; nothing was written", x.requestNoun())
}

func (x *execution) checkWrite(ctx context.Context, d *delivery) error {
	answer, err := x.dryRunWrite(ctx, d)
	if err == nil && !d.hasLanded && !d.isStored(answer) && d.isAboutTarget(answer) {
		if err := x.readAfterDryRun(ctx, d); err != nil {
			return err
		}
	}
	if err != nil && !d.hasLanded {
		err = x.classifyDryRun(ctx, d, err)
	}
	switch {
	case d.hasLanded:
		return x.endDryRunCarriedOut(d)
	case err != nil:
		return err
	case d.isStored(answer) || !d.isAboutTarget(answer):
		return x.endStoredByDryRun(d, answer)
	}
	if wrong := d.verifyAnswer(answer, true); wrong != "" {
		return x.endExecution(
			StateRefused,
			"the API server would accept %s but %s; %s",
			x.requestNoun(),
			wrong,
			x.writtenText(),
		)
	}
	if doubt := x.writerClockDoubt(d.write, answer); doubt != "" {
		return x.endExecution(StateRefused, "%s; %s", doubt, x.writtenText())
	}
	return nil
}

// isAboutTarget reports whether an answer is about the object of the request: any other answer proves nothing.
func (d *delivery) isAboutTarget(answer *unstructured.Unstructured) bool {
	o := d.targetObject()
	return answer.GetName() == o.GetName() && answer.GetKind() == o.GetKind() &&
		(o.GetUID() == "" || answer.GetUID() == o.GetUID())
}

// dryRunWrite has the API server check a write. Without a definite answer, only the object itself may show what
// became of the dry run.
func (x *execution) dryRunWrite(ctx context.Context, d *delivery) (answer *unstructured.Unstructured, err error) {
	defer x.updateSent()
	if err := x.recordEvent("check", d.write); err != nil {
		return nil, err
	}
	dryRun := &guardedDryRun{guardedDelivery: guardedDelivery{x, d}}
	err = retry.PatchResourceWithRetries(ctx, x.retryOptions(), dryRun, x.isRetriable)
	return dryRun.answer, err
}

// guardedDryRun sends a delivery's write in a dry run.
type guardedDryRun struct {
	guardedDelivery
	answer *unstructured.Unstructured // nil without one
}

func (g *guardedDryRun) CheckBeforeSend(ctx context.Context) error {
	return g.execution.engine.connection.CheckCluster(ctx)
}

func (g *guardedDryRun) Send(ctx context.Context) (err error) {
	defer g.execution.updateSent()
	g.answer, err = g.execution.sendDryRun(ctx, g.delivery)
	return err
}

func (g *guardedDryRun) Settle(ctx context.Context, err error) error {
	return g.settleDelivery(ctx, err, 0)
}

func (x *execution) sendDryRun(ctx context.Context, d *delivery) (*unstructured.Unstructured, error) {
	isFirst := d.sentAt.IsZero()
	if isFirst {
		d.sentAt = x.serverTime()
	}
	r := x.engine.writer.sendWrite(ctx, d.write, true)
	d.host = r.host
	if isFirst && !r.connected && retry.IsUnsent(r.err) {
		d.sentAt = time.Time{}
	}
	if r.err != nil {
		wasUnseen := d.needsReading
		d.noteFailure(&r, x.action.requestVerb() == verbCreate)
		d.needsReading = d.needsReading || wasUnseen || retry.ProvesRejected(r.err) && !apierrors.IsUnauthorized(r.err)
		return nil, r.err
	}
	return r.object, nil
}

// classifyDryRun sorts the error of a dry run. If the object to delete no longer exists after a dry run without an
// answer, that dry run may have deleted it.
func (x *execution) classifyDryRun(ctx context.Context, d *delivery, err error) error {
	if d.isDeletion() && d.sentState() == Doubtful && (errors.Is(err, errChanged) || apierrors.IsNotFound(err)) {
		return x.endMaybeDeleted(d)
	}
	return x.classifyAnswer(ctx, d, err)
}

// endStoredByDryRun ends an execution whose dry run was answered with a stored object.
func (x *execution) endStoredByDryRun(d *delivery, answer *unstructured.Unstructured) error {
	wrong := d.verifyAnswer(answer, false)
	switch isOurs := d.isAboutTarget(answer) && d.isOwnAnswer(answer); {
	case isOurs && wrong == "":
		d.markLanded(answer)
	case isOurs:
		d.mayLand, d.alteration, d.landedObject = true, wrong, answer
	default:
		d.mayLand = true
		x.updateSent()
		return x.endExecution(
			StateAltered,
			"the answer to the dry run is no dry run's: version %q of %s %s, without veltui's mark; %s",
			answer.GetResourceVersion(),
			answer.GetKind(),
			answer.GetName(),
			x.writtenText(),
		)
	}
	return x.endDryRunCarriedOut(d)
}

// readAfterDryRun reads the object after a dry run whose answer says that nothing was written: whatever drops
// dryRun may change the answer, too, and for an object without finalizers, the answer to a deletion is the same
// whether the deletion was carried out or not. If the answer is an error, settleDelivery reads the object.
func (x *execution) readAfterDryRun(ctx context.Context, d *delivery) error {
	wasOpen := d.mayLand
	d.mayLand = true
	x.updateSent()
	now, err := x.readWithRetries(ctx, d.targetObject())
	if err != nil {
		return fmt.Errorf("reading what became of it after the dry run: %w", err)
	}
	if d.isDeletion() {
		return x.checkNotDeleted(d, now, wasOpen)
	}
	if d.judgeFate(now) != fateLanded {
		d.mayLand, d.needsReading = wasOpen, false
		x.updateSent()
		return nil
	}
	return x.endStoredByDryRun(d, now)
}

// readWithRetries reads an object, nil if it does not exist: until the deadline, or once if the user has interrupted.
func (x *execution) readWithRetries(ctx context.Context, o *unstructured.Unstructured,
) (now *unstructured.Unstructured, err error) {
	if ctx.Err() == nil {
		err = retry.RetryOnRetriableMaxBackOff(ctx, x.retryOptions(), func(ctx context.Context) (err error) {
			now, err = x.readObject(ctx, o)
			return err
		}, x.isRetriable)
	}
	if ctx.Err() == nil {
		return now, err
	}
	once, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalReadTimeout)
	defer cancel()
	return x.readObject(once, o)
}

// checkNotDeleted checks, after a dry run, the object that it was to delete.
func (x *execution) checkNotDeleted(d *delivery, now *unstructured.Unstructured, wasOpen bool) error {
	isThere := now != nil && now.GetUID() == d.targetObject().GetUID()
	byAnother := isThere && now.GetDeletionTimestamp() != nil && d.excludesOwnWrite(now, d.sentAt, dryRunMargin)
	if isThere && now.GetDeletionTimestamp() == nil || byAnother {
		d.mayLand, d.needsReading = wasOpen, false
		x.updateSent()
	}
	switch {
	case byAnother:
		return x.endExecution(
			StateChanged,
			"somebody deleted it at %s; %s",
			x.formatTime(now.GetDeletionTimestamp().Time),
			x.writtenText(),
		)
	case !isThere || now.GetDeletionTimestamp() != nil:
		return x.endMaybeDeleted(d)
	}
	return nil
}

// endMaybeDeleted ends an execution if the object is deleted after the dry run. A deletion leaves no mark.
func (x *execution) endMaybeDeleted(d *delivery) error {
	d.mayLand, x.lastHost = true, d.host
	x.updateSent()
	return x.endExecution(
		StateCarriedOut,
		"%s %s is deleted since the dry run: that was carried out, or somebody else deleted it at the "+
			"same moment; nothing more was sent%s",
		d.targetObject().GetKind(),
		d.targetObject().GetName(),
		x.copyAdvice(),
	)
}

// endDryRunCarriedOut ends an execution whose dry run was carried out. Nothing more is sent, not even an Event:
// whatever drops dryRun may change other requests too.
func (x *execution) endDryRunCarriedOut(d *delivery) error {
	x.updateSent()
	x.lastHost = d.host
	deed := d.doneText()
	if d.hasLanded {
		if err := x.recordEvent("landed", d.write); err != nil {
			x.addWarning("cannot write the local log: %v", err)
		}
	} else {
		deed += ", but not as it was requested: it would " + d.alteration
	}
	if d.landedObject != nil && x.isJob(d.targetObject()) {
		x.outcome.Phase = phaseOf(d.landedObject)
	}
	advice := x.copyAdvice()
	if words := d.undoArgs(d.landedObject); len(words) > 0 {
		x.outcome.UndoCommands, advice = x.undoCommand(d.targetObject().GetNamespace(), words), ""
	}
	return x.endExecution(
		StateCarriedOut,
		"the dry run was carried out: %s; something before the API server drops dryRun; "+
			"nothing more was sent%s",
		deed,
		advice,
	)
}

// writerClockDoubt says that the clock of the API server that would write differs from the clock of the ages, if the
// plan rests on ages.
func (x *execution) writerClockDoubt(w write, answer *unstructured.Unstructured) string {
	if !x.action.restsOnAges(x.evidence) {
		return ""
	}
	return x.engine.connection.compareWriterClock(time.Now(), w.answerTime(answer)).doubtText()
}

func (x *execution) undoCommand(namespace string, words []string) []string {
	return []string{x.plan.request.ClusterAccess().KubectlCommand(namespace, words...)}
}

// copyAdvice names the saved copy, for a write that no command undoes.
func (x *execution) copyAdvice() string {
	if x.outcome.CopyPath == "" {
		return ""
	}
	return "; no command undoes it, and the copy holds the resource as it was"
}
