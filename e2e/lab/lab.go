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
	// OnStep is told each step of the start-up and how long it took; may be nil.
	OnStep func(what string, took time.Duration)
}

// Lab is a running Velero with everything it stands on.
type Lab struct {
	// Client is an administrator's client for Kubernetes' and Velero's kinds.
	Client client.WithWatch
	// Version is that of the Velero that runs, such as v1.18.3.
	Version string

	plane        *testbed.ControlPlane
	programs     programDir
	reportStep   func(string, time.Duration)
	controllers  *process
	s3           *objectStore
	veleroServer *veleroServer
	secondServer *process
	uploadHolds  []*UploadHold
	node         *fakeKubelet
	agent        *process
	snapshots    *fakeSnapshotDriver
}

// Start starts a lab and returns once Velero answers. [Lab.Stop] must be
// called when it is done with.
func Start(ctx context.Context, o Options) (*Lab, error) {
	p, err := findPrograms()
	if err != nil {
		return nil, err
	}
	l := &Lab{programs: p, reportStep: o.OnStep}
	if l.reportStep == nil {
		l.reportStep = func(string, time.Duration) {}
	}
	if err := l.startAll(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the lab: %w", err), l.Stop())
	}
	return l, nil
}

func (l *Lab) startAll(ctx context.Context, o Options) error {
	steps := []struct {
		what string
		do   func() error
	}{
		{"control plane", func() error { return l.startPlane(ctx) }},
		{"Velero's CRDs", func() error { return l.installCRDs(ctx) }},
		{"kube-controller-manager", l.startControllers},
		{"node", func() error { return l.startNode(ctx) }},
		{"S3 server", func() error { return l.startS3(ctx) }},
		{"Velero's objects", func() error { return l.installVelero(ctx) }},
		{"seed", func() error { return l.seedCluster(ctx, o.Seed) }},
		{"velero server", func() error { return l.startVelero(ctx, o.VeleroFlags) }},
	}
	for _, s := range steps {
		began := time.Now()
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
		l.reportStep(s.what, time.Since(began))
	}
	return nil
}

func (l *Lab) startPlane(ctx context.Context) error {
	var err error
	if l.plane, err = testbed.Start(ctx, testbed.Options{NoCRDs: true}); err != nil {
		return err
	}
	for _, name := range []string{"logs", "tmp", "gates", "s3", "s3/" + bucket, "attributes"} {
		if err := os.Mkdir(l.filePath(name), 0o700); err != nil {
			return err
		}
	}
	l.Client, err = client.NewWithWatch(l.RESTConfig(), client.Options{Scheme: testbed.Scheme()})
	return err
}

// startControllers runs kube-controller-manager: it makes pods of deployments,
// binds volumes, deletes namespaces. It serves nothing, so it has no port. The
// lab's node sends no heartbeats, and none are missed.
func (l *Lab) startControllers() error {
	ca := l.filePath("ca.crt")
	if err := os.WriteFile(ca, l.RESTConfig().CAData, 0o600); err != nil {
		return err
	}
	var err error
	l.controllers, err = program{
		name: "kube-controller-manager",
		path: l.programs.controllerManagerPath(),
		args: []string{
			"--kubeconfig=" + l.Kubeconfig(),
			"--root-ca-file=" + ca,
			"--leader-elect=false",
			"--secure-port=0",
			"--node-monitor-grace-period=24h",
		},
	}.startProcess(l.Dir())
	return err
}

// Stop ends every process of the lab and removes its folder.
func (l *Lab) Stop() error {
	var errs []error
	if l.veleroServer != nil {
		errs = append(errs, l.veleroServer.killServer())
	}
	errs = append(errs, l.secondServer.killGroup(), l.agent.killGroup())
	l.snapshots.stopServing()
	for _, h := range l.uploadHolds {
		errs = append(errs, h.closeServer())
	}
	if l.s3 != nil {
		errs = append(errs, l.s3.killServer())
	}
	errs = append(errs, l.controllers.killGroup())
	l.node.closeServer()
	if l.plane != nil {
		errs = append(errs, l.plane.Stop())
	}
	return errors.Join(errs...)
}

// Dir is the temporary folder of the lab; it goes away with Stop.
func (l *Lab) Dir() string { return l.plane.Dir() }

func (l *Lab) filePath(name string) string { return filepath.Join(l.Dir(), name) }

// RESTConfig returns a copy of the administrator's client configuration.
func (l *Lab) RESTConfig() *rest.Config { return l.plane.RESTConfig() }

// Kubeconfig is the path of the administrator's kubeconfig.
func (l *Lab) Kubeconfig() string { return l.plane.Kubeconfig() }

// CreateUserKubeconfig makes a user with no rights but those that RBAC gives to the
// name or the groups, and returns the path of the user's kubeconfig.
func (l *Lab) CreateUserKubeconfig(name string, groups ...string) (string, error) {
	config, err := l.plane.AddUser(name, groups...)
	if err != nil {
		return "", err
	}
	return l.plane.KubeconfigFor(config, name+".kubeconfig")
}

// EtcdKeyRevisions returns the revision at which each key of etcd was last written.
func (l *Lab) EtcdKeyRevisions(ctx context.Context) (map[string]string, error) {
	return l.plane.EtcdKeyRevisions(ctx)
}

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
