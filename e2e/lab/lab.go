package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/veltui/veltui/e2e/seed"
	"github.com/veltui/veltui/internal/testbed"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Namespace is Velero's namespace in the lab.
const Namespace = "velero"

// Options say how a lab is started.
type Options struct {
	// VeleroFlags are added to the flags of `velero server`.
	VeleroFlags []string
	// Seed is created before Velero starts: a server looks only every five
	// minutes for new kinds, and a backup leaves out those it does not know.
	Seed seed.Set
	// Step is told each step of the start-up and how long it took; may be nil.
	Step func(what string, took time.Duration)
}

// Lab is a running Velero with everything it stands on.
type Lab struct {
	// Client is an administrator's client for Kubernetes' and Velero's kinds.
	Client client.WithWatch
	// Version is that of the Velero that runs, such as v1.18.3.
	Version string

	plane       *testbed.ControlPlane
	programs    programs
	step        func(string, time.Duration)
	controllers *process
	s3          *objectStore
	velero      *server
	second      *process
	holds       []*UploadHold
	node        *node
	agent       *process
	snapshots   *snapshots
}

// Start starts a lab and returns once Velero answers. [Lab.Stop] must be
// called when it is done with.
func Start(ctx context.Context, o Options) (*Lab, error) {
	p, err := findPrograms()
	if err != nil {
		return nil, err
	}
	l := &Lab{programs: p, step: o.Step}
	if l.step == nil {
		l.step = func(string, time.Duration) {}
	}
	if err := l.start(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the lab: %w", err), l.Stop())
	}
	return l, nil
}

func (l *Lab) start(ctx context.Context, o Options) error {
	steps := []struct {
		what string
		do   func() error
	}{
		{"control plane", func() error { return l.startPlane(ctx) }},
		{"Velero's CRDs", func() error { return l.installCRDs(ctx) }},
		{"kube-controller-manager", l.startControllers},
		{"node", func() error { return l.startNode(ctx) }},
		{"S3 server", func() error { return l.startS3(ctx) }},
		{"Velero's objects", func() error { return l.install(ctx) }},
		{"seed", func() error { return l.seed(ctx, o.Seed) }},
		{"velero server", func() error { return l.startVelero(ctx, o.VeleroFlags) }},
	}
	for _, s := range steps {
		began := time.Now()
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
		l.step(s.what, time.Since(began))
	}
	return nil
}

func (l *Lab) startPlane(ctx context.Context) error {
	var err error
	if l.plane, err = testbed.Start(ctx, testbed.Options{NoCRDs: true}); err != nil {
		return err
	}
	for _, name := range []string{"logs", "tmp", "gates", "s3", "s3/" + bucket, "attributes"} {
		if err := os.Mkdir(l.path(name), 0o700); err != nil {
			return err
		}
	}
	l.Client, err = client.NewWithWatch(l.Config(), client.Options{Scheme: testbed.Scheme()})
	return err
}

// startControllers runs kube-controller-manager: it makes pods of deployments,
// binds volumes, deletes namespaces. It serves nothing, so it has no port. The
// lab's node sends no heartbeats, and none are missed.
func (l *Lab) startControllers() error {
	ca := l.path("ca.crt")
	if err := os.WriteFile(ca, l.Config().CAData, 0o600); err != nil {
		return err
	}
	var err error
	l.controllers, err = program{
		name: "kube-controller-manager",
		path: l.programs.controllerManager(),
		args: []string{
			"--kubeconfig=" + l.Kubeconfig(),
			"--root-ca-file=" + ca,
			"--leader-elect=false",
			"--secure-port=0",
			"--node-monitor-grace-period=24h",
		},
	}.start(l.Dir())
	return err
}

// Stop ends every process of the lab and removes its folder.
func (l *Lab) Stop() error {
	var errs []error
	if l.velero != nil {
		errs = append(errs, l.velero.kill())
	}
	errs = append(errs, l.second.kill(), l.agent.kill())
	l.snapshots.stop()
	for _, h := range l.holds {
		errs = append(errs, h.close())
	}
	if l.s3 != nil {
		errs = append(errs, l.s3.kill())
	}
	errs = append(errs, l.controllers.kill())
	l.node.stop()
	if l.plane != nil {
		errs = append(errs, l.plane.Stop())
	}
	return errors.Join(errs...)
}

// Dir is the temporary folder of the lab; it goes away with Stop.
func (l *Lab) Dir() string { return l.plane.Dir() }

func (l *Lab) path(name string) string { return filepath.Join(l.Dir(), name) }

// Config returns a copy of the administrator's client configuration.
func (l *Lab) Config() *rest.Config { return l.plane.Config() }

// Kubeconfig is the path of the administrator's kubeconfig.
func (l *Lab) Kubeconfig() string { return l.plane.Kubeconfig() }

// KubeconfigOf makes a user with no rights but those that RBAC gives to the
// name or the groups, and returns the path of the user's kubeconfig.
func (l *Lab) KubeconfigOf(name string, groups ...string) (string, error) {
	config, err := l.plane.User(name, groups...)
	if err != nil {
		return "", err
	}
	return l.plane.KubeconfigFor(config, name+".kubeconfig")
}

// EtcdKeys returns the revision at which each key of etcd was last written.
func (l *Lab) EtcdKeys(ctx context.Context) (map[string]string, error) { return l.plane.EtcdKeys(ctx) }

// KillAPIServer ends kube-apiserver as a crash would.
func (l *Lab) KillAPIServer() error { return l.plane.KillAPIServer() }

// StartAPIServer brings kube-apiserver back with the data it had.
func (l *Lab) StartAPIServer(ctx context.Context) error { return l.plane.StartAPIServer(ctx) }

// PauseAPIServer makes kube-apiserver hang until ResumeAPIServer.
func (l *Lab) PauseAPIServer() error { return l.plane.PauseAPIServer() }

// ResumeAPIServer ends the hang.
func (l *Lab) ResumeAPIServer() error { return l.plane.ResumeAPIServer() }

// PauseEtcd makes etcd hang until ResumeEtcd: the API server lives, and can
// neither read nor write.
func (l *Lab) PauseEtcd() error { return l.plane.PauseEtcd() }

// ResumeEtcd ends the hang.
func (l *Lab) ResumeEtcd() error { return l.plane.ResumeEtcd() }
