package action

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/veltui/veltui/retry"
)

// poll calls look again and again until it ends the matter. Late tells it that
// the time is over. A look that fails, as time may mend it, is repeated beyond
// that for as long as [startUp], within the one deadline: the patch has landed,
// and one answer tells what became of it.
func (s *sending) poll(ctx context.Context, limit time.Duration, look func(ctx context.Context, late bool) error) error {
	clock := s.f.o.Clock
	end := clock.Now().Add(limit)
	last := end.Add(startUp)
	if s.until.Before(last) {
		last = s.until
	}
	for {
		late := clock.Now().After(end)
		err := look(ctx, late)
		switch {
		case errors.Is(err, errStop):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && (!s.retriable(err) || late && clock.Now().After(last)):
			return err
		}
		if !wait(ctx, clock, s.f.o.Poll) {
			return context.Cause(ctx)
		}
	}
}

// once reads a resource of the cluster that was shown in one attempt.
func (s *sending) once(ctx context.Context, seen *unstructured.Unstructured) (o *unstructured.Unstructured, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout(s.f.o))
	defer cancel()
	read := func() error {
		if err := s.f.access.check(ctx); err != nil {
			return err
		}
		o, err = s.f.read(ctx, seen)
		return err
	}
	if err := read(); retry.Classify(err) != retry.Unauthorized {
		return o, err
	}
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	err = read()
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
