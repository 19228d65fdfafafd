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

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/internal/session"
	"github.com/veltui/veltui/retry"
)

var errStop = errors.New("stop")

var errChanged = retry.ErrChanged

func isElsewhere(err error) bool {
	var moved *session.MovedError
	var other *session.OtherUserError
	return errors.As(err, &moved) || errors.As(err, &other)
}

var sentWords = map[Sent]string{
	NotSent:  "was not applied",
	Landed:   "was applied",
	Partly:   "was applied in part",
	Doubtful: "was sent, and it is unknown whether it was applied",
}

// request is what is sent, in a sentence.
func (x *execution) request() string {
	if x.action.verb() != patches {
		return "the request"
	}
	return "the patch"
}

func (x *execution) stop(state State, format string, args ...any) error {
	x.out.State, x.out.Message = state, fmt.Sprintf(format, args...)
	return errStop
}

func (x *execution) enter(step Step) {
	x.step = step
	x.report(Progress{Step: step})
}

func (x *execution) moment(annotation string) string {
	at, err := time.Parse(time.RFC3339, annotation)
	if err != nil {
		return annotation
	}
	return x.clock(at)
}

// clock is a moment in the user's time zone.
func (x *execution) clock(at time.Time) string {
	return at.In(x.f.o.Now().Location()).Format("2006-01-02 15:04:05 MST")
}

func (x *execution) warn(format string, args ...any) {
	x.out.Warnings = append(x.out.Warnings, fmt.Sprintf(format, args...))
}

// retrying returns the options of one series of attempts within the one deadline.
func (x *execution) retrying() retry.Options {
	step := x.step
	return retry.Options{
		Backoff:        x.f.o.Backoff,
		Deadline:       max(1, -retry.Elapsed(x.until, x.f.o.Now())),
		AttemptTimeout: x.f.o.AttemptTimeout,
		Refresh:        x.refresh,
		Report:         func(a retry.Attempt) { x.report(Progress{Step: step, Attempt: &a}) },
	}
}

func (x *execution) refresh(ctx context.Context) error {
	if err := x.f.access.refresh(ctx); err != nil {
		return err
	}
	return x.checkUser(ctx)
}

func (x *execution) checkUser(ctx context.Context) error {
	user, err := x.f.access.get().User(ctx)
	if apierrors.IsNotFound(err) { // which says nothing about the job
		return fmt.Errorf("checking whose credentials these are: %v", err)
	} else if err != nil {
		return fmt.Errorf("checking whose credentials these are: %w", err)
	}
	if is := sanitize.String(user.Username); is != x.stamp.by {
		return &session.OtherUserError{Was: x.stamp.by, Is: is}
	}
	return nil
}

// startUp is how long an API server that has just come back may refuse what it will allow:
// it answers before it has read all roles.
const startUp = 30 * time.Second

// retriable reports whether time may mend an error. That includes refusals of an API server that was away a moment ago.
func (x *execution) retriable(err error) bool {
	now := x.f.o.Now()
	if retry.Classify(err) == retry.Retriable {
		x.away = now
		return true
	}
	refused := apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || errors.Is(err, errRefusing)
	return refused && !x.away.IsZero() && now.Sub(x.away) < startUp
}

var errRefusing = errors.New("the API server refuses what it allowed before")

// gather retries to gather everything but what is stored.
func (x *execution) gather(ctx context.Context) (e Evidence, err error) {
	o := x.retrying()
	o.AttemptTimeout = gatherAttempt(x.f.o)
	err = retry.RetryOnRetriableMaxBackOff(ctx, o, func(ctx context.Context) (err error) {
		e, err = x.gatherOnce(ctx)
		return err
	}, x.retriable)
	return e, err
}

func (x *execution) gatherOnce(ctx context.Context) (e Evidence, err error) {
	shown := &x.plan.evidence
	if err := x.f.access.Check(ctx); err != nil {
		return e, err
	}
	asked, isProposed := x.action.(proposable)
	if o := shown.proposal; o != nil && isProposed {
		e, err = x.f.gatherObject(
			ctx,
			asked,
			proposal{asked: o.asked, request: x.plan.request, attempt: x.stamp.attempt},
		)
	} else {
		e, err = x.f.gather(ctx, shown.Job.Kind, shown.Job.Name)
	}
	if err == nil && e.refusedMore(shown) && x.retriable(errRefusing) {
		err = errRefusing
	}
	return e, err
}

