package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// startTimeout is generous because a loaded machine may need a minute to get a
// kube-apiserver ready; it costs nothing where it is not needed.
const startTimeout = 3 * time.Minute

// Options say what a control plane is started with.
type Options struct {
	// NoCRDs leaves Velero's CRDs out.
	NoCRDs bool
	// CopyOf is a running control plane that this one begins as a copy of: with all of
	// its objects, their uids and resource versions, but an address and an authority of
	// its own.
	CopyOf *ControlPlane
	// APIServerLog gets kube-apiserver's output; nil discards it.
	APIServerLog io.Writer
	// APIServerFlags are set on top of envtest's, by name without dashes.
	APIServerFlags map[string]string
}

// ControlPlane is a running etcd and kube-apiserver.
type ControlPlane struct {
	env      *envtest.Environment
	config   *rest.Config
	dir      string
	watchdog *watchdog
	usersMu  sync.Mutex // envtest's certificate authority counts serial numbers without a lock
}

// startAttempts is how often a start is tried: between choosing a port and listening
// on it, another process may have taken it.
const startAttempts = 3

// Start starts etcd and kube-apiserver on random loopback ports with their
// data in a new temporary folder. Stop must be called when it is done with.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	assets, err := FindAssets()
	if err != nil {
		return nil, err
	}
	var errs []error
	for range startAttempts {
		c, err := tryStart(ctx, assets, o)
		if err == nil {
			return c, nil
		}
		errs = append(errs, fmt.Errorf("starting the control plane: %w", err))
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

func tryStart(ctx context.Context, assets string, o Options) (*ControlPlane, error) {
	dir, err := os.MkdirTemp("", "veltui-testbed-")
	if err != nil {
		return nil, fmt.Errorf("making the test bed's folder: %w", err)
	}
	c := &ControlPlane{dir: dir}
	if err := c.startServers(ctx, assets, o); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// StartForTest is Start with Stop as the test's clean-up. It fails the test if the
// control plane cannot be had: an integration test is never skipped silently.
func StartForTest(t testing.TB, o Options) *ControlPlane {
	t.Helper()
	c, err := Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Errorf("stopping the control plane: %v", err)
		}
	})
	return c
}

func (c *ControlPlane) startServers(ctx context.Context, assets string, o Options) error {
	dog, err := startWatchdog(c.dir)
	if err != nil {
		return err
	}
	c.watchdog = dog
	c.env = &envtest.Environment{
		BinaryAssetsDirectory:    assets,
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  30 * time.Second,
	}
	if err := c.wrapPrograms(assets); err != nil {
		return err
	}
	if o.CopyOf != nil {
		if err := o.CopyOf.copyData(c); err != nil {
			return err
		}
	}
	// Port 0: nobody needs to know where etcd waits for peers that never come.
	c.env.ControlPlane.Etcd.Configure().Set("listen-peer-urls", "http://127.0.0.1:0")
	apiServer := c.env.ControlPlane.GetAPIServer()
	etcdSaid, apiServerSaid := &outputTail{}, &outputTail{next: o.APIServerLog}
	c.env.ControlPlane.Etcd.Out, c.env.ControlPlane.Etcd.Err = etcdSaid, etcdSaid
	apiServer.Out, apiServer.Err = apiServerSaid, apiServerSaid
	if err := c.enableAuditLog(); err != nil {
		return err
	}
	// A suite makes more services than the 254 of envtest's own range.
	apiServer.Configure().Set("service-cluster-ip-range", "10.0.0.0/20")
	for name, value := range o.APIServerFlags {
		apiServer.Configure().Set(name, value)
	}
	if c.config, err = c.env.Start(); err != nil {
		return fmt.Errorf("%w\netcd said last:\n%s\nkube-apiserver said last:\n%s", err, etcdSaid, apiServerSaid)
	}
	// envtest makes one folder outside ours; the watchdog must know of it.
	outside := []byte(c.env.WebhookInstallOptions.LocalServingCertDir + "\n")
	if err := os.WriteFile(filepath.Join(c.dir, outsideFile), outside, 0o600); err != nil {
		return fmt.Errorf("noting what envtest made: %w", err)
	}
	c.config.QPS, c.config.Burst = -1, 0
	if _, err := c.KubeconfigFor(c.config, "kubeconfig"); err != nil {
		return err
	}
	if o.NoCRDs || o.CopyOf != nil {
		return nil
	}
	return InstallCRDs(ctx, c.config)
}

// RESTConfig returns a copy of the administrator's client configuration.
func (c *ControlPlane) RESTConfig() *rest.Config { return rest.CopyConfig(c.config) }

// Dir is the temporary folder; it goes away with Stop.
func (c *ControlPlane) Dir() string { return c.dir }

// Kubeconfig is the path of an administrator's kubeconfig.
func (c *ControlPlane) Kubeconfig() string { return filepath.Join(c.dir, "kubeconfig") }

// Stop ends both servers and removes the folder. It is safe to call again.
func (c *ControlPlane) Stop() error {
	var errs []error
	if c.env != nil {
		// A paused server would not hear that it shall end.
		if err := c.ResumeAPIServer(); err != nil && !errors.Is(err, os.ErrProcessDone) &&
			!errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
		errs = append(errs, c.env.Stop())
		c.env = nil
	}
	if c.watchdog != nil {
		errs = append(errs, c.watchdog.dismiss())
		c.watchdog = nil
	}
	return errors.Join(append(errs, os.RemoveAll(c.dir))...)
}
