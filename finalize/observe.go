package finalize

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/retry"
)

// observe looks for at least one sync period whether the phase holds: Velero's
// server may write its own over it, and its backup sync may remove a backup
// that is not in the object store.
func (x *execution) observe(ctx context.Context) error {
	x.enter(StepObserve)
	clock := x.f.o.Clock
	end := clock.Now().Add(x.f.o.Observe)
	last := end.Add(patience)
	for {
		o, err := x.once(ctx)
		now := clock.Now()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case apierrors.IsNotFound(err):
			return x.stop(Deleted, "the %s is gone", word(x.plan.Kind))
		case err != nil && (retry.Classify(err) != retry.Retriable || now.After(last)):
			return err
		case err == nil:
			x.out.Phase = phaseOf(o)
			x.report(Progress{Step: StepObserve, Phase: x.out.Phase})
			if o.GetUID() != x.plan.UID {
				return x.stop(Deleted, "the %s is gone; another one has its name", word(x.plan.Kind))
			}
			held, over := x.plan.holds(phaseOf(o))
			switch {
			case !held:
				return x.stop(Reverted, "somebody wrote %s over it: a Velero server still worked on it", phaseOf(o))
			case over && !now.Before(end):
				return x.stop(Settled, "it is %s and stayed so for %s", phaseOf(o), words(x.f.o.Observe))
			case !over && now.After(last):
				return x.stop(Moving, "it is %s; Velero has not ended it within %s", phaseOf(o), words(last.Sub(end)+x.f.o.Observe))
			}
		}
		if !wait(ctx, clock, x.f.o.Poll) {
			return context.Cause(ctx)
		}
	}
}

// once reads the object in one attempt.
func (x *execution) once(ctx context.Context) (*unstructured.Unstructured, error) {
	limit := x.f.o.AttemptTimeout
	if limit <= 0 {
		limit = retry.DefaultAttempt
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	o, err := x.f.read(ctx, &x.plan)
	if retry.Classify(err) == retry.Unauthorized && x.f.access.refresh(ctx) == nil {
		o, err = x.f.read(ctx, &x.plan)
	}
	return o, err
}

func wait(ctx context.Context, clock retry.Clock, d time.Duration) bool {
	timer := clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

// onward are the phases that Velero goes through after each of its own, up to
// the end.
var onward = []string{phaseWaiting, phaseWaitingPartly, phaseFinalizing, phaseFinalizingPartly, phaseCompleted, phasePartiallyFailed, phaseFailed}

// holds reports whether a phase is what follows from the plan, and whether it
// is the end.
func (p *Plan) holds(phase string) (held, over bool) {
	if p.Action == End {
		return phase == p.To, phase == p.To
	}
	from := slices.Index(onward, p.To)
	// The partly failed form of a phase may follow the plain one, but not the
	// other way round.
	return from >= 0 && slices.Index(onward, phase) >= from, terminal(phase)
}
