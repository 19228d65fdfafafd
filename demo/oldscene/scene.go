package oldscene

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/veltui/veltui/demo/sim"
)

// Options say what a scene is built on.
type Options struct {
	// Config reaches an empty control plane, with Velero's CRDs, as its
	// administrator; Scheme knows Kubernetes' kinds, Velero's and CRDs.
	Config *rest.Config
	Scheme *runtime.Scheme
	// Speed is how many times as fast as the clock things go; 1 if zero.
	Speed float64
	// Seed decides which jobs the director starts; the same seed, the same
	// order.
	Seed uint64
	// Log gets what the simulated server warns of; nil drops it.
	Log func(format string, args ...any)
	// Quiet leaves the director out: nothing starts but what schedules start.
	Quiet bool
}

// Scene is a stage with its simulated Velero.
type Scene struct {
	options Options
	api     client.Client
	velero  *sim.Sim
}

// Build sets the stage. Close must be called when it is done with.
func Build(ctx context.Context, o Options) (*Scene, error) {
	if o.Speed == 0 {
		o.Speed = 1
	}
	config := rest.CopyConfig(o.Config)
	config.QPS = -1
	o.Config = config
	api, err := client.New(config, client.Options{Scheme: o.Scheme})
	if err != nil {
		return nil, fmt.Errorf("setting the stage: %w", err)
	}
	cluster, err := buildCluster(ctx, api, o.Scheme)
	if err != nil {
		return nil, fmt.Errorf("setting the stage: %w", err)
	}
	now := time.Now()
	velero, err := sim.New(ctx, sim.Options{
		Config: config, Scheme: o.Scheme, Namespace: Namespace, Cluster: cluster,
		ConcurrentBackups: concurrentBackups, Log: o.Log,
	}, now)
	if err != nil {
		return nil, fmt.Errorf("setting the stage: %w", err)
	}
	err = firstError(
		func() error {
			return install(ctx, api, o.Scheme, velero.Storage().URL(), now, now.Add(-serverStarted), true)
		},
		func() error { return writeHistory(ctx, api, velero, cluster, now) },
		func() error { return writeTrouble(ctx, api, velero, cluster, now) },
	)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("setting the stage: %w", err), velero.Close())
	}
	return &Scene{options: o, api: api, velero: velero}, nil
}

// Velero is the simulated server.
func (s *Scene) Velero() *sim.Sim { return s.velero }

// Run plays until ctx ends.
func (s *Scene) Run(ctx context.Context) {
	var group sync.WaitGroup
	if !s.options.Quiet {
		group.Go(func() { newDirector(s.api, s.options).run(ctx) })
	}
	s.velero.Run(ctx, s.options.Speed)
	group.Wait()
}

// Close ends the simulated server.
func (s *Scene) Close() error { return s.velero.Close() }

// BuildServer creates only what stands around jobs: Velero's namespace with a
// server and node agents that have run for an hour, and a storage location. No
// simulated server runs, so nothing acts on jobs that others write.
func BuildServer(ctx context.Context, api client.Client, scheme *runtime.Scheme, now time.Time) error {
	if err := install(ctx, api, scheme, "http://127.0.0.1:9", now, now.Add(-time.Hour), false); err != nil {
		return fmt.Errorf("setting the stage: %w", err)
	}
	return nil
}
