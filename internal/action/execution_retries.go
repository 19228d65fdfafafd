package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/human"
	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/retry"
)

var errExecutionEnded = errors.New("stop")

var errChanged = retry.ErrChanged

func isOtherClusterOrUser(err error) bool {
	var moved *session.MovedError
	var other *session.UserChangedError
	return errors.As(err, &moved) || errors.As(err, &other)
}

var sentTexts = map[SentState]string{
	NotSent:      "was not applied",
	Landed:       "was applied",
	PartlyLanded: "was applied in part",
	Doubtful:     "was sent, and it is unknown whether it was applied",
}

// requestNoun returns the word for the request in a sentence.
func (x *execution) requestNoun() string {
	if x.action.requestVerb() != verbPatch {
		return "the request"
	}
	return "the patch"
}

func (x *execution) endExecution(state OutcomeState, format string, args ...any) error {
	x.outcome.State, x.outcome.Message = state, fmt.Sprintf(format, args...)
	return errExecutionEnded
}

func (x *execution) enterStep(step Step) {
	x.step = step
	x.reportProgress(Progress{Step: step})
}

func (x *execution) formatAnnotationTime(annotation string) string {
	at, err := time.Parse(time.RFC3339, annotation)
	if err != nil {
		return annotation
	}
	return x.formatTime(at)
}

// formatTime formats a time in the user's time zone.
func (x *execution) formatTime(at time.Time) string {
	return human.Moment(at, x.engine.options.Now())
}

func (x *execution) addWarning(format string, args ...any) {
	x.outcome.Warnings = append(x.outcome.Warnings, fmt.Sprintf(format, args...))
}

// retryOptions returns the options of one series of attempts within the one deadline.
func (x *execution) retryOptions() retry.Options {
	step := x.step
	return retry.Options{
		Backoff:        x.engine.options.Backoff,
		Deadline:       max(1, -retry.Elapsed(x.deadline, x.engine.options.Now())),
		AttemptTimeout: x.engine.options.AttemptTimeout,
		Refresh:        x.refreshConnection,
		OnAttempt:      func(a retry.Attempt) { x.reportProgress(Progress{Step: step, Attempt: &a}) },
	}
}

func (x *execution) refreshConnection(ctx context.Context) error {
	if err := x.engine.connection.refreshCredentials(ctx); err != nil {
		return err
	}
	return x.checkUser(ctx)
}

func (x *execution) checkUser(ctx context.Context) error {
	user, err := x.engine.connection.currentClient().CurrentUser(ctx)
	if apierrors.IsNotFound(err) { // NotFound says nothing about the job
		return fmt.Errorf("checking whose credentials these are: %v", err)
	} else if err != nil {
		return fmt.Errorf("checking whose credentials these are: %w", err)
	}
	if is := sanitize.String(user.Username); is != x.stamp.by {
		return &session.UserChangedError{OldUser: x.stamp.by, NewUser: is}
	}
	return nil
}

// apiServerStartGrace is how long an API server that has just come back may refuse what it will allow: it answers
// before it has read all roles.
const apiServerStartGrace = 30 * time.Second

// isRetriable reports whether an error may pass. That includes refusals of an API server that was unreachable a
// moment ago.
func (x *execution) isRetriable(err error) bool {
	now := x.engine.options.Now()
	if retry.Classify(err) == retry.Retriable {
		x.lastOutage = now
		return true
	}
	refused := apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || errors.Is(err, errRefusing)
	return refused && !x.lastOutage.IsZero() && now.Sub(x.lastOutage) < apiServerStartGrace
}

var errRefusing = errors.New("the API server refuses what it allowed before")

// gatherWithRetries gathers everything except what is stored, with retries.
func (x *execution) gatherWithRetries(ctx context.Context) (e Evidence, err error) {
	o := x.retryOptions()
	o.AttemptTimeout = gatherAttemptTimeout(x.engine.options)
	err = retry.RetryOnRetriableMaxBackOff(ctx, o, func(ctx context.Context) (err error) {
		e, err = x.gatherOnce(ctx)
		return err
	}, x.isRetriable)
	return e, err
}

func (x *execution) gatherOnce(ctx context.Context) (e Evidence, err error) {
	shown := &x.plan.evidence
	if err := x.engine.connection.CheckCluster(ctx); err != nil {
		return e, err
	}
	asked, isProposed := x.action.(proposable)
	if o := shown.proposal; o != nil && isProposed {
		e, err = x.engine.gatherProposal(
			ctx,
			asked,
			proposal{object: o.object, request: x.plan.request, policyAttempt: x.stamp.attempt},
		)
	} else {
		e, err = x.engine.gatherJob(ctx, shown.Job.Kind, shown.Job.Name)
	}
	if err == nil && e.losesAccess(shown) && x.isRetriable(errRefusing) {
		err = errRefusing
	}
	return e, err
}

