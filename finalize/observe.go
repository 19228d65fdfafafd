package finalize

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/retry"
	"github.com/veltui/veltui/velero"
)

// observe looks for at least one sync period whether the phase holds: Velero's
// server may write its own over it, and its backup sync may remove a backup
// that is not in the object store.
func (x *execution) observe(ctx context.Context) error {
	x.enter(StepObserve)
	end := x.f.o.Clock.Now().Add(x.f.o.Observe)
	return x.poll(ctx, x.f.o.Observe+patience, func(ctx context.Context, late bool) error {
		o, err := x.once(ctx, x.plan.evidence.Object)
		if apierrors.IsNotFound(err) {
			return x.stop(Deleted, "the %s is gone", word(x.plan.Kind))
		}
		if err != nil {
			return err
		}
		x.out.Phase = phaseOf(o)
		x.report(Progress{Step: StepObserve, Phase: x.out.Phase})
		if o.GetUID() != x.plan.UID {
			return x.stop(Deleted, "the %s is gone; another one has its name", word(x.plan.Kind))
		}
		held, over := x.plan.holds(phaseOf(o))
		switch {
		case !held:
			return x.stop(Reverted, "somebody wrote %s over it: a Velero server still worked on it", phaseOf(o))
		case over && !x.f.o.Clock.Now().Before(end):
			return x.stop(Settled, "it is %s and stayed so for %s", phaseOf(o), words(x.f.o.Observe))
		case !over && late:
			return x.stop(Moving, "it is %s; Velero has not ended it within %s", phaseOf(o), words(x.f.o.Observe+patience))
		}
		return nil
	})
}

// poll calls look again and again until it ends the matter. Late tells it that
// the time is over, after which an API server that is away ends it too.
func (s *sending) poll(ctx context.Context, limit time.Duration, look func(ctx context.Context, late bool) error) error {
	clock := s.f.o.Clock
	end := clock.Now().Add(limit)
	for {
		late := clock.Now().After(end)
		err := look(ctx, late)
		switch {
		case errors.Is(err, errStop):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && (late || retry.Classify(err) != retry.Retriable):
			return err
		}
		if !wait(ctx, clock, s.f.o.Poll) {
			return context.Cause(ctx)
		}
	}
}

// once reads a resource in one attempt.
func (s *sending) once(ctx context.Context, seen *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout(s.f.o))
	defer cancel()
	o, err := s.f.read(ctx, seen)
	if retry.Classify(err) == retry.Unauthorized && s.f.access.refresh(ctx) == nil {
		o, err = s.f.read(ctx, seen)
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
var onward = []string{velero.PhaseWaiting, velero.PhaseWaitingPartly, velero.PhaseFinalizing, velero.PhaseFinalizingPartly, velero.PhaseCompleted, velero.PhasePartiallyFailed, velero.PhaseFailed}

// holds reports whether a phase is what follows from the plan, and whether it
// is the end.
func (p *Plan) holds(phase string) (held, over bool) {
	if p.Action == End {
		return phase == p.To, phase == p.To
	}
	from := slices.Index(onward, p.To)
	// The partly failed form of a phase may follow the plain one, but not the
	// other way round.
	return from >= 0 && slices.Index(onward, phase) >= from, velero.TerminalPhase(phase)
}
