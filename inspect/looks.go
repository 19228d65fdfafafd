package inspect

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/assess"
	"github.com/veltui/veltui/job"
)

// Looks looks closer at jobs, as `veltui explain` does: it changes and downloads nothing.
type Looks struct {
	*Cluster

	mu sync.Mutex
	// engines are by namespace. Each remembers what it has read of the log.
	engines map[string]lookEngine
}

type lookEngine struct {
	*action.Engine
	request action.Request
}

const lookDeadline = 45 * time.Second

// Look gathers the evidence about a job that has not ended.
func (l *Looks) Look(ctx context.Context, j *job.Job) (assess.Look, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lookDeadline, errors.New("no answer in time"))
	defer cancel()
	engine, err := l.engine(j.Namespace)
	if err != nil {
		return assess.Look{}, Clean(err)
	}
	e, err := engine.Gather(ctx, j.Kind, j.Name)
	switch {
	case ctx.Err() != nil:
		return assess.Look{}, context.Cause(ctx)
	case err == nil && e.Object.GetUID() != j.UID:
		return assess.Look{}, fmt.Errorf("another %s of this name took its place", j.Kind.Word())
	case err != nil:
		l.Log.Warn("looking closer", "kind", j.Kind, "name", j.Name, "error", err)
		return assess.Look{}, Clean(err)
	}
	plan := action.Plans(e, engine.request)[0]
	return LookOf(&plan, l.Clock()), nil
}

// Recording returns a function that looks closer at a job and records the result in e.
func (l *Looks) Recording(e *assess.Estimates) func(context.Context, *job.Job) {
	return func(ctx context.Context, j *job.Job) {
		look, err := l.Look(ctx, j)
		if err != nil {
			look = assess.Look{At: l.Clock(), Err: err.Error()}
		}
		e.Looked(j.UID, look)
	}
}

// engine is the one for a namespace, with the way to its cluster.
func (l *Looks) engine(namespace string) (lookEngine, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if made, ok := l.engines[namespace]; ok {
		return made, nil
	}
	conn, err := l.Connect()
	if err != nil {
		return lookEngine{}, err
	}
	engine, err := l.Engine(conn, namespace, EngineOptions{ReadOnly: true, NoStore: true})
	if err != nil {
		return lookEngine{}, err
	}
	if l.engines == nil {
		l.engines = map[string]lookEngine{}
	}
	l.engines[namespace] = lookEngine{engine, conn.Request}
	return l.engines[namespace], nil
}

// LookOf is what the evidence of a plan says to the verdict.
func LookOf(plan *action.Plan, at time.Time) assess.Look {
	e := plan.Evidence()
	return assess.Look{Evidence: e.ForVerdict(), Facts: plan.Facts(), At: at}
}