func (e *Evidence) refusedMore(shown *Evidence) bool {
	return shown.Server.Visible && !e.Server.Visible || shown.Volumes == Yes && e.Volumes != Yes ||
		shown.MayPatch == Yes && e.MayPatch != Yes
}

// serverTime is the present by the API server's clock.
func (x *execution) serverTime() time.Time {
	offset, _ := x.f.access.meter.Offset()
	return x.f.o.Now().Add(offset)
}

// begin opens the journal, before the dry run too: whatever drops dryRun makes that a write.
func (x *execution) begin() error {
	x.stamp.at = x.serverTime()
	a, err := openAudit(x.f.o, x.stamp.attempt)
	if errors.Is(err, errUnsafeLog) {
		return x.stop(Refused, "%v; %s", err, x.nothing())
	}
	if err != nil {
		return err
	}
	x.audit, x.out.Log = a, a.path
	seen := x.plan.targets
	if x.action.verb() == creates {
		seen = []*unstructured.Unstructured{x.plan.evidence.Object}
	}
	if x.plan.UID != "" { // else there is nothing yet of which to keep a copy
		if x.out.Copy, err = a.save(&x.record, seen...); err != nil {
			return err
		}
	}
	return x.note("begin", nil)
}

// refusalText is what a refusal says, or its reason and code where it says nothing.
func refusalText(err error) string {
	var status apierrors.APIStatus
	text := strings.TrimSpace(err.Error())
	if text != "" || !errors.As(err, &status) {
		return text
	}
	s := status.Status()
	return fmt.Sprintf("%s (%d), without a message", cmp.Or(string(s.Reason), "unknown reason"), s.Code)
}

// sortAnswer sorts the error of a patch: another write was faster, and the target is read
// again; the server refuses it; or it could not be reached.
func (x *execution) sortAnswer(ctx context.Context, d *delivery, err error) error {
	switch {
	case errors.Is(err, errChanged),
		apierrors.IsNotFound(err),
		apierrors.IsConflict(err),
		apierrors.IsAlreadyExists(err),
		apierrors.IsInvalid(err):
		return x.lookAgain(ctx, d, err)
	case apierrors.IsForbidden(err),
		apierrors.IsBadRequest(err),
		apierrors.IsMethodNotSupported(err),
		apierrors.IsRequestEntityTooLargeError(err):
		return x.stop(Refused, "the API server refused it: %s; %s", refusalText(err), x.nothing())
	}
	return err
}

// nothing says what was written, as far as that is proven.
func (x *execution) nothing() string {
	switch x.out.Sent {
	case NotSent:
		return "nothing was written"
	case Doubtful:
		if x.onlyDryRuns() {
			return onlyDryRun
		}
		return x.request() + " was sent before, and it is unknown whether it was applied"
	}
	return "nothing more was written"
}

const onlyDryRun = "only a dry run was sent, and no answer proves that it wrote nothing"

func (x *execution) onlyDryRuns() bool {
	return !slices.ContainsFunc(x.deliveries, func(d *delivery) bool { return d.forGood })
}

// sentSoFar says how much of what is requested was applied.
func (x *execution) sentSoFar() string {
	if x.out.Sent == Doubtful && x.onlyDryRuns() {
		return onlyDryRun
	}
	return x.request() + " " + sentWords[x.out.Sent]
}

// otherCreator says who has created what has the name that a request would have taken, and when.
func (x *execution) otherCreator(o *unstructured.Unstructured) string {
	did := cmp.Or(x.action.othersDid(o), "created one of that name")
	by, at := x.action.marks().others(&unstructured.Unstructured{}, o)
	if by == "" {
		by, did = "somebody", "created one of that name"
		if managers := o.GetManagedFields(); len(managers) > 0 {
			by += " (" + managers[0].Manager + ")"
		}
	}
	if at == "" {
		return fmt.Sprintf("%s %s at %s", by, did, x.clock(o.GetCreationTimestamp().Time))
	}
	return fmt.Sprintf("%s %s at %s", by, did, x.moment(at))
}

// announce writes an Event. Its error says that the cluster is another one now.
func (x *execution) announce(ctx context.Context) error {
	err := x.f.access.Check(ctx)
	if err == nil {
		message := x.action.did(&x.plan) + ": " + x.plan.Reason
		err = x.f.writer.event(ctx, x.subject, x.stamp, string(x.plan.Action), x.action.event(), message)
	}
	if err != nil {
		x.warn("cannot write the Event: %v", err)
	}
	if !isElsewhere(err) {
		return nil
	}
	return err
}
