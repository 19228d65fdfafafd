package cmd

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/job"
	"github.com/veltui/veltui/ui"
)

// closerLook looks closer at jobs for the dashboard, with an engine like that
// of `veltui explain`: it changes nothing and downloads nothing.
type closerLook struct {
	cli *cli
	log *slog.Logger

	mu sync.Mutex
	// engines are by namespace. Each remembers what it has read of the log.
	engines map[string]lookEngine
}

type lookEngine struct {
	*action.Engine
	request action.Request
}

var _ ui.Looker = (*closerLook)(nil)

// Look gathers the evidence about a job that has not ended.
func (l *closerLook) Look(ctx context.Context, j *job.Job) (assess.Look, error) {
	engine, err := l.engine(j.Namespace)
	if err != nil {
		return assess.Look{}, clean(err)
	}
	e, err := engine.Gather(ctx, j.Kind, j.Name)
	switch {
	case ctx.Err() != nil:
		return assess.Look{}, ctx.Err()
	case err == nil && e.Object.GetUID() != j.UID:
		return assess.Look{}, fmt.Errorf("another %s of this name took its place", j.Kind.Word())
	case err != nil:
		l.log.Warn("looking closer", "kind", j.Kind, "name", j.Name, "error", err)
		return assess.Look{}, clean(err)
	}
	plan := action.Plans(e, engine.request)[0]
	return lookOf(&plan, l.cli.clock()), nil
}

// engine is the one for a namespace, with the way to its cluster.
func (l *closerLook) engine(namespace string) (lookEngine, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if made, ok := l.engines[namespace]; ok {
		return made, nil
	}
	conn, err := l.cli.connect()
	if err != nil {
		return lookEngine{}, err
	}
	engine, err := l.cli.newFinalizer(conn, namespace, finalizerOptions{readOnly: true, noStore: true})
	if err != nil {
		return lookEngine{}, err
	}
	if l.engines == nil {
		l.engines = map[string]lookEngine{}
	}
	l.engines[namespace] = lookEngine{engine, conn.request}
	return l.engines[namespace], nil
}

// lookOf is what the evidence of a plan says to the verdict.
func lookOf(plan *action.Plan, at time.Time) assess.Look {
	e := plan.Evidence()
	return assess.Look{Evidence: e.ForVerdict(), Facts: plan.Facts(), At: at}
}
