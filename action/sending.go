package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/sanitize"
	"github.com/veltui/veltui/retry"
	"github.com/veltui/veltui/session"
	"github.com/veltui/veltui/velero"
)

// sending is one deadline, one local record, and patches that land once or not at all.
type sending struct {
	f      *Engine
	dryRun bool
	report func(Progress)
	until  time.Time // the one deadline
	away   time.Time // when an attempt last met no API server, or one that could not answer
	looked time.Time // when the evidence was last gathered
	// renew gathers the evidence again, and ends the execution if it no longer leads to the
	// plan that was shown.
	renew  func(context.Context) error
	stamp  stamp
	step   Step
	audit  *audit
	record Entry  // what all entries of the audit log have in common
	host   string // where the last request was sent
	out    Outcome
}

var errStop = errors.New("stop")

// errChanged means that a resource is not the one the patch was made for.
var errChanged = errors.New("somebody else changed the resource")

func (f *Engine) sending(shown *Evidence, dryRun bool, report func(Progress)) sending {
	if report == nil {
		report = func(Progress) {}
	}
	deadline := f.o.Deadline
	if deadline <= 0 {
		deadline = velero.ResourceTimeout(shown.Job.Object, velero.ServerFlags{})
	}
	return sending{f: f, dryRun: dryRun, report: report, until: f.o.Now().Add(deadline),
		stamp: stamp{by: shown.By, attempt: f.o.NewID()}}
}

func (s *sending) run(ctx context.Context, steps ...func(context.Context) error) (Outcome, error) {
	for _, step := range steps {
		err := step(ctx)
		if isElsewhere(err) {
			s.out.Plan = Plan{}
			err = s.stop(Changed, "%v; %s", err, s.nothing())
		}
		if errors.Is(err, errStop) {
			break
		}
		if err != nil {
			s.out.Message = fmt.Sprintf("%s: %v; the patch %s", s.step, err, sentWords[s.out.Sent])
			return s.finish(err), err
		}
	}
	return s.finish(nil), nil
}

// isElsewhere reports whether the cluster, or the user, is no longer the one of the plan.
func isElsewhere(err error) bool {
	var moved *session.MovedError
	var other *session.OtherUserError
	return errors.As(err, &moved) || errors.As(err, &other)
}

var sentWords = map[Sent]string{
	NotSent:  "was not applied",
	Landed:   "was applied",
	Partly:   "was applied to some of the volumes",
	Doubtful: "was sent, and it is unknown whether it was applied",
}

func (s *sending) stop(state State, format string, args ...any) error {
	s.out.State, s.out.Message = state, fmt.Sprintf(format, args...)
	return errStop
}

func (s *sending) enter(step Step) {
	s.step = step
	s.report(Progress{Step: step})
}

func (s *sending) moment(annotation string) string {
	at, err := time.Parse(time.RFC3339, annotation)
	if err != nil {
		return annotation
	}
	return at.In(s.f.o.Now().Location()).Format("2006-01-02 15:04:05 MST")
}

func (s *sending) warn(format string, args ...any) {
	s.out.Warnings = append(s.out.Warnings, fmt.Sprintf(format, args...))
}

// retrying returns the options of one series of attempts within the one deadline.
func (s *sending) retrying() retry.Options {
	step := s.step
	return retry.Options{
		Backoff:        s.f.o.Backoff,
		Deadline:       max(1, -retry.Elapsed(s.until, s.f.o.Now())),
		AttemptTimeout: s.f.o.AttemptTimeout,
		Refresh:        s.refresh,
		Report:         func(a retry.Attempt) { s.report(Progress{Step: step, Attempt: &a}) },
	}
}

func (s *sending) refresh(ctx context.Context) error {
	if err := s.f.access.refresh(ctx); err != nil {
		return err
	}
	user, err := s.f.access.get().User(ctx)
	if apierrors.IsNotFound(err) { // which says nothing about the job
		return fmt.Errorf("checking whose credentials these are: %v", err)
	} else if err != nil {
		return fmt.Errorf("checking whose credentials these are: %w", err)
	}
	if is := sanitize.String(user.Username); is != s.stamp.by {
		return &session.OtherUserError{Was: s.stamp.by, Is: is}
	}
	return nil
}

