package sim

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// writeTimeout bounds each request, so that an API server that hangs stops the
// simulation only for so long at a time. (The real server waits without end.)
const writeTimeout = 3 * time.Second

// patch writes the difference that change makes as Velero does: an RFC 7386
// merge patch of the main resource without a resource version, so the last
// writer wins in each field (PatchResource in pkg/util/kube/client.go). It
// returns the object as the API server answered it.
func patch[T client.Object](ctx context.Context, s *Sim, known *objects[T], object T, change func(T)) (T, error) {
	original, updated := object.DeepCopyObject().(T), object.DeepCopyObject().(T)
	change(updated)
	if err := s.heard(s.api.Patch(ctx, updated, client.MergeFrom(original))); err != nil {
		s.Log("patching %s: %v", object.GetName(), err)
		return object, err
	}
	known.put(updated)
	s.Wrote(s.now, updated)
	return updated, nil
}

func create[T client.Object](ctx context.Context, s *Sim, known *objects[T], object T) (T, error) {
	if err := s.heard(s.api.Create(ctx, object)); err != nil {
		s.Log("creating %s: %v", object.GetName(), err)
		return object, err
	}
	known.put(object)
	s.Wrote(s.now, object)
	return object, nil
}

func remove[T client.Object](ctx context.Context, s *Sim, known *objects[T], object T) error {
	uid := object.GetUID()
	err := s.heard(s.api.Delete(ctx, object, client.Preconditions{UID: &uid}))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		err = nil
	}
	if err != nil {
		s.Log("deleting %s: %v", object.GetName(), err)
		return err
	}
	if len(object.GetFinalizers()) == 0 {
		known.remove(object.GetName(), uid)
	}
	return nil
}

// heard notes whether the API server answered at all. While it does not, work
// stands still: a real restore would hang in its next create.
func (s *Sim) heard(err error) error {
	status := apierrors.ReasonForError(err)
	answered := err == nil || status != "" && !apierrors.IsServerTimeout(err) && !apierrors.IsTimeout(err) &&
		!apierrors.IsServiceUnavailable(err) && !apierrors.IsInternalError(err)
	if answered {
		s.away = nil
	} else {
		s.away = err
	}
	return err
}

// back asks, once a second at most, whether the API server answers again.
func (s *Sim) back(ctx context.Context) bool {
	if !s.every("ask whether the API server is back", time.Second) {
		return false
	}
	return s.heard(s.api.Get(ctx, client.ObjectKey{Name: s.Namespace}, &corev1.Namespace{})) == nil
}

// attempts are the moments, counted from the first, at which Velero tries a
// last patch again under its --resource-timeout of 10 minutes, and when it
// gives up for good: after a sleep that no attempt follows (velero-facts 5.3).
var attempts = []time.Duration{
	0, 10 * time.Millisecond, 60 * time.Millisecond, 310 * time.Millisecond,
	1560 * time.Millisecond, 7810 * time.Millisecond, 39060 * time.Millisecond,
}

const attemptsGiveUp = 195310 * time.Millisecond

// lastPatch is a patch that moves a job on, retried as Velero does.
type lastPatch struct {
	write func(context.Context) error
	first time.Time
	tries int
	ended bool
	err   error
}

// try makes the next attempt if it is due; ended tells that the worker goes on
// to its next job, with err if the patch was lost.
func (p *lastPatch) try(ctx context.Context, now time.Time) {
	if p.first.IsZero() {
		p.first = now
	}
	since := now.Sub(p.first)
	if p.tries < len(attempts) && since >= attempts[p.tries] {
		p.tries++
		if p.err = p.write(ctx); p.err == nil {
			p.ended = true
		}
	}
	if since >= attemptsGiveUp {
		p.ended = true
	}
}

// retryLastPatches goes on with them while the API server is away.
func (s *Sim) retryLastPatches(ctx context.Context) {
	for _, run := range s.running {
		if run.last != nil && !run.last.ended {
			run.last.try(ctx, s.now)
		}
	}
	if s.restore != nil && s.restore.last != nil && !s.restore.last.ended {
		s.restore.last.try(ctx, s.now)
	}
}
