package retry

import "context"

// Patch is one write that must not be carried out twice, nor over somebody
// else's.
type Patch struct {
	// Send sends it once.
	Send func(context.Context) error
	// Look is called in place of the next Send after one whose outcome is in
	// doubt (see [Ambiguous]). It reads the object and says whether the write
	// is in it. If it is not and the object is no longer the one that the
	// write was made for, Look returns an error that is not retriable. Nil
	// means that Send may simply be repeated.
	Look func(context.Context) (landed bool, err error)
}

// PatchResourceWithRetries sends a patch until it lands, fails with an error
// that is not retriable, or the deadline is over. With [Classify] a Conflict
// ends it too: the caller has to read the object and decide again.
func PatchResourceWithRetries(ctx context.Context, o Options, p Patch, retriable func(error) bool) error {
	doubt := false
	return RetryOnRetriableMaxBackOff(ctx, o, func(ctx context.Context) error {
		if doubt && p.Look != nil {
			landed, err := p.Look(ctx)
			if landed || err != nil {
				return err
			}
			doubt = false
		}
		err := p.Send(ctx)
		doubt = doubt || Ambiguous(err)
		return err
	}, retriable)
}
