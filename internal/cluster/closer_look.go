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

// closerLookTimeout limits one closer look.
const closerLookTimeout = 45 * time.Second

// closerLooks holds the engines for closer looks, which change nothing.
type closerLooks struct {
	mu sync.Mutex
	// engines are the engines by namespace. Each remembers what it has read of the log.
	engines map[string]lookEngine
	// lastEvidence is the evidence of the last look at each job that read the object store.
	lastEvidence map[types.UID]action.Evidence
}

type lookEngine struct {
	*action.Engine
	// storeEngine also reads the object store; nil for a cluster where that is not allowed.
	storeEngine *action.Engine
	request     action.Request
}

// CloserLook is the result of a closer look at a job.
type CloserLook struct {
	assess.CloserLook
	// Evidence is what plans are made from. It is nil if the look failed.
	Evidence *action.Evidence
}

// TakeCloserLook gathers the evidence about a job that has not ended. If the stored files settle the verdict that a
// reaches with that evidence, it also reads them, unless the cluster is read-only or leaves artifacts alone: the
// screens and all commands then know the same. The look also says why it failed.
func (c *Cluster) TakeCloserLook(ctx context.Context, a *assess.Assessment, j *job.Job) (CloserLook, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, closerLookTimeout, errors.New("no answer in time"))
	defer cancel()
	found, err := c.takeCloserLook(ctx, a, j)
	if err != nil {
		return CloserLook{CloserLook: assess.CloserLook{At: c.Clock(), Err: err.Error()}}, err
	}
	return found, nil
}

func (c *Cluster) takeCloserLook(ctx context.Context, a *assess.Assessment, j *job.Job) (CloserLook, error) {
	engine, err := c.engineForLooks(j.Namespace)
	if err != nil {
		return CloserLook{}, SanitizeError(err)
	}
	e, err := engine.GatherEvidence(ctx, j.Kind, j.Name)
	switch {
	case ctx.Err() != nil:
		return CloserLook{}, context.Cause(ctx)
	case err == nil && e.Object.GetUID() != j.UID:
		return CloserLook{}, fmt.Errorf("another %s of this name took its place", j.Kind.Noun())
	case err != nil:
		c.Log.Warn("looking closer", "kind", j.Kind, "name", j.Name, "error", err)
		return CloserLook{}, SanitizeError(err)
	}
	e.Style = c.Style
	found := c.buildCloserLook(e, engine.request)
	if _, judged := a.WithCloserLook(j, found.CloserLook); engine.storeEngine == nil || !judged.Verdict.StorageDecides() {
		return found, nil
	}
	earlier := c.findStoredEvidence(j.UID)
	engine.storeEngine.GatherStored(ctx, &e, earlier)
	c.keepStoredEvidence(a, e)
	return c.buildCloserLook(e, engine.request), nil
}

// ReadServerLogs reads what the servers' logs say about silent jobs of an assessment, in one request for each server.
func (c *Cluster) ReadServerLogs(ctx context.Context, a *assess.Assessment, jobs []*job.Job) assess.LogReading {
	ctx, cancel := context.WithTimeoutCause(ctx, closerLookTimeout, errors.New("no answer in time"))
	defer cancel()
	read := assess.LogReading{At: c.Clock()}
	engine, err := c.engineForLooks(a.Snapshot.Namespace)
	if err == nil {
		read.Logs, err = engine.ReadServerLogs(ctx, a.World.Server, jobs)
	}
	if err != nil {
		read.Err = SanitizeError(err).Error()
		c.Log.Info("reading the servers' logs", "jobs", len(jobs), "error", err)
	}
	return read
}

func (c *Cluster) buildCloserLook(e action.Evidence, request action.Request) CloserLook {
	plan := action.BuildPlans(e, request)[0]
	return CloserLook{CloserLook: BuildCloserLook(&plan, c.Clock()), Evidence: &e}
}

// findStoredEvidence returns the evidence of the last look at a job that read the object store, nil for none.
func (c *Cluster) findStoredEvidence(uid types.UID) *action.Evidence {
	c.closerLooks.mu.Lock()
	defer c.closerLooks.mu.Unlock()
	if e, ok := c.closerLooks.lastEvidence[uid]; ok {
		return &e
	}
	return nil
}

// keepStoredEvidence keeps evidence for the next look, and drops the evidence of jobs that have ended.
func (c *Cluster) keepStoredEvidence(a *assess.Assessment, e action.Evidence) {
	c.closerLooks.mu.Lock()
	defer c.closerLooks.mu.Unlock()
	kept := map[types.UID]action.Evidence{e.Object.GetUID(): e}
	for _, j := range a.Snapshot.Active {
		if earlier, ok := c.closerLooks.lastEvidence[j.UID]; ok && j.UID != e.Object.GetUID() {
			kept[j.UID] = earlier
		}
	}
	c.closerLooks.lastEvidence = kept
}

// engineForLooks returns the engine for closer looks in a namespace.
func (c *Cluster) engineForLooks(namespace string) (lookEngine, error) {
	c.closerLooks.mu.Lock()
	defer c.closerLooks.mu.Unlock()
	if made, ok := c.closerLooks.engines[namespace]; ok {
		return made, nil
	}
	conn, err := c.Connect()
	if err != nil {
		return lookEngine{}, err
	}
	made := lookEngine{request: conn.Request}
	if made.Engine, err = c.NewEngine(conn, namespace, EngineOptions{ReadOnly: true, SkipStore: true}); err != nil {
		return lookEngine{}, err
	}
	if !c.ReadOnly && !c.NoArtifacts {
		o := EngineOptions{ReadOnly: true, SkipOperations: true, OnWaiting: c.OnWaiting}
		if made.storeEngine, err = c.NewEngine(conn, namespace, o); err != nil {
			return lookEngine{}, err
		}
	}
	if c.closerLooks.engines == nil {
		c.closerLooks.engines = map[string]lookEngine{}
	}
	c.closerLooks.engines[namespace] = made
	return made, nil
}

// BuildCloserLook converts the evidence of a plan to what it contributes to the verdict.
func BuildCloserLook(plan *action.Plan, at time.Time) assess.CloserLook {
	e := plan.Evidence()
	return assess.CloserLook{Evidence: e.VerdictEvidence(), Facts: plan.Facts(), At: at}
}
