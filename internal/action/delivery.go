package action

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/internal/velero"
	"github.com/veltui/veltui/retry"
)

// delivery is what is known of all requests for one write: of its dry run, which something on the way may turn into a
// real write, and of the real requests.
type delivery struct {
	write
	// mayLand is true while a request has no answer that excludes the write, which may still land until it is settled.
	mayLand bool
	// needsReading is true if a precondition failed, or the object to delete no longer exists, perhaps because a proxy
	// repeated a request that was carried out; or if a dry run was rejected, perhaps because something dropped dryRun.
	// The object has not been read since.
	needsReading bool
	// wasNotFound is true if the last answer was that there is no such object.
	wasNotFound  bool
	alteration   string                     // how an answer differs from the request, empty without one
	landedObject *unstructured.Unstructured // the object as the write left it
	hasLanded    bool
	// acceptedAnswer is the answer to a real request that says that a deletion was carried out, but does not prove it:
	// an object without finalizers is gone at once, and a dry run has the same answer.
	acceptedAnswer  *unstructured.Unstructured
	realRequestSent bool // more than dry runs were sent
	// sentAt is when the first dry run or the last real request was sent, by the API server's clock. onlySentAt is the
	// same time if that last request failed a precondition and no other request may have landed; otherwise zero.
	sentAt, onlySentAt time.Time
	host               string // where the last dry run was sent
}

// dryRunMargin is how far the API server's clock may be misjudged for dry runs: for an error to matter, the dry run
// would have to be carried out, and repeated.
const dryRunMargin = 2 * time.Second

func (d *delivery) sentState() SentState {
	switch {
	case d.hasLanded:
		return Landed
	case d.mayLand, d.needsReading:
		return Doubtful
	}
	return NotSent
}

func (d *delivery) markLanded(after *unstructured.Unstructured) {
	d.hasLanded, d.landedObject = true, after
}

func (d *delivery) settleUnread(now *unstructured.Unstructured) writeFate {
	found := d.judgeFate(now)
	margin := time.Duration(velero.ClockMargin)
	if !d.realRequestSent {
		margin = dryRunMargin
	}
	if found == fateObscured && d.needsReading && d.excludesOwnWrite(now, d.onlySentAt, margin) {
		found = fateNameTaken
	}
	switch {
	case !d.realRequestSent && !d.isDeletion() &&
		(d.isSameObject(now) || d.wasNotFound && now == nil || !d.onlySentAt.IsZero()):
		// Otherwise the dry run would have to be repeated, or its answer changed, and then hidden by a third party. A
		// conflict is a definite answer to the only request.
		d.needsReading = false
	case found != fateObscured && now != nil: // otherwise the object no longer exists, and may have been ours
		d.needsReading = false
	}
	return found
}

// isSameObject reports whether now is the object to be written or created, and not another object of the same name.
func (d *delivery) isSameObject(now *unstructured.Unstructured) bool {
	uid := d.targetObject().GetUID()
	return uid == "" || now != nil && now.GetUID() == uid
}

func (d *delivery) isDeletion() bool {
	_, deletes := d.write.(*deletion)
	return deletes
}

// noteFailure records the error of a request.
func (d *delivery) noteFailure(r *reply, creates bool) {
	d.onlySentAt = time.Time{}
	// A patch with another uid is invalid: the uid cannot be changed.
	failedPrecondition := r.code == http.StatusConflict || r.code == http.StatusUnprocessableEntity
	if !d.mayLand && failedPrecondition && r.excludesWrite() {
		d.onlySentAt = d.sentAt
	}
	d.mayLand = d.mayLand || !r.excludesWrite()
	d.wasNotFound = apierrors.IsNotFound(r.err)
	// If a proxy repeats a request, the answer is that to the last repetition.
	d.needsReading = apierrors.IsAlreadyExists(r.err) || d.isDeletion() && apierrors.IsNotFound(r.err) ||
		!creates && (apierrors.IsConflict(r.err) || apierrors.IsInvalid(r.err))
}

// errAltered means that the API server accepted a write but answered with something other than was requested.
var errAltered = errors.New("the API server answered with something else than was requested")

