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

// delivery is what is known of all requests for a write: of its dry run, which something in between may turn into a
// write, and of those for good.
type delivery struct {
	write
	// open: a request had no answer that excludes the write, which may land until it is settled.
	open bool
	// unseen: a precondition failed, or what was to be deleted is gone, perhaps because a proxy repeated a
	// request that was carried out; or a dry run was rejected, perhaps by what has also dropped dryRun. The
	// object was not read since.
	unseen bool
	// missing: the last answer was that there is no such object.
	missing bool
	altered string                     // how an answer differs from the request, empty without one
	after   *unstructured.Unstructured // the object as the write left it
	landed  bool
	// accepted is what a request for good was answered with that says of a deletion that it was carried out, and is
	// no proof: an object that no finalizer holds is gone, and a dry run has the same answer.
	accepted *unstructured.Unstructured
	forGood  bool // more than dry runs were sent
	// sent is when the first dry run or the last request for good was sent, by the API server's clock, and only
	// the same if the last of them failed a precondition and no other may have landed; else zero.
	sent, only time.Time
	host       string // where the last dry run was sent
}

// dryRunMargin is how far the API server's clock may be misjudged where a dry run is concerned: for an error to matter,
// the dry run would have to be carried out, and repeated.
const dryRunMargin = 2 * time.Second

func (d *delivery) state() Sent {
	switch {
	case d.landed:
		return Landed
	case d.open, d.unseen:
		return Doubtful
	}
	return NotSent
}

func (d *delivery) land(after *unstructured.Unstructured) {
	d.landed, d.after = true, after
}

func (d *delivery) settleUnseen(now *unstructured.Unstructured) finding {
	found := d.find(now)
	margin := time.Duration(velero.ClockMargin)
	if !d.forGood {
		margin = dryRunMargin
	}
	if found == obscured && d.unseen && d.excludes(now, d.only, margin) {
		found = taken
	}
	switch {
	case !d.forGood && !d.isDeletion() && (d.isSame(now) || d.missing && now == nil || !d.only.IsZero()):
		// Else the dry run would have to be repeated, or its answer changed, and then hidden by a third hand. A conflict is
		// a definite answer to the only request.
		d.unseen = false
	case found != obscured && now != nil: // else what was there is gone, and may have been ours
		d.unseen = false
	}
	return found
}

// isSame reports whether an object is the one that was to be written, or to be created, and no other of its name.
func (d *delivery) isSame(now *unstructured.Unstructured) bool {
	uid := d.object().GetUID()
	return uid == "" || now != nil && now.GetUID() == uid
}

func (d *delivery) isDeletion() bool {
	_, deletes := d.write.(*deletion)
	return deletes
}

// fail notes the error of a request.
func (d *delivery) fail(r *reply, creates bool) {
	d.only = time.Time{}
	// A patch with another uid is invalid: the uid cannot be changed.
	failedPrecondition := r.code == http.StatusConflict || r.code == http.StatusUnprocessableEntity
	if !d.open && failedPrecondition && r.excludes() {
		d.only = d.sent
	}
	d.open = d.open || !r.excludes()
	d.missing = apierrors.IsNotFound(r.err)
	// The answer to a request that a proxy repeats is that to the last.
	d.unseen = apierrors.IsAlreadyExists(r.err) || d.isDeletion() && apierrors.IsNotFound(r.err) ||
		!creates && (apierrors.IsConflict(r.err) || apierrors.IsInvalid(r.err))
}

// errAltered means that the API server accepted a write and answered with something else than was requested.
var errAltered = errors.New("the API server answered with something else than was requested")

// deliver sends a write until it lands. x.out.Sent then says what is proven of it and of those before it.
func (x *execution) deliver(ctx context.Context, d *delivery) error {
	defer x.update()
	if err := x.note("send", d.write); err != nil {
		return err
	}
	o := x.retrying()
	o.AttemptTimeout = gatherAttempt(x.f.o) + attemptTimeout(x.f.o)
	return retry.PatchResourceWithRetries(ctx, o, &guardedWrite{guardedDelivery{x, d}}, x.retriable)
}

// guardedDelivery is what a dry run and a request for good have in common as a [retry.GuardedPatch].
type guardedDelivery struct {
	x *execution
	d *delivery
}

func (g *guardedDelivery) Unsettled() bool { return g.d.open }

func (g *guardedDelivery) ReadBack(ctx context.Context) (landed bool, err error) {
	defer g.x.update()
	err = g.x.resolve(ctx, g.d)
	return g.d.landed, err
}

// settle finds out, for as long as patience, what became of requests that are in doubt.
func (g *guardedDelivery) settle(ctx context.Context, err error, patience time.Duration) error {
	if g.d.state() != Doubtful {
		return err
	}
	return g.x.settle(ctx, g.d, err, patience)
}

// guardedWrite sends a delivery's write for good.
type guardedWrite struct{ guardedDelivery }

func (g *guardedWrite) Confirm(ctx context.Context) error { return g.x.confirm(ctx) }

func (g *guardedWrite) Send(ctx context.Context) error {
	defer g.x.update()
	return g.x.sendOnce(ctx, g.d)
}

func (g *guardedWrite) Settle(ctx context.Context, err error) error {
	return g.settle(ctx, err, g.x.f.o.Observe)
}

// update keeps the outcome true of what has been proven of all writes.
func (x *execution) update() {
	landed, doubtful := 0, false
	for _, d := range x.deliveries {
		switch d.state() {
		case Landed:
			landed++
		case Doubtful:
			doubtful = true
		}
	}
	switch {
	case doubtful:
		x.out.Sent = Doubtful
	case landed == 0:
		x.out.Sent = NotSent
	case landed < len(x.deliveries):
		x.out.Sent = Partly
	default:
		x.out.Sent = Landed
	}
}

