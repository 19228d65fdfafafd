package retry

import (
	"context"
	"errors"
)

// ErrChanged means that an object is not the one that a patch was made for.
var ErrChanged = errors.New("somebody else changed the resource")

// GuardedPatch is one change of one object. Its guards, such as the object's uid and resourceVersion, let the API
// server carry out the request once or not at all, however often it is sent. It may also create or delete the object.
type GuardedPatch interface {
	// Unsettled reports whether a request was sent that may land later, or may have landed: its answer was lost or
	// excludes nothing.
	Unsettled() bool
	// ReadBack reads what became of the requests sent so far. It returns no error where the next may be sent, and
	// ErrChanged where none can land any more.
	ReadBack(ctx context.Context) (landed bool, err error)
	// Confirm checks right before a request that it is still right to send it, and returns ErrChanged if the object
	// has changed.
	Confirm(ctx context.Context) error
	// Send sends the request once. It returns nil only if the answer proves that the request landed.
	Send(ctx context.Context) error
	// Settle is called after the last attempt with its error. It reads what became of requests that are unsettled, and
	// returns the error that remains, nil if the patch has landed after all. The context may have ended.
	Settle(ctx context.Context, err error) error
}

// PatchResourceWithRetries sends a patch until it lands, fails with an error that is not retriable, or the deadline is
// over, like [RetryOnRetriableMaxBackOff]. It sends one request at a time, and none before it has read what became of
// an earlier one that is unsettled.
func PatchResourceWithRetries(ctx context.Context, o Options, p GuardedPatch, retriable func(error) bool) error {
	err := RetryOnRetriableMaxBackOff(ctx, o, func(ctx context.Context) error { return sendOnce(ctx, p) }, retriable)
	if err != nil {
		err = p.Settle(ctx, err)
	}
	return err
}

// sendOnce makes one attempt. Nothing is sent if an earlier request has landed or may no longer be repeated.
func sendOnce(ctx context.Context, p GuardedPatch) error {
	if p.Unsettled() {
		if landed, err := p.ReadBack(ctx); landed || err != nil {
			return err
		}
	}
	if err := p.Confirm(ctx); err != nil {
		if p.Unsettled() && errors.Is(err, ErrChanged) { // perhaps by an earlier request
			if landed, found := p.ReadBack(ctx); landed || found != nil {
				return found
			}
		}
		return err
	}
	return p.Send(ctx)
}
