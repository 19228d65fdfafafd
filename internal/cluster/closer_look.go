package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/veltui/veltui/internal/action"
	"github.com/veltui/veltui/internal/assess"
	"github.com/veltui/veltui/internal/job"
)

// lookDeadline bounds one closer look.
const lookDeadline = 45 * time.Second

// looks are the engines for closer looks, which change nothing.
type looks struct {
	mu      sync.Mutex
	engines map[string]lookEngine // by namespace. Each remembers what it has read of the log.
	// found is the evidence of the last look at each job that asked the object store.
	found map[types.UID]action.Evidence
}

type lookEngine struct {
	*action.Engine
	// store also asks the object store; nil for a cluster that must not.
	store   *action.Engine
	request action.Request
}

// CloserLook is what a closer look at a job found.
type CloserLook struct {
	assess.Look
	// Evidence is what plans are made of. It is nil if the look failed.
	Evidence *action.Evidence
}

// LookCloser gathers the evidence about a job that has not ended. Where the stored files settle the verdict that a
// makes with that evidence, it also asks for them, unless the cluster is read-only or leaves artifacts alone: the
// screens and all commands then know the same. The look also says why it failed.
func (c *Cluster) LookCloser(ctx context.Context, a *assess.Assessment, j *job.Job) (CloserLook, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lookDeadline, errors.New("no answer in time"))
	defer cancel()
	found, err := c.lookCloser(ctx, a, j)
	if err != nil {
		return CloserLook{Look: assess.Look{At: c.Clock(), Err: err.Error()}}, err
	}
	return found, nil
}

func (c *Cluster) lookCloser(ctx context.Context, a *assess.Assessment, j *job.Job) (CloserLook, error) {
	engine, err := c.lookEngine(j.Namespace)
	if err != nil {
		return CloserLook{}, Clean(err)
	}
	e, err := engine.Gather(ctx, j.Kind, j.Name)
	switch {
	case ctx.Err() != nil:
		return CloserLook{}, context.Cause(ctx)
	case err == nil && e.Object.GetUID() != j.UID:
		return CloserLook{}, fmt.Errorf("another %s of this name took its place", j.Kind.Word())
	case err != nil:
		c.Log.Warn("looking closer", "kind", j.Kind, "name", j.Name, "error", err)
		return CloserLook{}, Clean(err)
	}
	e.Style = c.Style
	found := c.closerLook(e, engine.request)
	if _, judged := a.Look(j, found.Look); engine.store == nil || !judged.Verdict.StorageDecides() {
		return found, nil
	}
	earlier := c.lastStored(j.UID)
	engine.store.GatherStored(ctx, &e, earlier)
	c.keepStored(a, e)
	return c.closerLook(e, engine.request), nil
}

func (c *Cluster) closerLook(e action.Evidence, request action.Request) CloserLook {
	plan := action.Plans(e, request)[0]
	return CloserLook{Look: LookOf(&plan, c.Clock()), Evidence: &e}
}

// lastStored is the evidence of the last look at a job that asked the object store, nil for none.
func (c *Cluster) lastStored(uid types.UID) *action.Evidence {
	c.looks.mu.Lock()
	defer c.looks.mu.Unlock()
	if e, ok := c.looks.found[uid]; ok {
		return &e
	}
	return nil
}

// keepStored keeps evidence for the next look, and drops that of jobs which have ended.
func (c *Cluster) keepStored(a *assess.Assessment, e action.Evidence) {
	c.looks.mu.Lock()
	defer c.looks.mu.Unlock()
	kept := map[types.UID]action.Evidence{e.Object.GetUID(): e}
	for _, j := range a.Snapshot.Active {
		if earlier, ok := c.looks.found[j.UID]; ok && j.UID != e.Object.GetUID() {
			kept[j.UID] = earlier
		}
	}
	c.looks.found = kept
}

// lookEngine is the engine for closer looks in a namespace.
func (c *Cluster) lookEngine(namespace string) (lookEngine, error) {
	c.looks.mu.Lock()
	defer c.looks.mu.Unlock()
	if made, ok := c.looks.engines[namespace]; ok {
		return made, nil
	}
	conn, err := c.Connect()
	if err != nil {
		return lookEngine{}, err
	}
	made := lookEngine{request: conn.Request}
	if made.Engine, err = c.Engine(conn, namespace, EngineOptions{ReadOnly: true, NoStore: true}); err != nil {
		return lookEngine{}, err
	}
	if !c.ReadOnly && !c.NoArtifacts {
		o := EngineOptions{ReadOnly: true, LeaveOperations: true, Waiting: c.Waiting}
		if made.store, err = c.Engine(conn, namespace, o); err != nil {
			return lookEngine{}, err
		}
	}
	if c.looks.engines == nil {
		c.looks.engines = map[string]lookEngine{}
	}
	c.looks.engines[namespace] = made
	return made, nil
}

// LookOf is what the evidence of a plan says to the verdict.
func LookOf(plan *action.Plan, at time.Time) assess.Look {
	e := plan.Evidence()
	return assess.Look{Evidence: e.ForVerdict(), Facts: plan.Facts(), At: at}
}