// deliverWrite sends a write until it lands. x.outcome.Sent then says what is proven of this write and of those
// before it.
func (x *execution) deliverWrite(ctx context.Context, d *delivery) error {
	defer x.updateSent()
	if err := x.recordEvent("send", d.write); err != nil {
		return err
	}
	o := x.retryOptions()
	o.AttemptTimeout = gatherAttemptTimeout(x.engine.options) + attemptTimeout(x.engine.options)
	return retry.PatchResourceWithRetries(ctx, o, &guardedWrite{guardedDelivery{x, d}}, x.isRetriable)
}

// guardedDelivery has the methods of [retry.GuardedPatch] that a dry run and a real request share.
type guardedDelivery struct {
	execution *execution
	delivery  *delivery
}

func (g *guardedDelivery) Unsettled() bool { return g.delivery.mayLand }

func (g *guardedDelivery) ReadBack(ctx context.Context) (landed bool, err error) {
	defer g.execution.updateSent()
	err = g.execution.readUnansweredTarget(ctx, g.delivery)
	return g.delivery.hasLanded, err
}

// settleDelivery finds out, for at most patience, what became of requests that are in doubt.
func (g *guardedDelivery) settleDelivery(ctx context.Context, err error, patience time.Duration) error {
	if g.delivery.sentState() != Doubtful {
		return err
	}
	return g.execution.settleDelivery(ctx, g.delivery, err, patience)
}

// guardedWrite sends a delivery's write as a real request.
type guardedWrite struct{ guardedDelivery }

func (g *guardedWrite) CheckBeforeSend(ctx context.Context) error {
	return g.execution.confirmWrite(ctx)
}

func (g *guardedWrite) Send(ctx context.Context) error {
	defer g.execution.updateSent()
	return g.execution.sendOnce(ctx, g.delivery)
}

func (g *guardedWrite) Settle(ctx context.Context, err error) error {
	return g.settleDelivery(ctx, err, g.execution.engine.options.ObserveFor)
}

// updateSent sets the outcome to what has been proven of all writes.
func (x *execution) updateSent() {
	landed, doubtful := 0, false
	for _, d := range x.deliveries {
		switch d.sentState() {
		case Landed:
			landed++
		case Doubtful:
			doubtful = true
		}
	}
	switch {
	case doubtful:
		x.outcome.Sent = Doubtful
	case landed == 0:
		x.outcome.Sent = NotSent
	case landed < len(x.deliveries):
		x.outcome.Sent = PartlyLanded
	default:
		x.outcome.Sent = Landed
	}
}

// sendOnce sends a write as a real request, and checks the answer.
func (x *execution) sendOnce(ctx context.Context, d *delivery) error {
	d.sentAt, d.realRequestSent = x.serverTime(), true
	r := x.engine.writer.sendWrite(ctx, d.write, false)
	x.lastHost = r.host
	if r.err != nil {
		d.noteFailure(&r, x.action.requestVerb() == verbCreate)
		return r.err
	}
	if d.alteration = d.verifyAnswer(r.object, false); d.alteration != "" {
		d.mayLand = true
		return errAltered
	}
	if d.isDeletion() && r.object.GetResourceVersion() == "" {
		d.acceptedAnswer, d.mayLand = r.object, true
		return x.confirmDeletion(ctx, d)
	}
	d.markLanded(r.object)
	return nil
}

// confirmDeletion reads the object after a deletion that was accepted.
func (x *execution) confirmDeletion(ctx context.Context, d *delivery) error {
	now, err := x.readObject(ctx, d.targetObject())
	switch {
	case err != nil:
		return err
	case isDeleted(d.targetObject(), now):
		d.markLanded(d.acceptedAnswer)
		return nil
	}
	d.alteration = "leave the object as it is"
	return errAltered
}

// readUnansweredTarget reads the object after requests without an answer. An error means that no request can land any
// more, or that nothing could be read.
func (x *execution) readUnansweredTarget(ctx context.Context, d *delivery) error {
	if d.acceptedAnswer != nil {
		return x.confirmDeletion(ctx, d)
	}
	now, err := x.readObject(ctx, d.targetObject())
	if err != nil {
		return err
	}
	switch d.settleUnread(now) {
	case fateLanded:
		if d.alteration == "" || d.verifyAnswer(now, false) == "" {
			d.markLanded(now)
			return nil
		}
		return errAltered
	case fateLost:
		d.mayLand = d.alteration != "" // a successful answer excludes nothing
		return errChanged
	case fateObscured, fateNameTaken:
		return errChanged
	}
	return nil
}