func (e *Evidence) losesAccess(shown *Evidence) bool {
	return shown.Server.Visible && !e.Server.Visible || shown.VolumesListed == Yes && e.VolumesListed != Yes ||
		shown.MayPatch == Yes && e.MayPatch != Yes
}

// serverTime returns the present time by the API server's clock.
func (x *execution) serverTime() time.Time {
	offset, _ := x.engine.connection.meter.ClockOffset()
	return x.engine.options.Now().Add(offset)
}

// openAuditLog opens the audit log, before the dry run too: whatever drops dryRun turns the dry run into a write.
func (x *execution) openAuditLog() error {
	x.stamp.at = x.serverTime()
	a, err := newAuditLog(x.engine.options, x.stamp.attempt)
	if errors.Is(err, errUnsafeAuditLog) {
		return x.endExecution(StateRefused, "%v; %s", err, x.writtenText())
	}
	if err != nil {
		return err
	}
	x.auditLog, x.outcome.AuditLogPath = a, a.path
	seen := x.plan.targets
	if x.action.requestVerb() == verbCreate {
		seen = []*unstructured.Unstructured{x.plan.evidence.Object}
	}
	if x.plan.UID != "" { // otherwise there is nothing yet to copy
		if x.outcome.CopyPath, err = a.saveCopies(&x.baseEntry, seen...); err != nil {
			return err
		}
	}
	return x.recordEvent("begin", nil)
}

// refusalText returns the message of a refusal, or its reason and code if it has none.
func refusalText(err error) string {
	var status apierrors.APIStatus
	text := strings.TrimSpace(err.Error())
	if text != "" || !errors.As(err, &status) {
		return text
	}
	s := status.Status()
	return fmt.Sprintf("%s (%d), without a message", cmp.Or(string(s.Reason), "unknown reason"), s.Code)
}

// classifyAnswer sorts the error of a patch: another write was faster, and the target is read again; the server
// refuses the patch; or the server could not be reached.
func (x *execution) classifyAnswer(ctx context.Context, d *delivery, err error) error {
	switch {
	case errors.Is(err, errChanged),
		apierrors.IsNotFound(err),
		apierrors.IsConflict(err),
		apierrors.IsAlreadyExists(err),
		apierrors.IsInvalid(err):
		return x.recheckTarget(ctx, d, err)
	case apierrors.IsForbidden(err),
		apierrors.IsBadRequest(err),
		apierrors.IsMethodNotSupported(err),
		apierrors.IsRequestEntityTooLargeError(err):
		return x.endExecution(StateRefused, "the API server refused it: %s; %s", refusalText(err), x.writtenText())
	}
	return err
}

// writtenText says what was written, as far as that is proven.
func (x *execution) writtenText() string {
	switch x.outcome.Sent {
	case NotSent:
		return "nothing was written"
	case Doubtful:
		if x.hasOnlyDryRuns() {
			return onlyDryRunText
		}
		return x.requestNoun() + " was sent before, and it is unknown whether it was applied"
	}
	return "nothing more was written"
}

const onlyDryRunText = "only a dry run was sent, and no answer proves that it wrote nothing"

func (x *execution) hasOnlyDryRuns() bool {
	return !slices.ContainsFunc(x.deliveries, func(d *delivery) bool { return d.realRequestSent })
}

// appliedText says how much of the request was applied.
func (x *execution) appliedText() string {
	if x.outcome.Sent == Doubtful && x.hasOnlyDryRuns() {
		return onlyDryRunText
	}
	return x.requestNoun() + " " + sentTexts[x.outcome.Sent]
}

// otherCreatorText says who created the object that has the requested name, and when.
func (x *execution) otherCreatorText(o *unstructured.Unstructured) string {
	did := cmp.Or(x.action.doneByOtherText(o), "created one of that name")
	by, at := x.action.annotationPrefix().findOtherWriter(&unstructured.Unstructured{}, o)
	if by == "" {
		by, did = "somebody", "created one of that name"
		if managers := o.GetManagedFields(); len(managers) > 0 {
			by += " (" + managers[0].Manager + ")"
		}
	}
	if at == "" {
		return fmt.Sprintf("%s %s at %s", by, did, x.formatTime(o.GetCreationTimestamp().Time))
	}
	return fmt.Sprintf("%s %s at %s", by, did, x.formatAnnotationTime(at))
}

// writeEvent writes an Event. Its error says that the cluster is now another one.
func (x *execution) writeEvent(ctx context.Context) error {
	err := x.engine.connection.CheckCluster(ctx)
	if err == nil {
		message := x.action.doneText(&x.plan) + ": " + x.plan.Reason
		err = x.engine.writer.createEvent(
			ctx,
			x.observedObject,
			x.stamp,
			string(x.plan.Action),
			x.action.eventReason(),
			message,
		)
	}
	if err != nil {
		x.addWarning("cannot write the Event: %v", err)
	}
	if !isOtherClusterOrUser(err) {
		return nil
	}
	return err
}