// startUp is how long an API server that has just come back may refuse what it will allow:
// it answers before it has read all roles.
const startUp = 30 * time.Second

// retriable reports whether time may mend an error. That includes refusals of an API server
// that was away a moment ago.
func (s *sending) retriable(err error) bool {
	now := s.f.o.Now()
	if retry.Classify(err) == retry.Retriable {
		s.away = now
		return true
	}
	refused := apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || errors.Is(err, errRefusing)
	return refused && !s.away.IsZero() && now.Sub(s.away) < startUp
}

var errRefusing = errors.New("the API server refuses what it allowed before")

// gather retries to gather everything but what is stored.
func (s *sending) gather(ctx context.Context, shown *Evidence) (e Evidence, err error) {
	o := s.retrying()
	o.AttemptTimeout = gatherAttempt(s.f.o)
	err = retry.RetryOnRetriableMaxBackOff(ctx, o, func(ctx context.Context) (err error) {
		e, err = s.gatherOnce(ctx, shown)
		return err
	}, s.retriable)
	return e, err
}

func (s *sending) gatherOnce(ctx context.Context, shown *Evidence) (Evidence, error) {
	if err := s.f.access.Check(ctx); err != nil {
		return Evidence{}, err
	}
	e, err := s.f.gather(ctx, shown.Job.Kind, shown.Job.Name)
	if err == nil && e.refusedMore(shown) && s.retriable(errRefusing) {
		err = errRefusing
	}
	return e, err
}

func (e *Evidence) refusedMore(shown *Evidence) bool {
	return shown.Server.Visible && !e.Server.Visible || shown.Volumes == Yes && e.Volumes != Yes || shown.MayPatch == Yes && e.MayPatch != Yes
}

// begin records what is going to be done, before anything is sent.
func (s *sending) begin(seen ...*unstructured.Unstructured) error {
	offset, _ := s.f.access.meter.Offset()
	s.stamp.at = s.f.o.Now().Add(offset)
	if s.dryRun {
		return nil
	}
	a, err := openAudit(s.f.o, s.stamp.attempt)
	if errors.Is(err, errUnsafeLog) {
		return s.stop(Refused, "%v; %s", err, s.nothing())
	}
	if err != nil {
		return err
	}
	s.audit, s.out.Log = a, a.path
	if s.out.Copy, err = a.save(&s.record, seen...); err != nil {
		return err
	}
	return s.note("begin", nil)
}

func (s *sending) dryRunPatch(ctx context.Context, p *patch) (after *unstructured.Unstructured, err error) {
	err = retry.RetryOnRetriableMaxBackOff(ctx, s.retrying(), func(ctx context.Context) error {
		if err := s.f.access.Check(ctx); err != nil {
			return err
		}
		r := s.f.writer.send(ctx, p, true)
		after = r.object
		return r.err
	}, s.retriable)
	return after, err
}

// sortAnswer sorts the error of a patch: somebody was faster, and again says what follows;
// the server refuses it; or it could not be reached.
func (s *sending) sortAnswer(err error, again func(cause error) error) error {
	switch {
	case errors.Is(err, errChanged), apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsInvalid(err):
		return again(err)
	case apierrors.IsForbidden(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err), apierrors.IsRequestEntityTooLargeError(err):
		return s.stop(Refused, "the API server refused it: %v; %s", err, s.nothing())
	}
	return err
}

// nothing says what was written, as far as that is proven.
func (s *sending) nothing() string {
	switch s.out.Sent {
	case NotSent:
		return "nothing was written"
	case Doubtful:
		return "the patch was sent before, and it is unknown whether it was applied"
	}
	return "nothing more was written"
}

// announce writes an Event. Its error says that the cluster is another one now.
func (s *sending) announce(ctx context.Context, subject *unstructured.Unstructured, action, reason, message string) error {
	err := s.f.access.Check(ctx)
	if err == nil {
		err = s.f.writer.event(ctx, subject, s.stamp, action, reason, message)
	}
	if err != nil {
		s.warn("cannot write the Event: %v", err)
	}
	if !isElsewhere(err) {
		return nil
	}
	return err
}