// sendOnce sends a write for good, and checks the answer.
func (x *execution) sendOnce(ctx context.Context, d *delivery) error {
	d.sent, d.forGood = x.serverTime(), true
	r := x.f.writer.send(ctx, d.write, false)
	x.host = r.host
	if r.err != nil {
		d.fail(&r, x.action.verb() == creates)
		return r.err
	}
	if d.altered = d.verify(r.object, false); d.altered != "" {
		d.open = true
		return errAltered
	}
	if d.isDeletion() && r.object.GetResourceVersion() == "" {
		d.accepted, d.open = r.object, true
		return x.confirmDeletion(ctx, d)
	}
	d.land(r.object)
	return nil
}

// confirmDeletion reads what became of a deletion that was accepted.
func (x *execution) confirmDeletion(ctx context.Context, d *delivery) error {
	now, err := x.read(ctx, d.object())
	switch {
	case err != nil:
		return err
	case isDeleted(d.object(), now):
		d.land(d.accepted)
		return nil
	}
	d.altered = "leave the object as it is"
	return errAltered
}

// resolve reads what became of sends without an answer. Its error: none can land any more, or nothing could be read.
func (x *execution) resolve(ctx context.Context, d *delivery) error {
	if d.accepted != nil {
		return x.confirmDeletion(ctx, d)
	}
	now, err := x.read(ctx, d.object())
	if err != nil {
		return err
	}
	switch d.settleUnseen(now) {
	case landed:
		if d.altered == "" || d.verify(now, false) == "" {
			d.land(now)
			return nil
		}
		return errAltered
	case lost:
		d.open = d.altered != "" // an answer of success excludes nothing
		return errChanged
	case obscured, taken:
		return errChanged
	}
	return nil
}

// read reads an object of the cluster that was shown, nil if it does not exist.
func (x *execution) read(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := x.f.access.Check(ctx); err != nil {
		return nil, err
	}
	now, err := x.f.read(ctx, o)
	if isGone(err) {
		return nil, nil
	}
	return now, err
}

// isGone reports a NotFound of the API server's own; a proxy's page says nothing.
func isGone(err error) bool { return apierrors.IsNotFound(err) && retry.Excludes(err) }

// settle finds out what became of a write whose attempts have ended with cause. A lost send may still be on its way,
// so it watches the object for that long; after an interruption or the deadline it reads it once. It returns the error
// that the write ends with, which no longer matters if it has landed.
func (x *execution) settle(ctx context.Context, d *delivery, cause error, patience time.Duration) error {
	if errors.Is(cause, errChanged) || errors.Is(cause, errStop) {
		return cause // it can no longer land, or that it may is part of the outcome
	}
	var over *retry.DeadlineError
	if ctx.Err() != nil || errors.As(cause, &over) {
		patience = 0
	}
	ends := x.f.o.Now().Add(patience)
	for {
		once, cancel := context.WithTimeout(context.WithoutCancel(ctx), parting)
		err := x.resolve(once, d)
		cancel()
		switch {
		case d.landed:
			return nil
		case errors.Is(err, errChanged) && ctx.Err() == nil:
			return errChanged
		case errors.Is(err, errChanged),
			errors.Is(cause, errAltered),
			ctx.Err() != nil,
			d.state() != Doubtful,
			retry.Elapsed(ends, x.f.o.Now()) >= 0:
			return cause
		}
		retry.Sleep(ctx, x.f.o.Poll)
	}
}

type reply struct {
	object    *unstructured.Unstructured
	err       error
	host      string // where the request went
	code      int    // the answer's status, zero without one
	connected bool   // true once there was a connection to send it over
}

func (r *reply) excludes() bool {
	if retry.Excludes(r.err) {
		var status apierrors.APIStatus
		// Without a code the transport has compared both (session.OneAttempt).
		return errors.As(r.err, &status) && (r.code == 0 || int(status.Status().Code) == r.code)
	}
	return !r.connected && retry.Unsent(r.err)
}

func (w *writer) send(ctx context.Context, one write, dryRun bool) reply {
	var r reply
	ctx, cancel := context.WithTimeout(ctx, w.access.timeout)
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
	r.object, r.err = one.send(ctx, w.access.get(), only)
	return r
}

const maxEvidenceAge = 10 * time.Second // how long after the end of a look its plan may be acted on

// confirm checks before each send that the cluster is the same and the evidence fresh.
func (x *execution) confirm(ctx context.Context) error {
	if err := x.f.access.Check(ctx); err != nil {
		return err
	}
	if x.sent > 0 { // the credentials may have been renewed while the write before was settled
		if err := x.checkUser(ctx); err != nil {
			return err
		}
	}
	if retry.Elapsed(x.looked, x.f.o.Now()) > maxEvidenceAge {
		if err := x.lookOnce(ctx); err != nil {
			return err
		}
	}
	return x.action.confirm(ctx, x)
}

// once reads a resource of the cluster that was shown in one attempt.
func (x *execution) once(
	ctx context.Context,
	seen *unstructured.Unstructured,
) (o *unstructured.Unstructured, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout(x.f.o))
	defer cancel()
	read := func() error {
		if err := x.f.access.Check(ctx); err != nil {
			return err
		}
		o, err = x.f.read(ctx, seen)
		return err
	}
	if err := read(); retry.Classify(err) != retry.Unauthorized {
		return o, err
	}
	if err := x.refresh(ctx); err != nil {
		return nil, err
	}
	err = read()
	return o, err
}
