package replay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Options say how recordings are played.
type Options struct {
	// Speed divides the recorded times between events; 1 if zero.
	Speed float64
	// KeepTimes leaves the time stamps in status as they were recorded. Else
	// they are moved so that the recording began when it is played, and drawn
	// together by Speed as far as they lie within the recording.
	KeepTimes bool
	// Sequence plays one recording after the other instead of side by side.
	Sequence bool
	// Written is called after each event with the API server's answer, from
	// the goroutine of its recording; may be nil.
	Written func(r Recording, index int)
}

// Play writes all events at their time and returns how many it wrote. It waits
// out an API server that does not answer, and ends early only with ctx or when
// the API server refuses an object.
func Play(ctx context.Context, api client.Client, recordings []Recording, o Options) (int, error) {
	if o.Speed == 0 {
		o.Speed = 1
	}
	if err := ensureNamespaces(ctx, api, recordings); err != nil {
		return 0, err
	}
	players := make([]*player, len(recordings))
	for n, r := range recordings {
		players[n] = &player{writer: newWriter(api), recording: r, options: o}
	}
	var group sync.WaitGroup
	for _, p := range players {
		if o.Sequence {
			if p.err = p.play(ctx); p.err != nil {
				break
			}
			continue
		}
		group.Go(func() { p.err = p.play(ctx) })
	}
	group.Wait()
	written, errs := 0, []error{}
	for _, p := range players {
		written += p.written
		errs = append(errs, p.err)
	}
	return written, errors.Join(errs...)
}

func ensureNamespaces(ctx context.Context, api client.Client, recordings []Recording) error {
	seen := map[string]bool{"": true}
	for _, r := range recordings {
		for _, e := range r.Events {
			name := e.Object.GetNamespace()
			if seen[name] {
				continue
			}
			seen[name] = true
			err := api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("creating namespace %s: %w", name, err)
			}
		}
	}
	return nil
}

type player struct {
	*writer
	recording Recording
	options   Options
	written   int
	err       error
}

func (p *player) play(ctx context.Context) error {
	began := time.Now()
	events := p.recording.Events
	timeline := timeline{
		from: events[0].At, to: events[len(events)-1].At, began: began, speed: p.options.Speed,
	}
	for n, event := range events {
		if err := waitUntil(ctx, timeline.at(event.At)); err != nil {
			return err
		}
		object := event.Object.DeepCopy()
		if !p.options.KeepTimes {
			timeline.shift(object)
		}
		if err := p.write(ctx, event.Type, object); err != nil {
			return fmt.Errorf("playing event %d of %s: %w", n+1, p.recording.Name, err)
		}
		p.written++
		if p.options.Written != nil {
			p.options.Written(p.recording, n)
		}
	}
	return nil
}

func waitUntil(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