// readObject reads an object of the cluster shown to the user, nil if it does not exist.
func (x *execution) readObject(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := x.engine.connection.CheckCluster(ctx); err != nil {
		return nil, err
	}
	now, err := x.engine.readObject(ctx, o)
	if isServerNotFound(err) {
		return nil, nil
	}
	return now, err
}

// isServerNotFound reports whether err is a NotFound of the API server itself; a proxy's page proves nothing.
func isServerNotFound(err error) bool { return apierrors.IsNotFound(err) && retry.ProvesRejected(err) }

// settleDelivery finds out what became of a write whose attempts have ended with cause. A lost request may still be
// on its way, so it watches the object for at most patience; after an interruption or the deadline it reads the
// object once. It returns the error that the write ends with, which no longer matters if the write has landed.
func (x *execution) settleDelivery(ctx context.Context, d *delivery, cause error, patience time.Duration) error {
	if errors.Is(cause, errChanged) || errors.Is(cause, errExecutionEnded) {
		return cause // the write can no longer land, or its doubt is part of the outcome
	}
	var over *retry.DeadlineError
	if ctx.Err() != nil || errors.As(cause, &over) {
		patience = 0
	}
	ends := x.engine.options.Now().Add(patience)
	for {
		once, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalReadTimeout)
		err := x.readUnansweredTarget(once, d)
		cancel()
		switch {
		case d.hasLanded:
			return nil
		case errors.Is(err, errChanged) && ctx.Err() == nil:
			return errChanged
		case errors.Is(err, errChanged),
			errors.Is(cause, errAltered),
			ctx.Err() != nil,
			d.sentState() != Doubtful,
			retry.Elapsed(ends, x.engine.options.Now()) >= 0:
			return cause
		}
		retry.SleepContext(ctx, x.engine.options.PollInterval)
	}
}

type reply struct {
	object    *unstructured.Unstructured
	err       error
	host      string // where the request went
	code      int    // the answer's status, zero without one
	connected bool   // true once there was a connection for the request
}

func (r *reply) excludesWrite() bool {
	if retry.ProvesRejected(r.err) {
		var status apierrors.APIStatus
		// Without a code the transport has compared both (session.OneAttempt).
		return errors.As(r.err, &status) && (r.code == 0 || int(status.Status().Code) == r.code)
	}
	return !r.connected && retry.IsUnsent(r.err)
}

func (w *writer) sendWrite(ctx context.Context, one write, dryRun bool) reply {
	var r reply
	ctx, cancel := context.WithTimeout(ctx, w.connection.timeout)
	defer cancel()
	ctx = httptrace.WithClientTrace(
		ctx,
		&httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { r.connected = true }},
	)
	ctx = context.WithValue(ctx, exchangeKey{}, &r)
	var only []string
	if dryRun {
		only = []string{metav1.DryRunAll}
	}
	r.object, r.err = one.sendRequest(ctx, w.connection.currentClient(), only)
	return r
}

// maxEvidenceAge is how long after its evidence was gathered a plan may be acted on.
const maxEvidenceAge = 10 * time.Second

// confirmWrite checks before each send that the cluster is the same and the evidence fresh.
func (x *execution) confirmWrite(ctx context.Context) error {
	if err := x.engine.connection.CheckCluster(ctx); err != nil {
		return err
	}
	if x.landedCount > 0 { // the credentials may have been renewed while the previous write was settled
		if err := x.checkUser(ctx); err != nil {
			return err
		}
	}
	if retry.Elapsed(x.lastGathered, x.engine.options.Now()) > maxEvidenceAge {
		if err := x.recheckPlanOnce(ctx); err != nil {
			return err
		}
	}
	return x.action.checkUnchanged(ctx, x)
}

// readOnce reads a resource of the cluster shown to the user, in one attempt.
func (x *execution) readOnce(
	ctx context.Context,
	seen *unstructured.Unstructured,
) (o *unstructured.Unstructured, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout(x.engine.options))
	defer cancel()
	read := func() error {
		if err := x.engine.connection.CheckCluster(ctx); err != nil {
			return err
		}
		o, err = x.engine.readObject(ctx, seen)
		return err
	}
	if err := read(); retry.Classify(err) != retry.Unauthorized {
		return o, err
	}
	if err := x.refreshConnection(ctx); err != nil {
		return nil, err
	}
	err = read()
	return o, err
}
