package retry

import (
	"context"
	"errors"
)

// ErrChanged means that an object is no longer as the patch expects it.
var ErrChanged = errors.New("somebody else changed the resource")

// GuardedPatch is one change of one object. Its guards, such as the object's uid and resourceVersion, make the API
// server carry out the request at most once, however often it is sent. It may also create or delete the object.
type GuardedPatch interface {
	// Unsettled reports whether a request was sent that may land later, or may have landed: its answer was lost or does
	// not rule it out.
	Unsettled() bool
	// ReadBack reads the outcome of the requests sent so far. It returns no error if the next request may be sent, and
	// ErrChanged if none can land any more.
	ReadBack(ctx context.Context) (landed bool, err error)
	// CheckBeforeSend checks right before a request that it is still right to send it, and returns ErrChanged if the
	// object has changed.
	CheckBeforeSend(ctx context.Context) error
	// Send sends the request once. It returns nil only if the answer proves that the request landed.
	Send(ctx context.Context) error
	// Settle is called with the error of the last attempt. It reads the outcome of unsettled requests, and returns the
	// remaining error, nil if the patch has landed after all. The context may have ended.
	Settle(ctx context.Context, err error) error
}

// PatchResourceWithRetries sends a patch until it lands, fails with an error that is not retriable, or the deadline
// has passed, like [RetryOnRetriableMaxBackOff]. It sends one request at a time, and none before it has read the
// outcome of an unsettled earlier one.
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
	if err := p.CheckBeforeSend(ctx); err != nil {
		if p.Unsettled() && errors.Is(err, ErrChanged) { // perhaps by an earlier request
			if landed, found := p.ReadBack(ctx); landed || found != nil {
				return found
			}
		}
		return err
	}
	return p.Send(ctx)
}
