package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"k8s.io/client-go/rest"

	"github.com/veltui/veltui/action"
	"github.com/veltui/veltui/watch"
)

// connection is what the flags and the environment say about the cluster.
type connection struct {
	config           *rest.Config
	context          string // the kubeconfig context's name
	contextNamespace string
	namespace        string // as given with -n, else empty
	// request is how kubectl gets to the same cluster.
	request action.Request
}

// inCluster is what the context is called where no kubeconfig names one.
const inCluster = "in-cluster"

// connect reads the kubeconfig of the one context that was named; it does not
// talk to the cluster. From then on the context stays what it was, whichever
// becomes the current one.
func (c *cli) connect() (connection, error) {
	context, err := c.oneContext()
	if err != nil {
		return connection{}, err
	}
	raw, err := c.kubeconfig()
	if err != nil {
		return connection{}, err
	}
	conn := connection{context: context}
	if named := raw.Contexts[context]; named != nil {
		conn.contextNamespace, conn.request.Context = named.Namespace, context
		if c.flags.CurrentContext != context || c.allContexts { // else several may connect at once
			c.flags.CurrentContext, c.allContexts = context, false
		}
	}
	if conn.config, err = c.restConfig(); err != nil {
		return connection{}, err
	}
	conn.request.Flags, conn.request.Environment = c.connectionFlags()
	if conn.context == "" {
		conn.context = inCluster
	}
	conn.namespace = c.flags.Context.Namespace
	return conn, nil
}

// forContext is c with another kubeconfig context, and with another namespace
// unless that is empty. All else is shared, and the flags' values are the same.
func (c *cli) forContext(context, namespace string) *cli {
	other := *c
	other.allContexts, other.exactContext = false, true
	values := c.flags.clusterValues
	values.CurrentContext = context
	if namespace != "" {
		values.Context.Namespace = namespace
	}
	other.flags = values.flags()
	return &other
}

// errNoCluster is said instead of trying localhost:8080, which is what client
// libraries do when nothing is configured.
var errNoCluster = errors.New("no cluster is configured: set KUBECONFIG, or give --kubeconfig FILE or --server URL")

// What the clients of one command may ask of the API server, a second and at
// once; its own priority and fairness protects it beyond that.
const clientQPS, clientBurst = 50, 100

// restConfig reads the kubeconfig as it is now.
func (c *cli) restConfig() (*rest.Config, error) {
	if _, err := c.kubeconfig(); err != nil {
		return nil, err
	}
	config, err := c.flags.loader().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config = rest.CopyConfig(config)
	c.logins.guard(config)
	config.UserAgent = "veltui/" + version
	config.WarningHandler = c.warnings
	// client-go's default of five requests a second stretches a look at one job,
	// which is dozens of requests, to many seconds.
	config.QPS, config.Burst = clientQPS, clientBurst
	return config, nil
}

// watch starts to follow Velero. journal is how many changes are kept for a
// reader that must see every one.
func (c *cli) watch(ctx context.Context, conn connection, journal int, log *slog.Logger, change ...func(*watch.Options)) (*watch.Watcher, error) {
	o := c.watchOptions(conn)
	o.Journal, o.Log = journal, log
	for _, f := range change {
		f(&o)
	}
	w, err := watch.New(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("watching Velero: %w", err)
	}
	return w, nil
}

// watchOptions say where Velero is, for a watch or one reading.
func (c *cli) watchOptions(conn connection) watch.Options {
	return watch.Options{
		Config:           conn.config,
		Reload:           c.reload,
		Namespace:        conn.namespace,
		EnvNamespace:     c.env("VELERO_NAMESPACE"),
		ContextNamespace: conn.contextNamespace,
		Clock:            c.clock,
	}
}

// reload reads the kubeconfig again, for credentials that were renewed.
func (c *cli) reload() (*rest.Config, error) { return c.restConfig() }
